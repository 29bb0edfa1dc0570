// Has an object of a Node program answer: loads it, sees which framework it is of, asks it.
//
// It runs in the agent's own Node (20 or newer), as `node bridge.mjs FOLDER TARGET FRAMEWORK
// once|turns`, and knows nothing of the gate. Each line of file 4 is a question, each line of file 3
// an answer (`{"output": …}`) or a sentence on why there is none (`{"problem": …}`). What the
// program prints goes to standard error.
//
// It imports what `node:` holds and the files beside it, so that no file of the program can take
// their place.

import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { bound, isClass, parametersOf, sourceOf } from "./parameters.mjs";
import { kindOf, prepare, routeOf } from "./server_routes.mjs";
import { Speechless, asJson, typeOf } from "./values.mjs";

const MOST = 600; // characters of a sentence

/** Why there is no answer: a sentence that says what to do next. */
export class Problem extends Error {}

/**
 * What is asked now: `prompt` is what the user says, `messages` all that was said, this included,
 * `history` what was said before it; `payload` and `type` are the input as it stands in the
 * fixture. `first` says that nothing was asked before, `alone` that this is all.
 */
export class Question {
  constructor(told, before, alone) {
    const given = told.input ?? {};
    this.prompt = told.prompt ?? "";
    this.type = given.type ?? "prompt";
    this.payload = given.payload ?? {};
    this.first = before.length === 0;
    this.alone = alone;
    this.messages = [...before, ...(told.messages ?? [{ role: "user", content: this.prompt }])];
    this.history = this.messages.slice(0, -1);
  }

  /** What was said before, as role and text. */
  spoken() {
    return this.history.map((message) => {
      if (message.role === "tool" || message.tool_calls?.length) {
        throw new Problem(
          "the messages before the question hold calls of tools, which this bridge cannot hand " +
            "on. Leave them out, or point `target` at a function that takes `messages`",
        );
      }
      return { role: message.role, content: this.text(message.content) };
    });
  }

  /** The question with what was said before it, as one text. */
  transcript() {
    const said = this.spoken().map(({ role, content }) => `${role}: ${content}`);
    if (!said.length) return this.asked;
    return `Earlier in this conversation:\n\n${said.join("\n\n")}\n\nNow:\n\n${this.asked}`;
  }

  /** The text of a message's content; files cannot be text. */
  text(content) {
    if (typeof content === "string") return content;
    if ((content ?? []).some((part) => part.type !== "text")) {
      throw new Problem(
        "the question comes with files, which this bridge cannot hand on. Point `target` at a " +
          "function that takes `messages`",
      );
    }
    return content.map((part) => part.text).join("\n");
  }

  /** What the user says now, as text. */
  get asked() {
    const content = this.messages.at(-1).content;
    return typeof content === "string" ? this.prompt : this.text(content);
  }

  refusal(sentence) {
    return new Problem(sentence);
  }
}

/** All that a `framework` can be called: which objects are of it, and the file that drives them. */
const FRAMEWORKS = {
  agentkit: { file: "agentkit.mjs", is: (one) => has(one, "run") && (has(one, "withModel", "agentPrompt") || has(one, "availableAgents", "addAgent")) },
  "ai-sdk": { file: "ai_sdk.mjs", is: (one) => one?.version === "agent-v1" || named(one, "ToolLoopAgent") },
  beeai: {
    file: "beeai.mjs",
    is: (one) => (has(one, "run", "destroy", "createSnapshot") && "memory" in one) || has(one, "run", "addAgent", "delAgent"),
  },
  "google-adk": { file: "google_adk.mjs", is: (one) => has(one, "runAsync", "findAgent") },
  langgraph: {
    file: "langgraph.mjs",
    is: (one) => one?.lg_is_pregel === true || one?.graph?.lg_is_pregel === true || one?.lc_runnable === true || named(one, "StateGraph"),
  },
  "llama-index": { file: "llama_index.mjs", is: (one) => has(one, "run", "runStream", "getAgents") },
  mastra: {
    file: "mastra.mjs",
    is: (one) => has(one, "generate", "getInstructions") || isWorkflow(one) || (has(one, "getAgent") && named(one, "Mastra")),
  },
  "openai-agents": { file: "openai_agents.mjs", is: (one) => has(one, "asTool", "getSystemPrompt") },
  strands: { file: "strands.mjs", is: (one) => has(one, "invoke", "stream", "addHook") },
  route: { file: "route.mjs", is: (one) => one?.name === "POST" || isFetcher(one) },
  callable: { file: "callables.mjs", is: (one) => typeof one === "function" && !isClass(one) },
};

function named(one, name) {
  for (let kind = one?.constructor; kind?.name; kind = Object.getPrototypeOf(kind)) {
    if (kind.name === name) return true;
  }
  return false;
}

function has(one, ...methods) {
  return typeof one === "object" && one !== null && methods.every((name) => typeof one[name] === "function");
}

/** A workflow of Mastra, whose `then` adds a step: it is no promise. */
function isWorkflow(one) {
  return has(one, "createRun", "commit", "then");
}

function isFetcher(one) {
  return typeof one === "object" && one !== null && typeof one.fetch === "function";
}

/** The framework that an object is of, empty if it is of none. */
export function frameworkOf(found) {
  return Object.keys(FRAMEWORKS).find((name) => FRAMEWORKS[name].is(found)) ?? "";
}

/** Import a package as a file of the program would, from the copy that it uses. */
export async function importFrom(name, folder) {
  const [first, second] = name.split("/");
  const own = first.startsWith("@") ? `${first}/${second}` : first;
  const at = `.${name.slice(own.length)}`;
  for (let here = folder; ; here = path.dirname(here)) {
    const root = path.join(here, "node_modules", own);
    if (fs.existsSync(path.join(root, "package.json"))) {
      const about = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
      const entry = exported(about.exports, at) ?? (at === "." ? about.module ?? about.main ?? "index.js" : at);
      return import(pathToFileURL(fileAt(path.join(root, entry))).href);
    }
    if (here === path.dirname(here)) return null;
  }
}

function fileAt(file) {
  return fs.existsSync(file) ? file : `${file}.js`;
}

function exported(exports, at) {
  if (exports === undefined) return undefined;
  const map = typeof exports === "object" && !Array.isArray(exports) && Object.keys(exports)[0]?.startsWith(".");
  let found = map ? (exports[at] ?? exports["./*"]) : at === "." ? exports : undefined;
  while (found && typeof found === "object") {
    found = Array.isArray(found)
      ? found[0]
      : ["node", "import", "module", "default"].map((one) => found[one]).find((one) => one !== undefined);
  }
  return found?.replace("*", at.slice(2));
}

const TYPED = /\.(ts|tsx|mts|cts)$/;
const ENDINGS = ["", ".mjs", ".js", ".ts", ".tsx", ".cjs", "/index.mjs", "/index.js", "/index.ts"];

async function load(target, folder) {
  const at = target.lastIndexOf(":");
  let place = at < 0 ? target : target.slice(0, at);
  let name = at < 0 ? "" : target.slice(at + 1);
  if (place.endsWith(".json")) [place, name] = graphIn(place, name, folder);
  const calls = name.endsWith("()");
  if (calls) name = name.slice(0, -2);
  const file = ENDINGS.map((ending) => path.join(folder, place) + ending).find(isFile);
  if (!file) throw new Problem(`there is no file \`${place}\` in the agent's folder. Correct \`target\``);
  if (TYPED.test(file)) await readTypes(place, folder);
  const kind = name ? "" : kindOf(place);
  const made = kind && (await prepare(kind, folder, importFrom));
  const module = await imported(file, place, folder);
  let found = (kind && routeOf(kind, module, made)) || picked(module, name, place);
  if (calls) found = await found();
  return { found, file };
}

function isFile(file) {
  return fs.existsSync(file) && fs.statSync(file).isFile();
}

function graphIn(place, name, folder) {
  let graphs;
  try {
    graphs = JSON.parse(fs.readFileSync(path.join(folder, place), "utf8")).graphs ?? {};
  } catch (error) {
    throw new Problem(`\`${place}\` cannot be read (${error.message}). Correct \`target\``);
  }
  const names = Object.keys(graphs);
  const chosen = name || (names.length === 1 ? names[0] : "");
  if (!chosen || !graphs[chosen]) {
    const shown = names.map((one) => `\`${place}:${one}\``).join(", ");
    throw new Problem(`\`${place}\` has no graph ${chosen ? `\`${chosen}\`` : "alone"}. Name one of ${shown}`);
  }
  const written = typeof graphs[chosen] === "string" ? graphs[chosen] : graphs[chosen].path;
  const [inner, what = ""] = written.split(":");
  return [path.join(path.dirname(place), inner), what];
}

async function readTypes(place, folder) {
  const esm = await importFrom("tsx/esm/api", folder);
  if (esm) {
    const cjs = await importFrom("tsx/cjs/api", folder);
    (cjs?.register ?? cjs?.default?.register)?.();
    esm.register();
  } else if (!process.features.typescript) {
    throw new Problem(
      `\`${place}\` is TypeScript, which Node ${process.versions.node} does not read. Add \`tsx\` to ` +
        "`devDependencies`, or use Node 22.18 or newer",
    );
  }
}

async function imported(file, place, folder) {
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    forPeople(error);
    const missing = /Cannot find (?:package|module) '([^']+)'/.exec(error?.message ?? "");
    if (missing && !/^[./]/.test(missing[1]) && !path.isAbsolute(missing[1])) {
      throw new Problem(
        `\`${place}\` imports \`${missing[1]}\`, which is not installed here. Install it in ` +
          "`runtime.setup`: [npm, ci]",
      );
    }
    throw new Problem(`\`${place}\` cannot be imported: ${described(error, folder)}`);
  }
}

function picked(module, name, place) {
  const all = exportsOf(module);
  if (name) {
    let found = all;
    let owner = all;
    for (const part of name.split(".")) [owner, found] = [found, ofMastra(found, part) ?? found?.[part]];
    if (typeof found === "function" && owner !== all && !isClass(found)) return bound(found, owner);
    if (found !== undefined) return found;
    const names = Object.keys(all).filter((one) => !["default", "module.exports"].includes(one));
    throw new Problem(`\`${place}\` exports no \`${name}\`${near(name, names)}`);
  }
  if (typeof all.POST === "function") return all.POST;
  if (all.default !== undefined && frameworkOf(all.default)) return all.default;
  const names = Object.keys(all).filter((one) => frameworkOf(all[one]));
  const known = names.filter((one) => !["callable", ""].includes(frameworkOf(all[one])));
  const alone = known.length === 1 ? known : names;
  if (alone.length === 1) return all[alone[0]];
  const shown = names.map((one) => `\`${place}:${one}\``).join(", ");
  throw new Problem(
    names.length
      ? `\`${place}\` exports several. Say which one \`target\` means: ${shown}`
      : `\`${place}\` exports neither an agent nor a function. Name one: \`target: ${place}:NAME\``,
  );
}

/** The names of a module; of one that was made of an ES module for `require`, those of the latter. */
function exportsOf(module) {
  const inner = module.default;
  if (inner?.__esModule && typeof inner === "object") return { ...inner };
  return { ...(typeof inner === "object" ? inner : {}), ...module };
}

/** The agent or the workflow that a Mastra has under a key: through it, it has its storage. */
function ofMastra(found, key) {
  if (!has(found, "getAgent") || !named(found, "Mastra")) return undefined;
  for (const get of ["getAgent", "getWorkflow"]) {
    try {
      const one = found[get](key);
      if (one) return one;
    } catch {
      continue; // it has none of this kind
    }
  }
  return undefined;
}

function near(name, names) {
  const low = name.toLowerCase();
  const close = names.find((one) => one.toLowerCase().includes(low) || low.includes(one.toLowerCase()));
  if (close) return `. Did you mean \`${close}\`?`;
  return names.length ? `; there is ${names.slice(0, 8).map((one) => `\`${one}\``).join(", ")}` : "";
}

function described(error, folder) {
  const message = String(error?.message ?? error).split(/\s+/).join(" ").slice(0, 300);
  const said = error?.name ? `${error.name}: ${message}` : message;
  const lines = String(error?.stack ?? "").split("\n");
  const own = lines.find((line) => line.includes(folder) && !line.includes("node_modules"));
  const at = own && /([^\s(]*):(\d+):\d+\)?$/.exec(own);
  return at ? `${said} (${path.relative(folder, at[1].replace(/^file:\/\//, ""))}:${at[2]})` : said;
}

function forPeople(error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
}

async function bridgeOf(found, framework, target, folder, file) {
  const around = { folder: path.dirname(file), root: folder, importFrom, frameworkOf };
  if (/\.m?js$/.test(framework)) {
    const own = path.join(folder, framework);
    if (!fs.existsSync(own)) {
      throw new Problem(`there is no file \`${framework}\` in the agent's folder. Correct \`framework\``);
    }
    const { default: main, Bridge: named } = await imported(own, framework, folder);
    const Own = main ?? named;
    if (typeof Own !== "function") {
      throw new Problem(`\`${framework}\` exports no class \`Bridge\`. See the guide on bridges`);
    }
    return new Own(found, around);
  }
  if (found && typeof found.then === "function" && !isWorkflow(found)) found = await found;
  if (!framework && takesNothing(found)) {
    const made = await found();
    if (!frameworkOf(made)) {
      throw new Problem(
        `\`${target}\` takes nothing, and what it makes cannot be asked. Have it take the question`,
      );
    }
    found = made;
  }
  const name = framework || frameworkOf(found);
  if (!name) {
    const known = Object.keys(FRAMEWORKS).join(", ");
    throw new Problem(
      `\`${target}\` is ${kindNamed(found)}, which no bridge ` +
        `drives (they drive ${known}). Name an agent or a function; or write a bridge of your own ` +
        "and name its file in `runtime.framework`",
    );
  }
  const { Bridge } = await import(`./${FRAMEWORKS[name].file}`);
  return explained(() => new Bridge(found, around), found, framework, target, folder);
}

/** What this gives; an error of an object that is of another framework than is said says that. */
async function explained(call, found, framework, target, folder) {
  try {
    return await call();
  } catch (error) {
    const own = String(error?.stack ?? "").split("\n").some((line) => line.includes(folder) && !line.includes("node_modules"));
    const known = !framework || !FRAMEWORKS[framework] || FRAMEWORKS[framework].is(found);
    if (known || own || !(error instanceof TypeError)) throw error;
    forPeople(error);
    const seen = frameworkOf(found);
    throw new Problem(
      `\`framework: ${framework}\` does not drive \`${target}\`, which is ${kindNamed(found)} (${error.message}). ` +
        (seen ? `Remove \`framework\`, or write \`framework: ${seen}\`` : "Correct `framework` or `target`"),
    );
  }
}

function kindNamed(found) {
  return isClass(found) ? `the class \`${found.name}\`` : `of the type \`${typeOf(found)}\``;
}

function takesNothing(found) {
  if (typeof found !== "function" || found.name === "POST" || found.length > 0) return false;
  if (isClass(found)) return false;
  const source = sourceOf(found);
  const native = /\[native code\]\s*\}$/.test(source);
  return !native && parametersOf(found).length === 0 && !/\barguments\b/.test(source);
}

class Talk {
  constructor(target, framework, alone, folder) {
    Object.assign(this, { target, framework, alone, folder, said: [], bridge: null });
  }

  async answer(told) {
    let output;
    let question;
    try {
      if (!this.bridge) {
        const { found, file } = await load(this.target, this.folder);
        this.found = found;
        this.bridge = await bridgeOf(found, this.framework, this.target, this.folder, file);
      }
      question = new Question(told, this.said, this.alone);
      const ask = () => this.bridge.ask(question);
      output = await explained(ask, this.found, this.framework, this.target, this.folder);
    } catch (error) {
      if (error instanceof Problem) return this.problem(error.message);
      forPeople(error);
      return this.problem(`\`${this.target}\` raised ${described(error, this.folder)}`);
    }
    let said;
    try {
      output = asJson(output) ?? undefined;
      said = typeof output === "string" ? output : JSON.stringify(output);
    } catch (error) {
      const what = error instanceof Speechless ? `something of the type \`${error.message}\`, which is neither a text nor what JSON can hold` : `what JSON cannot hold: ${described(error, this.folder)}`;
      return this.problem(`\`${this.target}\` answered with ${what}`);
    }
    if (said === undefined || said === "") {
      return this.problem(`\`${this.target}\` answered nothing. It has to return its last message`);
    }
    this.said = [...question.messages, { role: "assistant", content: said }];
    return { output };
  }

  problem(sentence) {
    const text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
    const whole = /[.?]$/.test(text) ? text : `${text}.`;
    return { problem: whole.slice(0, MOST), asked: this.bridge !== null };
  }
}

async function* lines(file) {
  let rest = "";
  const plain = fs.fstatSync(file).isFile();
  const input = plain ? fs.createReadStream("", { fd: file }) : new net.Socket({ fd: file, writable: false });
  input.setEncoding("utf8");
  for await (const piece of input) {
    const all = (rest + piece).split("\n");
    rest = all.pop();
    yield* all;
  }
  if (rest) yield rest;
}

function write(given) {
  const data = Buffer.from(`${JSON.stringify(given)}\n`);
  for (let at = 0; at < data.length; ) at += fs.writeSync(3, data, at);
}

async function main([folder, target, framework, mode]) {
  const talk = new Talk(target, framework, mode === "once", path.resolve(folder));
  process.argv.splice(1, process.argv.length, path.join(folder, target.split(":")[0]));
  process.on("unhandledRejection", forPeople);
  for await (const line of lines(4)) {
    const given = await talk.answer(JSON.parse(line));
    write(given);
    if ("problem" in given) process.exit(1);
  }
  process.exit(0);
}

await main(process.argv.slice(2));
