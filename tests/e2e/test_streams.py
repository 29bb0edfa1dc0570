"""A streamed reply is no text: what holds the question would pass, whatever the agent said."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL
from tests.helpers.tiers import some_always

ASKED = "Refund order 1042, please"
FIXTURE = f"""\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: asks, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "{ASKED}"}}}}
  assertions: [{{type: contains, value: "1042"}}]
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  runtime: {{{runtime}}}
"""
PRINTS = "import sys\nsys.stdin.read()\nsys.stdout.write(open('body.txt').read())\n"
SERVES = """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
kind = open("kind.txt").read()
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        if kind: self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(open("body.txt", "rb").read())
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
EVENTS = [
    {"type": "start", "question": ASKED},
    {"type": "delta", "text": "No."},
    {"type": "done"},
]
NDJSON = "".join(f"{json.dumps(one)}\n" for one in EVENTS)
SSE = "".join(f"event: message\ndata: {json.dumps(one)}\n\n" for one in EVENTS) + "data: [DONE]\n\n"
AI_SDK = (
    'f:{"messageId":"msg-1"}\n'
    f'9:{{"toolCallId":"c1","toolName":"echo","args":{{"q":"{ASKED}"}}}}\n'
    '0:"No"\n0:"."\n'
    'e:{"finishReason":"stop","usage":{"promptTokens":1,"completionTokens":2},"isContinued":false}\n'
    'd:{"finishReason":"stop"}\n'
)
STREAMS = {
    "sse-as-text": (SSE, "text/plain", "server-sent events"),
    "sse": (SSE, "text/event-stream; charset=utf-8", "server-sent events"),
    "sse-undeclared": (SSE.replace("event: message\n", ""), "", "server-sent events"),
    "sse-of-words": ("data: Refund\n\ndata: 1042\n\n", "", "server-sent events"),
    "ai-sdk": (AI_SDK, "text/plain; charset=utf-8", "AI SDK"),
    "sse-one": (f"data: {json.dumps(EVENTS[0])}\r\n\r\n", "text/plain", "server-sent events"),
    "ndjson": (NDJSON, "application/x-ndjson", "one JSON value per line"),
    "ai-sdk-undeclared": (AI_SDK, "", "AI SDK"),
    "ndjson-as-json": (NDJSON, "application/json", "one JSON value per line"),
    "ndjson-undeclared": (NDJSON, "", "one JSON value per line"),
    "json-lines-of-texts": ('"1042"\n"No."\n', "application/jsonl", "one JSON value per line"),
    "json-joined": ("".join(map(json.dumps, EVENTS)), "", "one behind the other"),
    "json-joined-pretty": (
        "\n".join(json.dumps(one, indent=2) for one in EVENTS),
        "application/json",
        "one behind the other",
    ),
    "json-seq": (
        "".join(f"\x1e{json.dumps(one)}\n" for one in EVENTS),
        "application/json-seq",
        "one JSON value per line",
    ),
}
SERVER = 'type: http, command: [{0}, desk.py, "{{port}}"], request: {{path: /chat}}'
PROGRAM = "type: command, command: [{0}, desk.py]"


def shop(tmp_path: Path, runtime: str, program: str, body: str, kind: str = "") -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", AGENT.format(runtime=runtime.format(sys.executable)))
    repo.write("agents/desk.py", program)
    repo.write("agents/body.txt", body)
    repo.write("agents/kind.txt", kind)
    repo.write("evals/asks.yaml", FIXTURE)
    repo.write("evals/support-eval.yaml", EVAL)
    repo.commit("A desk that streams")
    return repo


def refused(repo: Repo, called: str, *said: str, name: str = "support-eval") -> None:
    done = gateval(repo, "run", name)
    assert done.returncode == 1, done.stdout + done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert called in told, told
    for one in said:
        assert one in told, told


@pytest.mark.parametrize("stream", some_always(STREAMS, every=4))
def test_a_server_that_streams_has_not_answered(stream: str, tmp_path: Path) -> None:
    body, kind, called = STREAMS[stream]
    repo = shop(tmp_path, SERVER, SERVES, body, kind)
    refused(repo, called, "more than the answer", "one piece", "response.output")


@pytest.mark.parametrize(
    ("stream", "response"),
    [
        ("sse", '{{stream: sse, output: "$.text"}}'),
        ("ai-sdk", "{{stream: aisdk}}"),
        ("ndjson", '{{stream: ndjson, output: "$.text"}}'),
    ],
)
@pytest.mark.parametrize(("answer", "code"), [("No. 1042 is not refunded.", 0), ("No.", 1)])
def test_of_a_stream_that_is_named_the_final_message_counts(
    stream: str, response: str, answer: str, code: int, tmp_path: Path
) -> None:
    body, kind, _ = STREAMS[stream]
    said = body.replace('"No."', json.dumps(answer)).replace('0:"No"\n0:"."', f'0:"{answer}"')
    repo = shop(tmp_path, SERVER + f", response: {response}", SERVES, said, kind)
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == code, done.stdout + done.stderr
    assert "more than the answer" not in done.stdout


@pytest.mark.parametrize(
    ("response", "body", "place"),
    [
        (
            '{{stream: sse, output: "$.t"}}',
            'data: {"t": "1042 "}\n\ndata: {"t": "is n\n\n',
            "event 2",
        ),
        ('{{stream: ndjson, output: "$.t"}}', '{"t": "1042 "}\nTypeError: x\n', "line 2"),
        ("{{stream: aisdk}}", '0:"1042 "\n0:"is n\nd:{}\n', "line 2"),
    ],
)
def test_a_stream_with_a_piece_that_cannot_be_read_has_not_answered(
    response: str, body: str, place: str, tmp_path: Path
) -> None:
    repo = shop(tmp_path, SERVER + f", response: {response}", SERVES, body, "text/plain")
    refused(repo, f"{place} of the stream is no", "is n" if "is n" in body else "TypeError: x")


@pytest.mark.parametrize("stream", ["sse", "ai-sdk", "ndjson"])
def test_a_program_that_streams_has_not_answered(stream: str, tmp_path: Path) -> None:
    body, _, called = STREAMS[stream]
    repo = shop(tmp_path, PROGRAM, PRINTS, body)
    refused(repo, called, "more than the answer", '{"output": "…"}')


@pytest.mark.parametrize("stream", ["sse-as-text", "ai-sdk", "ndjson-undeclared"])
def test_a_mapping_finds_nothing_in_a_stream(stream: str, tmp_path: Path) -> None:
    body, kind, called = STREAMS[stream]
    mapped = SERVER + ', response: {{output: "$.text"}}'
    refused(shop(tmp_path, mapped, SERVES, body, kind), called, "more than the answer")


def test_a_command_line_of_agentv_that_streams_has_not_answered(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    repo.write("desk.py", "import sys\nsys.stdout.write(open('body.txt').read())\n")
    repo.write("body.txt", NDJSON)
    line = f"{shlex.quote(sys.executable)} desk.py {{PROMPT}}"
    repo.write(
        "targets.yaml",
        "targets:\n  - name: default\n    provider: cli\n"
        f"    command: {json.dumps(line)}\n    gateval: {{include: [/body.txt]}}\n",
    )
    repo.write(
        "hello.eval.yaml",
        "tests:\n  - id: hello\n    criteria: Refunds\n"
        f"    input: {ASKED}\n    assertions: [{{type: contains, value: '1042'}}]\n",
    )
    repo.commit("A desk that streams")
    refused(repo, "one JSON value per line", "more than the answer", '{"text": "…"}', name="hello")


def test_a_single_line_of_json_is_an_answer(tmp_path: Path) -> None:
    repo = shop(
        tmp_path, SERVER, SERVES, '{"output": "Order 1042 is refunded."}\n', "application/jsonl"
    )
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 0, done.stdout + done.stderr


SPEAKS = """\
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
KIND, PORT = sys.argv[1], int(sys.argv[2])
SAID = "No. 1042 is not refunded."
PATHS = {"aisdk": "/api/chat", "openai": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages",
         "ag-ui": "/", "chatkit": "/chatkit", "langserve": "/stream", "a2a": "/rpc", "a2a-0.3": "/rpc?v=1"}
def asked(given, headers):
    if KIND == "aisdk":
        assert given["id"] and given["messages"][-1]["id"] and given["messages"][-1]["parts"][0]["type"] == "text"
        return given["messages"][-1]["parts"][0]["text"]
    if KIND in {"openai", "anthropic", "ag-ui"}:
        assert given["messages"][-1]["role"] == "user"
        assert KIND == "ag-ui" or (given["stream"] is True and given["model"] == "desk-1")
        assert KIND != "ag-ui" or (given["threadId"] and given["runId"] and given["tools"] == given["context"] == [] and given["messages"][0]["id"])
        assert KIND != "anthropic" or (given["max_tokens"] and headers["anthropic-version"])
        return given["messages"][-1]["content"]
    if KIND == "openai-responses":
        assert given["stream"] is True
        return given["input"][-1]["content"]
    if KIND == "chatkit":
        assert given["type"] == "threads.create" and given["params"]["input"]["attachments"] == []
        return given["params"]["input"]["content"][0]["text"]
    if KIND == "langserve":
        return given["input"]
    message = given["params"]["message"]
    if KIND == "a2a":
        assert (given["method"], headers["A2A-Version"], message["role"]) == ("SendStreamingMessage", "1.0", "ROLE_USER")
        return message["parts"][0]["text"]
    assert (given["method"], message["kind"], message["role"]) == ("message/send", "message", "user")
    return next(one["text"] for one in message["parts"] if one["kind"] == "text")
def events(*data):
    return "".join(f"{data if isinstance(data, str) else 'data: ' + json.dumps(data)}\\n\\n" for data in data)
def answer(asked):
    if KIND == "a2a-0.3":
        return json.dumps({"result": {"kind": "task", "status": {"state": "completed"}, "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": SAID}]}]}})
    return events(*{
        "aisdk": [{"type": "text-delta", "delta": SAID}, {"type": "finish"}],
        "openai": [{"choices": [{"index": 0, "delta": {"content": SAID}}]}, "data: [DONE]"],
        "openai-responses": [{"type": "response.output_text.delta", "delta": SAID}, {"type": "response.completed"}],
        "anthropic": [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": SAID}}, {"type": "message_stop"}],
        "ag-ui": [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": SAID}, {"type": "RUN_FINISHED"}],
        "chatkit": [{"type": "thread.item.done", "item": {"type": "assistant_message", "content": [{"type": "output_text", "text": SAID}]}}],
        "langserve": [f"event: data\\ndata: {json.dumps(SAID)}", "event: end"],
        "a2a": [{"result": {"task": {"status": {"state": "TASK_STATE_WORKING"}, "history": [{"role": "ROLE_USER", "parts": [{"text": asked}]}]}}},
                {"result": {"artifactUpdate": {"artifact": {"artifactId": "a", "parts": [{"text": SAID}]}}}},
                {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}}}],
    }[KIND])
class Handler(BaseHTTPRequestHandler):
    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())
    def do_GET(self):
        new = {"supportedInterfaces": [{"protocolBinding": "GRPC", "url": "http://elsewhere.example:1/x"}, {"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": "https://desk.example/rpc"}], "capabilities": {"streaming": True}}
        old = {"url": "http://0.0.0.0:9/rpc?v=1", "capabilities": {}}
        cards = {"a2a": ("/.well-known/agent-card.json", new), "a2a-0.3": ("/.well-known/agent.json", old)}
        path, card = cards.get(KIND, ("", None))
        self.reply(200 if self.path == path else 404, "application/json", json.dumps(card))
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == PATHS[KIND], self.path
        said = asked(given, self.headers)
        assert said == "Refund order 1042, please", said
        self.reply(200, "text/event-stream" if KIND != "a2a-0.3" else "application/json", answer(said))
HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
PRESETS = {
    "aisdk": "{{preset: aisdk}}",
    "openai": "{{preset: openai, body: {{model: desk-1}}}}",
    "openai-responses": "{{preset: openai-responses}}",
    "anthropic": "{{preset: anthropic, body: {{model: desk-1}}}}",
    "ag-ui": "{{preset: ag-ui}}",
    "chatkit": "{{preset: chatkit}}",
    "langserve": "{{preset: langserve}}",
    "a2a": "{{preset: a2a}}",
    "a2a-0.3": "{{preset: a2a}}",
}


@pytest.mark.parametrize("kind", some_always(PRESETS, every=4))
def test_a_server_is_asked_as_its_protocol_wants(kind: str, tmp_path: Path) -> None:
    runtime = f'type: http, command: [{{0}}, desk.py, {kind}, "{{{{port}}}}"], request: '
    done = gateval(shop(tmp_path, runtime + PRESETS[kind], SPEAKS, ""), "run", "support-eval")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_agent_without_a_card_is_told(tmp_path: Path) -> None:
    runtime = 'type: http, command: [{0}, desk.py, ag-ui, "{{port}}"], request: {{preset: a2a}}'
    done = gateval(shop(tmp_path, runtime, SPEAKS, ""), "run", "support-eval")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "has no agent card at /.well-known/agent-card.json" in " ".join(done.stdout.split())
