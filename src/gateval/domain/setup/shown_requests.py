"""What a README shows of the requests to a server: `curl … -d '{…}'`. Pure.

A value that people send is better than one that its type alone tells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from gateval.domain.setup.invocation import Invocation

_CURL = re.compile(r"\bcurl\b")
_MOST_CHARACTERS = 3_000
_MOST_SHOWN = 50
_PLACE = re.compile(r"(?:https?://[^\s/'\"`]+|\$\{?\w+\}?)(/[^\s'\"\\?`]*)")
_BODY = re.compile(
    r"(?:-d|--data(?:-raw|-binary|-ascii)?|--json)(?:=|\s)\s*(?:'(\{.*?\})'|\"(\{.*?\})\"(?=\s|$))",
    re.S,
)
_TO_FILL_IN = re.compile(r"(?i)\byour\b|your[_-]|[<>{}]|\.\.\.|^\$|^x+$")


def as_shown(asked: Invocation, readmes: Iterable[str]) -> Invocation:
    """Return how a server is asked; a README's request to the same path gives the values of its
    body that no question stands in.
    """
    body = json.loads(asked.body or "{}") if asked.route and not asked.preset else {}
    if not isinstance(body, dict):
        return asked
    place = asked.route.partition("?")[0].rstrip("/")
    shown: dict[str, Any] = {}
    for path, one in _shown(readmes):
        if path.rstrip("/") == place:
            shown = {**one, **shown}
    given = {
        name: shown[name]
        for name, value in body.items()
        if name in shown and "{{" not in json.dumps(value) and _is_usable(value, shown[name])
    }
    if not given:
        return asked
    return asked._replace(body=json.dumps({**body, **given}), shown=tuple(given))


def _is_usable(value: Any, shown: Any) -> bool:
    """Whether a shown value is of the same kind, and no gap to fill in."""
    same = isinstance(shown, type(value)) or {type(shown), type(value)} == {int, float}
    return same and not _TO_FILL_IN.search(json.dumps(shown).strip('"'))


def _shown(readmes: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the paths of requests with their bodies."""
    for text in readmes:
        starts = [one.end() for one in _CURL.finditer(text)][:_MOST_SHOWN]
        for start, end in pairwise([*starts, len(text)]):
            command = text[start : min(end, start + _MOST_CHARACTERS)].partition("```")[0]
            place, body = _PLACE.search(command), _BODY.search(command)
            if place and body:
                written = body[1] or body[2].replace('\\"', '"')
                try:
                    sent = json.loads(written)
                except (ValueError, RecursionError):
                    continue
                if isinstance(sent, dict):
                    yield place[1], sent
