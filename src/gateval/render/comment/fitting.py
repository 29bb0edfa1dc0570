"""Fits the parts of a comment below a size limit, cutting only between whole pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

_TAIL = 200
"""Room kept in each part for the line that says how much was left out."""


def size(text: str) -> int:
    """Return the length in UTF-16 units, the strictest way in which GitHub may count."""
    return len(text.encode("utf-16-le")) // 2


class Part(NamedTuple, Generic[T]):
    """A heading and its pieces, most important first.

    Up to `most` pieces are shown in `full`; the others, if there is a `brief`, as folded lines.
    `noun` names one piece in the notice. `weight` is the part's share of the room that is left
    when its turn comes, relative to the parts after it.
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


class Fitted(NamedTuple):
    """What fitted: the parts' texts, and what was left out as `12 failing fixtures`."""

    texts: tuple[str, ...]
    left_out: tuple[str, ...]


def fit(parts: Sequence[Part[T]], limit: int) -> Fitted:
    """Fill the parts in their order; together they stay below `limit` (see `size`)."""
    room = float(limit)
    weight = sum(part.weight for part in parts)
    texts, left_out = [], []
    for part in parts:
        text, left = _fill(part, room * part.weight / weight)
        weight -= part.weight
        room -= size(text) + 2
        if text:
            texts.append(text)
        if left:
            left_out.append(f"{left:,} {part.noun}{'' if left == 1 else 's'}")
    return Fitted(tuple(texts), tuple(left_out))


def _fill(part: Part[T], room: float) -> tuple[str, int]:
    """Return the part's text, empty if not even one piece fits, and how many pieces it lacks."""
    room -= size(part.opening) + size(part.closing) + _TAIL
    full_room = room * 0.7 if part.brief and len(part.items) > 1 else room
    shown = _take(part.items[: part.most], part.full, full_room, len(part.joint))
    room -= sum(size(piece) + len(part.joint) for piece in shown)
    rest = part.items[len(shown) :]
    brief = _take(rest, part.brief, room, 1) if part.brief else []
    left = len(rest) - len(brief)
    if not shown and not brief:
        return "", len(part.items)
    body = part.joint.join(shown)
    if brief:
        body += _folded(brief, left)
    elif left:
        body += f"\n\n\N{HORIZONTAL ELLIPSIS} and {left:,} more."
    return part.opening + body + part.closing, left


def _take(items: Sequence[T], render: Callable[[T], str], room: float, joint: int) -> Sequence[str]:
    taken = []
    for item in items:
        piece = render(item)
        room -= size(piece) + joint
        if room < 0:
            break
        taken.append(piece)
    return taken


def _folded(lines: Sequence[str], left: int) -> str:
    more = f"\n- \N{HORIZONTAL ELLIPSIS} and {left:,} more." if left else ""
    body = "\n".join(lines)
    return (
        f"\n\n<details><summary>{len(lines) + left:,} more</summary>\n\n{body}{more}\n\n</details>"
    )
