"""Estimates shipping: a parcel on standard input, what it costs and takes on standard output."""

from __future__ import annotations

import json
import sys

from zones import zone_of

BASE_CENTS = {"home": 490, "near": 890, "far": 1490}
DAYS = {"home": "1-2", "near": "2-4", "far": "4-7"}
FREE_GRAMS = 2000
CENTS_PER_KILOGRAM = 150


def estimate(country: str, grams: int) -> dict[str, object]:
    """Return the quote for one parcel: cents, days and zone, or why there is none."""
    zone = zone_of(country)
    if zone is None:
        return {"error": f"we do not ship to {country}"}
    extra = max(0, -(-(grams - FREE_GRAMS) // 1000))
    return {
        "zone": zone,
        "days": DAYS[zone],
        "cents": BASE_CENTS[zone] + extra * CENTS_PER_KILOGRAM,
    }


def main() -> None:
    """Read the question, print the quote and the one step that led to it."""
    parcel = json.load(sys.stdin)["input"]["payload"]
    quote = estimate(parcel["country"], parcel["grams"])
    trace = [
        {"type": "user", "text": f"Ship {parcel['grams']} g to {parcel['country']}."},
        {"type": "tool_call", "tool": "estimate", "arguments": parcel},
        {"type": "tool_result", "tool": "estimate", "text": quote},
    ]
    print(json.dumps({"output": quote, "trace": trace}))


if __name__ == "__main__":
    main()
