from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gateval.formats.native.cron import check_cron, check_zone, last_time, next_time


@pytest.mark.parametrize(
    "text",
    [
        "0 9 * * *",
        "*/5 * * * *",
        "0,30 8-18 * * mon-fri",
        "0 0 1 jan,Jul 0",
        "59 23 31 12 7",
        "10-40/10 * * * *",
        "0  9\t* * *",
        "0 0 L * *",
        "0 0 * * fri#2",
    ],
)
def test_a_schedule_is_kept(text: str) -> None:
    assert check_cron(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "this has 0"),
        ("@daily", "this has 1"),
        ("0 9 * * * *", "this has 6"),
        ("60 * * * *", '"60" is no minute of a schedule: expected "*" or numbers from 0 to 59.'),
        ("* 24 * * *", '"24" is no hour'),
        ("* * 0 * *", '"0" is no day of the month'),
        ("* * * 13 *", '"13" is no month'),
        ("* * * * 8", '"8" is no day of the week'),
        ("* * * mon *", '"mon" is no month'),
        ("5-1 * * * *", '"5-1" is no minute'),
        ("*/0 * * * *", '"*/0" is no minute'),
        ("*/ * * * *", '"*/" is no minute'),
        ("1,, * * * *", '"1,," is no minute'),
        ("-5 * * * *", '"-5" is no minute'),
        ("٥ * * * *", "is no minute"),
        (f"{'1' * 5000} * * * *", "has at most 200 characters"),
        ("0 0 30 2 *", '"30" is no day of the month'),
        ("0 0 * * 5L#9", '"5L#9" is no day of the week'),
    ],
)
def test_anything_else_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match="schedule") as caught:
        check_cron(text)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "zone", "now", "last", "following"),
    [
        ("0 9 * * *", "UTC", "2026-11-22T08:59", "2026-11-21T09:00", "2026-11-22T09:00"),
        ("0 9 * * *", "UTC", "2026-11-22T09:00", "2026-11-22T09:00", "2026-11-23T09:00"),
        ("0 9 * * *", "Europe/Berlin", "2026-11-22T08:00", "2026-11-22T08:00", "2026-11-23T08:00"),
        ("0 9 * * *", "Europe/Berlin", "2026-07-01T08:00", "2026-07-01T07:00", "2026-07-02T07:00"),
        ("0 9 * * mon", "UTC", "2026-11-22T12:00", "2026-11-16T09:00", "2026-11-23T09:00"),
        # The clocks go from 2:00 to 3:00 on that day: what is left out runs right after.
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T12:00", "2026-03-29T01:00", "2026-03-30T00:30"),
        # And from 3:00 to 2:00: it runs once.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T12:00", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("0 0 29 2 *", "UTC", "2026-11-22T12:00", "2024-02-29T00:00", "2028-02-29T00:00"),
    ],
)
def test_when_it_was_and_will_be(
    schedule: str, zone: str, now: str, last: str, following: str
) -> None:
    assert last_time(schedule, zone, moment(now)) == moment(last)
    assert next_time(schedule, zone, moment(now)) == moment(following)


@pytest.mark.parametrize("text", ["", "Mars/Base", "../../etc/passwd", "/etc/localtime", "a\0b"])
def test_what_is_no_time_zone(text: str) -> None:
    with pytest.raises(ValueError, match="is no time zone that is known here"):
        check_zone(text)


def test_a_time_zone_is_kept() -> None:
    assert check_zone("Europe/Berlin") == "Europe/Berlin"


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2026-03-28T00:00:00"),
        ("Europe/Berlin", "2026-10-24T00:00:00"),
        ("America/New_York", "2026-10-31T00:00:00"),
        ("Australia/Lord_Howe", "2026-04-04T00:00:00"),
    ],
)
@pytest.mark.parametrize("schedule", ["30 2 * * *", "15 1 * * *", "30 1,2 * * *", "0 * * * *"])
def test_backwards_and_forwards_name_the_same_moments_where_clocks_change(
    schedule: str, zone: str, day: str
) -> None:
    start = moment(day)
    named = [start - timedelta(days=2)]
    while named[-1] < start + timedelta(days=2):
        found = next_time(schedule, zone, named[-1])
        assert found is not None
        named.append(found)
    for minutes in range(0, 2 * 24 * 60, 15):
        now = start + timedelta(minutes=minutes)
        assert last_time(schedule, zone, now) == max(one for one in named if one <= now)
