"""What tells one version of Gateval from another, where that matters for what was measured.

A number that a person raises is forgotten when the words to judges change, so it is the code itself
that counts: whatever starts and asks Agents and judges, and reads what they say.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

_MEASURING = ("assertions", "bridges", "candidates", "engine", "gateway", "judging", "wire")


@cache
def engine_digest() -> str:
    """Return the SHA-256, in hex, over the code by which this version measures."""
    found, root = hashlib.sha256(), Path(__file__).parent.parent
    walked = [one for package in _MEASURING for one in os.walk(root / package)]
    files = [Path(folder, name) for folder, _, names in walked for name in names]
    for file in sorted(one for one in files if one.suffix != ".pyc"):
        content = file.read_bytes()
        found.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()
