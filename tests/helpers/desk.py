"""A desk with a playground, and short ways to run it."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests.helpers.command import candidate_processes, gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py, "{playground}"]}
  watch: [agent.py]
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtures: [ships]
  execution: {repsPerFixture: REPS}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: ships}
spec:
  input: {type: prompt, payload: {prompt: Ship 10482}}
  playground: PLAYGROUND
  assertions:
"""
WORLD = "{folder: world, env: {SHOP_MODE: test}}"
SHIPS = """\
import json, os, sys
assert os.environ["GATEVAL_PLAYGROUND"] == sys.argv[1], os.environ
assert os.environ["SHOP_MODE"] == "test"
path = os.path.join(sys.argv[1], "orders.json")
orders = json.load(open(path))
orders["10482"] = "shipped"
json.dump(orders, open(path, "w"))
print("Shipped.")
"""
SHIPPED = "{type: fileJson, path: orders.json, at: '$[\"10482\"]', value: shipped}"


def evals(*assertions: str, playground: str = WORLD, reps: int = 1) -> str:
    """An Eval with one fixture, which asks this."""
    asked = "".join(f"    - {one}\n" for one in assertions)
    fixture = FIXTURE.replace("PLAYGROUND", playground)
    return EVAL.replace("REPS", str(reps)) + fixture + asked


def desk(tmp_path: Path) -> Repo:
    """A repository with the desk; the branch `change` is out."""
    repo = Repo(tmp_path / "repo")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/agent.py", SHIPS)
    repo.write("desk/world/orders.json", '{"10482": "paid"}')
    repo.write("desk/evals.yaml", evals(SHIPPED))
    repo.commit("Begin")
    repo.branch("change")
    return repo


def agent(repo: Repo, program: str) -> None:
    """Put the agent's program there."""
    repo.write("desk/agent.py", textwrap.dedent(program))


def trials(repo: Repo, *command: str, code: int) -> list[dict[str, Any]]:
    """Run the gate; return the trials of head, and see that nothing of them is left."""
    out = repo.path.parent / f"results-{len(list(repo.path.parent.iterdir()))}"
    keys = {"OPENAI_API_KEY": "sk-canary-0123456789", "SHOP_TOKEN": "canary-of-the-shop"}
    done = gateval(repo, *command, "--results", str(out), **keys)
    assert done.returncode == code, done.stdout + done.stderr
    assert candidate_processes(repo.path.parent) == []
    assert list((repo.path.parent / "home").glob("gateval-*")) == []
    results = json.loads((out / "results.v1.json").read_text())
    return [one for one in results["trials"] if one["key"]["side"] == "head"]


def run(repo: Repo, code: int = 0) -> dict[str, Any]:
    """Commit and run the Eval; return its first trial."""
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=code)
    return found[0]


SERVICE = """\
import http.server, os, sys
os.environ["GATEVAL_PLAYGROUND"]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(open("orders.json", "rb").read())
    def do_PUT(self):
        open("orders.json", "w").write('{"10482": "shipped"}')
        self.send_response(204); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SERVED = "{folder: world, services: [{name: shop, folder: served, command: [python3, shop.py, '{port}'], ready: {path: /}}]}"  # fmt: skip
ASKED = "{type: httpResponse, service: shop, at: '$[\"10482\"]', value: shipped}"


MCP = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: desk}}
spec:
  models: [scripted/desk]
  tools:
    - type: mcp
      name: files
      command: [{sys.executable}, agent.py, "{{playground}}"]
  watch: [agent.py]
"""
TOOL = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        said = {"protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    elif asked["method"] == "tools/list":
        said = {"tools": [{"name": "ship", "description": "Ship.", "inputSchema": {"type": "object"}}]}
    else:
        open(sys.argv[1] + "/orders.json", "w").write('{"10482": "shipped"}')
        said = {"content": [{"type": "text", "text": "shipped"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
SCRIPT = """\
rules:
  - when: {user: Ship, turn: 1}
    toolCalls: [{name: ship, arguments: {order: "10482"}}]
  - when: {tool: shipped}
    reply: It is shipped.
"""
