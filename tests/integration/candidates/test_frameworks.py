"""Agents in frameworks of others, unchanged, as the gate starts them: `examples/frameworks/`."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
import yaml

from gateval.candidates.team import Candidates
from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trial import Answer, NoAnswer, Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from tests.helpers.candidates import World, agent_from, ask
from tests.helpers.frameworks import FRAMEWORKS, PROGRAMS, ROOT, need_frameworks
from tests.helpers.tiers import some_always
from tests.servers.google_models import google_reply
from tests.servers.model_server import Answer as Served
from tests.servers.model_server import Call, ModelServer, reply

SAMPLES = ROOT / "examples" / "frameworks"
CANARY = "sk-canary-0123456789abcdef"
QUESTION = ask("Where are my orders 7 and 8?", timeout=120)
ANSWER = "Order 7 is in transit, order 8 is delivered."


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    need_frameworks()


def script() -> ScriptedModel:
    path = SAMPLES / ".gateval" / "scripted" / "desk.yaml"
    spec = ScriptedSpec.model_validate(yaml.safe_load(path.read_text()))
    return ScriptedModel(name="desk", spec=spec, path=path.name, digest="0")


def serve(call: Call) -> Served:
    """What the scripted model says, from a provider that streams if asked."""
    if "/models/" in call.path:
        if b"delivered" in call.raw:
            return google_reply(call, ANSWER)
        return google_reply(
            call, tools=[("order_status", {"order": 7}), ("order_status", {"order": 8})]
        )
    if b"delivered" in call.raw:
        return reply(call, ANSWER)
    return reply(
        call, tools=[("c7", "order_status", {"order": 7}), ("c8", "order_status", {"order": 8})]
    )


def started(tmp_path: Path, name: str, *, real: bool) -> tuple[Answer | NoAnswer, list[Call]]:
    """Have one of the agents answer, with the scripted model or a provider behind the gateway."""

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
            scripts = {Side.HEAD: {"desk": script()}}
            async with (
                Gateway(read_upstreams(environ), scripts) as gateway,
                GatewayServer(gateway) as door,
            ):
                path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
                world = World(tmp_path, calls=gateway, door=door, environ={"PATH": path})
                shutil.copytree(SAMPLES / name, world.export, dirs_exist_ok=True)
                agent = agent_from(SAMPLES / name / "agent.yaml")
                if agent.runtime.layer:  # what its set-up makes was made before, once for all tests
                    (world.export / "node_modules").symlink_to(FRAMEWORKS / name / "node_modules")
                    runtime = agent.runtime.model_copy(update={"setup": ()})
                    agent = agent.model_copy(update={"runtime": runtime})
                if real:
                    agent = agent.model_copy(update={"models": ()})
                async with Candidates(world.context) as candidates:
                    return await candidates.answer(agent, QUESTION), provider.calls

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "real"),
    some_always(
        [
            ("openai-agents", False),
            ("node", False),
            ("google-genai", False),
            ("pydantic-ai", True),
            ("node", True),
            ("google-genai", True),
            ("vercel-ai", True),
            ("vercel-ai", False),
        ],
        3,
        spread=True,
    ),
)
def test_an_agent_of_a_framework_has_a_full_trace(tmp_path: Path, name: str, real: bool) -> None:
    given, calls = started(tmp_path, name, real=real)
    assert isinstance(given, Answer), given
    assert given.output.strip() == ANSWER
    trace = given.trace
    assert trace is not None
    assert trace.source == "gateway"
    assert [(step.kind.value, step.tool, step.arguments, step.text) for step in trace.steps] == [
        ("user", None, None, "Where are my orders 7 and 8?"),
        ("tool_call", "order_status", {"order": 7}, ""),
        ("tool_call", "order_status", {"order": 8}, ""),
        ("tool_result", "order_status", None, "in transit"),
        ("tool_result", "order_status", None, "delivered"),
        ("assistant", None, None, ANSWER),
    ]
    assert [step.call_id for step in trace.steps[1:3]] == [
        step.call_id for step in trace.steps[3:5]
    ]
    assert (trace.model_calls, trace.usage.total is not None) == (2, True)
    assert len(calls) == (2 if real else 0)
    assert all(call.streams == (name == "pydantic-ai") for call in calls)
    if name == "google-genai":
        assert all(b"thoughtSignature" in call.raw for call in calls[1:]), "what we do not know"
    assert CANARY not in repr(given)
