// Route handlers: `POST(Request)` as in Next.js, or an object with `fetch`.
//
// They are asked as `useChat` of the AI SDK asks, and their streams are read as it reads them; where
// OpenAI's library is there and that SDK is not, messages are `role` and `content` alone, and events of
// its Responses are read; so with TanStack AI, whose parts have their text elsewhere. An input with
// `threadId` and `runId` is sent as AG-UI has it, and the events of AG-UI are read. Where a step ends
// with calls of tools, the loop is closed as the browser closes it: a tool that the browser would run is
// answered `{"shadow": true}`, for it is not here, and the route is asked again.

const ROUNDS = 20; // requests for one question

export class Bridge {
  constructor(target, around) {
    this.handler = typeof target === "function" ? target : (request) => target.fetch(request, {}, {});
    this.around = around;
    this.messages = [];
  }

  async ask(question) {
    if (question.type !== "prompt" && !question.messages.some((one) => one.role === "assistant")) {
      const reply = await decoded(await this.asked(question.payload));
      if (reply.error) throw question.refusal(`the route's stream holds an error: ${reply.error}`);
      return reply.text;
    }
    const has = (name) => this.around.importFrom(name, this.around.root).catch(() => null);
    const plain = !(await has("ai")) && ((await has("openai")) || (await has("@tanstack/ai")));
    const run = "threadId" in question.payload && "runId" in question.payload; // of AG-UI
    const numbered = ({ role, content }, at) => ({ id: `m${at}`, role, content });
    const message = run ? numbered : plain ? ({ role, content }) => ({ role, content }) : uiMessage;
    if (question.first) this.messages = question.spoken().map(message);
    this.messages.push(message({ role: "user", content: question.asked }, this.messages.length));
    for (let round = 0; round < ROUNDS; round += 1) {
      const around = run ? {} : { id: "gateval", trigger: "submit-message" };
      const body = { ...around, ...question.payload, messages: this.messages };
      const reply = await decoded(await this.asked(body));
      if (reply.error) throw question.refusal(`the route's stream holds an error: ${reply.error}`);
      this.keep(reply);
      if (!reply.tools.length || reply.ended) return reply.text;
    }
    throw question.refusal(`the route called tools in ${ROUNDS} steps one after the other, without an answer`);
  }

  async asked(body) {
    const given = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const next = await this.around.importFrom("next/server", this.around.root).catch(() => null);
    const Kind = next?.NextRequest ?? next?.default?.NextRequest ?? Request;
    const request = new Kind("http://localhost/api/chat", given);
    const named = (this.around.folder ?? "").matchAll(/\[([^\].]+)\]/g); // as `api/chat/[id]`
    const params = Object.fromEntries([...named].map((one) => [one[1], "gateval"]));
    const response = await this.handler(request, { params: Promise.resolve(params) });
    if (!(response instanceof Response) && (typeof response?.text !== "function" || typeof response.status !== "number")) {
      throw new Error("the route gave no Response");
    }
    if (!response.ok) {
      throw new Error(`the route answered with status ${response.status}: ${(await response.text()).slice(0, 200)}`);
    }
    return response;
  }

  /** Keep what the assistant said as the browser does, in one message for all steps. */
  keep(reply) {
    if (reply.run) {
      this.messages.push({ id: `m${this.messages.length}`, role: "assistant", content: reply.text });
      return;
    }
    if (reply.responses) {
      const done = reply.tools.flatMap(({ item }) => [
        item,
        { type: "function_call_output", call_id: item.call_id, output: JSON.stringify({ shadow: true }) },
      ]);
      this.messages.push(...(reply.text ? [{ role: "assistant", content: reply.text }] : []), ...done);
      return;
    }
    const last = this.messages.at(-1);
    const message = last.role === "assistant" ? last : uiMessage({ role: "assistant", content: "" }, this.messages.length);
    if (message !== last) this.messages.push(message);
    message.content = reply.text || message.content;
    message.parts ??= [];
    message.parts.push({ type: "step-start" });
    if (reply.text) message.parts.push({ type: "text", text: reply.text });
    for (const tool of reply.tools) {
      const output = tool.done ? tool.output : { shadow: true };
      const { id, name, input } = tool;
      if (reply.old) {
        const invocation = { state: "result", toolCallId: id, toolName: name, args: input, result: output };
        message.parts.push({ type: "tool-invocation", toolInvocation: invocation });
        message.toolInvocations = [...(message.toolInvocations ?? []), invocation];
      } else {
        const kind = tool.dynamic ? { type: "dynamic-tool", toolName: name } : { type: `tool-${name}` };
        message.parts.push({ ...kind, toolCallId: id, state: "output-available", input, output });
      }
    }
  }
}

function uiMessage({ role, content }, at) {
  return { id: `m${at}`, role, content, parts: content ? [{ type: "text", text: content }] : [] };
}

/**
 * What a response says: the `text` of its last step, the `tools` called in it, and whether text came
 * after them (`ended`). `old` marks the data stream of AI SDK 4.
 */
export async function decoded(response) {
  const kind = (response.headers.get("content-type") ?? "").split(";")[0].trim();
  const body = await whole(response);
  const old = response.headers.has("x-vercel-ai-data-stream") || /^(f|0|9):["{]/.test(body);
  if (old) {
    const parts = body.split(/\r?\n/);
    const wrong = broken(parts, (line) => (/^[0-9a-z]:/.test(line) ? line.slice(2) : `: ${line}`), "line");
    return wrong ?? step(parts.filter(Boolean).map(oldEvent), true);
  }
  if (kind === "text/event-stream") {
    const data = body.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
    if (body.trim() && !data.length) return { text: body, tools: [], ended: true }; // no events, whatever it says
    const written = data.filter((one) => one && one !== "[DONE]").map(parsed);
    const wrong = written.some((one) => typeof one === "object") && broken(data, (one) => one, "event");
    if (wrong) return wrong;
    const events = written.map((one) => (typeof one?.event === "string" && one.data?.type ? one.data : one));
    if (events.some((one) => String(one?.type).startsWith("response."))) {
      return { ...step(events.map(responsesEvent), false), responses: true };
    }
    if (events.some(isOfRun)) return { ...step(events.map(runEvent), false), run: true };
    if (events.some((one) => typeof one?.type === "string")) return step(events, false);
    const texts = events.map((one) => (typeof one === "string" ? one : (one?.choices?.[0]?.delta?.content ?? one?.text ?? "")));
    return { text: texts.join(""), tools: [], ended: true };
  }
  const told = /ndjson|jsonl|json-seq/.test(kind) ? body.split("\n").filter(Boolean).map(parsed) : [];
  const lines = kind === "application/json" ? [] : body.split("\n").filter(Boolean).map(parsed);
  if (lines.some((one) => one?.choices?.[0]?.delta)) { // as `toReadableStream` of OpenAI's library sends them
    return { text: lines.map((one) => one?.choices?.[0]?.delta?.content ?? "").join(""), tools: [], ended: true };
  }
  if (told.some(isOfRun)) return { ...step(told.map(runEvent), false), run: true };
  return { text: kind === "application/json" ? answerIn(parsed(body)) : body, tools: [], ended: true };
}

/** A reply that names the first piece of a stream that is no JSON; null if all of them are. */
function broken(pieces, json, what) {
  for (const [at, piece] of pieces.entries()) {
    if (!piece || piece === "[DONE]") continue;
    try {
      JSON.parse(json(piece));
    } catch {
      const shown = piece.length > 60 ? piece.slice(0, 60).replace(/[^\s,;{}[\]"']*$/, "") : piece;
      return { text: "", tools: [], ended: true, error: `${what} ${at + 1} is no JSON: ${JSON.stringify(shown)}` };
    }
  }
  return null;
}

/** The text of a response. Servers take chunks that are strings, which `Response.text` refuses. */
async function whole(response) {
  if (!response.body?.getReader) return response.text();
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body) {
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function answerIn(document) {
  if (typeof document !== "object" || document === null) return document;
  const keys = Object.keys(document);
  return keys.length === 1 && typeof document[keys[0]] === "string" ? document[keys[0]] : document;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Put the events of a stream together. Only its last step counts: what was said before is no answer. */
function step(events, old) {
  const found = { text: "", tools: [], ended: false, error: "", old };
  for (const event of events) {
    switch (event?.type) {
      case "start-step":
        Object.assign(found, { text: "", tools: [], ended: false });
        break;
      case "text-delta":
        found.text += event.delta ?? "";
        found.ended = true;
        break;
      case "tool-input-available":
        found.tools.push({
          id: event.toolCallId, name: event.toolName, input: event.input, dynamic: event.dynamic, item: event.item,
        });
        found.ended = false;
        break;
      case "tool-output-available":
      case "tool-output-error": {
        const tool = found.tools.find((one) => one.id === event.toolCallId);
        if (tool) Object.assign(tool, { done: true, output: event.output ?? event.errorText });
        break;
      }
      case "error":
        found.error = String(event.errorText ?? "unknown");
        break;
      default:
    }
  }
  return found;
}

/** An event of OpenAI's Responses, in the words of the AI SDK. */
function responsesEvent(event) {
  switch (event?.type) {
    case "response.created":
      return { type: "start-step" };
    case "response.output_text.delta":
      return { type: "text-delta", delta: event.delta };
    case "response.output_item.done": {
      const { item } = event;
      if (item?.type !== "function_call") return null;
      return { type: "tool-input-available", toolCallId: item.call_id, toolName: item.name, item };
    }
    case "error":
      return { type: "error", errorText: event.message };
    case "response.failed":
      return { type: "error", errorText: event.response?.error?.message };
    default:
      return null;
  }
}

function isOfRun(event) {
  return /^(RUN|TEXT_MESSAGE)_[A-Z]+$/.test(event?.type);
}

/** An event of AG-UI, in the words of the AI SDK; what the browser would run is not run. */
function runEvent(event) {
  switch (event?.type) {
    case "TEXT_MESSAGE_START":
      return { type: "start-step" };
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_CHUNK":
      return { type: "text-delta", delta: event.delta };
    case "RUN_ERROR":
      return { type: "error", errorText: event.message ?? event.error?.message };
    default:
      return null;
  }
}

/** An event of the data stream of AI SDK 4, in the words of the later one. */
function oldEvent(line) {
  const value = parsed(line.slice(2));
  switch (line[0]) {
    case "f":
      return { type: "start-step" };
    case "0":
      return { type: "text-delta", delta: value };
    case "9":
      return { type: "tool-input-available", toolCallId: value.toolCallId, toolName: value.toolName, input: value.args };
    case "a":
      return { type: "tool-output-available", toolCallId: value.toolCallId, output: value.result };
    case "3":
      return { type: "error", errorText: value };
    default:
      return null;
  }
}
