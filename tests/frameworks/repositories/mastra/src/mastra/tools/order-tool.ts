import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const ORDERS: Record<number, string> = { 7: "in transit", 8: "delivered" };

export const orderTool = createTool({
  id: "order_status",
  description: "The status of an order.",
  inputSchema: z.object({ order: z.number().int().describe("The number of the order") }),
  outputSchema: z.object({ status: z.string() }),
  execute: async ({ order }) => ({ status: ORDERS[order] ?? "not known" }),
});
