"""GitHub and git fail at one request after the other: without an entry in the log nothing merges.

The entry runs in this process: it is the real one, and there are many runs.
"""

from __future__ import annotations

import pytest

from gateval.app.action.gate import run_action
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Job
from tests.servers.github.state.pull import Pull

BYPASS = "force-eval-bypass"
LETS_MERGE = {"success", "neutral", "skipped"}


@pytest.fixture
def labelled(shop: GitHubShop) -> Pull:
    """A revision that failed, and a maintainer's label on it."""
    pull = shop.open_pull(WORSE)
    assert run(shop.on_pull(pull)) == 1
    pull.label(BYPASS, by=shop.ada)
    return pull


def run(job: Job) -> int:
    return run_action(job.environ({}, {}))


def back_to_red(shop: GitHubShop, pull: Pull) -> None:
    """Take back what a run wrote on the check and in the log."""
    for check in shop.repo.checks("gateval", pull.head_sha):
        check.conclusion = "failure"
    if "gateval-audit" in shop.branches():
        Repo.at(shop.bare).git("update-ref", "-d", "refs/heads/gateval-audit")


def unrecorded(shop: GitHubShop, pull: Pull, code: int) -> bool:
    """Whether the gate lets merge, or its job says so, though no grant is in the log."""
    merges = code == 0 or shop.conclusions(pull.head_sha)[-1] in LETS_MERGE
    return merges and "bypass-granted" not in [entry.kind for entry in shop.audit()]


@pytest.mark.parametrize("where", ["/repos/*", "*/git-receive-pack"])
def test_each_request_fails_in_turn(shop: GitHubShop, labelled: Pull, where: str) -> None:
    granted, nth = 0, 0
    while nth < 30:
        nth += 1
        back_to_red(shop, labelled)
        status = 403 if nth % 2 else 404
        fault = shop.server.faults.status("*", where, status, nth=nth)
        code = run(shop.on_label(labelled, BYPASS))
        assert not unrecorded(shop, labelled, code), f"request {nth}"
        granted += code == 0
        if fault.seen < nth:
            shop.server.faults.forget(fault)
            break
    assert 1 < nth < 30
    assert 0 < granted < nth, "some faults stop it, others do not"
