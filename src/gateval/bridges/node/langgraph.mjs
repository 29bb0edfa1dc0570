// Graphs of LangGraph.js, and what else LangChain can invoke, in a thread of their own.

const ROLES = { assistant: "ai", user: "human", system: "system" };

// Keys of a state with messages in which the program beside it would put the question, too.
const QUESTIONS = ["question", "query", "user_input", "userInput", "userQuery"];

export class Bridge {
  constructor(target, around) {
    this.agent = typeof target.compile === "function" && !target.invoke ? target.compile() : target;
    this.graph = this.agent.graph?.lg_is_pregel === true ? this.agent.graph : this.agent; // of `createAgent`
    this.around = around;
    this.config = { configurable: { thread_id: "gateval" } };
  }

  async ask(question) {
    if (this.graph.lg_is_pregel !== true) return said(await this.graph.invoke(question.asked, this.config));
    if (question.first && !this.graph.checkpointer) {
      const found = await this.load();
      if (found) this.graph.checkpointer = new found.MemorySaver();
    }
    const state = await this.agent.invoke(await this.given(question), this.config);
    const { asked, next } = await this.paused(state);
    this.waits = asked.length ? "answer" : next.length ? "go" : "";
    if (asked.length) return asked[0].value ?? asked[0];
    return said(state) || (next.length ? { next } : "");
  }

  load() {
    return this.around.importFrom("@langchain/langgraph", this.around.folder);
  }

  /** What the graph is given: to one that waits, the answer, or that it may go on. */
  async given(question) {
    if (this.waits === "answer") return new (await this.load()).Command({ resume: question.asked });
    return this.waits === "go" ? null : this.input(question);
  }

  /** What the graph asks, and the nodes before which it stopped. */
  async paused(state) {
    const asked = state?.__interrupt__ ?? [];
    const stops = this.graph.interruptBefore?.length || this.graph.interruptAfter?.length;
    const older = !("isInterrupted" in ((await this.load()) ?? {})); // what it asks is in its state alone
    if (asked.length || !this.graph.checkpointer || !(stops || older)) return { asked, next: [] };
    const { tasks, next } = await this.graph.getState(this.config);
    return { asked: tasks.flatMap((task) => task.interrupts ?? []), next };
  }

  input(question) {
    const channels = Object.keys(this.graph.channels ?? {}).filter((name) => !name.includes(":") && !name.startsWith("__"));
    const given = Object.fromEntries(
      channels.filter((name) => name in question.payload).map((name) => [name, question.payload[name]]),
    );
    if (channels.includes("messages")) {
      const before = question.first ? question.spoken() : [];
      const all = [...before, { role: "user", content: question.asked }];
      const keys = QUESTIONS.filter((name) => channels.includes(name));
      const asked = Object.fromEntries(keys.map((name) => [name, question.asked]));
      return { ...asked, ...given, messages: all.map((one) => [ROLES[one.role] ?? one.role, one.content]) };
    }
    if (Object.keys(given).length) return given;
    const usual = ["question", "query", "input", "prompt", "message", "topic", "task"];
    const chosen = usual.find((name) => channels.includes(name));
    return chosen ? { [chosen]: question.asked } : question.asked;
  }
}

function said(state) {
  if (typeof state !== "object" || state === null) return state;
  if (state.structuredResponse !== undefined) return state.structuredResponse;
  if (Array.isArray(state.messages) && state.messages.length) return text(state.messages.at(-1));
  for (const key of ["output", "answer", "response", "result"]) {
    if (state[key] !== undefined) return text(state[key]);
  }
  const { __interrupt__, ...rest } = state;
  return "content" in state ? text(state) : rest;
}

function text(message) {
  const content = message?.content;
  if (content === undefined) return message;
  if (typeof content === "string") return content;
  return content.map((part) => (typeof part === "string" ? part : (part.text ?? ""))).join("");
}
