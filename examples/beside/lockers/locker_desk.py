"""An agent that changes something outside itself: it reads a question, and takes a locker."""

import json
import os
import re
import sys
import urllib.request
from typing import Any

LOCKERS = os.environ["LOCKERS_URL"]


def ask(path: str, data: bytes | None = None) -> dict[str, Any]:
    with urllib.request.urlopen(f"{LOCKERS}{path}", data) as answer:  # noqa: S310 - our own server
        found: dict[str, Any] = json.load(answer)
        return found


number = re.search(r"P-\d{4}", sys.stdin.read())
if number is None:
    print("Which parcel shall I put into a locker?")
elif not ask("/free")["free"]:
    print("All lockers are taken.")
else:
    print(f"{number.group()} is in locker {ask('/', number.group().encode())['locker']}.")
