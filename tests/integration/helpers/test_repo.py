from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.repo import Repo


def build(path: Path) -> Repo:
    repo = Repo(path)
    repo.write("a.txt", "one\n")
    repo.write("bin/run", "#!/bin/sh\n", executable=True)
    repo.link("latest", "a.txt")
    repo.commit("First")
    repo.branch("feature")
    repo.rename("a.txt", "docs/b.txt")
    repo.delete("bin")
    repo.commit("Second")
    return repo


def test_the_same_steps_give_the_same_commits(tmp_path: Path) -> None:
    one, other = build(tmp_path / "one"), build(tmp_path / "other")
    assert one.id("HEAD") == other.id("HEAD")
    assert one.git("log", "-1", "--format=%an %aI") == b"Ada 2026-01-01T00:01:00+00:00\n"


def test_write_link_rename_and_delete_end_up_in_commits(tmp_path: Path) -> None:
    repo = build(tmp_path / "repo")
    listed = repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert listed == [b"docs/b.txt", b"latest"]
    repo.checkout("main")
    modes = [line.split()[0] for line in repo.git("ls-tree", "-r", "HEAD").splitlines()]
    assert modes == [b"100644", b"100755", b"120000"]
    assert repo.status() == b""


def test_a_clone_is_a_repository_of_its_own(tmp_path: Path) -> None:
    source = build(tmp_path / "source")
    clone = Repo.clone(source.path, tmp_path / "clone", "--depth=1")
    clone.commit("Third")
    assert clone.id("HEAD~1") == source.id("HEAD")


def test_many_files_join_those_that_are_there(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    first = repo.commit_many({"a": "one"})
    repo.write("b", "two")
    repo.commit()
    repo.commit_many({f"many/{n}": f"grüße\n{n}" for n in range(500)} | {"a": "three"})
    assert repo.id("HEAD~2") == first
    assert len(repo.git("ls-files").splitlines()) == 502
    assert (repo.path / "a").read_text() == "three"
    assert (repo.path / "many/7").read_text() == "grüße\n7"
    assert repo.status() == b""


def test_a_failing_git_shows_its_words(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no-such-branch"):
        Repo(tmp_path / "repo").checkout("no-such-branch")
