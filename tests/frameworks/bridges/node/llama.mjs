import { openai } from "@llamaindex/openai";
import { agent as made } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { z } from "zod";

const order_status = tool({
  name: "order_status",
  description: "The status of an order.",
  parameters: z.object({ order: z.number().int() }),
  execute: async () => "in transit",
});

export const agent = made({
  name: "desk",
  llm: openai({ model: "gpt-4.1-mini" }),
  systemPrompt: "You answer questions about orders. Look the order up first.",
  tools: [order_status],
});
