// Agents of Mastra; of a `Mastra` its one agent. Workflows, whose input is what the question holds.

export class Bridge {
  constructor(target) {
    this.target = target;
    this.messages = [];
  }

  async ask(question) {
    if (typeof this.target.createRun === "function") return this.started(question);
    this.agent ??= await agentOf(this.target, question);
    if (question.first) this.messages = question.spoken();
    this.messages.push({ role: "user", content: question.asked });
    const result = await this.agent.generate(this.messages, await this.memory());
    this.messages.push({ role: "assistant", content: result.text });
    return result.object ?? result.text;
  }

  /** The result of a workflow: its input has of the question what its schema names. */
  async started(question) {
    const { prompt, ...more } = question.payload;
    const rest = Object.keys(more).length ? more : { prompt };
    const named = Object.keys(this.target.inputSchema?.shape ?? {});
    const held = named.filter((key) => key in question.payload).map((key) => [key, question.payload[key]]);
    const run = await (this.target.createRunAsync?.() ?? this.target.createRun());
    const result = await run.start({ inputData: named.length ? Object.fromEntries(held) : rest });
    if (result.status === "success") return result.result;
    const why = result.error?.message ?? result.error ?? "no error is told";
    throw question.refusal(`the workflow ended as \`${result.status}\`: ${why}`);
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
