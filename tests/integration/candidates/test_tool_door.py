"""Programs that take their tools from the gate: over HTTP, over standard streams, and not at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.team import Candidates
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import SHADOW
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from tests.helpers.beside import PYTHON, beside
from tests.helpers.candidates import World, ask, command_agent, no_survivors
from tests.helpers.isolation import isolated_world
from tests.helpers.serving import HTTP, server
from tests.helpers.tiers import some_always
from tests.helpers.users import SAME_USER_TOO
from tests.servers.model_server import Answer as Served
from tests.servers.model_server import Call, ModelServer, Responder, reply

OFFICIAL = Path(__file__).parents[3] / ".venv" / "frameworks" / "bin" / "python"
TOOLS = (AgentTool(name="find", description="Finds.", input_schema={"properties": {"id": {}}}),)
REPLAY = (
    ToolReplay(tool="find", arguments={"id": 7}, result={"at": "home"}),
    ToolReplay(tool="find", error="the CRM is down"),
)

RPC = """\
import json, os, urllib.request
def rpc(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urllib.request.urlopen(os.environ["GATEVAL_MCP_URL"], body) as answer:
        return json.load(answer)["result"]
def find(number):
    return rpc("tools/call", name="find", arguments={"id": number})["content"][0]["text"]
"""

STDIO = """\
import json, os, subprocess
bridge = subprocess.Popen([os.environ["GATEVAL_MCP_COMMAND"]], env={"PATH": os.environ["PATH"]},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def find(number):
    call = {"name": "find", "arguments": {"id": number}}
    bridge.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\\n')
    print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
          file=bridge.stdin, flush=True)
    return json.loads(bridge.stdout.readline())["result"]["content"][0]["text"]
"""


def equipped(agent: AgentDefinition) -> AgentDefinition:
    return agent.model_copy(update={"tools": TOOLS})


BOT = equipped(command_agent((*PYTHON, "agent.py")))


def hello(call: Call) -> Served:
    return reply(call, "hi")


def run(
    world: World, agent: AgentDefinition, *requests: TrialRequest, respond: Responder = hello
) -> list[Answer | NoAnswer]:
    """Ask one question after the other, with the gateway as the door."""

    async def main() -> list[Answer | NoAnswer]:
        async with ModelServer(respond) as provider:
            environ = {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "sk-1"}
            async with (
                Gateway(read_upstreams(environ), {}) as gateway,
                GatewayServer(gateway) as door,
            ):
                world.context = replace(world.context, door=door)
                async with world.http, Candidates(world.context) as candidates:
                    return [await candidates.answer(agent, one) for one in requests]

    return asyncio.run(main())


@pytest.fixture(params=["own users", SAME_USER_TOO])
def walled(request: pytest.FixtureRequest) -> Iterator[World]:
    own = request.param == "own users"
    if own and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(ResourceLimits(), own_users=own) as world:
        yield world
        assert no_survivors(world.context.run)
        assert world.leftovers() == []


@pytest.mark.parametrize("client", [RPC, STDIO], ids=["http", "stdio"])
def test_tools_are_reached_from_within_the_walls(walled: World, client: str) -> None:
    walled.write("agent.py", client + "print(find(7), find(8))")
    (found,) = run(walled, BOT, ask(replay=REPLAY))
    assert isinstance(found, Answer), found
    assert found.output == '{"at":"home"} the CRM is down'
    assert found.trace is not None
    assert found.trace.source == "gateway"
    assert [(one.tool, one.arguments) for one in found.trace.tool_calls()] == [
        ("find", {"id": 7}), ("find", {"id": 8}),
    ]  # fmt: skip


def test_a_server_is_answered_anew_in_each_trial(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", HTTP + RPC + """
rpc("tools/list")
class Mine(Handler):
    def answer(self, body): self.say(200, {"reply": find(7)})
serve(Mine)
""")  # fmt: skip
    asked = [ask(replay=(ToolReplay(tool="find", result=f"trial {number}"),)) for number in (1, 2)]
    agent = equipped(server(command=(*PYTHON, "agent.py", "{port}")))
    first, second, third = run(world, agent, *asked, ask())
    assert [one.output for one in (first, second, third) if isinstance(one, Answer)] == [
        "trial 1", "trial 2", SHADOW,
    ]  # fmt: skip


def test_a_wish_of_the_model_and_its_call_are_one_step(tmp_path: Path) -> None:
    def model(call: Call) -> Served:
        if b"home" in call.raw:
            return reply(call, "It is at home.")
        return reply(call, tools=[("c1", "find", {"id": 7})])

    world = World(tmp_path)
    world.write("agent.py", RPC + """
def ask(messages):
    body = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": {"name": "find"}}]}
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head)) as answer:
        return json.load(answer)["choices"][0]["message"]
history = [{"role": "user", "content": "Where?"}]
said = ask(history)
(call,) = said["tool_calls"]
told = {"role": "tool", "tool_call_id": call["id"], "content": find(7)}
print(ask([*history, said, told])["content"])
""")  # fmt: skip
    (found,) = run(world, BOT, ask(replay=REPLAY), respond=model)
    assert isinstance(found, Answer), found
    assert found.trace is not None
    assert [(one.kind.value, one.tool or one.text) for one in found.trace.steps] == [
        ("user", "Where?"), ("tool_call", "find"), ("tool_result", "find"),
        ("assistant", "It is at home."),
    ]  # fmt: skip


CLAIMS = """\
import json
print(json.dumps({"output": "done", "trace": [{"type": "tool_call", "tool": "find", "arguments": {}}]}))
"""


def test_a_program_that_calls_its_own_tool_in_the_place_of_the_gates_is_not_measured(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.write("agent.py", CLAIMS)
    free, replayed, shadowed = run(world, BOT, ask(), ask(replay=REPLAY), ask(shadow=("find",)))
    assert isinstance(free, Answer)
    for one in (replayed, shadowed):
        assert isinstance(one, NoAnswer)
        assert one.cause is Cause.CANDIDATE
        assert one.reason.startswith("The fixture says what the tool find answers, but the program")
    world.write("agent.py", RPC + "rpc('tools/list')\n" + CLAIMS)
    (asked,) = run(world, BOT, ask(replay=REPLAY))
    assert isinstance(asked, Answer), "it knows them, and called nothing"


def test_before_cannot_lead_the_gate_to_write_elsewhere(walled: World) -> None:
    """Attack: links where the program for standard streams will be written."""
    victim = walled.export / "victim"
    victim.write_text("untouched")
    walled.write("plant.py", f"""
import os, pathlib
root = pathlib.Path(os.environ["HOME"]).parent
for name in ("gateval-mcp", "gateval-mcp.py", "tools", "tools-"):
    os.symlink({str(victim)!r}, root / name)
""")  # fmt: skip
    walled.write("agent.py", STDIO + "print(find(7))")
    (found,) = run(walled, beside(BOT, before=["plant.py"]), ask(replay=REPLAY))
    assert isinstance(found, Answer), found
    assert victim.read_text() == "untouched"


def test_no_other_candidate_can_read_the_token(walled: World) -> None:
    """Attack: the command lines of processes, and the folders that hold the program."""
    walled.write("agent.py", STDIO + """
import pathlib
find(7)
url = pathlib.Path(os.environ["GATEVAL_MCP_COMMAND"] + ".py").read_text().rpartition("'http")[2]
lines = [one.read_bytes() for one in pathlib.Path("/proc").glob("[0-9]*/cmdline") if os.access(one, os.R_OK)]
token = url.rpartition("/mcp/")[2][:20].encode()
root = pathlib.Path(os.environ["HOME"]).parent
print(len(token), any(token in line for line in lines), oct(root.stat().st_mode & 0o777))
""")  # fmt: skip
    (found,) = run(walled, BOT, ask())
    assert isinstance(found, Answer), found
    assert found.output == "20 False 0o700"


OFFICIAL_CLIENT = """\
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
async def main():
    place = os.environ["GATEVAL_MCP_URL"]
    if sys.argv[1] == "stdio":
        place = StdioServerParameters(command=os.environ["GATEVAL_MCP_COMMAND"], args=[])
    async with Client(place, **({"mode": sys.argv[2]} if sys.argv[2] else {})) as client:
        tools = (await client.list_tools()).tools
        found = await client.call_tool("find", {"id": 7})
        failed = await client.call_tool("find", {"id": 8})
        told = [[tool.name, tool.input_schema] for tool in tools]
        print(json.dumps([told, found.content[0].text, failed.is_error, failed.content[0].text]))
asyncio.run(main())
"""


@pytest.mark.parametrize("mode", some_always(["", "legacy"], 2))
@pytest.mark.parametrize("way", ["http", "stdio"])
def test_the_official_client_works_with_it(tmp_path: Path, way: str, mode: str) -> None:
    if not OFFICIAL.exists():
        if os.environ.get("GATEVAL_TEST_ALL") == "1":
            pytest.fail("the frameworks are not installed: run `make frameworks`")
        pytest.skip("the official client is not installed: run `make frameworks`")
    world = World(tmp_path)
    world.write("agent.py", OFFICIAL_CLIENT)
    agent = equipped(command_agent((str(OFFICIAL), "agent.py", way, mode)))
    (found,) = run(world, agent, ask(replay=REPLAY, timeout=60))
    assert isinstance(found, Answer), found
    assert found.output == (
        '[[["find", {"properties": {"id": {}}, "type": "object"}]], "{\\"at\\":\\"home\\"}", true, '
        '"the CRM is down"]'
    )
    assert found.trace is not None
    assert len(found.trace.tool_calls()) == 2
