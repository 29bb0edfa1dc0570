"""Other roads on which a candidate is met in somebody's place: it is told nothing, and answers for nobody.

Beside each attack stands its control: the same road, and whom the gate means at its end.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_loopback_attacks import FEW_PORTS, PROGRAM
from tests.e2e.test_upstream_attacks import BOTH, USERS, forged, ground, root, run, said, squatting
from tests.helpers.isolation import open_python
from tests.helpers.outside import free_port, kept_port, provider_outside, running, told_by
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always
from tests.hostile.ground import as_user

__all__ = ["ground"]

OUTSIDER = 4343


@root
@USERS
def test_a_redirect_to_a_candidate_is_not_followed(ground: Path, user: int | None) -> None:
    squat = free_port()
    moved = {"Location": f"http://127.0.0.1:{squat}/v1/chat/completions"}
    repo = squatting(ground, squat, "127.0.0.1")
    with provider_outside(ground, OUTSIDER, {}, status=307, headers=moved) as port:
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr


@root
@USERS
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy"])
def test_a_candidate_is_no_proxy(ground: Path, user: int | None, variable: str) -> None:
    squat = free_port()
    proxy: dict[str, Any] = {variable: f"http://127.0.0.1:{squat}"}
    repo = squatting(ground, squat, "127.0.0.1")
    done, trials = run(repo, "http://provider.invalid/v1", user=user, **proxy)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"openai is not who listens on port {squat} of this machine" in said(done)


@root
@USERS
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_on_this_machine_is_one(ground: Path, user: int | None, host: str) -> None:
    """The control, with a squat on the other address of its name."""
    with provider_outside(ground, OUTSIDER, forged()) as port:
        repo = squatting(ground, port, "::1")
        proxy: dict[str, Any] = {"HTTP_PROXY": f"http://{host}:{port}"}
        done, trials = run(repo, "http://provider.invalid/v1", hosts=BOTH, user=user, **proxy)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def moving(file: Path, port: int, hosts: str) -> Iterator[None]:
    """Write `hosts` to a hosts file once somebody listens on `port`."""
    over = threading.Event()

    def move() -> None:
        while not over.wait(0.01):
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", port)) == 0 and file.exists():
                    file.write_text(hosts)
                    return

    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        over.set()
        mover.join()


@root
@USERS
@pytest.mark.parametrize("comes_home", [True, False], ids=["later", "from the start"])
def test_a_name_that_comes_to_mean_this_machine_is_not_followed(
    ground: Path, user: int | None, *, comes_home: bool
) -> None:
    """Where it means a candidate's address from the start, nobody is told anything either."""
    squat = free_port()
    away, home = ("192.0.2.77 provider.test\n", "127.0.0.1 provider.test\n")
    repo = squatting(ground, squat, "127.0.0.1")
    with moving(ground / "hosts", squat, home):
        url = f"http://provider.test:{squat}/v1"
        done, trials = run(repo, url, hosts=away if comes_home else home, user=user)
    assert "I took 0 keys at 1 places" in trials, trials + done.stdout + done.stderr
    assert "I took 1" not in trials
    assert done.returncode == 3, done.stdout + done.stderr
    why = "did not lead to this machine when" if comes_home else f"who listens on port {squat} of"
    assert why in said(done)


@root
@USERS
def test_a_name_that_means_this_machine_from_the_start_is_followed(
    ground: Path, user: int | None
) -> None:
    """The control: nobody is told that it means another one by now."""
    begun = free_port()
    with provider_outside(ground, OUTSIDER, forged()) as port:
        repo = squatting(ground, begun, "127.0.0.1")
        with moving(ground / "hosts", begun, "192.0.2.77 provider.test\n"):
            url = f"http://provider.test:{port}/v1"
            done, trials = run(repo, url, hosts="127.0.0.1 provider.test\n", user=user)
    assert (ground / "hosts").read_text().startswith("192")
    assert done.returncode == 0, trials + done.stdout + done.stderr


MEETING = """\
import json, os, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
MEET, told = {meet}, []
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        told.append(0)
        self.say(200, {{"reply": "fine"}})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told.append(asked)
        if "method" not in asked: self.say(200, {{"reply": "fine"}})
        elif "id" not in asked: self.say(202, {{}})
        else: self.say(200, {{"jsonrpc": "2.0", "id": asked["id"], "result": result(asked)}})
    def say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
def result(asked):
    if asked["method"] == "initialize":
        return {{"protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "crm", "version": "1"}}}}
    if asked["method"] == "tools/list":
        return {{"tools": [{{"name": "look_up", "inputSchema": {{"type": "object"}}}}]}}
    return {{"content": [{{"type": "text", "text": "fine"}}]}}
"""

VICTIM = """
port, keeps, way = int(sys.argv[1]), {keeps}, {way!r}
if keeps:
    server = HTTPServer(("127.0.0.1", port), Handler)
    while keeps < 0 or len(told) < keeps: server.handle_request()
    if way == "has an heir" and os.fork() == 0: server.serve_forever()
    server.server_close()
if way == "has an heir": time.sleep(60)
while True:
    try:
        with socket.create_connection(("127.0.0.1", MEET)) as line:
            line.sendall(b"%d" % port)
            line.recv(10)
            break
    except OSError:
        time.sleep(0.02)
if way == "lives on": time.sleep(60)
"""
"""Answers `keeps` requests, without end where that is less than 0; then another has its port."""

SQUATTER = """
places = []
def meet():
    door = socket.create_server(("127.0.0.1", MEET))
    while True:
        line, _ = door.accept()
        port = int(line.recv(10))
        try: server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError: continue
        places.append(port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line.sendall(b"taken")
class Own(Handler):
    def do_POST(self):
        until = time.monotonic() + {seconds}
        while time.monotonic() < until and not places: time.sleep(0.02)
        time.sleep(3 if places else 0)
        self.say(200, {{"reply": f"I took a port: {{bool(places)}}, and heard there: {{bool(told)}}."}})
threading.Thread(target=meet, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Own).serve_forever()
"""

ASKING = """\
import sys, urllib.request
sys.stdin.read()
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/") as reply: print(reply.read().decode())
except OSError as error: print(error)
"""

SERVES = """\
    type: http
    command: [{python}, -I, -S, {program}, "{{port}}"]
    ready: {{timeoutSeconds: 5}}
    request: {{path: /, body: {{message: "{{{{ prompt }}}}"}}}}
    response: {{output: $.reply}}
"""
VICTIMS = {
    "server": "  runtime:\n" + SERVES.replace("{program}", "victim.py"),
    "service": """\
  runtime:
    type: command
    command: [{python}, -I, -S, asking.py, "{{services.crm.port}}"]
    services:
      - {{name: crm, command: [{python}, -I, -S, victim.py, "{{port}}"], ready: {{timeoutSeconds: 5}}}}
""",
    "MCP server": """\
  models: [scripted/victim]
  tools:
    - {{type: mcp, name: crm, command: [{python}, -I, -S, victim.py, "{{port}}"], path: /mcp}}
""",
}  # fmt: skip
NAMED = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {{name: {name}}}\nspec:\n"
SCRIPT = """\
rules:
  - when: {user: Hello, turn: 1}
    toolCalls: [{name: look_up, arguments: {}}]
  - when: {tool: fine}
    reply: fine
"""
EVALS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}, labels: {{agent: {name}}}}}
spec:
  input: {{type: prompt, payload: {{prompt: Hello}}}}
  assertions: [{{type: contains, value: {says}}}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: {name}}}
spec:
  targetAgent: {name}
  fixtureSelector: {{matchLabels: {{agent: {name}}}}}
  execution: {{repsPerFixture: {reps}, parallel: 1, timeoutSeconds: 90}}
"""


TOOK = "I took a port: True, and heard there: False."


def beside(
    ground: Path, user: int | None, victim: str, keeps: int, way: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, list[dict[str, Any]]]]:
    """Run a victim beside a squatter; how it ended, and the trials of each."""
    repo = Repo(ground / "repo")
    meeting = MEETING.format(meet=free_port())
    repo.write("victim.py", meeting + VICTIM.format(keeps=keeps, way=way))
    seconds = 0 if way in {"stays", "has an heir"} else 40
    repo.write("squatter.py", meeting + SQUATTER.format(seconds=seconds))
    repo.write("asking.py", ASKING)
    specs = {"victim": VICTIMS[victim], "squatter": "  runtime:\n" + SERVES}
    for name, spec in specs.items():
        text = (NAMED + spec).format(name=name, python=open_python(), program=f"{name}.py")
        repo.write(f"{name}.yaml", text)
    evals = (("victim", "fine", 2), ("squatter", "port", 1))
    written = (EVALS.format(name=name, says=says, reps=reps) for name, says, reps in evals)
    repo.write("evals.yaml", "---\n".join(written))
    repo.write(".gateval/scripted/victim.yaml", SCRIPT)
    repo.commit()
    done, trials = run(repo, user=user, evals=("victim", "squatter"))
    found = [json.loads(line) for line in trials.splitlines()]
    return done, {name: [one for one in found if one["key"]["fixture"] == name] for name in specs}


KEEPS = {"server": 1, "service": 1, "MCP server": 3}
"""Requests after which a port changes hands: a server's between two trials, another's within one."""


@root
@USERS
@pytest.mark.parametrize("victim", some_always(VICTIMS, 3))
@pytest.mark.parametrize("when", some_always(["later", "from the start"], 2))
def test_nobody_answers_where_another_candidates_server_is_expected(
    ground: Path, user: int | None, victim: str, when: str
) -> None:
    """It goes on living, so that nobody else starts it anew."""
    keeps = KEEPS[victim] if when == "later" else 0
    done, found = beside(ground, user, victim, keeps, "lives on")
    if victim == "service" and keeps:  # it is the agent that asks it: what it hears does not count
        assert found["squatter"][0]["output"].startswith("I took a port: True")
    else:
        assert [one["output"] for one in found["squatter"]] == [TOOK], done.stdout + done.stderr
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = [one["outcome"] for one in found["victim"]]
    assert outcomes.count("pass") == (victim == "server" and keeps > 0), found["victim"]
    assert "another program has taken" in str([one["reason"] for one in found["victim"]])


@root
@USERS
@pytest.mark.parametrize("victim", some_always(VICTIMS, 3))
def test_nobody_answers_for_a_server_that_has_ended(
    ground: Path, user: int | None, victim: str
) -> None:
    """Between two trials a server is started anew; what was lost within one, costs it."""
    done, found = beside(ground, user, victim, KEEPS[victim], "ends")
    assert [one["output"] for one in found["squatter"]] == [TOOK], done.stdout + done.stderr
    outcomes = {one["outcome"] for one in found["victim"]}
    assert ("fail" in outcomes) is (done.returncode == 1), done.stdout + done.stderr
    assert victim == "server" or outcomes == {"fail"}, found["victim"]


@root
@USERS
@pytest.mark.parametrize("victim", some_always(VICTIMS, 3))
@pytest.mark.parametrize("way", some_always(["has an heir", "stays"], 2))
def test_a_server_and_its_children_answer_for_it(
    ground: Path, user: int | None, victim: str, way: str
) -> None:
    """The control of both."""
    keeps = KEEPS[victim] if way == "has an heir" else -1
    done, found = beside(ground, user, victim, keeps, way)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["outcome"] for one in found["victim"]} == {"pass"}, found["victim"]


ENGINE = """\
import os, socket, subprocess, sys
door = socket.socket(socket.AF_UNIX)
door.bind({at!r})
if not {at!r}.startswith(chr(0)): os.chmod({at!r}, {mode})
door.listen()
started = socket.create_server(("127.0.0.1", {ready}))
while True:
    line, _ = door.accept()
    words = [sys.executable, "-I", "-S", {provider!r}, line.recv(10).decode()]
    line.sendall(b"up" if subprocess.Popen(words) else b"")
"""
"""Starts a provider for whoever may talk to it, as an engine starts a container that has a port."""

ASKS_ENGINE = """\
import json, socket, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
places = {forged} and 0
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        data = json.dumps({{"reply": f"I took 0 keys at {{places}} places."}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)
try:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect({at!r})
        line.sendall(b"{port}")
        places += line.recv(2) == b"up"
        time.sleep(1)
except OSError as error:
    print(error, file=sys.stderr, flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()
"""


@root
@USERS
@pytest.mark.parametrize("kind", ["closed to others", "open to all", "abstract"])
def test_whoever_may_have_an_engine_listen_answers_for_a_judge(
    ground: Path, user: int | None, kind: str
) -> None:
    """A socket in a file is the wall then, and docs/security.md says so; an abstract one is out of
    reach. What an engine starts is no candidate's.
    """
    reached = kind == "open to all" or bool(user and kind == "closed to others")
    port, ready = free_port(), free_port()
    at = f"\0{ground}" if kind == "abstract" else str(ground / "engine.sock")
    repo = squatting(ground, port, program=ASKS_ENGINE, at=at)
    provider = ground / "provider.py"
    provider.write_text(told_by(port, forged()))
    engine = ground / "engine.py"
    mode = 0o660 if kind == "closed to others" else 0o666
    engine.write_text(ENGINE.format(at=at, mode=mode, ready=ready, provider=str(provider)))
    group = user or OUTSIDER
    words = [*as_user(OUTSIDER, group), open_python(), "-I", "-S", str(engine)]
    ground.chmod(0o777)
    with running(words, ready):
        brief = dict[str, Any](GATEVAL_OUTAGE_SECONDS="60" if reached else "2")
        done, trials = run(repo, f"http://127.0.0.1:{port}/v1", user=user, **brief)

    assert f"I took 0 keys at {int(reached)} places" in trials, trials + done.stdout + done.stderr
    assert done.returncode == (0 if reached else 3), done.stdout + done.stderr


@root
@USERS
@pytest.mark.parametrize("is_up", [False, True], ids=["squatted", "control"])
def test_no_candidate_of_another_gate_answers_for_a_judge(
    ground: Path, user: int | None, *, is_up: bool
) -> None:
    """Two at the same time, with one judge, which is down. What listens first has its port."""
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(provider_outside(ground, user, forged())) if is_up else 0
        port = port or stack.enter_context(kept_port())
        repos = []
        for name in "ab":
            (place := ground / name).mkdir(mode=0o755)
            repos.append(squatting(place, port, program=PROGRAM, way="at_once", threads=1))
        with ThreadPoolExecutor() as pool:
            url = f"http://127.0.0.1:{port}/v1"
            both = list(pool.map(lambda repo: run(repo, url, user=user), repos))
    for done, trials in both:
        assert "I took 0 keys" in trials, trials + done.stdout + done.stderr
        assert "I took 1" not in trials
        assert done.returncode == (0 if is_up else 3), done.stdout + done.stderr
    assert is_up or "at 1 places" in str(both)


TAKES_ALL = """\
import json, socket, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep({seconds})
        data = json.dumps({{"reply": "fine"}}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(data)
server, held = HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent), []
for port in range(50_000, 51_000) if {takes} else ():
    one = socket.socket()
    try: one.bind(("0.0.0.0", port))
    except OSError: continue
    held.append(one)
server.serve_forever()
"""


@root
@USERS
@pytest.mark.skipif(not shutil.which("ip"), reason="takes ip(8)")
@pytest.mark.parametrize("takes", [True, False], ids=["used up", "control"])
def test_whoever_uses_up_all_ports_is_told_of_and_no_fault_of_the_gate(
    ground: Path, user: int | None, *, takes: bool
) -> None:
    """Nor of the server that cannot be started, whose trial was not measured."""
    repo = Repo(ground / "repo")
    for name in ("hog", "honest"):
        hogs = name == "hog"
        program = TAKES_ALL.format(takes=int(hogs and takes), seconds=4 if hogs else 1)
        repo.write(f"{name}.py", program)
        spec = SERVES if hogs else SERVES + "    restart: perTrial\n"
        text = (NAMED + "  runtime:\n" + spec).format(
            name=name, python=open_python(), program=f"{name}.py"
        )
        repo.write(f"{name}.yaml", text)
    evals = (("hog", 1), ("honest", 5))
    written = (EVALS.format(name=name, says="fine", reps=reps) for name, reps in evals)
    repo.write("evals.yaml", "---\n".join(written))
    repo.commit()
    done, trials = run(repo, user=user, evals=("hog", "honest"), within=(*FEW_PORTS, "sh"))
    assert ("hold all ports of this machine" in trials) is takes, trials + done.stderr
    assert "report this as a bug" not in trials
    honest = [json.loads(line) for line in trials.splitlines() if '"fixture":"honest"' in line]
    assert {one["outcome"] for one in honest} <= {"pass", "error"}, trials
    assert done.returncode == (3 if takes else 0), done.stdout + done.stderr
