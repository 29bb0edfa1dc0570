"""Git that stays at work between questions: fewer starts, the same answers, nothing left."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateval.adapters.git.repository import GitRepository
from gateval.errors import RepositoryError
from tests.helpers.repo import Repo


def children() -> set[int]:
    """Return the processes that this one has."""
    lists = (path.read_text().split() for path in Path("/proc/self/task").glob("*/children"))
    return {int(pid) for pids in lists for pid in pids}


def committed(repo: Repo, **files: str) -> list[str]:
    for name, text in files.items():
        repo.write(name, text)
    repo.commit()
    return [repo.id(f"HEAD:{name}") for name in files]


def test_one_process_answers_all_and_ends_with_the_block(repo: Repo, found: GitRepository) -> None:
    one, two = committed(repo, one="1", two="2")
    before = children()
    with found.reading():
        assert found.blobs([one], limit=9) == {one: b"1"}
        started = children() - before
        assert len(started) == 1
        with found.reading():
            assert found.blobs([two, one], limit=9) == {two: b"2", one: b"1"}
        assert found.resolve("HEAD").commit == repo.id("HEAD")
        assert found.sizes([one]) == {one: 1}
        assert started < children() - before
        assert len(children() - before) == 2, "contents, and what is known of objects"
    assert children() == before
    found.blobs([one], limit=9)
    assert children() == before, "outside of a block nothing stays"


def test_it_sees_what_came_after_its_start(repo: Repo, found: GitRepository) -> None:
    committed(repo, one="1")
    with found.reading():
        first = found.resolve("main")
        found.blobs([repo.id("HEAD:one")], limit=9)
        (two,) = committed(repo, two="2")
        repo.git("gc", "--quiet", "--prune=now")
        assert found.resolve("main").commit == repo.id("HEAD") != first.commit
        assert found.blobs([two], limit=9) == {two: b"2"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_that_was_ended_between_questions_is_started_again(
    repo: Repo, found: GitRepository, number: signal.Signals
) -> None:
    """Ctrl-C reaches all processes of a terminal, and the gate still has to report."""
    (one,) = committed(repo, one="1")
    before = children()
    with found.reading():
        found.blobs([one], limit=9)
        (started,) = children() - before
        os.kill(started, number)
        os.waitid(os.P_PID, started, os.WEXITED | os.WNOWAIT)
        assert found.blobs([one], limit=9) == {one: b"1"}
    assert children() == before


def test_what_was_not_read_is_no_answer_to_the_next_question(
    repo: Repo, found: GitRepository
) -> None:
    large, small = committed(repo, large="x" * 100_000, small="2")
    with found.reading():
        assert found.blobs([small, large], limit=9) == {small: b"2", large: None}
        assert found.blobs([small], limit=9) == {small: b"2"}
        with pytest.raises(RepositoryError, match="missing"):
            found.blobs(["0" * 39 + "1", small], limit=9)
        assert found.blobs([small], limit=9) == {small: b"2"}


def test_two_threads_get_their_own_answers(repo: Repo, found: GitRepository) -> None:
    oids = committed(repo, **{f"file{number}": str(number) for number in range(40)})
    with found.reading(), ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(found.blobs, [oid], limit=9) for oid in oids * 5]
        answers = [one.result() for one in asked]
    assert answers == [{oid: str(number).encode()} for number, oid in enumerate(oids)] * 5


def test_the_end_of_a_block_waits_for_another_threads_answer(
    repo: Repo, found: GitRepository
) -> None:
    oids = committed(repo, **{f"file{number}": str(number) for number in range(20)})
    before = children()
    with ThreadPoolExecutor(1) as pool:
        asked = []
        for oid in oids * 10:
            with found.reading():
                asked.append(pool.submit(found.blobs, [oid], limit=9))
                found.sizes([oid])
        answers = [one.result() for one in asked]
    assert answers == [{oid: str(number).encode()} for number, oid in enumerate(oids)] * 10
    assert children() == before


def test_more_questions_than_a_pipe_takes(repo: Repo, found: GitRepository) -> None:
    """A process that stays would wait for the gate to read, and the gate for it."""
    repo.commit_many({f"file{number}": f"{number}" * 100 for number in range(3_000)})
    oids = [entry.oid for entry in found.tree(found.resolve("HEAD")).values()]
    with found.reading():
        assert len(found.sizes(oids)) == len(oids) == 3_000
        assert len(found.blobs(oids, limit=9_000)) == 3_000
