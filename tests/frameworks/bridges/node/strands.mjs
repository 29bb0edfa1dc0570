import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { Graph } from "@strands-agents/sdk/multiagent";
import { z } from "zod";

const order_status = tool({
  name: "order_status",
  description: "The status of an order.",
  inputSchema: z.object({ order: z.number().int() }),
  callback: async () => "in transit",
});

export const agent = new Agent({
  id: "desk",
  model: new OpenAIModel({ api: "chat", modelId: "gpt-5-mini" }),
  systemPrompt: "You answer questions about orders. Look the order up first.",
  tools: [order_status],
  printer: false,
});

export const graph = new Graph({ nodes: [agent], edges: [] });
