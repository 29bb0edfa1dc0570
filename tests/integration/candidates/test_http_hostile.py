"""Servers that mean harm: each costs its own trial a sentence, and nothing else."""

from __future__ import annotations

import gc
import json
import resource
import time
from pathlib import Path

import pytest

from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import World, ask, no_survivors, open_files
from tests.helpers.serving import HTTP, SOCKET, answers, server, serving

LATE = "did not answer within 0.6 s"

HOSTILE: list[tuple[str, str, str]] = [
    ("answers 1 GB", SOCKET + "def work(peer):\n    peer.sendall(OK + b'\\r\\n')\n    for _ in range(16384): peer.sendall(b'x' * 65536)\nloop(work)", "answered with more than 1,048,576 bytes"),
    ("declares 1 GB", SOCKET + "def work(peer):\n    peer.sendall(OK + b'Content-Length: 1000000000\\r\\n\\r\\nx'); time.sleep(60)\nloop(work)", "answered with more than 1,048,576 bytes"),
    ("never answers", SOCKET + "loop(lambda peer: time.sleep(60))", LATE),
    ("answers one byte a second", SOCKET + "def work(peer):\n    for byte in OK + b'\\r\\n' + b'x' * 99: peer.sendall(bytes([byte])); time.sleep(0.2)\nloop(work)", LATE),
    ("trickles its body", SOCKET + "def work(peer):\n    peer.sendall(OK + b'Content-Length: 99\\r\\n\\r\\n')\n    while True: peer.sendall(b'x'); time.sleep(0.1)\nloop(work)", LATE),
    ("sends headers without end", SOCKET + "def work(peer):\n    peer.sendall(OK)\n    while True: peer.sendall(b'X-More: ' + b'x' * 1000 + b'\\r\\n')\nloop(work)", "sent no usable HTTP"),
    ("sends one header without end", SOCKET + "def work(peer):\n    peer.sendall(OK + b'X-More: ')\n    while True: peer.sendall(b'x' * 65536)\nloop(work)", "sent no usable HTTP"),
    ("sends a status line without end", SOCKET + "def work(peer):\n    peer.sendall(b'HTTP/1.1 200 ')\n    while True: peer.sendall(b'x' * 65536)\nloop(work)", "sent no usable HTTP"),
    ("continues for ever", SOCKET + "def work(peer):\n    while True: peer.sendall(b'HTTP/1.1 100 Continue\\r\\n\\r\\n'); time.sleep(0.001)\nloop(work)", LATE),
    ("says no HTTP", SOCKET + "loop(lambda peer: peer.sendall(b'220 mail.example ESMTP\\r\\n'))", "sent no usable HTTP"),
    ("closes without a word", SOCKET + "loop(lambda peer: None)", "closed the connection before its answer was complete"),
    ("closes in the middle", SOCKET + "loop(lambda peer: peer.sendall(OK + b'Content-Length: 50\\r\\n\\r\\n{\"reply\"'))", "closed the connection before its answer was complete"),
    ("breaks its chunks", SOCKET + "loop(lambda peer: peer.sendall(OK + b'Transfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n{}\\r\\n'))", "The server "),
    ("sends a chunk size without end", SOCKET + "def work(peer):\n    peer.sendall(OK + b'Transfer-Encoding: chunked\\r\\n\\r\\n1;')\n    while True: peer.sendall(b'x' * 65536)\nloop(work)", "The server "),
    ("redirects to cloud metadata", SOCKET + "loop(lambda peer: peer.sendall(b'HTTP/1.1 302 Found\\r\\nLocation: http://169.254.169.254/latest/meta-data/\\r\\nContent-Length: 0\\r\\n\\r\\n'))", 'with a redirect (302 to "http://169.254.169.254/latest/meta-data/"); redirects are not followed'),
    ("redirects to itself", SOCKET + "loop(lambda peer: peer.sendall(b'HTTP/1.1 307 Again\\r\\nLocation: /chat\\r\\nContent-Length: 0\\r\\n\\r\\n'))", "redirects are not followed"),
    ("sends a decompression bomb", HTTP + "import gzip\nBOMB = gzip.compress(b'0' * 50_000_000)\nclass Mine(Handler):\n    def answer(self, body): self.say(200, BOMB, Content_Encoding='gzip')\nserve(Mine)", 'compressed its answer ("gzip"), which was not asked for'),
    ("switches protocols", SOCKET + "loop(lambda peer: (peer.sendall(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\nConnection: upgrade\\r\\n\\r\\n'), time.sleep(60)))", "The server "),
    ("answers 404", HTTP + "class Mine(Handler):\n    def answer(self, body): self.say(404, {'detail': 'no such path'})\nserve(Mine)", 'answered POST "/chat" with status 404: "{"detail": "no such path"}".'),
    ("answers 500", HTTP + "class Mine(Handler):\n    def answer(self, body):\n        print('Traceback: boom', file=sys.stderr)\n        self.say(500, b'oops', 'text/plain')\nserve(Mine)", 'with status 500: "oops".'),
    ("half of a secret in an address", HTTP + "class Mine(Handler):\n    def answer(self, body): self.say(302, {}, Location='/in?key=sk-' + 'live0123456789' * 9)\nserve(Mine)", 'with a redirect (302 to "…")'),
    ("half of a secret", HTTP + "class Mine(Handler):\n    def answer(self, body):\n        self.say(500, b'the request with key sk-' + b'live0123456789' * 9 + b' failed', 'text/plain')\nserve(Mine)", 'with status 500: "the request with key …".'),
    ("answers 204", HTTP + "class Mine(Handler):\n    def answer(self, body): self.send_response(204); self.end_headers()\nserve(Mine)", "it is no JSON"),
    ("streams events", HTTP + "class Mine(Handler):\n    def answer(self, body): self.say(200, b'data: {}\\n\\n', 'text/event-stream')\nserve(Mine)", "it is a stream, server-sent events"),
    ("answers in HTML", HTTP + "class Mine(Handler):\n    def answer(self, body): self.say(200, b'<!doctype html>', 'text/html; charset=utf-8')\nserve(Mine)", 'declared as "text/html"'),
    ("prints without end", HTTP + "class Mine(Handler):\n    def answer(self, body):\n        while True: os.write(1, b'x' * 65536)\nserve(Mine)", "printed more than 256 MiB on standard output and was ended"),
    ("kills itself", HTTP + "class Mine(Handler):\n    def answer(self, body): os.kill(os.getpid(), 9)\nserve(Mine)", "It was ended by SIGKILL"),
    ("ignores SIGTERM and holds its port", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SOCKET + "loop(lambda peer: time.sleep(60))", LATE),
    ("leaves a child that keeps the port", SOCKET + "if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: listener.accept(); time.sleep(60)\ndef work(peer):\n    os._exit(0)\nloop(work)", "The server "),
    ("ends and lets a child answer", SOCKET + "listener.accept()[0].close()\nif os.fork() == 0: loop(lambda peer: time.sleep(60))\ntime.sleep(0.3)\nos._exit(0)", "The server "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "program", "expected"), HOSTILE, ids=[row[0].replace(" ", "-") for row in HOSTILE]
)
def test_it_costs_one_trial_and_leaves_nothing(
    what: str, program: str, expected: str, tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.write("agent.py", program)
    seconds = 0.6 if expected in {LATE, "The server "} else 20
    gc.collect()  # files of other tests
    files, began = open_files(), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = answers(world, server(), ask(timeout=seconds))
    assert isinstance(found, NoAnswer), found
    assert expected in found.reason, found.reason
    assert found.cause is Cause.CANDIDATE
    assert found.timed_out is (LATE in found.reason)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 * 1024
    assert world.leftovers() == []
    assert no_survivors(world.context.run)
    gc.collect()
    assert open_files() == files
    assert time.monotonic() - began < 50


CARDS = [
    ("http://[", "The request could not be made: the agent card's address for JSON-RPC is none."),
    ("http://h/{{ prompt }}?a={% x", "/%7B%7B%20prompt%20%7D%7D?a=%7B%%20x"),
    ("agent", "/agent"),
    ("//h//elsewhere.example/x", "/elsewhere.example/x"),
]


@pytest.mark.parametrize(("url", "said"), CARDS)
def test_the_address_of_an_agent_card_is_a_path_and_no_template(
    url: str, said: str, tmp_path: Path
) -> None:
    card = json.dumps({"url": url, "protocolVersion": "1{{ x"})
    world = serving(
        tmp_path,
        f"""
class Mine(Handler):
    def do_GET(self): self.say(200, {card.encode()!r})
    def answer(self, body): self.say(200, {{"reply": self.path}})
serve(Mine)
""",
    )
    (found,) = answers(world, server(request={"preset": "a2a"}), ask("hi"))
    assert (found.output if isinstance(found, Answer) else found.reason) == said
    assert isinstance(found, Answer) or found.cause is Cause.CANDIDATE


BEGUN: list[tuple[bytes, str]] = [
    (b'{"id": 1e400}', "is no JSON (a number is too big)."),
    (b"[" * 100_000, "is no JSON (it is nested more than 100 levels deep)."),
    (b'{"id": "' + b"x" * 1_100_000 + b'"}', "The server answered with more than 1,048,576 bytes."),
    (b'{"id": "\\r\\nX: y"}', "the header `X-Id` would hold a line break"),
    (b'{"id": "{{ prompt }}"}', "{{ prompt }} /{{ prompt }}"),
    (b'{"id": "../?#"}', "../?# /../?#"),
    (b'"id"', "the server did not give `begun.it.id`"),
]


@pytest.mark.parametrize(("given", "said"), BEGUN)
def test_what_a_server_begins_with_is_a_value_and_nothing_else(
    given: bytes, said: str, tmp_path: Path
) -> None:
    world = serving(
        tmp_path,
        """
from urllib.parse import unquote
class Mine(Handler):
    def do_POST(self):
        if self.path == "/begin": self.say(200, open("given", "rb").read())
        else: self.say(200, {"reply": self.headers["X-Id"] + " " + unquote(self.path)})
serve(Mine)
""",
    )
    world.write("given", given.decode())
    agent = server(
        request={
            "begin": {"it": {"path": "/begin"}},
            "path": "/{{ begun['it'].id }}",
            "headers": {"X-Id": "{{ begun.it.id }}"},
        }
    )
    (found,) = answers(world, agent, ask("hi"))
    assert said in (found.output if isinstance(found, Answer) else found.reason)
    assert isinstance(found, Answer) or found.cause is Cause.CANDIDATE


def test_requests_that_begin_share_the_time_of_the_trial(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        """
class Mine(Handler):
    def do_GET(self):
        time.sleep(0.8)
        self.say(404, {})
    def do_POST(self):
        time.sleep(0.8)
        self.say(200, {"reply": "late"})
serve(Mine)
""",
    )
    begin: JsonObject = {name: {"path": "/"} for name in ("a", "b", "c")}
    requests: list[JsonObject] = [{"path": "/", "begin": begin}, {"preset": "a2a"}]
    for request in requests:
        (found,) = answers(world, server(request=request), ask("hi", timeout=1.5))
        assert isinstance(found, NoAnswer)
        assert found.timed_out, found.reason
        assert found.seconds < 2.2


def test_an_answer_that_comes_before_the_question_was_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(
        "agent.py",
        SOCKET
        + 'loop(lambda peer: (peer.sendall(OK + b\'Content-Length: 15\\r\\n\\r\\n{"reply": "no"}\'), '
        "time.sleep(0.2)), read=lambda peer: None)",
    )
    found = answers(world, server(), ask("x" * 3_000_000, timeout=5), ask("y", timeout=5))
    for one in found:
        assert isinstance(one, Answer | NoAnswer)
        text = one.output if isinstance(one, Answer) else one.reason
        assert text in {"no", "The server closed the connection before its answer was complete."}


def test_what_it_says_after_its_answer_is_not_the_next_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(
        "agent.py",
        SOCKET
        + 'one = OK + b\'Content-Length: 17\\r\\n\\r\\n{"reply": "mine"}\'\n'
        + 'two = OK + b\'Content-Length: 19\\r\\n\\r\\n{"reply": "forged"}\'\n'
        + "loop(lambda peer: peer.sendall(one + two))",
    )
    found = answers(world, server(), ask(), ask())
    assert [one.output for one in found if isinstance(one, Answer)] == ["mine", "mine"], found


def test_cookies_and_proxies_mean_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    world = serving(
        tmp_path,
        "class Mine(Handler):\n"
        "    def answer(self, body): self.say(200, {'reply': str(self.headers['Cookie'])}, Set_Cookie='a=1')\n"
        "serve(Mine)\n",
    )
    found = answers(world, server(), ask(), ask())
    assert [one.output for one in found if isinstance(one, Answer)] == ["None", "None"], found


def test_one_that_hangs_does_not_hold_up_the_others(tmp_path: Path) -> None:
    world = serving(
        tmp_path,
        "class Mine(Handler):\n"
        "    def answer(self, body):\n"
        "        if body['message'] == 'hang': time.sleep(60)\n"
        "        self.say(200, {'reply': 'fine'})\n"
        "serve(Mine)\n",
    )
    asked = [ask("hang" if number == 1 else "x", timeout=1) for number in range(6)]
    found = answers(world, server(instances=2), *asked, side_by_side=True)
    late = [one for one in found if isinstance(one, NoAnswer)]
    assert len(late) == 1
    assert late[0].timed_out
