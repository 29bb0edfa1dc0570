"""What is due, and since when something fails."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gateval.domain.history.trend import Moments, due_eval, last_runs, turns
from tests.helpers.runs import run_eval, run_fixture, run_record

NINE = datetime(2026, 11, 22, 9, tzinfo=UTC)
TOMORROW = datetime(2026, 11, 23, 9, tzinfo=UTC)
OTHER = "b" * 64


@pytest.mark.parametrize(
    ("last_run", "due"),
    [
        ("", True),
        ("2026-11-22T08:59:59Z", True),
        ("2026-11-01T00:00:00Z", True),
        ("2026-11-22T09:00:00Z", False),
        ("2026-11-22T12:00:00Z", False),
    ],
)
def test_an_eval_is_due_once_its_time_has_come_since_it_ran(last_run: str, *, due: bool) -> None:
    moments = Moments(last=NINE, following=TOMORROW)
    found = due_eval("nightly", "0 9 * * *", "UTC", moments, last_run)
    assert found.due is due
    assert found.since == ("2026-11-22T09:00:00Z" if due else "")
    assert found.following == "2026-11-23T09:00:00Z"


def test_runs_of_the_default_branch_count_as_runs() -> None:
    records = [
        run_record(5, event="pull_request"),
        run_record(4, event="local"),
        run_record(3, run_eval(name="other")),
        run_record(2, event="schedule"),
        run_record(1),
    ]
    found = last_runs(records, run_record(9).at)
    assert found["support-eval"] == run_record(2).at
    assert found["other"] == run_record(3).at


def test_a_run_that_is_yet_to_come_is_none() -> None:
    records = [run_record(5, at="9999-12-31T23:59:59Z"), run_record(2)]
    assert last_runs(records, run_record(9).at) == {"support-eval": run_record(2).at}


def failing(**more: Any) -> dict[str, Any]:
    return {"verdict": "fail", **more}


def test_since_when_an_eval_fails() -> None:
    bad = run_eval(run_fixture("one", "fff"), **failing(closure=OTHER))
    records = [
        run_record(5, bad),
        run_record(4, event="pull_request"),
        run_record(3, bad),
        run_record(2),
        run_record(1),
    ]
    (turn,) = turns(run_record(6, bad), records)
    assert (turn.good, turn.bad) == (f"{2:040x}", f"{3:040x}")
    assert not turn.same_agent
    (worse,) = turn.worse
    assert (worse.before, worse.now) == ("6 of 6", "0 of 3")
    assert worse.p_value == pytest.approx(1 / 84)
    assert turn.sentence.endswith(f"git log {2:040x}"[:20] + f"..{3:040x}"[:14])


def test_the_same_agent_points_to_the_model() -> None:
    bad = run_eval(run_fixture("one", "fff"), **failing())
    (turn,) = turns(run_record(2, bad), [run_record(1)])
    assert turn.same_agent
    assert turn.sentence.endswith("a model, a tool or the judge changed.")


def test_what_passes_or_never_did_has_not_turned() -> None:
    bad = run_eval(run_fixture("one", "fff"), **failing())
    unmeasured = run_eval(run_fixture("one", "xxx"), verdict="inconclusive")
    assert turns(run_record(2), [run_record(1, bad)]) == ()
    assert turns(run_record(2, bad), [run_record(1, bad)]) == ()
    assert turns(run_record(2, bad), []) == ()
    (turn,) = turns(run_record(3, bad), [run_record(2, unmeasured), run_record(1)])
    assert turn.bad == f"{3:040x}"
