import { anthropic } from "@ai-sdk/anthropic";
import { convertToModelMessages, streamText, tool } from "ai";
import { z } from "zod";

export const maxDuration = 30;

export async function POST(request) {
  const { messages } = await request.json();
  const result = streamText({
    model: anthropic("desk"),
    system: "You answer questions about orders. Look the order up first.",
    maxOutputTokens: 500,
    messages: await convertToModelMessages(messages),
    tools: {
      order_status: tool({
        description: "The status of an order.",
        inputSchema: z.object({ order: z.number().int() }),
        execute: async () => "in transit",
      }),
      show_order: tool({
        description: "Shows the order to the user, who confirms it.",
        inputSchema: z.object({ order: z.number().int() }),
      }),
    },
  });
  return result.toUIMessageStreamResponse();
}
