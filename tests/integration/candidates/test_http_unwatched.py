"""A server whose guard ends in a trial: the gate lost it, and the candidate is not to blame.

What the lost supervisor and guards leave is ended by the gate, and nothing else of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.domain.trials.trial import Cause, NoAnswer
from tests.helpers.candidates import ask
from tests.helpers.isolation import isolated_world, open_python, supervisors
from tests.helpers.serving import HTTP, answers, server

TELLS = """
import socket
class Mine(Handler):
    def answer(self, body):
        socket.create_connection(("127.0.0.1", {port}))
        time.sleep(60)
serve(Mine)
"""


@pytest.mark.parametrize("own_users", [True, False])
def test_it_is_a_fault_of_the_gate(*, own_users: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as told:
        killer = threading.Thread(target=kill_wardens, args=(told,))
        killer.start()
        with isolated_world(ResourceLimits(), own_users=own_users) as world:
            world.write("agent.py", HTTP + TELLS.format(port=told.getsockname()[1]))
            agent = server(command=(open_python(), "-I", "agent.py", "{port}"))
            (found,) = answers(world, agent, ask(timeout=30))
        killer.join()
    assert isinstance(found, NoAnswer)
    assert "the gate's own process that watches it has ended" in found.reason
    assert found.cause is Cause.GATE


@pytest.fixture
def older() -> Iterator[subprocess.Popen[bytes]]:
    """A process that this one had before it started any candidate."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("own_users", [True, False])
def test_a_killed_supervisor_costs_no_process_that_was_there_before(
    older: subprocess.Popen[bytes], *, own_users: bool
) -> None:
    with isolated_world(ResourceLimits(), own_users=own_users) as world:
        for pid in supervisors(os.getpid()):
            os.kill(pid, signal.SIGKILL)
    assert world.survivors() == []
    assert older.poll() is None


def kill_wardens(told: socket.socket) -> None:
    """Kill them, and not the supervisor that they come from, when a server says it was asked."""
    told.accept()[0].close()
    _, *guards = sorted(supervisors(os.getpid()))
    for pid in guards:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
