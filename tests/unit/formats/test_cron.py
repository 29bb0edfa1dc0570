from __future__ import annotations

import pytest

from gateval.formats.native.cron import check_cron


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
        (f"{'1' * 5000} * * * *", "is no minute"),
    ],
)
def test_anything_else_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match="schedule") as caught:
        check_cron(text)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200
