// Agents of Google's ADK for TypeScript (`rootAgent`), in a session of their own.

const WHO = { userId: "gateval" };

export class Bridge {
  constructor(target, around) {
    this.agent = target;
    this.around = around;
  }

  async ask(question) {
    this.runner ??= await this.started(question);
    const newMessage = { role: "user", parts: [{ text: question.asked }] };
    let said = "";
    let stopped = "";
    for await (const event of this.runner.runAsync({ ...WHO, sessionId: this.session, newMessage })) {
      if (event.errorMessage) throw question.refusal(`the model gave an error: ${event.errorMessage}`);
      if (event.errorCode && event.errorCode !== "STOP") stopped = event.errorCode; // SAFETY, MAX_TOKENS
      const parts = (event.content?.parts ?? []).filter((part) => part.text && !part.thought);
      if (!event.partial && parts.length && event.author !== "user") said = parts.map((part) => part.text).join("");
    }
    if (!said && stopped) throw question.refusal(`the model gave no text: ${stopped}`);
    return said;
  }

  /** A runner whose session holds what was said before. */
  async started(question) {
    const adk = await this.around.importFrom("@google/adk", this.around.folder);
    if (!adk) throw question.refusal("`@google/adk` is not installed here. Install it in `runtime.setup`");
    const runner = new adk.InMemoryRunner({ agent: this.agent, appName: "gateval" });
    const session = await runner.sessionService.createSession({ appName: "gateval", ...WHO });
    this.session = session.id;
    for (const { role, content } of question.spoken()) {
      const author = role === "assistant" ? this.agent.name : "user";
      const event = adk.createEvent({ author, content: { role: role === "assistant" ? "model" : "user", parts: [{ text: content }] } });
      await runner.sessionService.appendEvent({ session, event });
    }
    return runner;
  }
}
