from __future__ import annotations

import itertools
import os
import resource
import stat
from pathlib import Path

import pytest

from gateval.adapters.git import GitRepository, open_repository
from gateval.adapters.git.export import write_tree
from gateval.adapters.git.links import check_links
from gateval.adapters.git.run import Git
from gateval.errors import RepositoryError
from tests.helpers import forged
from tests.helpers.repo import Repo


@pytest.fixture
def found(repo: Repo) -> GitRepository:
    return open_repository(repo.path, repo.env)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "exports/one"


def listing(folder: Path) -> dict[str, bytes | str]:
    """Path → content of files, target of links, for everything below a folder."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


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
    with pytest.raises(RepositoryError, match="larger than 50 bytes"):
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
