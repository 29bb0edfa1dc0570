import { tool } from "@langchain/core/tools";
import { z } from "zod";

const ORDERS: Record<number, string> = { 7: "in transit", 8: "delivered" };

const order_status = tool(async ({ order }) => ORDERS[order] ?? "not known", {
  name: "order_status",
  description: "The status of an order.",
  schema: z.object({ order: z.number().int() }),
});

export const TOOLS = [order_status];
