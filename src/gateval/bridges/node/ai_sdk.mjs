// Agents of Vercel's AI SDK: `ToolLoopAgent`, and what else fulfils its `Agent`.

export class Bridge {
  constructor(target) {
    this.agent = target;
    this.messages = [];
  }

  async ask(question) {
    if (question.first) this.messages = question.spoken();
    this.messages.push({ role: "user", content: question.asked });
    const result = await this.agent.generate({ messages: this.messages });
    this.messages.push(...(result.response?.messages ?? [{ role: "assistant", content: result.text }]));
    return output(result) ?? result.text;
  }
}

/** The structured output; asking for one where there is none raises. */
function output(result) {
  try {
    return result.output ?? result.object;
  } catch {
    return undefined;
  }
}
