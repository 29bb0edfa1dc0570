"""The bar over three revisions: older merge-bases, target branches that are broken or say it twice."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateval.domain.decision.decision import make_report
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.planner import plan_change
from gateval.domain.planning.snapshot import GateRules, Snapshot
from gateval.domain.results.results import Results
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.bars import (
    EVAL,
    FILES,
    FIXTURES,
    HARMLESS,
    LOWERED,
    SCRIPT,
    edited,
    planned,
    snapshot,
)

Files = Mapping[str, str]
CALIBRATION = "evals/tone.yaml"
CASES = {
    **{name: (path, old, new) for name, (path, old, new, _) in LOWERED.items()},
    "calibration changed": (CALIBRATION, "humanScore: 1", "humanScore: 0"),
}
PARTS = [name for name, (path, *_) in CASES.items() if path != EVAL]
LATER = FILES[EVAL].replace("name: support-eval", "name: later-eval")
OTHER_AGENT = FILES["agents/support.yaml"].replace("name: support", "name: other")


def without(files: Files, *paths: str) -> dict[str, str]:
    return {path: text for path, text in files.items() if path not in paths}


def silent(plan: Plan) -> bool:
    """Whether nothing of the target branch's bar is asked, measured or missed."""
    return not (plan.doubts or plan.lost or any(one.bar for one in plan.evals))


def verdict(plan: Plan) -> GateVerdict:
    """The decision when not a single trial ran."""
    return make_report(Results(plan=plan)).decision.verdict


def lowering(case: str) -> dict[str, str]:
    path, old, new = CASES[case]
    return edited(path, old, new)


OLDER = {
    "as it is": FILES,
    "a lower threshold": edited(EVAL, "0.85", "0.80"),
    "a milder fixture": edited(FIXTURES, "severity: critical", "severity: high"),
}
SCRIPTS = {"yes": SCRIPT}


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("case", CASES)
def test_a_lowered_bar_is_found_from_an_older_merge_base(case: str, older: str) -> None:
    plan = planned(
        snapshot(lowering(case), SCRIPTS), snapshot(OLDER[older], SCRIPTS), snapshot(FILES, SCRIPTS)
    )
    assert not silent(plan)


@pytest.mark.parametrize("case", PARTS)
def test_a_part_is_found_though_the_eval_came_later(case: str) -> None:
    head = snapshot(without(lowering(case), EVAL))
    plan = planned(head, snapshot(without(FILES, EVAL)), snapshot(FILES))
    (bar,) = [one.bar for one in plan.evals if one.bar]
    assert [one.what for one in bar.lowered if one.moved] == ["Eval support-eval added"]
    assert any(not one.moved for one in bar.lowered), "the change's own edit is told"
    assert not plan.nothing


def test_a_part_that_only_the_target_branch_uses_now() -> None:
    """The fixture was nobody's when the branch was made, so head selects nothing either."""
    old = without(FILES, EVAL)
    files = {**old, FIXTURES: FILES[FIXTURES].replace("value: hello", "value: h")}
    plan = planned(snapshot(files), snapshot(old), snapshot({**old, "evals/later.yaml": LATER}))
    assert [one.name for one in plan.evals] == ["later-eval.base-tip"]


@pytest.mark.parametrize("case", PARTS)
def test_a_part_is_found_though_even_the_agent_came_later(case: str) -> None:
    """There is nothing to start on head, so it is not measured, and blocks until it is accepted."""
    gone = (EVAL, "agents/support.yaml")
    head, base = snapshot(without(lowering(case), *gone)), snapshot(without(FILES, *gone))
    plan = planned(head, base, snapshot(FILES))
    assert plan.lost
    assert verdict(plan) is GateVerdict.FAIL
    assert not planned(base, base, snapshot(FILES)).lost


def test_the_script_of_a_later_judge() -> None:
    strict = FILES[EVAL].replace("model: openai/gpt-5", "model: scripted/strict")
    old = without(FILES, EVAL)
    base = snapshot(old, {"strict": "rules: [{reply: no}]\n"})
    head = snapshot(old, {"strict": "rules: [{reply: yes}]\n"})
    tip = snapshot({**old, EVAL: strict}, {"strict": "rules: [{reply: no}]\n"})
    plan = planned(head, base, tip)
    assert [one.name for one in plan.evals] == ["support-eval.base-tip"]
    assert planned(base, base, tip).nothing


BROKEN: dict[str, dict[str, str]] = {
    "the Eval": edited(EVAL, "scoring:", "scorng:"),
    "a fixture": edited(FIXTURES, "severity: critical", "severty: critical"),
    "the calibration": edited(CALIBRATION, "humanScore", "humnScore"),
    "the YAML of the Eval": edited(EVAL, "targetAgent:", "targetAgent: [" ),
    "the YAML of the fixtures": edited(FIXTURES, "severity: critical", "severity: {"),
    "a fixture that is gone": without(FILES, FIXTURES),
    "the Eval twice": {**FILES, "evals/twice.yaml": FILES[EVAL]},
    "a fixture twice": {
        **FILES,
        "a/twice.yaml": FILES[FIXTURES].split("---\n")[1].replace("hello", "x"),
    },
    "the calibration twice": {**FILES, "a/tone.yaml": FILES[CALIBRATION]},
    "an unknown judge": edited(EVAL, "model: openai/gpt-5", "model: nobody/gpt-5"),
    "the kind of the Eval": edited(EVAL, "kind: Eval", "kind: Evl"),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("case", CASES)
def test_a_lowered_bar_is_found_on_a_broken_target_branch(case: str, broken: str) -> None:
    tip = snapshot(BROKEN[broken], SCRIPTS, flawless=False)
    assert tip.problems
    head = snapshot(lowering(case), SCRIPTS)
    plan = planned(head, snapshot(FILES, SCRIPTS), tip)
    assert not silent(plan)
    assert verdict(plan) is not GateVerdict.PASS
    mends = planned(head, tip, tip)
    assert mends.doubts, "the change mends it, and nobody knows what it asked"
    assert verdict(mends) is not GateVerdict.PASS


@pytest.mark.parametrize("broken", BROKEN)
def test_a_changed_agent_cannot_pass_a_broken_bar(broken: str) -> None:
    tip = snapshot(BROKEN[broken], flawless=False)
    head = snapshot(edited("agents/support.yaml", "Be kind.", "Be brief."))
    plan = planned(head, snapshot(FILES), tip)
    assert plan.doubts
    assert verdict(plan) is GateVerdict.INCOMPLETE


@pytest.mark.parametrize("broken", BROKEN)
def test_whoever_mends_the_bar_has_a_way_through(broken: str) -> None:
    tip = snapshot(BROKEN[broken], flawless=False)
    plan = planned(snapshot(FILES), tip, tip)
    for who, expected in (("", GateVerdict.INCOMPLETE), ("@ann", GateVerdict.PASS)):
        asked = plan.model_copy(update={"bar_accepted": who})
        reasons = make_report(Results(plan=asked)).decision.reasons
        unreadable = [one for one in reasons if one.code is ReasonCode.BAR_UNREADABLE]
        assert {one.verdict for one in unreadable} == {expected}
        assert all(one.text.endswith(f"accepted by {who}") for one in unreadable if who)


UNRELATED: dict[str, dict[str, str]] = {
    "an Eval of another Agent": {
        "agents/other.yaml": OTHER_AGENT,
        "evals/other.yaml": LATER.replace("targetAgent: support", "targetAgent: other").replace(
            "scoring:", "scorng:"
        ),
    },
    "another Agent": {"agents/other.yaml": OTHER_AGENT.replace("models:", "models: 7 #")},
    "a fixture that nobody selects": {
        "evals/more.yaml": FILES[FIXTURES]
        .split("---\n")[1]
        .replace("name: plain", "name: more")
        .replace("assertions", "asertions")
    },
    "a calibration that nobody uses": {
        "evals/more.yaml": FILES[CALIBRATION]
        .replace("name: tone", "name: more")
        .replace("humanScore", "humnScore")
    },
}


@pytest.mark.parametrize("broken", UNRELATED)
def test_what_is_broken_elsewhere_bothers_nobody(broken: str) -> None:
    tip = snapshot({**FILES, **UNRELATED[broken]}, flawless=False)
    assert tip.problems
    head = snapshot(edited("agents/support.yaml", "Be kind.", "Be brief."))
    plan = planned(head, snapshot(FILES), tip)
    assert plan.doubts == ()
    assert silent(plan)


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_edits_on_an_older_branch_lower_nothing(case: str) -> None:
    more = {"evals/more.yaml": FILES[EVAL].replace("name: support-eval", "name: more-eval")}
    plan = planned(snapshot(HARMLESS[case]), snapshot(FILES), snapshot({**FILES, **more}))
    assert plan.doubts == ()
    own = [one for each in plan.evals if each.bar for one in each.bar.lowered if not one.moved]
    assert own == []


def test_an_agent_that_is_broken_at_the_merge_base_hides_no_regression() -> None:
    broken = edited("agents/support.yaml", "models:", "models: 7 #")
    base, head = snapshot(broken, flawless=False), snapshot(FILES)
    for tip in (base, head):
        plan = planned(head, base, tip)
        assert plan.changes[0].kind == "new"
        assert verdict(plan) is GateVerdict.INCOMPLETE
        assert "agents/support.yaml" in str(plan.doubts[0])


def test_of_two_agents_by_one_name_neither_hides_a_change() -> None:
    again = FILES["agents/support.yaml"].replace("Be kind.", "Be rude.")
    base = snapshot({**FILES, "agents/again.yaml": again}, flawless=False)
    for text in (FILES["agents/support.yaml"], again):
        plan = planned(snapshot({**FILES, "agents/support.yaml": text}), base)
        assert [change.agent for change in plan.changes] == ["support"]
        assert plan.doubts


def test_an_agent_removed_though_it_was_broken_leaves_its_evals_lost() -> None:
    base = snapshot(edited("agents/support.yaml", "models:", "models: 7 #"), flawless=False)
    plan = planned(snapshot({"README.yaml": "a: 1\n"}), base, snapshot(FILES))
    assert plan.lost


def digests(side: Snapshot) -> set[str]:
    known = side.catalogue
    return {
        *(one.digest for one in known.agents),
        *(one.digest for one in known.evals),
        *(one.digest for one in known.fixtures),
        *(one.digest for one in known.calibrations),
    }


EDITS = st.lists(
    st.sampled_from([*((p, o, n) for p, o, n in CASES.values()), *((f, "", "") for f in FILES)]),
    max_size=2,
)


def edit(files: Files, edits: list[tuple[str, str, str]]) -> dict[str, str]:
    """Apply some edits; one without a text removes its file."""
    found = dict(files)
    for path, old, new in edits:
        if not old:
            found.pop(path, None)
        elif path in found:
            found[path] = found[path].replace(old, new)
    return found


@given(base=EDITS, mine=EDITS, theirs=EDITS)
def test_nothing_changed_is_said_only_when_it_is_true(
    base: list[tuple[str, str, str]],
    mine: list[tuple[str, str, str]],
    theirs: list[tuple[str, str, str]],
) -> None:
    start = edit(FILES, base)
    head = snapshot(edit(start, mine), SCRIPTS, flawless=False)
    assume(not head.problems)
    old = snapshot(start, SCRIPTS, flawless=False)
    tip = snapshot(edit(start, theirs), SCRIPTS, flawless=False)
    plan = planned(head, old, tip)
    if "no Agent, Eval or fixture changed" in plan.nothing:
        assert digests(head) == digests(old)
        assert verdict(plan) is GateVerdict.PASS


@pytest.mark.parametrize("policy", ["head", "base", "strictest"])
def test_an_eval_that_is_removed_is_never_no_change(policy: str) -> None:
    head, base = snapshot(without(FILES, EVAL)), snapshot(FILES)
    rules = GateRules(Policy.model_validate({"bar": policy}), "", None)
    plan = plan_change(head, base, rules, base)
    if policy == "head":
        assert plan.nothing.startswith("Nothing to evaluate: Eval support-eval removed between")
    else:
        assert [one.name for one in plan.evals] == ["support-eval.base-tip"]


def test_names_that_are_as_long_as_names_may_be() -> None:
    long = "e" * 253
    files = {**FILES, EVAL: FILES[EVAL].replace("name: support-eval", f"name: {long}")}
    head = snapshot({**files, EVAL: files[EVAL].replace("0.85", "0.5")})
    plan = planned(head, snapshot(files))
    own, bar = plan.evals
    assert own.name == bar.own_name == long
    assert len(bar.name) <= 253
    assert Plan.model_validate(plan.model_dump(mode="json")) == plan


def test_names_of_the_bar_never_meet() -> None:
    """Both Evals of the base tip would like the name that one of head's has."""
    double = FILES[EVAL].replace("name: support-eval", "name: support-eval.base-tip")
    base = {**FILES, "evals/double.yaml": double}
    plan = planned(
        snapshot({path: text.replace("0.85", "0.5") for path, text in base.items()}), snapshot(base)
    )
    names = [one.name for one in plan.evals]
    assert len(set(names)) == len(names) == 4


def test_scripts_of_the_base_tip_take_no_name_of_heads() -> None:
    files = edited(EVAL, "model: openai/gpt-5", "model: scripted/strict")
    agent = {
        "agents/support.yaml": FILES["agents/support.yaml"].replace(
            "openai/gpt-5", "scripted/strict.base-tip"
        )
    }
    no, yes = "rules: [{reply: no}]\n", "rules: [{reply: yes}]\n"
    base = snapshot({**files, **agent}, {"strict": no, "strict.base-tip": no})
    head = snapshot({**files, **agent}, {"strict": yes, "strict.base-tip": no})
    plan = planned(head, base)
    replies = {one.name: one.spec.rules[0].reply for one in plan.scripts[0].models}
    expected = {"strict": "yes", "strict.base-tip": "no", "strict.base-tip.base-tip": "no"}
    assert replies == expected
