"""Ways to have something sealed run as a change wants it: each runs as on the target branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gateval.domain.base import digest
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.gate_config import BarPolicy, Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.planner import plan_change
from gateval.domain.planning.snapshot import GateRules, Snapshot
from tests.helpers.bars import EVAL, FILES, FIXTURES, snapshot

SEALED = "evals/held.yaml.age"
HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: held, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions:
    - {type: contains, value: ZANZIBAR}
    - {type: judge, rubric: "Mentions no quokka."}
    - {type: similar, to: Marmalade, model: openai/embeds}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: desk}}
  judge: {model: openai/gpt-5, calibration: tone}
  execution: {repsPerFixture: 2}
"""
MAIN = {**FILES, SEALED: HELD}
AGENT = "agents/support.yaml"
CHANGED = {**MAIN, AGENT: FILES[AGENT].replace("Be kind.", "Be brief.")}
"""What the change is about in any case: another prompt."""

Files = Mapping[str, str]


def sealed(files: Files, salt: str = "salt") -> Snapshot:
    """A revision with salted digests, as `with_seals` gives them."""
    found = snapshot(files)
    kept = found.catalogue

    def salted(one: Fixture) -> Fixture:
        if not one.path.endswith(".age"):
            return one
        return one.model_copy(update={"digest": digest([salt, one.digest])})

    evals = tuple(
        one.model_copy(update={"digest": digest([salt, one.digest])})
        if one.path.endswith(".age")
        else one
        for one in kept.evals
    )
    fixtures = tuple(map(salted, kept.fixtures))
    return replace(found, catalogue=replace(kept, evals=evals, fixtures=fixtures))


def plan_of(
    head: Snapshot,
    tip: Snapshot,
    policy: BarPolicy = BarPolicy.STRICTEST,
    base: Snapshot | None = None,
) -> Plan:
    return plan_change(head, base or tip, GateRules(Policy(bar=policy), "", None), tip)


def held(find: str, put: str) -> dict[str, str]:
    """The change with another sealed file."""
    assert find in HELD
    return {**CHANGED, SEALED: HELD.replace(find, put)}


def own(spec: str, name: str = "mine", kind: str = "Eval") -> dict[str, str]:
    """The change with a plain Eval of its own."""
    head = f"apiVersion: gateval/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    return {**CHANGED, "evals/mine.yaml": f"{head}spec: {{{spec}}}\n"}


JUDGED = "targetAgent: support, judge: {model: openai/gpt-5}"
OTHER = FILES[AGENT].replace("name: support", "name: tame")

ATTACKS: dict[str, dict[str, str]] = {
    "a sealed fixture by name": own(f"{JUDGED}, fixtures: [held]"),
    "a sealed fixture by label": own(
        f"{JUDGED}, fixtureSelector: {{matchLabels: {{agent: desk}}}}"
    ),
    "one's own repetitions": own(f"{JUDGED}, fixtures: [held], execution: {{repsPerFixture: 60}}"),
    "one's own judge": own("targetAgent: support, judge: {model: anthropic/spy}, fixtures: [held]"),
    "one's own schedule": own(f"{JUDGED}, fixtures: [held], schedule: '* * * * *'"),
    "one's own Agent": {
        **own(f"{JUDGED.replace('support', 'tame')}, fixtures: [held]"),
        "agents/tame.yaml": OTHER,
    },
    "an Eval of one's own that says it is sealed": own(f"{JUDGED}, fixtures: [held], sealed: true"),
    "a sealed Eval of one's own": {
        **CHANGED,
        "evals/mine.yaml.age": HELD.partition("---\n")[2].replace("held-out", "mine"),
    },
    "more repetitions": held("repsPerFixture: 2", "repsPerFixture: 60"),
    "fewer repetitions": held("repsPerFixture: 2", "repsPerFixture: 1"),
    "another judge": held("{model: openai/gpt-5,", "{model: anthropic/spy,"),
    "another temperature": held("openai/gpt-5,", "openai/gpt-5, temperature: 1,"),
    "no calibration": held(", calibration: tone", ""),
    "another bar for the judge": held("calibration: tone", "calibration: tone, minAgreement: 0"),
    "an edited calibration": {
        **CHANGED,
        "evals/tone.yaml": FILES["evals/tone.yaml"].replace("humanScore: 1", "humanScore: 0"),
    },
    "another model for likeness": held("openai/embeds", "anthropic/spies"),
    "another threshold": held("  judge:", "  scoring: {passThreshold: 0.1}\n  judge:"),
    "another scoring": held("  judge:", "  scoring: {model: weighted}\n  judge:"),
    "other time limits": held("repsPerFixture: 2", "repsPerFixture: 2, timeoutSeconds: 1"),
    "side by side": held("repsPerFixture: 2", "repsPerFixture: 2, parallel: 64"),
    "another Agent": {
        **held("targetAgent: support", "targetAgent: tame"),
        "agents/tame.yaml": OTHER,
    },
    "an old sealed file": held("ZANZIBAR", "an older word"),
    "a part of the fixtures": {
        **held("{agent: desk}}\n  judge", "{agent: nobody}}\n  fixtures: [plain]\n  judge"),
    },
    "a plain fixture with the label": {
        **CHANGED,
        FIXTURES: FILES[FIXTURES].replace("{name: plain}", "{name: plain, labels: {agent: desk}}"),
    },
    "another name": held("name: held-out", "name: held-outer"),
    "another plain Eval that takes one along": {
        **CHANGED,
        EVAL: FILES[EVAL].replace("[plain]", "[plain, held]"),
    },
}


@pytest.mark.parametrize("policy", BarPolicy)
@pytest.mark.parametrize("case", ATTACKS)
def test_what_is_sealed_runs_as_on_the_target_branch_or_not(case: str, policy: BarPolicy) -> None:
    tip = sealed(MAIN)
    plan = plan_of(sealed(ATTACKS[case]), tip, policy)
    expected = tip.catalogue.eval("held-out")
    assert expected is not None
    found = [one for one in plan.evals if any(each.path == SEALED for each in one.fixtures)]
    assert found or policy is BarPolicy.HEAD, "the target branch's own is asked all the same"
    for one in found:
        assert one.own_name == "held-out"
        assert one.agent == "support"
        assert (one.judge, one.scoring) == (expected.judge, expected.scoring)
        assert one.execution == expected.execution
        assert [(each.name, each.digest) for each in one.fixtures] == [
            (each.name, each.digest) for each in tip.catalogue.labelled({"agent": "desk"})
        ]
    assert plan.after_merge, case
    assert any("first run" in line for line in plan.warnings)


@pytest.mark.parametrize("policy", BarPolicy)
def test_the_control_runs_once_under_its_own_name(policy: BarPolicy) -> None:
    plan = plan_of(sealed(CHANGED), sealed(MAIN), policy)
    assert {one.name for one in plan.evals} == {"held-out", "support-eval"}
    assert plan.after_merge == ()


NEW = {**MAIN, "evals/new.yaml.age": HELD.replace("held", "next").replace("desk", "lamp")}


@pytest.mark.parametrize("policy", BarPolicy)
def test_a_new_sealed_eval_alone_is_nothing_to_evaluate(policy: BarPolicy) -> None:
    plan = plan_of(sealed(NEW), sealed(MAIN), policy)
    assert plan.evals == ()
    assert not plan.binds
    assert plan.coverage == (0, 0)
    assert plan.nothing == (
        "Nothing to evaluate yet. Sealed, so it was validated here and first runs after the merge: "
        "the Eval next-out, with 1 fixture."
    )


def test_what_landed_on_the_target_branch_runs() -> None:
    head, before = sealed(NEW), sealed(MAIN)
    plan = plan_change(head, before, GateRules(Policy(), "", None), before, landed=True)
    assert [one.name for one in plan.evals] == ["next-out"]
    assert plan.after_merge == ()


def test_what_the_target_branch_edited_since_runs_as_it_is_there() -> None:
    tip = sealed({**MAIN, SEALED: HELD.replace("ZANZIBAR", "another word")})
    plan = plan_of(sealed(CHANGED), tip, base=sealed(MAIN))
    (found,) = (one for one in plan.evals if one.own_name == "held-out")
    assert found.bar is not None
    assert found.bar.reused == ()
    assert plan.after_merge == ()
    assert not any("merge:" in line for line in plan.warnings)


def test_what_the_target_branch_took_away_since_does_not_run() -> None:
    plan = plan_of(sealed(CHANGED), sealed(FILES), base=sealed(MAIN))
    assert [one.name for one in plan.evals] == ["support-eval"]
    assert (
        "held-out is sealed, and the target branch has no such Eval any more: it does not run."
        in (plan.warnings)
    )


def test_a_fixture_added_beside_others_is_named() -> None:
    more = HELD.replace("name: held,", "name: more,").partition("---\n")[0]
    plan = plan_of(sealed({**MAIN, "evals/more.yaml.age": more}), sealed(MAIN))
    assert [one.shown_name for one in plan.evals] == ["held-out (target branch)"]
    assert (
        "Sealed, so it was validated here and first runs after the merge: more of held-out, which "
        "runs here as the target branch has it."
    ) in plan.warnings


def test_a_plain_guess_is_not_told_from_the_sealed_fixture_by_its_text() -> None:
    """The same text in plain would be the same test: a word of it could be tried in each run."""
    fixture, _, rest = HELD.partition("---\n")
    files = {**FILES, SEALED: rest, "evals/guess.yaml": fixture}
    plan = plan_of(sealed(files), sealed(MAIN))
    found = [one for one in plan.evals if one.own_name == "held-out"]
    assert [one.bar and one.bar.reused for one in found] == [()]
    assert any(
        "which is sealed" in str(each) for one in found if one.bar for each in one.bar.lowered
    )


def test_an_agent_that_only_new_sealed_evals_target_is_not_measured() -> None:
    head = {
        **NEW,
        "agents/tame.yaml": OTHER,
        "evals/new.yaml.age": NEW["evals/new.yaml.age"].replace(
            "targetAgent: support", "targetAgent: tame"
        ),
    }
    rules = GateRules(Policy(must_belong=("agents/**",)), "", None)
    tip = sealed(MAIN)
    plan = plan_change(sealed(head), tip, rules, tip)
    assert plan.unclaimed == ("agents/tame.yaml",), "as if it had no Eval"
    assert plan.evals == ()
    assert (
        "Agent tame is new, but what targets it is sealed, and the target branch does not have it: "
        "not measured."
    ) in plan.warnings
    assert "next-out" in plan.nothing
