"""Ways by which a candidate might reach what is not its own through the newer addresses."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from yarl import URL

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits
from tests.helpers.gateway import CANARY, address, begun, errors, send, serve
from tests.servers.model_server import ModelServer

SAID: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
CONTENTS: dict[str, Any] = {"contents": [{"parts": [{"text": "hi"}]}]}
GEMINI = "/gemini/v1beta/models/{model}:generateContent"
ASKS: dict[str, dict[str, Any]] = {
    "/messages": {**SAID, "model": "{model}", "max_tokens": 9},
    "/chat/completions": {**SAID, "model": "{model}"},
    "/v1/embeddings": {"model": "{model}", "input": "hi"},
    "/embeddings": {"model": "{model}", "input": "hi"},
    "/v1/moderations": {"model": "{model}", "input": "hi"},
    "/openrouter/v1/chat/completions": {**SAID, "model": "{model}"},
    "/azure/openai/v1/responses": {"model": "{model}", "input": "hi"},
    "/azure/openai/deployments/{model}/chat/completions": SAID,
    "/azure/openai/deployments/{model}/embeddings": {"input": "hi"},
    "/v1/deployments/{model}/chat/completions": SAID,
    GEMINI: CONTENTS,
    "/gemini/v1beta/models/{model}:streamGenerateContent?alt=sse": CONTENTS,
    "/gemini/v1beta/models/{model}:embedContent": {"content": {"parts": [{"text": "hi"}]}},
    "/gemini/v1beta/models/{model}:batchEmbedContents": {
        "requests": [{"model": "models/{model}", "content": {"parts": [{"text": "hi"}]}}]
    },
}
"""Every way to name a model, and a body that asks it."""

SCRIPT = ScriptedModel(
    name="m", path="m.yaml", digest="0",
    spec=ScriptedSpec.model_validate({"rules": [{"reply": "Hello."}]}),
)  # fmt: skip


def asking(path: str, model: str) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = json.loads(json.dumps(ASKS[path]).replace("{model}", model))
    return path.replace("{model}", model), body


@pytest.mark.parametrize("path", ASKS)
def test_a_model_that_is_not_in_the_manifest_is_asked_by_no_address(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, "scripted/m")
        for model in ("other", "openai/other", "gemini/other", "azure/other"):
            asked, body = asking(path, model)
            status, answer, _ = await send(session, asked, json=body)
            assert status == 403, answer
            said = json.loads(answer)["error"]["message"]
            assert said.startswith("The Agent names scripted/m, and not ")
        asked, body = asking(path, "m")
        status, answer, _ = await send(session, asked, json={**body, "model": "m"})
        assert status == 200, answer
        assert provider.calls == []

    serve(use, scripts={Side.HEAD: {"m": SCRIPT}})


@pytest.mark.parametrize("path", ASKS)
def test_the_key_of_another_time_or_another_one_opens_no_address(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session, ended, between = begun(server), begun(server), begun(server)
        ended.close()
        between.end()
        asked, body = asking(path, "m")
        for key, wanted in ((ended.key, 401), (between.key, 403), (CANARY, 401), ("", 401)):
            for header in ("Authorization", "x-api-key", "api-key", "x-goog-api-key"):
                given = f"Bearer {key}" if header == "Authorization" else key
                url = address(session) + asked
                async with aiohttp.request("POST", url, json=body, headers={header: given}) as got:
                    assert got.status == wanted
                    assert (await got.json())["error"]["message"]
        assert provider.calls == []
        assert session.end() is None, "what others do is in nobody else's trace"

    serve(use)


@pytest.mark.parametrize(
    "path",
    [
        GEMINI.replace("{model}", "../files/f"),
        GEMINI.replace("{model}", "..%2Ffiles%2Ff"),
        GEMINI.replace("{model}", "m%2F..%2F..%2Ffiles%2Ff"),
        GEMINI.replace("{model}", "%2e%2e"),
        GEMINI.replace("{model}", "m%00"),
        GEMINI.replace("{model}", "m%3Fkey=x"),
        GEMINI.replace("{model}", "m%0d%0ax"),
        GEMINI.replace("{model}", "m" * 400),
        "/gemini/v1beta/tunedModels/mine:generateContent",
        "/gemini/v1beta/models/m:countTokens",
        "/gemini/v1beta/models/m:batchGenerateContent",
        "/gemini/v1beta/models/m:predict",
        "/gemini/v1beta/files",
        "/gemini/v1beta/cachedContents",
        "/gemini/upload/v1beta/files",
        "/gemini/v1beta/interactions",
        "/v1beta/models/m:generateContent",
        "/azure/openai/deployments/..%2F..%2Ffiles/chat/completions",
        "/azure/openai/deployments/m%2F..%2F..%2Fx/embeddings",
        "/azure/openai/deployments/m/../../files/chat/completions",
        "/azure/openai/deployments/m/images/generations",
        "/azure/openai/deployments/m/chat/completions/",
        "/azure/../openrouter/v1/keys",
    ],
)
def test_names_lead_nowhere_else(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        url = URL(address(session) + path, encoded=True)
        headers = {"Authorization": f"Bearer {session.key}"}
        async with aiohttp.request("POST", url, json=CONTENTS, headers=headers) as got:
            assert got.status == 404
            assert "This gateway has no POST" in (await got.json())["error"]["message"]
        assert provider.calls == []
        trouble = session.trouble(100)
        assert trouble is not None
        assert trouble.reason.startswith("The gateway refused a call. This gateway has no POST")

    serve(use)


@pytest.mark.parametrize("model", ["tunedModels/mine", "a/b", "-x", ".hidden", "m?x", "m#x"])
def test_a_body_cannot_name_what_googles_address_may_not(model: str) -> None:
    """By OpenAI's format, where the name stands in the body, and goes into a path behind us."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, f"gemini/{model}", "openai/gpt")
        status, answer, _ = await send(session, GEMINI.replace("{model}", "gpt"), json=CONTENTS)
        assert status == 200, answer
        provider.calls.clear()
        given = {"model": f"gemini/{model}", "requests": [{"content": {"parts": [{"text": "x"}]}}]}
        path = f"/gemini/v1beta/models/gemini/{model}:batchEmbedContents"
        url = URL(address(session) + path.replace("?", "%3F").replace("#", "%23"), encoded=True)
        headers = {"x-goog-api-key": session.key}
        async with aiohttp.request("POST", url, json=given, headers=headers) as got:
            assert got.status in {400, 404}
        assert provider.calls == []

    serve(use)


def test_the_address_counts_and_not_what_the_body_says() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, "azure/cheap", "gemini/cheap-too")
        path, body = asking("/azure/openai/deployments/{model}/chat/completions", "cheap")
        status, _, _ = await send(session, path, json={**body, "model": "dear"})
        assert status == 200
        path = "/gemini/v1beta/models/cheap-too:batchEmbedContents"
        batch = {"requests": [{"model": "models/dear", "content": {"parts": [{"text": "x"}]}}]}
        await send(session, path, json=batch)
        assert {call.body.get("model") for call in provider.calls} == {"cheap", None}
        assert b"dear" not in b"".join(call.raw for call in provider.calls)

    serve(use)


BATCHES: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/embeddings", {"model": "m", "input": ["x"] * 2049}, "2,049 texts, and 2,048 are the most"),
    ("/v1/embeddings", {"model": "m", "input": [[1]] * 2049}, "2,049 texts"),
    ("/v1/moderations", {"model": "m", "input": ["x"] * 2049}, "2,049 texts"),
    ("/v1/embeddings", {"model": "m", "input": []}, "it holds no text"),
    ("/v1/embeddings", {"model": "m", "input": {"file_id": "f"}}, "no text"),
    ("/v1/embeddings", {"model": "m", "input": "x", "dimensions": 10**9}, "4,096 for one text"),
    ("/v1/embeddings", {"model": "m", "input": ["x"] * 2000, "dimensions": 4096}, "500,000 numbers"),
    (
        "/gemini/v1beta/models/m:batchEmbedContents",
        {"requests": [{"content": {"parts": [{"text": "x"}]}}] * 2049},
        "2,049 texts",
    ),
    (
        "/gemini/v1beta/models/m:embedContent",
        {"content": {"parts": [{"text": "x"}]}, "outputDimensionality": 10**9},
        "4,096 for one text",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "words"), BATCHES, ids=range(len(BATCHES)))
def test_batches_that_are_too_large_are_refused(
    path: str, body: dict[str, Any], words: str
) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, "scripted/m")
        status, answer, _ = await send(session, path, json=body)
        assert status == 400
        assert words in json.loads(answer)["error"]["message"]
        assert len(errors(session.end())) == 1

    serve(use, scripts={Side.HEAD: {"m": SCRIPT}})


@pytest.mark.parametrize("path", [path for path in ASKS if "stream" not in path])
def test_calls_of_every_kind_are_counted(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session: Session = begun(server, "scripted/m")
        asked, body = asking(path, "m")
        got = [(await send(session, asked, json=body))[0] for _ in range(3)]
        assert got == [200, 200, 429]

    serve(use, scripts={Side.HEAD: {"m": SCRIPT}}, limits=CallLimits(calls=2))


def test_the_list_of_models_is_for_its_own_candidate_and_never_the_providers() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, ("scripted/m",), ("openai/e",))
        for path in ("/v1/models", "/models", "/openrouter/v1/models", "/azure/openai/models"):
            status, body, _ = await send(session, path, method="GET")
            assert status == 200
            assert [one["id"] for one in json.loads(body)["data"]] == ["m", "e"]
            status, _, _ = await send(session, path, method="GET", key=CANARY)
            assert status == 401
        assert session.stray == 0, "it is answered between trials, too"
        session.close()
        status, _, _ = await send(session, "/v1/models", method="GET")
        assert status == 401
        assert provider.calls == []

    serve(use)
