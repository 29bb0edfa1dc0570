import { Agent, tool } from "@openai/agents";
import { z } from "zod";

export const agent = new Agent({
  name: "desk",
  model: "gpt-5-mini",
  instructions: "You answer questions about orders. Look the order up first.",
  tools: [
    tool({
      name: "order_status",
      description: "The status of an order.",
      parameters: z.object({ order: z.number().int() }),
      execute: async () => "in transit",
    }),
  ],
});
