"""Runs by the clock: what is due runs, once, and what got worse is told with its commits."""

from __future__ import annotations

from itertools import count

import pytest

from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import EVAL

YEARLY = EVAL + '  schedule: "0 0 1 1 *"\n'
EACH_MINUTE = EVAL.replace("support-eval", "watch") + '  schedule: "* * * * *"\n'


RUNS = count(8_001)


def by_the_clock(shop: GitHubShop, run: int = 0, attempt: int = 1) -> Ended:
    payload = {**shop.push_payload(), "schedule": "23 * * * *"}
    job = shop.job("schedule", payload, sha=shop.repo.branches["main"], run=run or next(RUNS))
    job.check_out(shop.bare, "refs/heads/main")
    return job.run_action(GITHUB_RUN_ATTEMPT=str(attempt))


def ran(ended: Ended) -> list[str]:
    if "results" not in ended.outputs:
        return []
    line = (ended.results / "run.v1.json").read_text()
    return [name for name in ("support-eval", "watch") if f'"eval":"{name}"' in line]


def test_an_eval_that_missed_its_time_runs_once(shop: GitHubShop) -> None:
    shop.push_main(**{"evals__support-eval.yaml": YEARLY})
    first = by_the_clock(shop)
    assert (first.code, ran(first)) == (0, ["support-eval"]), first.errors
    head = shop.repo.branches["main"]
    assert shop.conclusions(head, "gateval (scheduled)") == ["success"]

    second = by_the_clock(shop)
    assert (second.code, ran(second)) == (0, []), second.errors
    assert "No Eval is due; the next is support-eval at " in second.log
    assert "-01-01T00:00:00Z" in second.log
    assert shop.conclusions(head, "gateval (scheduled)") == ["success"]


def test_without_a_schedule_a_commit_is_measured_once_a_day(shop: GitHubShop) -> None:
    """The clock of the sample ticks each hour, for Evals that have a schedule."""
    first = by_the_clock(shop, run=4711)
    assert (first.code, ran(first)) == (0, ["support-eval"]), first.errors
    second = by_the_clock(shop)
    assert (second.code, ran(second)) == (0, []), second.errors
    assert "support-eval has no schedule, and this commit was measured at 2" in second.log
    again = by_the_clock(shop, run=4711, attempt=2)
    assert ran(again) == ["support-eval"], again.log
    shop.push_main(README="Another commit\n")
    assert ran(by_the_clock(shop)) == ["support-eval"]


def test_what_is_due_does_not_speak_for_what_is_not(shop: GitHubShop) -> None:
    shop.push_main(**{"evals__support-eval.yaml": YEARLY, "evals__watch.yaml": EACH_MINUTE})
    both = by_the_clock(shop)
    assert ran(both) == ["support-eval", "watch"]
    again = by_the_clock(shop)
    if ran(again):  # a minute may not have passed
        assert ran(again) == ["watch"]
        head = shop.repo.branches["main"]
        assert shop.conclusions(head, "gateval (scheduled__evals_watch)") == ["success"]


def test_a_run_says_between_which_commits_it_got_worse(shop: GitHubShop) -> None:
    good = shop.repo.branches["main"]
    assert by_the_clock(shop).code == 0
    bad = shop.push_main(**{"agents__prompts__support.md": WORSE})
    ended = by_the_clock(shop)
    assert ended.code == 1, ended.errors
    said = f"support-eval passed on {good[:7]} "
    assert said in ended.log
    assert f"git log {good[:12]}..{bad[:12]}" in ended.log
    assert "refund-asks-why passed 1 of 1 before, 0 of 1 now" in ended.log
    assert "### Since when it fails" in ended.summary
    shop.push_main(README="Another commit\n")
    later = by_the_clock(shop)
    assert f"git log {good[:12]}..{bad[:12]}" in later.log


def test_the_same_commit_that_turns_red_points_to_the_model(shop: GitHubShop) -> None:
    assert by_the_clock(shop).code == 0
    shop.push_main(**{"evals__fixtures.yaml": _asks_more(shop)})
    ended = by_the_clock(shop)
    assert ended.code == 1
    assert "The Agent is the same on both" in ended.log


def _asks_more(shop: GitHubShop) -> str:
    text = (shop.work.path / "evals/fixtures.yaml").read_text()
    return text.replace("value: Hello", "value: Goodbye")


@pytest.mark.parametrize("lines", [b"nonsense\n", b'{"id":"1-1","event":"schedule"}\n'])
def test_forged_runs_make_nothing_due_that_is_not(shop: GitHubShop, lines: bytes) -> None:
    shop.push_main(**{"evals__support-eval.yaml": YEARLY})
    bare = Repo.at(shop.bare)
    blob = bare.git("hash-object", "-w", "--stdin", stdin=lines).decode().strip()
    tree = bare.git("mktree", stdin=f"100644 blob {blob}\truns.jsonl\n".encode()).decode().strip()
    commit = bare.git("commit-tree", tree, "-m", "Forged").decode().strip()
    bare.git("update-ref", "refs/gateval/runs", commit)
    assert ran(by_the_clock(shop)) == ["support-eval"]
