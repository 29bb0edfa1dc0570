// An agent in Node, without any package: Anthropic's Messages format over plain `fetch`.
// It has never heard of Gateval; the two variables are those that Anthropic's own SDK reads.

const ORDERS = { 7: "in transit", 8: "delivered" };
const TOOL = {
  name: "order_status",
  description: "Look up the status of an order.",
  input_schema: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
};

async function ask(messages) {
  const response = await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: {
      "x-api-key": process.env.ANTHROPIC_API_KEY,
      "anthropic-version": "2023-06-01",
      "content-type": "application/json",
    },
    body: JSON.stringify({
      model: "desk",
      max_tokens: 500,
      system: "You answer questions about orders. Look them up first.",
      tools: [TOOL],
      messages,
    }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

let input = "";
for await (const piece of process.stdin) input += piece;
const messages = [{ role: "user", content: JSON.parse(input).prompt }];

for (;;) {
  const reply = await ask(messages);
  messages.push({ role: "assistant", content: reply.content });
  const calls = reply.content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) {
    console.log(reply.content.map((block) => block.text ?? "").join(""));
    break;
  }
  const results = calls.map((call) => ({
    type: "tool_result",
    tool_use_id: call.id,
    content: ORDERS[call.input.order] ?? "unknown",
  }));
  messages.push({ role: "user", content: results });
}
