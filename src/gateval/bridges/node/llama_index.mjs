// Agents and their workflows of LlamaIndex.TS, with the memory of the run before.

export class Bridge {
  constructor(target) {
    this.workflow = target;
  }

  async ask(question) {
    const chatHistory = question.first ? question.spoken() : [];
    const { data } = await this.workflow.run(question.asked, { chatHistory, state: this.state });
    this.state = data.state ?? this.state;
    return data.object ?? text(data.result);
  }
}

function text(content) {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}
