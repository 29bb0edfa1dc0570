// Agents of Mastra; of a `Mastra` its one agent.

export class Bridge {
  constructor(target) {
    this.target = target;
    this.messages = [];
  }

  async ask(question) {
    this.agent ??= await agentOf(this.target, question);
    if (question.first) this.messages = question.spoken();
    this.messages.push({ role: "user", content: question.asked });
    const result = await this.agent.generate(this.messages, await this.memory());
    this.messages.push({ role: "assistant", content: result.text });
    return result.object ?? result.text;
  }

  /** A thread of its own, for an agent that has memory: then it is told what is new alone. */
  async memory() {
    if (!this.agent.hasOwnMemory?.()) return {};
    if (this.threaded) this.messages = this.messages.slice(-1);
    this.threaded = true;
    return { memory: { thread: "gateval", resource: "gateval" } };
  }
}

async function agentOf(target, question) {
  if (typeof target.generate === "function") return target;
  const agents = target.listAgents?.() ?? target.getAgents();
  const names = Object.keys(await agents);
  if (names.length === 1) return (await agents)[names[0]];
  throw question.refusal(
    `this Mastra has the agents ${names.map((one) => `\`${one}\``).join(", ")}. Export the one that is ` +
      "meant, and name it in `target`",
  );
}
