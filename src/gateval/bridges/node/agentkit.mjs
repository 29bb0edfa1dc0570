// Networks and agents of Inngest's AgentKit, without its server. An agent that has tools, which by
// itself never hears what they gave, answers in a network of its own.

const MOST = 25; // times that a lone agent is asked in one turn

export class Bridge {
  constructor(target, around) {
    this.target = target;
    this.around = around;
    this.data = undefined;
  }

  async ask(question) {
    const kit = await this.around.importFrom("@inngest/agent-kit", this.around.folder);
    if (!kit) throw question.refusal("`@inngest/agent-kit` is not installed here. Install it in `runtime.setup`");
    this.network ??= this.target.agents ? this.target : alone(this.target, kit);
    const messages = question.spoken().map((message) => ({ type: "text", ...message }));
    const state = kit.createState(this.data ?? { ...this.network.state.data }, { messages });
    const run = await this.network.run(question.asked, { state });
    this.data = run.state.data;
    return last(run.state.results);
  }
}

function alone(agent, kit) {
  const router = ({ lastResult }) => (!lastResult || lastResult.toolCalls.length ? agent : undefined);
  return kit.createNetwork({ name: agent.name, agents: [agent], maxIter: MOST, router });
}

/** The last text that an agent wrote; of agents that wrote none, what their last tool gave. */
function last(results) {
  for (const result of results.toReversed()) {
    const said = result.output.findLast((one) => one.type === "text" && one.role === "assistant");
    const text = typeof said?.content === "string" ? said.content : said?.content?.map((one) => one.text).join("");
    if (text) return text;
  }
  return results.at(-1)?.toolCalls.at(-1)?.content;
}
