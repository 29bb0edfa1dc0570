"""Numbers in what agents say, as exact decimals: `0.1 + 0.2` is 0.3 here."""

from __future__ import annotations

import re
from decimal import Decimal

_LONGEST = 120
_NUMBER = re.compile(
    r"(?<![\w.,/:\u2212-])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?"
    r"(?!\w|[.,/:\u2212-]\d)",
    re.ASCII,
)
"""A sign, digits with or without thousands commas, a decimal point, an exponent; no part of a word,
a date, a time or a version."""


def exact(number: float) -> Decimal:
    """Return a number as it was written: the shortest decimal that stands for it."""
    return Decimal(repr(number))


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers in a text, in order. `1,299.50` is one; `2026-11-24` and `v1.2.3` none."""
    return [_read(found.group()) for found in _NUMBER.finditer(text)]


def only_number(text: str) -> Decimal | None:
    """Return the number that the text is, white space around it ignored; None if it is none."""
    stripped = text.strip()
    found = _NUMBER.fullmatch(stripped) if len(stripped) <= _LONGEST else None
    return _read(found.group()) if found else None


def _read(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace("\u2212", "-"))
