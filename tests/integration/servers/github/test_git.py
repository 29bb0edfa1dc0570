"""A real git client against the server's git over HTTP."""

from __future__ import annotations

import base64
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import github
import pytest

from tests.helpers.repo import Repo
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.people import User
from tests.servers.github.state.protection import Rule, Ruleset
from tests.servers.github.state.pull import Pull
from tests.servers.github.state.repository import Repository


@dataclass(frozen=True)
class Remote:
    """acme/shop with real git: `work` is where ada works, `pull` her pull request."""

    server: GitHubServer
    repo: Repository
    ada: User
    work: Repo
    pull: Pull

    def url(self, token: str | None) -> str:
        """Return the address to clone from."""
        who = f"x-access-token:{token}@" if token else ""
        return self.server.url.replace("://", f"://{who}") + "/acme/shop"

    def git(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run git somewhere, with HTTP allowed."""
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=self.work.env | {"GIT_ALLOW_PROTOCOL": "http:file"},
            capture_output=True,
            check=False,
            text=True,
        )


@pytest.fixture
def remote(github_server: GitHubServer, tmp_path: Path) -> Remote:
    """The shop, four commits on main and one on better."""
    world = github_server.world
    repo = world.repository("acme/shop", git=tmp_path / "remote" / "shop.git")
    ada = repo.role(world.user("ada"), "maintain")
    work = Repo(tmp_path / "work")
    for number in range(4):
        work.write("agent.yaml", f"version: {number}\n")
        work.commit(f"Version {number}")
    repo.push_from(work.path, "main", "main", by=ada)
    work.branch("better")
    work.write("better.md", "better\n")
    work.rename("agent.yaml", "agents/shop.yaml")
    work.commit("Better")
    repo.push_from(work.path, "better", "better", by=ada)
    return Remote(github_server, repo, ada, work, repo.open_pull("better", by=ada))


def test_anybody_clones_what_is_public_and_finds_the_pull_request(
    remote: Remote, tmp_path: Path
) -> None:
    done = remote.git(tmp_path, "clone", "--quiet", "--depth=1", remote.url(None), "clone")
    assert done.returncode == 0, done.stderr
    clone = tmp_path / "clone"
    assert remote.git(clone, "rev-list", "--count", "HEAD").stdout == "1\n"
    for ref, sha in {
        "refs/pull/1/head": remote.pull.head_sha,
        "refs/pull/1/merge": remote.pull.merge_commit_sha,
        remote.repo.branches["better"]: remote.repo.branches["better"],
    }.items():
        remote.git(clone, "fetch", "--quiet", "--depth=2", "origin", ref)
        assert remote.git(clone, "rev-parse", "FETCH_HEAD").stdout.strip() == sha
    parents = remote.git(clone, "rev-list", "--parents", "-1", str(remote.pull.merge_commit_sha))
    assert parents.stdout.split()[1:] == [remote.pull.base_sha, remote.pull.head_sha]


def test_a_shallow_clone_can_be_deepened(remote: Remote, tmp_path: Path) -> None:
    remote.git(tmp_path, "clone", "--quiet", "--depth=1", "-b", "better", remote.url(None), "clone")
    clone = tmp_path / "clone"
    base = ["merge-base", remote.pull.base_sha, "HEAD"]
    assert remote.git(clone, *base).returncode != 0
    done = remote.git(clone, "fetch", "--quiet", "--unshallow", "origin", remote.pull.base_sha)
    assert done.returncode == 0, done.stderr
    assert remote.git(clone, *base).stdout.strip() == remote.pull.base_sha


def test_the_api_knows_what_git_knows(remote: Remote) -> None:
    token = remote.server.world.workflow_token(remote.repo, pull_requests="read", contents="read")
    client = github.Github(
        auth=github.Auth.Token(token),
        base_url=remote.server.api_url,
        retry=None,
        seconds_between_requests=0,
    )
    with client:
        repo = client.get_repo("acme/shop")
        pull = repo.get_pull(1)
        seen = [(each.filename, each.status, each.previous_filename) for each in pull.get_files()]
        assert seen == [
            ("agents/shop.yaml", "renamed", "agent.yaml"),
            ("better.md", "added", None),
        ]
        commit = repo.get_commit(pull.head.sha)
        assert (commit.commit.message, commit.commit.author.name) == ("Better", "Ada")
        assert repo.compare("main", "better").ahead_by == 1
        ref = repo.get_git_ref("pull/1/merge")
        assert ref.object.sha == remote.pull.merge_commit_sha


def test_a_push_needs_contents_write_and_is_told_of(remote: Remote) -> None:
    world = remote.server.world
    reader = world.workflow_token(remote.repo, contents="read")
    writer = world.workflow_token(remote.repo, contents="write")
    remote.work.write("more.md", "more\n")
    sha = remote.work.commit("More")
    push = ["push", "--quiet", remote.url(reader), "better"]
    refused = remote.git(remote.work.path, *push)
    assert "403" in refused.stderr
    assert remote.pull.head_sha != sha
    before = remote.pull.head_sha
    done = remote.git(remote.work.path, *push[:2], remote.url(writer), "better")
    assert done.returncode == 0, done.stderr
    assert remote.pull.head_sha == sha
    assert remote.repo.git is not None
    assert remote.repo.git.refs()["refs/pull/1/head"] == sha
    told = remote.repo.activity[-1]
    assert (told.type, told.before, told.after) == ("push", before, sha)
    assert told.actor.login == "github-actions[bot]"


def test_a_force_push_and_other_refs(remote: Remote) -> None:
    token = remote.server.world.user_token(remote.ada)
    remote.work.git("reset", "--quiet", "--hard", "HEAD~1")
    sha = remote.work.commit("Rewritten")
    url = remote.url(token)
    refused = remote.git(remote.work.path, "push", url, "better")
    assert "non-fast-forward" in refused.stderr
    done = remote.git(remote.work.path, "push", "-f", url, "better", "better:refs/gateval/history")
    assert done.returncode == 0, done.stderr
    assert remote.repo.activity[-1].type == "force_push"
    assert remote.pull.head_sha == sha
    assert remote.repo.refs()["refs/gateval/history"] == sha
    hidden = remote.git(remote.work.path, "push", url, "better:refs/pull/1/head")
    assert "hidden ref" in hidden.stderr


def test_a_guarded_branch_is_neither_rewritten_nor_removed(remote: Remote) -> None:
    rules = (Rule("non_fast_forward"), Rule("deletion"))
    remote.repo.rulesets.append(Ruleset(1, "audit", ("better",), rules))
    url = remote.url(remote.server.world.user_token(remote.ada))
    remote.work.git("reset", "--quiet", "--hard", "HEAD~1")
    remote.work.commit("Rewritten")
    refused = remote.git(remote.work.path, "push", "--force", url, "better")
    assert "Cannot force-push to this branch" in refused.stderr
    refused = remote.git(remote.work.path, "push", url, ":better")
    assert "Cannot delete this branch" in refused.stderr
    remote.work.git("reset", "--quiet", "--hard", remote.pull.head_sha)
    remote.work.commit("On top")
    assert remote.git(remote.work.path, "push", url, "better").returncode == 0


@pytest.mark.parametrize("token", [None, "ghs_wrong"])
def test_a_bad_token_gets_no_further(remote: Remote, tmp_path: Path, token: str | None) -> None:
    private = remote.server.world.repository("acme/secret", git=tmp_path / "x.git", private=True)
    url = remote.url(token).replace("acme/shop", private.full_name)
    assert remote.git(tmp_path, "clone", url, "clone").returncode == 128
    assert remote.git(remote.work.path, "push", remote.url(token), "better").returncode == 128


def test_a_bad_token_in_the_header_is_refused_even_where_none_is_needed(
    remote: Remote, tmp_path: Path
) -> None:
    word = base64.b64encode(b"x-access-token:ghs_wrong").decode()
    header = f"http.extraheader=AUTHORIZATION: basic {word}"
    done = remote.git(tmp_path, "-c", header, "clone", remote.url(None), "clone")
    assert (done.returncode, (tmp_path / "clone").exists()) == (128, False)


def test_two_that_conflict_have_no_test_merge(remote: Remote) -> None:
    remote.work.checkout("main")
    remote.work.write("better.md", "other\n")
    remote.work.commit("Other")
    remote.repo.push_from(remote.work.path, "main", "main", by=remote.ada)
    remote.pull.push(remote.pull.head_sha)
    assert remote.pull.merge_commit_sha is None
    assert "refs/pull/1/merge" not in remote.repo.refs()


def test_what_is_merged_is_merged_in_git(remote: Remote) -> None:
    sha = remote.pull.merge(by=remote.ada)
    assert remote.repo.refs()["refs/heads/main"] == remote.repo.branches["main"] == sha
    done = remote.git(remote.work.path, "fetch", "--quiet", remote.url(None), "main")
    assert done.returncode == 0, done.stderr
    assert remote.work.git("log", "-1", "--format=%s", sha).startswith(b"Merge pull request #1")


def test_a_fork_lends_its_commits(remote: Remote, tmp_path: Path) -> None:
    world = remote.server.world
    eve = world.user("eve")
    fork = world.fork(remote.repo, eve, git=tmp_path / "fork.git")
    remote.work.branch("evil", "main")
    remote.work.write("evil.md", "x")
    sha = remote.work.commit("Evil")
    fork.push_from(remote.work.path, "evil", "evil", by=eve)
    pull = remote.repo.open_pull("evil", by=eve, fork=fork)
    remote.git(tmp_path, "clone", "--quiet", remote.url(None), "clone")
    fetched = remote.git(
        tmp_path / "clone", "fetch", "--quiet", "origin", f"pull/{pull.number}/head"
    )
    assert fetched.returncode == 0, fetched.stderr
    assert remote.git(tmp_path / "clone", "rev-parse", "FETCH_HEAD").stdout.strip() == sha


def test_a_push_can_be_lost_after_the_deed(remote: Remote) -> None:
    remote.server.faults.plant("POST", "*/git-receive-pack", drop=True, done=True)
    remote.work.write("more.md", "more\n")
    sha = remote.work.commit("More")
    url = remote.url(remote.server.world.user_token(remote.ada))
    assert remote.git(remote.work.path, "push", url, "better").returncode != 0
    assert remote.pull.head_sha == sha
    assert remote.server.git_log.of("POST", "*/git-receive-pack")[0].status == 0


def test_of_writers_at_once_each_wins_or_is_told(remote: Remote, tmp_path: Path) -> None:
    url = remote.url(remote.server.world.user_token(remote.ada))
    writers = []
    for number in range(6):
        clone = Repo.clone(remote.work.path, tmp_path / f"writer{number}", "--branch=main")
        clone.write(f"{number}.md", f"{number}\n")
        writers.append((clone.path, clone.commit(f"Writer {number}")))

    def push(writer: tuple[Path, str]) -> bool:
        return remote.git(writer[0], "push", "--quiet", url, "main").returncode == 0

    with ThreadPoolExecutor(len(writers)) as pool:
        won = [sha for (_, sha), ok in zip(writers, pool.map(push, writers), strict=True) if ok]
    assert [remote.repo.branches["main"]] == won
    assert [
        each.after for each in remote.repo.activity if each.after in dict(writers).values()
    ] == won


def test_a_long_history_is_read_at_once(remote: Remote) -> None:
    remote.work.checkout("main")
    for number in range(40):
        remote.work.commit(f"Step {number}")
    tip = remote.repo.push_from(remote.work.path, "main", "main", by=remote.ada)
    assert remote.repo.git is not None
    history = remote.repo.git.history(tip)
    assert len(history) == 44
    assert [commit.message for commit in history.values()][:2] == ["Step 39", "Step 38"]
    assert remote.repo.git.history("main") == remote.repo.git.history("0" * 40) == {}
