from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from gateval.adapters.git.repository import GitRepository
from gateval.errors import RepositoryError
from tests.helpers.repo import Repo


def files(repo: Repo, tree: str) -> dict[str, bytes]:
    """Path → content of every file in a tree, as git itself tells it."""
    names = repo.git("ls-tree", "-r", "-z", "--name-only", tree).decode().split("\0")[:-1]
    return {name: repo.git("cat-file", "blob", f"{tree}:{name}") for name in names}


def test_a_snapshot_holds_the_working_tree_as_it_lies_there(
    repo: Repo, found: GitRepository
) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.write("kept", "kept")
    repo.write("edited", "before")
    repo.write("deleted", "gone")
    repo.commit()
    repo.write("edited", "staged")
    repo.git("add", "edited")
    repo.write("edited", "not staged")
    repo.write("untracked", "new")
    repo.write("debug.log", "ignored")
    repo.write("intended", "intended")
    repo.git("add", "--intent-to-add", "intended")
    repo.delete("deleted")
    revision = found.worktree()
    assert (revision.name, revision.commit, revision.worktree) == ("WORKTREE", None, True)
    assert revision.short == "working tree"
    assert files(repo, revision.tree) == {
        ".gitignore": b"*.log\n",
        "edited": b"not staged",
        "intended": b"intended",
        "kept": b"kept",
        "untracked": b"new",
    }


@pytest.mark.parametrize("split", ["false", "true"])
def test_nothing_in_the_repository_moves(repo: Repo, found: GitRepository, split: str) -> None:
    repo.git("config", "core.splitIndex", split)
    repo.write("file", "one")
    repo.commit()
    repo.write("staged", "staged")
    repo.git("add", "staged")
    repo.write("file", "two")
    os.utime(repo.path / "staged", (1, 1))
    index = repo.path / ".git/index"
    status, content, written = repo.status(), index.read_bytes(), index.stat().st_mtime_ns
    beside = sorted(path.name for path in (repo.path / ".git").iterdir())
    assert found.has_changes()
    first = found.worktree()
    assert found.worktree() == first
    assert (index.read_bytes(), index.stat().st_mtime_ns) == (content, written)
    assert sorted(path.name for path in (repo.path / ".git").iterdir()) == beside
    assert repo.status() == status
    assert files(repo, first.tree) == {"file": b"two", "staged": b"staged"}


def test_a_change_of_the_same_size_right_after_a_commit_is_seen(
    repo: Repo, found: GitRepository
) -> None:
    for turn in range(5):
        repo.write("file", f"a{turn}")
        repo.commit()
        repo.write("file", f"b{turn}")
        assert files(repo, found.worktree().tree) == {"file": f"b{turn}".encode()}


def test_a_repository_without_commits_or_index(repo: Repo, found: GitRepository) -> None:
    assert not found.has_changes()
    assert found.tree(found.worktree()) == {}
    repo.write("file", "content")
    assert found.has_changes()
    assert files(repo, found.worktree().tree) == {"file": b"content"}
    assert not (repo.path / ".git/index").exists()


def test_a_clean_tree_is_the_tree_of_head(repo: Repo, found: GitRepository) -> None:
    repo.write("file", "content")
    repo.commit()
    assert not found.has_changes()
    assert found.worktree().tree == found.resolve("HEAD").tree


@pytest.mark.parametrize("change", ["edit", "stage", "delete", "untracked", "mode"])
def test_every_kind_of_change_counts(repo: Repo, found: GitRepository, change: str) -> None:
    repo.write("file", "content")
    repo.commit()
    if change == "untracked":
        repo.write("folder/new")
    elif change == "delete":
        repo.delete("file")
    elif change == "mode":
        (repo.path / "file").chmod(0o755)
    else:
        repo.write("file", "edited")
    if change == "stage":
        repo.git("add", "--all")
        repo.git("config", "status.showUntrackedFiles", "no")
    assert found.has_changes()


def test_conflicted_files_go_in_as_they_stand(repo: Repo, found: GitRepository) -> None:
    repo.write("file", "base\n")
    repo.commit()
    repo.branch("side")
    repo.write("file", "side\n")
    repo.commit()
    repo.checkout("main")
    repo.write("file", "main\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    before = (repo.path / ".git/index").read_bytes()
    assert found.has_changes()
    content = files(repo, found.worktree().tree)["file"]
    assert content.startswith(b"<<<<<<< HEAD\nmain\n=======\nside\n>>>>>>> side")
    assert (repo.path / ".git/index").read_bytes() == before


def test_embedded_repositories_count_as_submodules(repo: Repo, found: GitRepository) -> None:
    repo.write("file", "content")
    repo.commit()
    embedded = Repo(repo.path / "embedded")
    commit = embedded.commit()
    empty = Repo(repo.path / "empty")
    Repo(repo.path / "deep/empty too")
    empty.write("inside", "not part of the outer repository")
    tree = found.tree(found.worktree())
    assert set(tree) == {"embedded", "file"}
    assert tree["embedded"].is_submodule
    assert tree["embedded"].oid == commit


def test_edits_in_a_submodule_are_a_change_and_in_no_snapshot(
    repo: Repo, found: GitRepository
) -> None:
    embedded = Repo(repo.path / "embedded")
    embedded.write("file", "one")
    embedded.commit()
    repo.commit()
    embedded.write("new", "untracked")
    assert not found.has_changes()
    assert found.edited_submodules() == ()
    embedded.write("file", "two")
    assert found.has_changes()
    assert found.edited_submodules() == ("embedded",)
    assert found.worktree().tree == found.resolve("HEAD").tree
    commit = embedded.commit()
    assert found.has_changes()
    assert found.tree(found.worktree())["embedded"].oid == commit


def test_line_ends_follow_the_users_configuration_without_a_warning_becoming_an_error(
    repo: Repo, found: GitRepository
) -> None:
    repo.git("config", "core.safecrlf", "true")
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.write("mixed.txt", "one\r\ntwo\n")
    assert files(repo, found.worktree().tree)["mixed.txt"] == b"one\ntwo\n"


def test_a_failing_filter_is_an_error_not_a_hole(repo: Repo, found: GitRepository) -> None:
    repo.write(".gitattributes", "secret filter=broken\n")
    repo.commit()
    repo.git("config", "filter.broken.clean", "false")
    repo.git("config", "filter.broken.required", "true")
    repo.write("secret", "content")
    with pytest.raises(RepositoryError, match="`git add` failed"):
        found.worktree()


def test_odd_names_survive(repo: Repo, found: GitRepository, tmp_path: Path) -> None:
    names = {"-x", "a b", "new\nline", "tab\t", "\udcff", "größe", ":(top)x", "*", '"'}
    for name in names:
        repo.write(name, name.encode(errors="surrogateescape"))
    revision = found.worktree()
    assert set(found.tree(revision)) == names
    found.export(revision, tmp_path / "export")
    for name in names:
        content = (tmp_path / "export" / name).read_bytes()
        assert content == name.encode(errors="surrogateescape")


def test_a_sparse_checkout_keeps_what_is_not_checked_out(repo: Repo, found: GitRepository) -> None:
    repo.write("in/file", "in")
    repo.write("out/file", "out")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    repo.write("in/file", "changed")
    assert files(repo, found.worktree().tree) == {"in/file": b"changed", "out/file": b"out"}


def test_files_that_come_and_go_meanwhile_are_no_error(repo: Repo, found: GitRepository) -> None:
    repo.write("kept", "kept")
    done = Event()

    def write_and_replace() -> None:
        while not done.is_set():
            passing = repo.path / ".kept.temporary"
            passing.write_text("kept")
            passing.unlink()
            done.wait(0.002)

    with ThreadPoolExecutor() as beside:
        busy = beside.submit(write_and_replace)
        try:
            taken = [files(repo, found.worktree().tree) for _ in range(100)]
        finally:
            done.set()
        busy.result()
    assert all(each["kept"] == b"kept" for each in taken)
