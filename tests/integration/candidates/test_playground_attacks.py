"""What a candidate leaves in its playground to get at the gate: links out, FIFOs, too much of all.

Every look comes back at once, reads nothing that is not in the playground, and passes nothing.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gateval.assertions.assess import assess
from gateval.candidates import playground_files as copies
from gateval.candidates import playground_files as reading
from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.playground_files import FoundPath, StateUnreadable, content, listing, look
from gateval.candidates.playgrounds import ReadyPlayground
from gateval.candidates.processes import Programs
from gateval.candidates.program import Program, ProgramLimits, private_folders
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.trials.trial import Assessment, Cause, NoAnswer
from tests.helpers.isolation import isolated_world
from tests.helpers.own_checks import runner
from tests.helpers.playgrounds import done_in, left, made, opened
from tests.helpers.trials import JUDGE, fixture, said

SECRET = "the gate's own"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "outside" / "secret.txt"
    file.parent.mkdir()
    file.write_text(SECRET)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "playground"
    folder.mkdir()
    return folder


def test_a_link_is_not_followed(root: Path, secret: Path) -> None:
    (root / "note.txt").symlink_to(secret)
    (root / "notes").symlink_to(secret.parent)
    (root / "up").mkdir()
    (root / "up" / "far").symlink_to("../..")
    assert content(root, "note.txt", 100) == FoundPath("link")
    assert content(root, "notes/secret.txt", 100) is None
    assert content(root, "up/far/outside/secret.txt", 100) is None
    assert look(root, "notes") == FoundPath("link")
    assert listing(root, "notes") == FoundPath("link")
    found = listing(root)
    assert isinstance(found, list)
    assert [one.path for one in found] == ["note.txt", "notes", "up", "up/far"]


def test_a_fifo_and_a_socket_are_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
        found = subprocess.run(
            [sys.executable, "-c", _LOOK, str(root)],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    assert found.stdout.split() == ["other", "other", "fifo,socket"]


_LOOK = """
import sys
from pathlib import Path
from gateval.candidates.playground_files import content, listing
root = Path(sys.argv[1])
print(content(root, "fifo", 10).kind, content(root, "socket", 10).kind)
print(",".join(one.path for one in listing(root)))
"""


def test_a_huge_file_is_not_read(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StateUnreadable, match=r"huge has 1,099,511,627,776 bytes, over 1,000"):
        content(root, "huge", 1000)
    with pytest.raises(StateUnreadable, match="over 268,435,456"):
        copies.state_copied(root, root.parent)
    assert left(root.parent) == []


def test_deep_and_many_folders_are_told(root: Path) -> None:
    deep = root
    for _ in range(reading.DEPTH + 2):
        deep = deep / "d"
        deep.mkdir()
    with pytest.raises(StateUnreadable, match="more than 64 deep"):
        listing(root)
    assert listing(root, deep=False) == [reading.ListedFile("d", FoundPath("directory"))]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk takes seconds
    with tempfile.TemporaryDirectory(dir=memory) as wide:
        for number in range(reading.ENTRIES + 1):
            os.close(os.open(f"{wide}/{number}", os.O_CREAT))
        with pytest.raises(StateUnreadable, match="more than 10,000"):
            listing(Path(wide))


def test_names_do_nothing_to_a_terminal(root: Path) -> None:
    for name in (b"\xff\xfe", b"a\nb", b"\x1b[2J"):
        (root / os.fsdecode(name)).touch()
    found = listing(root)
    assert isinstance(found, list)
    assert all(one.path.isprintable() for one in found)


def playing(*assertions: JsonObject, **spec: object) -> Fixture:
    ground = PlaygroundSpec.model_validate({"folder": "world", **spec})
    return fixture(*assertions).model_copy(update={"playground": ground, "path": "desk/x.yaml"})


def left_by(line: str, folder: Path, *assertions: JsonObject) -> tuple[Assessment, ...]:
    """What assertions say of a playground in which this was run."""

    async def main() -> tuple[Assessment, ...]:
        asked = playing(*assertions)
        async with runner(folder) as checks, opened(asked, folder) as ground:
            await asyncio.to_thread(done_in, ground.playground, line)
            found, _ = await assess(
                asked, said("x"), None, JUDGE, checks=checks, state=ground.state
            )
            return found

    return asyncio.run(main())


@pytest.fixture
def revision(tmp_path: Path) -> Path:
    world = tmp_path / "revision" / "desk" / "world"
    world.mkdir(parents=True)
    (world / "orders.json").write_text('{"10482": "paid"}')
    return tmp_path / "revision"


EVERY: list[JsonObject] = [
    {"type": "fileExists", "path": "note.txt"},
    {"type": "fileEquals", "path": "note.txt", "value": SECRET},
    {"type": "fileMatches", "path": "note.txt", "pattern": "."},
    {"type": "fileJson", "path": "note.txt", "at": "$", "value": SECRET},
    {"type": "directoryListing", "path": "note.txt", "entries": []},
    {"type": "sqlQuery", "path": "note.txt", "query": "SELECT 1", "value": 1},
]


@pytest.mark.parametrize(
    "line", ["ln -s {secret} note.txt", "mkfifo note.txt", "mkdir note.txt && chmod 0 note.txt"]
)
def test_no_check_passes_on_what_is_no_file(line: str, revision: Path, secret: Path) -> None:
    found = left_by(line.format(secret=secret), revision, *EVERY)
    listing_of_folder = 4 if line.startswith("mkdir") else -1
    for number, one in enumerate(found):
        assert SECRET not in one.reason.partition("saw")[2]
        if number != listing_of_folder:
            assert one.status.value == "failed", one


def test_what_cannot_be_read_is_an_error_of_the_candidate(revision: Path) -> None:
    line = "truncate -s 2G note.txt; truncate -s 2G big.db"
    found = left_by(line, revision, *EVERY[1:4], EVERY[5])
    assert {(one.status.value, one.cause) for one in found} == {("error", Cause.CANDIDATE)}
    assert "over 1,048,576" in found[0].reason


def test_a_database_that_is_none_is_an_error_and_a_missing_table_fails(revision: Path) -> None:
    broken = left_by("head -c 5000 /dev/urandom > note.txt", revision, EVERY[5] | {"query": _ALL})
    assert (broken[0].status.value, broken[0].cause) == ("error", Cause.CANDIDATE)
    empty = left_by(": > note.txt", revision, EVERY[5] | {"query": _ALL})
    assert empty[0].status.value == "failed"
    for query in ("SELEC 1", "SELECT typo(1)", "SELECT 1; SELECT 2", "CREATE TABLE a (b)"):
        wrong = left_by(": > note.txt", revision, EVERY[5] | {"query": query})
        assert (wrong[0].status.value, wrong[0].cause) == ("error", Cause.CHECK), query


_ALL = "SELECT * FROM orders"


@pytest.mark.parametrize(
    "select",
    [
        "no_such_function(1)",
        "load_extension('/tmp/x.so')",
        "zeroblob(2000000000)",
        "b FROM (WITH RECURSIVE n(b) AS (SELECT 1 UNION ALL SELECT b + 1 FROM n) SELECT b FROM n)",
    ],
)
def test_a_view_that_a_candidate_put_in_a_tables_place_is_its_own_doing(
    revision: Path, select: str
) -> None:
    made = f"import sqlite3; sqlite3.connect('note.txt').execute(\"CREATE VIEW orders AS SELECT {select}\")"
    (found,) = left_by(f"python3 -c {shlex.quote(made)}", revision, EVERY[5] | {"query": _ALL})
    assert (found.status.value, found.cause) == ("error", Cause.CANDIDATE), found.reason


def test_a_command_works_in_a_copy(revision: Path, secret: Path) -> None:
    found = left_by(
        f"ln -s {secret.parent} out; mkfifo fifo",
        revision,
        {"type": "commandResult", "command": ["sh", "-c", "rm orders.json; touch made; ls"]},
        {"type": "commandResult", "command": ["sleep", "9"], "timeoutSeconds": 0.2},
        {"type": "commandResult", "command": ["no-such-program"]},
        {"type": "directoryListing", "entries": ["fifo", "orders.json", "out"]},
    )
    assert [(one.status.value, one.cause) for one in found] == [
        ("passed", None),
        ("error", Cause.CHECK),
        ("error", Cause.CHECK),
        ("passed", None),
    ]
    assert secret.exists()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"files": ["out/x.txt"]}, "out is no folder"),
        ({"sqlite": {"name": "out/x.db", "source": "shop.sql"}}, "out is no folder"),
        ({"sqlite": {"name": "orders.json", "source": "shop.sql"}}, "twice"),
        ({"folder": "linked"}, "no folder of its revision"),
        ({"sqlite": {"source": "linked/secret.txt"}}, "no file of its revision"),
    ],
)
def test_nothing_of_a_revision_is_written_or_read_through_a_link(
    spec: JsonObject, reason: str, revision: Path, secret: Path, tmp_path: Path
) -> None:
    desk = revision / "desk"
    (desk / "out").mkdir()
    (desk / "out" / "x.txt").write_text("x")
    (desk / "shop.sql").write_text("CREATE TABLE a (b);")
    (desk / "linked").symlink_to(secret.parent)
    (desk / "world" / "out").symlink_to(secret.parent)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    async def main() -> ReadyPlayground | NoAnswer:
        async with made(playing(EVERY[0], **spec), revision, scratch) as ground:
            return ground

    found = asyncio.run(main())
    assert isinstance(found, NoAnswer), found
    assert (found.cause, reason in found.reason) == (Cause.CHECK, True), found.reason
    assert [path.name for path in secret.parent.iterdir()] == ["secret.txt"]
    assert left(scratch) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own")
def test_an_end_state_is_closed_to_the_candidates_of_other_trials(revision: Path) -> None:
    with isolated_world(ResourceLimits()) as world:
        shutil.copytree(revision, world.export, dirs_exist_ok=True)
        scratch, starter = world.context.scratch, world.context.starter

        async def main() -> list[str]:
            programs = Programs(world.context.clock, starter)
            async with made(playing(EVERY[0]), world.export, scratch, starter) as ground:
                assert isinstance(ground, ReadyPlayground), ground
                playground, said = ground.playground, []
                file = f"{playground.root}/orders.json"
                for writes in ((playground.root,), (), ()):
                    async with private_folders(scratch) as private:
                        env = {"HOME": str(private.home), "TMPDIR": str(private.tmp)}
                        reads = (playground.root,)
                        program = Program(("cat", file), private.home, env, b"", writes, reads)
                        limits = ProgramLimits(seconds=20, grace_seconds=1)
                        said.append((await programs.run(program, limits)).stdout.decode())
                    if len(said) == 2:
                        playground.shut()
            await programs.close()
            return said

        mine, open_to_all, closed = asyncio.run(main())
        assert mine == open_to_all == '{"10482": "paid"}'
        assert closed == ""


@pytest.mark.parametrize(
    ("file", "value"),
    [
        ("MODE=live", "live"),
        ("\ufeffMODE=test\r\nexport MODE = 'live' # x\r\n", "live"),
        (r'MODE="a\"b\n$HOME"', 'a"b\n$HOME'),
        ("MODE=a#b # c", "a#b"),
        ("MODE=# nothing", "# nothing"),
        ("MODE=a=b", "a=b"),
        ("# MODE=x\nOTHER=1", "unset"),
        ("MODE='open", None),
        ("MODE", None),
        ("=x", None),
        ("A B=x", None),
        ("MODE='" + "a" * 1_000_000, None),
        ("MODE=x" + " " * 60_000 + "y", None),
        ("MODE=x" + (" " * 190 + "y") * 300, "x" + (" " * 190 + "y") * 300),
        ("A=1\n" * 16_000 + "MODE=1", "1"),
        ("A=1\n" * 17_000, None),
        ("x" * 1_048_577, None),
    ],
)
def test_an_environment_file_means_what_it_says_or_is_an_error(
    revision: Path, tmp_path: Path, file: str, value: str | None
) -> None:
    written = tmp_path / "written.env"
    written.write_text(file, newline="")
    asked: JsonObject = {"type": "environmentVariable", "variable": "MODE"}
    if value not in {None, "unset"}:
        asked["value"] = value
    began = time.monotonic()
    (found,) = left_by(f"cp {written} .env", revision, asked)
    assert time.monotonic() - began < 30
    status = {None: "error", "unset": "failed"}.get(value, "passed")
    assert found.status.value == status, found.reason
    assert found.cause is (Cause.CANDIDATE if value is None else None)


def test_an_environment_file_is_not_read_through_a_link(revision: Path, secret: Path) -> None:
    secret.write_text("MODE=secret")
    asked: JsonObject = {"type": "environmentVariable", "variable": "MODE", "pattern": "."}
    (found,) = left_by(f"ln -s {secret} .env", revision, asked)
    assert found.status.value == "failed"
    assert "secret" not in found.reason
