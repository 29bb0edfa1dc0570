from __future__ import annotations

import itertools
import os
import re
import resource
import time
from pathlib import Path

import pytest

from gateval.adapters.results_folder import create_results_folder, moment_token, run_id
from gateval.errors import EvaluationError, UsageError
from tests.helpers.repo import Repo


class StoppedClock:
    """Fulfils `ports.clock.Clock`; always the same moment."""

    def monotonic(self) -> float:
        return 0.0

    def utc_now(self) -> str:
        return "2026-11-20T09:30:00Z"


CLOCK = StoppedClock()


def test_a_run_is_called_by_its_time_and_a_token() -> None:
    assert run_id("2026-11-20T09:30:00Z", "ab12") == "20261120-093000-ab12"


def test_results_do_not_dirty_the_working_tree(repo: Repo) -> None:
    folder = create_results_folder(repo.path, CLOCK, token=lambda: "ab12")
    assert folder.run == "20261120-093000-ab12"
    assert folder.path == repo.path / ".gateval/results/20261120-093000-ab12"
    written = folder.write("results.v1.json", b"{}")
    assert written == folder.path / "results.v1.json"
    assert written.read_bytes() == b"{}"
    assert repo.status() == b""
    assert (repo.path / ".gateval/results/.gitignore").read_bytes() == b"*\n"


def test_runs_of_the_same_second_get_folders_of_their_own(repo: Repo) -> None:
    tokens = itertools.chain(["aaaa", "aaaa", "bbbb"])
    one = create_results_folder(repo.path, CLOCK, token=lambda: next(tokens))
    other = create_results_folder(repo.path, CLOCK, token=lambda: next(tokens))
    assert (one.run[-4:], other.run[-4:]) == ("aaaa", "bbbb")
    with pytest.raises(UsageError, match="no free name"):
        create_results_folder(repo.path, CLOCK, token=lambda: "aaaa")


def test_a_gitignore_that_is_there_stays(repo: Repo) -> None:
    repo.write(".gateval/results/.gitignore", "*\n!kept\n")
    create_results_folder(repo.path, CLOCK)
    assert (repo.path / ".gateval/results/.gitignore").read_text() == "*\n!kept\n"


def test_writing_replaces_a_file_whole_and_leaves_nothing_beside(repo: Repo) -> None:
    folder = create_results_folder(repo.path, CLOCK)
    first = folder.write("comment.md", b"one")
    with first.open("rb") as reader:
        folder.write("comment.md", b"two" * 100_000)
        assert reader.read() == b"one", "a reader keeps the file it opened"
    assert [path.name for path in folder.path.iterdir()] == ["comment.md"]
    assert first.stat().st_size == 300_000


def test_writing_replaces_a_link_instead_of_following_it(repo: Repo, tmp_path: Path) -> None:
    folder = create_results_folder(repo.path, CLOCK)
    (tmp_path / "precious").write_bytes(b"precious")
    (folder.path / "comment.md").symlink_to(tmp_path / "precious")
    folder.write("comment.md", b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert (folder.path / "comment.md").read_bytes() == b"new"


def test_a_write_that_fails_leaves_nothing(repo: Repo) -> None:
    folder = create_results_folder(repo.path, CLOCK)
    (folder.path / "comment.md").mkdir()
    with pytest.raises(EvaluationError, match=r"/comment\.md could not be written"):
        folder.write("comment.md", b"new")
    assert [path.name for path in folder.path.iterdir()] == ["comment.md"]


def test_a_disk_that_is_full_is_no_usage_error(repo: Repo) -> None:
    folder = create_results_folder(repo.path, CLOCK)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(EvaluationError, match="could not be written: File too large"):
            folder.write("results.v1.json", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize("where", [".gateval", ".gateval/results"])
@pytest.mark.parametrize("kind", ["link", "loose link", "file"])
def test_links_and_files_in_the_way_are_refused_by_name(
    repo: Repo, tmp_path: Path, where: str, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if kind == "file":
        repo.write(where, "in the way")
    else:
        repo.link(where, str(outside) if kind == "link" else "../nowhere")
    repo.commit()
    with pytest.raises(UsageError, match="is a symbolic link or no folder") as caught:
        create_results_folder(repo.path, CLOCK)
    assert f" {Path(where).name} is" in caught.value.message
    assert caught.value.hint
    assert list(outside.iterdir()) == []
    assert repo.status() == b""


def test_a_gitignore_that_is_a_link_is_refused(repo: Repo, tmp_path: Path) -> None:
    repo.link(".gateval/results/.gitignore", str(tmp_path / "elsewhere"))
    with pytest.raises(UsageError, match="no regular file"):
        create_results_folder(repo.path, CLOCK)
    assert not (tmp_path / "elsewhere").exists()


def test_a_chosen_folder_is_taken_as_it_is(repo: Repo, tmp_path: Path) -> None:
    chosen = tmp_path / "new/results"
    folder = create_results_folder(repo.path, CLOCK, chosen=chosen, token=lambda: "ab12")
    assert (folder.run, folder.path) == ("20261120-093000-ab12", chosen)
    folder.write("results.v1.json", b"{}")
    assert not (repo.path / ".gateval").exists()
    with pytest.raises(UsageError, match="is not empty"):
        create_results_folder(repo.path, CLOCK, chosen=chosen)


@pytest.mark.parametrize("chosen", ["out", "out/deep", "a/out", "a/out/deep/er", "b/../a/out/deep"])
def test_a_link_in_the_repository_on_the_way_to_a_chosen_folder_is_refused(
    repo: Repo, tmp_path: Path, chosen: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    repo.write("b/file", "x")
    repo.link("out", str(outside))
    repo.link("a/out", "../../outside")
    repo.commit()
    with pytest.raises(UsageError, match="out is a symbolic link or no folder"):
        create_results_folder(repo.path, CLOCK, chosen=repo.path / chosen)
    assert [path.name for path in outside.rglob("*")] == ["deep"]


def test_links_outside_the_repository_are_whoever_chose_thems(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    folder = create_results_folder(repo.path, CLOCK, chosen=repo.path / "../link/new")
    assert folder.path == tmp_path / "disk/new"
    (tmp_path / "here").symlink_to(repo.path)
    inside = create_results_folder(repo.path, CLOCK, chosen=tmp_path / "here/out/new")
    assert inside.path == repo.path / "out/new"
    repo.link("loose", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="loose is a symbolic link"):
        create_results_folder(repo.path, CLOCK, chosen=tmp_path / "here/loose")
    assert not (tmp_path / "nowhere").exists()


def test_a_chosen_folder_that_cannot_be_made_is_refused(repo: Repo) -> None:
    with pytest.raises(UsageError, match="/dev/null/results"):
        create_results_folder(repo.path, CLOCK, chosen=Path(os.devnull) / "results")


def test_runs_of_one_second_sort_as_they_came() -> None:
    first = moment_token()
    time.sleep(0.001)
    second = moment_token()
    assert re.fullmatch("[0-9a-f]{4}", first)
    assert first < second or second < "0100", "but for a second that is over"
