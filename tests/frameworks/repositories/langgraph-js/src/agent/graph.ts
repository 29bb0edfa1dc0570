import { ChatOpenAI } from "@langchain/openai";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { SYSTEM } from "./prompts.js";
import { TOOLS } from "./tools.js";

// A server beside it puts the question in `query`, too.
const State = Annotation.Root({ ...MessagesAnnotation.spec, query: Annotation<string> });

async function callModel(state: typeof State.State) {
  if (!state.messages.some((one) => one.content === state.query)) throw new Error("no query");
  const model = new ChatOpenAI({ model: "gpt-5-mini" }).bindTools(TOOLS);
  const response = await model.invoke([{ role: "system", content: SYSTEM }, ...state.messages]);
  return { messages: [response] };
}

function route({ messages }: typeof State.State) {
  const last = messages[messages.length - 1] as AIMessage;
  return (last.tool_calls?.length ?? 0) > 0 ? "tools" : "__end__";
}

const workflow = new StateGraph(State)
  .addNode("callModel", callModel)
  .addNode("tools", new ToolNode(TOOLS))
  .addEdge("__start__", "callModel")
  .addConditionalEdges("callModel", route)
  .addEdge("tools", "callModel");

export const graph = workflow.compile();
