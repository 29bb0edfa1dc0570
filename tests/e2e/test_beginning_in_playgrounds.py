"""Agents that begin in the playground of their trial (`cwd: "{playground}"`), by every runtime."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval, start_gateval
from tests.helpers.desk import (
    AGENT,
    MCP,
    SCRIPT,
    SHIPPED,
    TOOL,
    WORLD,
    agent,
    desk,
    evals,
    run,
    trials,
)
from tests.helpers.isolation import open_folder
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP

RUNTIME = 'runtime: {type: command, cwd: "{playground}", command: [python3, "{agent}/agent.py"]}'
THERE = AGENT.replace(
    'runtime: {type: command, command: [python3, agent.py, "{playground}"]}', RUNTIME
)
SHIPS = """\
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
assert os.path.realpath(os.getcwd()) == os.path.realpath(os.environ["GATEVAL_PLAYGROUND"])
assert os.path.realpath(here) != os.getcwd() and os.listdir(here) == ["agent.py"], os.listdir(here)
orders = json.load(open("orders.json"))
orders["10482"] = "shipped"
json.dump(orders, open("orders.json", "w"))
print("Shipped.")
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = desk(tmp_path)
    made.write("desk/agent.yaml", THERE)
    return made


def test_a_program_begins_there_and_finds_its_own_files(repo: Repo) -> None:
    agent(repo, SHIPS)
    assert run(repo)["outcome"] == "pass"


def test_without_a_playground_it_begins_in_its_own_files(repo: Repo) -> None:
    asked = evals("{type: contains, value: agent.py}")
    repo.write("desk/evals.yaml", asked.replace(f"  playground: {WORLD}\n", ""))
    agent(repo, "import os\nprint(os.listdir())\n")
    assert run(repo)["outcome"] == "pass"


def test_what_is_put_there_is_not_the_agents_program(repo: Repo) -> None:
    """A file of the playground with the program's name is the fixture's, and is not run."""
    agent(repo, SHIPS)
    repo.write("desk/world/agent.py", "print('mine')\n")
    assert run(repo)["outcome"] == "pass"


@pytest.mark.parametrize("mode", ["history", "process"])
def test_all_turns_of_a_conversation_begin_there(repo: Repo, mode: str) -> None:
    repo.write("desk/agent.yaml", THERE.replace("{type:", f"{{conversation: {mode}, type:"))
    turns = "  turns: [{user: One}, {user: Two}]\n  playground"
    asked = "{type: fileEquals, path: said, value: '2'}"
    repo.write("desk/evals.yaml", evals(asked).replace("  playground", turns))
    counts = """\
    import os, sys
    for line in sys.stdin:
        said = int(open("said").read()) if os.path.exists("said") else 0
        open("said", "w").write(str(said + 1))
        print("Yes.", flush=True)
    """
    agent(repo, counts)
    assert run(repo)["outcome"] == "pass"


SERVER = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime:
    type: http
    cwd: "{playground}"
    command: [python3, "{agent}/agent.py", "{port}"]
    ready: {path: /}
    env: {OWN: "{agent}"}
    request: {path: /, body: {message: "{{ prompt }}"}}
    response: {output: "$.reply"}
"""
SHIPPING = (
    HTTP
    + """\
class Desk(Handler):
    def answer(self, body):
        assert os.path.realpath(os.environ["OWN"]) == os.path.dirname(os.path.realpath(__file__))
        open("orders.json", "w").write('{"10482": "shipped"}')
        self.say(200, {"reply": f"Shipped by {os.getpid()}"})
serve(Desk)
"""
)


def test_a_server_begins_there(repo: Repo) -> None:
    repo.write("desk/agent.yaml", SERVER)
    repo.write("desk/agent.py", SHIPPING)
    repo.write("desk/evals.yaml", evals(SHIPPED, reps=2))
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert [one["outcome"] for one in found] == ["pass"] * 2
    assert found[0]["output"] != found[1]["output"]


def test_without_playgrounds_one_server_serves_all_trials(repo: Repo) -> None:
    repo.write("desk/agent.yaml", SERVER.replace("    env:", "    instances: 1\n    env:"))
    repo.write("desk/agent.py", SHIPPING.replace('open("orders', 'open(os.devnull or "orders'))
    asked = evals("{type: contains, value: Shipped}", reps=2)
    repo.write("desk/evals.yaml", asked.replace(f"  playground: {WORLD}\n", ""))
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert found[0]["output"] == found[1]["output"]


def test_a_tool_server_begins_there(repo: Repo) -> None:
    words = f'command: [{sys.executable}, "{{agent}}/agent.py", .]'
    mcp = MCP.replace(f'command: [{sys.executable}, agent.py, "{{playground}}"]', words)
    repo.write("desk/agent.yaml", mcp.replace("  tools:", '  runtime: {cwd: "{playground}"}\n  tools:'))  # fmt: skip
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    agent(repo, TOOL)
    assert run(repo)["outcome"] == "pass"


def test_a_program_that_is_not_in_the_playground_is_told(repo: Repo) -> None:
    repo.write("desk/agent.yaml", THERE.replace("{agent}/agent.py", "agent.py"))
    done = gateval(repo, "validate")
    assert '"agent.py" is looked for in the playground, where the agent begins.' in done.stdout
    assert 'For its own file, write "{agent}/agent.py".' in done.stdout
    repo.write("desk/agent.yaml", THERE.replace("{agent}/agent.py", "orders.py"))
    assert "orders.py" not in gateval(repo, "validate").stdout
    repo.write("desk/agent.yaml", THERE.replace("{agent}/agent.py", "{agent}/gone.py"))
    assert "desk/gone.py is no file of this revision" in gateval(repo, "validate").stdout


def test_its_files_count_as_they_did(repo: Repo) -> None:
    repo.write("desk/agent.yaml", THERE.replace("  watch: [agent.py]\n", ""))
    repo.commit()
    shown = json.loads(gateval(repo, "closure", "desk", "--json").stdout)
    assert shown["cwd"] == "desk"
    names = [one["path"] for one in shown["files"]]
    assert "desk/agent.py" in names
    assert not any(name.startswith("desk/world/") for name in names)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own")
def test_behind_walls_it_writes_there_and_not_into_its_own_files() -> None:
    ends = """\
import os
open("orders.json", "w").write('{"10482": "shipped"}')
own = os.path.dirname(os.path.abspath(__file__))
for path in (own + "/made", own + "/agent.py"):
    try:
        open(path, "a")
    except OSError:
        continue
    raise SystemExit("it wrote " + path)
print("Shipped.")
"""
    with open_folder() as folder:
        shop = Repo(folder / "repo")
        shop.write("desk/agent.yaml", THERE)
        shop.write("desk/agent.py", ends)
        shop.write("desk/world/orders.json", "{}")
        shop.write("desk/evals.yaml", evals(SHIPPED, reps=2))
        shop.commit()
        started = start_gateval(
            shop, "run", "desk-eval", "--results", str(folder / "out"),
            command=[sys.executable, "-P", "-m", "gateval"],
        )  # fmt: skip
        said = "".join(started.communicate(timeout=120))
        assert started.returncode == 0, said
        assert "own user per candidate" in said
