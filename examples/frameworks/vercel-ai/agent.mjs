// An agent built with Vercel's AI SDK on Anthropic's format. It has never heard of Gateval: the
// provider reads ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
import { anthropic } from "@ai-sdk/anthropic";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const ORDERS = { 7: "in transit", 8: "delivered" };

let input = "";
for await (const piece of process.stdin) input += piece;

const { text } = await generateText({
  model: anthropic("desk"),
  system: "You answer questions about orders. Look them up first.",
  maxOutputTokens: 500,
  prompt: JSON.parse(input).prompt,
  tools: {
    order_status: tool({
      description: "Look up the status of an order.",
      inputSchema: z.object({ order: z.number().int() }),
      execute: async ({ order }) => ORDERS[order] ?? "unknown",
    }),
  },
  stopWhen: stepCountIs(5),
});
console.log(text);
