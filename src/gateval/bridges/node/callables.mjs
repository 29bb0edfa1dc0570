// Plain functions: sync, async, generators; text or messages in, text or an object out.

import { parametersOf } from "./parameters.mjs";

const PAYLOADS = /^(payload|body|event|data|inputs?Data)$/i;
const MESSAGES = /^(messages|conversation|history|chatHistory)$/i;
const HISTORIES = /^(history|chatHistory|messageHistory)$/i;
const TEXTS = [
  "prompt", "question", "query", "message", "text", "userInput", "userMessage", "userMsg", "input", "inputText",
  "task", "topic", "request", "content", "q", "msg",
]; // what a question is usually called, the most usual first

export class Bridge {
  constructor(target) {
    this.target = target;
  }

  async ask(question) {
    return whole(await this.target(...given(this.target, question)), question);
  }
}

/** What a function is told, by the names of its parameters; one that takes apart an object gets
 * the question, the messages and the payload by their names. */
function given(target, question) {
  const schema = target.__action?.inputSchema; // of a flow of Genkit
  const inner = schema?._def?.innerType ?? schema;
  if (inner?.shape) return [objectFor(Object.keys(inner.shape), question)];
  const all = parametersOf(target);
  if (target.__action || all.length < 2) return [alone(all[0]?.name ?? "", question)];
  const needed = all.filter((one) => !one.optional);
  if (needed.length < 2) {
    const only = needed[0] ?? all[0];
    return all.slice(0, all.indexOf(only) + 1).map((one) => (one === only ? alone(one.name, question) : undefined));
  }
  return filled(all, needed, question);
}

function alone(name, question) {
  if (name === "{") {
    const { prompt, messages, history, payload } = question;
    return { prompt, message: prompt, question: prompt, input: prompt, messages, history, payload, ...payload };
  }
  if (MESSAGES.test(name)) return question.messages;
  if (PAYLOADS.test(name)) return question.payload;
  return question.asked;
}

/** A value for each of several parameters: what the payload has by its name, the messages, the question. */
function filled(all, needed, question) {
  const values = new Map();
  for (const one of all) {
    if (Object.hasOwn(question.payload, one.name)) values.set(one, question.payload[one.name]);
    else if (HISTORIES.test(one.name)) values.set(one, question.history);
    else if (one.name === "{" || MESSAGES.test(one.name)) values.set(one, alone(one.name, question));
  }
  let left = needed.filter((one) => !values.has(one));
  const low = left.map((one) => one.name.toLowerCase().replaceAll("_", ""));
  const usual = TEXTS.find((name) => low.includes(name.toLowerCase()));
  const chosen = usual ? left[low.indexOf(usual.toLowerCase())] : left[0];
  const asks = usual || left.length === 1 || chosen === all[0];
  const named = asks && ![...values.values()].includes(question.messages) ? chosen : undefined;
  if (named) values.set(named, question.asked);
  left = left.filter((one) => one !== named);
  for (const one of left.filter((one) => PAYLOADS.test(one.name))) values.set(one, question.payload);
  left = left.filter((one) => !values.has(one));
  if (left.length) {
    const names = left.map((one) => `\`${one.name}\``).join(", ");
    throw question.refusal(
      `the function asks for ${names}, which the question does not give. Name it in the fixture's ` +
        "`input.payload`, or give the parameter a default",
    );
  }
  return all.map((one) => values.get(one));
}

/** An object with these keys: what the payload has of them, and the question in the first of the rest. */
function objectFor(keys, question) {
  const given = Object.fromEntries(keys.filter((one) => one in question.payload).map((one) => [one, question.payload[one]]));
  const open = keys.find((one) => /prompt|question|message|query|input|text|ask/i.test(one)) ?? keys[0];
  return Object.keys(given).length ? given : { [open]: question.asked };
}

/** What was given, as one answer: the pieces of a stream joined, of anything but text the last. */
export async function whole(given, question) {
  if (given instanceof Response) {
    const { decoded } = await import("./route.mjs");
    const reply = await decoded(given);
    if (reply.error) throw question.refusal(`the stream that it gave holds an error: ${reply.error}`);
    return reply.text;
  }
  if (typeof given === "object" && given !== null) {
    if ("textStream" in given || ("text" in given && "steps" in given)) return await given.text;
    if (Symbol.asyncIterator in given || (Symbol.iterator in given && "next" in given)) {
      const parts = [];
      for await (const part of given) parts.push(part instanceof Uint8Array ? Buffer.from(part).toString() : part);
      return parts.every((part) => typeof part === "string") ? parts.join("") : parts.at(-1);
    }
  }
  return given;
}
