from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from gateval.adapters.git.repository import GitRepository
from gateval.errors import RepositoryError
from tests.helpers.listing import listing
from tests.helpers.repo import Repo


def test_files_come_out_byte_for_byte(repo: Repo, found: GitRepository, target: Path) -> None:
    contents = {
        "plain": b"text\n",
        "empty": b"",
        "crlf.txt": b"one\r\ntwo\n",
        "binary": bytes(range(256)) * 5,
        "large": os.urandom(3_000_000),
        "deep/er/and/deeper": b"deep",
        "deep/beside": b"",
        "-x": b"-x",
        "a b": b"",
        "new\nline": b"",
        "\udcff\udcfe": b"",
        "größe": b"",
    }
    for name, content in contents.items():
        repo.write(name, content)
    repo.commit()
    repo.write("plain", "changed since")
    found.export(found.resolve("HEAD"), target)
    assert listing(target) == contents


def test_attributes_of_the_pull_request_change_nothing(
    repo: Repo, found: GitRepository, target: Path
) -> None:
    repo.git("config", "filter.upper.smudge", "tr a-z A-Z")
    contents = {
        "hidden": b"hidden",
        "subst": b"$Format:%H$ $Id$\n",
        "filtered": b"lower\n",
        ".gitattributes": (
            b"hidden export-ignore\nsubst export-subst ident\nfiltered filter=upper\n"
        ),
    }
    for name, content in contents.items():
        repo.write(name, content)
    repo.commit()
    repo.write(".gitattributes", contents[".gitattributes"] + b"* text eol=crlf\n")
    repo.git("config", "core.autocrlf", "true")
    found.export(found.resolve("HEAD"), target)
    assert listing(target) == contents


@pytest.mark.parametrize("mask", [0o000, 0o027, 0o077])
def test_modes_do_not_depend_on_the_umask(
    repo: Repo, found: GitRepository, target: Path, mask: int
) -> None:
    repo.write("folder/plain")
    repo.write("folder/program", executable=True)
    Repo(repo.path / "folder/module").commit()
    repo.commit()
    before = os.umask(mask)
    try:
        found.export(found.resolve("HEAD"), target)
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(target)): stat.S_IMODE(path.stat().st_mode)
        for path in target.rglob("*")
    }
    assert modes == {
        "folder": 0o755,
        "folder/module": 0o755,
        "folder/plain": 0o644,
        "folder/program": 0o755,
    }


def test_links_inside_are_kept(repo: Repo, found: GitRepository, target: Path) -> None:
    repo.write("folder/file", "content")
    links = {"link": "folder/file", "here": ".", "folder/up": "../here/link", "loose": "not/here"}
    for name, text in links.items():
        repo.link(name, text)
    repo.commit()
    found.export(found.resolve("HEAD"), target)
    assert listing(target) == {"folder/file": b"content", **links}
    assert (target / "folder/up").read_bytes() == b"content"


def test_a_submodule_is_an_empty_folder(repo: Repo, found: GitRepository, target: Path) -> None:
    Repo(repo.path / "deep/module").commit()
    repo.commit()
    found.export(found.resolve("HEAD"), target)
    assert list((target / "deep/module").iterdir()) == []


def test_names_that_differ_in_case_only_stay_apart(
    repo: Repo, found: GitRepository, target: Path
) -> None:
    repo.write("readme", "lower")
    repo.write("README", "upper")
    repo.commit()
    found.export(found.resolve("HEAD"), target)
    assert listing(target) == {"README": b"upper", "readme": b"lower"}


def test_a_pointer_of_git_lfs_stays_a_pointer(
    repo: Repo, found: GitRepository, target: Path
) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    repo.write("model.bin", pointer)
    repo.commit()
    found.export(found.resolve("HEAD"), target)
    assert listing(target) == {"model.bin": pointer}


def test_an_empty_revision_gives_an_empty_folder(
    repo: Repo, found: GitRepository, target: Path
) -> None:
    repo.commit()
    found.export(found.resolve("HEAD"), target)
    assert list(target.iterdir()) == []


def test_a_folder_in_use_is_refused(repo: Repo, found: GitRepository, target: Path) -> None:
    repo.commit()
    target.mkdir(parents=True)
    (target / "mine").write_text("mine")
    with pytest.raises(RepositoryError, match="is not empty"):
        found.export(found.resolve("HEAD"), target)


def test_a_large_blob_is_not_held_in_memory(repo: Repo, found: GitRepository, target: Path) -> None:
    size = 100_000_000
    repo.write("zeros", bytes(size))
    repo.commit()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found.export(found.resolve("HEAD"), target)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (target / "zeros").stat().st_size == size
    assert grown < 50_000, "kilobytes"
