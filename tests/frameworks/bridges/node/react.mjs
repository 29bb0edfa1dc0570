import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const order_status = tool(async () => "in transit", {
  name: "order_status",
  description: "The status of an order.",
  schema: z.object({ order: z.number().int() }),
});

export const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-4.1-mini" }),
  tools: [order_status],
  systemPrompt: "You answer questions about orders. Look the order up first.",
});
