"""Declarative agents whose tools come from MCP servers, over both transports, on the real command."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import candidate_processes, gateval
from tests.helpers.frameworks import FRAMEWORKS, PROGRAMS, need_frameworks
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL

TOOLS = """\
import json, os
TOOLS = [
    {"name": "look_up", "description": "Where an order is.",
     "inputSchema": {"type": "object", "properties": {"order": {"type": "integer"}}}},
    {"name": "refund", "description": "Pay back.", "inputSchema": {"type": "object"}},
]
def answer(asked):
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "crm", "version": "1"}}
    if method == "tools/list":  # one on each page
        first = "cursor" not in params
        return {"tools": TOOLS[:1], "nextCursor": "2"} if first else {"tools": TOOLS[1:]}
    if params["name"] == "refund":
        os._exit(3)
    order = params["arguments"].get("order")
    if order == 0:
        return {"content": [{"type": "text", "text": "no such order"}], "isError": True}
    return {"content": [{"type": "text", "text": f"{order} is in {os.environ['TOWN']}"}]}
"""
STREAMS = (
    TOOLS
    + """\
import sys
print("crm is up")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and "method" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"}))
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}), flush=True)
"""
)
LISTENS = (
    TOOLS
    + """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        begins = asked["method"] == "initialize"
        if not begins and (self.headers["Mcp-Session-Id"], self.headers["MCP-Protocol-Version"]) != ("s7", "2025-11-25"):
            self.send_response(400); self.end_headers(); return
        if "id" not in asked:
            self.send_response(202); self.end_headers(); return
        said = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", "s7")
        self.end_headers()
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        self.wfile.write(f"data: {note}\\n\\nevent: message\\ndata: {said}\\n\\n".encode())
    def log_message(self, *_):
        pass
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
)
AGENT = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [scripted/support]
  tools:
    - {{name: clarify, description: Ask why.}}
    - type: mcp
      name: crm
      command: [{sys.executable}, crm.py]
      env: {{TOWN: Bonn}}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: late, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Where is my order?}}
  assertions:
    - {type: toolCalled, tool: look_up}
    - {type: contains, value: in Bonn}
"""
SCRIPT = """\
rules:
  - when: {user: Where, turn: 1}
    toolCalls: [{name: look_up, arguments: {order: 4711}}]
  - when: {tool: in Bonn}
    reply: It is in Bonn.
  - when: {tool: in Rome}
    reply: It is in Rome.
  - when: {tool: no such order}
    reply: There is no such order.
  - when: {tool: near}
    reply: It is near.
  - when: {tool: '"shadow"'}
    reply: Done.
"""


def shop(tmp_path: Path, **files: str) -> Repo:
    """A repository with an agent that has its tools from a server; the branch `change` is out."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/crm.py", STREAMS)
    repo.write("agents/support.yaml", AGENT)
    repo.write("evals/late.yaml", FIXTURE)
    repo.write("evals/eval.yaml", EVAL)
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    for path, text in files.items():
        repo.write(path, text)
    repo.commit("Begin")
    repo.branch("change")
    return repo


def run(repo: Repo, tmp_path: Path, status: int = 0, **extra: str) -> dict[str, Any]:
    """The first trial of the Eval."""
    out = tmp_path / "out"
    ended = gateval(repo, "run", "support-eval", "--results", str(out), **extra)
    assert ended.returncode == status, ended.stdout + ended.stderr
    trial, *_ = json.loads((out / "results.v1.json").read_text())["trials"]
    assert candidate_processes(tmp_path) == []
    return dict(trial)


LISTENING = AGENT.replace("crm.py]", 'crm.py, "{port}"]\n      path: /mcp')


@pytest.mark.parametrize(
    ("agent", "server"), [(AGENT, STREAMS), (LISTENING, LISTENS)], ids=["streams", "http"]
)
def test_tools_of_a_server_are_live(tmp_path: Path, agent: str, server: str) -> None:
    repo = shop(tmp_path, **{"agents/support.yaml": agent, "agents/crm.py": server})
    trial = run(repo, tmp_path)
    steps = [(one["kind"], one.get("tool"), one["text"]) for one in trial["trace"]["steps"]]
    assert steps == [
        ("user", None, "Where is my order?"),
        ("tool_call", "look_up", ""),
        ("tool_result", "look_up", "4711 is in Bonn"),
        ("assistant", None, "It is in Bonn."),
    ]
    assert trial["trace"]["source"] == "gate"


def test_the_fixture_answers_before_the_server(tmp_path: Path) -> None:
    replay = FIXTURE.replace("  assertions:", "  toolReplay: [{tool: look_up, result: It is in Rome}]\n  assertions:")  # fmt: skip
    repo = shop(tmp_path, **{"evals/late.yaml": replay.replace("in Bonn", "in Rome")})
    run(repo, tmp_path)
    shadowed = SCRIPT.replace("name: look_up, arguments: {order: 4711}", "name: refund")
    fixture = FIXTURE.replace("look_up", "refund").replace("in Bonn", "Done")
    shadow = fixture.replace("  assertions:", "  shadowTools: [refund]\n  assertions:")
    files = {"evals/late.yaml": shadow, ".gateval/scripted/support.yaml": shadowed}
    run(shop(tmp_path / "2", **files), tmp_path / "2")


def test_what_a_tool_refuses_is_told_to_the_model(tmp_path: Path) -> None:
    script = SCRIPT.replace("order: 4711", "order: 0")
    fixture = FIXTURE.replace("in Bonn", "no such order")
    files = {"evals/late.yaml": fixture, ".gateval/scripted/support.yaml": script}
    run(shop(tmp_path, **files), tmp_path)


def test_a_server_that_dies_is_no_answer(tmp_path: Path) -> None:
    script = SCRIPT.replace("name: look_up, arguments: {order: 4711}", "name: refund")
    repo = shop(tmp_path, **{".gateval/scripted/support.yaml": script})
    trial = run(repo, tmp_path, status=1)
    assert trial["reason"].startswith("The MCP server `crm` ended while it was asked.")
    assert [one["kind"] for one in trial["trace"]["steps"]] == ["user", "tool_call"]


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("raise SystemExit('no database')", "The MCP server `crm` ended while it was"),
        ("import requests_of_crm", "No module named 'requests_of_crm'"),
        (STREAMS.replace('params["protocolVersion"]', '"1999-01-01"'), "it speaks the version"),
    ],
)
def test_a_server_that_does_not_start_is_told(tmp_path: Path, server: str, said: str) -> None:
    trial = run(shop(tmp_path, **{"agents/crm.py": server}), tmp_path, status=1)
    assert trial["cause"] == "candidate"
    assert said in " ".join([trial["reason"], *trial["detail"]])


def test_a_change_of_the_server_is_a_change_of_the_agent(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    repo.write("agents/crm.py", STREAMS.replace(" is in ", " is near "))
    repo.commit("Say where it is near")
    ended = gateval(repo, "check", "--base", "main")
    assert "agents/crm.py" in ended.stdout
    assert ended.returncode == 1, "look_up says another thing, and no rule of the script fits"


def test_slips_are_told_with_their_place(tmp_path: Path) -> None:
    wrong = AGENT.replace("env: {TOWN: Bonn}", "evn: {TOWN: Bonn}").replace("crm.py]", "gone.py]")
    ended = gateval(shop(tmp_path, **{"agents/support.yaml": wrong}), "validate")
    assert ended.returncode == 2
    assert 'agents/support.yaml:11:7: spec.tools[1].evn: Unknown key "evn". Did you mean "env"?' in ended.stdout  # fmt: skip
    wrong = AGENT.replace(sys.executable, "python3").replace("crm.py]", "gone.py]")
    ended = gateval(shop(tmp_path / "2", **{"agents/support.yaml": wrong}), "validate")
    said = ended.stdout + ended.stderr
    assert "agents/gone.py is no file of this revision" in said


OFFICIAL = """\
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("crm")
@server.tool()
def look_up(order: int) -> str:
    return f"{order} is in Bonn"
if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
"""


@pytest.mark.parametrize("agent", [AGENT, LISTENING], ids=["streams", "http"])
def test_servers_of_the_official_sdk(tmp_path: Path, agent: str) -> None:
    need_frameworks()
    agent = agent.replace(sys.executable, str(FRAMEWORKS / "bin/python"))
    made = shop(tmp_path, **{"agents/support.yaml": agent, "agents/crm.py": OFFICIAL})
    # On PATH a virtual environment is visible as a whole, also where the clone lies in a home.
    run(made, tmp_path, PATH=f"{PROGRAMS}{os.pathsep}{made.env['PATH']}")
