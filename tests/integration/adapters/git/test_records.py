"""Records get to any remote that git can push to, and leave the clone as it was."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateval.adapters.git.records import GitRecords
from gateval.adapters.git.repository import open_repository
from gateval.domain.audit import append
from gateval.errors import RecordsError
from gateval.ports.storage import Edit, RecordFile, Stored
from tests.helpers.audit_events import event, reasons
from tests.helpers.remotes import cloned, everything
from tests.helpers.repo import Repo

LOG = RecordFile("refs/heads/gateval-audit", "audit.jsonl", 1_000_000, keeps_history=True)
CACHE = RecordFile("refs/gateval/history", "history.jsonl", 1_000, keeps_history=False)


def records(repo: Repo, remote: str = "origin", **extra: str) -> GitRecords:
    env = repo.env | extra
    return open_repository(repo.path, env).records(env, remote=remote)


def adding(text: bytes) -> Callable[[bytes], Edit]:
    return lambda content: Edit(content + text, "Add a line")


def commits(remote: Repo, ref: str) -> int:
    return int(remote.git("rev-list", "--count", ref))


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Repo, Repo]:
    return cloned(tmp_path)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_what_is_written_is_read_back(tmp_path: Path, object_format: str) -> None:
    repo, origin = cloned(tmp_path, object_format=object_format)
    with records(repo) as found:
        assert found.read(LOG) is None
        first = found.change(LOG, adding(b"one\n"))
        second = found.change(LOG, adding(b"two\n"))
    assert first != second
    with records(repo) as found:
        assert found.read(LOG) == Stored(b"one\ntwo\n", str(second))
    assert origin.id("gateval-audit") == second
    assert origin.id("gateval-audit~1") == first
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\ntwo\n"


def test_the_log_keeps_every_commit_and_the_cache_only_the_last(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        for text in (b"a\n", b"b\n", b"c\n"):
            found.change(LOG, adding(text))
            found.change(CACHE, adding(text))
        assert found.read(CACHE) == Stored(b"a\nb\nc\n", origin.id(CACHE.ref))
    assert commits(origin, LOG.ref) == 3
    assert commits(origin, CACHE.ref) == 1
    origin.git("fsck", "--strict", "--no-dangling")


def test_other_files_on_the_branch_stay(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    repo.git("push", "--quiet", "origin", "main:gateval-audit")
    with records(repo) as found:
        assert found.read(LOG) == Stored(None, repo.id("main"))
        found.change(LOG, adding(b"one\n"))
    assert origin.git("show", "gateval-audit:README.md") == b"Shop\n"
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\n"


def test_who_wrote_it_and_why(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        found.change(LOG, adding(b"one\n"))
    told = origin.git("log", "-1", "--format=%an <%ae>|%cn <%ce>|%B", LOG.ref).decode().strip()
    who = "Gateval <gateval@noreply.invalid>"
    assert told == f"{who}|{who}|Add a line"


def test_nothing_to_write_writes_nothing(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        assert found.change(LOG, lambda _: None) is None
    assert origin.git("for-each-ref", LOG.ref) == b""


def test_what_the_edit_raises_is_raised(clone: tuple[Repo, Repo]) -> None:
    def refuse(_: bytes) -> Edit:
        raise RecordsError("The log is broken.")

    with records(clone[0]) as found, pytest.raises(RecordsError, match="The log is broken"):
        found.change(LOG, refuse)


def test_a_file_beyond_its_limit_is_neither_written_nor_read(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    with records(repo) as found:
        found.change(CACHE, adding(b"x" * 1_000))
        with pytest.raises(RecordsError, match=r"history.jsonl .* is larger than 1,000 bytes"):
            found.change(CACHE, adding(b"x"))
        with pytest.raises(RecordsError, match="is larger than 999 bytes"):
            found.read(CACHE._replace(limit=999))


def test_a_folder_where_the_file_should_be(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    repo.write("audit.jsonl/x", "x")
    repo.commit()
    repo.git("push", "--quiet", "origin", "main:gateval-audit")
    with records(repo) as found, pytest.raises(RecordsError, match="is a tree, not a file"):
        found.read(LOG)


def test_eight_writers_at_once_lose_nothing(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone

    def write(writer: int) -> None:
        with records(repo) as found:
            for number in range(3):
                said = event(f"{writer}.{number}")
                found.change(LOG, lambda old, new=said: Edit(append(old, new)[0], "x"))  # type: ignore[misc]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    written = reasons(origin.git("show", "gateval-audit:audit.jsonl"))
    assert sorted(written) == sorted(f"{w}.{n}" for w in range(8) for n in range(3))
    for writer in range(8):
        mine = [reason for reason in written if reason.startswith(f"{writer}.")]
        assert mine == sorted(mine)
    assert commits(origin, LOG.ref) == 24


def test_writers_of_the_cache_lose_nothing_either(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone

    def write(writer: int) -> None:
        with records(repo) as found:
            found.change(CACHE, adding(f"{writer}\n".encode()))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    lines = origin.git("show", f"{CACHE.ref}:history.jsonl").split()
    assert sorted(lines) == [b"0", b"1", b"2", b"3"]


def test_the_clone_stays_as_it_is_byte_by_byte(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    repo.write("README.md", "Uncommitted\n")
    repo.write("staged.txt", "Staged\n")
    repo.git("add", "staged.txt")
    repo.write("untracked.txt", "Untracked\n")
    before = everything(repo.path)
    with records(repo) as found:
        found.change(LOG, adding(b"one\n"))
        found.read(LOG)
        found.change(CACHE, adding(b"one\n"))
    assert everything(repo.path) == before


def test_nothing_is_left_behind(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    repo, _ = clone
    with records(repo) as found:
        found.change(LOG, adding(b"one\n"))
        private = Path(found._private.folder)  # type: ignore[union-attr]
        assert private.is_dir()
    assert not private.exists()


def test_a_shallow_clone_writes_and_stays_shallow(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    repo, origin = clone
    repo.commit("Second")
    repo.git("push", "--quiet", "origin", "main")
    shallow = Repo.clone(origin.path, tmp_path / "shallow", "--depth=1")
    before = everything(shallow.path)
    with records(shallow) as found:
        found.change(LOG, adding(b"one\n"))
    with records(shallow) as found:
        found.change(LOG, adding(b"two\n"))
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\ntwo\n"
    assert commits(origin, LOG.ref) == 2
    assert everything(shallow.path) == before


def test_a_linked_worktree_and_a_path_as_remote(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    repo, origin = clone
    repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "--detach")
    linked = open_repository(tmp_path / "linked", repo.env)
    with linked.records(repo.env, remote="../origin.git") as found:
        found.change(LOG, adding(b"one\n"))
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\n"


def test_programs_that_the_clone_names_do_not_run(clone: tuple[Repo, Repo], tmp_path: Path) -> None:
    repo, origin = clone
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    spy.chmod(0o755)
    hooks = repo.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    names = ("pre-push", "reference-transaction", "pre-commit", "post-commit", "pre-auto-gc")
    for name in names:
        (hooks / name).symlink_to(spy)
    home = tmp_path / "home"
    (home / "hooks").mkdir(parents=True)
    # Others of the user's own hooks would run in the remote, which is the same user's here.
    (home / "hooks/pre-push").symlink_to(spy)
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {home}/hooks\n[init]\n\ttemplateDir = {home}\n"
        "[push]\n\tgpgSign = true\n\tfollowTags = true\n[commit]\n\tgpgSign = true\n"
        f"[gpg]\n\tprogram = {spy}\n"
    )
    for setting, value in (
        ("core.hooksPath", str(hooks)),
        ("core.fsmonitor", str(spy)),
        ("core.sshCommand", str(spy)),
        ("credential.helper", str(spy)),
        ("filter.x.clean", str(spy)),
        ("filter.x.smudge", str(spy)),
        ("core.gitProxy", str(spy)),
    ):
        repo.git("config", setting, value)
    repo.write(".gitattributes", "* filter=x\n")
    env = {name: value for name, value in repo.env.items() if name != "GIT_CONFIG_GLOBAL"}
    env["HOME"] = str(home)
    with open_repository(repo.path, env).records(env) as found:
        found.change(LOG, adding(b"one\n"))
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"one\n"
    assert not (tmp_path / "ran").exists()


def test_a_remote_that_comes_back_between_two_attempts(
    clone: tuple[Repo, Repo], tmp_path: Path
) -> None:
    repo, origin = clone
    seen = []

    def edit(content: bytes) -> Edit:
        seen.append(content)
        if len(seen) == 1:
            with records(repo) as other:
                other.change(LOG, adding(b"theirs\n"))
        return Edit(content + b"ours\n", "Add a line")

    with records(repo) as found:
        found.change(LOG, edit)
    assert seen == [b"", b"theirs\n"]
    assert origin.git("show", "gateval-audit:audit.jsonl") == b"theirs\nours\n"
