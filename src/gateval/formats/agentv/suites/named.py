"""Which targets a suite may be for that cannot be read: those that its text names as its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_TARGETS = re.compile(r"\btargets?[\"']?[ \t]*:([^\n]*(?:\n[ \t]*-[^\n]*)*)")
_AT_TOP = re.compile(
    r"^[\"']?(?:targets?|execution)[\"']?[ \t]*:[^\n]*(?:\n(?:[ \t]+[^\n]*)?)*", re.MULTILINE
)
_FILLED_IN = "${{"


def named_targets(
    own: str, others: Sequence[str], known: Collection[str], default: str
) -> frozenset[str]:
    """Return the targets that a suite may be for; `own` is its text, `others` those of its cases.

    `known` are the names of all targets there are; `default` is meant where a suite names none. A
    name that is not known may be any.
    """
    at_top = " ".join(part for block in _AT_TOP.findall(own) for part in _TARGETS.findall(block))
    found = frozenset(one for text in (own, *others) for one in _named(text, known))
    if _FILLED_IN in at_top or (at_top and not any(_words(at_top, known))):
        return frozenset(known)
    if not at_top:
        found |= {default} & {*known}
        if any(_TARGETS.search(text) for text in (own, *others)) and not found - {default}:
            return frozenset(known)
    return found or frozenset(known)


def _named(text: str, known: Collection[str]) -> Iterator[str]:
    for part in _TARGETS.findall(text):
        yield from known if _FILLED_IN in part else _words(part, known)


def _words(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the known names that stand in a text as words of their own."""
    for name in known:
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text):
            yield name
