"""A broken suite of AgentV beside Evals of the gate's own: the comment names it, and nothing else is
kept from being measured.
"""

from __future__ import annotations

import pytest

from tests.helpers.github_shop import WORSE, GitHubShop

TARGETS = (
    'targets: [{name: default, provider: cli, command: "python3 bot.py {PROMPT}", cwd: /bot}]\n'
)
SUITE = """\
tests:
  - id: one
    criteria: Good
    input: Hello
    assertions: [{type: contains, value: You}]
"""
BROKEN = SUITE + "    depends_on: [two]\n"
FILES = {".agentv__targets.yaml": TARGETS, "bot__bot.py": "import sys\nprint('You', sys.argv)\n"}


@pytest.mark.parametrize(("prompt", "code"), [(WORSE, 1), (None, 0)])
def test_a_suite_that_was_broken_before_is_told(
    shop: GitHubShop, prompt: str | None, code: int
) -> None:
    shop.push_main(**FILES, **{"evals__bot.eval.yaml": BROKEN})
    text = (shop.work.path / "agents/prompts/support.md").read_text()
    pull = shop.open_pull(prompt or f"{text}\n")
    ended = shop.on_pull(pull).run_action()
    assert ended.code == code, ended.errors
    (comment,) = pull.comments
    assert "evals/bot.eval.yaml:6" in comment.body
    assert "The cases of this suite were not measured" in comment.body


def test_a_pull_request_that_breaks_a_suite_is_not_green(shop: GitHubShop) -> None:
    shop.push_main(**FILES, **{"evals__bot.eval.yaml": SUITE})
    shop.work.write("evals/bot.eval.yaml", BROKEN)
    text = (shop.work.path / "agents/prompts/support.md").read_text()
    pull = shop.open_pull(f"{text}\n")
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 3, ended.errors
    (comment,) = pull.comments
    assert "evals/bot.eval.yaml:6" in comment.body
    assert "mend it, or remove it" in comment.body
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert check.conclusion != "success"


def test_a_scheduled_run_is_not_green_where_a_suite_is_broken(shop: GitHubShop) -> None:
    shop.push_main(**FILES, **{"evals__bot.eval.yaml": BROKEN})
    payload = {**shop.push_payload(), "schedule": "23 * * * *"}
    job = shop.job("schedule", payload, sha=shop.repo.branches["main"], run=8_001)
    job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action()
    assert ended.code == 3, ended.errors
    assert "evals/bot.eval.yaml:6" in ended.log
