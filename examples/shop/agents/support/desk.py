"""The support desk: orders, refunds, tickets and mail, and the tools that act on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RETURN_WINDOW_DAYS = 30

_ORDER = {"order_id": "The order's number, five digits."}

TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "lookup_order": ("Look up an order by its number.", _ORDER),
    "clarify_reason": (
        "Ask the customer why they want a refund.",
        {**_ORDER, "question": "What to ask."},
    ),
    "refund_order": (
        "Refund an order in full.",
        {**_ORDER, "reason": "Why, in the customer's words."},
    ),
    "create_jira_ticket": (
        "Open a ticket for a colleague.",
        {**_ORDER, "summary": "What to do, in one sentence."},
    ),
    "send_email": (
        "Send an e-mail to a customer.",
        {"to": "Their address.", "subject": "One line.", "body": "The text."},
    ),
}
"""The tools by name: what each does, and what its arguments (all texts) mean."""


class DeskError(Exception):
    """The desk refuses; the text goes back to the model as the tool's result."""


class Desk:
    """The desk. What was done is kept in `state_file`, so that a second call sees the first."""

    def __init__(self, orders_file: Path, state_file: Path) -> None:
        self._orders: dict[str, dict[str, Any]] = json.loads(orders_file.read_text("utf-8"))
        self._state_file = state_file
        self._state: dict[str, list[Any]] = {
            "refunds": [],
            "questions": [],
            "tickets": [],
            "sent": [],
        }
        if state_file.exists():
            self._state = json.loads(state_file.read_text("utf-8"))

    def use(self, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
        """Carry out one tool call and return its result. Raises `DeskError`."""
        if tool not in TOOLS:
            raise DeskError(f"there is no tool {tool}")
        missing = [name for name in TOOLS[tool][1] if not arguments.get(name)]
        if missing:
            raise DeskError(f"{tool} needs {', '.join(missing)}")
        result: dict[str, Any] = getattr(self, f"_{tool}")(**arguments)
        self._state_file.write_text(json.dumps(self._state), "utf-8")
        return result

    def _lookup_order(self, order_id: str) -> dict[str, Any]:
        return {"order_id": order_id, **self._order(order_id)}

    def _clarify_reason(self, order_id: str, question: str) -> dict[str, Any]:
        self._order(order_id)
        self._state["questions"].append({"order_id": order_id, "question": question})
        return {"asked": question, "status": "waiting for the customer"}

    def _refund_order(self, order_id: str, reason: str) -> dict[str, Any]:
        order = self._order(order_id)
        if order["status"] != "delivered" or order["days_since_delivery"] > RETURN_WINDOW_DAYS:
            raise DeskError(f"order {order_id} cannot be refunded by an agent")
        if order_id in self._state["refunds"]:
            raise DeskError(f"order {order_id} is refunded already")
        self._state["refunds"].append(order_id)
        return {"refunded": order["total"], "order_id": order_id, "reason": reason}

    def _create_jira_ticket(self, order_id: str, summary: str) -> dict[str, Any]:
        self._order(order_id)
        self._state["tickets"].append({"order_id": order_id, "summary": summary})
        return {"ticket": f"CARE-{len(self._state['tickets'])}", "summary": summary}

    def _send_email(self, to: str, subject: str, body: str) -> dict[str, Any]:
        if to not in {order["customer"] for order in self._orders.values()}:
            raise DeskError(f"{to} is not a customer")
        self._state["sent"].append({"to": to, "subject": subject, "body": body})
        return {"sent_to": to, "subject": subject}

    def _order(self, order_id: str) -> dict[str, Any]:
        if order_id not in self._orders:
            raise DeskError(f"there is no order {order_id}")
        return self._orders[order_id]
