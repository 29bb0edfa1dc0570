"""Fits the parts of a comment below a size limit, cutting only between whole pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_TAIL = 200
"""Room kept in a part that is cut for the line that says how much was left out."""

_GAP = 2
"""The empty line after a part."""


def size(text: str) -> int:
    """Return the length in UTF-16 units, the strictest way in which GitHub may count."""
    return len(text.encode("utf-16-le")) // 2


class Part(NamedTuple, Generic[T]):
    """A heading and its pieces, most important first.

    Up to `most` pieces are shown in `full`; the others, if there is a `brief`, as folded lines.
    `noun` names what the notice counts, of which a piece holds `holds`. `weight` is the part's
    share of the room where not everything fits, relative to the other parts.
    """

    noun: str
    opening: str
    items: Sequence[T]
    full: Callable[[T], str]
    brief: Callable[[T], str] | None = None
    closing: str = ""
    joint: str = "\n\n"
    most: int = 1000
    weight: float = 1.0
    holds: Callable[[T], int] = lambda _: 1


class Fitted(NamedTuple):
    """What fitted: the parts' texts, and what was left out as `12 failing fixtures`."""

    texts: tuple[str, ...]
    left_out: tuple[str, ...]


def fit(parts: Sequence[Part[Any]], limit: int) -> Fitted:
    """Fill the parts in their order; together they stay below `limit` (see `size`).

    A part gets the room that it needs, if that is no more than its share; what it does not need
    is shared among the others.
    """
    fillings = [_Filling(part) for part in parts]
    needs = [filling.need(limit) for filling in fillings]
    rooms = shares(needs, [part.weight for part in parts], limit)
    spare, texts, left_out = 0.0, [], []
    for part, filling, room in zip(parts, fillings, rooms, strict=True):
        text, left = filling.fill(room + spare - _GAP)
        spare += room - (size(text) + _GAP if text else 0)
        if text:
            texts.append(text)
        if left:
            left_out.append(f"{left:,} {part.noun}{'' if left == 1 else 's'}")
    return Fitted(tuple(texts), tuple(left_out))


def shares(needs: Sequence[float], weights: Sequence[float], limit: float) -> Sequence[float]:
    """Return the room of each part: its need, or by weight what is left once others have theirs."""
    rooms = [0.0] * len(needs)
    waiting, left = set(range(len(needs))), limit
    while waiting:
        unit = left / sum(weights[one] for one in waiting)
        served = {one for one in waiting if needs[one] <= unit * weights[one]}
        for one in served or waiting:
            rooms[one] = needs[one] if served else unit * weights[one]
            left -= rooms[one] if served else 0
        waiting = waiting - served if served else set()
    return rooms


class _Filling(Generic[T]):
    """One part; each of its pieces is rendered once."""

    def __init__(self, part: Part[T]) -> None:
        self._part = part
        self._total = len(part.items)
        self._full = cache(lambda number: part.full(part.items[number]))
        brief = part.brief
        self._brief = cache(lambda number: brief(part.items[number])) if brief else None

    def need(self, limit: float) -> float:
        """Return the room for all of it and the gap after it; `limit` if that is too little."""
        whole = self._whole(limit)
        return limit if whole is None else size(whole) + _GAP

    def fill(self, room: float) -> tuple[str, int]:
        """Return the part's text, empty if not even one piece fits, and how much it lacks."""
        whole = self._whole(room)
        if whole is not None:
            return whole, 0
        part = self._part
        room -= size(part.opening) + size(part.closing) + _TAIL
        full_room = room * 0.7 if self._brief and self._total > 1 else room
        full = _taken(map(self._full, range(min(part.most, self._total))), full_room, part.joint)
        room -= sum(size(self._full(number)) + len(part.joint) for number in range(full))
        rest = map(self._brief, range(full, self._total)) if self._brief else ()
        shown = full + _taken(rest, room, "\n")
        return (self._text(full, shown) if shown else ""), self._left(shown)

    def _whole(self, limit: float) -> str | None:
        """Return all of it if that fits; nothing beyond `limit` is rendered."""
        part = self._part
        full = min(part.most, self._total)
        if full < self._total and not self._brief:
            return None
        pieces = chain(
            map(self._full, range(full)),
            map(self._brief, range(full, self._total)) if self._brief else (),
        )
        if _taken(pieces, limit, "") < self._total:
            return None
        text = self._text(full, self._total)
        return text if size(text) <= limit else None

    def _left(self, shown: int) -> int:
        return sum(map(self._part.holds, self._part.items[shown:]))

    def _text(self, full: int, shown: int) -> str:
        part, left = self._part, self._left(shown)
        body = part.joint.join(map(self._full, range(full)))
        if shown > full and self._brief:
            lines = [self._brief(number) for number in range(full, shown)]
            body += _folded(lines, left, held=self._left(full))
        elif left:
            body += f"\n\n\N{HORIZONTAL ELLIPSIS} and {left:,} more."
        return part.opening + body + part.closing


def _taken(pieces: Iterable[str], room: float, joint: str) -> int:
    """Return how many of the first pieces fit."""
    taken = 0
    for piece in pieces:
        room -= size(piece) + len(joint)
        if room < 0:
            break
        taken += 1
    return taken


def _folded(lines: Sequence[str], left: int, *, held: int) -> str:
    more = f"\n- \N{HORIZONTAL ELLIPSIS} and {left:,} more." if left else ""
    body = "\n".join(lines)
    return f"\n\n<details><summary>{held:,} more</summary>\n\n{body}{more}\n\n</details>"
