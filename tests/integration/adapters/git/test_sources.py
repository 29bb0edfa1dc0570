"""Files of other repositories, from a real server of git over TLS."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.adapters.git.server import FetchRetries
from gateval.adapters.git.sources import GitSources
from gateval.app.readers import git_sources
from gateval.errors import RepositoryError
from tests.helpers.foreign import Elsewhere, elsewhere
from tests.helpers.repo import Repo

AT_ONCE = FetchRetries(attempts=1)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Elsewhere]:
    with elsewhere(tmp_path, {"docs/style.md": "Be kind.\n", "big.txt": "x" * 5_000}) as served:
        yield served


def sources(there: Elsewhere, tmp_path: Path) -> GitSources:
    return GitSources(tmp_path / "cache", there.environ, AT_ONCE)


def url(there: Elsewhere) -> str:
    return f"{there.url}/acme/rules.git"


def test_a_file_is_read_at_a_commit(there: Elsewhere, tmp_path: Path) -> None:
    first = there.repo.id("HEAD")
    there.repo.write("docs/style.md", "Be brief.\n")
    there.repo.commit()
    asked = sources(there, tmp_path)
    newest = asked.commit(url(there), "main")
    assert newest is not None
    assert asked.read(url(there), newest, "docs/style.md", limit=100) == b"Be brief.\n"
    assert asked.read(url(there), first, "docs/style.md", limit=100) == b"Be kind.\n"
    assert set(there.server.seen) == {""}


@pytest.mark.parametrize("home", [{}, {"HOME": ""}, {"HOME": "."}, {"XDG_CACHE_HOME": "here"}])
def test_without_a_home_nothing_is_kept_where_others_may_write(home: dict[str, str]) -> None:
    with pytest.raises(RepositoryError, match="no folder to be kept in"):
        git_sources(home).read("https://example.com/a.git", "0" * 40, "x", limit=1)


def test_what_was_read_is_kept(there: Elsewhere, tmp_path: Path) -> None:
    commit = there.repo.id("HEAD")
    sources(there, tmp_path).read(url(there), commit, "docs/style.md", limit=100)
    asked = len(there.server.seen)
    again = sources(there, tmp_path).read(url(there), commit, "docs/style.md", limit=100)
    assert (again, len(there.server.seen)) == (b"Be kind.\n", asked)


def test_only_the_file_is_fetched(there: Elsewhere, tmp_path: Path) -> None:
    commit = there.repo.id("HEAD")
    other = there.repo.id("HEAD:big.txt")
    sources(there, tmp_path).read(url(there), commit, "docs/style.md", limit=100)
    (folder,) = (tmp_path / "cache").iterdir()
    listed = Repo.at(folder).git("cat-file", "--batch-all-objects", "--batch-check").decode()
    assert there.repo.id("HEAD:docs/style.md") in listed
    assert other not in listed


@pytest.mark.parametrize(
    ("path", "said"),
    [("docs", "is no file"), ("docs/nope.md", "is no file"), ("big.txt", "more than 100 bytes")],
)
def test_what_is_no_small_file_is_refused(
    path: str, said: str, there: Elsewhere, tmp_path: Path
) -> None:
    commit = there.repo.id("HEAD")
    with pytest.raises(RepositoryError, match=said):
        sources(there, tmp_path).read(url(there), commit, path, limit=100)


def test_a_tag_is_found_and_an_unknown_ref_is_none(there: Elsewhere, tmp_path: Path) -> None:
    commit = there.repo.id("HEAD")
    there.repo.git("tag", "-a", "v1", "-m", "one")
    asked = sources(there, tmp_path)
    assert asked.commit(url(there), "v1") == commit
    assert asked.commit(url(there), "nope") is None


def test_a_redirect_is_not_followed(there: Elsewhere, tmp_path: Path) -> None:
    there.server.refuse["/acme/other.git"] = 301
    there.server.location = f"{url(there)}/info/refs?service=git-upload-pack"
    with pytest.raises(RepositoryError):
        sources(there, tmp_path).commit(f"{there.url}/acme/other.git", "main")


def test_a_transfer_has_an_end(there: Elsewhere, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(400_000).hex()
    there.repo.write("noise.txt", noise)
    there.repo.commit()
    commit = there.repo.id("HEAD")
    small = GitSources(tmp_path / "cache", there.environ, AT_ONCE, largest=100 * 1024)
    with pytest.raises(RepositoryError, match="more than 102,400 bytes"):
        small.read(url(there), commit, "noise.txt", limit=10**7)
    assert sources(there, tmp_path).read(url(there), commit, "noise.txt", limit=10**7)


def test_plain_http_is_not_spoken(there: Elsewhere, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError):
        sources(there, tmp_path).commit(url(there).replace("https", "http"), "main")
