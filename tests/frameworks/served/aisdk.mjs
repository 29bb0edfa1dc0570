// A route of the AI SDK's own, with a model that needs no provider.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const [, , port, modules, plain] = process.argv;
const need = createRequire(`${modules}/`);
const { convertToModelMessages, streamText } = need("ai");
const { MockLanguageModelV3, simulateReadableStream } = need("ai/test");
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = new MockLanguageModelV3({
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Order 7 " },
        { type: "text-delta", id: "1", delta: "is in transit." },
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: { unified: "stop" }, usage },
      ],
    }),
  }),
});

createServer(async (request, response) => {
  const parts = [];
  for await (const one of request) parts.push(one);
  const { messages } = JSON.parse(Buffer.concat(parts));
  const told = await convertToModelMessages(messages);
  if (!JSON.stringify(told).includes("order 7")) throw new Error("nothing was asked");
  const answer = streamText({ model, messages: told });
  if (plain) answer.pipeTextStreamToResponse(response);
  else answer.pipeUIMessageStreamToResponse(response);
}).listen(Number(port), "127.0.0.1");
