// Agents of BeeAI for TypeScript, which have a memory, and its workflows of agents.

export class Bridge {
  constructor(target, around) {
    this.agent = target;
    this.around = around;
  }

  async ask(question) {
    if (typeof this.agent.addAgent === "function") {
      const run = await this.agent.run([{ prompt: question.transcript() }]);
      return run.result.finalAnswer;
    }
    if (question.first) await this.agent.memory.addMany(await this.messages(question));
    const { result } = await this.agent.run({ prompt: question.asked });
    return result.text;
  }

  /** What was said before, as BeeAI has it. */
  async messages(question) {
    const before = question.spoken();
    if (!before.length) return [];
    const { AssistantMessage, UserMessage, SystemMessage } = await this.around.importFrom("beeai-framework/backend/message", this.around.folder);
    const kinds = { assistant: AssistantMessage, system: SystemMessage };
    return before.map(({ role, content }) => new (kinds[role] ?? UserMessage)(content));
  }
}
