"""Revisions forged to write outside the export, into a `.git`, or without end."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from gateval.adapters.git.export import write_tree
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.git.run import Git
from gateval.domain.tree import check_links
from gateval.errors import RepositoryError
from tests.helpers import forged
from tests.helpers.listing import listing
from tests.helpers.repo import Repo


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".git", "no file may have"),
        (".git/config", "no file may have"),
        ("a/.GIT/hooks/post-checkout", "no file may have"),
        ("..", "no file may have"),
        ("../escaped", "no file may have"),
        ("a/../../escaped", "no file may have"),
        (".", "no file may have"),
        ("a//b", "empty filename"),
        ("x" * 300, "File name too long"),
        ("/".join(["d" * 250] * 17), "no file may have"),
    ],
)
def test_forged_paths_are_refused(
    repo: Repo, found: GitRepository, target: Path, path: str, why: str
) -> None:
    entry = forged.path_entry(repo, path, forged.FILE, forged.blob(repo, b"evil"))
    commit = forged.commit(repo, [entry])
    with pytest.raises(RepositoryError, match=why) as caught:
        found.export(found.resolve(commit), target)
    assert len(caught.value.message) < 400
    assert listing(target) == {}
    assert not (target.parent / "escaped").exists()


@pytest.mark.parametrize("name", ["/tmp/escaped", "../escaped", "a/../../escaped", ".git/config"])
def test_forged_names_with_slashes_are_refused(
    repo: Repo, found: GitRepository, target: Path, name: str
) -> None:
    commit = forged.commit(repo, [(forged.FILE, name, forged.blob(repo, b"evil"))])
    with pytest.raises(RepositoryError, match="no file may have"):
        found.export(found.resolve(commit), target)
    assert listing(target) == {}


def test_nothing_is_written_through_a_link(
    repo: Repo, found: GitRepository, target: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    inner = forged.tree(repo, [(forged.FILE, "file", forged.blob(repo, b"evil"))])
    for text in (str(tmp_path / "outside"), "elsewhere"):
        link = (forged.LINK, "a", forged.blob(repo, text.encode()))
        commit = forged.commit(repo, [link, (forged.FOLDER, "a", inner)])
        with pytest.raises(RepositoryError, match="a is a folder and something else"):
            found.export(found.resolve(commit), target)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ({"a": "/etc/passwd"}, "a"),
        ({"a": "../outside"}, "a"),
        ({"folder/a": "../../outside"}, "folder/a"),
        ({"a": ".", "b": "a/../.."}, "b"),
        ({"a": "missing/../.."}, "a"),
        ({"odd\nname": "/"}, '"odd\\nname"'),
        ({"a": "a"}, "a"),
    ],
)
def test_links_that_lead_out_are_refused_before_anything_is_written(
    repo: Repo, found: GitRepository, target: Path, links: dict[str, str], named: str
) -> None:
    repo.write("file", "content")
    for name, text in links.items():
        repo.link(name, text)
    repo.commit()
    with pytest.raises(RepositoryError) as caught:
        found.export(found.resolve("HEAD"), target)
    assert f"The symbolic link {named} " in caught.value.message
    assert listing(target) == {}


def test_a_revision_larger_than_the_limit_is_refused(
    repo: Repo, found: GitRepository, target: Path
) -> None:
    for name in "abcde":
        repo.write(name, "the same ten")
    repo.commit()
    entries = found.tree(found.resolve("HEAD"))
    with pytest.raises(RepositoryError, match="have more than 50 bytes"):
        write_tree(Git(repo.path, repo.env), entries, target, limit=50)
    assert len(listing(target)) == 4


def test_a_link_of_megabytes_is_refused(repo: Repo, found: GitRepository, target: Path) -> None:
    oid = forged.blob(repo, b"a/" * 1_000_000)
    commit = forged.commit(repo, [(forged.LINK, "a", oid)])
    with pytest.raises(RepositoryError, match="The symbolic link a is 2,000,000 bytes long"):
        found.export(found.resolve(commit), target)


def test_accepted_links_never_leave_the_folder(tmp_path: Path) -> None:
    """The check, held against the file system on every set of links of a small world."""
    accepted = 0
    texts = ["..", ".", "b", "c/..", "b/../..", "../d", "c/b/../../..", "d/b"]
    for number, (one, other, third) in enumerate(itertools.product(texts, repeat=3)):
        links = {"a": one, "b": other, "d/c": third}
        try:
            check_links(links)
        except RepositoryError:
            continue
        accepted += 1
        world = tmp_path / str(number)
        (world / "d").mkdir(parents=True)
        for name, text in links.items():
            (world / name).symlink_to(text)
        for name in links:
            assert os.path.realpath(world / name).startswith(str(world.resolve()))
    assert accepted > 20
