// Which parameters a function has, read off its source: names, what it takes apart, which it can do without.

const SOURCES = new WeakMap();

/** Return a method that keeps the object it is of, and its own source. */
export function bound(method, owner) {
  const kept = new Proxy(method, { apply: (called, _, given) => Reflect.apply(called, owner, given) });
  SOURCES.set(kept, method);
  return kept;
}

/** The text of a function as its file has it, without comments before its parameters. */
export function sourceOf(target) {
  return Function.prototype.toString.call(SOURCES.get(target) ?? target);
}

/** Whether a function is a class, which only `new` calls. */
export function isClass(target) {
  return typeof target === "function" && /^class\b/.test(sourceOf(target));
}

/**
 * The parameters of a function: `name`, `{` for an object that it takes apart; `optional` are those
 * with a default, those that gather the rest, and those that the function shows it can do without.
 */
export function parametersOf(target) {
  const source = sourceOf(target);
  const alone = /^(?:async\s+)?([\w$]+)\s*=>/.exec(source);
  if (alone) return [{ name: alone[1], optional: false }];
  const start = opening(source);
  if (start < 0 || /\{\s*\[native code\]\s*\}$/.test(source)) return [];
  const [pieces, end] = split(source, start);
  return pieces.map((piece) => parameter(piece, source.slice(end)));
}

function opening(source) {
  const head = /^(?:\s|\/\*[^]*?\*\/|\/\/[^\n]*\n|async\b|function\b|get\b|static\b|\*|\[[^\]]*\]|"[^"]*"|'[^']*'|[\w$#]+)*/.exec(source);
  return source[head[0].length] === "(" ? head[0].length : -1;
}

/** The pieces between these brackets that commas divide, and where the brackets end. */
function split(source, start) {
  const pieces = [""];
  let depth = 0;
  for (let at = start; at < source.length; at += 1) {
    const here = source[at];
    const skipped = skip(source, at);
    if (skipped > at) {
      if (!source.startsWith("/", at)) pieces[pieces.length - 1] += source.slice(at, skipped);
      at = skipped - 1;
      continue;
    }
    if ("([{".includes(here)) depth += 1;
    if (")]}".includes(here)) depth -= 1;
    if (depth === 0) return [pieces.map((one) => one.trim()).filter(Boolean), at];
    if (here === "," && depth === 1) pieces.push("");
    else if (at > start) pieces[pieces.length - 1] += here;
  }
  return [[], source.length];
}

/** Where a comment or a text that begins here ends; the same place for anything else. */
function skip(source, at) {
  const found = /^(?:\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)/.exec(source.slice(at, at + 10000));
  return at + (found ? found[0].length : 0);
}

function parameter(piece, body) {
  const name = piece.startsWith("{") ? "{" : piece.startsWith("[") ? "[" : (/^(?:\.\.\.)?([\w$]+)/.exec(piece)?.[1] ?? "");
  const plain = /^[\w$]+$/.test(piece);
  return { name, optional: !plain && !/^[{[]/.test(piece) ? true : hasDefault(piece) || (plain && copes(name, body)) };
}

function hasDefault(piece) {
  let depth = 0;
  for (let at = 0; at < piece.length; at += 1) {
    if ("([{".includes(piece[at])) depth += 1;
    if (")]}".includes(piece[at])) depth -= 1;
    if (depth === 0 && piece[at] === "=") return true;
  }
  return false;
}

/** Whether the body of a function asks if this parameter was given, as it does of one that may be missing. */
function copes(name, body) {
  const own = name.replace(/\$/g, "\\$");
  const before = `(?:typeof\\s+|if\\s*\\(\\s*!?|!|\\.\\.\\.\\(?)${own}(?![\\w$.(\\[])`;
  const after = `(?<![\\w$.])${own}\\s*(?:\\?\\.|\\?\\?|\\|\\||&&|\\?(?!\\.)|[!=]==?\\s*(?:undefined|null))`;
  return new RegExp(`${before}|${after}`).test(body);
}
