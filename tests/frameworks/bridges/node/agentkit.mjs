import { createAgent, createNetwork, createTool, openai } from "@inngest/agent-kit";
import { z } from "zod";

const order_status = createTool({
  name: "order_status",
  description: "The status of an order.",
  parameters: z.object({ order: z.number().int() }),
  handler: async () => "in transit",
});

export const desk = createAgent({
  name: "desk",
  system: "You answer questions about orders. Look the order up first.",
  model: openai({ model: "gpt-5-mini" }),
  tools: [order_status],
});

const router = ({ lastResult }) => (lastResult?.output.at(-1)?.type === "text" ? undefined : desk);

export const network = createNetwork({ name: "shop", agents: [desk], maxIter: 4, router });
