"""A change cannot lower the bar for itself, unless somebody accepts that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, PROMPT, build_shop

RUDE = PROMPT.replace("Always ask for the reason first.", "Refund at once.")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A shop on whose branch `change` the Agent no longer asks why before it refunds."""
    repo = build_shop(tmp_path / "shop")
    repo.write("agents/prompts/support.md", RUDE)
    repo.commit()
    return repo


LOWERING = {
    "a weaker assertion": (
        "evals/fixtures.yaml",
        FIXTURES.replace("tool: clarify_reason", "tool: refund"),
        "assertion toolCalled clarify_reason of fixture refund-asks-why changed",
    ),
    "a fixture removed": (
        "evals/fixtures.yaml",
        FIXTURES.split("---\n")[1],
        "high fixture refund-asks-why removed",
    ),
    "the Eval removed": ("evals/support-eval.yaml", None, "Eval support-eval removed"),
}


@pytest.mark.parametrize("case", LOWERING)
def test_a_change_meets_its_target_branchs_bar_too(shop: Repo, tmp_path: Path, case: str) -> None:
    path, text, words = LOWERING[case]
    if text is None:
        shop.delete(path)
    else:
        shop.write(path, text)
    shop.commit()
    results = tmp_path / "out"
    done = gateval(shop, "check", "--results", str(results))
    assert done.returncode == 1, done.stdout + done.stderr
    assert words in (results / "comment.md").read_text().replace("<code>", "").replace("_", "_")
    assert "The bar" in done.stdout
    assert "Meet it, or take these edits back." in done.stdout
    again = gateval(shop, "report", str(results))
    assert (again.returncode, again.stdout) == (1, done.stdout)


@pytest.mark.parametrize("case", ["a weaker assertion", "a fixture removed", "the Eval removed"])
def test_a_lower_bar_that_is_accepted_is_shown_and_lets_pass(
    shop: Repo, tmp_path: Path, case: str
) -> None:
    path, text, words = LOWERING[case]
    if text is None:
        shop.delete(path)
    else:
        shop.write(path, text)
    shop.commit()
    done = gateval(shop, "check", "--accept-bar-change", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert words in " ".join(done.stdout.split())
    assert "Accepted by --accept-bar-change" in done.stdout


def test_what_meets_the_bar_of_its_target_branch_may_lower_it(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.1}\n")
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    shop.commit()
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The bar moves, and head meets it\n  The target branch asks" in done.stdout
    assert "support-eval (target branch)" in done.stdout
    assert ".base-tip" not in done.stdout
    planned = " ".join(gateval(shop, "plan").stdout.split())
    asked = (
        "asked by the base tip (evals/support-eval.yaml:3); 2 fixtures measured by support-eval "
    )
    assert asked in planned
    assert "support-eval (target branch) support 2 1 base and head 0 0 " in planned


def test_an_agent_that_is_removed_is_no_way_around_its_evals(shop: Repo, tmp_path: Path) -> None:
    for path in ("agents/support.yaml", "evals/support-eval.yaml", "evals/fixtures.yaml"):
        shop.delete(path)
    shop.commit()
    done = gateval(shop, "check", "--results", str(tmp_path / "one"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Agent support removed: Eval support-eval has nothing to run" in done.stdout
    accepted = ("check", "--accept-bar-change", "--results", str(tmp_path / "two"))
    assert gateval(shop, *accepted).returncode == 0


def test_the_gate_config_of_the_target_branch_can_leave_the_bar_to_head(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write(".github/gateval.yml", "policy: {bar: head}\n")
    shop.commit()
    shop.branch("other")
    shop.write("agents/support.yaml", AGENT.replace("Pay back.", "Pay back at once."))
    shop.write("agents/prompts/support.md", RUDE)
    shop.delete("evals/support-eval.yaml")
    shop.commit()
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no Eval on head targets it" in done.stdout


def test_a_target_branch_that_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    shop.commit()
    shop.checkout("main")
    shop.write("evals/support-eval.yaml", EVAL.replace("targetAgent", "targetAgnt"))
    shop.commit()
    shop.checkout("change")
    done = gateval(shop, "check", "--results", str(tmp_path / "one"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "what the target branch asks cannot be read (1 problem)" in done.stdout
    said = " ".join(done.stdout.split())
    assert "Cannot be read: evals/support-eval.yaml:" in said
    accepted = ("check", "--accept-bar-change", "--results", str(tmp_path / "two"))
    assert gateval(shop, *accepted).returncode == 0


def test_a_broken_judge_on_the_target_branch_leaves_no_say_to_heads(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    judged = FIXTURES.replace(
        "- {type: contains, value: Hello}", "- {type: judge, rubric: Is polite.}"
    )
    verdict = 'rules: [{reply: \'{"score": 1, "confidence": 1, "summary": "x", "violations": [], '
    verdict += '"what_would_raise_score": ""}\'}]\n'
    shop.checkout("main")
    shop.write("evals/fixtures.yaml", judged)
    shop.write("evals/support-eval.yaml", EVAL + "  judge: {model: scripted/strict}\n")
    shop.write(".gateval/scripted/strict.yaml", verdict)
    shop.commit()
    shop.branch("lenient")
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    shop.commit()
    shop.checkout("main")
    shop.write(".gateval/scripted/strict.yaml", "rules: 7\n")
    shop.commit()
    shop.checkout("lenient")
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "strict.yaml" in done.stdout


def test_easy_fixtures_outweigh_no_failure(shop: Repo, tmp_path: Path) -> None:
    """The Agent fails one of two on the target branch, too; the change adds easy ones alone."""
    shop.checkout("main")
    shop.write("agents/prompts/support.md", RUDE)
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.7}\n")
    shop.commit()
    shop.branch("easy")
    greeting = FIXTURES.split("---\n")[1]
    more = "---\n".join(greeting.replace("greets", f"greets-{number}") for number in range(9))
    shop.write("evals/more.yaml", more)
    shop.commit()
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "what the target branch asks is not met" in done.stdout
    assert "The change takes nothing of it away" in done.stdout
    assert "take these edits back" not in done.stdout


def test_fixtures_that_are_added_to_a_bar_that_is_met_bother_nobody(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/more.yaml", FIXTURES.split("---\n")[1].replace("greets", "greets-again"))
    shop.commit()
    done = gateval(shop, "check", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 Eval measured" in done.stdout
    assert "(target branch)" not in done.stdout
    assert "(target branch)" not in (tmp_path / "out/comment.md").read_text()


def test_a_laxer_rule_is_told_by_plan_and_check_alike(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write(".github/gateval.yml", "policy: {regressions: off, drafts: wait}\n")
    shop.commit()
    words = ".github/gateval.yml:1 policy.regressions block → off"
    planned = gateval(shop, "plan").stdout
    assert f"lowers the bar: {words}" in planned
    assert "policy.drafts evaluate → wait" in planned
    done = gateval(shop, "check", "--results", str(tmp_path / "one"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "what the gate asks is lowered (1 edit)" in done.stdout
    assert words in done.stdout
    accepted = ("check", "--accept-bar-change", "--results", str(tmp_path / "two"))
    assert gateval(shop, *accepted).returncode == 0


def test_an_invalid_gate_config_is_refused_where_it_is_written(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write(".github/gateval.yml", "policy: {regresions: off}\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 2, done.stdout + done.stderr
    assert ".github/gateval.yml:1:10: policy.regresions: Unknown key" in done.stderr
    assert "every later change" in done.stderr
