"""Google's own client against the local server: in its format, whichever model answers."""

from __future__ import annotations

import json

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import GatewayServer
from tests.helpers.clients import run_client
from tests.helpers.frameworks import PROGRAMS, need_frameworks
from tests.helpers.gateway import CANARY, begun, errors, send, serve
from tests.servers.google_models import google_embeddings, google_failure, google_reply
from tests.servers.model_server import Answer, Call, ModelServer, reply

ASKS = """
from google import genai
from google.genai import errors, types
client = genai.Client()
def attempt(code):
    try:
        print(code())
    except errors.APIError as error:
        print(error.code, error.message)
"""
STREAMS = """
chunks = list(client.models.generate_content_stream(model="gemini-3", contents="hi"))
print("".join(chunk.text or "" for chunk in chunks), chunks[-1].usage_metadata.total_token_count)
"""
SAYS = 'attempt(lambda: client.models.generate_content(model="gemini-3", contents="hi").text)\n'
EMBEDS = """
config = types.EmbedContentConfig(output_dimensionality=2)
got = client.models.embed_content(model="e", contents=["a", "b"], config=config)
print([one.values for one in got.embeddings])
"""
LISTS = """
print([model.name for model in client.models.list()], client.models.get(model="m").display_name)
attempt(lambda: client.models.get(model="gemini-9"))
"""


def google(call: Call) -> Answer:
    return google_reply(call, "Hello to you") if "/models/" in call.path else reply(call, "Hello")


def ask(
    code: str, respond: object = google, *models: str, script: ScriptedSpec | None = None
) -> tuple[list[str], list[Call], list[str]]:
    """What the client prints, what came to the provider, and the errors in the trace."""
    need_frameworks()
    found: list[tuple[list[str], list[Call], list[str]]] = []
    named = script or ScriptedSpec.model_validate({"rules": [{"reply": "Hello from a script"}]})
    scripts = {Side.HEAD: {"m": ScriptedModel(name="m", path="m.yaml", digest="0", spec=named)}}

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, *models)
        out, said = await run_client(
            session, ASKS + code, python=PROGRAMS / "python", GOOGLE_API_KEY=""
        )
        assert "Traceback" not in said, said
        trace = session.end()
        found.append((out.splitlines(), provider.calls, errors(trace) if trace else []))

    serve(use, respond, scripts=scripts)  # type: ignore[arg-type]
    return found[0]


@pytest.mark.parametrize("code", [SAYS, STREAMS], ids=["whole", "streamed"])
def test_googles_client_asks_googles_model(code: str) -> None:
    said, (call,), _ = ask(code)
    assert said[0].startswith("Hello to you")
    verb = "streamGenerateContent?alt=sse" if code is STREAMS else "generateContent"
    assert call.path == f"/v1beta/models/gemini-3:{verb}"
    assert call.headers["x-goog-api-key"] == CANARY
    assert call.body == {"contents": [{"parts": [{"text": "hi"}], "role": "user"}]}


@pytest.mark.parametrize("code", [SAYS, STREAMS], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["scripted/m", "openai/gpt", "anthropic/claude"])
def test_googles_client_asks_any_other_model(model: str, code: str) -> None:
    name = model.partition("/")[2]
    said, calls, _ = ask(code.replace("gemini-3", name), google, model)
    assert said[0].startswith("Hello")
    assert len(calls) == (0 if name == "m" else 1)


def test_vectors_of_googles_model_come_back_and_the_address_names_the_model() -> None:
    vectors = [[0.0, 1.0], [1.0, 0.0]]
    said, (call,), _ = ask(EMBEDS, lambda call: google_embeddings(call, vectors))
    assert said == [str(vectors)]
    assert call.path == "/v1beta/models/e:batchEmbedContents"
    assert [one["model"] for one in call.body["requests"]] == ["models/e", "models/e"]


def test_vectors_of_other_models_come_in_googles_shape() -> None:
    body = {"data": [{"embedding": [0.0, 1.0]}, {"embedding": [1.0, 0.0]}], "model": "e"}
    answer = Answer(body=json.dumps(body).encode())
    said, (call,), _ = ask(EMBEDS, lambda _: answer, "openai/e")
    assert said == ["[[0.0, 1.0], [1.0, 0.0]]"]
    assert call.body == {"model": "e", "input": ["a", "b"], "dimensions": 2}
    said, calls, _ = ask(EMBEDS.replace('"e"', '"m"'), google, "scripted/m")
    assert (len(json.loads(said[0])), calls) == (2, [])


def test_the_models_of_the_manifest_are_listed() -> None:
    said, calls, _ = ask(LISTS, google, "scripted/m", "gemini/gemini-3")
    assert said == [
        "['models/m', 'models/gemini-3'] m",
        "404 The Agent's manifest does not name gemini-9; add it to `spec.uses`.",
    ]
    assert calls == []


REFUSALS = {
    "another model": (
        SAYS.replace("gemini-3", "gemini-9"),
        "403 The Agent names scripted/m, gemini/gemini-3, and not gemini/gemini-9",
    ),
    "a model of the account": (
        SAYS.replace('"gemini-3"', '"tunedModels/mine"'),
        "404 This gateway has no POST /gemini/v1/tunedModels/mine:generateContent.",
    ),
    "a cache": (
        SAYS.replace("contents=", 'config={"cached_content": "cachedContents/1"}, contents='),
        "403 `cachedContent` names what is stored in the provider's account",
    ),
    "a file": (
        SAYS.replace('"hi"', '[types.Part.from_uri(file_uri="https://x/files/1", mime_type="a/b")]'),
        "403 `file_uri` names what is stored in the provider's account",
    ),
    "too many tokens": (
        SAYS.replace("contents=", 'config={"max_output_tokens": 200000}, contents='),
        "403 `maxOutputTokens` is over 128,000",
    ),
    "several answers": (
        SAYS.replace("contents=", 'config={"candidate_count": 2}, contents='),
        "400 The request cannot be passed on: `candidateCount` asks for several",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_come_in_googles_shape_with_our_sentence(name: str) -> None:
    code, words = REFUSALS[name]
    said, calls, traced = ask(code, google, "scripted/m", "gemini/gemini-3")
    assert said[0].startswith(words), said
    assert calls == []
    if not words.startswith("404"):
        assert traced == [said[0].partition(" ")[2]]


def test_googles_own_errors_come_back() -> None:
    said, calls, traced = ask(SAYS, lambda _: google_failure(400, "Bad tools."))
    assert said == ["400 Bad tools."]
    assert len(calls) == 1
    assert traced == ["gemini answered 400: Bad tools."]


def test_a_key_that_comes_in_pieces_of_googles_stream_does_not_get_out() -> None:
    half = len(CANARY) // 2
    frames = (
        {"candidates": [{"content": {"parts": [{"text": text}]}, "index": 0}]}
        for text in ("The key is ", CANARY[:half], CANARY[half:], ". Bye.")
    )
    pieces = tuple(f"data: {json.dumps(frame)}\n\n".encode() for frame in frames)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        path = "/gemini/v1/models/g:streamGenerateContent?alt=sse"
        status, body, _ = await send(session, path, json={"contents": [{"parts": []}]})
        assert status == 200
        assert b"The key is" in body
        assert CANARY[half:].encode() not in body
        assert b"a key of the gate, so its stream was cut" in body
        trace = session.end()
        assert CANARY not in repr(trace)

    serve(use, lambda call: Answer(pieces=pieces))


def test_a_stream_is_asked_for_as_events() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        path = "/gemini/v1/models/g:streamGenerateContent"
        status, body, _ = await send(session, path, json={"contents": []})
        assert status == 400
        assert "`?alt=sse`" in json.loads(body)["error"]["message"]
        assert provider.calls == []

    serve(use)
