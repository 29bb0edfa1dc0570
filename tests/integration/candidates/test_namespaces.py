"""In a PID namespace a candidate sees only itself, and ends as it does without one."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits, why_not_apart
from gateval.domain.trials.trial import NoAnswer
from tests.helpers.candidates import World
from tests.helpers.isolation import answer_of, isolated_world, open_python, output_of, walls_here

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root gives agents PID namespaces of their own"
)


def apart_here() -> None:
    """Skip the test where there are no PID namespaces for candidates, with the reason."""
    if why_not := why_not_apart(walls_here(own_users=True)):
        pytest.skip(f"no PID namespaces here: {why_not}")


@pytest.fixture(params=[True, False], ids=["apart", "as ever"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A world with PID namespaces, and one without."""
    if request.param:
        apart_here()
    with isolated_world(ResourceLimits(memory_mib=256, processes=64), apart=request.param) as made:
        yield made


@pytest.fixture
def apart() -> Iterator[World]:
    """A world with PID namespaces."""
    apart_here()
    with isolated_world(ResourceLimits(), apart=True) as made:
        yield made


def lives(mark: str) -> list[str]:
    """Which processes of this machine have the mark in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


LOOKS = """
import json, os, subprocess
seen = sorted(int(one) for one in os.listdir("/proc") if one.isdigit())
print(json.dumps([os.getpid(), os.getppid(), os.getsid(0), os.getpgid(0), seen]))
"""


def test_it_sees_itself_and_process_1(apart: World) -> None:
    pid, parent, session, group, seen = json.loads(output_of(apart, LOOKS))
    assert (pid, parent, session, group, seen) == (2, 1, 2, 2, [1, 2])


def test_so_does_ps(apart: World) -> None:
    if not shutil.which("ps"):
        pytest.skip("ps is not installed")
    said = output_of(apart, "", "sh", "-c", "ps -eo pid=,args=; echo")
    listed = [line.split()[0] for line in said.splitlines() if line.strip()]
    assert listed[:2] == ["1", "2"]
    assert len(listed) <= 3, said


REACHES = """
import json, os, signal
done = []
for name in ("environ", "maps", "fd", "root", "cwd", "exe", "ns/pid", "mem"):
    try:
        place = f"/proc/1/{name}"
        os.listdir(place) if name in ("fd", "root") else os.readlink(place) if name in (
            "cwd", "exe", "ns/pid") else open(place, "rb").read(10)
        done.append(name)
    except OSError:
        pass
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, 0):
    try:
        os.kill(1, number)
        done.append(str(number))
    except OSError:
        pass
print(json.dumps(done))
"""


def test_nothing_of_process_1_can_be_had(apart: World) -> None:
    assert json.loads(output_of(apart, REACHES)) == []


HOLDS = """
import json, os
status = {}
for line in open("/proc/1/status"):
    name, _, value = line.partition(":")
    status[name] = value.split()
print(json.dumps([status["Uid"], status["CapEff"], status["CapBnd"], status["NoNewPrivs"],
    status["Groups"], [line.split()[:1] for line in open("/proc/self/limits") if "processes" in line],
    __import__("resource").getrlimit(__import__("resource").RLIMIT_NPROC), os.getuid()]))
"""


def test_process_1_has_no_rights(apart: World) -> None:
    users, effective, bound, none_to_gain, groups, _, room, user = json.loads(
        output_of(apart, HOLDS)
    )
    assert [int(one) for one in users] == [user + 1, user, user + 1, user]
    assert (effective, bound, none_to_gain, groups) == (["0" * 16], ["0" * 16], ["1"], [])
    assert room == [1024, 1024]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(7)", "7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os, signal; os.kill(0, signal.SIGTERM)", "SIGTERM"),
        ("x = bytearray(10**9); import time; time.sleep(5)", "memory"),
    ],
)
def test_how_it_ends_is_told_alike(world: World, program: str, said: str) -> None:
    answer = answer_of(world, program)
    assert isinstance(answer, NoAnswer)
    assert said in answer.reason


def test_a_program_that_is_not_there_is_told_alike(world: World) -> None:
    answer = answer_of(world, "", "nowhere-at-all")
    assert isinstance(answer, NoAnswer)
    assert "`nowhere-at-all` was not found" in answer.reason


ON_TERM = """
import signal, sys, time
def end(*_):
    open("/proc/self/comm").read(); sys.stderr.write("asked to end"); sys.stderr.flush(); sys.exit(0)
signal.signal(signal.SIGTERM, end)
time.sleep(90)
"""


def test_it_is_asked_to_end_when_its_time_is_over(world: World) -> None:
    began = time.monotonic()
    answer = answer_of(world, ON_TERM, timeout=2)
    assert isinstance(answer, NoAnswer)
    assert "not done within 2 s" in answer.reason
    assert "asked to end" in f"{answer}"
    assert time.monotonic() - began < 60


DAEMON = """
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        os.execv("/bin/sh", ["sh", "-c", "sleep 60; true", "MARK"])
    os._exit(0)
os.wait()
subprocess.Popen(["sh", "-c", "sleep 60; true", "MARK"], start_new_session=True)
print("done")
"""


def test_what_it_left_behind_is_gone(world: World) -> None:
    mark = f"m{secrets.token_hex(8)}"
    assert output_of(world, DAEMON.replace("MARK", mark)) == "done"
    assert lives(mark) == []


LATER = """
import os, time
if os.fork() == 0:
    time.sleep(0.2)
    os.write(1, b"from the child")
    os._exit(0)
"""


def test_what_a_child_says_after_its_parent_is_heard_alike(world: World) -> None:
    answer = answer_of(world, LATER)
    assert "from the child" in f"{answer}" or isinstance(answer, NoAnswer)


def test_it_works_without_the_python_of_the_gate(apart: World) -> None:
    assert output_of(apart, "", "sh", "-c", "test -w /proc/self/comm && echo fine") == "fine"
    assert open_python()
