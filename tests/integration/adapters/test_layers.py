"""Kept layers against somebody who can write the files, and knows how to make their digests."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateval.adapters.layer_store import (
    LayerFolders,
    LayerStore,
    NotPacked,
    holds,
    pack,
    read_pack,
    unpack,
)
from gateval.adapters.layer_trust import (
    FORMAT,
    is_signed,
    mend,
    own_key,
    refuse_way,
    signature,
    trusted_owners,
)
from gateval.domain.forge.trigger import (
    CommitSubject,
    EventName,
    Trigger,
    Trust,
    may_keep,
    of_default_branch,
)

MOST = 10 * 2**20
KEY = b"k" * 32
Row = tuple[object, ...]


def file_row(path: object, text: bytes = b"x", mode: int = 0o755) -> Row:
    return (path, "file", mode, 0, len(text), hashlib.sha256(text).hexdigest())


def forged(path: Path, rows: object, name: object = "n", leans_on: object = None) -> Path:
    """A file whose digest and signature are right, with whatever its list says."""
    line = json.dumps([name, {} if leans_on is None else leans_on, rows]).encode() + b"\n"
    digest = hashlib.sha256(line).hexdigest()
    head = f"{FORMAT} {digest} {signature(KEY, 'n', digest)}\n".encode()
    path.write_bytes(head + line + b"x" * 10)
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
        unpack(file, "n", root, MOST, KEY)
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
        unpack(file, "n", tmp_path / "root", MOST, KEY)


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
        pack(one, "n", file, MOST, KEY)
        file.seek(0)
        unpack(file, "n", two, MOST, KEY)
    names = sorted(os.fsencode(path.relative_to(one)) for path in one.rglob("*"))
    assert names == sorted(os.fsencode(path.relative_to(two)) for path in two.rglob("*"))
    assert (two / "deep/er/file \udcff\n").read_bytes() == b"bytes"
    assert (two / "tool").stat().st_mode & 0o777 == 0o754
    assert (two / "tool").stat().st_mtime == 1_700_000_000
    assert (two / "dangling").readlink() == Path("nowhere")
    with (tmp_path / "file").open("rb") as file:
        listing = read_pack(file, "n", MOST, KEY)
    assert holds(one, listing)
    assert holds(two, listing)
    (two / "deep/more").touch()
    assert not holds(two, listing)


def test_what_is_no_file_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root/pipe")
    with (tmp_path / "file").open("w+b") as file, pytest.raises(NotPacked, match="no file, folder"):
        pack(tmp_path / "root", "n", file, MOST, KEY)


def store(tmp_path: Path, told: list[str]) -> LayerStore:
    (tmp_path / "kept").mkdir(exist_ok=True)
    return LayerStore(
        tmp_path / "kept",
        tmp_path,
        workspace=tmp_path,
        key=KEY,
        writes=True,
        most=MOST,
        tell=told.append,
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
    LayerFolders(tmp_path, tmp_path / "kept").close([])
    (taken,) = tmp_path.iterdir()
    taken.chmod(0o777)
    with pytest.raises(PermissionError):
        LayerFolders(tmp_path, tmp_path / "kept")
    taken.rmdir()
    taken.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        LayerFolders(tmp_path, tmp_path / "kept")


@pytest.mark.parametrize("event", EventName)
@pytest.mark.parametrize("trust", Trust)
def test_who_may_keep_layers(event: EventName, trust: Trust) -> None:
    subject = CommitSubject(head_sha="a" * 40, base_ref="main")
    trigger = Trigger(event=event, repository="o/r", trust=trust, subject=subject)
    own = event in {EventName.PULL_REQUEST, EventName.PUSH, EventName.SCHEDULE}
    assert may_keep(trigger) is (own and trust is Trust.TRUSTED)


@pytest.mark.parametrize("event", EventName)
@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/other", "refs/pull/1/merge", ""])
@pytest.mark.parametrize("branch", ["main", ""])
def test_whose_cache_a_run_finds(event: EventName, ref: str, branch: str) -> None:
    subject = CommitSubject(head_sha="a" * 40, base_ref="main")
    trigger = Trigger(event=event, repository="o/r", default_branch=branch, subject=subject)
    others = {EventName.PULL_REQUEST, EventName.MERGE_GROUP}
    expected = event not in others and ref == "refs/heads/main" and branch == "main"
    assert of_default_branch(trigger, ref) is expected


def test_a_signature_is_of_one_layer_one_digest_and_one_key() -> None:
    said = signature(KEY, "n", "d")
    assert is_signed(KEY, "n", "d", said)
    assert not is_signed(b"l" * 32, "n", "d", said)
    assert not is_signed(KEY, "m", "d", said)
    assert not is_signed(KEY, "n", "e", said)
    assert not is_signed(KEY, "n", "d", "")


@pytest.mark.parametrize(
    ("mode", "refused"),
    [(0o755, False), (0o700, False), (0o777, True), (0o1777, False), (0o757, True)],
)
def test_a_way_that_others_may_change_is_refused(tmp_path: Path, mode: int, refused: bool) -> None:
    (tmp_path / "around/folder").mkdir(parents=True)
    (tmp_path / "around").chmod(mode)
    (tmp_path / "link").symlink_to("around/../around/folder")
    for path in (tmp_path / "around/folder", tmp_path / "link", tmp_path / "around/new"):
        if refused:
            with pytest.raises(PermissionError, match="others may write to"):
                refuse_way(path, trusted_owners(tmp_path))
        else:
            refuse_way(path, trusted_owners(tmp_path))


def test_links_that_lead_in_a_circle_are_no_way(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        refuse_way(tmp_path / "a", trusted_owners(tmp_path))


def test_an_entry_that_all_may_write_is_not_used(tmp_path: Path) -> None:
    told: list[str] = []
    with store(tmp_path, told) as one:
        place = one.place("a" * 64)
        assert place is not None
        place.mkdir()
        one.keep(place)
    (entry,) = (tmp_path / "kept").glob("*.layer")
    entry.chmod(0o666)
    with store(tmp_path, told) as two:
        assert not two.restore(two.place("a" * 64) or tmp_path)
    assert "others may write to" in told[0]
    entry.mkdir()
    with store(tmp_path, told) as three:
        assert not three.restore(three.place("a" * 64) or tmp_path)
    assert "it is a link, or no file" in told[1]


def test_what_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    path.chmod(0o775)
    opened = os.open(path, os.O_RDONLY)
    mend(opened, path, trusted_owners(tmp_path), 0o700)
    assert path.stat().st_mode & 0o777 == 0o700
    with pytest.raises(PermissionError, match="belongs to another user"):
        mend(opened, path, frozenset(), 0o700)
    os.close(opened)


def test_the_key_is_made_once_and_replaced_when_others_could_read_it(tmp_path: Path) -> None:
    path, workspace = tmp_path / "state/gateval/layers.key", tmp_path / "repo"
    with pytest.raises(FileNotFoundError, match="there is no key"):
        own_key(path, workspace, make=False)
    assert not path.parent.exists()
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: own_key(path, workspace, make=True), range(16)))
    (key,) = keys
    assert len(key) == 32
    assert [one.name for one in path.parent.iterdir()] == ["layers.key"]
    path.chmod(0o640)
    with pytest.raises(PermissionError, match="can be read by others"):
        own_key(path, workspace, make=False)
    assert own_key(path, workspace, make=True) != key
    path.write_text("no key")
    with pytest.raises(PermissionError, match="holds no key"):
        own_key(path, workspace, make=True)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PermissionError, match="is no file of ours"):
        own_key(path, workspace, make=True)
    path.unlink()
    path.symlink_to(tmp_path / "known")
    with pytest.raises(PermissionError, match="is a link"):
        own_key(path, workspace, make=True)
    with pytest.raises(PermissionError, match="in the repository"):
        own_key(workspace / "layers.key", workspace, make=True)
