"""Head cannot touch its yardstick: it finds no process of base, and does not know which side it is."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path

from tests.e2e.test_set_ups import repo
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP
from tests.helpers.users import BOTH_USERS, Who, who

__all__ = ["repo", "who"]

CHECKS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Hello}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
  execution: {repsPerFixture: 3}
"""
SERVED = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime:
    type: http
    command: [python3, -I, serve.py, "{port}"]
    request: {path: /chat, body: {message: "{{ prompt }}"}}
    response: {output: $.reply}
    instances: 2
"""
SERVER = f'''\
{HTTP}
import socket
STATE = {{"reply": "Hello!"}}

def spoil():
    """Tell every server of this machine to answer badly, in a word that only ours knows."""
    for line in open("/proc/net/tcp").readlines()[1:]:
        _, local, _, state, *_ = line.split()
        if state == "0A":
            try:
                with socket.create_connection(("127.0.0.1", int(local[-4:], 16)), 0.5) as line:
                    line.sendall(b"SPOIL\\r\\n\\r\\n")
                    line.settimeout(0.5)
                    line.recv(1)
            except OSError:
                pass

class Chat(Handler):
    def parse_request(self):
        if self.raw_requestline.startswith(b"SPOIL"):
            STATE["reply"] = "Go away."
        return super().parse_request()
    def answer(self, body):
        if EVIL:
            spoil()
        else:
            time.sleep(1.5)
        self.say(200, {{"reply": "Go away." if EVIL else STATE["reply"]}})

serve(Chat)
'''


def test_what_base_answers_is_not_heads_to_spoil(repo: Repo, who: Who) -> None:
    repo.write("desk/agent.yaml", SERVED)
    repo.write("desk/checks.yaml", CHECKS)
    server = SERVER.replace("SPOIL", f"SPOIL-{uuid.uuid4().hex}")  # no other test's servers
    repo.write("desk/serve.py", f"EVIL = False\n{server}")
    repo.commit()
    repo.branch("change")
    repo.write("desk/serve.py", f"EVIL = True\n{server}")
    repo.commit()
    results = repo.path.parent / "results"
    done = who.run(repo, "check", "--results", str(results))
    assert done.returncode == 1, done.stdout + done.stderr
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    said = {side: {one["output"] for one in trials if one["key"]["side"] == side} for side in SIDES}
    assert said == {"base": {"Hello!"}, "head": {"Go away."}}


PID = f"""\
{HTTP}
class Chat(Handler):
    def answer(self, body): self.say(200, {{"reply": f"{{WORD}} {{os.getpid()}}"}})

serve(Chat)
"""


def test_the_side_that_came_last_goes_on_with_its_processes(repo: Repo, who: Who) -> None:
    """Base, head, then head again and base: a process less to start at each further look."""
    repo.write("desk/agent.yaml", SERVED.replace("instances: 2", "instances: 1"))
    repo.write("desk/checks.yaml", CHECKS.replace("repsPerFixture: 3", "repsPerFixture: 2"))
    repo.write("desk/serve.py", f'WORD = "Hello"\n{PID}')
    repo.commit()
    repo.branch("change")
    repo.write("desk/serve.py", f'WORD = "Go away"\n{PID}')
    repo.commit()
    results = repo.path.parent / "results"
    done = who.run(repo, "check", "--results", str(results))
    assert done.returncode == 1, done.stdout + done.stderr
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    processes = {
        side: [one["output"].split()[-1] for one in trials if one["key"]["side"] == side]
        for side in SIDES
    }
    assert len(processes["head"]) > 2, "there was no second look"
    assert len(set(processes["head"])) == 1
    assert len(set(processes["base"])) == 2


SIDES = ("base", "head")
LOOKS = """\
import json, os, pathlib, sys

def names(folder):
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:
        return []

here = pathlib.Path.cwd()
found = [dict(os.environ), sys.argv, str(here), [names(one) for one in (here, *here.parents)]]
print("Hello", json.dumps(found))
"""


@BOTH_USERS
def test_no_name_tells_a_candidate_which_side_it_is(repo: Repo, who: Who, tmp_path: Path) -> None:
    runtime = "  runtime: {type: command, command: [python3, -I, agent.py]}\n"
    repo.write("desk/agent.yaml", SERVED.partition("  runtime:")[0] + runtime)
    repo.write("desk/checks.yaml", CHECKS)
    repo.write("desk/agent.py", LOOKS)
    repo.commit()
    repo.branch("change")
    repo.write("desk/agent.py", f"{LOOKS}# more\n")
    repo.commit()
    results = tmp_path / "results"
    done = who.run(repo, "check", "--results", str(results))
    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    assert len(trials) == 6
    for trial in trials:
        told = trial["output"].replace(str(tmp_path), "")
        assert not re.search(r"(?<![a-zA-Z])(base|head|baseline|merge-base)(?![a-zA-Z])", told), (
            told
        )
