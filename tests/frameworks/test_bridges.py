"""Agents of nineteen frameworks, as their own packages make them, behind bridges."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import JsonValue

from gateval.candidates.team import Candidates
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from tests.helpers.candidates import World, ask, bridged_agent
from tests.helpers.frameworks import FRAMEWORKS, PROGRAMS, ROOT, need_frameworks
from tests.integration.candidates.test_redirect import redirected
from tests.servers.google_models import google_reply
from tests.servers.model_server import Answer as Served
from tests.servers.model_server import Call, ModelServer, Responder, reply

HERE = Path(__file__).parent
SAMPLES = HERE / "bridges"
UV = ROOT / ".venv" / "bin" / "uv"
MADE = ROOT / ".venv" / "bridges"
CANARY = "sk-canary-0123456789abcdef"
FIRST, SECOND = "Where is order 7?", "And where is order 8?"
SAID = "Order 7 is in transit."


class Bridged(NamedTuple):
    """An agent of a framework: its folder, what is asked, and where its packages come from."""

    folder: str
    target: str
    language: str = "python"
    requirements: str = ""
    payload: tuple[tuple[str, str], ...] = ()
    framework: str = ""
    turns: bool = True
    """Whether the second turn shows the model what was said in the first."""
    redirect: bool = False
    """Whether its calls have to be led to the gateway: it reads no base URL."""


OWN = ".venv/frameworks"
"""What `make frameworks` has installed: these run always."""

REPOSITORIES = "repositories"
BRIDGED = (
    Bridged("openai-agents", "desk:agent", requirements=OWN),
    Bridged("pydantic-ai", "desk.py:agent", requirements=OWN),
    Bridged("vercel-ai", "desk.mjs", "node", OWN),
    Bridged("vercel-ai", "app/api/chat/route.mjs:POST", "node", OWN),
    Bridged("langgraph", "langgraph.json:desk", requirements="repositories/langgraph"),
    Bridged("langgraph", "langgraph.json:made", requirements="repositories/langgraph"),
    Bridged("google-adk", "desk", requirements="repositories/google-adk"),
    Bridged("google-adk", "described/root_agent.yaml", requirements="repositories/google-adk"),
    Bridged(
        "crewai",
        "desk.crew:Desk",
        requirements="repositories/crewai",
        payload=(("shop", "ours"),),
    ),
    Bridged("crewai", "desk/flow.py:DeskFlow", requirements="repositories/crewai"),
    Bridged("smolagents", "desk:agent", requirements="repositories/smolagents"),
    Bridged("llama-index", "desk:agent", requirements="repositories/llama-index"),
    Bridged("llama-index", "desk:Desk", requirements="repositories/llama-index", turns=False),
    Bridged("claude-agent-sdk", "desk:options"),
    Bridged("agent-framework", "desk:agent"),
    Bridged("agno", "desk.py:agent"),
    Bridged("agno", "desk.py:team"),
    Bridged("agno", "desk.py:steps"),
    Bridged("strands", "desk:agent"),
    Bridged("strands", "desk:swarm"),
    Bridged("autogen", "desk:agent"),
    Bridged("autogen", "desk:team"),
    Bridged("node", "graph.mjs:graph", "node"),
    Bridged("node", "react.mjs:agent", "node"),
    Bridged("node", "openai.mjs:agent", "node"),
    Bridged("node", "src/desk.ts:makeDesk", "node"),
    Bridged("node", "mastra.mjs:mastra", "node"),
    Bridged("node", "adk.mjs:rootAgent", "node"),
    Bridged("node", "strands.mjs:agent", "node"),
    Bridged("node", "strands.mjs:graph", "node"),
    Bridged("node", "agentkit.mjs:desk", "node", redirect=True),
    Bridged("node", "agentkit.mjs:network", "node", redirect=True),
    Bridged("node", "llama.mjs:agent", "node"),
    Bridged("beeai", "desk.mjs:agent", "node"),
    Bridged("beeai", "desk.mjs:workflow", "node"),
)


def parameter(one: Bridged) -> object:
    marks = () if one.requirements == OWN else (pytest.mark.frameworks,)
    return pytest.param(one, id=f"{one.folder} {one.target}", marks=marks)


def made(name: str, lock: Path, *steps: list[str]) -> Path:
    """Return the folder that these steps make of a lock file, made if it is not there."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    folder = MADE / f"{name}-{digest}"
    MADE.mkdir(exist_ok=True)
    with (MADE / f"{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            environ = os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
            for step in steps:
                words = [word.replace("{folder}", str(folder)) for word in step]
                subprocess.run(words, check=True, timeout=900, cwd=folder, env=environ)
            (folder / "done").touch()
    return folder


def installed(one: Bridged, export: Path) -> tuple[str, ...]:
    """Return the interpreter that has what the agent imports."""
    if one.language == "node":
        modules = FRAMEWORKS / "vercel-ai"
        if one.requirements != OWN:
            lock = SAMPLES / one.folder / "package-lock.json"
            files = [str(lock.with_name("package.json")), str(lock)]
            copy = ["cp", *files, "."]
            npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            modules = made(one.folder, lock, copy, [*npm, "--legacy-peer-deps"])
        (export / "node_modules").symlink_to(modules / "node_modules")
        return ()
    if one.requirements == OWN:
        return (str(PROGRAMS / "python"),)
    lock = HERE / (one.requirements or f"bridges/{one.folder}") / "requirements.txt"
    venv = [str(UV), "venv", "--quiet", "--python", sys.executable, "{folder}/venv"]
    pip = [str(UV), "pip", "install", "--quiet", "--python", "{folder}/venv/bin/python", "-r"]
    folder = made(one.folder, lock, venv, [*pip, str(lock)])
    return (str(folder / "venv" / "bin" / "python"),)


def serve(call: Call) -> Served:
    """A model that looks an order up, and then tells what it found, for each question."""
    google = "/models/" in call.path
    if b"show_order" in call.raw and b"shadow" in call.raw.rpartition(b"order 8?")[2]:
        return reply(call, "It was shown.")
    if call.raw.rfind(b"in transit") > call.raw.rfind(b"order 8?") > -1 or (
        b"order 8?" not in call.raw and b"in transit" in call.raw
    ):
        if b"final_answer" in call.raw:  # smolagents and BeeAI have a tool for that
            named = "response" if b"Sends the final answer" in call.raw else "answer"
            return reply(call, tools=[("c9", "final_answer", {named: SAID})])
        return google_reply(call, SAID) if google else reply(call, SAID)
    number = 8 if b"order 8?" in call.raw else 7
    found = re.search(rb"mcp__desk__order_status|order_status", call.raw)
    name = found[0].decode() if found else "order_status"
    if google:
        return google_reply(call, tools=[(name, {"order": number})])
    return reply(call, tools=[(f"c{number}", name, {"order": number})])


def answered(
    tmp_path: Path, one: Bridged, *turns: str, serve: Responder = serve
) -> tuple[Answer | NoAnswer, list[Call]]:
    """Have the agent answer through the gateway."""

    async def run() -> tuple[Answer | NoAnswer, list[Call]]:
        async with ModelServer(serve) as provider:
            environ = {
                "OPENAI_BASE_URL": provider.openai_url,
                "OPENAI_API_KEY": CANARY,
                "ANTHROPIC_BASE_URL": provider.url,
                "ANTHROPIC_API_KEY": CANARY,
                "GEMINI_BASE_URL": f"{provider.url}/v1beta/openai",
                "GEMINI_API_KEY": CANARY,
            }
            async with (
                Gateway(read_upstreams(environ), {}) as gateway,
                GatewayServer(gateway) as door,
            ):
                path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
                world = World(tmp_path, calls=gateway, door=door, environ={"PATH": path})
                shutil.copytree(SAMPLES / one.folder, world.export, dirs_exist_ok=True)
                agent = definition(one, world.export)
                if one.redirect:
                    agent = redirected(agent)
                request = ask(payload={"prompt": turns[0], **dict(one.payload)}, timeout=180)
                if len(turns) > 1:
                    request = replace(request, turns=turns)
                async with Candidates(world.context) as candidates:
                    return await candidates.answer(agent, request), provider.calls

    return asyncio.run(run())


def definition(one: Bridged, export: Path) -> AgentDefinition:
    words = installed(one, export)
    written: dict[str, JsonValue] = {"interpreter": [*words]} if words else {}
    if one.framework:
        written["framework"] = one.framework
    return bridged_agent(one.language, one.target, **written)


@pytest.fixture(autouse=True, scope="module")
def tools() -> None:
    need_frameworks()


def steps(trace: Trace | None) -> list[tuple[str, str | None]]:
    assert trace is not None
    assert trace.source == "gateway"
    return [(step.kind.value, step.tool) for step in trace.steps]


@pytest.mark.parametrize("one", [parameter(one) for one in BRIDGED])
def test_an_agent_of_a_framework_answers_with_the_trace_of_the_wire(
    tmp_path: Path, one: Bridged
) -> None:
    given, calls = answered(tmp_path, one, FIRST)
    assert isinstance(given, Answer), given
    assert given.output == SAID
    called = [tool for kind, tool in steps(given.trace) if kind == "tool_call"]
    assert (called[0] or "").removeprefix("mcp__desk__") == "order_status"
    assert CANARY not in repr(given)
    assert len(calls) >= 2


@pytest.mark.parametrize("one", [parameter(one) for one in BRIDGED if not dict(one.payload)])
def test_a_conversation_goes_on_in_the_thread_of_the_framework(
    tmp_path: Path, one: Bridged
) -> None:
    given, calls = answered(tmp_path, one, FIRST, SECOND)
    assert isinstance(given, Answer), given
    assert [turn.output for turn in given.turns] == [SAID, SAID]
    about_second = [call for call in calls if SECOND.encode() in call.raw]
    assert about_second
    if one.turns:
        assert FIRST.encode() in about_second[-1].raw


OF_LANGGRAPH = (
    Bridged("langgraph", "langgraph.json", requirements="repositories/langgraph"),
    Bridged("node", "asks.mjs", "node"),
)


@pytest.mark.frameworks
@pytest.mark.parametrize("turns", [("7?",), ("7?", "Yes")], ids=["once", "turns"])
@pytest.mark.parametrize("one", OF_LANGGRAPH, ids=["python", "node"])
def test_an_interrupt_of_a_graph_is_an_answer_that_the_next_turn_resumes(
    tmp_path: Path, one: Bridged, turns: tuple[str, ...]
) -> None:
    name = "asksBack" if one.language == "node" else "asks_back"
    given, _ = answered(tmp_path, one._replace(target=f"{one.target}:{name}"), *turns)
    assert isinstance(given, Answer), given
    assert given.output == ("Sure about 7?" if len(turns) == 1 else "You said Yes")
    assert [turn.output for turn in given.turns][:1] == ["Sure about 7?"][: len(turns) - 1]


@pytest.mark.frameworks
@pytest.mark.parametrize("one", OF_LANGGRAPH, ids=["python", "node"])
def test_a_breakpoint_of_a_graph_ends_a_turn_and_the_next_goes_on_from_it(
    tmp_path: Path, one: Bridged
) -> None:
    given, _ = answered(tmp_path, one._replace(target=f"{one.target}:stops"), "7?", "Go on")
    assert isinstance(given, Answer), given
    outputs = [turn.output for turn in given.turns]
    assert "moved" not in str(outputs[0])
    assert outputs[1] == "Told 7?, moved"


@pytest.mark.frameworks
def test_a_graph_that_may_wait_for_an_answer_has_a_checkpointer_in_one_turn(
    tmp_path: Path,
) -> None:
    target = "langgraph.json:remembers"
    one = Bridged("langgraph", target, requirements="repositories/langgraph")
    given, _ = answered(tmp_path, one, "7?")
    assert isinstance(given, Answer), given
    assert given.output == "Asked 7?"


@pytest.mark.frameworks
@pytest.mark.parametrize("target", ["agent", "team", "steps"])
def test_what_agno_says_of_a_call_that_failed_is_no_answer(tmp_path: Path, target: str) -> None:
    refused = Served(status=400, body=b'{"error": {"message": "No such thing."}}')
    one = Bridged("agno", f"desk.py:{target}")
    given, _ = answered(tmp_path, one, FIRST, serve=lambda _: refused)
    assert isinstance(given, NoAnswer), given
