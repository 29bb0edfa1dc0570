"""Attacks by environment and configuration: nothing redirects git, nothing of it runs programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.errors import RepositoryError
from tests.helpers.repo import Repo


@pytest.fixture
def spy(tmp_path: Path) -> Path:
    """A program that leaves the file `ran` beside itself."""
    script = tmp_path / "spy"
    script.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    script.chmod(0o755)
    return script


def use_everything(found: GitRepository, folder: Path) -> None:
    revision = found.resolve("HEAD")
    tree = found.tree(revision)
    found.blobs([entry.oid for entry in tree.values()], limit=100)
    found.default_branch()
    found.merge_bases("HEAD", "main")
    found.lfs_pointers(revision, tree)
    found.has_changes()
    found.worktree()
    found.export(revision, folder)


def test_variables_that_redirect_git_are_ignored(repo: Repo, tmp_path: Path, spy: Path) -> None:
    other = Repo(tmp_path / "other")
    other.write("theirs", "theirs")
    other.commit("Theirs")
    repo.write("ours", "ours")
    commit = repo.commit()
    hostile = repo.env | {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_WORK_TREE": str(other.path),
        "GIT_INDEX_FILE": str(other.path / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git/objects"),
        "GIT_NAMESPACE": "theirs",
        "GIT_EXTERNAL_DIFF": str(spy),
        "GIT_TRACE": str(tmp_path / "ran"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(spy),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{spy}'",
    }
    found = open_repository(repo.path, hostile)
    assert found.root == repo.path.resolve()
    assert found.resolve("HEAD").commit == commit
    use_everything(found, tmp_path / "export")
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["ours"]
    assert not (tmp_path / "ran").exists()


def test_no_program_from_the_repository_configuration_runs(
    repo: Repo, tmp_path: Path, spy: Path
) -> None:
    repo.write("file", "one")
    repo.write(".gitattributes", "* diff=spy\n")
    repo.commit()
    repo.write("file", "two")
    hooks = repo.path / ".git/hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction"):
        (hooks / name).symlink_to(spy)
    for name in ("core.fsmonitor", "diff.external", "diff.spy.command", "diff.spy.textconv"):
        repo.git("config", name, str(spy))
    repo.git("config", "core.pager", str(spy))
    use_everything(open_repository(repo.path, repo.env), tmp_path / "export")
    assert not (tmp_path / "ran").exists()
    repo.git("status")
    assert (tmp_path / "ran").exists(), "the spy would have run"


def test_objects_are_read_without_filters(repo: Repo, tmp_path: Path, spy: Path) -> None:
    repo.write("file", "one")
    repo.commit()
    repo.write(".gitattributes", "* filter=spy text eol=crlf ident export-subst\n")
    repo.write("file", "$Id$ $Format:%H$\n")
    repo.commit()
    for kind in ("clean", "smudge", "process"):
        repo.git("config", f"filter.spy.{kind}", str(spy))
    found = open_repository(repo.path, repo.env)
    revision = found.resolve("HEAD")
    found.export(revision, tmp_path / "export")
    assert (tmp_path / "export/file").read_bytes() == b"$Id$ $Format:%H$\n"
    assert not (tmp_path / "ran").exists()


def test_replace_refs_and_grafts_do_not_change_history(repo: Repo) -> None:
    first = repo.commit("First")
    second = repo.commit("Second")
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.write("file", "forged")
    forged = repo.commit("Forged")
    repo.git("replace", second, forged)
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/grafts").write_text(f"{second}\n")
    found = open_repository(repo.path, repo.env)
    assert found.resolve(second).tree == found.resolve(first).tree
    assert found.merge_bases(first, second) == (first,)


@pytest.mark.parametrize("lazily", ["local", "ext"])
def test_missing_objects_are_not_fetched(
    repo: Repo, tmp_path: Path, spy: Path, lazily: str
) -> None:
    repo.write("file", "content")
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo.clone(repo.path, tmp_path / "clone", "--filter=blob:none", "--no-checkout")
    if lazily == "ext":
        clone.git("config", "protocol.ext.allow", "always")
        clone.git("config", "remote.origin.url", f"ext::{spy}")
    found = open_repository(clone.path, clone.env)
    revision = found.resolve("HEAD")
    entry = found.tree(revision)["file"]
    with pytest.raises(RepositoryError) as caught:
        found.blobs([entry.oid], limit=100)
    assert "--filter" in caught.value.hint
    with pytest.raises(RepositoryError, match="missing") as caught:
        found.export(revision, tmp_path / "export")
    assert "--filter" in caught.value.hint
    with pytest.raises(RepositoryError):
        found.lfs_pointers(revision, ["file"])
    assert not (tmp_path / "ran").exists()
