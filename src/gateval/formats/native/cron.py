"""Checks a 5-field cron expression. Nothing here runs anything: a schedule is passed on as text."""

from __future__ import annotations

from typing import NamedTuple

_DIGITS = 4


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field(
        "month",
        1,
        12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    _Field("day of the week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def check_cron(text: str) -> str:
    """Return `text` if it is a cron expression of five fields, else raise ValueError.

    Each field is `*`, a number, a range `a-b`, either of these with a step `/n`, or a list of
    them; months and days of the week may be three-letter names.
    """
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"A schedule has five fields (minute, hour, day, month, day of the week); this has "
            f"{len(parts)}."
        )
    for field, part in zip(_FIELDS, parts, strict=True):
        if not all(_is_item(field, item) for item in part.split(",")):
            raise ValueError(
                f'"{part[:40]}" is no {field.name} of a schedule: expected "*" or numbers from '
                f"{field.low} to {field.high}."
            )
    return text


def _is_item(field: _Field, item: str) -> bool:
    base, slash, step = item.partition("/")
    if slash and not (_number(step, ()) or 0):
        return False
    if base == "*":
        return True
    low, dash, high = base.partition("-")
    first = _value(field, low)
    last = _value(field, high) if dash else first
    return first is not None and last is not None and first <= last


def _value(field: _Field, text: str) -> int | None:
    number = _number(text, field.words)
    if number is None:
        return None
    value = number + field.low if text.lower() in field.words else number
    return value if field.low <= value <= field.high else None


def _number(text: str, words: tuple[str, ...]) -> int | None:
    """A number, or the index of a word."""
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    return words.index(text.lower()) if text.lower() in words else None
