// Plain functions: sync, async, generators; text or messages in, text or an object out.

const PAYLOADS = /^(payload|body|event|data|inputs?Data)$/i;
const MESSAGES = /^(messages|conversation|history|chatHistory)$/i;

export class Bridge {
  constructor(target) {
    this.target = target;
  }

  async ask(question) {
    return whole(await this.target(value(this.target, question)));
  }
}

/** What a function is told, by the name of its first parameter; one that takes apart an object gets
 * the question, the messages and the payload by their names. */
function value(target, question) {
  const schema = target.__action?.inputSchema; // of a flow of Genkit
  const inner = schema?._def?.innerType ?? schema;
  if (inner?.shape) return objectFor(Object.keys(inner.shape), question);
  const first = parameter(target);
  if (first.startsWith("{")) {
    const { prompt, messages, history, payload } = question;
    return { prompt, message: prompt, question: prompt, input: prompt, messages, history, payload, ...payload };
  }
  if (MESSAGES.test(first)) return question.messages;
  if (PAYLOADS.test(first)) return question.payload;
  return question.asked;
}

/** An object with these keys: what the payload has of them, and the question in the first of the rest. */
function objectFor(keys, question) {
  const given = Object.fromEntries(keys.filter((one) => one in question.payload).map((one) => [one, question.payload[one]]));
  const open = keys.find((one) => /prompt|question|message|query|input|text|ask/i.test(one)) ?? keys[0];
  return Object.keys(given).length ? given : { [open]: question.asked };
}

function parameter(target) {
  const source = Function.prototype.toString.call(target);
  const found = /^(?:async\s+)?(?:function\b[^(]*|[\w$]+\s*(?=\())?\(?\s*(\{|[\w$]+)/.exec(source);
  return found?.[1] ?? "";
}

/** What was given, as one answer: the pieces of a stream joined, of anything but text the last. */
export async function whole(given) {
  if (given instanceof Response) {
    const { decoded } = await import("./route.mjs");
    return (await decoded(given)).text;
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
