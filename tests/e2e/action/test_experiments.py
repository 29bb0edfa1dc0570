"""Experiments in CI: sets that scheduled runs keep, and a pull request beside its base."""

from __future__ import annotations

from typing import Any

from gateval.domain.history.run_record import newest_first
from tests.helpers.experiments import manifest
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import SCRIPT

EXPERIMENT = manifest(
    """\
    targetAgent: support
    data: [{input: Hello, expected: Hello! How can I help?}, {input: Bye, expected: Bye}]
    scorers: [exactMatch, levenshtein]
    """,
    "desk-answers",
)
BETTER = SCRIPT.replace("rules:\n", "rules:\n  - when: {user: Bye}\n    reply: Bye\n", 1)


def by_the_clock(shop: GitHubShop, run: int, **files: str) -> Ended:
    """A scheduled run on main, after a push of these files."""
    shop.push_main(**files)
    sha = shop.repo.branches["main"]
    payload: dict[str, Any] = {**shop.push_payload(), "schedule": "0 4 * * *"}
    job = shop.job("schedule", payload, sha=sha, run=run)
    job.check_out(shop.bare, "refs/heads/main")
    return job.run_action(GITHUB_RUN_ID=str(run))


def test_a_scheduled_run_shows_the_difference_to_the_set_before(shop: GitHubShop) -> None:
    first = by_the_clock(shop, 1, **{"lab__desk.yaml": EXPERIMENT})
    assert "the first set that is known here" in first.summary
    second = by_the_clock(shop, 2, **{".gateval__scripted__support.yaml": BETTER})
    assert "| exactMatch | 100.00% | 🟢+0.50 | 2 |" in second.summary, second.summary
    assert "against the set of 20" in second.summary
    newest, oldest = newest_first(Repo.at(shop.bare).git("show", "refs/gateval/runs:runs.jsonl"))
    for record, mean in ((oldest, 0.5), (newest, 1.0)):
        run = record.eval("desk-answers")
        assert run is not None
        first_of = run.averages[0]
        assert (first_of.scorer, first_of.mean) == ("exactMatch", mean)


def test_a_pull_request_is_held_against_its_base(shop: GitHubShop) -> None:
    by_the_clock(shop, 1, **{"lab__desk.yaml": EXPERIMENT})
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 0, ended.errors
    assert "| exactMatch | 50.00% | ⚪0.00 | 2 | unchanged |" in ended.summary, ended.summary
    assert "Δ: against base" in ended.summary
