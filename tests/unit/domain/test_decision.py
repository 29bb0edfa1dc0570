"""The gate's decision: every reason, the precedence, and what no gap may ever do."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gateval.domain.decision.decision import make_report
from gateval.domain.decision.measured_reasons import show_passes
from gateval.domain.manifests.fixture import Severity
from gateval.domain.manifests.gate_config import (
    DeadBaselinePolicy,
    InconclusivePolicy,
    Policy,
    RegressionPolicy,
)
from gateval.domain.results.comparison import Repeated
from gateval.domain.results.results import Results
from gateval.domain.text import show_score, show_threshold
from gateval.domain.trials.trial import Cause, Outcome, Trial
from gateval.domain.verdicts import GateVerdict, Measured, ReasonCode, score_of
from tests.helpers.reports import TWELVE_OF_FIFTEEN, edit, make, make_results, replace
from tests.helpers.tiers import examples

FAIL, INCOMPLETE = GateVerdict.FAIL, GateVerdict.INCOMPLETE
INCONCLUSIVE, PASS = GateVerdict.INCONCLUSIVE, GateVerdict.PASS

LENIENT = Policy(inconclusive=InconclusivePolicy.WARN)
WARN = Policy(regressions=RegressionPolicy.WARN)
OFF = Policy(regressions=RegressionPolicy.OFF)

Expected = list[tuple[GateVerdict, ReasonCode]]


@pytest.mark.parametrize(
    ("rows", "threshold", "policy", "expected"),
    [
        pytest.param("a-eval f base:pass head:pass", 1.0, None, [], id="pass"),
        pytest.param("a-eval f base:new head:pass", 1.0, None, [], id="new, pass"),
        pytest.param(
            "a-eval f base:new head:fail",
            1.0,
            None,
            [(FAIL, ReasonCode.BELOW_THRESHOLD)],
            id="new and below the threshold",
        ),
        pytest.param(
            "a-eval f base:fail head:fail",
            0.0,
            None,
            [(PASS, ReasonCode.DEAD_BASELINE)],
            id="failing as before, threshold met",
        ),
        pytest.param(
            "a-eval f base:fail head:fail",
            0.0,
            Policy(dead_baseline=DeadBaselinePolicy.BLOCK),
            [(INCONCLUSIVE, ReasonCode.DEAD_BASELINE)],
            id="nothing passes on either side, policy blocks",
        ),
        pytest.param(
            "a-eval f base:fail,fail head:fail,fail\na-eval g base:fail,fail head:fail,pass",
            0.0,
            None,
            [],
            id="something passes now and then",
        ),
        pytest.param(
            "a-eval f base:pass head:fail",
            0.0,
            None,
            [(FAIL, ReasonCode.REGRESSION)],
            id="deterministic break",
        ),
        pytest.param(
            "a-eval f base:pass head:fail",
            0.0,
            WARN,
            [(PASS, ReasonCode.REGRESSION)],
            id="break, policy warns",
        ),
        pytest.param("a-eval f base:pass head:fail", 0.0, OFF, [], id="break, policy off"),
        pytest.param(
            "a-eval f base:pass,pass head:pass,fail+pass", 0.5, None, [], id="one flip of three"
        ),
        pytest.param(
            f"a-eval f base:pass head:{TWELVE_OF_FIFTEEN}",
            0.0,
            None,
            [(PASS, ReasonCode.SUSPECT)],
            id="worse rate",
        ),
        pytest.param(
            f"a-eval f base:pass head:{TWELVE_OF_FIFTEEN}",
            0.0,
            OFF,
            [],
            id="worse rate, policy off",
        ),
        pytest.param(
            "a-eval f base:pass head:candidate",
            0.0,
            OFF,
            [(FAIL, ReasonCode.NO_ANSWER)],
            id="head silent, base measured: no policy lets it pass",
        ),
        pytest.param(
            "a-eval f base:fail head:skip",
            0.0,
            None,
            [(FAIL, ReasonCode.NO_ANSWER)],
            id="head too slow where base failed",
        ),
        pytest.param(
            "a-eval f base:pass,pass head:candidate,pass", 0.5, None, [], id="silent now and then"
        ),
        pytest.param(
            "a-eval f base:pass,pass,pass head:candidate,provider,provider",
            0.0,
            None,
            [
                (INCONCLUSIVE, ReasonCode.CANDIDATE_ERROR),
                (INCONCLUSIVE, ReasonCode.PROVIDER_ERROR),
                (INCONCLUSIVE, ReasonCode.PROVIDER_ERROR),
            ],
            id="silence with another cause is no break",
        ),
        pytest.param(
            "a-eval f base:candidate head:candidate",
            0.0,
            None,
            [(INCONCLUSIVE, ReasonCode.UNANSWERED)],
            id="both silent",
        ),
        pytest.param(
            "a-eval f base:candidate head:candidate",
            1.0,
            None,
            [(INCONCLUSIVE, ReasonCode.UNANSWERED)],
            id="both silent, beside a written threshold",
        ),
        pytest.param(
            "a-eval f base:candidate head:candidate\na-eval g base:pass head:pass",
            0.0,
            None,
            [(INCONCLUSIVE, ReasonCode.CANDIDATE_ERROR)],
            id="both silent in one of two",
        ),
        pytest.param(
            "a-eval f base:new head:candidate",
            1.0,
            None,
            [(FAIL, ReasonCode.UNANSWERED)],
            id="new and silent",
        ),
        pytest.param(
            "a-eval f base:new head:candidate",
            0.0,
            LENIENT,
            [(INCONCLUSIVE, ReasonCode.UNANSWERED)],
            id="candidate errors never pass",
        ),
        pytest.param(
            "a-eval f base:pass head:gate",
            0.0,
            None,
            [(INCONCLUSIVE, ReasonCode.GATE_ERROR)],
            id="gate error",
        ),
        pytest.param(
            "a-eval f base:pass,pass head:pass,-",
            0.0,
            LENIENT,
            [(INCOMPLETE, ReasonCode.MISSING_TRIALS)],
            id="missing",
        ),
        pytest.param(
            "a-eval f base:pass,- head:pass,fail",
            0.0,
            None,
            [(INCOMPLETE, ReasonCode.MISSING_TRIALS)],
            id="missing on base where it matters",
        ),
        pytest.param(
            "a-eval f base:pass,- head:pass,pass", 1.0, None, [], id="missing on base, head perfect"
        ),
        pytest.param(
            "a-eval f base:gate,gate head:pass,pass", 1.0, None, [], id="bad base, head perfect"
        ),
        pytest.param(
            "a-eval f base:pass,provider head:pass,fail",
            0.0,
            LENIENT,
            [(INCONCLUSIVE, ReasonCode.BASELINE_ERROR)],
            id="bad base where it matters",
        ),
        pytest.param(
            "a-eval f base:pass,pass head:pass,judge",
            0.5,
            None,
            [(INCONCLUSIVE, ReasonCode.JUDGE_ERROR)],
            id="judge error blocks by default",
        ),
        pytest.param(
            "a-eval f base:pass,pass head:pass,judge",
            0.5,
            LENIENT,
            [(PASS, ReasonCode.JUDGE_ERROR)],
            id="judge error, policy warns",
        ),
        pytest.param(
            "a-eval f base:pass,pass head:pass,judge",
            0.6,
            LENIENT,
            [(INCONCLUSIVE, ReasonCode.JUDGE_ERROR)],
            id="judge error on which the threshold hangs",
        ),
        pytest.param(
            "a-eval f base:pass head:judge",
            0.0,
            LENIENT,
            [(INCONCLUSIVE, ReasonCode.JUDGE_ERROR)],
            id="judge error that may hide a break",
        ),
        pytest.param(
            """
            a-eval f base:pass head:fail
            a-eval g base:pass head:provider
            b-eval h base:pass,pass head:pass,-
            """,
            0.0,
            None,
            [
                (FAIL, ReasonCode.REGRESSION),
                (INCOMPLETE, ReasonCode.MISSING_TRIALS),
                (INCONCLUSIVE, ReasonCode.PROVIDER_ERROR),
            ],
            id="precedence",
        ),
    ],
)
def test_reasons_and_verdict(
    rows: str, threshold: float, policy: Policy | None, expected: Expected
) -> None:
    decision = make(rows, threshold=threshold, policy=policy).decision

    assert [(reason.verdict, reason.code) for reason in decision.reasons] == expected
    assert decision.verdict is (expected[0][0] if expected else PASS)


@pytest.mark.parametrize(
    ("rows", "exit_code"),
    [
        ("a-eval f head:pass", 0),
        ("a-eval f head:fail", 1),
        ("a-eval f head:provider", 3),
        ("a-eval f head:-", 3),
    ],
)
def test_exit_codes(rows: str, exit_code: int) -> None:
    assert make(rows).decision.exit_code == exit_code


def test_nothing_to_evaluate_passes_and_says_why() -> None:
    decision = make("", nothing="No agent changed.").decision

    assert decision.verdict is PASS
    assert [(r.code, r.text) for r in decision.reasons] == [
        (ReasonCode.NOTHING_TO_EVALUATE, "No agent changed.")
    ]


def test_an_error_without_a_cause_is_the_gates() -> None:
    results = edit(make_results("a-eval f head:judge"), "a-eval/f #1 on head", cause=None)

    decision = make_report(results).decision

    assert [reason.code for reason in decision.reasons] == [ReasonCode.GATE_ERROR]


def test_reasons_name_their_eval_and_fixture() -> None:
    (reason,) = make("a-eval f base:pass head:fail", threshold=0.0).decision.reasons

    assert (reason.eval, reason.fixture) == ("a-eval", "f")
    assert reason.text == "f regressed: passed 2 of 2 before, 0 of 2 now"


def test_the_decision_names_the_head() -> None:
    report = make("a-eval f head:pass")
    commit = report.results.plan.head.commit
    assert report.decision.head == commit


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.5, 0.5, "0.50"),
        (0.4, 0.6, "0.40–0.60"),
        (1.0, 1.0, "1.00"),
        (0.0, 0.0, "0.00"),
        (0.9975, 0.9975, "0.99"),
        (0.9975, 1.0, "0.99–1.00"),
        (0.001, 0.001, "0.01"),
    ],
)
def test_scores_are_shown_as_intervals_when_unsure(low: float, high: float, shown: str) -> None:
    assert show_score(score_of(low, high)) == shown


@pytest.mark.parametrize(
    ("score", "threshold", "shown"),
    [
        (7 / 15, 0.47, "0.467"),
        (0.4699999, 0.47, "0.4699999"),
        (0.47, 0.47, "0.47"),
        (0.471, 0.47, "0.471"),
        (0.468, 0.469, "0.468"),
        (0.99999, 1.0, "0.99"),
        (0.5, 0.47, "0.50"),
        (0.47 - 1e-10, 0.47, "0.47"),
    ],
)
def test_a_score_never_looks_like_the_threshold_that_it_misses(
    score: float, threshold: float, shown: str
) -> None:
    assert show_score(Measured(score), threshold) == shown


def test_a_missed_threshold_is_told_with_enough_digits() -> None:
    rows = "a-eval one base:fail head:pass\na-eval two base:fail head:fail"
    weights = {Severity.MEDIUM: 1.0, Severity.HIGH: 8 / 7}
    report = make(rows.replace("two", "two high"), threshold=0.47, weights=weights)
    assert "scores 0.467, below its threshold 0.47" in report.decision.reasons[0].text


@pytest.mark.parametrize(
    ("threshold", "shown"),
    [(1.0, "1.00"), (0.5, "0.50"), (0.996, "0.996"), (0.855, "0.855"), (0.9999999, "0.9999999")],
)
def test_a_lower_threshold_never_looks_like_another(threshold: float, shown: str) -> None:
    assert show_threshold(threshold) == shown


def test_passes_are_shown_over_measured_repetitions() -> None:
    assert show_passes(Repeated(passes=2, trials=3, lost=1)) == "passed 2 of 3"


WORDS = ("pass", "fail", "skip", "candidate", "judge", "provider", "gate", "-")
POLICIES = tuple(
    Policy(regressions=regressions, inconclusive=inconclusive)
    for regressions in RegressionPolicy
    for inconclusive in InconclusivePolicy
)


@st.composite
def some_results(draw: st.DrawFn) -> Results:
    """Up to two Evals of up to three fixtures, all outcomes, new fixtures, any policy."""
    rows = []
    for name in ("a-eval", "b-eval")[: draw(st.integers(1, 2))]:
        repetitions = draw(st.integers(1, 2))
        outcomes = st.lists(st.sampled_from(WORDS), min_size=repetitions, max_size=repetitions)
        compared = draw(st.booleans())
        for number in range(draw(st.integers(1, 3))):
            severity = draw(st.sampled_from(("low", "medium added", "high", "critical")))
            base = ",".join(draw(outcomes)) if compared else "new"
            head = ",".join(draw(outcomes)) + draw(st.sampled_from(("", "+pass", "+fail,pass")))
            rows.append(f"{name} {name[0]}{number} {severity} base:{base} head:{head}")
    return make_results(
        "\n".join(rows),
        threshold=draw(st.sampled_from((None, 0.0, 0.3, 0.5, 0.8, 1.0))),
        policy=draw(st.sampled_from(POLICIES)),
        deterministic=draw(st.booleans()),
    )


@settings(max_examples=examples(300), deadline=None)
@given(results=some_results(), data=st.data())
def test_no_gap_turns_a_non_pass_into_a_pass(results: Results, data: st.DataObject) -> None:
    """A trial that is lost or missing says less than what was measured, never more."""
    if make_report(results).decision.verdict is PASS or not results.trials:
        return
    trial = data.draw(st.sampled_from(results.trials))
    if trial.passed is not None and data.draw(st.booleans()):
        assume(_too_many_lost(results, trial))
        cause = data.draw(st.sampled_from((Cause.PROVIDER, Cause.JUDGE, Cause.GATE, None)))
        lost = trial.model_copy(update={"outcome": Outcome.ERROR, "cause": cause})
        worse = replace(results, lost)
    else:
        left = tuple(other for other in results.trials if other is not trial)
        worse = results.model_copy(update={"trials": left})

    assert make_report(worse).decision.verdict is not PASS


def _too_many_lost(results: Results, trial: Trial) -> bool:
    """Whether the trial's fixture is not measured without it: a fifth of its trials may be lost."""
    place = dataclasses.replace(trial.key, repetition=1)
    mine = [
        other.passed is None
        for other in results.trials
        if dataclasses.replace(other.key, repetition=1) == place
    ]
    return sum(mine) + 1 > 0.2 * len(mine)


@settings(max_examples=examples(100), deadline=None)
@given(results=some_results(), data=st.data())
def test_the_decision_does_not_depend_on_which_trial_ended_first(
    results: Results, data: st.DataObject
) -> None:
    turned = results.model_copy(update={"trials": data.draw(st.permutations(results.trials))})

    assert make_report(turned).decision == make_report(results).decision
    assert make_report(turned).comparison == make_report(results).comparison
