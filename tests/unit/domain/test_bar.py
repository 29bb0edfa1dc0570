"""Ways to lower the bar, each found and said in words; and harmless edits, which bother nobody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateval.domain.bar.planning import BarPlan
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan import Revision
from gateval.domain.planning import Rules, plan_change
from gateval.domain.snapshot import Snapshot
from gateval.formats.scripted import read_scripted
from tests.helpers.manifests import catalogue_of, parse

FILES = {
    "agents/support.yaml": """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [openai/gpt-5]
  system: Be kind.
""",
    "evals/support.yaml": """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  fixtures: [plain]
  judge: {model: openai/gpt-5, calibration: tone, minAgreement: 0.6}
  scoring:
    passThreshold: 0.85
    severityWeights: {critical: 8}
  execution: {repsPerFixture: 3}
""",
    "evals/fixtures.yaml": """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund, labels: {agent: support}}
spec:
  severity: critical
  input: {type: prompt, payload: {prompt: I want my money back}}
  assertions:
    - {type: toolNotCalled, tool: send_email}
    - {type: toolCalled, tool: clarify, before: [refund]}
    - {type: judge, rubric: "Asks for the reason.", minScore: 0.8}
  toolReplay: [{tool: orders, result: {order: 7}}]
  shadowTools: [refund]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: plain}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: contains, value: hello, weight: 2, severity: high}]
""",
    "evals/tone.yaml": """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: tone}
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: Hello, humanScore: 1}]
""",
}
SCRIPT = "rules: [{reply: fine}]\n"
NO_PARENT = "0" * 40


def snapshot(files: Mapping[str, str], scripts: Mapping[str, str] | None = None) -> Snapshot:
    models = {}
    for name, text in (scripts or {}).items():
        model, problems = read_scripted(f".gateval/scripted/{name}.yaml", text.encode())
        assert model is not None, problems
        models[name] = model
    parsed = [parse(text, path) for path, text in files.items()]
    revision = Revision(name="x", commit=None, tree=NO_PARENT)
    return Snapshot(revision=revision, tree={}, catalogue=catalogue_of(parsed), scripts=models)


def edited(path: str, old: str, new: str) -> dict[str, str]:
    assert old in FILES[path], old
    return {**FILES, path: FILES[path].replace(old, new)}


def bar(head: Snapshot, base: Snapshot, tip: Snapshot | None = None) -> BarPlan:
    """The bar as a whole plan has it."""
    plan = plan_change(head, base, Rules(Policy(), "", None), tip or base)
    return BarPlan(tuple(one for one in plan.evals if one.bar), (), plan.lost)


def said(found: BarPlan) -> list[str]:
    return [str(one) for each in found.evals if each.bar for one in each.bar.lowered]


EVAL, FIXTURES = "evals/support.yaml", "evals/fixtures.yaml"
LOWERED = {
    "threshold": (EVAL, "0.85", "0.50", "evals/support.yaml:10 passThreshold 0.85 → 0.50"),
    "weights": (EVAL, "critical: 8", "critical: 1", "severityWeights critical 8 → critical 1"),
    "no weights": (EVAL, "    severityWeights: {critical: 8}\n", "", "critical 8 → defaults"),
    "repetitions": (EVAL, "repsPerFixture: 3", "repsPerFixture: 1", "repsPerFixture 3 → 1"),
    "other judge": (
        EVAL, "model: openai/gpt-5", "model: openai/gpt-5-nano",
        "judge openai/gpt-5 → openai/gpt-5-nano",
    ),
    "scripted judge": (
        EVAL, "model: openai/gpt-5", "model: scripted/yes",
        "real judge replaced by a scripted one openai/gpt-5 → scripted/yes",
    ),
    "temperature": (
        EVAL, "calibration: tone", "calibration: tone, temperature: 1.5",
        "temperature of the judge 0 → 1.5",
    ),
    "calibration": (EVAL, "calibration: tone, ", "", "calibration tone → none"),
    "agreement": (EVAL, "minAgreement: 0.6", "minAgreement: 0.1", "minAgreement 0.6 → 0.1"),
    "no agreement": (EVAL, ", minAgreement: 0.6", "", "minAgreement 0.6 → none"),
    "selector": (
        EVAL, "{agent: support}", "{agent: nobody}", "no longer selects 1 fixture: refund"
    ),
    "list": (EVAL, "  fixtures: [plain]\n", "", "no longer selects 1 fixture: plain"),
    "renamed fixture": (
        FIXTURES, "name: refund, ", "name: other, ", "critical fixture refund removed"
    ),
    "severity": (
        FIXTURES, "severity: critical", "severity: low", "severity of fixture refund critical → low"
    ),
    "input": (
        FIXTURES, "I want my money back", "hi", "input of fixture refund"
    ),
    "dropped assertion": (
        FIXTURES, "    - {type: toolNotCalled, tool: send_email}\n", "",
        "assertion toolNotCalled send_email of fixture refund dropped",
    ),
    "weaker order": (
        FIXTURES, ", before: [refund]", "",
        'assertion toolCalled clarify of fixture refund changed {"before":["refund"]} → {}',
    ),
    "other text": (
        FIXTURES, "value: hello", "value: h",
        'assertion contains hello of fixture plain changed {"value":"hello"} → {"value":"h"}',
    ),
    "rubric": (
        FIXTURES, "Asks for the reason.", "Answers.",
        "rubric of fixture refund reworded Asks for the reason. → Answers.",
    ),
    "judge score": (
        FIXTURES, "minScore: 0.8", "minScore: 0.1",
        'assertion judge of fixture refund changed {"minScore":0.8} → {"minScore":0.1}',
    ),
    "assertion weight": (
        FIXTURES, "weight: 2", "weight: 0.1",
        "weight of assertion contains hello of fixture plain 2 → 0.1",
    ),
    "assertion severity": (
        FIXTURES, ", severity: high}", "}",
        "severity of assertion contains hello of fixture plain high → the fixture's",
    ),
    "tool replay": (FIXTURES, "{order: 7}", "{order: 8}", "toolReplay of fixture refund"),
    "shadow tools": (FIXTURES, "shadowTools: [refund]", "shadowTools: []", "shadowTools of fixture refund"),
}  # fmt: skip


@pytest.mark.parametrize("case", LOWERED)
def test_a_lowered_bar_is_found_and_said(case: str) -> None:
    path, old, new, words = LOWERED[case]
    scripts = {"yes": SCRIPT}
    found = bar(snapshot(edited(path, old, new), scripts), snapshot(FILES, scripts))
    assert [each.name for each in found.evals] == ["support-eval.base-tip"]
    assert any(words in line for line in said(found)), said(found)
    assert len(said(found)) == 1


def test_a_calibration_that_changes_is_said() -> None:
    head = snapshot(edited("evals/tone.yaml", "humanScore: 1", "humanScore: 0"))
    assert said(bar(head, snapshot(FILES))) == ["evals/tone.yaml:3 calibration tone changed"]


def test_an_eval_that_is_removed_runs_as_it_was() -> None:
    files = {path: text for path, text in FILES.items() if path != EVAL}
    found = bar(snapshot(files), snapshot(FILES))
    (planned,) = found.evals
    assert said(found) == ["evals/support.yaml:3 Eval support-eval removed"]
    assert [fixture.name for fixture in planned.own_fixtures] == ["plain", "refund"]


def test_an_agent_that_is_removed_leaves_nothing_to_run() -> None:
    found = bar(snapshot({"README.yaml": "a: 1\n"}), snapshot(FILES))
    assert [str(one) for one in found.lost] == [
        "evals/support.yaml:3 Agent support removed: Eval support-eval has nothing to run"
    ]


def test_an_eval_that_is_pointed_at_another_agent() -> None:
    other = FILES["agents/support.yaml"].replace("name: support", "name: tame")
    files = edited(EVAL, "targetAgent: support", "targetAgent: tame") | {"agents/tame.yaml": other}
    found = bar(snapshot(files), snapshot({**FILES, "agents/tame.yaml": other}))
    assert "targetAgent support → tame" in said(found)[0]
    assert found.evals[0].agent == "support"


def test_a_scripted_judge_that_is_changed_keeps_its_old_script() -> None:
    files = edited(EVAL, "model: openai/gpt-5", "model: scripted/strict")
    base = snapshot(files, {"strict": "rules: [{reply: no}]\n"})
    head = snapshot(files, {"strict": "rules: [{reply: yes}]\n"})
    plan = plan_change(head, base, Rules(Policy(), "", None), base)
    (planned,) = (one for one in plan.evals if one.bar)
    assert planned.judge.model == "scripted/strict.base-tip"
    assert planned.bar is not None
    assert [str(one) for one in planned.bar.lowered] == [
        "evals/support.yaml:8 scripted judge strict changed"
    ]
    replies = {one.name: one.spec.rules[0].reply for one in plan.scripts[0].models}
    assert replies == {"strict": "yes", "strict.base-tip": "no"}
    assert [fixture.name for fixture in planned.own_fixtures] == ["refund"], "plain needs no judge"


def test_only_what_differs_runs_again() -> None:
    head = snapshot(edited(FIXTURES, "value: hello", "value: h"))
    (planned,) = bar(head, snapshot(FILES)).evals
    assert [fixture.name for fixture in planned.own_fixtures] == ["plain"]
    assert planned.bar is not None
    assert planned.bar.reused == ("refund",)
    assert planned.execution.reps_per_fixture == 3


def test_fixtures_that_are_added_cannot_outweigh_a_failure() -> None:
    plain = FILES[FIXTURES].split("---\n")[1]
    easy = plain.replace("name: plain", "name: easy, labels: {agent: support}")
    more = f"{FILES[FIXTURES]}---\n{easy}"
    assert bar(snapshot({**FILES, FIXTURES: more}), snapshot(FILES)) == BarPlan()
    agent = FILES["agents/support.yaml"].replace("Be kind.", "Be brief.")
    files = {**FILES, FIXTURES: more, "agents/support.yaml": agent}
    (planned,) = bar(snapshot(files), snapshot(FILES)).evals
    assert planned.own_fixtures == (), "nothing runs again"
    assert [fixture.name for fixture in planned.fixtures] == ["plain", "refund"]


HARMLESS = {
    "raised threshold": edited(EVAL, "0.85", "0.95"),
    "moved fixtures": {
        **{path: text for path, text in FILES.items() if path != FIXTURES},
        "elsewhere/fixtures.yaml": FILES[FIXTURES],
    },
    "reformatted": edited(FIXTURES, "{type: contains, value: hello,", "{ value: 'hello' , type: contains,"),
    "comment": edited(FIXTURES, "kind: EvalFixture\n", "kind: EvalFixture # one case\n"),
    "new label": edited(FIXTURES, "{agent: support}", "{agent: support, team: a}"),
    "description": edited(FIXTURES, "severity: critical", "severity: critical\n  description: Why"),
    "time limit": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 3, timeoutSeconds: 900"),
    "side by side": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 3, parallel: 9"),
    "more repetitions": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 5"),
    "selected by name": edited(EVAL, "fixtures: [plain]", "fixtures: [plain, refund]"),
    "schedule": edited(EVAL, "  execution:", "  schedule: '0 3 * * *'\n  execution:"),
    "the agent alone": edited("agents/support.yaml", "Be kind.", "Be brief."),
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_edits_cause_no_friction(case: str) -> None:
    found = bar(snapshot(HARMLESS[case]), snapshot(FILES))
    assert found == BarPlan()


def test_a_branch_from_before_the_bar_is_measured_by_the_bar_of_today() -> None:
    old = {path: text for path, text in FILES.items() if path.startswith("agents")}
    head = snapshot({**old, "agents/support.yaml": old["agents/support.yaml"] + "  watch: []\n"})
    found = bar(head, snapshot(old), snapshot(FILES))
    assert [each.name for each in found.evals] == ["support-eval.base-tip"]
    assert found.evals[0].bar is not None
    assert all(one.moved for one in found.evals[0].bar.lowered)


def test_a_target_branch_that_moved_on_binds_no_agent_that_is_not_touched() -> None:
    old = {path: text for path, text in FILES.items() if path.startswith("agents")}
    assert bar(snapshot(old), snapshot(old), snapshot(FILES)) == BarPlan()


def test_the_policy_can_leave_it_to_head_or_to_the_base_alone() -> None:
    head, base = snapshot(edited(EVAL, "0.85", "0.50")), snapshot(FILES)

    def names(policy: str) -> list[str]:
        rules = Rules(Policy.model_validate({"bar": policy}), "", None)
        return [one.name for one in plan_change(head, base, rules, base).evals]

    assert names("head") == ["support-eval"]
    assert names("base") == ["support-eval.base-tip"]
    assert names("strictest") == ["support-eval", "support-eval.base-tip"]


def test_an_eval_of_heads_may_have_the_name_of_the_bar() -> None:
    double = FILES[EVAL].replace("name: support-eval", "name: support-eval.base-tip")
    head = snapshot({**edited(EVAL, "0.85", "0.50"), "evals/double.yaml": double})
    plan = plan_change(head, snapshot(FILES), Rules(Policy(), "", None), snapshot(FILES))
    assert [one.name for one in plan.evals] == [
        "support-eval",
        "support-eval.base-tip",
        "support-eval.base-tip.base-tip",
    ]
