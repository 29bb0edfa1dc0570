"""A shop with one pull request, and the gate as one of its workflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from gateval.adapters.github.forge import GitHubForge
from gateval.adapters.github.transport import GitHubAccess, RetryLimits
from gateval.domain.forge.check_run import (
    Annotation,
    AnnotationLevel,
    Announcement,
    CommentMode,
    Conclusion,
    Stamp,
)
from gateval.domain.text import LINES, MARKER, markdown
from gateval.publish.check import PublishTarget
from gateval.safe.sanitize import inline, label
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.people import GITHUB_ACTIONS, User
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository

GATE = {"checks": "write", "contents": "read", "pull_requests": "write"}
BOT = "github-actions[bot]"


@dataclass
class Shop:
    """acme/shop: `ada` maintains it, `eve` may read; pull request 1 is ada's.

    `waits` collects the pauses that a forge would have made.
    """

    server: GitHubServer
    repo: Repository
    ada: User
    eve: User
    pull: Pull
    waits: list[float] = field(default_factory=list)

    def forge(self, limits: RetryLimits | None = None, **permissions: str) -> GitHubForge:
        """The adapter with a GITHUB_TOKEN; without arguments one that a gate should have."""
        token = self.server.world.workflow_token(self.repo, **(permissions or GATE))
        return self.forge_with(token, limits)

    def forge_with(self, token: str, limits: RetryLimits | None = None) -> GitHubForge:
        """The adapter with this token."""
        access = GitHubAccess(
            repository=self.repo.full_name, token=SecretStr(token), api_url=self.server.api_url
        )
        return GitHubForge(access, limits or RetryLimits(between_writes=0), sleep=self.waits.append)

    def target(
        self,
        run: int = 7,
        *,
        minute: int = 0,
        attempt: int = 1,
        head: str = "",
        gate: str = "gateval",
        comment: CommentMode = CommentMode.ALWAYS,
        day: str = "2026-11-20",
    ) -> PublishTarget:
        """This run's target; a run that began a later `minute` is a newer one.

        By default it began long after all that the server knows of was written.
        """
        return PublishTarget(
            head=head or self.pull.head_sha,
            pull_request=1,
            stamp=Stamp(gate=gate, started=f"{day}T09:{minute:02}:00Z", run=run, attempt=attempt),
            details_url=f"https://github.com/acme/shop/actions/runs/{run}",
            comment=comment,
        )

    def copy_of(self, body: str, *, by: User | None = None) -> None:
        """Put a comment there: by our bot, or by somebody else."""
        if by is None:
            self.pull.comment(body, by=GITHUB_ACTIONS.bot, app=GITHUB_ACTIONS)
        else:
            self.pull.comment(body, by=by)

    @property
    def ours(self) -> list[str]:
        """The bodies of our bot's comments."""
        return [one.body for one in self.pull.comments if one.user.login == BOT]


Opener = Callable[[GitHubServer], Shop]


def open_shop(server: GitHubServer) -> Shop:
    """Make the shop."""
    repo = server.world.repository("acme/shop")
    ada, eve = server.world.user("ada"), server.world.user("eve")
    repo.role(ada, "maintain")
    repo.push("better", repo.commit("Better", on="main"), by=ada)
    return Shop(server, repo, ada, eve, repo.open_pull("better", by=ada, title="Better"))


@pytest.fixture
def shop(github_server: GitHubServer) -> Shop:
    """The shop on github.com."""
    return open_shop(github_server)


def said(
    text: str = "A report.",
    conclusion: Conclusion = Conclusion.FAILURE,
    *,
    annotations: int = 0,
    unasked: bool = False,
) -> Announcement:
    """An announcement."""
    body = markdown("### {}\n", inline(text, 100_000))
    return Announcement(
        conclusion=conclusion,
        title=label(f"Title: {text}", 200),
        check_summary=body,
        comment=LINES.joined([MARKER, body]),
        job_summary=body,
        annotations=tuple(
            Annotation(
                path=label("evals/refund.yaml", 200),
                line=number + 1,
                level=AnnotationLevel.FAILURE,
                title=label(f"note {number}", 200),
                message=label("It failed.", 200),
            )
            for number in range(annotations)
        ),
        unasked=unasked,
    )
