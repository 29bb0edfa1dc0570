// Graphs of LangGraph.js, and what else LangChain can invoke, in a thread of their own.

const ROLES = { assistant: "ai", user: "human", system: "system" };

// Keys of a state with messages in which the program beside it would put the question, too.
const QUESTIONS = ["question", "query", "user_input", "userInput", "userQuery"];

export class Bridge {
  constructor(target, around) {
    this.graph = typeof target.compile === "function" && !target.invoke ? target.compile() : target;
    this.around = around;
    this.config = { configurable: { thread_id: "gateval" } };
  }

  async ask(question) {
    const pregel = this.graph.lg_is_pregel === true;
    if (!pregel) return said(await this.graph.invoke(question.asked, this.config));
    if (question.first && !question.alone && !this.graph.checkpointer) {
      const found = await this.around.importFrom("@langchain/langgraph", this.around.folder);
      if (found) this.graph.checkpointer = new found.MemorySaver();
    }
    return said(await this.graph.invoke(this.input(question), this.config));
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
  return "content" in state ? text(state) : state;
}

function text(message) {
  const content = message?.content;
  if (content === undefined) return message;
  if (typeof content === "string") return content;
  return content.map((part) => (typeof part === "string" ? part : (part.text ?? ""))).join("");
}
