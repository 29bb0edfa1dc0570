from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from gateval.adapters.git.repository import GitRepository
from gateval.domain.tree import Revision, TreeEntry
from gateval.errors import RepositoryError
from tests.helpers import forged
from tests.helpers.repo import Repo


@pytest.fixture(params=["one process each", "one that stays"])
def found(found: GitRepository, request: pytest.FixtureRequest) -> Iterator[GitRepository]:
    """The repository, asked in both ways that there are."""
    with found.reading() if request.param == "one that stays" else nullcontext():
        yield found


def test_a_tree_lists_everything_with_mode_and_id(repo: Repo, found: GitRepository) -> None:
    repo.write("plain", "content")
    repo.write("folder/deep/program", "run", executable=True)
    repo.link("link", "plain")
    repo.write("new\nline\tand \udcff")
    inner = Repo(repo.path / "module").commit()
    repo.commit()
    tree = found.tree(found.resolve("HEAD"))
    assert tree == {
        "folder/deep/program": TreeEntry("100755", repo.id("HEAD:folder/deep/program")),
        "link": TreeEntry("120000", repo.id("HEAD:link")),
        "module": TreeEntry("160000", inner),
        "new\nline\tand \udcff": TreeEntry("100644", forged.blob(repo, b"")),
        "plain": TreeEntry("100644", repo.id("HEAD:plain")),
    }


def test_a_tree_that_lists_a_path_twice_is_refused(repo: Repo, found: GitRepository) -> None:
    one, other = forged.blob(repo, b"one"), forged.blob(repo, b"other")
    commit = forged.commit(repo, [(forged.FILE, "a", one), (forged.FILE, "a", other)])
    with pytest.raises(RepositoryError, match="lists a path twice"):
        found.tree(found.resolve(commit))


def test_a_tree_that_is_not_there_is_an_error(repo: Repo, found: GitRepository) -> None:
    with pytest.raises(RepositoryError, match="`git ls-tree` failed"):
        found.tree(Revision(name="gone", commit=None, tree="0123456789" * 4))


def test_a_tree_of_billions_of_files_ends_in_a_sentence(repo: Repo, found: GitRepository) -> None:
    oid, mode = forged.blob(repo, b"bomb"), forged.FILE
    for _ in range(10):
        oid = forged.tree(repo, [(mode, f"{n}{'x' * 99}", oid) for n in range(10)])
        mode = forged.FOLDER
    with pytest.raises(RepositoryError, match="answers with more than 134,217,728 bytes"):
        found.tree(Revision(name="bomb", commit=None, tree=oid))


def test_thousands_of_blobs_come_from_one_question(repo: Repo, found: GitRepository) -> None:
    contents = {f"{n:04}": f"{n}\n\0" * 300 for n in range(2_500)}
    repo.commit_many(contents)
    tree = found.tree(found.resolve("HEAD"))
    blobs = found.blobs((entry.oid for entry in tree.values()), limit=10_000)
    assert {name: blobs[entry.oid] for name, entry in tree.items()} == {
        name: content.encode() for name, content in contents.items()
    }


def test_blobs_above_the_limit_are_none_wherever_they_stand(
    repo: Repo, found: GitRepository
) -> None:
    small = [forged.blob(repo, b"%d" % n) for n in range(4)]
    exact = forged.blob(repo, b"x" * 1_000)
    large = [forged.blob(repo, b"y" * size) for size in (1_001, 20_000_000)]
    oids = [small[0], large[0], small[1], exact, large[1], small[2], small[0], small[3]]
    blobs = found.blobs(oids, limit=1_000)
    assert blobs == {
        small[0]: b"0",
        small[1]: b"1",
        small[2]: b"2",
        small[3]: b"3",
        exact: b"x" * 1_000,
        large[0]: None,
        large[1]: None,
    }


def test_no_blobs_are_no_question(found: GitRepository) -> None:
    assert found.blobs([], limit=1) == {}


@pytest.mark.parametrize("limit", [0, 100])
def test_a_missing_object_is_an_error(repo: Repo, found: GitRepository, limit: int) -> None:
    gone = "0123456789" * 4
    with pytest.raises(RepositoryError, match=f"object {gone} is missing") as caught:
        found.blobs([forged.blob(repo, b"here"), gone], limit=limit)
    assert "partial clone" in caught.value.hint


def test_what_is_no_file_is_an_error(repo: Repo, found: GitRepository) -> None:
    commit = repo.commit()
    with pytest.raises(RepositoryError, match="not the content of a file"):
        found.blobs([commit], limit=100)


def test_a_broken_object_is_an_error(repo: Repo, found: GitRepository) -> None:
    oid = forged.blob(repo, b"content" * 100)
    stored = repo.path / ".git/objects" / oid[:2] / oid[2:]
    content = stored.read_bytes()
    stored.chmod(0o644)
    stored.write_bytes(content[: len(content) // 2])
    with pytest.raises(RepositoryError):
        found.blobs([oid], limit=10_000)


def test_pointers_of_git_lfs_are_found(repo: Repo, found: GitRepository) -> None:
    pointer = (
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
        "size 12345\n"
    )
    repo.write("model.bin", pointer)
    repo.write("copy -of\nmodel.bin", pointer)
    repo.write("not listed", pointer)
    repo.write("about-lfs.md", "It says:\n" + pointer)
    repo.write("long", pointer + "x" * 1_000)
    repo.write("empty")
    repo.link("link", pointer)
    repo.commit()
    revision = found.resolve("HEAD")
    paths = ["link", "missing", "model.bin", "about-lfs.md", "long", "empty", "copy -of\nmodel.bin"]
    assert found.lfs_pointers(revision, paths) == ("model.bin", "copy -of\nmodel.bin")
    assert found.lfs_pointers(revision, []) == ()
