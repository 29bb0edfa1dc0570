"""Records that stay open for a run ask the remote once, and never write over what others wrote."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateval.adapters.git.record_errors import PATIENCE
from gateval.adapters.git.records import GitRecords, RecordsOnce, open_records
from gateval.adapters.git.repository import open_repository
from gateval.adapters.git.run import Git
from gateval.errors import RecordsError
from gateval.ports.storage import Edit, RecordFile, Stored
from tests.helpers.remotes import cloned
from tests.helpers.repo import Repo

LOG = RecordFile("refs/heads/gateval-audit", "audit.jsonl", 1_000_000, keeps_history=True)
HISTORY = RecordFile("refs/gateval/history", "history.jsonl", 1_000, keeps_history=False)
RUNS = RecordFile("refs/gateval/runs", "runs.jsonl", 1_000, keeps_history=False)
FILES = pytest.mark.parametrize("file", [LOG, HISTORY], ids=["log", "history"])


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Repo, Repo]:
    return cloned(tmp_path)


def records(repo: Repo) -> GitRecords:
    return open_repository(repo.path, repo.env).records(repo.env)


def add(found: GitRecords, file: RecordFile, text: bytes) -> None:
    found.change(file, lambda content: Edit(content + text, "Add a line"))


def others_add(repo: Repo, file: RecordFile, text: bytes) -> None:
    with records(repo) as other:
        add(other, file, text)


def content(origin: Repo, file: RecordFile) -> bytes:
    return origin.git("show", f"{file.ref}:{file.path}")


@contextlib.contextmanager
def out_of_reach(origin: Repo) -> Iterator[None]:
    """Have nobody find the remote for a while."""
    away = origin.path.with_name("away.git")
    shutil.move(origin.path, away)
    try:
        yield
    finally:
        shutil.move(away, origin.path)


def test_what_was_brought_along_is_read_without_the_remote(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    others_add(repo, HISTORY, b"verdict\n")
    tip = origin.id(HISTORY.ref)
    with records(repo) as found:
        found.preload(HISTORY, RUNS)
        with out_of_reach(origin):
            assert found.read(HISTORY) == Stored(b"verdict\n", tip)
            assert found.read(RUNS) is None


def test_it_is_read_once_and_then_anew(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    with records(repo) as found:
        found.preload(HISTORY, RUNS)
        assert found.read(HISTORY) is None
        others_add(repo, HISTORY, b"verdict\n")
        assert found.read(HISTORY) == Stored(b"verdict\n", origin.id(HISTORY.ref))
        origin.git("update-ref", "-d", HISTORY.ref)
        found.preload(HISTORY, RUNS)
        assert found.read(HISTORY) is None


def test_what_was_brought_along_is_too_old_after_a_while(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    old = PATIENCE._replace(fresh_seconds=0)
    others_add(repo, HISTORY, b"verdict\n")
    with open_records(Git(repo.path, repo.env), repo.env, retries=old) as found:
        found.preload(HISTORY, RUNS)
        others_add(repo, HISTORY, b"theirs\n")
        stored = found.read(HISTORY)
    assert stored
    assert stored.content == b"verdict\ntheirs\n"


@FILES
def test_what_others_wrote_since_it_was_read_stays(
    clone: tuple[Repo, Repo], file: RecordFile
) -> None:
    repo, origin = clone
    others_add(repo, file, b"first\n")
    with records(repo) as found:
        found.preload(HISTORY, RUNS)
        assert found.read(file)
        others_add(repo, file, b"theirs\n")
        add(found, file, b"ours\n")
        others_add(repo, file, b"theirs again\n")
        add(found, file, b"ours again\n")
    assert content(origin, file) == b"first\ntheirs\nours\ntheirs again\nours again\n"


@FILES
def test_a_ref_that_was_not_there_when_it_was_read(
    clone: tuple[Repo, Repo], file: RecordFile
) -> None:
    repo, origin = clone
    with records(repo) as found:
        found.preload(HISTORY, RUNS)
        assert found.read(file) is None
        others_add(repo, file, b"theirs\n")
        add(found, file, b"ours\n")
    assert content(origin, file) == b"theirs\nours\n"


@FILES
def test_a_ref_that_somebody_deleted_since(clone: tuple[Repo, Repo], file: RecordFile) -> None:
    repo, origin = clone
    others_add(repo, file, b"first\n")
    with records(repo) as found:
        assert found.read(file)
        origin.git("update-ref", "-d", file.ref)
        add(found, file, b"ours\n")
    assert content(origin, file).endswith(b"ours\n")


def test_nothing_to_write_is_decided_on_what_is_there_now(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    others_add(repo, HISTORY, b"verdict\n")

    def once(old: bytes) -> Edit | None:
        return None if b"verdict" in old else Edit(old + b"verdict\n", "Add it")

    with records(repo) as found:
        assert found.read(HISTORY)
        origin.git("update-ref", "-d", HISTORY.ref)
        found.change(HISTORY, once)
    assert content(origin, HISTORY) == b"verdict\n"


def test_a_file_beyond_its_limit_spoils_no_other(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    others_add(repo, HISTORY, b"x" * 900)
    others_add(repo, RUNS, b"run\n")
    small = HISTORY._replace(limit=100)
    with records(repo) as found:
        found.preload(small, RUNS)
        stored = found.read(RUNS)
        assert stored
        assert stored.content == b"run\n"
        with pytest.raises(RecordsError, match="is larger than 100 bytes"):
            found.read(small)


def test_a_remote_that_refuses_is_asked_again_when_it_is_read(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone
    others_add(repo, HISTORY, b"verdict\n")
    with records(repo) as found:
        with out_of_reach(origin):
            found.preload(HISTORY, RUNS)
        stored = found.read(HISTORY)
    assert stored
    assert stored.content == b"verdict\n"


def test_all_who_open_them_share_one_folder(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    with RecordsOnce(lambda: records(repo)) as opened:
        with opened() as first:
            first.preload(HISTORY, RUNS)
            folder = Path(first._private.folder)  # type: ignore[attr-defined]
        with opened() as second:
            assert second is first
            assert folder.is_dir()
    assert not folder.exists()


def test_what_cannot_be_opened_is_told_to_each_who_asks(clone: tuple[Repo, Repo]) -> None:
    repo, _ = clone
    repo.git("remote", "remove", "origin")
    with RecordsOnce(lambda: records(repo)) as opened:
        for _ in range(2):
            with pytest.raises(RecordsError, match="no remote origin"):
                opened()


def test_threads_that_share_them_lose_nothing(clone: tuple[Repo, Repo]) -> None:
    repo, origin = clone

    def write(number: int) -> None:
        add(found, (LOG, HISTORY)[number % 2], b"%d\n" % number)
        assert found.read(LOG) or number % 2

    with records(repo) as found, ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    for file, first in ((LOG, 0), (HISTORY, 1)):
        assert sorted(content(origin, file).split()) == [b"%d" % n for n in range(first, 8, 2)]


def test_who_comes_when_the_run_is_over_leaves_no_folder(
    clone: tuple[Repo, Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with records(clone[0]) as found:
        found.preload(HISTORY)
    with pytest.raises(RecordsError, match="The run is over"):
        found.read(LOG)
    assert list(tmp_path.glob("gateval-records-*")) == []
