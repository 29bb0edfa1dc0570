// Leads calls to known addresses of model providers to the gateway; runs before a Node program
// (20 or newer), by `--import` in NODE_OPTIONS.
//
// It knows nothing of the gate: GATEVAL_REDIRECT says where calls go, GATEVAL_REDIRECT_HOSTS of
// which hosts. It imports what `node:` holds, so that no file of the program can take its place. A
// client that is not known here keeps its address, and its call fails there.

import http from "node:http";
import https from "node:https";
import Module, { syncBuiltinESMExports } from "node:module";
import process from "node:process";

const BASE = process.env.GATEVAL_REDIRECT ?? "";
const HOSTS = new Set((process.env.GATEVAL_REDIRECT_HOSTS ?? "").split(",").filter(Boolean));

/** The path at the gateway for this host and port, "" where it is to be left alone. */
function led(host, port) {
  if (!host || (port && Number(port) !== 443)) return "";
  const name = String(host).toLowerCase().replace(/\.$/, "");
  const above = name.slice(name.indexOf("."));
  return HOSTS.has(name) || HOSTS.has(above) ? `${gate.pathname}/${name}` : "";
}

const gate = BASE ? new URL(BASE) : null;

/** The address at the gateway for this one, null where it is to be left alone. */
function moved(address) {
  let url;
  try {
    url = address instanceof URL ? address : new URL(address);
  } catch {
    return null;
  }
  const path = url.protocol === "https:" ? led(url.hostname, url.port) : "";
  return path ? `${gate.origin}${path}${url.pathname}${url.search}` : null;
}

function changeFetch() {
  const original = globalThis.fetch;
  if (typeof original !== "function") return;
  const fetch = function fetch(input, init) {
    const whole = typeof input === "object" && input !== null && !(input instanceof URL);
    const url = moved(whole ? input.url : input);
    if (url === null) return original.call(this, input, init);
    return original.call(this, whole ? new globalThis.Request(url, input) : url, init);
  };
  Object.defineProperty(globalThis, "fetch", {
    value: fetch, writable: true, enumerable: true, configurable: true,
  });
}

/** The options of a call to `https`, which may begin with an address, and who is called back. */
function asked(words) {
  const [first, second, third] = words;
  if (typeof first !== "string" && !(first instanceof URL)) return [null, { ...first }, second];
  const named = typeof second === "function";
  return [new URL(first), { ...(named ? {} : second) }, named ? second : third];
}

function changeHttps() {
  const { request: secure, get: secureGet } = https;
  const plain = http.request;
  const options = (words) => {
    const [url, given, back] = asked(words);
    const host = given.hostname ?? given.host?.replace(/:443$/, "") ?? url?.hostname;
    const path = led(host, given.port ?? url?.port);
    if (!path) return null;
    const own = given.path ?? (url ? `${url.pathname}${url.search}` : "/");
    const { agent, createConnection, defaultPort, servername, socketPath, ...rest } = given;
    const there = { protocol: "http:", hostname: gate.hostname, host: gate.hostname };
    return [{ ...rest, ...there, port: gate.port, path: path + own }, back];
  };
  const safely = (words) => {
    try {
      return options(words);
    } catch {
      return null; // an argument that is wrong is told by `https` itself
    }
  };
  https.request = function request(...words) {
    const found = safely(words);
    return found ? plain(...found) : secure.apply(this, words);
  };
  https.get = function get(...words) {
    const found = safely(words);
    if (!found) return secureGet.apply(this, words);
    const sent = plain(...found);
    sent.end();
    return sent;
  };
  syncBuiltinESMExports();
}

const CHANGED = Symbol("led");

/** All dispatchers of undici, which its own fetch and `request` use, and clients for one address. */
function changeDispatcher(prototype, Agent) {
  let base = prototype;
  while (base && !Object.hasOwn(base, "dispatch")) base = Object.getPrototypeOf(base);
  if (!base || Object.hasOwn(base, CHANGED)) return;
  const original = base.dispatch;
  let own = null;
  base.dispatch = function dispatch(options, handler) {
    const found = options && typeof options === "object" ? address(this, options) : null;
    if (found === null) return original.call(this, options, handler);
    own ??= new Agent();
    return original.call(own, { ...options, ...found }, handler);
  };
  Object.defineProperty(base, CHANGED, { value: true });
}

/** Where a call of undici goes at the gateway, null where it is to be left alone. */
function address(dispatcher, options) {
  const bound = Object.getOwnPropertySymbols(dispatcher).find((one) => one.description === "url");
  const origin = options.origin ?? (bound && dispatcher[bound]?.origin);
  if (!origin) return null;
  const url = moved(`${String(origin).replace(/\/$/, "")}${options.path ?? "/"}`);
  if (url === null) return null;
  return { origin: gate.origin, path: url.slice(gate.origin.length) };
}

function changeUndici(undici) {
  changeDispatcher(undici.Agent.prototype, undici.Agent);
  const shared = undici.getGlobalDispatcher(); // Node's own, of another version, may be in use
  changeDispatcher(Object.getPrototypeOf(shared), shared.constructor);
}

function changeModules() {
  const original = Module._load;
  Module._load = function _load(name, ...rest) {
    const loaded = original.call(this, name, ...rest);
    try {
      if (/(?:^|[\\/])undici(?:$|[\\/]index(?:\.js)?$)/.test(name) && loaded?.getGlobalDispatcher) {
        changeUndici(loaded);
      }
    } catch {
      // another version than those known: it keeps its address
    }
    return loaded;
  };
}

if (gate !== null && HOSTS.size > 0) {
  changeFetch();
  changeHttps();
  changeModules();
}
