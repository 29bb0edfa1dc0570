"""An agent built with Google's own SDK, which calls the functions itself. It has never heard of
Gateval: the SDK goes where GOOGLE_GEMINI_BASE_URL points.
"""

import json
import sys

from google import genai
from google.genai import types

ORDERS = {7: "in transit", 8: "delivered"}


def order_status(order: int) -> str:
    """Look up the status of an order."""
    return ORDERS.get(order, "unknown")


def main() -> None:
    prompt = json.load(sys.stdin)["prompt"]
    client = genai.Client()
    chat = client.chats.create(
        model="desk",
        config=types.GenerateContentConfig(
            system_instruction="You answer questions about orders. Look them up first.",
            tools=[order_status],
        ),
    )
    print(chat.send_message(prompt).text)


if __name__ == "__main__":
    main()
