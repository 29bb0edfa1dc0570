"""Names of what AgentV's files define: told by paths and ids alone: no other file renames it."""

from __future__ import annotations

import re
import unicodedata

from gateval.domain.base import digest

_ENDING = re.compile(r"(?:\.eval)?\.(?:ya?ml|jsonl)$", re.IGNORECASE)
_LONGEST = 120
_DIGITS = 6


def suite_name(path: str) -> str:
    """Return the name of the Eval of a suite: `evals/support.eval.yaml` is `evals.support`."""
    return _dotted(without_ending(path)) or "evals"


def without_ending(path: str) -> str:
    """Return a path without what tells that it is a suite: `.yaml`, `.eval.yaml`, `.jsonl`."""
    return _ENDING.sub("", path)


def agent_name(target: str, home: str, cwd: str) -> str:
    """Return the name of the Agent that a target is.

    `home` is the folder that its targets file is for, `cwd` where it works; both are part of the
    name where they are not the root, and the same.
    """
    parts = [_dotted(home), slug(target)]
    if cwd != home:
        parts.append(f"in-{_dotted(cwd)}" if cwd else "in-root")
    return ".".join(part for part in parts if part)


def slug(text: str) -> str:
    """Return `text` as a part of a name: small letters, digits, `-` and `.`.

    Where more than case and punctuation is lost, a digest tells it from others.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9.]+", "-", plain).strip("-.")
    if text.isascii() and word and len(word) <= _LONGEST:
        return word
    return f"{word[:_LONGEST]}-{digest(text)[:_DIGITS]}".lstrip("-")


def _dotted(path: str) -> str:
    whole = ".".join(slug(part) for part in path.split("/") if part.strip("."))
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}-{digest(path)[:_DIGITS]}"
