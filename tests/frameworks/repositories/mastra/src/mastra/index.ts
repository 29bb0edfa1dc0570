import { Mastra } from "@mastra/core/mastra";
import { orderAgent } from "./agents/order-agent";

export const mastra = new Mastra({
  agents: { orderAgent },
});
