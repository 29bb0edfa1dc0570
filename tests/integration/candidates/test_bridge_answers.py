"""What functions behind a bridge may take and give, and what is said where that cannot be."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pydantic import JsonValue

from gateval.bridges import FOLDER

NODE = shutil.which("node")
APART = 'exec 3>&1 4<&0 >&2 </dev/null && exec "$@"'
LANGUAGES = [
    "python",
    pytest.param("node", marks=pytest.mark.skipif(NODE is None, reason="no node")),
]


def asked(
    folder: Path, target: str, framework: str = "", payload: dict[str, JsonValue] | None = None
) -> JsonValue:
    """What the bridge answers to "hello": the output, or a sentence that begins with `no: `."""
    given = {"type": "prompt", "payload": payload or {"prompt": "hello"}}
    told = json.dumps({"version": 1, "input": given, "prompt": "hello"}) + "\n"
    words = [sys.executable, str(FOLDER / "python" / "bridge.py")]
    if not target.split(":", maxsplit=1)[0].endswith(".py"):
        bridge = str(FOLDER / "node" / "bridge.mjs")
        words = ["/bin/sh", "-c", APART, "sh", str(NODE), bridge]
    done = subprocess.run(
        [*words, str(folder), target, framework, "once"],
        input=told, capture_output=True, text=True, timeout=60, check=False, cwd=folder,
    )  # fmt: skip
    found = json.loads(done.stdout)
    return found["output"] if "output" in found else f"no: {found['problem']}"


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


GIVES = """\
    export const map = (q) => new Map([["city", "Lyon"], ["stops", new Set([1n, 2])], [3, new Map()]]);
    export const set = (q) => new Set(["a", "b"]);
    export const bytes = (q) => Buffer.from("héllo");
    export const buffer = (q) => new TextEncoder().encode("hello").buffer;
    export const floats = (q) => new Float32Array([0.5, 2]);
    export const date = (q) => ({ at: new Date(0), not: undefined, fn: () => 1 });
    export const error = (q) => new RangeError("too far");
    export const not = (q) => ({ rate: NaN });
    export const big = (q) => 12345678901234567890n;
    export const url = (q) => new URL("https://a.example/b");
    class Reply { constructor() { this.text = "hi"; } }
    export const reply = (q) => new Reply();
    class Hidden { #text = "hi"; }
    export const hidden = (q) => new Hidden();
    export const within = (q) => ({ reply: "hi", by: new Hidden() });
    export const later = (q) => new Promise(() => 1) && (async () => new Map([["a", 1]]))();
    export const fn = (q) => () => q;
    export const ring = (q) => { const one = {}; one.self = one; return one; };
    export const twice = (q) => { const one = { a: 1 }; return [one, one]; };
    export const empty = (q) => ({});
"""
GIVEN: list[tuple[str, JsonValue]] = [
    ("map", {"city": "Lyon", "stops": ["1", 2], "3": {}}),
    ("set", ["a", "b"]),
    ("bytes", "héllo"),
    ("buffer", "hello"),
    ("floats", [0.5, 2]),
    ("date", {"at": "1970-01-01T00:00:00.000Z"}),
    ("error", "RangeError: too far"),
    ("not", {"rate": "NaN"}),
    ("big", "12345678901234567890"),
    ("url", "https://a.example/b"),
    ("reply", {"text": "hi"}),
    ("hidden", "no: `gives.mjs:hidden` answered with something of the type `Hidden`, which is neither a text nor what JSON can hold."),
    ("within", {"reply": "hi", "by": "<Hidden>"}),
    ("later", {"a": 1}),
    ("fn", "no: `gives.mjs:fn` answered with something of the type `function`, which is neither a text nor what JSON can hold."),
    ("ring", "no: `gives.mjs:ring` answered with something of the type `Object, which holds itself`, which is neither a text nor what JSON can hold."),
    ("twice", [{"a": 1}, {"a": 1}]),
    ("empty", {}),
]  # fmt: skip


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize(("name", "said"), GIVEN)
def test_what_a_node_function_gives(tmp_path: Path, name: str, said: JsonValue) -> None:
    write(tmp_path, "gives.mjs", GIVES)
    assert asked(tmp_path, f"gives.mjs:{name}") == said


PYTHON_GIVES = """\
    import collections, dataclasses, datetime, decimal, enum

    class Kind(enum.Enum):
        REFUND = "refund"

    @dataclasses.dataclass
    class Order:
        kind: Kind
        stops: set
        total: decimal.Decimal

    class Bare:
        def __init__(self, text):
            self.text = text

    class Mute:
        __slots__ = ()

    def order(q): return Order(Kind.REFUND, {"b", "a", "c"}, decimal.Decimal("1.50"))
    def plain_set(q): return {"b", "a", "c"}
    def inner(q): return {"reply": Bare("hi"), "on": datetime.date(2020, 1, 2)}
    def mute(q): return {"reply": Mute()}
    def silent(q): return Mute()
    def not_a_number(q): return {"rate": float("nan"), "most": float("inf")}
    def views(q): return collections.OrderedDict(a=1).keys()
    def numbers(q): return range(3)
    def kind(q): return Kind.REFUND
    def queue(q): return collections.deque([1, 2])
    def ring(q):
        one = {}
        one["self"] = one
        return one
    def twice(q):
        one = {"a": 1}
        return [one, one]
"""
PYTHON_GIVEN: list[tuple[str, JsonValue]] = [
    ("order", {"kind": "refund", "stops": ["a", "b", "c"], "total": "1.50"}),
    ("plain_set", ["a", "b", "c"]),
    ("inner", {"reply": {"text": "hi"}, "on": "2020-01-02"}),
    ("mute", {"reply": "<gives.Mute>"}),
    ("silent", "no: `gives.py:silent` answered with something of the type `gives.Mute`, which is neither a text nor what JSON can hold."),
    ("not_a_number", {"rate": "nan", "most": "inf"}),
    ("views", ["a"]),
    ("numbers", [0, 1, 2]),
    ("kind", "refund"),
    ("queue", [1, 2]),
    ("ring", "no: `gives.py:ring` answered with something of the type `dict, which holds itself`, which is neither a text nor what JSON can hold."),
    ("twice", [{"a": 1}, {"a": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "said"), PYTHON_GIVEN)
def test_what_a_python_function_gives(tmp_path: Path, name: str, said: JsonValue) -> None:
    write(tmp_path, "gives.py", PYTHON_GIVES)
    assert asked(tmp_path, f"gives.py:{name}") == said


TAKES = """\
    export function two(question, context) { return `${question} ${context}`; }
    export function city(question, city) { return `${question} ${city}`; }
    export function turned(city, question) { return `${question} ${city}`; }
    export const copes = async (question, options) => `${question} ${options?.tone ?? "plain"}`;
    export const asksIf = (question, ctx) => { if (!ctx) return `${question} alone`; return "?"; };
    export const spreads = (question, opts) => JSON.stringify({ question, ...opts });
    export const defaults = (question, { tone = "plain" } = {}, more = [",", "("]) => `${question} ${tone} ${more.length}`;
    export const late = (tone = "plain", question) => `${question} ${tone}`;
    export const rest = (question, ...more) => `${question} ${more.length}`;
    export const chats = (messages, context) => `${messages.length} ${context.name}`;
    export const hears = (message, history) => `${message} ${history.length}`;
    export const parts = (question, { city }) => `${question} ${city}`;
    export function odd(/* a (comment), */ question /* , */, city) { return `${question} ${city}`; }
    export const request = (req, res) => res.send(req.body);
    export const desk = {
      tone: "kind",
      answer(question) { return `${this.tone} ${question}`; },
      async *pieces(question) { yield this.tone; yield " "; yield question; },
      *["odd name"](question) { yield question; },
    };
    export class Desk { constructor(q) { this.q = q; } answer(q) { return q; } }
    export const made = new Desk();
    export function* yields(question) { yield "said "; yield question; }
    export function* objects(question) { yield { a: 1 }; yield { question }; }
    export const stream = (q) => new ReadableStream({ start(c) { c.enqueue("said "); c.enqueue(q); c.close(); } });
    export const bound = function (q) { return `${this.a} ${q}`; }.bind({ a: "bound" });
"""
TAKEN = [
    ("two", "no: The function asks for `context`, which the question does not give. Name it in the fixture's `input.payload`, or give the parameter a default."),
    ("city", "hello Lyon"),
    ("turned", "hello Lyon"),
    ("copes", "hello plain"),
    ("asksIf", "hello alone"),
    ("spreads", '{"question":"hello"}'),
    ("defaults", "hello plain 2"),
    ("late", "hello plain"),
    ("rest", "hello 0"),
    ("chats", "no: The function asks for `context`, which the question does not give."),
    ("hears", "hello 0"),
    ("parts", "hello Lyon"),
    ("odd", "hello Lyon"),
    ("request", "no: The function asks for `res`, which the question does not give."),
    ("desk.answer", "kind hello"),
    ("desk.pieces", "kind hello"),
    ("desk.odd name", "hello"),
    ("Desk", "no: `takes.mjs:Desk` is the class `Desk`, which no bridge drives"),
    ("made.answer", "hello"),
    ("yields", "said hello"),
    ("objects", "{'question': 'hello'}"),
    ("stream", "said hello"),
    ("bound", "bound hello"),
]  # fmt: skip


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize(("name", "said"), TAKEN)
def test_what_a_node_function_takes(tmp_path: Path, name: str, said: str) -> None:
    write(tmp_path, "takes.mjs", TAKES)
    payload: dict[str, JsonValue] = {"prompt": "hello", "city": "Lyon"}
    assert str(asked(tmp_path, f"takes.mjs:{name}", payload=payload)).startswith(said)


def test_a_python_function_that_takes_messages_is_told_what_else_it_demands(tmp_path: Path) -> None:
    write(tmp_path, "takes.py", "def f(messages, context): return context\n")
    assert str(asked(tmp_path, "takes.py:f")).startswith("no: The function asks for `context`")
    payload: dict[str, JsonValue] = {"prompt": "hello", "context": "Lyon"}
    assert asked(tmp_path, "takes.py:f", payload=payload) == "Lyon"


MODULES = [
    ("cjs.cjs", "module.exports = async (question) => `said ${question}`;", ""),
    ("named.cjs", "exports.answer = (question) => `said ${question}`;", ":answer"),
    ("alone.cjs", "exports.answer = (question) => `said ${question}`;", ""),
    ("made.cjs", 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = (q) => `said ${q}`;', ""),
    ("made2.cjs", 'Object.defineProperty(exports, "__esModule", { value: true }); exports.answer = (q) => `said ${q}`;', ":answer"),
    ("made3.cjs", 'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = (q) => `said ${q}`;', ":default"),
    ("lib/esm.mjs", "export default async function* (question) { yield 'said '; yield question; }", ""),
    ("lib/top.mjs", "const tone = await Promise.resolve('said'); export const answer = (q) => `${tone} ${q}`;", ""),
]  # fmt: skip


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize(("file", "text", "name"), MODULES)
def test_modules_of_every_kind(tmp_path: Path, file: str, text: str, name: str) -> None:
    write(tmp_path, file, text)
    assert asked(tmp_path, file + name) == "said hello"


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize(
    "framework",
    ["agentkit", "ai-sdk", "beeai", "google-adk", "llama-index", "mastra", "openai-agents", "strands"],
)  # fmt: skip
def test_a_wrong_framework_is_a_sentence_in_node(tmp_path: Path, framework: str) -> None:
    for package in (
        "@openai/agents",
        "@google/adk",
        "llamaindex",
        "@mastra/core",
        "@inngest/agent-kit",
    ):
        write(tmp_path, f"node_modules/{package}/package.json", '{"main": "index.js"}')
        write(tmp_path, f"node_modules/{package}/index.js", "")
    write(tmp_path, "desk.mjs", "export const answer = (question) => question;\n")
    said = str(asked(tmp_path, "desk.mjs:answer", framework))
    assert said.startswith(f"no: `framework: {framework}` does not drive `desk.mjs:answer`, which is of the type `Function`"), said  # fmt: skip
    assert said.endswith("Remove `framework`, or write `framework: callable`.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fault_of_the_agent_is_not_taken_for_a_wrong_framework(
    language: str, tmp_path: Path
) -> None:
    write(tmp_path, "desk.mjs", "export const desk = { invoke() { null.x; }, stream() {} };\n")
    write(
        tmp_path,
        "desk.py",
        "class Desk:\n    def run(self, *a, **k): return None.x\ndesk = Desk()\n",
    )
    write(tmp_path, "smolagents.py", "")
    target, framework = ("desk.py:desk", "smolagents") if language == "python" else ("desk.mjs:desk", "strands")  # fmt: skip
    said = str(asked(tmp_path, target, framework))
    assert "` raised " in said, said
    assert f"({target.split(':', maxsplit=1)[0]}:" in said, said


@pytest.mark.parametrize("framework", ["smolagents", "autogen", "strands", "agno", "langgraph"])
def test_a_wrong_framework_is_a_sentence_in_python(tmp_path: Path, framework: str) -> None:
    for package in ("smolagents", "autogen_agentchat", "strands", "agno", "langgraph"):
        write(tmp_path, f"{package}/__init__.py", "")
    write(tmp_path, "desk.py", "def answer(question): return question\n")
    said = str(asked(tmp_path, "desk.py:answer", framework))
    assert said.startswith(f"no: `framework: {framework}` does not drive `desk.py:answer`, which is of the type `function`"), said  # fmt: skip


STREAMS = """\
    const events = (text) => new Response(text, { headers: { "content-type": "text/event-stream" } });
    export const cut = async (request) => events('data: {"type":"text-delta","delta":"It is "}\\n\\ndata: {"type":"text-de\\n\\n');
    export const prose = async (request) => events('data: {"choices":[{"delta":{"content":"It is "}}]}\\n\\ndata: out of money\\n\\n');
    export const four = async (request) => new Response('0:"It is "\\n0:"late\\n', { headers: { "x-vercel-ai-data-stream": "v1" } });
    export const plain = async (request) => events("data: It is \\n\\ndata: {late\\n\\ndata: [DONE]\\n\\n");
    export const none = async (request) => request;
"""


@pytest.mark.skipif(NODE is None, reason="no node")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "cut",
            'no: The route\'s stream holds an error: event 2 is no JSON: "{\\"type\\":\\"text-de".',
        ),
        ("prose", 'no: The route\'s stream holds an error: event 2 is no JSON: "out of money".'),
        ("four", 'no: The route\'s stream holds an error: line 2 is no JSON: "0:\\"late".'),
        ("plain", "It is{late"),
        ("none", "no: `route.mjs:none` raised Error: the route gave no Response."),
    ],
)
def test_a_piece_of_a_route_that_cannot_be_read_is_no_answer(
    tmp_path: Path, name: str, said: str
) -> None:
    write(tmp_path, "route.mjs", STREAMS)
    assert asked(tmp_path, f"route.mjs:{name}", "route") == said
