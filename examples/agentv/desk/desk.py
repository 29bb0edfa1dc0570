"""A service desk that needs no model: it looks for words, and writes what it did."""

import argparse
import json
import re
from pathlib import Path

PARCELS = {"P-1001": "in Lyon", "P-1002": "at the sorting office"}

options = argparse.ArgumentParser()
options.add_argument("--prompt", required=True)
options.add_argument("--file", action="append", default=[])
options.add_argument("--output", required=True)
given = options.parse_args()

notes = "\n".join(Path(name).read_text() for name in given.file)
calls = []
number = re.search(r"P-\d{4}", given.prompt)
days = re.search(r"(\d+) days", notes)
if number:
    place = PARCELS.get(number[0], "unknown")
    calls.append({"tool": "find_parcel", "input": {"number": number[0]}, "output": place})
    answer = f"Parcel {number[0]} is {place}."
elif "refund" in given.prompt.lower() and days:
    answer = f"You can return it within {days[1]} days, and we refund all of it."
elif "refund" in given.prompt.lower():
    answer = json.dumps({"refund": True, "days": 30})
else:
    answer = "Hello! How can I help you?"
messages = [{"role": "assistant", "content": answer, "tool_calls": calls}]
Path(given.output).write_text(json.dumps({"output_messages": messages}))
