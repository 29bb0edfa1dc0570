import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { orderTool } from "../tools/order-tool";

export const orderAgent = new Agent({
  id: "order-agent",
  name: "Order Agent",
  instructions: `
    You answer questions about orders. Look the order up first.
  `,
  model: openai.chat("gpt-5-mini"),
  tools: { order_status: orderTool },
});
