from anthropic import Anthropic
from fastapi import FastAPI
from pydantic import BaseModel

from shop.store import order_status, remember

SYSTEM = "You answer questions about orders. Look the order up first."
TOOL = {
    "name": "order_status",
    "description": "The status of an order.",
    "input_schema": {
        "type": "object",
        "properties": {"order": {"type": "integer"}},
        "required": ["order"],
    },
}
app = FastAPI()


class Question(BaseModel):
    message: str


@app.post("/chat")
def chat(question: Question) -> dict[str, str]:
    remember(question.message)
    client = Anthropic()
    messages = [{"role": "user", "content": question.message}]
    while True:
        said = client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=500,
            system=SYSTEM,
            messages=messages,
            tools=[TOOL],
        )
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return {"reply": "".join(b.text for b in said.content if b.type == "text")}
        messages.append({"role": "assistant", "content": said.content})
        results = [
            {"type": "tool_result", "tool_use_id": one.id, "content": order_status(**one.input)}
            for one in calls
        ]
        messages.append({"role": "user", "content": results})
