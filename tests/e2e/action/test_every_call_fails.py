"""Every call to GitHub's API and to git fails once, in each of eight ways: the verdict stands.

One run meets all calls' failures, each call another one; eight runs meet every pair. They run in
this process, for only here can the waits be short; `test_git_faults.py` and
`test_completed_later.py` have the real entry wait.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from gateval.adapters.git.record_errors import PATIENCE
from gateval.adapters.git.records import RecordsOnce, open_records
from gateval.adapters.git.run import Git
from gateval.adapters.git.server import Fetcher, FetchRetries, Remote
from gateval.adapters.github.forge import GitHubForge
from gateval.adapters.github.transport import GitHubAccess
from gateval.app.action.context import ActionContext, build_request, open_context
from gateval.app.action.gate import run_gate
from gateval.app.action.result import ActionProgress
from gateval.publish.github import complete_unfinished
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.runner import Job
from tests.helpers.tiers import some_always
from tests.servers.github.http import Reply
from tests.servers.github.state.pull import Pull

WAYS: list[dict[str, Any]] = [
    {"reply": Reply(500, b"")},
    {"reply": Reply(502, b"<html>Bad gateway</html>")},
    {"reply": Reply(503, b"")},
    {"reply": Reply(504, b"")},
    {"reply": Reply(429, {"message": "Too many requests"}, {"Retry-After": "1"})},
    {"drop": True},
    {"drop": True, "done": True},
    {"reply": Reply(408, b"")},
]


def calls(shop: GitHubShop) -> list[tuple[str, str]]:
    """The calls of a plain run, each path as often as it is asked.

    Those with which the run is kept for looking back come last, and give up after a few failures.
    """
    found = [
        (one.method, one.path) for one in (*shop.server.log.entries, *shop.server.git_log.entries)
    ]
    verdict = next(n for n, (_, path) in enumerate(found) if path.endswith("git-receive-pack"))
    return found[: verdict + 1]


def disturbed(shop: GitHubShop, turn: int) -> Pull:
    """A pull request whose run finds every call failing once; of a plain run it is known which."""
    plain = shop.open_pull(WORSE, "plain")
    assert shop.on_pull(plain).run_action().code == 1
    found = calls(shop)
    assert len(shop.server.log.entries) <= 10
    pull = shop.open_pull(WORSE + "Be brief.\n", "change")
    seen: Counter[tuple[str, str]] = Counter()
    for number, (method, path) in enumerate(found):
        now = path.replace(plain.head_sha, pull.head_sha).replace("/1", "/2")
        now = "/repos/acme/shop/check-runs/*" if "check-runs/" in now else now
        nth = 1 + 2 * seen[method, now]  # each of those before was asked twice
        way = WAYS[(number + turn) % len(WAYS)]
        shop.server.faults.plant(method, now, nth=nth, **way)
        seen[method, now] += 1
    return pull


@contextlib.contextmanager
def hasty(job: Job) -> Iterator[ActionContext]:
    """The world of a job as it is, but for the length of its waits."""
    access = GitHubAccess(repository=job.repository, token=SecretStr(job.token), api_url=job.api)
    environ = job.environ({}, {})
    remote = Remote(f"{job.server}/{job.repository}", job.token, environ)
    git = Git(job.workspace, environ)
    push = PATIENCE._replace(race_wait=0.01, outage_wait=0.01)
    with (
        open_context(environ, build_request(environ)) as context,
        RecordsOnce(
            lambda: open_records(git, environ, remote=remote.url, token=remote.token, retries=push)
        ) as records,
    ):
        yield replace(
            context,
            forge=GitHubForge(access, sleep=lambda _: None),
            server=Fetcher(git, remote, retries=FetchRetries(first_wait=0.01)),
            open_records=records,
        )


@pytest.mark.parametrize("turn", some_always(range(len(WAYS)), 4))
def test_every_call_fails_once(shop: GitHubShop, turn: int) -> None:
    pull = disturbed(shop, turn)
    job = shop.on_pull(pull)
    with hasty(job) as context:
        result = run_gate(context, ActionProgress(context, lambda _: None))
        assert (result.exit_code, result.outputs["verdict"]) == (1, "fail")
        if result.unfinished is not None:
            complete_unfinished(context.forge, result.unfinished)
    all_is_said(shop, pull)


def all_is_said(shop: GitHubShop, pull: Pull) -> None:
    """One comment, and no check run that still is in progress."""
    checks = shop.repo.checks("gateval", pull.head_sha)
    assert {(one.status, one.conclusion) for one in checks} == {("completed", "failure")}
    assert len([one for one in pull.comments if one.user.login == "github-actions[bot]"]) == 1
