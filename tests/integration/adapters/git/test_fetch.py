"""What a runner's clone lacks is fetched over HTTP, with a token that nobody else sees."""

from __future__ import annotations

import base64
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.adapters.git.run import Git
from gateval.adapters.git.server import FIRST_DEPTH, Fetcher, FetchRetries, Remote
from gateval.errors import RepositoryError
from tests.helpers.certificates import self_signed
from tests.helpers.repo import Repo
from tests.servers.git_http import GitServer

TOKEN = "ghs_secret"

QUICK = FetchRetries(first_wait=0.01)


@pytest.fixture
def upstream(tmp_path: Path) -> Repo:
    """`main` with one commit, the pull request's head on top, and main moved on since."""
    repo = Repo(tmp_path / "srv/acme/shop")
    repo.write("a.txt", "one\n")
    repo.commit("One")
    repo.branch("change")
    repo.write("b.txt", "two\n")
    head = repo.commit("Two")
    repo.git("update-ref", "refs/pull/7/head", head)
    repo.checkout("main")
    repo.write("c.txt", "three\n")
    repo.commit("Three")
    repo.git("branch", "--delete", "--force", "change")
    return repo


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "srv", token=TOKEN) as server:
        yield server


def remote(server: GitServer, repo: Repo, token: str = TOKEN) -> Remote:
    return Remote(f"{server.url}/acme/shop/.git", token, repo.env)


def clone(upstream: Repo, path: Path, *options: str) -> Repo:
    return Repo.clone(upstream.path, path, "--branch=main", "--single-branch", *options)


def fetcher(repo: Repo, remote: Remote) -> Fetcher:
    return open_repository(repo.path, repo.env).fetcher(remote)


def files(repo: Repo) -> dict[str, bytes]:
    """Everything in the git folder but packs: configuration, refs, logs."""
    return {
        str(path.relative_to(repo.path)): path.read_bytes()
        for path in (repo.path / ".git").rglob("*")
        if path.is_file() and "objects" not in path.parts
    }


def test_the_tip_is_the_live_one(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone")
    upstream.write("d.txt", "four\n")
    tip = upstream.commit("Four")
    assert fetcher(here, remote(server, here)).tip("main") == tip != here.id("origin/main")


def test_a_head_that_no_branch_leads_to(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone")
    before = files(here)
    head = upstream.id("refs/pull/7/head")
    fetcher(here, remote(server, here)).bring([head], instead="refs/pull/7/head")
    assert open_repository(here.path, here.env).resolve(head).commit == head
    assert files(here) == before, "no ref, no FETCH_HEAD, no configuration is written"


def test_nothing_is_asked_when_nothing_is_missing(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    here = clone(upstream, tmp_path / "clone")
    fetcher(here, remote(server, here)).bring([here.id("HEAD"), here.id("HEAD~1")])
    assert server.seen == []


def test_a_shallow_clone_gets_what_it_needs_and_no_more(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    upstream.checkout("main")
    for number in range(3 * FIRST_DEPTH):
        upstream.commit(f"Main {number}")
    head, tip = upstream.id("refs/pull/7/head"), upstream.id("main")
    here = clone(upstream, tmp_path / "clone", "--depth=1")
    fetching = fetcher(here, remote(server, here))
    fetching.bring([head, tip])
    fetching.join(head, tip)
    repository = open_repository(here.path, here.env)
    assert repository.merge_bases(head, tip) == (upstream.id("refs/pull/7/head~1"),)


def test_history_deeper_than_all_steps_is_fetched_whole(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    upstream.checkout("main")
    for number in range(20):
        upstream.commit(f"Main {number}")
    head, tip = upstream.id("refs/pull/7/head"), upstream.id("main")
    here = clone(upstream, tmp_path / "clone", "--depth=1")
    fetching = Fetcher(Git(here.path, here.env), remote(server, here), depth=1, steps=(1, 1))
    fetching.bring([head, tip])
    fetching.join(head, tip)
    assert open_repository(here.path, here.env).merge_bases(head, tip) == (
        upstream.id(f"{tip}~21"),
    )


def test_a_cut_that_hides_the_better_merge_base_is_seen_through(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    """Head merges a long branch that began at main's tip, and a short one that began earlier."""
    upstream.checkout("main")
    old, tip = upstream.id("main~1"), upstream.id("main")
    upstream.branch("long", tip)
    for number in range(6):
        upstream.commit(f"Long {number}")
    upstream.branch("short", old)
    upstream.commit("Short")
    upstream.git("merge", "--quiet", "--no-ff", "--no-edit", "long")
    head = upstream.id("short")
    upstream.checkout("main")
    here = clone(upstream, tmp_path / "clone", "--depth=2")
    fetching = Fetcher(Git(here.path, here.env), remote(server, here), depth=3)
    fetching.bring([head, tip])
    repository = open_repository(here.path, here.env)
    assert repository.merge_bases(head, tip) == (old,), "the cut hides that main's tip is in head"
    fetching.join(head, tip)
    assert repository.merge_bases(head, tip) == (tip,)


def test_histories_that_never_meet(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    upstream.git("checkout", "--quiet", "--orphan", "other")
    other = upstream.commit("Other")
    here = clone(upstream, tmp_path / "clone", "--depth=1")
    fetching = fetcher(here, remote(server, here))
    tip = upstream.id("main")
    fetching.bring([other, tip])
    fetching.join(other, tip)
    assert open_repository(here.path, here.env).merge_bases(other, tip) == ()


def test_what_checkout_left_in_the_configuration_does_not_get_in_the_way(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    here = clone(upstream, tmp_path / "clone")
    here.git("config", f"http.{server.url}/.extraHeader", "Authorization: basic b2xk")
    here.git("config", "http.extraHeader", "Authorization: basic b2xkZXI=")
    assert fetcher(here, remote(server, here)).tip("main") == upstream.id("main")
    plain = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    assert set(server.seen) == {f"Basic {plain}"}


def test_the_clones_configuration_leads_the_token_nowhere_else(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    with GitServer(tmp_path / "srv", token="other") as thief:
        here = clone(upstream, tmp_path / "clone")
        here.git("config", f"url.{thief.url}/.insteadOf", f"{server.url}/")
        spy = here.path / "spy"
        here.write("spy", f"#!/bin/sh\nenv > {tmp_path}/stolen\n", executable=True)
        for key in ("credential.helper", "core.askPass", "core.alternateRefsCommand"):
            here.git("config", key, str(spy))
        with pytest.raises(RepositoryError, match="read no history"):
            fetcher(here, remote(server, here)).tip("main")
        assert set(thief.seen) == {""}, "no header went to the other server"
        assert not (tmp_path / "stolen").exists()


def test_the_token_is_on_no_command_line(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    """A git in front of the real one writes down how it was called."""
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    wrapper = bin_ / "git"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec {real.strip()} "$@"\n')
    wrapper.chmod(0o755)
    here = clone(upstream, tmp_path / "clone")
    environ = {**here.env, "PATH": f"{bin_}:{here.env['PATH']}"}
    found = open_repository(here.path, environ)
    fetching = found.fetcher(remote(server, here))
    fetching.bring([fetching.tip("main"), upstream.id("refs/pull/7/head")])
    calls = (tmp_path / "calls").read_text()
    assert "ls-remote" in calls
    assert "fetch" in calls
    assert TOKEN not in calls
    assert base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode() not in calls
    assert TOKEN not in repr(remote(server, here))


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_token_that_may_not_read(
    upstream: Repo, server: GitServer, tmp_path: Path, token: str
) -> None:
    here = clone(upstream, tmp_path / "clone")
    with pytest.raises(RepositoryError) as refused:
        fetcher(here, remote(server, here, token)).tip("main")
    assert "contents: read" in refused.value.hint


def test_a_branch_that_is_gone(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone")
    with pytest.raises(RepositoryError, match="not on the server"):
        fetcher(here, remote(server, here)).tip("release/1")


def test_a_commit_that_is_gone(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone")
    with pytest.raises(RepositoryError, match=r"not on the server|does not have"):
        fetcher(here, remote(server, here)).bring(["5" * 40], instead="refs/pull/7/head")


def test_a_server_that_is_not_there(upstream: Repo, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone")
    away = Remote("http://127.0.0.1:9/acme/shop", TOKEN, here.env)
    fetching = Fetcher(Git(here.path, here.env), away, retries=QUICK)
    with pytest.raises(RepositoryError, match="did not reach the server") as refused:
        fetching.tip("main")
    assert "fetch-depth" not in refused.value.sentence


def test_a_server_that_hangs_is_given_up_within_the_time(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    here = clone(upstream, tmp_path / "clone")
    server.silence = 60
    limits = QUICK._replace(silence=1, attempts=2)
    fetching = Fetcher(Git(here.path, here.env), remote(server, here), retries=limits)
    started = time.monotonic()
    with pytest.raises(RepositoryError, match="too slow"):
        fetching.tip("main")
    assert 2 <= time.monotonic() - started < 50


def test_a_git_that_does_not_end_leaves_no_lock_behind(
    upstream: Repo, server: GitServer, tmp_path: Path
) -> None:
    here = clone(upstream, tmp_path / "clone", "--depth=1")
    server.silence = 60
    limits = QUICK._replace(seconds=1)
    fetching = Fetcher(Git(here.path, here.env), remote(server, here), retries=limits)
    with pytest.raises(RepositoryError, match="did not end within 1 seconds"):
        fetching.bring([upstream.id("refs/pull/7/head")])
    assert not list((here.path / ".git").rglob("*.lock"))


@pytest.mark.parametrize("names", ["localhost", "elsewhere"])
def test_a_certificate_that_git_does_not_trust_is_no_outage(
    upstream: Repo, tmp_path: Path, names: str
) -> None:
    certificate = self_signed(tmp_path, names)
    with GitServer(tmp_path / "srv", certificate=certificate) as server:
        here = clone(upstream, tmp_path / "clone")
        trusted = {**here.env, "GIT_SSL_CAINFO": str(certificate)} if names == "elsewhere" else {}
        url = server.url.replace("127.0.0.1", "localhost")
        away = Remote(f"{url}/acme/shop/.git", "", {**here.env, **trusted})
        patient = FetchRetries(first_wait=60)
        fetching = Fetcher(Git(here.path, here.env), away, retries=patient)
        started = time.monotonic()
        with pytest.raises(RepositoryError, match="does not trust the server") as refused:
            fetching.tip("main")
        assert time.monotonic() - started < 50, "no second try"
        assert "GATEVAL_CA_FILE" in refused.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_workspace_of_another_user(upstream: Repo, server: GitServer, tmp_path: Path) -> None:
    here = clone(upstream, tmp_path / "clone", "--depth=1")
    for path in (here.path, *here.path.rglob("*")):
        os.lchown(path, 1001, 1001)
    head = upstream.id("refs/pull/7/head")
    environ = {**here.env, "HOME": str(tmp_path / "nowhere")}
    with pytest.raises(RepositoryError, match="belongs to another user"):
        open_repository(here.path, environ)
    found = open_repository(here.path, environ, trusted=True)
    fetching = found.fetcher(remote(server, here))
    fetching.bring([head, fetching.tip("main")])
    assert found.resolve(head).commit == head
    assert not (tmp_path / "nowhere").exists()
    folders = [path for path in (here.path / ".git").rglob("*") if path.is_dir()]
    assert {path.stat().st_uid for path in folders} == {1001}, "the runner can clean up"
