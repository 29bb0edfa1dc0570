"""Kept layers against somebody who can write the files, and knows how to make their digests."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gateval.adapters.layers.pack import NotPacked, pack, unpack
from gateval.adapters.layers.places import Places
from gateval.adapters.layers.store import LayerStore
from gateval.domain.forge.trigger import CommitSubject, EventName, Trigger, Trust, may_keep

MOST = 10 * 2**20
Add = Callable[[tarfile.TarFile], None]


def forged(add: Add, **facts: object) -> io.BufferedRandom:
    """A file whose digest is right, with whatever is added to it."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        add(tar)
    rest = json.dumps({"name": "n", "leans_on": {}, **facts}).encode() + b"\n" + body.getvalue()
    path = Path(os.environ["PYTEST_FORGED"])
    path.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
    return path.open("r+b")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_FORGED", str(tmp_path / "forged"))


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", text: bytes = b"x") -> Add:
    def add(tar: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.mode = kind, link, 0o4777
        member.size = len(text) if kind == tarfile.REGTYPE else 0
        tar.addfile(member, io.BytesIO(text))

    return add


def both(*several: Add) -> Add:
    def add(tar: tarfile.TarFile) -> None:
        for one in several:
            one(tar)

    return add


ATTACKS = {
    "a name above": entry("../out"),
    "a name above, deep": entry("a/../../out"),
    "an absolute name": entry("/tmp/gateval-out"),
    "a hard link": entry("link", tarfile.LNKTYPE, "/etc/passwd"),
    "a device": entry("null", tarfile.CHRTYPE),
    "a pipe": entry("pipe", tarfile.FIFOTYPE),
    "a file twice": both(entry("a"), entry("a")),
    "through a link": both(entry("a", tarfile.SYMTYPE, "/tmp"), entry("a/gateval-out")),
    "a link over a folder": both(entry("a", tarfile.DIRTYPE), entry("a", tarfile.SYMTYPE, "/tmp")),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_forged_file_writes_nothing_outside(tmp_path: Path, attack: Add) -> None:
    root = tmp_path / "in" / "root"
    root.mkdir(parents=True)
    with forged(attack) as file, pytest.raises((NotPacked, OSError)):
        unpack(file, "n", root, MOST)
    assert not Path("/tmp/gateval-out").exists()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["root"]
    assert not [path for path in root.rglob("*") if path.is_symlink()]


def test_a_forged_file_has_no_rights(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with forged(entry("tool")) as file:
        unpack(file, "n", root, MOST)
    assert (root / "tool").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    "facts",
    [{"name": "m"}, {"name": None}, {"leans_on": {"/usr": ["/usr", "x"]}}, {"leans_on": [1]}],
)
def test_facts_that_do_not_hold(tmp_path: Path, facts: dict[str, object]) -> None:
    with forged(entry("a"), **facts) as file, pytest.raises(NotPacked):
        unpack(file, "n", tmp_path / "forged-root", MOST)


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
    assert not place.exists()
    assert told == []


def test_a_layer_that_is_not_had_once_is_not_had_later_in_the_run(tmp_path: Path) -> None:
    with store(tmp_path, []) as one, store(tmp_path, []) as two:
        one.place("a" * 64)
        assert two.place("a" * 64) is None
        one.__exit__(None, None, None)
        assert two.place("a" * 64) is None


def test_a_place_that_somebody_else_made_is_not_used(tmp_path: Path) -> None:
    taken = tmp_path / f"gateval-layers-{os.geteuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    with pytest.raises(PermissionError):
        Places(tmp_path)
    taken.rmdir()
    taken.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        Places(tmp_path)


@pytest.mark.parametrize("event", EventName)
@pytest.mark.parametrize("trust", Trust)
def test_who_may_keep_layers(event: EventName, trust: Trust) -> None:
    subject = CommitSubject(head_sha="a" * 40, base_ref="main")
    trigger = Trigger(event=event, repository="o/r", trust=trust, subject=subject)
    own = event in {EventName.PULL_REQUEST, EventName.PUSH, EventName.SCHEDULE}
    assert may_keep(trigger) is (own and trust is Trust.TRUSTED)
