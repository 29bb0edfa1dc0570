// What JSON can hold of an answer: maps as objects, sets as lists, bytes as text, of objects their fields.

const BINARY = /^(Array|SharedArray)Buffer$/;

/** An object of this type, of which nothing can be told. */
export class Speechless extends Error {}

/** Return the same value as JSON has it; what it has no word for is raised as `Speechless`. */
export function asJson(value, above = []) {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "function" || typeof value === "symbol") {
    if (above.length) return undefined;
    throw new Speechless(typeof value);
  }
  if (typeof value !== "object" || value === null) return value;
  if (above.includes(value)) throw new Speechless(`${typeOf(value)}, which holds itself`);
  if (typeof value.toJSON === "function" && !ArrayBuffer.isView(value)) return asJson(value.toJSON(), [...above, value]);
  if (ArrayBuffer.isView(value) && !(value instanceof Uint8Array)) return value instanceof DataView ? text(value) : Array.from(value, (one) => asJson(one, above));
  if (value instanceof Uint8Array || BINARY.test(typeOf(value))) return text(value);
  if (value instanceof Map) return fields([...value].map(([key, one]) => [worded(key), one]), value, above);
  if (value instanceof Set || Array.isArray(value)) return Array.from(value, (one) => asJson(one, [...above, value]) ?? null);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  const entries = Object.entries(value);
  const kind = Object.getPrototypeOf(value);
  if (!entries.length && kind && Object.getPrototypeOf(kind)) {
    if (value.toString !== Object.prototype.toString) return String(value);
    if (above.length) return `<${typeOf(value)}>`;
    throw new Speechless(typeOf(value));
  }
  return fields(entries, value, above);
}

function fields(entries, whole, above) {
  const made = entries.map(([name, one]) => [name, asJson(one, [...above, whole])]);
  return Object.fromEntries(made.filter(([, one]) => one !== undefined));
}

function worded(key) {
  const said = asJson(key);
  return typeof said === "string" ? said : (JSON.stringify(said) ?? String(key));
}

function text(bytes) {
  return Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength).toString();
}

/** The name of the type of a value. */
export function typeOf(value) {
  return value?.constructor?.name ?? typeof value;
}
