"""What official clients ask beside conversations, and by which addresses, without a key at all."""

from __future__ import annotations

import json
import sys

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Scripts
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.trial_calls import CallLimits
from tests.helpers.clients import run_client
from tests.helpers.frameworks import PROGRAMS, need_frameworks
from tests.helpers.gateway import begun, serve
from tests.servers.model_server import Answer, Call, ModelServer, reply

RULES = [
    {"when": {"user": "kill"}, "reply": "violence, nonsense"},
    {"when": {"user": "hi"}, "reply": "Hello."},
]
SCRIPT = ScriptedModel(
    name="m", path="m.yaml", digest="0", spec=ScriptedSpec.model_validate({"rules": RULES})
)
SCRIPTS: Scripts = {Side.HEAD: {"m": SCRIPT}}

EMBED = """
import json, math, openai
client = openai.OpenAI()
texts = ["a red apple", "the red apple", "tax law"]
got = client.embeddings.create(model="m", input=texts, dimensions=64)
plain = client.embeddings.create(model="m", input=texts, dimensions=64, encoding_format="float")
one, two, three = [item.embedding for item in got.data]
near = lambda a, b: sum(x * y for x, y in zip(a, b))
print(json.dumps({
    "sizes": [len(one), len(client.embeddings.create(model="m", input="a").data[0].embedding)],
    "same": all(abs(x - y) < 1e-6 for x, y in zip(one, plain.data[0].embedding)),
    "near": [round(near(one, one), 3), near(one, two) > near(one, three)],
    "tokens": got.usage.total_tokens,
}))
"""
MODERATE = """
import openai
client = openai.OpenAI()
got = client.moderations.create(model="m", input=["I kill you", "Hello"])
print([(one.flagged, one.categories.violence, one.categories.hate) for one in got.results])
"""
LIST = """
import anthropic, openai
client = openai.OpenAI()
print([model.id for model in client.models.list()], client.models.retrieve("m").owned_by)
try:
    client.models.retrieve("gpt-9")
except openai.NotFoundError as error:
    print(error.body["message"])
print([model.id for model in anthropic.Anthropic().models.list()])
print([model.id for model in openai.AzureOpenAI().models.list()])
"""
AZURE = """
import openai
said = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
client = openai.AzureOpenAI()
print(client.chat.completions.create(**said).choices[0].message.content)
print(client.responses.create(model="m", input="hi").output_text)
print(len(client.embeddings.create(model="m", input=["hi"]).data[0].embedding))
fixed = openai.AzureOpenAI(azure_deployment="m")
print(fixed.chat.completions.create(**{**said, "model": "other"}).choices[0].message.content)
print("".join(
    chunk.choices[0].delta.content or ""
    for chunk in fixed.chat.completions.create(**said, stream=True) if chunk.choices
))
print(openai.chat.completions.create(**said).choices[0].message.content)
"""
OPENROUTER = """
import os
from openrouter import OpenRouter
address = os.environ["OPENROUTER_BASE_URL"]
with OpenRouter(api_key=os.environ["OPENROUTER_API_KEY"], server_url=address) as client:
    said = [{"role": "user", "content": "hi"}]
    print(client.chat.send(model="MODEL", messages=said).choices[0].message.content)
    with client.chat.send(model="MODEL", messages=said, stream=True) as events:
        print("".join(one.choices[0].delta.content or "" for one in events if one.choices))
    print(len(client.embeddings.generate(model="MODEL", input="hi").data[0].embedding))
"""


def ask(code: str, *models: str, python: str = "", fresh: bool = False) -> str:
    """Run a client behind a scripted model that is all the manifest names."""
    said: list[str] = []

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, *(models or ("scripted/m",)))
        out, errors = await run_client(session, code, python=python or sys.executable, fresh=fresh)
        assert not errors, errors
        said.append(out)
        assert provider.calls == []

    serve(use, scripts=SCRIPTS)
    return said[0]


def test_openais_client_has_texts_embedded_near_where_they_are_alike() -> None:
    found = json.loads(ask(EMBED))
    assert found == {"sizes": [64, 256], "same": True, "near": [1.0, True], "tokens": 9}


def test_openais_client_has_texts_moderated() -> None:
    assert ask(MODERATE) == "[(True, True, False), (False, False, False)]\n"


def test_clients_are_told_the_models_of_the_manifest() -> None:
    assert ask(LIST, "scripted/m", "openai/gpt-5").splitlines() == [
        "['m', 'gpt-5'] scripted",
        "The Agent's manifest does not name gpt-9; add it to `spec.uses`.",
        "['m', 'gpt-5']",
        "['m', 'gpt-5']",
    ]


def test_azures_client_needs_nothing_but_its_own_variables() -> None:
    """And OpenAI's is not confused by them."""
    assert ask(AZURE, fresh=True).splitlines() == [
        "Hello.",
        "Hello.",
        "256",
        "Hello.",
        "Hello.",
        "Hello.",
    ]


def test_azures_deployments_go_to_azure() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        out, errors = await run_client(session, AZURE.partition("print(client.resp")[0])
        assert (out, errors) == ("hi\n", "")
        (call,) = provider.calls
        assert call.path == "/openai/v1/chat/completions"
        assert call.body["model"] == "m"
        trace = session.end()
        assert trace is not None
        assert trace.models == ("azure/m",)

    serve(use)


def test_openrouters_client_needs_nothing_but_its_own_variables() -> None:
    need_frameworks()
    said = ask(OPENROUTER.replace("MODEL", "m"), python=str(PROGRAMS / "python"))
    assert said.splitlines() == ["Hello.", "Hello.", "256"]


def test_the_agents_sdk_sends_no_trace_home() -> None:
    """It would wait for it, and say so on standard error."""
    need_frameworks()
    said = "print(Runner.run_sync(Agent(name='a', model='m'), 'hi').final_output)"
    code = f"from agents import Agent, Runner\n{said}\n"
    assert ask(code, python=str(PROGRAMS / "python"), fresh=True) == "Hello.\n"


def test_openrouters_client_means_openrouters_models() -> None:
    need_frameworks()
    code = OPENROUTER.partition("    with client.chat")[0].replace("MODEL", "anthropic/claude")

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        out, errors = await run_client(session, code, python=PROGRAMS / "python")
        assert (out, errors) == ("hi\n", "")
        (call,) = provider.calls
        assert call.path == "/api/v1/chat/completions"
        assert call.body["model"] == "anthropic/claude"
        trace = session.end()
        assert trace is not None
        assert trace.models == ("openrouter/anthropic/claude",)

    serve(use)


@pytest.mark.parametrize("model", ["openai/e", "gemini/e", "azure/e", "openrouter/e"])
def test_embeddings_of_providers_come_back_as_they_are_and_count(model: str) -> None:
    data = [{"object": "embedding", "index": 0, "embedding": [0.6, 0.8], "extra": 1}]
    answer = {
        "object": "list",
        "data": data,
        "model": "e",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }

    def respond(call: Call) -> Answer:
        if call.path.endswith("/embeddings"):
            return Answer(body=json.dumps(answer).encode())
        return reply(call, "hi")

    code = """
import openai
client = openai.OpenAI()
print(client.embeddings.create(model="e", input=["x"], user="u").data[0].embedding)
client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
client.embeddings.create(model="e", input=["x"])
"""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, ("openai/m",), (model,))
        session.begin()
        out, errors = await run_client(session, code)
        assert out == "[0.6, 0.8]\n"
        assert "A trial may use 20 tokens" in errors
        assert provider.calls[0].body == {
            "model": "e", "input": ["x"], "user": "u", "encoding_format": "base64",
        }  # fmt: skip
        trace = session.end()
        assert trace is not None
        assert trace.usage.total == 22
        assert trace.model_calls == 2
        assert trace.models == (model, "openai/m")
        assert [step.kind.value for step in trace.steps] == ["user", "assistant", "error"]

    serve(use, respond, limits=CallLimits(tokens=20))
