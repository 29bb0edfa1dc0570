import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const order_status = tool(async () => "in transit", {
  name: "order_status",
  description: "The status of an order.",
  schema: z.object({ order: z.number().int() }),
});

export const graph = createReactAgent({
  llm: new ChatOpenAI({ model: "gpt-4.1-mini" }),
  tools: [order_status],
  prompt: "You answer questions about orders. Look the order up first.",
});
