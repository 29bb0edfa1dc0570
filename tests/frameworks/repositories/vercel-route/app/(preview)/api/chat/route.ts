import { anthropic } from "@ai-sdk/anthropic";
import { convertToModelMessages, stepCountIs, streamText, type UIMessage } from "ai";
import { order_status } from "@/lib/orders";

export const maxDuration = 30;

export async function POST(request: Request) {
  const { messages }: { messages: UIMessage[] } = await request.json();
  const result = streamText({
    model: anthropic("claude-haiku-4-5"),
    system: "You answer questions about orders. Look the order up first.",
    messages: await convertToModelMessages(messages),
    tools: { order_status },
    stopWhen: stepCountIs(5),
  });
  return result.toUIMessageStreamResponse();
}
