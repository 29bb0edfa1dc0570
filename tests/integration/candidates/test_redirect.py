"""`runtime.redirect`: calls to built-in addresses of providers, led to the gateway by a hook."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from gateval.bridges import HOOK, bridge_digest
from gateval.candidates.team import Candidates
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import MOST_KEYS
from tests.helpers.candidates import World, ask, bridged_agent, command_agent
from tests.helpers.frameworks import FRAMEWORKS, PROGRAMS, need_frameworks
from tests.helpers.gateway import CANARY, begun, serve
from tests.servers.google_models import google_reply
from tests.servers.model_server import Answer as Served
from tests.servers.model_server import Call, ModelServer, reply

OWN = "sk-own-0123456789abcdef"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def says(call: Call) -> Served:
    return google_reply(call, "Hello") if "/models/" in call.path else reply(call, "Hello")


def redirected(agent: AgentDefinition) -> AgentDefinition:
    changed = {"redirect": True, "hook": bridge_digest(HOOK)}
    return agent.model_copy(update={"runtime": agent.runtime.model_copy(update=changed)})


def ran(
    tmp_path: Path,
    agent: AgentDefinition,
    files: Mapping[str, str],
    *,
    side: Side = Side.HEAD,
    links: Mapping[str, Path] | None = None,
) -> tuple[Answer | NoAnswer, list[Call], set[str]]:
    """What came of one trial, what reached the provider, and the keys that were brought."""
    found: list[tuple[Answer | NoAnswer, list[Call], set[str]]] = []

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        world = World(tmp_path, door=server, environ={"PATH": path})
        for name, text in files.items():
            world.write(name, text)
        for name, target in (links or {}).items():
            (world.export / name).symlink_to(target)
        async with Candidates(world.context) as candidates:
            given = await candidates.answer(agent, ask(timeout=60))
        found.append((given, provider.calls, server.brought.get(side, set())))

    serve(use, says)
    return found[0]


ASKED = '{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
ADDRESS = "https://api.openai.com/v1/chat/completions"

PYTHON = {
    "openai": f"""
        import openai
        client = openai.OpenAI(api_key="{OWN}", base_url="https://api.openai.com/v1")
        got = client.chat.completions.create(**{ASKED})
        print(got.choices[0].message.content)
    """,
    "openai streamed, async": f"""
        import asyncio, openai
        async def main():
            client = openai.AsyncOpenAI(api_key="{OWN}", base_url="https://api.openai.com/v1")
            async with client.chat.completions.stream(**{ASKED}) as stream:
                return (await stream.get_final_completion()).choices[0].message.content
        print(asyncio.run(main()))
    """,
    "anthropic": f"""
        import anthropic
        client = anthropic.Anthropic(api_key="{OWN}", base_url="https://api.anthropic.com")
        print(client.messages.create(max_tokens=9, **{ASKED}).content[0].text)
    """,
    "requests": f"""
        import requests
        headers = {{"Authorization": "Bearer {OWN}"}}
        got = requests.Session().post("{ADDRESS}", json={ASKED}, headers=headers, timeout=20)
        print(got.json()["choices"][0]["message"]["content"])
    """,
    "urllib3": f"""
        import json, urllib3
        headers = {{"Authorization": "Bearer {OWN}", "Content-Type": "application/json"}}
        got = urllib3.PoolManager().request("POST", "{ADDRESS}", body='{ASKED}', headers=headers)
        print(got.json()["choices"][0]["message"]["content"])
    """,
    "urllib": f"""
        import json, urllib.request
        headers = {{"Authorization": "Bearer {OWN}", "Content-Type": "application/json"}}
        asked = urllib.request.Request("{ADDRESS}", b'{ASKED}', headers)
        print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
    """,
    "aiohttp": f"""
        import aiohttp, asyncio
        async def main():
            headers = {{"Authorization": "Bearer {OWN}"}}
            async with aiohttp.ClientSession("https://api.openai.com", headers=headers) as session:
                async with session.post("/v1/chat/completions", json={ASKED}) as got:
                    return (await got.json())["choices"][0]["message"]["content"]
        print(asyncio.run(main()))
    """,
}
"""How a program asks that has an address and a key of its own."""


@pytest.mark.parametrize("client", PYTHON)
def test_what_a_python_program_sends_to_a_provider_comes_to_the_gateway(
    client: str, tmp_path: Path
) -> None:
    agent = redirected(command_agent((sys.executable, "agent.py")))
    given, (call,), brought = ran(tmp_path, agent, {"agent.py": PYTHON[client]})
    assert isinstance(given, Answer), given
    assert given.output.strip() == "Hello"
    assert given.trace is not None
    host = "api.anthropic.com" if client == "anthropic" else "api.openai.com"
    assert (given.trace.redirected, given.trace.model_calls) == ((host,), 1)
    assert OWN not in str(call.headers) + call.raw.decode()
    assert CANARY in str(call.headers)
    assert brought == {OWN}


@pytest.mark.parametrize("version", ["", "aio."], ids=["sync", "async"])
def test_googles_client_comes_to_the_gateway(version: str, tmp_path: Path) -> None:
    need_frameworks()
    asks = f'client.{version}models.generate_content(model="gemini-3", contents="hi")'
    asks = f"asyncio.run(main({asks}))" if version else asks
    program = f"""
        import asyncio
        from google import genai
        async def main(asks):
            return await asks
        options = {{"base_url": "https://generativelanguage.googleapis.com"}}
        client = genai.Client(api_key="{OWN}", http_options=options)
        print({asks}.text)
    """
    agent = redirected(command_agent((str(PROGRAMS / "python"), "agent.py")))
    given, (call,), brought = ran(tmp_path, agent, {"agent.py": program})
    assert isinstance(given, Answer), given
    assert given.output.strip() == "Hello"
    assert (call.path, brought) == ("/v1beta/models/gemini-3:generateContent", {OWN})


SENT = (
    '{method: "POST", headers: {"content-type": "application/json", '
    f"authorization: 'Bearer {OWN}'}}, body: '{ASKED}'}}"
)
RAW = """
    const raw = (call, ...words) => new Promise((done, failed) => {
      const sent = call(...words, (got) => {
        let text = "";
        got.on("data", (part) => (text += part)).on("end", () => done(JSON.parse(text)));
      });
      sent.on("error", failed).end(body);
    });
"""
SCRIPTS = {
    "fetch": "await (await fetch(address, sent)).json()",
    "fetch with a request": "await (await fetch(new Request(address, sent))).json()",
    "https": "await raw(https.request, new URL(address), {method, headers})",
    "https by its name": (
        "await raw(request, {host: 'api.openai.com', path: '/v1/chat/completions', "
        "agent: new https.Agent({keepAlive: false}), method, headers})"
    ),
    "undici": "await (await undici.request(address, sent)).body.json()",
    "undici's fetch": "await (await undici.fetch(address, sent)).json()",
    "undici's pool": (
        "await (await new undici.Pool('https://api.openai.com').request("
        "{path: '/v1/chat/completions', ...sent})).body.json()"
    ),
}


@needs_node
@pytest.mark.parametrize("client", SCRIPTS)
def test_what_a_node_program_sends_to_a_provider_comes_to_the_gateway(
    client: str, tmp_path: Path
) -> None:
    links = {}
    undici = client.startswith("undici")
    if undici:
        need_frameworks()
        links["node_modules"] = FRAMEWORKS / "vercel-ai" / "node_modules"
    program = f"""
    import https, {{ request }} from "node:https";
    {"import * as undici from 'undici';" if undici else ""}
    const address = "{ADDRESS}", sent = {SENT};
    const {{ method, headers, body }} = sent;
    {RAW}
    const said = {SCRIPTS[client]};
    console.log(said.choices[0].message.content);
    process.exit(0);
    """
    agent = redirected(command_agent(("node", "agent.mjs")))
    given, (call,), brought = ran(tmp_path, agent, {"agent.mjs": program}, links=links)
    assert isinstance(given, Answer), given
    assert given.output.strip() == "Hello"
    assert given.trace is not None
    assert given.trace.redirected == ("api.openai.com",)
    assert OWN not in str(call.headers)
    assert brought == {OWN}


@pytest.mark.parametrize("language", ["python", pytest.param("node", marks=needs_node)])
def test_an_object_behind_a_bridge_is_redirected_too(language: str, tmp_path: Path) -> None:
    files = {
        "desk.py": f"""
            import json, urllib.request
            def answer(question):
                headers = {{"Authorization": "Bearer {OWN}", "Content-Type": "application/json"}}
                asked = urllib.request.Request("{ADDRESS}", b'{ASKED}', headers)
                return json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]
        """,
        "desk.mjs": f"""
            export async function answer(question) {{
              const got = await (await fetch("{ADDRESS}", {SENT})).json();
              return got.choices[0].message.content;
            }}
        """,
    }
    target = "desk:answer" if language == "python" else "desk.mjs:answer"
    given, calls, _ = ran(tmp_path, redirected(bridged_agent(language, target)), files)
    assert isinstance(given, Answer), given
    assert (given.output, len(calls)) == ("Hello", 1)


OWN_HOOKS = {
    "agent.py": """
        import json, os, sys, sitecustomize
        print(json.dumps([sitecustomize.SAID, sys.path[1], os.environ["PYTHONPATH"].count(":")]))
    """,
    "lib/sitecustomize.py": "SAID = 'the program itself'\n",
    "lib/os.py": "raise SystemExit('shadowed')\n",
    "lib/json/__init__.py": "from json.inner import dumps\n",
    "lib/json/inner.py": "dumps = repr\n",
}


def test_the_programs_own_sitecustomize_runs_and_shadows_nothing(tmp_path: Path) -> None:
    env = {"PYTHONPATH": "lib"}
    agent = redirected(command_agent((sys.executable, "agent.py"), env=env))
    given, _, _ = ran(tmp_path, agent, OWN_HOOKS)
    assert isinstance(given, Answer), given
    said, second, _ = given.output.strip("[]\n").split(", ")
    assert said == "'the program itself'"
    assert second.endswith("/export/lib'")


def test_what_the_programs_own_hook_raises_is_its_own(tmp_path: Path) -> None:
    files = {"agent.py": "print('Hello')", "lib/sitecustomize.py": "raise ValueError('mine')\n"}
    agent = redirected(command_agent((sys.executable, "agent.py"), env={"PYTHONPATH": "lib"}))
    given, _, _ = ran(tmp_path, agent, files)
    assert isinstance(given, Answer), given
    assert given.output.strip() == "Hello"


@needs_node
def test_the_programs_own_node_options_stay(tmp_path: Path) -> None:
    env = {"NODE_OPTIONS": "--import=./own.mjs"}
    files = {"own.mjs": "globalThis.own = 'kept';", "agent.mjs": "console.log(globalThis.own);"}
    agent = redirected(command_agent(("node", "agent.mjs"), env=env))
    given, _, _ = ran(tmp_path, agent, files)
    assert isinstance(given, Answer), given
    assert given.output.strip() == "kept"


def test_without_redirect_nothing_of_it_is_there(tmp_path: Path) -> None:
    program = """
        import os
        names = ("GATEVAL_REDIRECT", "PYTHONPATH", "NODE_OPTIONS")
        print([os.environ.get(name) for name in names])
    """
    given, _, _ = ran(tmp_path, command_agent((sys.executable, "agent.py")), {"agent.py": program})
    assert isinstance(given, Answer), given
    assert given.output.strip() == "[None, None, None]"


def test_a_plan_with_another_hook_is_refused(tmp_path: Path) -> None:
    agent = redirected(command_agent((sys.executable, "agent.py")))
    other = agent.runtime.model_copy(update={"hook": "0" * 64})
    given, _, _ = ran(tmp_path, agent.model_copy(update={"runtime": other}), {"agent.py": ""})
    assert isinstance(given, NoAnswer)
    assert given.cause is Cause.GATE
    assert "another hook" in given.reason


async def _post(address: str, path: str, **headers: str) -> tuple[int, str]:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with aiohttp.request("POST", f"{address}{path}", json=body, headers=headers) as got:
        return got.status, await got.text()


PATHS = {
    "/api.openai.com/v1/chat/completions": "/v1/chat/completions",
    "/eu.api.openai.com/v1/chat/completions": "/v1/chat/completions",
    "/openrouter.ai/api/v1/chat/completions": "/api/v1/chat/completions",
    "/desk.openai.azure.com/openai/v1/chat/completions": "/openai/v1/chat/completions",
    "/generativelanguage.googleapis.com/v1beta/openai/chat/completions": (
        "/v1beta/openai/chat/completions"
    ),
}


def test_each_providers_host_has_its_place(tmp_path: Path) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        base = session.redirection()["GATEVAL_REDIRECT"]
        for asked, expected in PATHS.items():
            status, _ = await _post(base, asked, Authorization=f"Bearer {OWN}")
            assert (status, provider.calls[-1].path) == (200, expected)
        assert [one for call in provider.calls for one in call.headers.values() if OWN in one] == []
        trace = session.end()
        assert trace is not None
        assert trace.redirected == (
            "api.openai.com",
            "*.api.openai.com",
            "openrouter.ai",
            "*.openai.azure.com",
            "generativelanguage.googleapis.com",
        )

    serve(use, says)


NOT_LED = {
    "/evil.example/v1/chat/completions": 404,
    "/api.openai.com.evil.example/v1/chat/completions": 404,
    "/openai.azure.com/openai/v1/chat/completions": 404,
    "/api.openai.com/v1/files": 404,
    "/api.openai.com/redirect/x/api.openai.com/v1/chat/completions": 404,
    "/api.openai.com/mcp/x": 404,
}


def test_only_listed_endpoints_of_known_hosts_are_led_anywhere(tmp_path: Path) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        base = session.redirection()["GATEVAL_REDIRECT"]
        for path, expected in NOT_LED.items():
            status, text = await _post(base, path, Authorization=f"Bearer {OWN}")
            assert status == expected
            assert OWN not in text
            assert session.redirect_key not in text
        wrong = base.replace(session.redirect_key, "A" * 43)
        for address in (wrong, base.replace(session.redirect_key, session.key)):
            status, _ = await _post(address, "/api.openai.com/v1/chat/completions")
            assert status == 401
        session.end()
        status, _ = await _post(base, "/api.openai.com/v1/chat/completions")
        assert status == 403
        session.close()
        status, _ = await _post(base, "/api.openai.com/v1/chat/completions")
        assert status == 401
        assert provider.calls == []

    serve(use, says)


def test_a_program_brings_a_few_keys_and_no_flood_of_them(tmp_path: Path) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        path = "/api.openai.com/v1/chat/completions"
        base = session.redirection()["GATEVAL_REDIRECT"]
        seen = []
        for number in range(MOST_KEYS + 2):
            status, _ = await _post(base, path, Authorization=f"Bearer sk-{number:030}")
            seen.append(status)
        assert seen == [*[200] * MOST_KEYS, 429, 429]
        assert len(server.brought[Side.HEAD]) == MOST_KEYS
        assert server.brought.get(Side.BASE, set()) == set()
        status, _ = await _post(base, path, Authorization=f"Bearer {session.key}")
        assert status == 200

    serve(use, says)
