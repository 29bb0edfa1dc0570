"""Kept layers against somebody who can write the files, and knows how to make their digests."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from gateval.adapters.layers.listing import NotPacked
from gateval.adapters.layers.pack import holds, pack, read_pack, unpack
from gateval.adapters.layers.places import Places
from gateval.adapters.layers.store import LayerStore
from gateval.domain.forge.trigger import CommitSubject, EventName, Trigger, Trust, may_keep

MOST = 10 * 2**20
Row = tuple[object, ...]


def file_row(path: object, text: bytes = b"x", mode: int = 0o755) -> Row:
    return (path, "file", mode, 0, len(text), hashlib.sha256(text).hexdigest())


def forged(path: Path, rows: object, name: object = "n", leans_on: object = None) -> Path:
    """A file whose digest is right, with whatever its list says."""
    line = json.dumps([name, {} if leans_on is None else leans_on, rows]).encode() + b"\n"
    path.write_bytes(hashlib.sha256(line).hexdigest().encode() + b"\n" + line + b"x" * 10)
    return path


LINK = ("a", "link", 0, 0, 0, "/tmp")
ATTACKS: dict[str, object] = {
    "a name above": [file_row("../out")],
    "a name above, deep": [file_row("a/../../out")],
    "an absolute name": [file_row("/tmp/gateval-out")],
    "no name": [file_row("")],
    "a name with a zero": [file_row("a\0b")],
    "a number for a name": [file_row(3)],
    "another kind": [("pipe", "fifo", 0, 0, 0, "")],
    "rights of its owner": [file_row("tool", mode=0o4755)],
    "writable by all": [file_row("tool", mode=0o777)],
    "a file twice": [file_row("a"), file_row("a")],
    "through a link": [LINK, file_row("a/gateval-out")],
    "a link over a folder": [("a", "folder"), LINK],
    "a file that is longer": [("a", "file", 0o644, 0, 10**9, "0" * 64)],
    "another content": [file_row("a", b"y")],
    "no rows": "abc",
    "short rows": [[]],
    "deep": [[[[]]]],
}


@pytest.mark.parametrize("rows", ATTACKS.values(), ids=ATTACKS)
def test_a_forged_file_writes_nothing_outside(tmp_path: Path, rows: object) -> None:
    root = tmp_path / "in" / "root"
    root.mkdir(parents=True)
    with (
        forged(tmp_path / "forged", rows).open("rb") as file,
        pytest.raises((NotPacked, OSError)),
    ):
        unpack(file, "n", root, MOST)
    assert not Path("/tmp/gateval-out").exists()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["root"]
    assert not [path for path in root.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "m"},
        {"name": None},
        {"leans_on": {"/usr": ["/usr", "x"]}},
        {"leans_on": {"\0": 1}},
        {"leans_on": [1]},
    ],
)
def test_facts_that_do_not_hold(tmp_path: Path, facts: dict[str, object]) -> None:
    path = forged(tmp_path / "forged", [file_row("a")], **facts)
    with path.open("rb") as file, pytest.raises(NotPacked):
        unpack(file, "n", tmp_path / "root", MOST)


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "deep/er").mkdir(parents=True)
    two.mkdir()
    (one / "deep/er/file \udcff\n").write_bytes(b"bytes")
    (one / "tool").write_text("x")
    (one / "tool").chmod(0o750)
    os.utime(one / "tool", (1_700_000_000, 1_700_000_000))
    (one / "link").symlink_to("deep/er")
    (one / "out").symlink_to("/usr/bin/env")
    (one / "dangling").symlink_to("nowhere")
    with (tmp_path / "file").open("w+b") as file:
        pack(one, "n", file, MOST)
        file.seek(0)
        unpack(file, "n", two, MOST)
    names = sorted(os.fsencode(path.relative_to(one)) for path in one.rglob("*"))
    assert names == sorted(os.fsencode(path.relative_to(two)) for path in two.rglob("*"))
    assert (two / "deep/er/file \udcff\n").read_bytes() == b"bytes"
    assert (two / "tool").stat().st_mode & 0o777 == 0o754
    assert (two / "tool").stat().st_mtime == 1_700_000_000
    assert (two / "dangling").readlink() == Path("nowhere")
    with (tmp_path / "file").open("rb") as file:
        listing = read_pack(file, "n", MOST)
    assert holds(one, listing)
    assert holds(two, listing)
    (two / "deep/more").touch()
    assert not holds(two, listing)


def test_what_is_no_file_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root/pipe")
    with (tmp_path / "file").open("w+b") as file, pytest.raises(NotPacked, match="no file, folder"):
        pack(tmp_path / "root", "n", file, MOST)


def store(tmp_path: Path, told: list[str]) -> LayerStore:
    (tmp_path / "kept").mkdir(exist_ok=True)
    return LayerStore(
        tmp_path / "kept", tmp_path, workspace=tmp_path, writes=True, most=MOST, tell=told.append
    )


def test_two_runs_do_not_share_a_path_at_a_time(tmp_path: Path) -> None:
    told: list[str] = []
    with store(tmp_path, told) as one:
        place = one.place("a" * 64)
        assert place is not None
        place.mkdir()
        (place / "file").write_text("mine")
        one.keep(place)
        with store(tmp_path, told) as two:
            assert two.place("a" * 64) is None
        assert (place / "file").read_text() == "mine", "the other run removed nothing of it"
    with store(tmp_path, told) as three:
        assert three.place("a" * 64) == place
        assert three.restore(place)
        assert (place / "file").read_text() == "mine"
    assert told == []


def test_what_stayed_is_used_if_it_is_whole_and_goes_with_its_pack(tmp_path: Path) -> None:
    with store(tmp_path, []) as one:
        place = one.place("a" * 64)
        assert place is not None
        place.mkdir()
        (place / "file").write_text("mine")
        one.keep(place)
    before = (place / "file").stat().st_ino
    with store(tmp_path, []) as two:
        assert two.place("a" * 64) == place
        assert two.restore(place)
        assert (place / "file").stat().st_ino == before
    (place / "file").write_text("evil")
    (place / "more").write_text("evil")
    with store(tmp_path, []) as three:
        assert three.place("a" * 64) == place
        assert three.restore(place)
        assert [path.read_text() for path in place.iterdir()] == ["mine"]
    for pack_file in (tmp_path / "kept").iterdir():
        pack_file.unlink()
    with store(tmp_path, []):
        pass
    assert not place.exists()


def test_a_layer_that_is_not_had_once_is_not_had_later_in_the_run(tmp_path: Path) -> None:
    with store(tmp_path, []) as one, store(tmp_path, []) as two:
        one.place("a" * 64)
        assert two.place("a" * 64) is None
        one.__exit__(None, None, None)
        assert two.place("a" * 64) is None


def test_a_place_that_somebody_else_made_is_not_used(tmp_path: Path) -> None:
    Places(tmp_path, tmp_path / "kept").close([])
    (taken,) = tmp_path.iterdir()
    taken.chmod(0o777)
    with pytest.raises(PermissionError):
        Places(tmp_path, tmp_path / "kept")
    taken.rmdir()
    taken.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        Places(tmp_path, tmp_path / "kept")


@pytest.mark.parametrize("event", EventName)
@pytest.mark.parametrize("trust", Trust)
def test_who_may_keep_layers(event: EventName, trust: Trust) -> None:
    subject = CommitSubject(head_sha="a" * 40, base_ref="main")
    trigger = Trigger(event=event, repository="o/r", trust=trust, subject=subject)
    own = event in {EventName.PULL_REQUEST, EventName.PUSH, EventName.SCHEDULE}
    assert may_keep(trigger) is (own and trust is Trust.TRUSTED)
