"""Servers that mean well: when they start, how long they live, and who replaces them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from gateval.candidates.team import Candidates
from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import Door, World, ask, ended, no_survivors, open_files
from tests.helpers.serving import ECHO, HTTP, answers, server, serving, warnings
from tests.helpers.tiers import some_always


def test_instances_run_side_by_side_one_trial_at_a_time_each(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
busy = 0
class Mine(Handler):
    def answer(self, body):
        global busy
        busy += 1
        seen, _ = busy, time.sleep(0.3)
        busy -= 1
        self.say(200, {"reply": f"{os.getpid()} {seen}"})
serve(Mine)
""",
    )
    found = answers(world, server(instances=3), *[ask() for _ in range(6)], side_by_side=True)
    said = [one.output.split() for one in found if isinstance(one, Answer)]
    assert len(said) == 6
    assert {busy for _, busy in said} == {"1"}
    assert 2 <= len({pid for pid, _ in said}) <= 3


@pytest.mark.parametrize(
    ("restart", "expected"), [("never", ["1", "2", "3"]), ("perTrial", ["1"] * 3)]
)
def test_restart_says_whether_trials_share_an_instance(
    restart: str, expected: list[str], tmp_path: Path
) -> None:
    world = serving(
        tmp_path,
        """
count = 0
class Mine(Handler):
    def answer(self, body):
        global count
        count += 1
        self.say(200, {"reply": str(count)})
serve(Mine)
""",
    )
    found = answers(world, server(restart=restart), ask(), ask(), ask())
    assert [one.output for one in found if isinstance(one, Answer)] == expected
    assert warnings(world) == []


def test_readiness_is_waited_for_and_not_counted(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
began = time.monotonic()
class Mine(Handler):
    def do_GET(self): self.say(200 if time.monotonic() > began + 1.5 else 503, {})
serve(Mine)
""",
    )
    began = time.monotonic()
    (found,) = answers(world, server(ready={"path": "/healthz"}), ask("hi", timeout=1.4))
    assert isinstance(found, Answer), found
    assert found.seconds + 1.5 <= time.monotonic() - began


STARTS: list[tuple[str, str, str, str]] = [
    ("import sys; print('no database', file=sys.stderr); sys.exit(3)", "The server ended with exit code 3 before it was ready.", "no database", ""),
    ("pass", "The server ended with exit code 0 before it was ready.", "$ ", ""),
    ("import time; print('thinking', flush=True); time.sleep(60)", "The server was not ready within 1 s: it did not begin to listen.", "thinking", ""),
    (HTTP + "class Mine(Handler):\n    def do_GET(self): self.say(500, {})\nserve(Mine)\n", "it answered GET /up with status 500.", "$ ", "/up"),
    (HTTP + "class Mine(Handler):\n    def do_GET(self): self.say(302, {}, Location='/')\nserve(Mine)\n", "it answered GET /up with status 302.", "$ ", "/up"),
    (HTTP + "class Mine(Handler):\n    def do_GET(self): time.sleep(60)\nserve(Mine)\n", "The server was not ready within 2 s: it did not answer within", "$ ", "/up"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "reason", "last", "path"),
    some_always(STARTS, 2, spread=True),
    ids=["fails", "ends", "never-listens", "always-500", "redirects", "never-answers"],
)
def test_a_server_that_does_not_start_is_tried_once(
    program: str, reason: str, last: str, path: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.write("agent.py", program)
    ready: JsonObject = {"timeoutSeconds": 2 if path else 1 if "sleep(60)" in program else 20}
    agent = server(ready={**ready, "path": path} if path else ready)
    began = time.monotonic()
    one, other = answers(world, agent, ask(), ask())
    assert isinstance(one, NoAnswer)
    assert one == other
    assert one.cause is Cause.CANDIDATE
    assert not one.timed_out
    assert reason in one.reason
    assert last in "\n".join(one.detail)
    assert one.detail[0].endswith(" agent.py $PORT")
    assert len(one.detail) < 8
    assert time.monotonic() - began < 50
    assert world.leftovers() == []
    assert no_survivors(world.context.run)


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    world = World(tmp_path)
    (found,) = answers(world, server(command=["no-such-server"]), ask())
    assert isinstance(found, NoAnswer)
    assert "`no-such-server` was not found" in found.reason


def test_another_port_is_tried_when_one_is_taken(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
import pathlib, socket, subprocess
tried = pathlib.Path("tried")
if not tried.exists():
    tried.write_text(sys.argv[1])
    thief = "import socket, sys, time; s = socket.socket(); s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); print('mine', flush=True); [s.accept()[0].close() for _ in range(999)]"
    child = subprocess.Popen([sys.executable, "-c", thief, sys.argv[1]], stdout=subprocess.PIPE, start_new_session=True)
    child.stdout.readline()
    pathlib.Path("thief").write_text(str(child.pid))
try:
    serve()
except OSError:
    sys.exit("address already in use")
""",
    )
    try:
        (found,) = answers(world, server(ready={"path": "/", "timeoutSeconds": 10}), ask("hi"))
    finally:
        os.kill(int((world.export / "thief").read_text()), 9)
    assert isinstance(found, Answer), found
    assert found.output == "You said: hi"


def test_a_dead_instance_is_replaced_and_the_loss_named(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body):
        if body["message"] == "die":
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(4)
        self.say(200, {"reply": "fine"})
serve(Mine)
""",
    )
    first, lost, after = answers(world, server(), ask("a"), ask("die"), ask("b"))
    assert isinstance(first, Answer)
    assert isinstance(after, Answer)
    assert isinstance(lost, NoAnswer)
    assert lost.cause is Cause.CANDIDATE
    assert lost.reason.startswith(
        "The server closed the connection before its answer was complete."
    )
    assert lost.reason.endswith("It ended with exit code 4.")
    assert lost.detail[-1] == "out of cheese"
    assert warnings(world) == ["The server ended with exit code 4 in a trial; it is replaced."]


def test_an_instance_that_dies_between_trials_costs_no_trial(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
import threading
class Mine(Handler):
    def answer(self, body):
        self.say(200, {"reply": str(os.getpid())})
        threading.Timer(0.2, lambda: os._exit(9)).start()
serve(Mine)
""",
    )

    async def main() -> list[Answer | NoAnswer]:
        found = []
        async with world.http, Candidates(world.context) as candidates:
            for _ in range(7):  # more often than a server may be lost in a row
                found.append(await candidates.answer(server(), ask()))
                await ended(int(getattr(found[-1], "output", 0)))
        return found

    found = asyncio.run(main())
    assert all(isinstance(one, Answer) for one in found), found
    assert (
        warnings(world)
        == ["The server ended with exit code 9 between two trials; it is replaced."] * 6
    )


def test_a_server_that_cannot_stay_up_is_not_started_for_ever(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
open("starts", "a").write("x")
class Mine(Handler):
    def answer(self, body): os._exit(5)
serve(Mine)
""",
    )
    found = answers(world, server(), *[ask() for _ in range(8)])
    assert all(isinstance(one, NoAnswer) for one in found)
    assert (world.export / "starts").read_text() == "xxxxx"
    last = found[-1]
    assert isinstance(last, NoAnswer)
    assert last.reason == (
        "The server was lost 5 times without an answer in between and is not started again. "
        "The server ended with exit code 5 in a trial."
    )


def test_the_trial_goes_on_only_while_it_is_under_way_at_the_door(tmp_path: Path) -> None:
    door = Door()
    world = World(tmp_path, door=door)
    world.write("agent.py", ECHO)
    found = answers(world, server(models=("openai/m",)), ask("a"), ask("b"))
    assert all(isinstance(one, Answer) for one in found)
    assert len(door.opened) == 1
    assert door.closed >= 1


@pytest.mark.parametrize("moment", [0.05, 0.3, 0.8])
def test_cancelled_at_any_moment_nothing_is_left(moment: float, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(
        "agent.py",
        "import time\ntime.sleep(0.2)\n"
        + HTTP
        + "class Mine(Handler):\n    def answer(self, body): time.sleep(60)\nserve(Mine)\n",
    )

    async def main() -> None:
        async with world.http, Candidates(world.context) as candidates:
            tasks = [
                asyncio.ensure_future(candidates.answer(server(instances=2), ask()))
                for _ in range(3)
            ]
            await asyncio.sleep(moment)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in results)

    before = open_files()
    asyncio.run(main())
    assert no_survivors(world.context.run)
    assert world.leftovers() == []
    assert open_files() == before
