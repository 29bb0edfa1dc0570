"""Says where a parcel is, on a command line; writes its answer as AgentV reads it."""

import argparse
import json
import re
from pathlib import Path

PLACES = {"P-1001": "in Lyon", "P-1002": "at the sorting office"}

options = argparse.ArgumentParser()
options.add_argument("--say", required=True)
options.add_argument("--file", action="append", default=[])
options.add_argument("--output", required=True)
given = options.parse_args()

asked = "\n".join([given.say, *(Path(name).read_text() for name in given.file)])
messages = []
found = re.search(r"P-\d{4}", asked)
answer = "Which parcel? Please give its number."
if found:
    place = PLACES.get(found[0], "not known")
    call = {"tool": "find_parcel", "input": {"number": found[0]}, "output": place}
    messages.append({"role": "assistant", "tool_calls": [call]})
    answer = f"{found[0]} is {place}."
messages.append({"role": "assistant", "content": answer})
Path(given.output).write_text(json.dumps({"output_messages": messages}))
