"""The programs that have agents of other frameworks answer, run by the agents' own interpreters.

They import nothing of the gate. `python/` and `node/` each hold one that loads the target, and a
small file for each framework. `redirect/` holds what Python and Node load before any program, where
an Agent asks for that: it leads calls to known providers to the gateway.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent

HOOK = "redirect"
"""The folder of what is loaded before a program."""


@cache
def bridge_files(language: str) -> Mapping[str, bytes]:
    """Return the files of the bridge to a language, by their names."""
    endings = {".py", ".mjs"}
    found = sorted(path for path in (FOLDER / language).iterdir() if path.suffix in endings)
    return {path.name: path.read_bytes() for path in found}


@cache
def bridge_digest(language: str) -> str:
    """Return the SHA-256 of all of these files."""
    whole = hashlib.sha256()
    for name, content in bridge_files(language).items():
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()
