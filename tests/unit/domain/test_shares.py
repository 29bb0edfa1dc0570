"""How the budget for false alarms is split over a plan, and that a change cannot dilute it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType

import pytest
from pydantic import ValidationError

from gateval.domain.manifests.gate_config import Policy, UnsetThresholdPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Baseline, PlannedEval
from gateval.domain.planning.planner import plan_change
from gateval.domain.planning.selection import Narrowing, narrow
from gateval.domain.planning.snapshot import GateRules
from gateval.domain.statistics.design import design
from tests.helpers.bars import snapshot

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: {name}}}
spec: {{models: [{model}], system: {system}}}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: {name}-eval}}
spec:
  targetAgent: {name}
  fixtureSelector: {{matchLabels: {{agent: {name}}}}}
  {more}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}, labels: {{agent: {agent}}}}}
spec:
  input: {{type: prompt, payload: {{prompt: hi}}}}
  assertions: [{{type: contains, value: {value}}}]
"""
Files = dict[str, str]


def agent(
    name: str, fixtures: int, *, system: str = "Old.", more: str = "", model: str = "openai/gpt-5"
) -> Files:
    """An Agent `name` with an Eval `NAME-eval` of fixtures `NAME-0`, `NAME-1`, ..."""
    made = {f"{name}-{n}": fixture(name, f"{name}-{n}") for n in range(fixtures)}
    return {
        f"{name}.yaml": AGENT.format(name=name, system=system, model=model),
        f"{name}-eval.yaml": EVAL.format(name=name, more=more),
        **{f"{key}.yaml": text for key, text in made.items()},
    }


def fixture(agent_name: str, name: str, value: str = "hello") -> str:
    return FIXTURE.format(agent=agent_name, name=name, value=value)


def plan(
    head: Files,
    base: Files,
    *,
    policy: Policy | None = None,
    tip: Files | None = None,
    scripts: Mapping[str, str] | None = None,
) -> Plan:
    before = snapshot(base, scripts)
    now = snapshot(tip, scripts) if tip else before
    return plan_change(
        snapshot(head, scripts), before, GateRules(policy or Policy(), "", None), now
    )


def shares(planned: Plan) -> dict[str, tuple[float, float]]:
    return {
        one.name: (round(one.fixture_share, 6), round(one.broad_share, 6)) for one in planned.evals
    }


def test_the_budget_is_split_over_evals_then_over_their_fixtures() -> None:
    base = agent("a", 3) | agent("b", 10)
    head = agent("a", 3, system="New.") | agent("b", 10, system="New.")
    found = plan(head, base)
    assert shares(found) == {"a-eval": (0.005, 0.01), "b-eval": (0.0015, 0.01)}
    assert found.eval("a-eval").compared == ("a-0", "a-1", "a-2")


def test_an_eval_that_does_not_run_takes_no_share() -> None:
    base = agent("a", 3) | agent("b", 10)
    assert shares(plan(agent("a", 3, system="New.") | agent("b", 10), base)) == {
        "a-eval": (0.01, 0.02)
    }


def test_a_part_of_a_plan_keeps_the_shares_of_the_whole() -> None:
    """Several jobs share a plan: all of them together keep the promise."""
    base = agent("a", 3) | agent("b", 10)
    whole = plan(agent("a", 3, system="New.") | agent("b", 10, system="New."), base)
    parts = [narrow(whole, Narrowing(evals=(name,))) for name in ("a-eval", "b-eval")]
    assert shares(parts[0]) | shares(parts[1]) == shares(whole)
    assert [one.looks for part in parts for one in part.evals] == [one.looks for one in whole.evals]


def test_the_policy_may_weigh_evals() -> None:
    base = agent("a", 3) | agent("b", 3)
    head = agent("a", 3, system="New.") | agent("b", 3, system="New.")
    found = plan(head, base, policy=Policy(eval_weights={"a-eval": 3.0, "unknown": 9.0}))
    assert shares(found) == {"a-eval": (0.0075, 0.015), "b-eval": (0.0025, 0.005)}


def test_what_a_change_adds_dilutes_nothing() -> None:
    """500 new fixtures, 20 new Evals: the others are looked at with the very same design."""
    base = agent("a", 20)
    head = agent("a", 20, system="New.")
    alone = plan(head, base).eval("a-eval")
    crowd = {f"new-{n}.yaml": fixture("a", f"new-{n}") for n in range(500)}
    for n in range(20):
        crowd |= agent(f"other{n}", 2)
    found = plan(head | crowd, base)
    among = found.eval("a-eval")
    assert (among.fixture_share, among.broad_share) == (alone.fixture_share, alone.broad_share)
    assert among.compared == alone.compared
    assert design(among.looks, among.fixture_share) == design(alone.looks, alone.fixture_share)
    assert len(among.added) == 500
    assert all(not one.compared for one in found.evals if one.own_name != "a-eval")


def test_a_fixture_that_the_change_edits_is_compared_by_what_it_asks_now() -> None:
    base = agent("a", 2)
    head = agent("a", 2, system="New.") | {"a-1.yaml": fixture("a", "a-1", "goodbye")}
    own = plan(head, base).eval("a-eval")
    assert (own.compared, own.added) == (("a-0", "a-1"), ())


def test_with_an_unchanged_agent_what_is_new_or_edited_has_to_pass() -> None:
    base = agent("a", 2)
    head = agent("a", 3) | {"a-1.yaml": fixture("a", "a-1", "goodbye")}
    own = plan(head, base).eval("a-eval")
    assert own.baseline is Baseline.SAME_AGENT
    assert (own.compared, own.added) == ((), ("a-1", "a-2"))
    assert own.fixture_share == own.broad_share == 0


def test_a_new_agent_is_compared_with_nothing() -> None:
    own = plan(agent("a", 2) | agent("b", 2), agent("b", 2)).eval("a-eval")
    assert own.baseline is Baseline.NEW_AGENT
    assert (own.compared, own.fixture_share, own.threshold) == ((), 0, 1.0)


def versions(found: Plan) -> tuple[PlannedEval, PlannedEval]:
    own, bar = sorted(found.evals, key=lambda one: one.bar is not None)
    return own, bar


def test_both_versions_of_an_eval_share_one_part_and_what_they_have_in_common_counts_once() -> None:
    base = agent("a", 4, more="scoring: {passThreshold: 0.9}")
    head = agent("a", 4, more="scoring: {passThreshold: 0.5}", system="New.")
    own, bar = versions(plan(head, base))
    assert bar.bar is not None
    assert bar.bar.reused == own.compared == bar.compared
    assert own.fixture_share == pytest.approx(0.03 / 4)
    assert (own.broad_share, bar.broad_share) == (0.02, 0.0)

    edited = head | {"a-1.yaml": fixture("a", "a-1", "h")}
    own, bar = versions(plan(edited, base))
    assert bar.bar is not None
    assert bar.bar.reused == ("a-0", "a-2", "a-3")
    assert own.fixture_share == bar.fixture_share == pytest.approx(0.03 / 5)
    assert own.broad_share == bar.broad_share == pytest.approx(0.01)


@pytest.mark.parametrize("more", ["", "scoring: {passThreshold: 0.5}", "judge: {model: openai/x}"])
def test_no_plan_spends_more_than_the_budget(more: str) -> None:
    base = agent("a", 5, more="scoring: {passThreshold: 0.9}") | agent("b", 2)
    head = agent("a", 9, more=more, system="New.") | agent("b", 2, system="New.") | agent("c", 2)
    head["a-1.yaml"] = fixture("a", "a-1", "h")
    found = plan(head, base, policy=Policy(eval_weights={"a-eval": 0.1}))
    spent = sum(
        one.fixture_share * len({f.name for f in one.own_fixtures} & set(one.compared))
        for one in found.evals
    )
    assert spent == pytest.approx(0.03)
    assert sum(one.broad_share for one in found.evals) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("base", "head", "exact"),
    [("", "", False), ("true", "true", True), ("true", "", True), ("", "true", False)],
)
def test_whether_an_agent_is_deterministic_says_the_target_branch(
    base: str, head: str, exact: bool
) -> None:
    lines = {"": "", "true": "execution: {deterministic: true}"}
    found = plan(agent("a", 2, more=lines[head], system="New."), agent("a", 2, more=lines[base]))
    assert {one.deterministic for one in found.evals} == {exact}


@pytest.mark.parametrize(
    ("script", "exact"),
    [
        ("rules: [{reply: fine}]", True),
        ("rules: [{reply: fine, probability: 0.9}, {reply: no}]", False),
    ],
)
def test_a_scripted_agent_without_chance_is_deterministic(script: str, exact: bool) -> None:
    base, head = (
        agent("a", 2, model="scripted/bot"),
        agent("a", 2, model="scripted/bot", system="N"),
    )
    found = plan(head, base, scripts={"bot": script})
    assert [one.deterministic for one in found.evals] == [exact]


def test_a_policy_may_ask_for_a_threshold_everywhere() -> None:
    base, head = agent("a", 2), agent("a", 2, system="New.")
    assert plan(head, base).eval("a-eval").threshold is None
    policy = Policy(unset_threshold=UnsetThresholdPolicy.STRICT)
    assert plan(head, base, policy=policy).eval("a-eval").threshold == 1.0


def test_a_plan_that_compares_what_nobody_runs_is_refused() -> None:
    found = plan(agent("a", 2, system="New."), agent("a", 2))
    for field in ("compared", "added"):
        forged = found.model_dump(mode="json", by_alias=False)
        forged["evals"][0][field] = ["a-0", "ghost"]
        with pytest.raises(ValidationError, match="compares fixtures that are not planned"):
            Plan.model_validate(forged, by_alias=False, by_name=True)


def calls_to_plan(agents: int) -> int:
    """How many Python functions a plan of so many changed Agents calls."""
    base, head = (
        {
            path: text
            for n in range(agents)
            for path, text in agent(f"a{n:03}", 1, system=system).items()
        }
        for system in ("Old.", "New.")
    )
    now, before = snapshot(head, None), snapshot(base, None)
    rules = GateRules(Policy(), "", None)
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        planned = plan_change(now, before, rules, before)
    finally:
        sys.setprofile(None)
    assert len(planned.evals) == agents
    return calls


def test_a_plan_costs_each_changed_agent_the_same() -> None:
    few, many = calls_to_plan(40), calls_to_plan(160)
    assert many / few < 4.4
