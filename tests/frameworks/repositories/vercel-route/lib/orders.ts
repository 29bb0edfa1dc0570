import { tool } from "ai";
import { z } from "zod";

const ORDERS: Record<number, string> = { 7: "in transit", 8: "delivered" };

export const order_status = tool({
  description: "The status of an order.",
  inputSchema: z.object({ order: z.number().int() }),
  execute: async ({ order }) => ORDERS[order] ?? "not known",
});
