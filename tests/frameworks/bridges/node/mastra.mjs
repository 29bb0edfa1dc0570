import { openai } from "@ai-sdk/openai";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const order_status = createTool({
  id: "order_status",
  description: "The status of an order.",
  inputSchema: z.object({ order: z.number().int() }),
  execute: async () => "in transit",
});

const desk = new Agent({
  id: "desk",
  name: "desk",
  model: openai.chat("gpt-5-mini"),
  instructions: "You answer questions about orders. Look the order up first.",
  tools: { order_status },
});

export const mastra = new Mastra({ agents: { desk } });
