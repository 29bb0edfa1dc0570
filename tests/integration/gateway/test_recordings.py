"""Recordings of calls at the gateway: what is replayed, what stands in the files, what never does."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from gateval.domain.trials.model_call import Caller, Message, ModelRequest
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.recordings.recorded_call import Answered
from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.recorded import Tape
from gateval.ports.model_calls import ModelCallError
from gateval.safe.redaction import secret_forms
from tests.helpers.gateway import (
    CANARY,
    CHAT,
    MESSAGES,
    QUICK,
    RESPONSES,
    address,
    begun,
    errors,
    send,
)
from tests.servers.model_server import (
    Answer,
    Call,
    ModelServer,
    Responder,
    failure,
    in_turn,
    reply,
    streamed,
)

SECRET = 'crm/"token"\\+0123456789'
CALLER = Caller(address="a" * 64, place=("an-eval", "a-fixture", "head-1"), asks="agent")


async def taped(
    tape: Tape | None,
    respond: Responder,
    use: Callable[[GatewayServer], Any],
) -> tuple[Any, int]:
    """What `use` returns, and how many calls reached the provider."""
    async with ModelServer(respond) as provider:
        environ = {
            "OPENAI_BASE_URL": provider.openai_url,
            "OPENAI_API_KEY": CANARY,
            "ANTHROPIC_BASE_URL": provider.url,
            "ANTHROPIC_API_KEY": CANARY,
        }
        async with (
            Gateway(read_upstreams(environ), {}, policy=QUICK, tape=tape) as gateway,
            GatewayServer(gateway) as server,
        ):
            return await use(server), len(provider.calls)


def started(server: GatewayServer, caller: Caller | None = CALLER) -> Session:
    session = server.open(Side.HEAD, ())
    session.begin(1, None, caller)
    return session


def body(path: str, text: str = "hi", **more: Any) -> dict[str, Any]:
    if path == RESPONSES:
        return {"model": "m", "input": text, **more}
    said = [{"role": "user", "content": text}]
    return {
        "model": "m",
        "messages": said,
        **({"max_tokens": 9} if path == MESSAGES else {}),
        **more,
    }


async def ask(
    session: Session, path: str = CHAT, text: str = "hi", **more: Any
) -> tuple[int, bytes]:
    status, raw, _ = await send(session, path, json=body(path, text, **more))
    return status, raw


def recorded(
    tmp_path: Path, respond: Responder, use: Callable[[GatewayServer], Any], *secrets: str
) -> Any:
    tape = Tape(secrets, record=tmp_path)
    said, _ = asyncio.run(taped(tape, respond, use))
    return said


def replayed(tmp_path: Path, use: Callable[[GatewayServer], Any], *secrets: str) -> Any:
    """Replay offline; nobody is asked."""
    tape = Tape(secrets, replay=tmp_path, offline=True)
    said, calls = asyncio.run(taped(tape, lambda call: failure(call, 500, "asked!"), use))
    assert calls == 0, "a live call was made"
    return said


def events_of(stream: bytes) -> list[Any]:
    """The events of a stream, whatever white space is in their JSON."""
    lines = stream.decode().splitlines()
    return [json.loads(one[6:]) if one.startswith("data: {") else one for one in lines]


def files(folder: Path) -> dict[str, str]:
    found = sorted(one for one in folder.rglob("*") if one.is_file())
    return {str(one.relative_to(folder)): one.read_text() for one in found}


@pytest.mark.parametrize("ended", [*permutations(range(4))][::3])
def test_calls_side_by_side_make_the_same_file_in_whichever_order_they_end(
    tmp_path: Path, ended: tuple[int, ...]
) -> None:
    tape = Tape(record=tmp_path)
    asked = [json.dumps(body(CHAT, text)).encode() for text in ("one", "two\n", "tħree", "four")]
    under_way = [tape.call(CALLER, "openai-chat", "openai/m", one) for one in asked]
    for number in ended:
        under_way[number].record(Answered(200, {"said": number}))
        (content,) = files(tmp_path).values()
        assert json.loads(content), "whole JSON after each"
    assert [one["answer"]["body"]["said"] for one in json.loads(content)] == [0, 1, 2, 3]
    assert content == "[\n" + content[2:-3] + "\n]\n"


@pytest.mark.parametrize("path", [CHAT, MESSAGES, RESPONSES])
def test_answers_and_streams_are_replayed_as_they_came(tmp_path: Path, path: str) -> None:
    async def use(server: GatewayServer) -> Any:
        session = started(server)
        once = [
            await ask(session, path),
            await ask(session, path),
            await ask(session, path, "who?"),
        ]
        events = await ask(session, path, "and streamed", stream=True)
        broken = await ask(session, path, "this is refused")
        trace = session.end()
        assert trace is not None
        steps = [(step.kind, step.text) for step in trace.steps]
        return [(status, json.loads(raw)) for status, raw in once], events, broken, steps

    answers = in_turn(
        lambda call: reply(call, "one"),
        lambda call: reply(call, "two", tools=[("t", "look", {"order": 7})]),
        lambda call: reply(call, "three\nlines"),
        lambda call: streamed(call, "a stream of words"),
        lambda call: failure(call, 400, "No such thing."),
    )
    live = recorded(tmp_path, answers, use)
    again = replayed(tmp_path, use)
    assert again[0] == live[0], "equal requests get their answers in order"
    assert events_of(again[1][1]) == events_of(live[1][1])
    assert len(events_of(live[1][1])) > 4
    (status, message), (status_again, message_again) = live[2], again[2]
    assert (status_again, json.loads(message_again)) == (status, json.loads(message))
    assert again[3] == live[3]
    (text,) = files(tmp_path).values()
    assert len(json.loads(text)) == 5


def test_what_failed_and_what_nobody_waited_for_fails_again(tmp_path: Path) -> None:
    async def use(server: GatewayServer) -> Any:
        session = started(server)
        down = await ask(session, text="down")
        waiting = asyncio.create_task(ask(session, text="slow"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 0.5)
        return down, errors(session.end())

    def respond(call: Call) -> Answer:
        if b"slow" in call.raw:
            return reply(call, "late", delay=5)
        return failure(call, 503, "Down.")

    live = recorded(tmp_path, respond, use)
    assert replayed(tmp_path, use) == live
    assert live[0][0] == 503


def test_no_form_of_a_secret_and_nothing_drawn_is_in_a_recording(tmp_path: Path) -> None:
    """The attack: an agent says its secrets in every form, and the provider says them back."""
    forms = [*secret_forms([SECRET]), SECRET, quote(SECRET), json.dumps(json.dumps(SECRET))]
    for before in ("", "x", "xy"):
        coded = base64.b64encode(f"{before}{SECRET}{before}".encode())
        forms += [coded.decode(), base64.urlsafe_b64encode(coded).decode()]
    drawn: list[str] = []

    async def use(server: GatewayServer) -> Any:
        session = started(server)
        drawn.extend((session.key, session.tool_key, address(session).rpartition("/")[2]))
        said = "\n".join([*forms, *drawn, f"{SECRET[:9]}\n{SECRET[9:]}"])
        for path in (CHAT, MESSAGES, RESPONSES):
            await ask(session, path, said, user=SECRET, metadata={"a": forms[0]})
            await ask(session, path, said, stream=True)
            await ask(session, path, "fail", stop=[SECRET])
        async with aiohttp.ClientSession() as client:
            headers = {"Authorization": f"Bearer {session.key}", "X-Secret": SECRET}
            raw = f'{{"model": "m", "messages": "{SECRET}'.encode()
            await client.post(address(session) + CHAT, data=raw, headers=headers)

    def respond(call: Call) -> Answer:
        if b'"fail"' in call.raw:
            return failure(call, 400, f"Bad: {SECRET} {forms[-1]}")
        return reply(call, "\n".join([*forms, *drawn]), tools=[("t", SECRET, {SECRET: [forms[0]]})])

    recorded(tmp_path, respond, use, SECRET, CANARY)
    written = files(tmp_path)
    assert sum(len(json.loads(text)) for text in written.values()) == 9
    for name, text in written.items():
        spelled = json.dumps(json.loads(text), ensure_ascii=False)
        for form in (*secret_forms([SECRET, CANARY]), *drawn):
            assert form not in text, (name, form)
            assert form not in spelled, (name, form)


def test_a_secret_in_pieces_of_a_stream_is_not_recorded(tmp_path: Path) -> None:
    async def use(server: GatewayServer) -> Any:
        session = started(server)
        return await ask(session, text="say it", stream=True), errors(session.end())

    words = [SECRET[at : at + 4] for at in range(0, len(SECRET), 4)]

    def halves(call: Call) -> Answer:
        made = [
            b"data: "
            + json.dumps(
                {"id": "1", "choices": [{"index": 0, "delta": {"content": word}}]}
            ).encode()
            + b"\n\n"
            for word in words
        ]
        end = json.dumps(
            {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        )
        return Answer(pieces=(*made, f"data: {end}\n\n".encode(), b"data: [DONE]\n\n"))

    recorded(tmp_path, halves, use, SECRET)
    (text,) = files(tmp_path).values()
    assert not any(json.dumps(word)[1:-1] in text for word in words)
    (status, said), _ = replayed(tmp_path, use, SECRET)
    assert status == 400
    assert b"a secret stood across the pieces of its stream" in said


def test_a_miss_offline_is_the_gates_error_with_what_differs(tmp_path: Path) -> None:
    async def record(server: GatewayServer) -> Any:
        await ask(started(server), text="Refund order 1042,\nplease.")

    async def other(server: GatewayServer) -> Any:
        session = started(server)
        status, raw = await ask(session, text="Refund order 1043,\nplease.")
        trouble = session.trouble(60)
        return status, json.loads(raw)["error"]["message"], trouble and trouble.cause

    async def more(server: GatewayServer) -> Any:
        session = started(server)
        await ask(session, text="Refund order 1042,\nplease.")
        return await ask(session, text="Refund order 1042,\nplease.")

    async def changed(server: GatewayServer) -> Any:
        return await ask(started(server, CALLER.replace(address="b" * 64)))

    async def elsewhere(server: GatewayServer) -> Any:
        return await ask(started(server, CALLER.replace(place=("an-eval", "other", "head-1"))))

    async def sealed(server: GatewayServer) -> Any:
        return await ask(started(server, None))

    recorded(tmp_path, lambda call: reply(call, "done"), record)
    status, message, cause = replayed(tmp_path, other)
    assert (status, cause) == (400, "gate")
    assert '- "Refund order 1042,",' in message
    assert '+ "Refund order 1043,",' in message
    assert b"was made 1 times" in replayed(tmp_path, more)[1]
    assert b"is of another version" in replayed(tmp_path, changed)[1]
    assert (
        b"Nothing of agent is recorded in an-eval/other/head-1" in replayed(tmp_path, elsewhere)[1]
    )
    assert b"Nothing of sealed Evals is recorded" in replayed(tmp_path, sealed)[1]


def test_what_no_caller_names_is_never_recorded(tmp_path: Path) -> None:
    async def use(server: GatewayServer) -> Any:
        return await ask(started(server, None)), await ask(begun(server))

    recorded(tmp_path, lambda call: reply(call, "sealed"), use)
    assert files(tmp_path) == {}


def test_what_changes_with_each_run_matches_and_stands_again_in_the_answer(tmp_path: Path) -> None:
    folders = [tmp_path / "gateval-abc12345", tmp_path / "gateval-zyx98765"]
    told: list[str] = []

    def use(folder: Path, uuid: str) -> Callable[[GatewayServer], Any]:
        async def asked(server: GatewayServer) -> Any:
            session = started(server)
            port = address(session).rpartition(":")[2]
            text = f"In {folder}/files-0123456789abcdef/a.py at http://localhost:{port}, {uuid}."
            told.append(text)
            return json.loads((await ask(session, text=text, user=uuid))[1])["choices"][0]

        return asked

    def echo(call: Call) -> Answer:
        return reply(call, "You said: " + call.body["messages"][0]["content"])

    async def both() -> None:
        uuids = ["11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"]
        record = Tape(record=tmp_path / "r", folders=[str(folders[0])])
        first, _ = await taped(record, echo, use(folders[0], uuids[0]))
        replay = Tape(replay=tmp_path / "r", offline=True, folders=[str(folders[1])])
        second, calls = await taped(replay, echo, use(folders[1], uuids[1]))
        assert calls == 0
        assert first["message"]["content"] == f"You said: {told[0]}"
        assert second["message"]["content"] == f"You said: {told[1]}"

    asyncio.run(both())
    (text,) = files(tmp_path / "r").values()
    assert "{gateval:folder-1}/a.py at http://{gateval:local-1}, {gateval:uuid-1}." in text
    assert "11111111" not in text


def test_the_gates_own_calls_are_replayed_with_another_nonce(tmp_path: Path) -> None:
    def request(nonce: str) -> ModelRequest:
        caller = CALLER.replace(asks="judge", drawn=(nonce,))
        return ModelRequest(
            model="", caller=caller, messages=(Message(role="user", text=f"<{nonce}>"),)
        )

    async def call(tape: Tape, nonce: str, respond: Responder) -> str:
        async def use(server: GatewayServer) -> str:
            return (await server.gateway.call("openai/m", request(nonce), side=Side.HEAD)).text

        said, _ = await taped(tape, respond, use)
        return str(said)

    nonces = ("0123456789abcdef", "fedcba9876543210")

    def quoting(call: Call) -> Answer:
        return reply(call, f"I saw <{nonces[0]}>.")

    def gone(call: Call) -> Answer:
        return failure(call, 500, "asked!")

    assert (
        asyncio.run(call(Tape(record=tmp_path), nonces[0], quoting)) == "I saw <0123456789abcdef>."
    )
    replay = Tape(replay=tmp_path, offline=True)
    assert asyncio.run(call(replay, nonces[1], gone)) == "I saw <fedcba9876543210>."
    with pytest.raises(ModelCallError, match="was made 1 times"):
        asyncio.run(call(replay, nonces[1], gone))
    assert not any(nonce in text for text in files(tmp_path).values() for nonce in nonces)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no json", b"holds no recorded calls"),
        ('[{"version": 2}]', b"was written by another version"),
        ("[" * 100_000, b"holds no recorded calls"),
        ('[{"version": 1}]', b"holds no recorded calls"),
    ],
)
def test_a_recording_that_is_none_is_said(tmp_path: Path, content: str, said: bytes) -> None:
    folder = tmp_path.joinpath(*CALLER.place[:-1])
    folder.mkdir(parents=True)
    (folder / "head-1.json").write_text(content)

    async def use(server: GatewayServer) -> Any:
        return await ask(started(server))

    assert said in replayed(tmp_path, use)[1]
    (folder / "head-1.json").unlink()
    (folder / "head-1.json").symlink_to("/etc/passwd")
    assert b"cannot be read" in replayed(tmp_path, use)[1]


def test_what_is_not_recorded_is_asked_for_where_that_is_allowed_and_added(tmp_path: Path) -> None:
    async def use(server: GatewayServer) -> Any:
        session = started(server)
        return [
            json.loads((await ask(session, text=text))[1])["choices"][0]["message"] for text in "ab"
        ]

    async def one(server: GatewayServer) -> Any:
        await ask(started(server), text="a")

    recorded(tmp_path / "first", lambda call: reply(call, "old"), one)
    tape = Tape(replay=tmp_path / "first", record=tmp_path / "second")
    said, calls = asyncio.run(taped(tape, lambda call: reply(call, "new"), use))
    assert [message["content"] for message in said] == ["old", "new"]
    assert calls == 1
    again = replayed(tmp_path / "second", use)
    assert [message["content"] for message in again] == ["old", "new"]
