from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.errors import RepositoryError, UsageError
from tests.helpers import forged
from tests.helpers.repo import Repo


@pytest.mark.parametrize("name", ["main", "HEAD", "v1", "refs/heads/main", "v2", "HEAD@{0}"])
def test_every_name_of_a_commit_gives_commit_and_tree(repo: Repo, name: str) -> None:
    commit = repo.commit()
    repo.git("tag", "v1")
    repo.git("tag", "--annotate", "--message=Two", "v2")
    revision = open_repository(repo.path, repo.env).resolve(name)
    assert (revision.name, revision.commit) == (name, commit)
    assert revision.tree == repo.id("HEAD^{tree}")
    assert not revision.worktree


def test_names_beyond_ascii_and_with_spaces_work(repo: Repo) -> None:
    first = repo.commit("The first one")
    repo.branch("zweig/größer")
    repo.commit()
    found = open_repository(repo.path, repo.env)
    assert found.resolve("zweig/größer~1").commit == first
    assert found.resolve("HEAD^{/The first one}").commit == first


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("-x", "-x cannot be the name"),
        ("--batch-all-objects", "cannot be the name"),
        ("", "An empty name cannot be"),
        ("a\nHEAD", "cannot be the name"),
        ("a\0b", "cannot be the name"),
        ("a\x1b[31m", "cannot be the name"),
        ("a\x85b", "cannot be the name"),
        ("\udcff", "not valid UTF-8"),
        ("no-such-branch", "There is no revision no-such-branch"),
        ("0123456789012345678901234567890123456789", "There is no revision 0123"),
        ("main..main", "There is no revision"),
        ("^main", "There is no revision"),
        ("HEAD~7", "There is no revision HEAD~7"),
        ("HEAD:file", "names a blob, not a commit"),
        ("HEAD^{tree}", "names a tree, not a commit"),
        ("a\u2028b", "There is no revision"),
    ],
)
def test_other_names_are_refused_with_a_sentence(repo: Repo, name: str, why: str) -> None:
    repo.write("file")
    repo.commit()
    with pytest.raises(UsageError, match=why) as caught:
        open_repository(repo.path, repo.env).resolve(name)
    assert caught.value.message.isprintable()


def test_an_ambiguous_short_id_is_refused(repo: Repo) -> None:
    repo.commit()
    seen: dict[str, bytes] = {}
    for number in itertools.count():
        content = b"%d" % number
        raw = b"blob %d\0" % len(content) + content
        short = hashlib.sha1(raw, usedforsecurity=False).hexdigest()[:4]
        if short in seen:
            break
        seen[short] = content
    forged.blob(repo, content)
    forged.blob(repo, seen[short])
    with pytest.raises(UsageError, match=f"{short} is short for several objects"):
        open_repository(repo.path, repo.env).resolve(short)


@pytest.mark.parametrize("name", ["HEAD", "main", "HEAD~1"])
def test_a_repository_without_commits_is_said(repo: Repo, name: str) -> None:
    with pytest.raises(RepositoryError, match="has no commit yet") as caught:
        open_repository(repo.path, repo.env).resolve(name)
    assert caught.value.hint == "Commit something first."


def test_the_merge_base_is_where_the_branch_left(repo: Repo) -> None:
    start = repo.commit("Start")
    repo.branch("feature")
    feature = repo.commit("Feature")
    repo.checkout("main")
    main = repo.commit("Main")
    found = open_repository(repo.path, repo.env)
    assert found.merge_bases(main, feature) == (start,)
    assert found.merge_bases(start, feature) == (start,)


def test_branches_merged_into_each_other_have_several_merge_bases(repo: Repo) -> None:
    repo.commit("Start")
    repo.branch("feature")
    feature = repo.commit("Feature")
    repo.checkout("main")
    main = repo.commit("Main")
    for branch, other in (("main", feature), ("feature", main)):
        repo.checkout(branch)
        repo.git("merge", "--quiet", "--no-ff", "--message=Cross", other)
    found = open_repository(repo.path, repo.env)
    assert set(found.merge_bases("main", "feature")) == {main, feature}


def test_unrelated_histories_have_no_merge_base(repo: Repo) -> None:
    one = repo.commit("One")
    repo.git("checkout", "--quiet", "--orphan", "other")
    other = repo.commit("Other")
    assert open_repository(repo.path, repo.env).merge_bases(one, other) == ()


@pytest.mark.parametrize("name", ["0" * 40, "no-such", "--all"])
def test_a_merge_base_with_nothing_is_an_error(repo: Repo, name: str) -> None:
    commit = repo.commit()
    with pytest.raises((RepositoryError, UsageError)):
        open_repository(repo.path, repo.env).merge_bases(commit, name)


def test_shallow_clones_say_that_history_is_missing(repo: Repo, tmp_path: Path) -> None:
    start = repo.commit("Start")
    repo.branch("feature")
    repo.commit("Feature")
    repo.checkout("main")
    repo.commit("Main")
    clone = Repo.clone(repo.path, tmp_path / "clone", "--depth=1", "--no-single-branch")
    found = open_repository(clone.path, clone.env)
    with pytest.raises(RepositoryError, match="No common ancestor") as caught:
        found.merge_bases("origin/main", "origin/feature")
    assert "fetch-depth: 0" in caught.value.hint
    for name in (start, "HEAD~1"):
        with pytest.raises(RepositoryError, match="There is no revision") as caught:
            found.resolve(name)
        assert "fetch-depth: 0" in caught.value.hint


def test_a_clone_without_trees_says_so(repo: Repo, tmp_path: Path) -> None:
    repo.write("file")
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo.clone(repo.path, tmp_path / "clone", "--filter=tree:0", "--no-checkout")
    with pytest.raises(RepositoryError) as caught:
        open_repository(clone.path, clone.env).resolve("HEAD")
    assert "--filter" in caught.value.hint


class TestDefaultBranch:
    def test_what_the_remote_says_comes_first(self, repo: Repo, tmp_path: Path) -> None:
        repo.commit()
        repo.branch("trunk")
        clone = Repo.clone(repo.path, tmp_path / "clone")
        clone.branch("main", "origin/main")
        assert open_repository(clone.path, clone.env).default_branch() == "origin/trunk"

    @pytest.mark.parametrize(
        ("refs", "expected"),
        [
            (["refs/remotes/origin/main", "refs/remotes/origin/master"], "origin/main"),
            (["refs/remotes/origin/master", "refs/heads/other"], "origin/master"),
            (["refs/heads/master"], "master"),
            (["refs/heads/trunk"], "trunk"),
            (["refs/heads/other"], None),
            (["refs/heads/main/below"], None),
            (["refs/heads/master", "refs/tags/master"], "heads/master"),
            (["refs/remotes/origin/main", "refs/heads/origin/main"], "remotes/origin/main"),
        ],
    )
    def test_else_the_usual_names(self, repo: Repo, refs: list[str], expected: str | None) -> None:
        commit = repo.commit()
        repo.git("checkout", "--quiet", "--detach")
        repo.git("branch", "--delete", "--force", "main")
        repo.git("config", "init.defaultBranch", "trunk")
        for ref in refs:
            repo.git("update-ref", ref, commit)
        found = open_repository(repo.path, repo.env)
        assert found.default_branch() == expected
        if expected:
            assert found.resolve(expected).commit == commit

    def test_a_remote_head_that_leads_nowhere_is_passed_over(self, repo: Repo) -> None:
        repo.commit()
        repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
        assert open_repository(repo.path, repo.env).default_branch() == "main"

    def test_an_empty_repository_has_none(self, repo: Repo) -> None:
        assert open_repository(repo.path, repo.env).default_branch() is None


def test_a_remote_with_a_detached_head_names_no_branch(repo: Repo, tmp_path: Path) -> None:
    repo.write("file")
    start = repo.commit("Start")
    repo.checkout(start)
    loose = repo.commit("On no branch")
    clone = Repo.clone(repo.path, tmp_path / "clone")
    clone.git("update-ref", "refs/remotes/origin/HEAD", loose)
    found = open_repository(clone.path, clone.env)
    assert found.default_branch() == "origin/main"
    assert found.resolve("origin/main").commit == start
