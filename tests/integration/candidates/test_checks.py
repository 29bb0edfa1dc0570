"""Own checks behind real walls: a user of their own, their own files alone, no way out, no key."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateval.candidates.checks import CheckFailed, CheckOrder
from gateval.candidates.environment import SWITCHES
from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.domain.trials.trial import Cause
from gateval.errors import UsageError
from tests.helpers.candidates import World
from tests.helpers.isolation import held_here, isolated_world, open_python
from tests.helpers.own_checks import FILES, runner
from tests.helpers.users import SAME_USER_TOO

SMALL = ResourceLimits(memory_mib=128, disk_mib=16, files=200, processes=40)


@pytest.fixture(params=["own users", SAME_USER_TOO])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    own = request.param == "own users"
    if own and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(SMALL, own_users=own) as world:
        yield world


def printed(world: World, program: str, *, times: int = 1, seconds: float = 20) -> list[Any]:
    """Run this Python program as a check, side by side, and return what each printed."""
    folder = world.context.scratch / "files-check"
    folder.mkdir(exist_ok=True)
    (folder / "check.py").write_text(program)
    argv = (open_python(), "-I", "-S", "check.py")

    async def main() -> list[bytes]:
        async with runner(folder, world.context.scratch, world.context.starter) as checks:
            order = CheckOrder(argv, FILES, b"{}", seconds)
            return await asyncio.gather(*(checks.run(order) for _ in range(times)))

    return [json.loads(one) for one in asyncio.run(main())]


WHO = """
import json, os, time
def tries(action):
    try:
        action()
        return "done"
    except OSError as error:
        return error.strerror
time.sleep(1)  # all of them are there at once
print(json.dumps({
    "user": os.getuid(),
    "writes": tries(lambda: open("check.py", "a").write("#")),
    "makes": tries(lambda: open("new", "w")),
    "home": tries(lambda: open(os.environ["HOME"] + "/note", "w")),
    "env": sorted(os.environ),
}))
"""


def test_a_check_is_its_own_user_and_writes_nothing_but_its_home(world: World) -> None:
    found = printed(world, WHO, times=3)
    assert [(one["writes"], one["makes"], one["home"]) for one in found] == [
        ("Permission denied", "Permission denied", "done")
    ] * 3
    for one in found:
        assert set(one["env"]) <= {
            "GATEVAL_CANDIDATE", "HOME", "LANG", "LC_CTYPE", "PATH", "TMPDIR", "PWD", *SWITCHES,
            "OPENAI_API_TYPE", "OPENAI_API_VERSION",
        }  # fmt: skip
    if found[0]["user"] != os.getuid():
        assert len({one["user"] for one in found}) == 3
    assert not list((world.context.scratch).glob("candidate-*"))


def test_a_check_does_not_read_what_candidates_get(world: World) -> None:
    other = world.context.scratch / "files-candidate"
    other.mkdir()
    (other / "agent.py").write_text("canary")
    looks = (
        "import json, os\n"
        "try: seen = os.listdir('..') + [open('../files-candidate/agent.py').read()]\n"
        "except OSError as error: seen = error.strerror\n"
        "print(json.dumps(seen))\n"
    )
    assert printed(world, looks) == ["Permission denied"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)", "within 3 s"),
        ("held = bytearray(10**9)\nimport time\ntime.sleep(60)", "more memory than it may"),
        (
            "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(60)",
            "",
        ),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL); raise SystemExit(2)", ""),
    ],
    ids=["stays", "memory", "fork bomb", "kills its parent"],
)
def test_a_check_that_uses_too_much_is_ended_with_all_that_it_started(
    world: World, program: str, said: str
) -> None:
    with pytest.raises(CheckFailed) as failed:
        printed(world, program, seconds=30 if "memory" in said else 3)
    assert failed.value.cause is Cause.CHECK
    assert said in failed.value.reason
    assert printed(world, "print(1)") == [1]


OUT = """
import json, socket
try:
    socket.create_connection(("127.0.0.1", PORT), 3)
    print(json.dumps("reached"))
except OSError as error:
    print(json.dumps(error.strerror))
"""


@pytest.mark.parametrize(("limited", "found"), [(True, "Permission denied"), (False, "reached")])
def test_a_check_reaches_nothing_where_candidates_are_limited(*, limited: bool, found: str) -> None:
    try:
        held_here()
    except UsageError as error:
        pytest.skip(str(error))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with isolated_world(SMALL, own_users=False, ports=[port] if limited else None) as world:
            assert printed(world, OUT.replace("PORT", str(port))) == [found]


def test_a_program_that_is_not_there_is_the_check_s_own_fault(tmp_path: Path) -> None:
    async def main() -> None:
        async with runner(tmp_path) as checks:
            await checks.run(CheckOrder(("no-such-program",), FILES, b"", 1))

    with pytest.raises(CheckFailed, match="was not found") as failed:
        asyncio.run(main())
    assert failed.value.cause is Cause.CHECK
