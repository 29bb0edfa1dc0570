// Agents of Strands for TypeScript, which keep their messages, and their swarms and graphs.

export class Bridge {
  constructor(target) {
    this.agent = target;
    this.asked = [];
  }

  async ask(question) {
    const keeps = Array.isArray(this.agent.messages) && !question.first;
    const result = await this.agent.invoke(this.answers(question) ?? (keeps ? question.asked : question.transcript()));
    this.asked = result.interrupts ?? [];
    if (this.asked.length) return this.asked[0].reason ?? this.asked[0].name;
    if (result.error) throw result.error;
    return result.structuredOutput ?? text(result.lastMessage?.content ?? result.content ?? []);
  }

  /** What resumes an agent that was interrupted. */
  answers(question) {
    if (!this.asked.length) return undefined;
    return this.asked.map(({ id }) => ({ interruptResponse: { interruptId: id, response: question.asked } }));
  }
}

function text(blocks) {
  return blocks.filter((one) => one.type === "textBlock").map((one) => one.text).join("\n").trim();
}
