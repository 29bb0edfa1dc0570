"""`runtime.workdir: copy`: a copy of an Agent's files that one trial, or one server, may write."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.team import Candidates
from gateval.candidates.workdir import MOST_BYTES, copy_refusal
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import World, ask, bridged_agent, command_agent
from tests.helpers.isolation import isolated_world, open_python

WISHES = ResourceLimits(memory_mib=256, disk_mib=64, files=500, processes=100)
PYTHON = (open_python(), "-I", "-S")


def copying(agent: AgentDefinition, **more: object) -> AgentDefinition:
    changed = {"workdir": "copy", **more}
    return agent.model_copy(update={"runtime": agent.runtime.model_copy(update=changed)})


@pytest.fixture(params=[True, False], ids=["own users", "the gate's user"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(WISHES, own_users=request.param) as made:
        yield made


def answers(world: World, agent: AgentDefinition, trials: int = 2) -> list[Answer | NoAnswer]:
    async def main() -> list[Answer | NoAnswer]:
        async with world.http, Candidates(world.context) as candidates:
            return [await candidates.answer(agent, ask()) for _ in range(trials)]

    found = asyncio.run(main())
    assert world.leftovers() == []
    return found


def outputs(world: World, agent: AgentDefinition, trials: int = 2) -> list[str]:
    given = answers(world, agent, trials)
    assert all(isinstance(one, Answer) for one in given), given
    return [one.output.strip() for one in given if isinstance(one, Answer)]


WRITES = """
import os, pathlib
found = sorted(os.listdir(".."))
pathlib.Path("seen.txt").open("a").write("x")
pathlib.Path("../shared.txt").write_text("mine")
pathlib.Path("agent.py").write_text("broken")
os.mkdir("cache")
os.symlink("/etc/hostname", "cache/link")
print(len(pathlib.Path("seen.txt").read_text()), found, os.path.basename(os.path.dirname(os.getcwd())))
"""


def test_each_trial_has_a_copy_and_leaves_the_export_as_it_is(world: World) -> None:
    world.write("desk/agent.py", WRITES)
    world.write("shared.txt", "theirs")
    agent = copying(command_agent((*PYTHON, "agent.py"), cwd="desk"))
    assert outputs(world, agent) == ["1 ['desk', 'shared.txt'] workdir"] * 2
    assert (world.export / "shared.txt").read_text() == "theirs"
    assert [path.name for path in (world.export / "desk").iterdir()] == ["agent.py"]


def test_without_it_the_folder_is_read_only_and_the_reason_names_it(world: World) -> None:
    world.write("agent.py", "open('seen.txt', 'w')")
    (given,) = answers(world, command_agent((*PYTHON, "agent.py")), 1)
    assert isinstance(given, NoAnswer)
    assert "`runtime.workdir: copy`" in given.reason


def test_a_file_that_it_misses_is_told_as_elsewhere(world: World) -> None:
    world.write("agent.py", "import os; open(os.path.abspath('prices.csv'))")
    world.folders.outside = ("prices.csv",)
    (given,) = answers(world, copying(command_agent((*PYTHON, "agent.py"))), 1)
    assert isinstance(given, NoAnswer)
    assert "prices.csv" in given.reason
    assert str(world.context.scratch) not in str(given)


LEADS_OUT = """
import os, pathlib
seen = []
for path in ("out/secret.txt", "up/secret.txt"):
    try:
        seen.append(pathlib.Path(path).read_text())
    except OSError:
        seen.append("closed")
    try:
        pathlib.Path(path).write_text("changed")
        seen.append("written")
    except OSError:
        seen.append("closed")
print(os.readlink("out") == {out!r}, seen, sorted(os.listdir(".")))
"""


def test_links_out_of_the_tree_are_copied_as_links(world: World) -> None:
    outside = world.context.scratch / "of-the-gate"
    outside.mkdir(mode=0o700)
    (outside / "secret.txt").write_text("secret")
    (world.export / "out").symlink_to(outside)
    (world.export / "up").symlink_to("../scratch/of-the-gate")
    world.write("agent.py", LEADS_OUT.format(out=str(outside)))
    async_agent = copying(command_agent((*PYTHON, "agent.py")))
    try:
        given = [one for one in answers_keeping(world, async_agent) if isinstance(one, Answer)]
    finally:
        text = (outside / "secret.txt").read_text()
    assert text == "secret"
    assert given[0].output.strip() == (
        "True ['closed', 'closed', 'closed', 'closed'] ['agent.py', 'out', 'up']"
    )


def answers_keeping(world: World, agent: AgentDefinition) -> list[Answer | NoAnswer]:
    async def main() -> list[Answer | NoAnswer]:
        async with Candidates(world.context) as candidates:
            return [await candidates.answer(agent, ask())]

    return asyncio.run(main())


def test_what_a_layer_made_is_linked_and_cannot_be_written(world: World) -> None:
    layer = world.context.scratch / "layer-1"
    (layer / "bin").mkdir(parents=True)
    (layer / "bin" / "tool").write_text("made once")
    (world.export / "venv").symlink_to(layer)
    world.write(
        "agent.py",
        """
        import pathlib
        try:
            pathlib.Path("venv/bin/tool").write_text("mine")
            print("written")
        except OSError:
            print("closed", pathlib.Path("venv").is_symlink())
        """,
    )
    (given,) = answers_keeping(world, copying(command_agent((*PYTHON, "agent.py"))))
    assert isinstance(given, Answer), given
    assert given.output.strip() == "closed True"
    assert (layer / "bin" / "tool").read_text() == "made once"


def test_a_second_name_of_a_file_of_a_layer_is_a_file_of_its_own(world: World) -> None:
    layer = world.context.scratch / "layer-1"
    layer.mkdir()
    (layer / "data").write_text("made once")
    os.link(layer / "data", world.export / "data")
    world.write("agent.py", "open('data', 'w').write('mine'); print(open('data').read())")
    (given,) = answers_keeping(world, copying(command_agent((*PYTHON, "agent.py"))))
    assert isinstance(given, Answer), given
    assert given.output.strip() == "mine"
    assert (layer / "data").read_text() == "made once"
    assert (world.export / "data").read_text() == "made once"


def test_a_set_up_that_leaves_what_cannot_be_copied_is_told(world: World) -> None:
    world.write("setup.py", "import os; os.mkfifo('pipe')")
    world.write("agent.py", "print('Hello')")
    agent = copying(command_agent((*PYTHON, "agent.py"), setup=(*PYTHON, "setup.py")))
    (given, again) = answers(world, agent)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.repeats) == (Cause.CANDIDATE, True)
    assert "`pipe`" in given.reason
    assert given.reason == again.reason if isinstance(again, NoAnswer) else ""


def test_a_file_with_holes_counts_by_its_length(tmp_path: Path) -> None:
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(10_000_000_000)
    assert "more than 200 MB" in copy_refusal(tmp_path)
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(MOST_BYTES)
    assert copy_refusal(tmp_path) == ""
    (tmp_path / "one more").write_text("x")
    assert "more than 200 MB" in copy_refusal(tmp_path)


def test_what_links_lead_to_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "loop").symlink_to("..")
    with (tmp_path / "elsewhere").open("wb") as file:
        file.truncate(10_000_000_000)
    (tmp_path / "inside" / "large").symlink_to(tmp_path / "elsewhere")
    assert copy_refusal(tmp_path / "inside") == ""


SERVER = """
import os, pathlib, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        with open("seen.txt", "a") as file:
            file.write("x")
        body = pathlib.Path("seen.txt").read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


@pytest.mark.parametrize(("restart", "said"), [("never", ["x", "xx"]), ("perTrial", ["x", "x"])])
def test_each_server_has_a_copy(world: World, restart: str, said: list[str]) -> None:
    world.write("serve.py", SERVER)
    agent = copying(
        command_agent((*PYTHON, "serve.py")),
        type="http",
        options={"request": {"path": "/"}, "restart": restart},
    )
    assert outputs(world, agent) == said
    assert [path.name for path in world.export.iterdir()] == ["serve.py"]


def test_what_runs_around_a_trial_works_in_the_same_copy(world: World) -> None:
    world.write("before.py", "open('stock.txt', 'w').write('7')")
    world.write("agent.py", "print(open('stock.txt').read())")
    around = {"before": (*PYTHON, "before.py")}
    agent = copying(command_agent((*PYTHON, "agent.py")), **around)
    assert outputs(world, agent) == ["7", "7"]


def test_turns_share_the_copy_of_their_trial(world: World) -> None:
    world.write(
        "agent.py",
        "open('seen.txt', 'a').write('x'); print(open('seen.txt').read())",
    )
    agent = copying(command_agent((*PYTHON, "agent.py")))
    empty = FixtureInput.model_validate({"type": "prompt", "payload": {}})
    request = replace(ask(), input=empty, turns=("one", "two"))

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agent, request)

    given = asyncio.run(main())
    assert isinstance(given, Answer), given
    assert [one.output.strip() for one in given.turns] == ["x", "xx"]


def test_an_object_behind_a_bridge_is_loaded_from_the_copy(tmp_path: Path) -> None:
    world = World(tmp_path, environ={"PATH": str(Path(sys.executable).parent)})
    world.write(
        "desk.py",
        """
        import pathlib
        def answer(question):
            (pathlib.Path(__file__).parent / "cache.txt").write_text(question)
            return pathlib.Path("cache.txt").read_text()
        """,
    )
    agent = copying(bridged_agent("python", "desk:answer"))
    (given,) = answers_keeping(world, agent)
    assert isinstance(given, Answer), given
    assert sorted(path.name for path in world.export.iterdir()) == ["desk.py"]
