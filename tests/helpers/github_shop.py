"""The shop of `tests/helpers/shop.py` on GitHub, with people who change it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateval.domain.audit import AuditEntry, read_log
from tests.helpers import payloads
from tests.helpers.made_once import made_once
from tests.helpers.repo import Repo
from tests.helpers.runner import Job
from tests.helpers.shop import PROMPT, build_shop
from tests.servers.github import webhooks
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.merge_queue import MergeGroup
from tests.servers.github.state.people import User
from tests.servers.github.state.pull import Pull

WORSE = PROMPT.replace("ask for the reason", "be quick")
"""A prompt under which the Agent refunds without asking."""

SAME = PROMPT + "Be brief.\n"
"""A prompt that changes nothing about its answers."""


class GitHubShop:
    """`acme/shop` on the server; `work` is where Ada edits, on branches off `main`."""

    def __init__(self, server: GitHubServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.work = _work_and_server(folder)
        self.bare = folder / "server/shop.git"
        self.repo = server.world.repository("acme/shop", git=self.bare)
        self.ada = self.repo.role(server.world.user("ada"), "maintain")
        self._jobs = 0

    def commit(self, prompt: str, branch: str = "change") -> str:
        """Commit a prompt on a branch of Ada's clone; return the commit."""
        if not (self.work.path / ".git/refs/heads" / branch).exists():
            self.work.branch(branch, "main")
        self.work.checkout(branch)
        self.work.write("agents/prompts/support.md", prompt)
        return self.work.commit()

    def push(self, branch: str = "change") -> str:
        """Push Ada's branch; return the commit."""
        return self.repo.push_from(self.work.path, branch, branch, by=self.ada)

    def open_pull(self, prompt: str, branch: str = "change", **more: Any) -> Pull:
        """Commit, push and open a pull request."""
        self.commit(prompt, branch)
        self.push(branch)
        return self.repo.open_pull(branch, by=self.ada, **more)

    def open_fork_pull(
        self, prompt: str, files: Mapping[str, str] | None = None, **more: Any
    ) -> Pull:
        """The same from Mallory's fork; `files` are changed as well."""
        mallory = self.server.world.user("mallory")
        fork = self.server.world.fork(self.repo, mallory, git=self.folder / "server/fork.git")
        self.commit(prompt)
        for path, text in (files or {}).items():
            self.work.write(path, text)
        if files:
            self.work.commit()
        fork.push_from(self.work.path, "change", "change", by=mallory)
        return self.repo.open_pull("change", by=mallory, fork=fork, **more)

    def conclusions(self, sha: str, name: str = "gateval") -> list[str | None]:
        """How the check runs of a name ended on a commit, oldest first."""
        return [run.conclusion for run in self.repo.checks(name, sha)]

    def push_main(self, **files: str) -> str:
        """Commit files (`/` written as `__`) on main and push; return the commit."""
        self.work.checkout("main")
        for path, text in files.items():
            self.work.write(path.replace("__", "/"), text)
        self.work.commit()
        return self.push("main")

    def queue(self, branch: str, number: int, *, on: str) -> tuple[str, str]:
        """Merge a branch as the merge queue does; return the group's commit and its ref."""
        self.work.checkout(self.work.id(on))
        words = f"--message=Merge pull request #{number} from acme/{branch}"
        self.work.git("merge", "--quiet", "--no-ff", words, branch)
        name = f"gh-readonly-queue/main/pr-{number}-{self.work.id(on)}"
        head = self.repo.push_from(self.work.path, "HEAD", name, by=self.ada)
        return head, f"refs/heads/{name}"

    def token(self, **permissions: str) -> str:
        """A workflow's token, with all that the gate needs unless said otherwise."""
        full = {"contents": "write", "pull_requests": "write", "checks": "write"}
        return self.server.world.workflow_token(self.repo, **(permissions or full))

    def job(self, event: str, payload: dict[str, Any], **more: Any) -> Job:
        """A job with a folder of its own, nothing checked out yet."""
        self._jobs += 1
        token = more.pop("token", None) or self.token()
        return Job(
            self.folder / f"job-{self._jobs}",
            self.server.url,
            self.server.api_url,
            event,
            payload,
            token,
            **more,
        )

    def on_pull(self, pull: Pull, action: str = "opened", **more: Any) -> Job:
        """The job of a `pull_request` event, with the merge commit checked out at depth 1."""
        payload = self._pull_payload(pull, action, self.ada)
        ref = f"refs/pull/{pull.number}/merge"
        job = self.job("pull_request", payload, ref=ref, **more)
        job.check_out(self.bare, ref)
        return job

    def on_label(
        self,
        pull: Pull,
        name: str,
        *,
        by: User | None = None,
        put: str = "labeled",
        head: str | None = None,
        **more: Any,
    ) -> Job:
        """The job that a label on a pull request starts; the label itself is the test's to put.

        `head` is the head that the webhook tells; by default the present one.
        """
        job = self.on_pull(pull, put, **more)
        job.payload = self._pull_payload(pull, put, by or self.ada, name)
        if head is not None:
            job.payload["pull_request"]["head"]["sha"] = head
        return job

    def label(
        self, pull: Pull, name: str = "force-eval-bypass", *, by: User | None = None, **more: Any
    ) -> Job:
        """Put a label on and return the job which that starts."""
        pull.label(name, by=by or self.ada)
        return self.on_label(pull, name, by=by, **more)

    def unlabel(self, pull: Pull, name: str = "force-eval-bypass", **more: Any) -> Job:
        """Take a label off and return the job which that starts."""
        pull.unlabel(name, by=self.ada)
        return self.on_label(pull, name, put="unlabeled", **more)

    def audit(self) -> tuple[AuditEntry, ...]:
        """The audit log's entries, as they are on the server; the chain has to be whole."""
        return read_log(self.audit_bytes()).entries

    def audit_bytes(self) -> bytes:
        """The audit log's bytes; empty when there is none."""
        git = Repo.at(self.bare)
        if "gateval-audit" not in self.branches():
            return b""
        return git.git("show", "gateval-audit:audit.jsonl")

    def branches(self) -> list[str]:
        """The branches on the server."""
        listed = Repo.at(self.bare).git("for-each-ref", "--format=%(refname:short)", "refs/heads")
        return listed.decode().split()

    def on_dispatch(self, **more: Any) -> Job:
        """The job of a manual run on main."""
        job = self.job("workflow_dispatch", self.dispatch_payload(), **more)
        job.check_out(self.bare, "refs/heads/main", "--depth=1000")
        return job

    def on_comment(self, pull: Pull, body: str, *, by: User | None = None, **more: Any) -> Job:
        """Write a comment and return the job which that starts on main."""
        comment = pull.comment(body, by=by or self.ada)
        event = webhooks.issue_comment(pull, comment, links=self.server.links)
        job = self.job("issue_comment", event.payload, ref=event.ref, sha=event.sha, **more)
        job.check_out(self.bare, "refs/heads/main", "--depth=1000")
        return job

    def dispatch_payload(self, branch: str = "main") -> dict[str, Any]:
        """The event of a manual run on a branch, as GitHub recorded one."""
        links = self.server.links
        return webhooks.workflow_dispatch(
            self.repo, by=self.ada, links=links, inputs={"pull-request": "7"}, branch=branch
        ).payload

    def push_payload(self) -> dict[str, Any]:
        """The event of the newest push to main, as GitHub recorded one."""
        return webhooks.push(self.repo, "main", by=self.ada, links=self.server.links).payload

    def group_payload(self, head: str, ref: str, *, base: str) -> dict[str, Any]:
        """The event of a merge group on main, as GitHub recorded one."""
        group = MergeGroup(self.repo, (), head, ref, base, "refs/heads/main")
        return webhooks.merge_group(group, by=self.ada, links=self.server.links).payload

    def wait_for_check(self, pull: Pull, run: subprocess.Popen[str]) -> None:
        """Wait until the check run of a run is in progress."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and run.poll() is None:
            if self.repo.checks("gateval", pull.head_sha):
                time.sleep(0.3)
                return
            time.sleep(0.05)
        raise AssertionError(f"no check run: {run.communicate(timeout=5)}")

    def _pull_payload(
        self, pull: Pull, action: str, by: User, label: str | None = None
    ) -> dict[str, Any]:
        """The event about a pull request as it is now; recorded but for rare actions."""
        if webhooks.is_recorded("pull_request", action):
            links = self.server.links
            return webhooks.pull_request(pull, action, by=by, label=label, links=links).payload
        return payloads.pull_request(
            action,
            number=pull.number,
            head=pull.head_sha,
            base=pull.base_sha,
            head_repository=pull.head_repo.full_name if pull.head_repo else None,
            title=pull.title,
            draft=pull.draft,
        )


@made_once
def _work_and_server(folder: Path) -> Repo:
    """Make Ada's clone in `work`, and what the server has of it."""
    work = build_shop(folder / "work")
    work.checkout("main")
    work.git("branch", "--delete", "--force", "change")
    bare = Repo.clone(work.path, folder / "server/shop.git", "--bare")
    bare.git("remote", "remove", "origin")
    return work
