"""A whole agent for the runtime `command`, in any language that reads and prints JSON.

It gets one question on standard input and prints one answer. Diagnostics go to standard error. The
trace is its own account of what it did, so that assertions on tool calls work without a model.
"""

import json
import os
import re
import sys

PARCELS = {"P-1001": "in Lyon, arriving tomorrow", "P-1002": "at the sorting office"}


def main() -> None:
    question = json.load(sys.stdin)
    prompt = question["prompt"]
    steps = [{"type": "user", "text": prompt}]
    number = re.search(r"P-\d{4}", prompt)
    if number is None:
        text = "Which parcel do you mean? Please give me its number, such as P-1001."
    else:
        text = look_up(number.group(), steps)
    output = f"{os.environ['DESK_NAME']}: {text}"
    steps.append({"type": "assistant", "text": output})
    json.dump({"output": output, "trace": steps}, sys.stdout)


def look_up(number: str, steps: list[dict[str, object]]) -> str:
    asked = {"number": number}
    steps.append({"type": "tool_call", "tool": "find_parcel", "arguments": asked, "id": "1"})
    found = PARCELS.get(number)
    result = found or "unknown number"
    steps.append({"type": "tool_result", "tool": "find_parcel", "text": result, "id": "1"})
    return f"Parcel {number} is {found}." if found else f"I know no parcel {number}."


if __name__ == "__main__":
    main()
