from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.errors import RepositoryError
from tests.helpers.repo import Repo


def program(folder: Path, text: str) -> dict[str, str]:
    """Put a shell script called git into a folder; return an environment that finds it first."""
    folder.mkdir()
    script = folder / "git"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("start", [".", "a", "a/b c"])
def test_the_top_is_found_from_any_folder(repo: Repo, start: str) -> None:
    repo.write("a/b c/file")
    assert open_repository(repo.path / start, repo.env).root == repo.path.resolve()


def test_odd_folder_names_and_links_to_the_repository_work(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "odd\nname\udcff -x")
    commit = repo.commit()
    (tmp_path / "link").symlink_to(repo.path)
    found = open_repository(tmp_path / "link", repo.env)
    assert found.root == repo.path.resolve()
    assert found.resolve("HEAD").commit == commit


def test_a_linked_worktree_is_a_repository(repo: Repo, tmp_path: Path) -> None:
    repo.write("file", "one")
    repo.commit()
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/file").write_text("two")
    found = open_repository(tmp_path / "side", repo.env)
    assert found.root == (tmp_path / "side").resolve()
    assert found.has_changes()
    assert repo.git("show", f"{found.worktree().tree}:file") == b"two"
    assert repo.status() == b""


def test_a_sha256_repository_works(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo", object_format="sha256")
    repo.write("file", "content")
    commit = repo.commit()
    found = open_repository(repo.path, repo.env)
    revision = found.resolve("main")
    assert revision.commit == commit
    assert len(commit) == 64
    entry = found.tree(revision)["file"]
    assert found.blobs([entry.oid], limit=10) == {entry.oid: b"content"}


def test_a_folder_without_repository_is_refused(tmp_path: Path) -> None:
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    with pytest.raises(RepositoryError, match="not in a git repository") as caught:
        open_repository(tmp_path, env)
    assert caught.value.hint


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"There is no folder .*/nowhere"):
        open_repository(tmp_path / "nowhere")


@pytest.mark.parametrize("inside", [".", "refs"])
def test_a_bare_repository_is_refused(tmp_path: Path, inside: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.git("init", "--quiet", "--bare", "../bare.git")
    with pytest.raises(RepositoryError, match="bare repository"):
        open_repository(tmp_path / "bare.git" / inside, repo.env)


def test_the_git_folder_itself_is_refused(repo: Repo) -> None:
    with pytest.raises(RepositoryError, match="outside the working tree"):
        open_repository(repo.path / ".git", repo.env)


def test_a_work_tree_elsewhere_is_refused(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    repo.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(RepositoryError, match="outside the working tree"):
        open_repository(repo.path, repo.env)


def test_a_missing_git_is_said(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="git cannot be started") as caught:
        open_repository(repo.path, {"PATH": str(tmp_path)})
    assert "2.31" in caught.value.hint


def test_an_old_git_is_refused_with_its_version(repo: Repo, tmp_path: Path) -> None:
    old = (
        'case "$*" in *version*) echo git version 2.20.1 ;; *) echo --path-format=absolute ;; esac'
    )
    with pytest.raises(RepositoryError, match=r"git 2\.20\.1 is too old; Gateval needs 2\.31"):
        open_repository(repo.path, program(tmp_path / "bin", old))


def test_a_repository_of_another_user_comes_with_the_command_to_run(
    repo: Repo, tmp_path: Path
) -> None:
    real = shutil.which("git")
    env = program(tmp_path / "bin", f'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"')
    with pytest.raises(RepositoryError, match="does not trust the repository") as caught:
        open_repository(repo.path, {**env, "HOME": os.devnull})
    where = repo.path.resolve()
    assert f"git config --global --add safe.directory {where}" in caught.value.hint


def test_a_format_from_the_future_is_said(repo: Repo) -> None:
    repo.git("config", "core.repositoryFormatVersion", "99")
    with pytest.raises(RepositoryError, match="format") as caught:
        open_repository(repo.path, repo.env)
    assert "newer git" in caught.value.hint


def test_a_git_that_hangs_is_ended(repo: Repo, tmp_path: Path) -> None:
    env = program(tmp_path / "bin", "exec sleep 60")
    with pytest.raises(RepositoryError, match=r"did not end within 0\.2 seconds"):
        open_repository(repo.path, env, timeout=0.2)
