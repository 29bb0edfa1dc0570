"""Reads days as documents write them; times and zones are left aside."""

from __future__ import annotations

import re
from datetime import date

USUAL = ("YYYY-MM-DD", "DD-MMM-YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "MMM DD, YYYY", "DD MMM YYYY")
"""The formats that are tried where none is written, in this order."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PARTS = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short>\d{2})",
    "MMMM": r"(?P<word>[A-Za-z]{3,9})",
    "MMM": r"(?P<word>[A-Za-z]{3,9})",
    "MM": r"(?P<month>\d{1,2})",
    "M": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{1,2})",
    "D": r"(?P<day>\d{1,2})",
}
_WHAT = {"year": "year", "short": "year", "word": "month", "month": "month", "day": "day"}
_TOKEN = re.compile("|".join(_PARTS))
_TIME = re.compile(r"(?<=\d)[T ]\d{1,2}:\d{2}.*$", re.DOTALL)


def read_date(text: str, formats: tuple[str, ...] = ()) -> date | None:
    """Return the day in a text by the first of `formats` that fits; None if none does.

    A format is made of YYYY, YY (from 2000 on), MMMM or MMM (an English name), MM, M, DD and D.
    """
    day = _TIME.sub("", text.strip()[:100])
    for one in formats or USUAL:
        found = re.fullmatch(_pattern(one), day)
        read = _date(found.groupdict()) if found else None
        if read is not None:
            return read
    return None


def is_date_format(written: str) -> bool:
    """Whether a format names a year, a month and a day, each once."""
    parts = [_PARTS[token.group()] for token in _TOKEN.finditer(written[:100])]
    names = sorted(_WHAT[part[4:].partition(">")[0]] for part in parts)
    return names == ["day", "month", "year"]


def _pattern(written: str) -> str:
    parts, at, named = [], 0, set()
    for token in _TOKEN.finditer(written[:100]):
        parts.append(re.escape(written[at : token.start()]))
        pattern = _PARTS[token.group()]
        name = pattern[3:].partition(">")[0]
        parts.append("(?!)" if name in named else pattern)
        named.add(name)
        at = token.end()
    return "".join([*parts, re.escape(written[at:])])


def _date(found: dict[str, str | None]) -> date | None:
    word, short = found.get("word"), found.get("short")
    month = _MONTHS.index(word[:3].lower()) + 1 if word and word[:3].lower() in _MONTHS else 0
    year = 2000 + int(short) if short else int(found.get("year") or 0)
    try:
        return date(year, month or int(found.get("month") or 0), int(found.get("day") or 0))
    except ValueError:
        return None
