"""Stored results in a folder that strangers filled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateval.adapters.results_folder import MOST_PARTS, read_parts
from gateval.errors import StageFileError

NAME = "results.v1.json"


def read(folder: Path) -> tuple[bytes, ...]:
    return read_parts(folder, NAME, limit=100)


def put(folder: Path, content: bytes = b"{}") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(content)
    return folder / NAME


def test_the_folder_of_one_run(tmp_path: Path) -> None:
    put(tmp_path, b"one")
    put(tmp_path / "inner", b"other")
    assert read(tmp_path) == (b"one",)


def test_the_folders_of_several_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        put(tmp_path / name, name.encode())
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").write_text("")
    assert read(tmp_path) == (b"a", b"b", b"c")


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", b"key")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "part").symlink_to(secret.parent)
    with pytest.raises(StageFileError, match="holds no"):
        read(folder)
    (folder / NAME).symlink_to(secret)
    with pytest.raises(StageFileError, match="cannot be read"):
        read(folder)
    linked = tmp_path / "linked"
    linked.symlink_to(secret.parent)
    with pytest.raises(StageFileError, match="cannot be read"):
        read(linked)


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(StageFileError, match="no plain file"):
        read(tmp_path)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(StageFileError, match=r"no plain file|cannot be read"):
        read(tmp_path)


def test_too_large(tmp_path: Path) -> None:
    put(tmp_path, b"x" * 101)
    with pytest.raises(StageFileError, match="larger than"):
        read(tmp_path)


def test_too_many(tmp_path: Path) -> None:
    for number in range(MOST_PARTS + 1):
        put(tmp_path / str(number))
    with pytest.raises(StageFileError, match="too many"):
        read_parts(tmp_path, NAME, limit=10_000)


def test_too_large_together(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / str(number), b"x" * 40)
    with pytest.raises(StageFileError, match="larger than what the plan may take"):
        read(tmp_path)
    assert len(read_parts(tmp_path, NAME, limit=120)) == 3


@pytest.mark.parametrize("name", ["", "absent"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(StageFileError) as refused:
        read(tmp_path / name)
    assert refused.value.hint
