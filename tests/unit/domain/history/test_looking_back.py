"""Status, trend, comparison and wavering, out of records of runs."""

from __future__ import annotations

import pytest

from gateval.domain.history.compared import ComparedRecord, compare_runs
from gateval.domain.history.run_record import FixtureMark, RunRecord
from gateval.domain.history.status import EvalPhase, Present, newest_runs, status_of
from gateval.domain.history.trend import trend, wavering
from tests.helpers.runs import run_eval, run_fixture, run_record

HERE = Present(name="support-eval", agent="support", closure="c" * 64, fixtures=1)
OTHER = "b" * 64


def status(*records: RunRecord, here: Present = HERE, running: bool = False) -> tuple[str, str]:
    newest = newest_runs(records, [here])
    found = status_of(here, newest.get(here.name), running=running)
    return found.phase.value, found.run


@pytest.mark.parametrize(
    ("verdict", "phase", "result"),
    [
        ("pass", EvalPhase.PASSED, FixtureMark.PASS),
        ("fail", EvalPhase.FAILED, FixtureMark.FAIL),
        ("inconclusive", EvalPhase.FAILED, FixtureMark.ERROR),
        ("incomplete", EvalPhase.FAILED, FixtureMark.ERROR),
    ],
)
def test_phases_follow_from_the_newest_run(
    verdict: str, phase: EvalPhase, result: FixtureMark
) -> None:
    record = run_record(1, run_eval(verdict=verdict))
    found = status_of(HERE, (record, record.evals[0]), running=False)
    assert (found.phase, found.last_result) == (phase, result)


def test_pending_running_and_stale() -> None:
    assert status() == ("Pending", "")
    assert status(running=True) == ("Running", "")
    changed = run_record(1, run_eval(closure=OTHER))
    assert status(changed) == ("Stale", "1-1")


def test_a_run_of_a_pull_request_counts_where_its_agent_is_the_one_that_is_here() -> None:
    main = run_record(1)
    same = run_record(2, event="pull_request", pull_request=7)
    proposed = run_record(3, run_eval(closure=OTHER), event="pull_request", pull_request=8)
    assert status(proposed, main) == ("Passed", "1-1")
    assert status(proposed, same, main) == ("Passed", "2-1")
    assert status(proposed) == ("Pending", "")


@pytest.mark.parametrize(
    ("trials", "result", "score"),
    [("ppp", "Pass", "1.00"), ("ppf", "Fail", "0.67"), ("ppx", "Error", "0.67–1.00"),
     ("sss", "Fail", "0.00"), ("", "Skip", "")],
)  # fmt: skip
def test_each_fixture_has_its_result(trials: str, result: str, score: str) -> None:
    record = run_record(1, run_eval(run_fixture("one", trials)))
    (found,) = status_of(HERE, (record, record.evals[0]), running=False).fixture_results
    assert (found.result.value, found.score) == (result, score)


def test_the_trend_marks_regressions_and_changes_and_leaves_proposals_out() -> None:
    worse = run_eval(run_fixture("one", "pff", regressed=True), closure=OTHER)
    records = [
        run_record(4, worse, base="3" * 40),
        run_record(3, event="pull_request", pull_request=1),
        run_record(2),
        run_record(1),
    ]
    points = trend(records, "support-eval", limit=10)
    assert [one.run for one in points] == ["1-1", "2-1", "4-1"]
    assert [one.regressed for one in points] == [(), (), ("one",)]
    assert [one.changed for one in points] == [False, False, True]
    assert points[-1].base == "3" * 40
    assert [one.run for one in trend(records, "support-eval", limit=1)] == ["4-1"]
    assert trend(records, "no-eval", limit=5) == ()


def test_of_several_runs_of_one_revision_the_newest_complete_one_counts() -> None:
    lost = run_eval(run_fixture("one", "ppx"), low=2 / 3, high=1.0)
    before = [
        ComparedRecord(run_record(3, lost)),
        ComparedRecord(run_record(2)),
        ComparedRecord(run_record(1)),
    ]
    after = [ComparedRecord(run_record(4, run_eval(run_fixture("one", "fff"))))]
    (found,) = compare_runs(before, after)
    (fixture,) = found.fixtures
    assert (fixture.before, fixture.after, fixture.worse) == ("3/3", "0/3", True)
    assert fixture.p_value == pytest.approx(1 / 20)
    assert found.delta == -1.0
    assert found.of[0] is not None
    assert (found.of[0].run, found.of[0].newer) == ("2-1", ("3-1",))
    assert found.otherwise == "The Agent is the same in both."


def test_an_edited_fixture_is_not_compared() -> None:
    after = run_record(2, run_eval(run_fixture("one", "fff", digest="e" * 20)))
    before, now = [ComparedRecord(run_record(1))], [ComparedRecord(after)]
    (fixture,) = compare_runs(before, now)[0].fixtures
    assert (fixture.said, fixture.p_value, fixture.worse) == ("edited", None, False)
    (gone,) = compare_runs(before, [ComparedRecord(run_record(2, run_eval(name="b")))])[1].fixtures
    assert gone.said == "only in the first"


def test_who_wavers_and_what_a_steadier_fixture_would_save() -> None:
    judge = run_fixture("judged", "pf", asked_again=2, wavered=2)
    agent = run_fixture("moody", "pf", asked_again=1)
    steady = run_fixture("steady", "pp")
    records = [run_record(n, run_eval(judge, agent, steady)) for n in (3, 2, 1)]
    found = {one.fixture: one for one in wavering(records)}
    assert found.keys() == {"judged", "moody"}
    assert found["judged"].who == "judge (6 of 6 repeated judgements changed)"
    assert found["moody"].who == "agent"
    assert (found["moody"].passes, found["moody"].trials) == (3, 6)
    assert found["moody"].saves > 1
    assert wavering(records, "other-eval") == ()


def test_trials_of_another_agent_say_nothing_about_how_steady_this_one_is() -> None:
    shaky = run_eval(run_fixture("one", "fff"), setting="0" * 64)
    assert wavering([run_record(2), run_record(1, shaky)]) == ()
