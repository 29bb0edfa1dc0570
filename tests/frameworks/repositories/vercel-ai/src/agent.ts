import { anthropic } from "@ai-sdk/anthropic";
import { generateText, stepCountIs } from "ai";
import { order_status } from "./orders.js";

const { text } = await generateText({
  model: anthropic("claude-haiku-4-5"),
  system: "You answer questions about orders. Look the order up first.",
  prompt: process.argv[2],
  tools: { order_status },
  stopWhen: stepCountIs(5),
});
console.log(text);
