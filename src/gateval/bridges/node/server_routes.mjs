// Routes of servers that a file makes by where it stands: Next.js (`pages/api`), SvelteKit
// (`+server`), Astro, Nuxt (`server/api`), Remix and React Router (`app/routes`). Each becomes a
// `POST(Request)`, which `route.mjs` asks.
//
// What these frameworks put around such a file stands here as far as an answer needs it: `$lib` and
// `$env` of SvelteKit, the functions that Nuxt needs no import for. Nothing is built, no page drawn.

import fs from "node:fs";
import Module, { register } from "node:module";
import path from "node:path";
import process from "node:process";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const KINDS = {
  next: /(^|\/)app\/(.*\/)?route\.c?[jt]sx?$/,
  svelte: /(^|\/)\+server\.[jt]s$/,
  pages: /(^|\/)pages\/api\/.*\.c?[jt]sx?$/,
  nuxt: /(^|\/)server\/(api|routes)\/.*\.m?[jt]s$/,
  remix: /(^|\/)app\/routes\/.*\.[jt]sx?$/,
};

/** Which kind of route a file is by its path, empty for none. */
export function kindOf(place) {
  return Object.keys(KINDS).find((name) => KINDS[name].test(place)) ?? "";
}

/** Make ready what a file of this kind takes for granted, before it is imported; what Nuxt is made of. */
export async function prepare(kind, folder, importFrom) {
  if (kind === "svelte") register(resolving(folder));
  if (kind === "next") leaveOut();
  return kind === "nuxt" ? takeForGranted(folder, importFrom) : null;
}

/** The route of a module as `POST(Request)`; what it exports itself, where that is no route. */
export function routeOf(kind, module, h3) {
  const all = { ...(typeof module.default === "object" ? module.default : {}), ...module }; // of CommonJS
  const { POST: post, action, config } = all;
  const own = all.default?.default ?? all.default;
  if ((kind === "svelte" || kind === "pages") && typeof post === "function") {
    return named((request) => post(eventOf(request)));
  }
  if (kind === "next" && typeof post === "function") return named(post); // which may be `handle(app)`
  if (kind === "remix" && typeof action === "function") {
    return named(async (request) => responseOf(await action({ request, params: {}, context: {} })));
  }
  if (kind === "pages" && typeof own === "function") {
    const edge = /edge/.test(config?.runtime ?? "") || own.length === 1;
    return named((request) => (edge ? own(request, { waitUntil() {} }) : byNode(own, request)));
  }
  if (kind === "nuxt" && typeof own === "function") {
    return named(async (request) => {
      if (!h3.createApp) return new h3.H3().all("/**", own).fetch(request);
      const app = h3.createApp().use(own);
      return h3.toWebHandler ? h3.toWebHandler(app)(request) : byNode(h3.toNodeListener(app), request);
    });
  }
  return null;
}

function named(answer) {
  return async function POST(request, context) {
    return answer(request, context);
  };
}

function responseOf(given) {
  if (given instanceof Response || typeof given?.text === "function") return given;
  const { data, init } = given?.type === "DataWithResponseInit" ? given : { data: given };
  return Response.json(data ?? null, init ?? undefined);
}

/** What SvelteKit and Astro hand to a route. */
function eventOf(request) {
  const kept = new Map();
  const cookies = {
    get: (name) => kept.get(name),
    getAll: () => [],
    has: (name) => kept.has(name),
    set: (name, value) => void kept.set(name, value),
    delete: (name) => void kept.delete(name),
    serialize: () => "",
  };
  const locals = new Proxy({}, { get: (own, name) => own[name] ?? (/^(get|safeGet)/.test(String(name)) ? async () => null : undefined) });
  return {
    request, cookies, locals, fetch, params: {}, url: new URL(request.url), route: { id: "" }, platform: undefined,
    isDataRequest: false, getClientAddress: () => "127.0.0.1", clientAddress: "127.0.0.1", setHeaders() {}, depends() {},
  };
}

/** Ask a handler that takes a request and a response as Node has them. */
async function byNode(handler, request) {
  const text = await request.text();
  const url = new URL(request.url);
  const headers = Object.fromEntries(request.headers);
  const asked = {
    method: "POST", url: `${url.pathname}${url.search}`, headers, body: text ? JSON.parse(text) : {}, cookies: {},
    query: Object.fromEntries(url.searchParams), socket: { remoteAddress: "127.0.0.1" }, connection: {},
    on() { return this; }, once() { return this; }, off() { return this; }, removeListener() { return this; },
    async *[Symbol.asyncIterator]() { yield Buffer.from(text); },
  };
  const given = new Answer();
  const ended = new Promise((resolve, reject) => given.on("finish", resolve).on("error", reject));
  const returned = handler(asked, given);
  await Promise.race([ended, Promise.resolve(returned).then(() => given.writableEnded || ended)]);
  return given.response();
}

class Answer extends Writable {
  statusCode = 200;
  statusMessage = "";
  headersSent = false;
  #headers = new Headers();
  #pieces = [];

  _write(piece, _, done) {
    this.headersSent = true;
    this.#pieces.push(piece);
    done();
  }

  setHeader(name, value) {
    this.#headers.set(name, String(value));
    return this;
  }

  appendHeader(name, value) {
    this.#headers.append(name, String(value));
    return this;
  }

  getHeader(name) { return this.#headers.get(name) ?? undefined; }
  hasHeader(name) { return this.#headers.has(name); }
  removeHeader(name) { this.#headers.delete(name); }
  getHeaders() { return Object.fromEntries(this.#headers); }
  flushHeaders() { this.headersSent = true; }
  flush() {}

  writeHead(status, ...more) {
    this.statusCode = status;
    const headers = more.at(-1);
    if (headers && typeof headers === "object") {
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    }
    return this;
  }

  status(code) {
    this.statusCode = code;
    return this;
  }

  json(value) {
    this.setHeader("content-type", "application/json");
    this.end(JSON.stringify(value));
    return this;
  }

  send(value) {
    if (value !== null && typeof value === "object" && !Buffer.isBuffer(value)) return this.json(value);
    this.end(value === undefined || value === null ? "" : Buffer.isBuffer(value) ? value : String(value));
    return this;
  }

  redirect(status, place) {
    this.writeHead(typeof status === "number" ? status : 307, { location: place ?? status });
    this.end();
    return this;
  }

  response() {
    const bare = [204, 304].includes(this.statusCode);
    return new Response(bare ? null : Buffer.concat(this.#pieces), { status: this.statusCode, headers: this.#headers });
  }
}

/** Hooks, as the address of a module, for the names that SvelteKit resolves itself. */
function resolving(folder) {
  const lib = pathToFileURL(path.join(folder, "src/lib")).href;
  const source = `
    import fs from "node:fs";
    const made = (text) => ({ url: "data:text/javascript," + encodeURIComponent(text), shortCircuit: true });
    const endings = ["", ".ts", ".js", "/index.ts", "/index.js", ".mjs"];
    export async function resolve(name, context, next) {
      if (name === "$lib" || name.startsWith("$lib/")) {
        const place = ${JSON.stringify(lib)} + name.slice(4);
        const bare = place.replace(/\\.js$/, "");
        const isFile = (url) => fs.statSync(new URL(url), { throwIfNoEntry: false })?.isFile();
        const found = [place, bare].flatMap((one) => endings.map((end) => one + end)).find(isFile);
        return next(found ?? place, context);
      }
      if (/^\\$env\\/dynamic\\//.test(name)) return made("export const env = process.env;");
      if (/^\\$env\\/static\\//.test(name)) {
        const text = context.parentURL?.startsWith("file:") ? fs.readFileSync(new URL(context.parentURL.split("?")[0]), "utf8") : "";
        const lists = [...text.matchAll(/import\\s*\\{([^}]*)\\}\\s*from\\s*["']\\$env\\/static/g)].map((one) => one[1]);
        const names = lists.join(",").split(",").map((one) => one.trim().split(/\\s+as\\s+/)[0]).filter((one) => /^[A-Za-z_]\\w*$/.test(one));
        return made([...new Set(names)].map((one) => "export const " + one + " = process.env." + one + " ?? '';").join("\\n"));
      }
      if (name === "$app/environment") return made("export const browser = false, dev = false, building = false, version = '';");
      return next(name, context);
    }`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** Import `server-only` as nothing, as bundlers do: by itself it fails. */
function leaveOut() {
  const source = `export const resolve = (name, context, next) => name === "server-only"
    ? { url: "data:text/javascript,", shortCircuit: true } : next(name, context);`;
  register(`data:text/javascript,${encodeURIComponent(source)}`);
  const load = Module._load;
  Module._load = (name, ...more) => (name === "server-only" ? {} : load(name, ...more));
}

/** Put on `globalThis` what files of Nuxt's server use without an import. */
async function takeForGranted(folder, importFrom) {
  const nuxt = path.join(folder, "node_modules/nuxt");
  const homes = [folder, ...(fs.existsSync(nuxt) ? [fs.realpathSync(nuxt)] : [])];
  const found = async (name) => {
    for (const home of homes) {
      const module = await importFrom(name, home).catch(() => null);
      if (module) return module;
    }
    return null;
  };
  const h3 = await found("h3");
  const own = { ...h3, $fetch: (await found("ofetch"))?.$fetch, defineNuxtConfig: (one) => one };
  own.defineLazyEventHandler ??= (make) => async (event) => (await make())(event);
  own.defineCachedEventHandler = own.cachedEventHandler = (handler) => handler;
  own.useStorage = () => ({ getItem: async () => null, setItem: async () => {}, removeItem: async () => {} });
  for (const [name, value] of Object.entries(own)) if (value !== undefined && name !== "default") globalThis[name] ??= value;
  const config = await settings(folder);
  globalThis.useRuntimeConfig ??= () => config;
  for (const place of ["server/utils", "shared/utils"]) {
    const here = path.join(folder, place);
    const files = fs.existsSync(here) ? fs.readdirSync(here).filter((one) => /\.[jt]s$/.test(one) && !one.endsWith(".d.ts")) : [];
    for (const file of files) {
      const module = await import(pathToFileURL(path.join(here, file)).href);
      for (const [name, value] of Object.entries(module)) if (name !== "default") globalThis[name] ??= value;
    }
  }
  return h3;
}

/** The settings that a project's `nuxt.config` has for its server, with those of the environment. */
async function settings(folder) {
  const file = ["ts", "js", "mjs"].map((end) => path.join(folder, `nuxt.config.${end}`)).find((one) => fs.existsSync(one));
  let given = {};
  try {
    if (file) given = (await import(pathToFileURL(file).href)).default?.runtimeConfig ?? {};
  } catch (error) {
    process.stderr.write(`nuxt.config was not read: ${error?.message ?? error}\n`);
  }
  const filled = (values, before) =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const name = `${before}_${key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase()}`;
        const inner = value && typeof value === "object" && !Array.isArray(value);
        return [key, inner ? filled(value, name) : (process.env[name] ?? value)];
      }),
    );
  return { public: {}, app: { baseURL: "/" }, ...filled(given, "NUXT") };
}
