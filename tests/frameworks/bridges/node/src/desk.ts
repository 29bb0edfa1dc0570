import { Agent, tool } from "@openai/agents";
import { z } from "zod";

import { status } from "@/orders";

const order_status = tool({
  name: "order_status",
  description: "The status of an order.",
  parameters: z.object({ order: z.number().int() }),
  execute: async ({ order }: { order: number }): Promise<string> => status(order),
});

export const makeDesk = async (): Promise<Agent> =>
  new Agent({
    name: "desk",
    model: "gpt-5-mini",
    instructions: "You answer questions about orders. Look the order up first.",
    tools: [order_status],
  });
