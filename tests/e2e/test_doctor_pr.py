"""`gateval doctor --pr N`: one pull request played through, against a GitHub that answers as one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_doctor import required
from tests.e2e.test_doctor_workflows import FILTERED, WORKFLOW, workflow
from tests.helpers.command import ROOT, gateval
from tests.helpers.repo import Repo
from tests.servers.github.state.commits import ChangedFile
from tests.servers.github.state.protection import Rule, Ruleset

if TYPE_CHECKING:
    from tests.servers.github.server import GitHubServer
    from tests.servers.github.state.pull import Pull
    from tests.servers.github.state.repository import Repository

QUEUE = Rule(
    "merge_queue",
    {
        "check_response_timeout_minutes": 60,
        "grouping_strategy": "ALLGREEN",
        "max_entries_to_build": 5,
        "max_entries_to_merge": 5,
        "merge_method": "MERGE",
        "min_entries_to_merge": 1,
        "min_entries_to_merge_wait_minutes": 5,
    },
)
ACTIONS = 15_368


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A clone that `init` has set up."""
    made = Repo(tmp_path / "new")
    assert gateval(made, "init").returncode == 0
    made.commit()
    return made


@pytest.fixture
def there(github_server: GitHubServer) -> Repository:
    """The same repository on GitHub, where main requires the gate's check of GitHub Actions."""
    made = github_server.world.repository("acme/shop")
    ada = made.role(github_server.world.user("ada"), "maintain")
    made.push("better", made.commit("Better", on="main"), by=ada)
    made.rulesets.append(Ruleset(7, "gate", ("main",), (required("gateval", ACTIONS),)))
    return made


def opened(there: Repository, *paths: str, branch: str = "better") -> Pull:
    """Ada's pull request, which touches these files."""
    pull = there.open_pull(branch, by=there.world.user("ada"))
    pull.files = [
        ChangedFile(path, "modified") for path in paths or ("agents/assistant/agent.yaml",)
    ]
    return pull


def asked(
    repo: Repo, github: GitHubServer, number: int, **environment: str
) -> subprocess.CompletedProcess[str]:
    there = github.world.repositories["acme/shop"]
    token = github.world.workflow_token(there, contents="read", pull_requests="read", checks="read")
    known = {"GITHUB_REPOSITORY": "acme/shop", "GITHUB_API_URL": github.api_url}
    return gateval(
        repo, "doctor", "--pr", str(number), **{"GITHUB_TOKEN": token, **known, **environment}
    )


def test_one_that_is_measured_and_can_be_merged(
    repo: Repo, there: Repository, github_server: GitHubServer
) -> None:
    pull = opened(there)
    done = asked(repo, github_server, pull.number)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.rstrip().split("\n")[-1]
    assert last.startswith(
        f"Pull request #{pull.number} would be measured and could be merged, because"
    )
    assert f"{WORKFLOW} runs at each push" in last
    assert "There is no check gateval on its head" in done.stdout
    there.add_check(
        "gateval",
        pull.head_sha,
        app=there.world.apps["github-actions"],
        status="completed",
        conclusion="failure",
    )
    assert f"on its head {pull.head_sha[:7]}: failure." in asked(repo, github_server, 1).stdout


def fork(there: Repository, pull: Pull) -> None:
    mallory = there.world.user("mallory")
    pull.head_repo, pull.author = there.world.fork(there, mallory), mallory


def conflicting(_: Repository, pull: Pull) -> None:
    pull.merge_commit_sha = None


def closed(there: Repository, pull: Pull) -> None:
    pull.close(by=there.world.user("ada"))


def from_anybody(there: Repository, _: Pull) -> None:
    there.rulesets[:] = [Ruleset(7, "gate", ("main",), (required("gateval"),))]


def not_required(there: Repository, _: Pull) -> None:
    there.rulesets.clear()


def queued(there: Repository, _: Pull) -> None:
    there.rulesets.append(Ruleset(8, "queue", ("main",), (QUEUE,)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (fork, "It is from a fork, whose run has no keys and may write nothing"),
        (conflicting, "Its branches conflict, and then GitHub starts no run"),
        (closed, "It is closed"),
        (from_anybody, "main requires the check gateval from any source"),
        (not_required, "main does not require the check gateval: a failed gate can be merged"),
        (queued, "main has a merge queue, and no job runs on merge_group"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_stands_in_its_way(
    repo: Repo,
    there: Repository,
    github_server: GitHubServer,
    change: Callable[[Repository, Pull], None],
    sentence: str,
) -> None:
    pull = opened(there)
    change(there, pull)
    done = asked(repo, github_server, pull.number)
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stdout.rstrip().split("\n")[-1]
    assert f"#{pull.number} would hang or go unmeasured, because" in last
    assert sentence in last


@pytest.mark.parametrize(
    ("text", "paths", "code", "sentence"),
    [
        (workflow(FILTERED), ("prompts/a.md",), 0, "would be measured"),
        (workflow(FILTERED), ("src/a.py",), 1, "its filter of paths leaves out all that this"),
        (workflow("pull_request: {paths: ['**', '!docs/**']}"), ("docs/a",), 1, "filter of paths"),
        (workflow("pull_request: {paths-ignore: ['*.md']}"), ("a.md", "b/c.md"), 0, "measured"),
        (workflow("pull_request: {paths-ignore: ['**.md']}"), ("a.md", "b/c.md"), 1, "of paths"),
        (workflow("pull_request: {branches: ['rel*']}"), (), 1, "leaves out main"),
        (workflow("pull_request: {types: [opened]}"), (), 1, "no run starts on synchronize"),
        (workflow(job="if: github.event.pull_request.user.login == 'ada'"), (), 0, "measured"),
        (workflow(job="if: contains(github.event.pull_request.labels.*.name, 'ai')"), (), 0, "and"),
        (workflow(job="if: contains(github.event.pull_request.labels.*.name, 'x')"), (), 1, "`if`"),
        (workflow(job="if: vars.EVALS"), (), 3, "cannot be told: "),
        (workflow(rights=""), (), 1, "no check run is written"),
        (workflow(steps="- uses: gateval/gateval@v0.1.0\n"), (), 1, "checks the repository out"),
    ],
)
def test_workflows_are_asked_about_this_one(
    repo: Repo,
    there: Repository,
    github_server: GitHubServer,
    text: str,
    paths: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    pull = opened(there, *paths)
    pull.label("ai", by=there.world.user("ada"))
    repo.write(WORKFLOW, text)
    done = asked(repo, github_server, pull.number)
    assert done.returncode == code, done.stdout + done.stderr
    assert sentence in done.stdout


def test_a_fork_s_is_started_by_hand_where_there_is_a_workflow_for_it(
    repo: Repo, there: Repository, github_server: GitHubServer
) -> None:
    pull = opened(there)
    fork(there, pull)
    text = (ROOT / "examples/workflows/maintainers.yml").read_text("utf-8")
    repo.write(".github/workflows/maintainers.yml", text)
    done = asked(repo, github_server, pull.number)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert (
        f"starts .github/workflows/maintainers.yml by hand, with the number {pull.number}." in said
    )


def test_another_target_branch_has_a_check_of_its_own(
    repo: Repo, there: Repository, github_server: GitHubServer
) -> None:
    ada = there.world.user("ada")
    there.push("release", there.branches["main"], by=ada)
    pull = there.open_pull("better", by=ada, into="release")
    assert asked(repo, github_server, pull.number).returncode == 1
    check = required("gateval (into release)", ACTIONS)
    there.rulesets.append(Ruleset(9, "release", ("release",), (check,)))
    done = asked(repo, github_server, pull.number)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "release requires the check gateval (into release) from GitHub Actions." in done.stdout


def test_where_github_cannot_be_asked(
    repo: Repo, there: Repository, github_server: GitHubServer
) -> None:
    opened(there)
    missing = asked(repo, github_server, 99)
    assert missing.returncode == 3, missing.stdout
    assert "it did not show pull request 99" in missing.stderr
    alone = asked(repo, github_server, 1, GITHUB_TOKEN="")
    assert alone.returncode == 2
    assert "No token" in alone.stderr
    assert asked(repo, github_server, 1, GITHUB_TOKEN="ghs_unknown").returncode == 3
