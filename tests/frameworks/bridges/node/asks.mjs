import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ question: Annotation, told: Annotation, answer: Annotation });

export const asksBack = new StateGraph(State)
  .addNode("confirm", (state) => ({ answer: `You said ${interrupt(`Sure about ${state.question}`)}` }))
  .addEdge(START, "confirm")
  .compile();

export const stops = new StateGraph(State)
  .addNode("look", (state) => ({ told: `Told ${state.question}` }))
  .addNode("move", (state) => ({ answer: `${state.told}, moved` }))
  .addEdge(START, "look")
  .addEdge("look", "move")
  .compile({ interruptBefore: ["move"] });
