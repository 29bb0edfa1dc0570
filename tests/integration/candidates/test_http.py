"""Servers that mean well: what they are asked, how they are read, and what they see."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import ask, no_survivors
from tests.helpers.serving import answers, server, serving


def test_it_is_asked_and_read_as_the_manifest_says(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body):
        self.say(200, {"reply": {"path": self.path, "body": body, "seen": self.headers["X-Seen"]}})
serve(Mine)
""",
    )
    request: JsonObject = {
        "path": "/orders/{{ input.payload.id }}?dry=1",
        "headers": {"X-Seen": "{{ input.type }}"},
        "body": {"count": "{{ input.payload.count }}", "text": "{{ prompt }}!", "list": ["{{ input.payload.tags }}", 1]},
    }  # fmt: skip
    asked = ask(payload={"prompt": "hi", "id": "a/b", "count": 3, "tags": ["x"]})
    (found,) = answers(world, server(request=request), asked)
    assert isinstance(found, Answer), found
    assert found.output == (
        '{"body":{"count":3,"list":[["x"],1],"text":"hi!"},"path":"/orders/a%2Fb?dry=1",'
        '"seen":"prompt"}'
    )
    assert world.leftovers() == []
    assert no_survivors(world.context.run)


def test_a_form_is_sent_as_a_page_sends_it(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
from urllib.parse import parse_qs
class Mine(Handler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.say(200, {"reply": [self.headers["Content-Type"], parse_qs(text, keep_blank_values=True)]})
serve(Mine)
""",
    )
    form: JsonObject = {"message": "{{ prompt }}", "of": "{{ input.payload.tags }}", "stream": ""}
    asked = ask(payload={"prompt": "a=b&stream=x\n\u00e9", "tags": ["x"]})
    (found,) = answers(world, server(request={"path": "/", "form": form}), asked)
    assert isinstance(found, Answer), found
    assert found.output == (
        '["application/x-www-form-urlencoded",'
        '{"message":["a=b&stream=x\\n\u00e9"],"of":["[\\"x\\"]"],"stream":[""]}]'
    )


BEGINS = """
import secrets
class Mine(Handler):
    begun = {}
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/login":
            self.say(200, {"access": {"token": "t/1"}, "`x`\\n@all": 1} if text == "user=a" else {"access": {"token": "t\\r\\nX: y"}})
        elif self.path == "/refused":
            self.say(401, {"detail": "who are you"})
        elif self.path == "/chats":
            assert (self.headers["Authorization"], json.loads(text)) == ("Bearer t/1", {})
            chat = f"a/{len(self.begun)}"
            self.begun[chat] = 0
            self.say(201, {"id": chat})
        elif self.path == "/prose":
            self.say(200, b"no JSON")
        else:
            chat = self.path.split("/")[2].replace("%2F", "/")
            self.begun[chat] += 1
            self.say(200, {"reply": f"{chat} {self.begun[chat]} {json.loads(text)['text']}"})
serve(Mine)
"""
LOGIN: JsonObject = {"path": "/login", "form": {"user": "a"}}
CHAT: JsonObject = {
    "path": "/chats",
    "headers": {"Authorization": "Bearer {{ begun.login.access.token }}"},
}
TALK: JsonObject = {
    "begin": {"login": LOGIN, "chat": CHAT},
    "path": "/chats/{{ begun.chat.id }}/messages",
    "body": {"text": "{{ prompt }}"},
}


def test_each_trial_begins_with_the_requests_that_it_needs(tmp_path: Path) -> None:
    agent = server(request=TALK, instances=1)
    two = replace(ask("hi"), turns=("One", "Two"))
    found = answers(serving(tmp_path, BEGINS), agent, ask("hi"), two, ask("ho"))
    said = [one.output if isinstance(one, Answer) else one for one in found]
    assert said == ["a/0 1 hi", "a/1 2 Two", "a/2 1 ho"]


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        ({"chat": {"path": "/refused"}}, "The server answered POST \"/refused\" with status 401: "),
        ({"chat": {"path": "/prose"}}, "The server's answer to `begin.chat` is no JSON ("),
        ({"login": LOGIN, "chat": {**CHAT, "path": "/{{ begun.login.name }}"}}, "The request `begin.chat` could not be made: the server did not give `begun.login.name` (it gave `access`); add it"),
        ({"login": {"path": "/login"}, "chat": CHAT}, "The request `begin.chat` could not be made: the header `Authorization` would hold a line break"),
        ({"chat": LOGIN}, "The request could not be made: the server did not give `begun.chat.id`"),
    ],
)  # fmt: skip
def test_what_does_not_begin_is_told(tmp_path: Path, begin: JsonObject, said: str) -> None:
    agent = server(request={**TALK, "begin": begin})
    (found,) = answers(serving(tmp_path, BEGINS), agent, ask("hi"))
    assert isinstance(found, NoAnswer), found
    assert found.cause is Cause.CANDIDATE
    assert found.reason.startswith(said), found.reason


def test_by_default_it_speaks_the_contract_of_command(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body):
        assert body == {"version": 1, "input": {"type": "prompt", "payload": {"prompt": "hi"}}, "prompt": "hi"}
        steps = [{"type": "tool_call", "tool": "look"}, {"type": "assistant", "text": "done"}]
        self.say(200, {"output": "done", "trace": steps, "usage": {"input_tokens": 3}})
serve(Mine)
""",
    )
    (found,) = answers(world, server(request={"path": "/"}, response={}), ask("hi"))
    assert isinstance(found, Answer), found
    assert found.trace is not None
    assert (found.output, len(found.trace.steps), found.usage.input_tokens) == ("done", 2, 3)


def test_trace_and_usage_stand_where_the_manifest_says(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body):
        self.say(200, {"out": [{"type": "note", "text": "no"}, {"type": "text", "text": "yes"}],
                       "steps": [{"type": "assistant", "text": "yes"}], "cost": {"input_tokens": 7}})
serve(Mine)
""",
    )
    paths: JsonObject = {
        "output": "$.out[?@.type=='text'].text", "trace": "$.steps", "usage": "$.cost"
    }  # fmt: skip
    (found,) = answers(world, server(response=paths), ask())
    assert isinstance(found, Answer), found
    assert found.trace is not None
    assert (found.output, found.usage.input_tokens) == ("yes", 7)


READINGS: list[tuple[str, object, str]] = [
    ("$.reply", {"reply": 7}, "7"),
    ("$.reply", {"reply": {"b": 1, "a": [None]}}, '{"a":[null],"b":1}'),
    ("$", ["x"], '["x"]'),
    ("$..text", {"a": [{"b": {"text": "deep"}}]}, "deep"),
    ("$.reply", {"reply": None}, "the value at `$.reply` is empty"),
    ("$.reply", {"reply": " "}, "the value at `$.reply` is empty"),
    ("$.reply", {"replay": "x"}, "nothing stands at `$.reply`"),
    ("$.a[*]", {"a": ["x", "y"]}, "`$.a[*]` names more than one value"),
    ("$.reply", b"<html>", 'no JSON (expecting value at line 1, column 1), declared as "text/plain": "<html>"'),
    ("$.reply", b"", "it is no JSON"),
    ("$.reply", b'{"reply": "a", "reply": "b"}', 'the key "reply" stands there twice'),
    ("$.reply", b"[" * 100_000, "nested more than 100 levels deep"),
    ("$..[?@.x==1]", b"[" + b"0," * 400_000 + b"0]", "`$..[?@.x==1]` would look at too many values"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "expected"), READINGS)
def test_the_final_message_is_found_or_the_reason_told(
    path: str, body: object, expected: str, tmp_path: Path
) -> None:
    kind = "text/plain" if isinstance(body, bytes) else "application/json"
    data = body if isinstance(body, bytes) and len(body) < 100 else None
    said = repr(body) if data is not None or not isinstance(body, bytes) else _written(body)
    world = serving(
        tmp_path,
        f"class Mine(Handler):\n    def answer(self, body): self.say(200, {said}, {kind!r})\nserve(Mine)\n",
    )
    (found,) = answers(world, server(response={"output": path}), ask())
    text = found.output if isinstance(found, Answer) else found.reason
    assert (text == expected) if isinstance(found, Answer) else (expected in text), text
    if isinstance(found, NoAnswer):
        assert found.cause is Cause.CANDIDATE
        assert found.reason.startswith("The server's answer cannot be used: ")


def _written(body: bytes) -> str:
    """A short expression for a long text of few different letters."""
    return 'b"[" * 100_000' if body[1:2] == b"[" else 'b"[" + b"0," * 400_000 + b"0]"'


def test_a_server_on_the_other_loopback_address(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
import socket
class Six(ThreadingHTTPServer): address_family = socket.AF_INET6
Six(("::1", int(sys.argv[1])), Handler).serve_forever()
""",
    )
    (found,) = answers(world, server(), ask("hi"))
    assert isinstance(found, Answer), found


def test_it_sees_a_private_home_and_no_secret(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body): self.say(200, {"reply": json.dumps(dict(os.environ))})
serve(Mine)
""",
        environ={
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": "sk-canary",
            "http_proxy": "http://127.0.0.1:9",
        },
    )
    (found,) = answers(world, server(), ask())
    assert isinstance(found, Answer), found
    assert "sk-canary" not in found.output
    assert str(world.context.scratch) in found.output
    assert sys.executable


def test_port_in_command_and_environment(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def answer(self, body):
        self.say(200, {"reply": str(os.environ["PORT"] == sys.argv[1] and os.environ["ADDRESS"] == "here:" + sys.argv[1])})
serve(Mine)
""",
    )
    (found,) = answers(world, server(env={"ADDRESS": "here:{port}"}), ask())
    assert isinstance(found, Answer)
    assert found.output == "True"
