import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";

const order_status = new FunctionTool({
  name: "order_status",
  description: "The status of an order.",
  parameters: z.object({ order: z.number().int() }),
  execute: async () => ({ status: "in transit" }),
});

export const rootAgent = new LlmAgent({
  name: "desk",
  model: "gemini-2.5-flash",
  instruction: "You answer questions about orders. Look the order up first.",
  tools: [order_status],
});
