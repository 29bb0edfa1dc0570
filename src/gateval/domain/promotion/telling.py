"""The part of an answer that is worth asking for again: what it states, not how it puts it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST = 60
"""Characters of a text that a fixture asks for."""

_LOOKED_AT = 10_000
_LOOKED_IN = 200_000
"""Characters of an answer that may be asked for, and of what they are looked for in."""

_FACT = re.compile(
    r"https?://[^\s)>\]\"']+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}|[$€£]\s?\d[\d.,]*"
    r"|\b[A-Z]{2,}[-_]?\d[\w-]*|\b\d[\d.,:/-]*\d\b"
)
"""Links, addresses, amounts, identifiers and numbers; a digit alone stands in too many texts."""

_WORD = re.compile(r"[^\W\d_][\w'-]{4,}")


def telling_part(output: str, sources: Iterable[str]) -> str:
    """Return a piece of `output` that says most; empty for an empty one.

    A fact (a number, an amount, an identifier, a link) that stands in one of `sources`, which are
    what came in and what tools answered; else any fact; else a long word that stands there; else
    how it begins.
    """
    text = output.strip()[:_LOOKED_AT]
    known = "\n".join(sources)[:_LOOKED_IN]
    facts = _fitting(match.group().rstrip(".,:/-") for match in _FACT.finditer(text))
    words = _fitting(match.group() for match in _WORD.finditer(text))
    grounded = [fact for fact in facts if fact in known]
    shared = [word for word in words if re.search(rf"\b{re.escape(word)}\b", known)]
    for found in (grounded, facts, shared):
        if found:
            return max(found, key=len)
    return _beginning(text)


def _fitting(found: Iterable[str]) -> Sequence[str]:
    return [one for one in dict.fromkeys(found) if 0 < len(one) <= MOST]


def _beginning(text: str) -> str:
    """The first line, cut at the end of a word."""
    line = text.partition("\n")[0].strip()
    if len(line) <= MOST:
        return line
    return line[: line.rfind(" ", 0, MOST) if " " in line[:MOST] else MOST].rstrip()
