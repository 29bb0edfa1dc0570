import { anthropic } from "@ai-sdk/anthropic";
import { ToolLoopAgent, tool } from "ai";
import { z } from "zod";

export const agent = new ToolLoopAgent({
  model: anthropic("desk"),
  instructions: "You answer questions about orders. Look the order up first.",
  maxOutputTokens: 500,
  tools: {
    order_status: tool({
      description: "The status of an order.",
      inputSchema: z.object({ order: z.number().int() }),
      execute: async () => "in transit",
    }),
  },
});
