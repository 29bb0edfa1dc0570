"""What the target branch's bar adds to the decision, and what accepting it takes away."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.gate_config import InconclusivePolicy, Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Bar, Lowered
from gateval.domain.problems import SourceLocation
from gateval.domain.results.results import Results
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.reports import edit_plan, make_results
from tests.helpers.tiers import examples

LENIENT = Policy(inconclusive=InconclusivePolicy.WARN)
WORDS = Lowered(place=SourceLocation(file="evals/a.yaml", line=3), what="passThreshold")
NAME = "a-eval.base-tip"
OUTCOMES = ("pass", "fail", "judge", "provider", "candidate", "-")


def results(
    own: dict[str, str],
    bar: dict[str, str],
    *,
    thresholds: tuple[float, float],
    policy: Policy | None = None,
    accepted: str = "",
) -> Results:
    """Head's Eval with these fixtures, and the base tip's: those in both are measured once."""
    reused = [fixture for fixture in bar if bar[fixture] == "="]
    rows = [f"a-eval {fixture} base:new head:{outcome}" for fixture, outcome in own.items()]
    rows += [f"{NAME} {f} base:new head:{'-' if o == '=' else o}" for f, o in bar.items()]
    found = make_results(
        "\n".join(rows),
        threshold={"a-eval": thresholds[0], NAME: thresholds[1]},
        policy=policy,
    )
    mark = Bar(eval="a-eval", lowered=(WORDS,), reused=tuple(reused))
    evals = tuple(
        planned.model_copy(update={"bar": mark, "agent": "a"}) if planned.name == NAME else planned
        for planned in found.plan.evals
    )
    return edit_plan(found, evals=evals, bar_accepted=accepted)


def verdict(report: Report) -> tuple[GateVerdict, list[ReasonCode]]:
    decision = report.decision
    blocking = [reason.code for reason in decision.reasons if reason.verdict is decision.verdict]
    return decision.verdict, blocking if decision.verdict is not GateVerdict.PASS else []


@pytest.mark.parametrize(
    ("own", "bar", "thresholds", "policy", "expected"),
    [
        pytest.param({"f": "pass"}, {"f": "="}, (0.1, 1.0), None, (GateVerdict.PASS, []), id="met"),
        pytest.param(
            {"f": "pass", "g": "fail"},
            {"f": "=", "g": "="},
            (0.1, 1.0),
            None,
            (GateVerdict.FAIL, [ReasonCode.LOWERED_BAR]),
            id="head's own trials do not meet the old threshold",
        ),
        pytest.param(
            {"f": "pass", "easy": "pass"},
            {"f": "=", "hard": "fail"},
            (1.0, 1.0),
            None,
            (GateVerdict.FAIL, [ReasonCode.LOWERED_BAR]),
            id="a fixture that was replaced",
        ),
        pytest.param(
            {"f": "pass"},
            {"f": "=", "hard": "provider"},
            (1.0, 1.0),
            None,
            (GateVerdict.INCONCLUSIVE, [ReasonCode.PROVIDER_ERROR]),
            id="the bar was not measured",
        ),
        pytest.param(
            {"f": "pass"},
            {"f": "=", "hard": "-"},
            (1.0, 1.0),
            None,
            (GateVerdict.INCOMPLETE, [ReasonCode.MISSING_TRIALS]),
            id="the bar did not run",
        ),
        pytest.param(
            {"f": "pass", "g": "judge"},
            {"f": "=", "g": "="},
            (0.1, 1.0),
            LENIENT,
            (GateVerdict.INCONCLUSIVE, [ReasonCode.BAR_UNMEASURED]),
            id="lenient for head, but the bar hangs on it",
        ),
    ],
)
def test_the_bar_is_part_of_the_decision(
    own: dict[str, str],
    bar: dict[str, str],
    thresholds: tuple[float, float],
    policy: Policy | None,
    expected: tuple[GateVerdict, list[ReasonCode]],
) -> None:
    found = results(own, bar, thresholds=thresholds, policy=policy)
    assert verdict(make_report(found)) == expected


def test_what_is_accepted_does_not_block_but_is_told() -> None:
    lowered = results({"f": "pass"}, {"f": "=", "g": "fail"}, thresholds=(1, 1), accepted="@ann")
    report = make_report(lowered)
    assert verdict(report) == (GateVerdict.PASS, [])
    assert [reason.text for reason in report.decision.reasons] == [
        f"{NAME} scores 0.50, below its threshold 1.00; accepted by @ann"
    ]


def test_accepting_a_lower_bar_accepts_no_failure_of_heads_own() -> None:
    failing = results({"f": "fail"}, {"f": "="}, thresholds=(1, 1), accepted="@ann")
    assert verdict(make_report(failing)) == (GateVerdict.FAIL, [ReasonCode.BELOW_THRESHOLD])


def test_lost_evals_block_until_they_are_accepted() -> None:
    nothing = edit_plan(make_results(""), lost=(WORDS,))
    assert verdict(make_report(nothing)) == (GateVerdict.FAIL, [ReasonCode.LOWERED_BAR])
    accepted = edit_plan(nothing, bar_accepted="@ann")
    assert verdict(make_report(accepted)) == (GateVerdict.PASS, [])


def test_a_plan_that_reuses_what_nobody_runs_is_refused() -> None:
    plan = results({"f": "pass"}, {"f": "="}, thresholds=(1, 1)).plan
    forged = plan.model_dump(mode="json", by_alias=False)
    forged["evals"][1]["bar"]["reused"] = ["f", "g"]
    with pytest.raises(ValidationError, match="reuses runs that are not planned"):
        Plan.model_validate(forged, by_alias=False, by_name=True)


@settings(max_examples=examples(300), deadline=None)
@given(
    f=st.sampled_from(OUTCOMES),
    g=st.sampled_from(OUTCOMES),
    worse=st.sampled_from(("judge", "provider", "candidate", "-")),
    thresholds=st.tuples(st.sampled_from((0.1, 0.5, 1.0)), st.sampled_from((0.1, 0.5, 1.0))),
    lenient=st.booleans(),
)
def test_no_gap_in_the_bar_turns_a_non_pass_into_a_pass(
    *, f: str, g: str, worse: str, thresholds: tuple[float, float], lenient: bool
) -> None:
    """Measuring less never helps: neither in head's own Eval nor in the base tip's."""
    policy = LENIENT if lenient else None
    before = results({"f": f}, {"f": "=", "g": g}, thresholds=thresholds, policy=policy)
    if verdict(make_report(before))[0] is GateVerdict.PASS:
        return
    lost_f, lost_g = (worse if one in {"pass", "fail"} else one for one in (f, g))
    for own, bar in ((lost_f, g), (f, lost_g), (lost_f, lost_g)):
        less = results({"f": own}, {"f": "=", "g": bar}, thresholds=thresholds, policy=policy)
        assert verdict(make_report(less))[0] is not GateVerdict.PASS
