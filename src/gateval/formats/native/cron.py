"""Schedules: cron expressions of five fields, in a time zone, read and reckoned by `cronsim`.

It follows Debian's cron, also where clocks are set forward and back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

_LONGEST = 200
_FIELDS = {
    "minute": ("minute", "0 to 59"),
    "hour": ("hour", "0 to 23"),
    "day-of-month": ("day of the month", "1 to 31, and one that a month of it has"),
    "month": ("month", "1 to 12"),
    "day-of-week": ("day of the week", "0 to 7"),
}
"""By the name that cronsim has for it: ours, and its numbers."""


def check_cron(text: str) -> str:
    """Return `text` if it is a cron expression of five fields, else raise ValueError.

    Each field is `*`, a number, a range `a-b`, either of these with a step `/n`, or a list of
    them; months and days of the week may be three-letter names, `L` is the last day.
    """
    from cronsim import CronSim, CronSimError

    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"A schedule has five fields (minute, hour, day, month, day of the week); this has "
            f"{len(parts)}."
        )
    if len(text) > _LONGEST:
        raise ValueError(f"A schedule has at most {_LONGEST} characters; this has {len(text):,}.")
    try:
        CronSim(text, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        named = str(error).removeprefix("Bad ")
        if named not in _FIELDS:
            raise ValueError(f'"{text[:40]}" is no schedule: {error}.') from None
        part = parts[list(_FIELDS).index(named)]
        name, numbers = _FIELDS[named]
        raise ValueError(
            f'"{part[:40]}" is no {name} of a schedule: expected "*" or numbers from {numbers}.'
        ) from None
    return text


def check_zone(text: str) -> str:
    """Return `text` if it is the name of a time zone that is known here, else raise ValueError."""
    try:
        ZoneInfo(text)
    except (OSError, ValueError, KeyError) as error:  # a zone that is not there is a KeyError
        raise ValueError(
            f'"{text[:40]}" is no time zone that is known here; expected a name such as '
            '"Europe/Berlin" or "UTC".'
        ) from error
    return text


def last_time(schedule: str, zone: str, now: datetime) -> datetime | None:
    """Return the newest moment up to `now` that a checked schedule names, in UTC.

    None if there was none within decades. It is one that `next_time` gives: backwards, cronsim
    names another one where clocks are set back.
    """
    found = _reckoned(schedule, zone, now + timedelta(seconds=1), reverse=True)
    while found and (later := next_time(schedule, zone, found)) and later <= now:
        found = later
    return found


def next_time(schedule: str, zone: str, now: datetime) -> datetime | None:
    """Return the first moment after `now` that a checked schedule names, in UTC."""
    return _reckoned(schedule, zone, now, reverse=False)


def _reckoned(schedule: str, zone: str, now: datetime, *, reverse: bool) -> datetime | None:
    from cronsim import CronSim

    there = now.astimezone(ZoneInfo(zone) if zone != "UTC" else UTC)
    found = next(iter(CronSim(schedule, there, reverse=reverse)), None)
    return found.astimezone(UTC) if found else None


Schedule = Annotated[str, AfterValidator(check_cron)] | None
"""A cron expression as people write it, if any."""

TimeZone = Annotated[str, AfterValidator(check_zone)]
"""The name of a time zone."""
