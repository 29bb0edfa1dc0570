// The page of a run. Everything that comes from the run is put in as text, never as markup: the
// policy of the document (trusted types) would not let it be otherwise.

const data = JSON.parse(document.getElementById("lines").textContent);
const [EVAL, NAME, SEVERITY, STATE, HEAD, BASE, PASSES, WHY, AXES, STEPS] = Array(10).keys();
const SIGNS = { p: "●", m: "◆", f: "✕", s: "∅", "?": "?", "-": "–" };
const WORDS = { p: "passed", m: "scored", f: "failed", s: "gave no answer", "?": "not measured", "-": "never ran" };
const CLASSES = { p: "mp", m: "mm", f: "mf", s: "ms", "?": "mx", "-": "mx" };
const PAGE = 100; // lines shown at once
const MOST = 1_000_000; // comparisons that an alignment may take, as in the terminal
const LONG = 1_500; // characters of a step before it is folded
const evals = new Map(data.evals.map((one) => [one.name, one]));
const SCORES = 10; // of each scorer: head and base
const scored = (one, at, side) => one[SCORES]?.[at]?.[side];
const shownScore = (score) => (score == null ? "" : score.toFixed(2));

const byId = (id) => document.getElementById(id);

// Make an element. Strings become text; null and false are left out.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(9).filter((one) => one != null && one !== false && one !== ""));
  return made;
}

const tell = (words) => (byId("told").textContent = words);
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
// A sentence of ours: what stands between backticks is code.
const coded = (text) => text.split(/`([^`\n]+)`/).map((one, at) => (at % 2 ? el("code", {}, one) : one));
const stateOf = (name) => el("span", { class: `state s${name.replaceAll(" ", "-")}` }, name);
const address = (...parts) => "#" + parts.map(encodeURIComponent).join("/");

// ---- blocks ----

const opened = new Map();

// Return a block, opened; null where it was left out. What is opened is kept.
function block(name) {
  if (!opened.has(name)) opened.set(name, unpacked(byId("b" + name)));
  return opened.get(name);
}

async function unpacked(element) {
  if (!element || !globalThis.DecompressionStream) return null;
  const packed = Uint8Array.from(atob(element.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// ---- the grid of fixtures ----

const chosen = { text: "", states: new Set(), eval: "", agent: "", severity: "", axis: "", sort: "worst" };
const searched = data.fixtures.map((one) =>
  [one[NAME], one[EVAL], evals.get(one[EVAL])?.shown, evals.get(one[EVAL])?.agent, one[WHY], ...one[AXES]].join(" ").toLowerCase(),
);
let listed = [];
let limit = PAGE;

const rate = (strip) => {
  const measured = [...strip].filter((one) => "pfs".includes(one));
  return measured.length ? measured.filter((one) => one === "p").length / measured.length : -1;
};
const ORDERS = {
  worst: null,
  name: (a, b) => a[NAME].localeCompare(b[NAME]),
  eval: (a, b) => a[EVAL].localeCompare(b[EVAL]),
  "pass rate": (a, b) => rate(a[HEAD]) - rate(b[HEAD]),
  "fall from base": (a, b) => rate(a[HEAD]) - rate(a[BASE]) - (rate(b[HEAD]) - rate(b[BASE])),
  steps: (a, b) => b[STEPS] - a[STEPS],
};
data.scorers.forEach((name, at) => (ORDERS[`score: ${name}`] = (a, b) => (scored(a, at, 0) ?? 2) - (scored(b, at, 0) ?? 2)));

function filtered() {
  const words = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  data.fixtures.forEach((one, at) => {
    const fits =
      (!chosen.states.size || chosen.states.has(data.states[one[STATE]])) &&
      (!chosen.eval || one[EVAL] === chosen.eval) &&
      (!chosen.agent || evals.get(one[EVAL])?.agent === chosen.agent) &&
      (!chosen.severity || one[SEVERITY] === chosen.severity) &&
      (!chosen.axis || one[AXES].includes(chosen.axis)) &&
      words.every((word) => searched[at].includes(word));
    if (fits) found.push(at);
  });
  const order = ORDERS[chosen.sort];
  return order ? found.sort((a, b) => order(data.fixtures[a], data.fixtures[b]) || a - b) : found;
}

function strip(side, marks) {
  const groups = marks.match(/(.)\1*/gs) ?? [];
  const said = groups.map((one) => `${one.length} ${WORDS[one[0]]}`).join(", ");
  return el(
    "span",
    { role: "img", "aria-label": `${side}: ${said || "nothing ran"}` },
    el("small", {}, side),
    groups.map((one) => el("span", { class: CLASSES[one[0]] }, SIGNS[one[0]].repeat(one.length))),
    marks ? "" : "–",
  );
}

// The signs that stand in strips, each with its word.
const legend = () => Object.keys(SIGNS).filter((one) => data.fixtures.some((line) => (line[HEAD] + line[BASE]).includes(one))).map((one) => `${SIGNS[one]} ${WORDS[one]}`).join(", ");

const made = new Map(); // lines that were shown before

function line(at) {
  if (!made.has(at)) made.set(at, newLine(at));
  return made.get(at);
}

function newLine(at) {
  const one = data.fixtures[at];
  const shown = evals.get(one[EVAL])?.shown ?? one[EVAL];
  return el(
    "tr",
    {},
    el("td", {}, stateOf(data.states[one[STATE]])),
    el("th", { scope: "row" }, el("a", { href: address(one[EVAL], one[NAME]) }, one[NAME]), " ", el("small", {}, `${shown}, ${one[SEVERITY]}`)),
    el("td", { class: "strip" }, strip("head", one[HEAD]), strip("base", one[BASE])),
    el("td", {}, one[PASSES]),
    data.scorers.map((name, at) => el("td", { "data-of": name }, scoreCell(one, at))),
    el("td", {}, coded(one[WHY])),
  );
}

function scoreCell(one, at) {
  if (!one[SCORES]?.[at]) return "";
  const [head, base] = [0, 1].map((side) => shownScore(scored(one, at, side)));
  return `${head || "not measured"}${base && `, base ${base}`}`;
}

const rows = el("tbody");
const more = el("p");

function list() {
  listed = filtered();
  rows.replaceChildren(...listed.slice(0, limit).map(line));
  const left = listed.length - limit;
  more.replaceChildren();
  if (left > 0) more.append(`${left.toLocaleString("en")} more are not shown. `, el("button", { onclick: () => ((limit += 5 * PAGE), list()) }, "Show more"));
  else if (data.left && listed.length === data.fixtures.length) more.append(`${counted(data.left, "more fixture")} did not fit: gateval show ${data.run}`);
  else if (!listed.length) more.append("No fixture fits.");
  tell(`${counted(listed.length, "fixture")} of ${data.fixtures.length} shown.`);
}

function choose(change) {
  Object.assign(chosen, change);
  limit = PAGE;
  list();
}

const unique = (values) => [...new Set(values)].filter(Boolean).sort();

function select(label, key, values, first = "all") {
  if (values.length < 2) return null;
  const options = [...(first ? [["", first]] : []), ...values.map((one) => [one, one])];
  return el(
    "label",
    {},
    label,
    el("select", { onchange: (event) => choose({ [key]: event.target.value }) }, options.map(([value, shown]) => el("option", { value }, shown))),
  );
}

const search = el("input", { type: "search", placeholder: "name, reason, Eval", oninput: (event) => choose({ text: event.target.value }) });

function chips() {
  const numbers = data.states.map((_, at) => data.fixtures.filter((one) => one[STATE] === at).length);
  return data.states.map((name, at) => {
    if (!numbers[at]) return null;
    const press = (event) => {
      const on = chosen.states.delete(name) === false;
      if (on) chosen.states.add(name);
      event.currentTarget.setAttribute("aria-pressed", on);
      choose({});
    };
    return el("button", { "aria-pressed": "false", onclick: press }, stateOf(name), ` ${numbers[at]}`);
  });
}

// A cell that a spreadsheet would take for a formula gets an apostrophe.
const cell = (value) => `"${String(value).replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

function download() {
  const sides = data.scorers.flatMap((name, at) => [[name, at, 0], [name, at, 1]]);
  const scorers = sides.map(([name, , side]) => cell(`${name} ${side ? "base" : "head"}`));
  const titles = ["state", "eval", "fixture", "severity", "head", "base", "passes", "why", ...scorers];
  const lines = filtered().map((at) => data.fixtures[at]).map((one) => {
    const told = [data.states[one[STATE]], one[EVAL], one[NAME], one[SEVERITY], one[HEAD], one[BASE], one[PASSES], one[WHY]];
    return [...told, ...sides.map(([, at, side]) => shownScore(scored(one, at, side)))].map(cell).join(",");
  });
  const url = URL.createObjectURL(new Blob([[titles.join(","), ...lines].join("\r\n")], { type: "text/csv" }));
  el("a", { href: url, download: "fixtures.csv" }).click();
  URL.revokeObjectURL(url);
}

function showGrid() {
  const fixtures = data.fixtures;
  byId("grid").append(
    el(
      "div",
      { class: "controls" },
      el("label", {}, "Search", search),
      select("Eval", "eval", unique(fixtures.map((one) => one[EVAL]))),
      select("Agent", "agent", unique(data.evals.map((one) => one.agent))),
      select("Severity", "severity", unique(fixtures.map((one) => one[SEVERITY]))),
      select("Axis", "axis", unique(fixtures.flatMap((one) => one[AXES]))),
      select("Sort by", "sort", Object.keys(ORDERS), ""),
      el("button", { onclick: download }, "CSV"),
    ),
    el("div", { class: "controls chips", role: "group", "aria-label": "States" }, chips()),
    el("p", { class: "quiet keys" }, "Keys: / search, j and k move, Enter opens; in a fixture n and p the next and previous, d the first difference, Esc back."),
    el("p", { class: "quiet" }, legend()),
    el(
      "table",
      { class: "grid" },
      el("thead", {}, el("tr", {}, ["State", "Fixture", "Repetitions", "Passed", ...data.scorers, "Why"].map((one) => el("th", { scope: "col" }, one)))),
      rows,
    ),
    more,
  );
  list();
}

// ---- two traces beside each other ----

const meaning = (step) => `${step.kind} ${step.tool ?? ""}`;

// Return the pairs of positions of a longest common subsequence, the earliest first.
function common(ours, theirs) {
  const width = theirs.length + 1;
  const lengths = new Uint32Array((ours.length + 1) * width);
  for (let at = ours.length - 1; at >= 0; at--)
    for (let to = theirs.length - 1; to >= 0; to--)
      lengths[at * width + to] =
        ours[at] === theirs[to]
          ? lengths[(at + 1) * width + to + 1] + 1
          : Math.max(lengths[(at + 1) * width + to], lengths[at * width + to + 1]);
  const found = [];
  for (let at = 0, to = 0; at < ours.length && to < theirs.length; ) {
    if (ours[at] === theirs[to]) found.push([at++, to++]);
    else if (lengths[(at + 1) * width + to] >= lengths[at * width + to + 1]) at++;
    else to++;
  }
  return found;
}

// Return rows of two traces: what means the same beside each other.
function aligned(head, base) {
  const small = head.length * base.length <= MOST;
  const same = small
    ? common(head.map(meaning), base.map(meaning))
    : Array.from({ length: Math.min(head.length, base.length) }, (_, at) => [at, at]);
  const found = [];
  let [row, column] = [0, 0];
  for (const [left, right] of [...same, [head.length, base.length]]) {
    while (row < left || column < right) found.push([row < left ? row++ : -1, column < right ? column++ : -1]);
    if (left < head.length && right < base.length) found.push([row++, column++]);
  }
  return found;
}

const pieces = (text) => text.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? [];

// Return both texts as lists of [piece, whether the other has it]; null where they have little in common.
function words(ours, theirs) {
  const [a, b] = [pieces(ours), pieces(theirs)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = x.length * y.length <= MOST ? common(x, y) : [];
  if ((start + end + same.length) * 3 < Math.max(a.length, b.length)) return null;
  const [inX, inY] = [new Set(same.map(([at]) => at)), new Set(same.map(([, to]) => to))];
  const told = (all, middle) => all.map((one, at) => [one, at < start || at >= all.length - end || middle.has(at - start)]);
  return [told(a, inX), told(b, inY)];
}

function differing(list, tag) {
  const made = [];
  for (const [piece, same] of list) {
    const last = made.at(-1);
    if (last && last.same === same) last.text += piece;
    else made.push({ same, text: piece });
  }
  return made.map((one) => (one.same ? one.text : el(tag, {}, one.text)));
}

// Return a text with the quotes that stand in it marked, white space aside.
function marked(step, quotes) {
  const { text } = step;
  const places = [];
  for (const quote of quotes) {
    const call = step.kind === "tool_call"; // judges read its tool first, and JSON with spaces
    const said = call && quote.startsWith(`${step.tool} `) ? quote.slice(step.tool.length) : quote;
    const parts = (call ? [...said.replace(/\s+/g, "")] : said.split(/\s+/)).filter(Boolean).map((one) => one.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&"));
    const found = parts.length && new RegExp(parts.join(call ? "\\s*" : "\\s+")).exec(text);
    if (found) places.push([found.index, found.index + found[0].length]);
  }
  const made = [];
  let at = 0;
  for (const [from, to] of places.sort((a, b) => a[0] - b[0])) {
    if (from < at) continue;
    made.push(text.slice(at, from), el("mark", {}, text.slice(from, to)));
    at = to;
  }
  return [...made, text.slice(at)];
}

const TITLES = { user: "user", assistant: "agent", tool_call: "calls", tool_result: "answers", error: "error" };

function titled(step) {
  if (step.kind === "tool_call") return `calls ${step.tool}`;
  if (step.kind === "tool_result" && step.tool) return `${step.tool} answers`;
  return TITLES[step.kind] ?? step.kind;
}

function stepCell(view, trial, at, content) {
  if (at < 0) return el("div", { class: "none" }, trial.side === "head" ? "no such step on head" : "no such step on base");
  const step = trial.steps[at];
  const number = at + 1;
  const blamed = trial.checks.filter((one) => one.status !== "passed" && one.steps.includes(number));
  const notes = [step.agent, step.refused && "refused", step.cut && "cut", step.conversation && `conversation ${step.conversation}`].filter(Boolean);
  const body = el("pre", {}, content);
  const long = step.text.length > LONG;
  return el(
    "div",
    { class: `step ${step.kind === "error" ? "kerror" : step.kind}`, id: `step-${trial.side}-${number}`, tabindex: "-1" },
    el("h4", {}, el("a", { href: address(view.line[EVAL], view.line[NAME], trial.side, trial.rep, number), title: "Address of this step" }, `${number} ${titled(step)}`), notes.length ? el("small", {}, ` ${notes.join(", ")}`) : ""),
    long && !blamed.length ? el("details", {}, el("summary", {}, `${step.text.slice(0, 200)}… (${counted(step.text.length, "character")})`), body) : body,
    blamed.map((one) => el("p", { class: "blame" }, `✕ ${one.label} ${one.ended.split(" at step")[0]}: `, coded(one.reason))),
  );
}

function content(step, quotes, other, tag) {
  if (quotes.length) return marked(step, quotes);
  return other ? differing(other, tag) : [step.text];
}

function quotesAt(trial, number) {
  return trial.checks.flatMap((one) => one.judge?.quotes ?? []).filter((one) => one.found && one.step === number).map((one) => one.quote);
}

function rowOf(view, head, base, [at, to], here) {
  const [ours, theirs] = [head.steps[at], base.steps[to]];
  const both = ours && theirs;
  const alike = both && meaning(ours) === meaning(theirs);
  const apart = !alike || ours.text !== theirs.text;
  const told = alike && apart ? words(ours.text, theirs.text) : null;
  return el(
    "div",
    { class: `row${apart ? " apart" : ""}${here ? " here" : ""}` },
    stepCell(view, head, at, ours && content(ours, quotesAt(head, at + 1), told?.[0], "ins")),
    stepCell(view, base, to, theirs && content(theirs, quotesAt(base, to + 1), told?.[1], "del")),
  );
}

const leftOut = (view, trial) =>
  trial.left > 0 && el("p", { class: "notice" }, `${counted(trial.left, "step")} of ${trial.side} left out: `, el("code", {}, `${view.show} --repetition ${trial.rep} --full`));

function unTraced(trial) {
  if (trial.steps.length) return null;
  const said = trial.output || trial.reason || "No steps were seen.";
  return el("div", { class: "step" }, el("h4", {}, `${trial.side}: no trace, only this`), el("pre", {}, said));
}

function traces(view) {
  const { head, base } = view;
  const both = head?.steps.length && base?.steps.length;
  if (!both) {
    return el(
      "div",
      { class: head && base ? "pair" : "pair one" },
      [head, base].filter(Boolean).map((trial) => [
        unTraced(trial),
        trial.steps.map((step, at) => el("div", { class: "row" }, stepCell(view, trial, at, content(step, quotesAt(trial, at + 1), null)))),
        leftOut(view, trial),
      ]),
    );
  }
  const found = aligned(head.steps, base.steps);
  const equal = ([at, to]) => at >= 0 && to >= 0 && meaning(head.steps[at]) === meaning(base.steps[to]) && head.steps[at].text === base.steps[to].text;
  let prefix = found.findIndex((one) => !equal(one));
  if (prefix < 0) prefix = found.length;
  const named = view.usual && view.block.difference;
  const here = named
    ? found.findIndex(([at, to]) => at + 1 === named.head && to + 1 === named.base)
    : prefix < found.length ? prefix : -1;
  view.here = here < 0 ? "" : found[here][0] >= 0 ? `step-head-${found[here][0] + 1}` : `step-base-${found[here][1] + 1}`;
  const built = found.map((one, at) => rowOf(view, head, base, one, at === here));
  const folded = prefix >= 3 ? built.slice(0, prefix) : [];
  return el(
    "div",
    { class: "pair" },
    el("div", { class: "row colheads" }, el("div", {}, `head, repetition ${head.rep}`), el("div", {}, `base, repetition ${base.rep}`)),
    folded.length ? el("details", { id: "alike" }, el("summary", {}, `${counted(folded.length, "step")} alike on both sides`), el("div", { class: "pair" }, folded)) : "",
    built.slice(folded.length),
    leftOut(view, head),
    leftOut(view, base),
  );
}

// ---- one fixture ----

function link(view, trial, number) {
  return el("a", { href: address(view.line[EVAL], view.line[NAME], trial.side, trial.rep, number) }, `step ${number}`);
}

function quoteOf(view, trial, one) {
  return el("li", {}, `${one.found ? "✓" : "✕"} ${one.mark}. ${one.severity}: ${one.rule} `, el(one.found ? "mark" : "s", {}, one.quote), " ", one.found ? link(view, trial, one.step) : "");
}

function checkOf(view, trial, one) {
  const icon = { passed: "✓", failed: "✕", error: "?" }[one.status];
  return el(
    "li",
    { class: one.status },
    el("span", { class: "icon", "aria-hidden": "true" }, icon),
    el("b", {}, `${one.label} ${one.ended}`),
    ": ", coded(one.reason), " ",
    el("code", {}, one.place),
    one.steps.map((number) => [" ", link(view, trial, number)]),
    one.claimed ? el("small", {}, " claimed by the candidate itself") : "",
    one.judge ? el("div", {}, one.judge.says && !one.reason.includes(one.judge.says) ? one.judge.says : "", el("small", {}, ` judge ${one.judge.model}, confidence ${one.judge.confidence.toFixed(2)}`)) : "",
    one.judge?.quotes.length ? el("ul", { class: "quotes" }, one.judge.quotes.map((quote) => quoteOf(view, trial, quote))) : "",
  );
}

function checks(view) {
  const trial = view.head ?? view.base;
  if (!trial?.checks.length) return null;
  const passed = trial.checks.filter((one) => one.status === "passed");
  const rest = trial.checks.filter((one) => one.status !== "passed");
  const shown = (some) => el("ul", { class: "checks" }, some.map((one) => checkOf(view, trial, one)));
  return el("div", {}, el("h3", {}, `What ${trial.side} had to meet`), shown(rest), passed.length ? (rest.length ? el("details", {}, el("summary", {}, `${passed.length} passed`), shown(passed)) : shown(passed)) : "");
}

function picker(view, side) {
  const outline = view.block.outline.filter((one) => one.side === side);
  if (!outline.length) return null;
  return el(
    "span",
    { class: "bar", role: "group", "aria-label": `Repetitions of ${side}` },
    el("small", {}, side),
    outline.map((one) =>
      el(
        "button",
        { "aria-current": view[side]?.rep === one.rep ? "true" : "false", title: WORDS[one.mark], "aria-label": `${side} repetition ${one.rep}, ${WORDS[one.mark]}`, onclick: () => open(view.at, { ...view.reps, [side]: one.rep }) },
        el("span", { class: CLASSES[one.mark] }, SIGNS[one.mark]),
        ` ${one.rep}`,
      ),
    ),
  );
}

function ended(trial) {
  if (!trial) return null;
  const facts = [`${trial.seconds.toFixed(1)} s`, trial.tokens != null && `${trial.tokens.toLocaleString("en")} tokens`, trial.usd != null && `$${trial.usd.toPrecision(3)}`, trial.models.join(", ")].filter(Boolean);
  return el("p", {}, el("b", {}, `${trial.side}, repetition ${trial.rep}: ${trial.outcome}`), ` in ${facts.join(", ")}. `, coded(trial.reason));
}

const diffLines = (text) =>
  text.split("\n").map((one) => el("span", { class: one.startsWith("+") ? "add" : one.startsWith("-") ? "cut" : one.startsWith("@@") ? "at" : "same" }, one));

function editOf([name, diff, note], at) {
  const said = [el("code", {}, name), note ? el("small", {}, ` ${note}`) : ""];
  if (!diff) return el("p", {}, said);
  const lines = diffLines(diff);
  return el("details", { open: at < 3 && lines.length <= 40 }, el("summary", {}, said), el("pre", { class: "diff", tabindex: "0", role: "region", "aria-label": `Changed lines of ${name}` }, lines));
}

function diverges(view) {
  const { agent } = view;
  const found = view.block.difference;
  const changed = agent?.prompt || agent?.files.length || agent?.changes.length;
  if (!(view.usual && found) && !changed) return null;
  return el(
    "div",
    { class: "diverges" },
    view.usual && found ? el("p", { class: "first" }, "First difference. ", coded(found.said), ". ", el("button", { onclick: toDifference }, "Go there (d)")) : "",
    changed ? el("p", {}, el("b", {}, "Changed here"), el("small", {}, " what this revision changes in the agent; whether it is the cause is for you to say")) : "",
    agent?.prompt ? el("pre", { class: "diff", tabindex: "0", role: "region", "aria-label": "Changed lines of the prompt" }, el("small", {}, agent.where), diffLines(agent.prompt)) : "",
    agent?.files.map(editOf) ?? "",
    agent?.changes.length ? el("ul", {}, agent.changes.slice(0, 8).map(([what, before, after]) => el("li", {}, el("code", {}, what), before ? [" ", el("del", {}, before)] : "", after ? [" → ", el("ins", {}, after)] : ""))) : "",
  );
}

function offered({ agent }) {
  if (!agent || !(agent.tools.length || agent.models.flat().length)) return null;
  const [head, base] = agent.models.map((one) => one.join(", "));
  const moved = agent.tools.filter(([, state]) => state && state !== "same").length;
  return el(
    "details",
    {},
    el("summary", {}, `What the model was offered: ${counted(agent.tools.length, "tool")}${moved ? `, ${moved} differ from base` : ""}`),
    el("p", {}, head === base || !base ? head : [el("del", {}, base), " → ", el("ins", {}, head)]),
    el("ul", {}, agent.tools.map(([name, state, about]) => el("li", {}, el("code", {}, name), state && state !== "same" ? el("b", {}, ` ${state}`) : "", about ? ` ${about}` : ""))),
  );
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    button.textContent = "Selected: copy it";
  }
  tell(button.textContent);
}

function commands(view) {
  return el(
    "div",
    {},
    el("h3", {}, "To do next"),
    el("ul", { class: "commands" }, view.block.commands.map(([what, command]) => el("li", {}, el("span", {}, `${what}: `), el("code", {}, command), el("button", { onclick: (event) => copy(command, event.currentTarget), "aria-label": `Copy: ${what}` }, "Copy")))),
  );
}

function summaryOnly(view) {
  return el("div", {}, el("p", {}, view.line[WHY]), el("p", { class: "notice" }, `${counted(view.line[STEPS], "step")} left out: `, el("code", {}, view.show)));
}

let current = null;

async function open(at, reps, step) {
  const line = data.fixtures[at];
  const one = await block(`${at}a`);
  const view = { at, line, block: one, show: `gateval show ${data.run} ${evals.get(line[EVAL])?.own}/${line[NAME]}` };
  const title = el("h2", { id: "t-fixture" }, line[NAME], " ", el("small", {}, `${evals.get(line[EVAL])?.shown ?? line[EVAL]}, ${line[SEVERITY]}`));
  const facts = el("p", {}, stateOf(data.states[line[STATE]]), ` ${line[PASSES]}`, one?.score ? `, ${one.score}` : "");
  const place = byId("fixture");
  if (one) {
    view.reps = { head: reps?.head ?? one.pair[0], base: reps?.base ?? one.pair[1] };
    view.usual = view.reps.head === one.pair[0] && view.reps.base === one.pair[1];
    const rest = view.usual ? [] : ((await block(`${at}b`)) ?? []);
    const trials = [...one.trials, ...rest];
    const find = (side) => trials.find((trial) => trial.side === side && trial.rep === view.reps[side]);
    [view.head, view.base] = [find("head"), find("base")];
    const agents = (await block("agents")) ?? {};
    view.agent = Object.hasOwn(agents, one.agent) ? agents[one.agent] : null;
    const lost = ["head", "base"].filter((side) => view.reps[side] && !view[side]);
    place.replaceChildren(
      ...[
        title, facts, el("p", { class: "quiet" }, one.about, " ", el("code", {}, one.place)),
        el("div", { class: "bar" }, picker(view, "head"), picker(view, "base"), el("a", { href: "#fixtures" }, "Back to all")),
        ended(view.head), ended(view.base),
        lost.map((side) => el("p", { class: "notice" }, `The steps of ${side}, repetition ${view.reps[side]}, are left out: `, el("code", {}, `${view.show} --repetition ${view.reps[side]}`))),
        one.why && !view.head?.checks.length && one.why !== view.head?.reason ? el("p", { class: "text" }, one.why) : "",
        one.then ? el("details", {}, el("summary", {}, "What head did then"), el("pre", {}, one.then)) : "",
        diverges(view), checks(view), el("h3", {}, "What it did"), traces(view), offered(view),
        view.head?.printed ? el("details", {}, el("summary", {}, "What head printed"), el("pre", {}, view.head.printed)) : "",
        commands(view),
      ].flat().filter(Boolean),
    );
  } else place.replaceChildren(title, facts, summaryOnly(view));
  current = view;
  Object.assign(place.dataset, { eval: evals.get(line[EVAL])?.own ?? "", fixture: line[NAME], rep: view.reps?.head || 1 });
  place.hidden = false;
  const target = step && byId(`step-${step.side}-${step.number}`);
  if (target) {
    const folded = target.closest("#alike");
    if (folded) folded.open = true;
    target.classList.add("target");
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "center" });
  } else if (reps === undefined || step) {
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: "start" });
  }
  tell(`${line[NAME]}: ${line[PASSES]}`);
}

function toDifference() {
  const target = current?.here && byId(current.here);
  if (!target) return;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "center" });
}

// ---- addresses and keys ----

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function route() {
  const [name, fixture, side, rep, number] = location.hash.slice(1).split("/").map(decoded);
  if (fixture === undefined) {
    byId("fixture").hidden = true;
    if (name === "fixtures" && current) made.get(current.at)?.querySelector("a").focus();
    current = null;
    return;
  }
  const at = data.fixtures.findIndex((one) => one[EVAL] === name && one[NAME] === fixture);
  if (at < 0) return tell(`There is no fixture ${fixture} of ${name} in this run.`);
  const known = side === "head" || side === "base";
  await open(at, known ? { [side]: Number(rep) || 1 } : undefined, known && number ? { side, number: Number(number) } : undefined);
  if (known && !number) byId("fixture").scrollIntoView({ block: "start" });
}

function step(by) {
  if (!current) return;
  const next = data.fixtures[listed[listed.indexOf(current.at) + by]];
  if (next) location.hash = address(next[EVAL], next[NAME]);
}

function moveLine(by) {
  const links = [...rows.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

const KEYS = {
  "/": () => search.focus(),
  j: () => moveLine(1),
  k: () => moveLine(-1),
  n: () => step(1),
  p: () => step(-1),
  d: toDifference,
  Escape: () => (location.hash = "#fixtures"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (typing && event.key === "Escape") return typing.blur();
  if (typing || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
});

if (data.fixtures.length) showGrid();
else byId("grid").append("No fixture was looked at.");
addEventListener("hashchange", route);
route();
