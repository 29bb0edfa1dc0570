"""Ways to lower the bar, each found and said in words; and harmless edits, which bother nobody."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.gate_config import Policy
from gateval.domain.planning.bar.planning import BarPlan
from gateval.domain.planning.planner import plan_change
from gateval.domain.planning.snapshot import GateRules
from tests.helpers.bars import (
    EVAL,
    FILES,
    FIXTURES,
    HARMLESS,
    LOWERED,
    SCRIPT,
    bar,
    edited,
    said,
    snapshot,
)


@pytest.mark.parametrize("case", LOWERED)
def test_a_lowered_bar_is_found_and_said(case: str) -> None:
    path, old, new, words = LOWERED[case]
    scripts = {"yes": SCRIPT}
    found = bar(snapshot(edited(path, old, new), scripts), snapshot(FILES, scripts))
    assert [each.name for each in found.evals] == ["support-eval.base-tip"]
    assert any(words in line for line in said(found)), said(found)
    assert len(said(found)) == 1


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("", ", minAgreement: 0.1", ["minAgreement 0.6 → 0.1"]),
        ("", ", minAgreement: 0.7", []),
        (", minAgreement: -0.5", ", minAgreement: 0", []),
        (", minAgreement: 0", ", minAgreement: -0.5", ["minAgreement 0 → -0.5"]),
    ],
)
def test_what_is_asked_of_a_judge_without_a_word_counts_too(
    was: str, now: str, words: list[str]
) -> None:
    told = ", minAgreement: 0.6"
    found = bar(snapshot(edited(EVAL, told, now)), snapshot(edited(EVAL, told, was)))
    lowered = said(found)
    assert len(lowered) == len(words)
    assert all(word in line for word, line in zip(words, lowered, strict=True))


WEIGHTED = "passThreshold: 0.85\n    model: weighted\n    passScore: "


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [("0.9", "0.6", "weighted, passing from 0.9 → weighted, passing from 0.6"), ("0.6", "0.9", "")],
)
def test_a_lower_score_to_pass_is_a_lower_bar(was: str, now: str, words: str) -> None:
    before, after = (
        snapshot(edited(EVAL, "passThreshold: 0.85", WEIGHTED + one)) for one in (was, now)
    )
    assert any(words in line for line in said(bar(after, before))) is bool(words)


def test_trials_that_pass_by_another_score_are_not_used_again() -> None:
    before, after = (
        snapshot(edited(EVAL, "passThreshold: 0.85", WEIGHTED + one)) for one in ("0.9", "0.6")
    )
    (planned,) = bar(after, before).evals
    assert planned.bar is not None
    assert planned.bar.reused == ()


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


AGENT = "agents/support.yaml"
PROGRAM = "  runtime: {type: command, command: [python3, bot.py]}\n"


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("  models: [scripted/yes]", "openai/gpt-5 → scripted/yes"),
        ("  models: [scripted/yes, openai/gpt-5]", "openai/gpt-5 → scripted/yes, openai/gpt-5"),
        ("  models: [openai/gpt-5, scripted/yes]", "openai/gpt-5 → openai/gpt-5, scripted/yes"),
        (
            "  models: [openai/gpt-5]\n  uses: [scripted/yes]",
            "openai/gpt-5 → openai/gpt-5, scripted/yes",
        ),
    ],
)
def test_a_scripted_model_in_place_of_a_real_one_is_a_lower_bar(models: str, words: str) -> None:
    head = edited(AGENT, "  models: [openai/gpt-5]", models)
    found = bar(snapshot(head, {"yes": SCRIPT}), snapshot(FILES))
    assert [str(one) for one in found.lost] == [
        f"agents/support.yaml:5 real model of Agent support replaced by a scripted one {words}"
    ]


def test_a_program_that_becomes_a_declaration_is_a_lower_bar() -> None:
    base = edited(AGENT, "  system:", PROGRAM + "  system:") | {"agents/bot.py": "print(1)\n"}
    found = bar(snapshot(FILES), snapshot(base))
    assert [str(one) for one in found.lost][-1] == (
        "agents/support.yaml:3 Agent support is no longer run as the program that it was "
        "command → model"
    )


@pytest.mark.parametrize(
    "models",
    ["[openai/gpt-5-mini]", "[openai/gpt-5-mini, openai/gpt-5]", "[anthropic/claude-sonnet-4-5]"],
)
def test_another_real_model_is_a_change_and_no_lower_bar(models: str) -> None:
    head = edited(AGENT, "[openai/gpt-5]", models)
    assert bar(snapshot(head), snapshot(FILES)).lost == ()


def test_a_script_that_was_there_already_is_no_lower_bar() -> None:
    base = edited(AGENT, "[openai/gpt-5]", "[scripted/yes]")
    head = {**base, AGENT: base[AGENT].replace("scripted/yes", "scripted/no")}
    scripts = {"yes": SCRIPT, "no": SCRIPT}
    assert bar(snapshot(head, scripts), snapshot(base, scripts)).lost == ()


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
    plan = plan_change(head, base, GateRules(Policy(), "", None), base)
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
    (alone,) = bar(snapshot({**FILES, FIXTURES: more}), snapshot(FILES)).evals
    assert alone.own_fixtures == (), "nothing runs again, whether or not the Agent is touched"
    assert alone.bar is not None
    assert alone.bar.lowered == ()
    agent = FILES["agents/support.yaml"].replace("Be kind.", "Be brief.")
    files = {**FILES, FIXTURES: more, "agents/support.yaml": agent}
    (planned,) = bar(snapshot(files), snapshot(FILES)).evals
    assert planned.own_fixtures == (), "nothing runs again"
    assert [fixture.name for fixture in planned.fixtures] == ["plain", "refund"]


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_edits_cause_no_friction(case: str) -> None:
    found = bar(snapshot(HARMLESS[case]), snapshot(FILES))
    assert found == BarPlan()


ASKS_MORE = {
    "higher severity": edited(FIXTURES, "value: hello, weight: 2, severity: high}]", "value: hello, weight: 2, severity: high}]\n  severity: high"),
    "another assertion": edited(FIXTURES, "    - {type: toolNotCalled, tool: send_email}\n", "    - {type: toolNotCalled, tool: send_email}\n    - {type: contains, value: why}\n"),
    "fewer injections": edited(EVAL, "maxInjected: 0.1", "maxInjected: 0.05"),
    "more agreement": edited(EVAL, "minAgreement: 0.6", "minAgreement: 0.9"),
    "another fixture": {**FILES, "evals/more.yaml": FILES[FIXTURES].split("---\n")[0].replace("name: refund", "name: return")},
    "another Eval": {**FILES, "evals/more.yaml": FILES[EVAL].replace("name: support-eval", "name: more")},
}  # fmt: skip


@pytest.mark.parametrize("case", ASKS_MORE)
def test_what_asks_more_is_told_to_nobody(case: str) -> None:
    found = bar(snapshot(ASKS_MORE[case]), snapshot(FILES))
    assert (said(found), found.lost, found.doubts) == ([], (), ())


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
        rules = GateRules(Policy.model_validate({"bar": policy}), "", None)
        return [one.name for one in plan_change(head, base, rules, base).evals]

    assert names("head") == ["support-eval"]
    assert names("base") == ["support-eval.base-tip"]
    assert names("strictest") == ["support-eval", "support-eval.base-tip"]


def test_an_eval_of_heads_may_have_the_name_of_the_bar() -> None:
    double = FILES[EVAL].replace("name: support-eval", "name: support-eval.base-tip")
    head = snapshot({**edited(EVAL, "0.85", "0.50"), "evals/double.yaml": double})
    plan = plan_change(head, snapshot(FILES), GateRules(Policy(), "", None), snapshot(FILES))
    assert [one.name for one in plan.evals] == [
        "support-eval",
        "support-eval.base-tip",
        "support-eval.base-tip.base-tip",
    ]
