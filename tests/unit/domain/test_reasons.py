"""Every reason that follows from scores, regressions and new fixtures, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.gate_config import (
    InconclusivePolicy,
    Policy,
    RegressionPolicy,
    ThresholdPolicy,
)
from gateval.domain.results.results import Results
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.reports import TWELVE_OF_FIFTEEN, edit_plan, make, make_results

FAIL, PASS = GateVerdict.FAIL, GateVerdict.PASS
INCOMPLETE, INCONCLUSIVE = GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE

BY_CHANCE: dict[str, Any] = {"deterministic": False, "threshold": None}
LENIENT = Policy(inconclusive=InconclusivePolicy.WARN)
WORSE = Policy(threshold=ThresholdPolicy.WORSE)
WARN = Policy(regressions=RegressionPolicy.WARN)

BELOW = "a-eval scores {head}, below its threshold 0.90"
DEAD = (
    "a-eval: nothing passes, and nothing passes on base either; this Eval cannot see a regression"
)
NOT_CAUSED = "; base scores {base}, so this is not caused by this change"


def said(report: Report) -> list[tuple[GateVerdict, str]]:
    return [(reason.verdict, reason.text) for reason in report.decision.reasons]


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        pytest.param("a-eval f base:pass head:pass", [], id="nothing to say"),
        pytest.param(
            "a-eval f base:pass,pass,pass,pass head:fail,fail,fail,fail",
            [(FAIL, "f regressed: passed 4 of 4 before, 0 of 4 now")],
            id="regressed",
        ),
        pytest.param(
            "a-eval f base:pass,pass,pass,pass head:fail,skip,skip,fail",
            [(FAIL, "f regressed: passed 4 of 4 before, 0 of 4 now (no answer in 2 of 4)")],
            id="regressed, silent now and then",
        ),
        pytest.param(
            f"a-eval f base:pass head:{TWELVE_OF_FIFTEEN}",
            [(PASS, "f looks worse: passed 15 of 15 before, 12 of 15 now; not confirmed")],
            id="not confirmed",
        ),
        pytest.param("a-eval f base:pass head:fail+pass", [], id="luck"),
        pytest.param(
            "a-eval f base:fail head:fail",
            [(PASS, DEAD), (PASS, "a-eval: 1 fixture fails before and now: f")],
            id="fails as before",
        ),
        pytest.param(
            "\n".join(f"a-eval f{n} base:fail head:fail" for n in range(7)),
            [
                (PASS, DEAD),
                (PASS, "a-eval: 7 fixtures fail before and now: f0, f1, f2, f3, f4, ..."),
            ],
            id="many fail as before",
        ),
        pytest.param(
            "a-eval f base:same head:fail",
            [(PASS, "a-eval: 1 fixture fails before and now: f")],
            id="the agent is unchanged",
        ),
        pytest.param("a-eval f base:fail head:pass", [], id="better"),
        pytest.param(
            "a-eval f base:fail,fail head:candidate,skip",
            [(FAIL, "f: head does not answer; base does")],
            id="silent",
        ),
        pytest.param(
            "a-eval f base:candidate,skip head:candidate,skip",
            [(INCONCLUSIVE, "a gave no answer, on base neither: the candidate had a bad day")],
            id="both silent",
        ),
        pytest.param(
            "a-eval f base:candidate,skip head:candidate,skip\na-eval g base:pass,pass head:pass,pass",
            [
                (INCONCLUSIVE, "f: head gave no answer in any repetition; nor did base"),
                (PASS, "a-eval: 1 fixture fails before and now: f"),
            ],
            id="both silent in one of two",
        ),
        pytest.param(
            "a-eval f base:candidate,pass head:candidate,pass",
            [(PASS, "a-eval: 1 fixture fails before and now: f")],
            id="silent now and then, as before",
        ),
        pytest.param(
            f"a-eval f base:{','.join(['pass'] * 10)} head:{','.join(['pass'] * 8)},judge,judge",
            [],
            id="a fifth may be lost",
        ),
        pytest.param(
            "a-eval f base:pass,pass,pass head:pass,pass,judge",
            [(INCONCLUSIVE, "f was not measured (judge): The judge had a bad day.")],
            id="not more",
        ),
        pytest.param(
            "a-eval f base:pass,pass,judge head:pass,pass,fail",
            [(INCONCLUSIVE, "f was not measured on base (judge): The judge had a bad day.")],
            id="lost on base",
        ),
        pytest.param("a-eval f base:judge head:pass", [], id="lost on base, head is perfect"),
    ],
)
def test_without_a_threshold(rows: str, reasons: list[tuple[GateVerdict, str]]) -> None:
    report = make(rows, **BY_CHANCE)
    assert said(report) == reasons
    assert report.decision.verdict is (reasons[0][0] if reasons else PASS)


def test_a_new_agent_has_to_pass_in_full() -> None:
    assert said(make("a-eval f base:new head:pass\na-eval g head:fail", **BY_CHANCE)) == [
        (FAIL, "a-eval scores 0.50, and not all of its fixtures pass")
    ]


def strict(results: Results) -> Results:
    evals = tuple(one.model_copy(update={"strict": True}) for one in results.plan.evals)
    return edit_plan(results, evals=evals)


def test_a_policy_may_ask_for_a_threshold_where_none_is_written() -> None:
    results = make_results(
        "a-eval f base:fail head:fail\na-eval g base:pass head:pass", **BY_CHANCE
    )
    assert make_report(results).decision.verdict is PASS
    text = "a-eval scores 0.50, and not all of its fixtures pass" + NOT_CAUSED.format(base="0.50")
    assert said(make_report(strict(results))) == [(FAIL, text)]


@pytest.mark.parametrize(
    ("outcomes", "policy", "reasons"),
    [
        pytest.param("base:fail head:pass", None, [], id="passes"),
        pytest.param("base:fail head:fail+pass", None, [], id="two of three"),
        pytest.param("base:same head:fail+pass", None, [], id="two of three, agent unchanged"),
        pytest.param("base:pass,pass,pass head:pass,fail,fail", None, [], id="its first"),
        pytest.param(
            "base:pass head:fail",
            None,
            [(FAIL, "f is new or changed and does not pass: passed 0 of 3 now")],
            id="fails",
        ),
        pytest.param(
            "base:fail head:fail+fail,pass",
            None,
            [(FAIL, "f is new or changed and does not pass: passed 1 of 3 now")],
            id="one of three",
        ),
        pytest.param(
            "base:same head:fail",
            None,
            [(FAIL, "f is new or changed and does not pass: passed 0 of 3 now")],
            id="fails, agent unchanged",
        ),
        pytest.param(
            "base:pass head:fail",
            WARN,
            [(FAIL, "f is new or changed and does not pass: passed 0 of 3 now")],
            id="that is no regression",
        ),
        pytest.param(
            "base:fail head:candidate",
            None,
            [(FAIL, "f: head does not answer; base does")],
            id="silent",
        ),
        pytest.param(
            "base:fail head:judge",
            LENIENT,
            [(INCONCLUSIVE, "f was not measured (judge): The judge had a bad day.")],
            id="not measured: no policy lets that pass",
        ),
        pytest.param(
            "base:fail,fail,fail head:pass,judge,pass",
            LENIENT,
            [(PASS, "f was not measured (judge): The judge had a bad day.")],
            id="it passed already",
        ),
        pytest.param(
            "base:fail,fail,fail head:fail,-,-",
            None,
            [(INCOMPLETE, "f: 2 planned trials did not run")],
            id="two of three are missing",
        ),
    ],
)
def test_a_new_fixture_has_to_pass_by_itself(
    outcomes: str, policy: Policy | None, reasons: list[tuple[GateVerdict, str]]
) -> None:
    assert said(make(f"a-eval f added {outcomes}", **BY_CHANCE, policy=policy)) == reasons


def test_a_written_threshold_decides_about_new_fixtures_too() -> None:
    rows = "a-eval f added base:pass head:fail\na-eval g base:pass head:pass"
    assert said(make(rows, threshold=0.5)) == []
    assert said(make(rows, threshold=0.6)) == [
        (FAIL, "a-eval scores 0.50, below its threshold 0.60")
    ]


def ten(base: int, head: int) -> str:
    """Ten fixtures, so many of which pass at first on each side; none is broken."""
    rows = [
        f"a-eval f{n} base:{'pass' if n < base else 'fail'} "
        f"head:{'pass' if n < head else 'fail+pass'}"
        for n in range(10)
    ]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("base", "head", "policy", "verdict", "text"),
    [
        (6, 6, None, FAIL, BELOW + NOT_CAUSED),
        (6, 7, None, FAIL, BELOW + NOT_CAUSED),
        (6, 6, WORSE, PASS, BELOW + NOT_CAUSED),
        (6, 7, WORSE, PASS, BELOW + NOT_CAUSED),
        (7, 6, WORSE, FAIL, BELOW + NOT_CAUSED),
        (10, 6, WORSE, FAIL, BELOW),
        (9, 6, WORSE, FAIL, BELOW),
        (6, 6, WORSE.model_copy(update={"threshold_floor": 0.6}), PASS, BELOW + NOT_CAUSED),
        (6, 6, WORSE.model_copy(update={"threshold_floor": 0.7}), FAIL, BELOW + NOT_CAUSED),
    ],
)
def test_a_threshold_that_base_misses_too(
    base: int, head: int, policy: Policy | None, verdict: GateVerdict, text: str
) -> None:
    options: dict[str, Any] = {"threshold": 0.9, "policy": policy, "deterministic": False}
    (reason, *others) = make(ten(base, head), **options).decision.reasons
    assert (reason.verdict, reason.code) == (verdict, ReasonCode.BELOW_THRESHOLD)
    assert reason.text == text.format(head=f"{head / 10:.2f}", base=f"{base / 10:.2f}")
    assert not others


def test_where_something_regressed_a_missed_threshold_is_caused_by_the_change() -> None:
    rows = ten(6, 6).replace("f0 base:pass head:pass", "f0 base:pass head:fail")
    report = make(rows, threshold=0.9, policy=WORSE)
    assert [(reason.verdict, reason.text) for reason in report.decision.reasons] == [
        (FAIL, "f0 regressed: passed 2 of 2 before, 0 of 2 now"),
        (FAIL, "a-eval scores 0.50, below its threshold 0.90"),
    ]


def test_rounding_makes_no_agent_worse() -> None:
    """Sums of the same tenths in another order differ in the last digit."""
    pairs = [("low", "medium"), ("medium", "low"), ("high", "critical")]
    rows = [
        f"a-eval {word}{n} {severity} base:{'pass' if word == 'a' else 'fail'} head:"
        f"{'pass' if word == 'a' else 'fail'}"
        for n, pair in enumerate(pairs)
        for word, severity in zip("ab", pair, strict=True)
    ]
    report = make("\n".join(rows), threshold=0.9, policy=WORSE)
    assert report.decision.verdict is PASS


def test_a_missed_threshold_is_decided_by_three_repetitions() -> None:
    rows = ten(10, 10).replace("f0 base:pass head:pass", "f0 base:pass head:fail+pass")
    report = make(rows, threshold=0.95, deterministic=False)
    assert report.comparison.evals[0].head.ends == pytest.approx((29 / 30, 29 / 30))
    assert report.comparison.evals[0].head_first.ends == pytest.approx((0.9, 0.9))
    assert report.decision.verdict is PASS
    rows = ten(10, 10).replace("f0 base:pass head:pass", "f0 base:pass head:fail+fail,pass")
    report = make(rows, threshold=0.95, deterministic=False)
    assert said(report)[0] == (FAIL, "a-eval scores 0.93, below its threshold 0.95")


def slipping(flips: int, later: str = "pass") -> str:
    return "\n".join(
        f"a-eval f{n} base:pass head:{f'fail+{later}' if n < flips else 'pass'}" for n in range(20)
    )


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [(None, FAIL), (WARN, PASS), (Policy(regressions=RegressionPolicy.OFF), None)],
)
def test_many_fixtures_that_are_a_little_worse(
    policy: Policy | None, verdict: GateVerdict | None
) -> None:
    report = make(slipping(8), **BY_CHANCE, policy=policy)
    reason = "a-eval got worse as a whole: 100 % passed before, 60 % now"
    assert said(report) == ([(verdict, reason)] if verdict else [])


def test_a_second_look_at_all_fixtures_may_take_it_back() -> None:
    report = make(slipping(4), **BY_CHANCE)
    assert said(report) == []
    assert {fixture.head_all.trials for fixture in report.comparison.evals[0].fixtures} == {1, 3}


@pytest.mark.parametrize("left", [1, 5])
def test_a_second_look_that_did_not_happen_is_no_pass(left: int) -> None:
    """The trials for it were asked for; without them nobody knows."""
    results = make_results(slipping(4), **BY_CHANCE)
    kept = tuple(trial for trial in results.trials if trial.key.repetition <= left)
    report = make_report(results.model_copy(update={"trials": kept}))
    assert report.decision.verdict is INCOMPLETE
    assert said(report)[0][1] == f"f0: {12 - 2 * left} planned trials did not run"


def test_base_trials_that_a_second_look_lacks_make_a_run_incomplete() -> None:
    results = make_results(slipping(4), **BY_CHANCE)
    kept = tuple(
        trial
        for trial in results.trials
        if not (
            trial.key.fixture == "f19" and trial.key.side == "base" and trial.key.repetition > 1
        )
    )
    report = make_report(results.model_copy(update={"trials": kept}))
    assert said(report) == [(INCOMPLETE, "f19: 5 planned trials did not run")]
