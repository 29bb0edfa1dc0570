// Agents of the OpenAI Agents SDK for JavaScript, in a session of its own.

export class Bridge {
  constructor(target, around) {
    this.agent = target;
    this.around = around;
  }

  async ask(question) {
    this.sdk ??= (await this.load("@openai/agents")) ?? (await this.load("@openai/agents-core"));
    if (!this.sdk) throw question.refusal("`@openai/agents` is not installed here. Install it in `runtime.setup`");
    if (!this.session) {
      this.session = new this.sdk.MemorySession();
      await this.session.addItems(question.spoken().map(item));
    }
    const result = await this.sdk.run(this.agent, question.asked, { session: this.session });
    this.agent = result.lastAgent ?? this.agent;
    return result.finalOutput;
  }

  load(name) {
    return this.around.importFrom(name, this.around.folder);
  }
}

function item({ role, content }) {
  if (role !== "assistant") return { role, content };
  return { role, status: "completed", content: [{ type: "output_text", text: content }] };
}
