import { OpenAIChatModel } from "beeai-framework/adapters/openai/backend/chat";
import { ToolCallingAgent } from "beeai-framework/agents/toolCalling/agent";
import { UnconstrainedMemory } from "beeai-framework/memory/unconstrainedMemory";
import { DynamicTool, StringToolOutput } from "beeai-framework/tools/base";
import { AgentWorkflow } from "beeai-framework/workflows/agent";
import { z } from "zod";

const order_status = new DynamicTool({
  name: "order_status",
  description: "The status of an order.",
  inputSchema: z.object({ order: z.number().int() }),
  handler: async () => new StringToolOutput("in transit"),
});

const llm = new OpenAIChatModel("gpt-5-mini");

export const agent = new ToolCallingAgent({
  llm,
  memory: new UnconstrainedMemory(),
  tools: [order_status],
});

export const workflow = new AgentWorkflow("shop");
workflow.addAgent({ name: "desk", llm, tools: [order_status], instructions: "Look the order up first." });
