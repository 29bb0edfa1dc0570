"""The verbs of `ports.forge` over GitHub's REST API, and what guards a repository there.

The file of rules that a gate config extends, through GitHub's API for contents of repositories.

The answer names a blob by its id. That it is the id of the content is checked, so that nothing on
the way can hand out other rules than the commit holds.
https://docs.github.com/rest/repos/contents
"""

from __future__ import annotations

import base64
import hashlib
import io
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from gateval.adapters.github import shapes
from gateval.adapters.github.shapes import understood
from gateval.adapters.github.transport import (
    WRITES,
    ApiRequest,
    GitHubAccess,
    GitHubTransport,
    JobPermissions,
    RetryLimits,
    access_in,
)
from gateval.domain.forge.check_run import Annotation, CheckReport, CheckRun
from gateval.domain.forge.trigger import Artifact, Comment, PullRequest, WorkflowRun
from gateval.domain.labels import LabelEvent, Push
from gateval.domain.manifests.gate_config import RulesSource
from gateval.domain.setup.diagnosis import RequiredCheck
from gateval.domain.setup.unmeasured import PlayedPull
from gateval.domain.text import Safe
from gateval.errors import ForgeRejected, ForgeUnavailable, MissingPermission, NotOnForge

_REQUIRED = "required_status_checks"
T = TypeVar("T")


class GitHubGuards:
    """What guards the branches of one repository, and its labels, for who asks before a run.

    Every method raises `ForgeError`; `MissingPermission` names what the token lacks.
    """

    def __init__(self, access: GitHubAccess, limits: RetryLimits) -> None:
        self._api = GitHubTransport(access, limits)

    def has_label(self, name: str) -> bool:
        """Whether there is a label of this name; GitHub ignores case."""
        path, what = f"/labels/{quote(name, safe='')}", f"say whether there is a label {name}"
        asked = ApiRequest("GET", path, what, "pull-requests: read", missing_ok=True)
        return self._api.ask(asked) is not None

    def make_label(self, name: str, *, color: str, description: str) -> None:
        """Make a label; `color` is six hexadecimal digits."""
        body = {"name": name, "color": color, "description": description}
        what = f"make the label {name}"
        self._api.ask(ApiRequest("POST", "/labels", what, "issues: write", body))

    def default_branch(self) -> str:
        """The name of the default branch."""
        asked = ApiRequest("GET", "", "describe the repository", "metadata: read")
        return self._api.told(asked, lambda found: str(found["default_branch"]))

    def required_checks(self, branch: str) -> frozenset[RequiredCheck]:
        """The checks that rulesets and classic protection require; both count.

        Classic protection itself is for administrators; its checks also stand in the branch. Old
        servers only name them.
        """
        what = f"list the rules of {branch}"
        path = f"/branches/{quote(branch, safe='')}"
        one = self._api.ask(ApiRequest("GET", path, what, "contents: read"))
        rules = self._rules(branch, lambda rule: rule)
        with understood(what):
            found = {
                RequiredCheck(str(check["context"]), _app(check.get("integration_id")))
                for rule in rules
                if rule["type"] == _REQUIRED
                for check in rule["parameters"][_REQUIRED]
            }
            protected = one.get("protection", {}).get(_REQUIRED) or {}
            apps: dict[str, int | None] = {
                str(name): None for name in protected.get("contexts", ())
            }
            for check in protected.get("checks", ()):
                apps[str(check["context"])] = _app(check.get("app_id"))
            return frozenset(found | {RequiredCheck(*each) for each in apps.items()})

    def rules(self, branch: str) -> frozenset[str]:
        """The types of the rules that active rulesets set for a branch; it need not exist."""
        return frozenset(self._rules(branch, lambda rule: str(rule["type"])))

    def _rules(self, branch: str, shape: Callable[[Any], T]) -> list[T]:
        what, path = f"list the rules of {branch}", f"/rules/branches/{quote(branch, safe='')}"
        return self._api.listed(ApiRequest("GET", path, what, "metadata: read"), shape)

    def played_pull(self, number: int) -> PlayedPull:
        """A pull request with its changed files and the newest checks on its head."""
        what = f"show pull request {number}"
        asked = ApiRequest("GET", f"/pulls/{number}", what, "pull-requests: read")
        content = self._api.ask(asked)
        files = self._api.listed(
            asked._replace(path=f"/pulls/{number}/files"), lambda one: str(one["filename"])
        )
        with understood(what):
            head, base = content["head"], content["base"]
            theirs = head["repo"]["full_name"] if head.get("repo") else None
            return PlayedPull(
                number=number,
                open=content["state"] == "open",
                draft=bool(content.get("draft")),
                author=str((content.get("user") or {}).get("login") or "ghost"),
                head=str(head["sha"]),
                branch=str(head["ref"]),
                base=str(base["ref"]),
                fork=theirs != base["repo"]["full_name"],
                labels=tuple(str(one["name"]) for one in content["labels"]),
                files=tuple(files),
                conflicts=None if content.get("mergeable") is None else not content["mergeable"],
                checks=self._checks(str(head["sha"])),
            )

    def _checks(self, sha: str) -> tuple[tuple[str, str], ...]:
        """The conclusions of the newest check run of each name on a commit."""
        path = f"/commits/{sha}/check-runs"
        runs = self._api.listed(
            ApiRequest("GET", path, "list check runs", "checks: read"),
            lambda one: (int(one["id"]), str(one["name"]), str(one["conclusion"] or "")),
            "check_runs",
        )
        return tuple({name: conclusion for _, name, conclusion in sorted(runs)}.items())

    def read_pull_requests(self) -> None:
        """Read one page of pull requests, to see whether this token may."""
        what, query = "list pull requests", {"per_page": "1"}
        self._api.ask(ApiRequest("GET", "/pulls", what, "pull-requests: read", query=query))

    def read_check_runs(self, ref: str) -> None:
        """Read one page of a commit's check runs, to see whether this token may."""
        path, query = f"/commits/{quote(ref, safe='')}/check-runs", {"per_page": "1"}
        self._api.ask(ApiRequest("GET", path, "list check runs", "checks: read", query=query))


def _app(given: Any) -> int | None:
    """Return who has to write a check; GitHub says -1 for anybody, too."""
    return given if isinstance(given, int) and given > 0 else None


_ACTIONS = "actions: read"
_SECONDS = 20
_ZIP_SPARE = 100_000
"""Bytes of an archive beyond those of its one file."""

_UNPACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others zipfile unpacks all at once
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, NotImplementedError,
    RuntimeError, OSError, EOFError,
)  # fmt: skip
"""What zipfile raises, an exception of its own for each kind of damage."""

PUSH_WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between questions about a push that the list of pushes does not show yet."""


class GitHubForge:
    """Fulfils `ports.forge.Forge` for one repository on GitHub, GHES or ghe.com."""

    def __init__(
        self,
        access: GitHubAccess,
        limits: RetryLimits | None = None,
        *,
        needs: JobPermissions = WRITES,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = GitHubTransport(access, limits or RetryLimits(), sleep=sleep, now=now)
        self._needs = needs
        self._sleep = sleep
        self._viewer = ""
        self._written: dict[int, CheckRun] = {}

    def pull_request(self, number: int) -> PullRequest:
        """The pull request as it is now."""
        what = f"show pull request {number}"
        asked = ApiRequest("GET", f"/pulls/{number}", what, self._needs.pulls)
        return self._api.told(asked, shapes.pull_request)

    def viewer(self) -> str:
        """The login under which this token writes.

        Costs no request once a check run or a comment was written: the answer names us. Tokens of
        Apps may not ask `GET /user`, but everyone may ask GraphQL.
        """
        if not self._viewer:
            what, body = "say whose token this is", {"query": "query { viewer { login } }"}
            asked = ApiRequest("POST", "/graphql", what, "metadata: read", body)
            self._viewer = self._api.told(
                asked, lambda found: str(found["data"]["viewer"]["login"])
            )
        return self._viewer

    def comments(self, pull_request: int) -> tuple[Comment, ...]:
        """All comments of a pull request, oldest first."""
        what = f"list the comments on pull request {pull_request}"
        asked = ApiRequest("GET", f"/issues/{pull_request}/comments", what, self._needs.pulls)
        return tuple(self._api.listed(asked, shapes.comment))

    def create_comment(self, pull_request: int, body: Safe) -> Comment:
        """Write a new comment."""
        what = f"take a comment on pull request {pull_request}"
        made = self._comment("POST", f"/issues/{pull_request}/comments", what, body)
        self._viewer = self._viewer or made.author
        return made

    def update_comment(self, comment: int, body: Safe) -> Comment:
        """Replace the body of a comment."""
        return self._comment("PATCH", f"/issues/comments/{comment}", "change our comment", body)

    def _comment(self, verb: str, path: str, what: str, body: Safe) -> Comment:
        asked = ApiRequest(verb, path, what, self._needs.pulls, {"body": body})
        return self._api.told(asked, shapes.comment)

    def delete_comment(self, comment: int) -> None:
        """Delete a comment; nothing happens when it is gone."""
        self._delete(f"/issues/comments/{comment}", "delete our comment")

    def remove_label(self, pull_request: int, label: str) -> None:
        """Take a label off; nothing happens when it is gone."""
        path = f"/issues/{pull_request}/labels/{quote(label, safe='')}"
        self._delete(path, f"take the label {label} off pull request {pull_request}")

    def _delete(self, path: str, what: str) -> None:
        self._api.ask(ApiRequest("DELETE", path, what, self._needs.pulls, missing_ok=True))

    def label_events(self, pull_request: int) -> tuple[LabelEvent, ...]:
        """Every time a label was put on a pull request or taken off, oldest first."""
        what = f"list the events of pull request {pull_request}"
        asked = ApiRequest("GET", f"/issues/{pull_request}/events", what, self._needs.pulls)
        found = [event for event in self._api.listed(asked, shapes.label_event) if event]
        return tuple(sorted(found, key=lambda event: event.number))

    def role(self, login: str) -> str:
        """The person's role in the repository; empty for somebody unknown."""
        what = f"say which role {login} has"
        path = f"/collaborators/{quote(login, safe='')}/permission"
        content = self._api.ask(ApiRequest("GET", path, what, "metadata: read", missing_ok=True))
        return str(content.get("role_name") or "") if isinstance(content, dict) else ""

    def newest_push(self, repository: str, branch: str, *, upto: str) -> Push:
        """The newest push to a branch by the activity of its repository; empty if it tells of none.

        While that does not show the commit `upto`, it is asked again after each of `PUSH_WAITS`.
        """
        what = f"list the pushes to {branch}"
        query = {"ref": f"refs/heads/{branch}", "per_page": "1"}
        asked = ApiRequest("GET", "/activity", what, "contents: read", query=query)
        for wait in (*PUSH_WAITS, None):
            found = self._api.told(
                asked._replace(repository=repository),
                lambda content: shapes.push(content[0]) if content else Push(),
            )
            if found.after == upto or wait is None:
                break
            self._sleep(wait)
        return found

    def last_commit(self, path: str, tip: str) -> str:
        """The last commit up to a tip that wrote a file; empty if none did."""
        what = f"find the commit that wrote {path} last"
        query = {"path": path, "sha": tip, "per_page": "1"}
        asked = ApiRequest("GET", "/commits", what, "contents: read", query=query)
        return self._api.told(asked, lambda found: str(found[0]["sha"]) if found else "")

    def check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """All check runs of this name on a commit, of whatever App, newest first."""
        what, query = f"list the check runs of {sha[:7]}", {"check_name": name, "filter": "all"}
        path = f"/commits/{sha}/check-runs"
        asked = ApiRequest("GET", path, what, self._needs.checks, query=query)
        found = self._api.listed(asked, shapes.check_run, "check_runs")
        return tuple(sorted(found, key=lambda run: -run.number))

    def written_check_runs(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """Those that were made or changed through this object, newest first."""
        found = [one for one in self._written.values() if (one.head_sha, one.name) == (sha, name)]
        return tuple(sorted(found, key=lambda run: -run.number))

    def annotations(self, check_run: int) -> tuple[Annotation, ...]:
        """The annotations of a check run, in the order in which they were made."""
        what, path = "list the annotations of a check run", f"/check-runs/{check_run}/annotations"
        asked = ApiRequest("GET", path, what, self._needs.checks)
        return tuple(self._api.listed(asked, shapes.annotation))

    def create_check_run(self, sha: str, report: CheckReport) -> CheckRun:
        """Make a check run on a commit."""
        body = {**shapes.check_body(report), "head_sha": sha}
        return self._check_run("POST", "/check-runs", f"take a check run on {sha[:7]}", body)

    def update_check_run(self, check_run: int, report: CheckReport) -> CheckRun:
        """Replace what a check run says; annotations are added."""
        path = f"/check-runs/{check_run}"
        return self._check_run("PATCH", path, "change our check run", shapes.check_body(report))

    def _check_run(self, verb: str, path: str, what: str, body: dict[str, Any]) -> CheckRun:
        asked = ApiRequest(verb, path, what, self._needs.checks, body)
        run = self._api.told(asked, shapes.check_run)
        self._written[run.number] = run
        self._viewer = self._viewer or (f"{run.app}[bot]" if run.app else "")
        return run

    def workflow_run(self, number: int) -> WorkflowRun:
        """A run of a workflow by its id."""
        what = f"show the workflow run {number}"
        asked = ApiRequest("GET", f"/actions/runs/{number}", what, _ACTIONS)
        return self._api.told(asked, shapes.workflow_run)

    def artifacts(self, run: int, name: str) -> tuple[Artifact, ...]:
        """What a run uploaded under this name."""
        what, path = f"list the artifacts of run {run}", f"/actions/runs/{run}/artifacts"
        found = self._api.told(
            ApiRequest("GET", path, what, _ACTIONS, query={"name": name}),
            lambda content: [shapes.artifact(one) for one in content["artifacts"]],
        )
        return tuple(one for one in found if one.name == name)

    def artifact_file(self, artifact: Artifact, name: str, *, limit: int) -> bytes | None:
        """The file of this name in an artifact; no more than `limit` bytes are ever unpacked."""
        if artifact.expired or artifact.size > limit + _ZIP_SPARE:
            return None
        what = f"give the artifact {artifact.name}"
        path = f"/actions/artifacts/{artifact.number}/zip"
        place = self._api.redirect(ApiRequest("GET", path, what, _ACTIONS))
        archive = downloaded(place, what, limit + _ZIP_SPARE, self._api.authorities)
        if artifact.digest not in {"", hashlib.sha256(archive).hexdigest()}:
            raise ForgeUnavailable(f"What GitHub's store gave is damaged: no {artifact.name}.")
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as files:
                if files.getinfo(name).compress_type not in _UNPACKED:
                    return None
                with files.open(name) as file:
                    content = file.read(limit + 1)
        except _DAMAGE:
            return None
        return content if len(content) <= limit else None


def downloaded(place: str, what: str, limit: int, authorities: str) -> bytes:
    """Return what is at an address that GitHub named, at most `limit` bytes, without any token.

    `authorities` is a file of certificates, empty for those that the HTTP library knows. Raises
    `ForgeRejected` for one that is not https, but for this machine, and `ForgeUnavailable`.
    """
    import requests  # PyGithub's HTTP library

    parts = urlsplit(place)
    loopback = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise ForgeRejected(f"GitHub named a place without encryption and did not {what}.")
    try:
        with requests.get(
            place,
            timeout=_SECONDS,
            stream=True,
            verify=authorities or True,
            allow_redirects=False,
            auth=lambda request: request,  # no credentials, those of a .netrc included
        ) as answer:
            if answer.status_code != requests.codes.ok:
                raise ForgeUnavailable(f"GitHub's store answered {answer.status_code}: no {what}.")
            content = answer.raw.read(limit + 1, decode_content=True)
    except (OSError, requests.RequestException) as error:
        raise ForgeUnavailable(f"GitHub's store did not {what} ({type(error).__name__}).") from None
    if len(content) > limit:
        raise ForgeRejected(f"It is larger than {limit:,} bytes, so GitHub did not {what}.")
    return bytes(content)


def read_shared_rules(
    source: RulesSource, token: str, environ: Mapping[str, str], *, where: str
) -> bytes:
    """Return the file at that commit, as a token may see it. Raises `ForgeError`.

    `where` tells how to give a token.
    """
    if not token:
        raise ForgeRejected("There is no token to read them with.", hint=where)
    try:
        access = access_in(environ, source.repository, token)
    except ValueError as error:
        raise ForgeRejected(f"GitHub cannot be reached with this environment: {error}.")
    what, query = f"give {source}", {"ref": source.commit}
    path = f"/contents/{quote(source.path)}"
    try:
        asked = ApiRequest("GET", path, what, "contents: read", query=query)
        content = GitHubTransport(access, RetryLimits()).ask(asked)
    except (MissingPermission, NotOnForge) as error:  # another token may see it
        raise ForgeRejected(error.message, hint=where) from error
    with understood(what):
        if isinstance(content, list) or content["type"] != "file":
            raise ForgeRejected(f"GitHub did not {what}: it is no file.")
        if content["encoding"] != "base64":
            raise ForgeRejected(f"GitHub did not {what}: the file is larger than 1 MB.")
        return _checked(content["content"], content["sha"], what)


def _checked(encoded: str, blob: str, what: str) -> bytes:
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
    except ValueError:
        raise ForgeRejected(f"GitHub did not {what}: its answer cannot be decoded.")
    made = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if made != blob:
        raise ForgeRejected(f"GitHub did not {what}: the content is not that of blob {blob:.40}.")
    return data
