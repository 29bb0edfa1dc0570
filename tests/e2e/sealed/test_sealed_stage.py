"""Sealed commands run when no candidate lives: what a candidate left tells nobody what they ask."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sealed.test_sealed_words import HELD, shop_of
from tests.helpers.command import candidate_processes, gateval, start_gateval
from tests.helpers.isolation import held_here, open_folder, supervisors
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, KEY, SECRET_WORDS, leaks, seal

TELLS = """
import os, sys
words, frame = [], sys._getframe()
while frame:
    words += [one for one in frame.f_code.co_consts if isinstance(one, str)]
    frame = frame.f_back
words += sys.argv
if not sys.stdin.isatty():
    words.append(sys.stdin.read())
said = " ".join(words).replace("\\0", "")[-4000:]
if os.fork() == 0:
    open(said.replace("/", "")[-200:].strip(), "w")
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(2)", said])
import time
time.sleep(2)
def dumps(*_): return "forged"
loads = dumps
"""
"""A module that shows by its child's command line what the program that imports it says."""

SHELL = """#!/bin/sh
said=$(cat)
/bin/sh -c 'sleep 2' "$said" &
sleep 2
echo forged
"""

PLANTS = """
import codecs, glob, json, os, sys, time
json.load(sys.stdin)
root = os.environ["GATEVAL_PLAYGROUND"]
WORDS = [codecs.decode(word, "rot13").encode() for word in ROTATED]
found = set()
for name in ("json.py", "sitecustomize.py", "usercustomize.py", "conftest.py", "evil.py"):
    with open(f"{root}/{name}", "w") as file:
        file.write(TELLS)
open(f"{root}/evil.pth", "w").write("import evil")
os.makedirs(f"{root}/tools")
for name in ("sh", "python3", "node", "perl"):
    with open(f"{root}/tools/{name}", "w") as file:
        file.write(SHELL)
    os.chmod(file.name, 0o755)
os.makedirs(f"{root}/node_modules/left")
with open(f"{root}/node_modules/left/index.js", "w") as file:
    file.write(NODE)
with open(f"{root}/Left.pm", "w") as file:
    file.write(PERL)

def look(path):
    try:
        with open(path, "rb") as file:
            data = file.read(100_000)
    except OSError:
        return
    found.update(f"{path.split('/')[-1]}: {word.decode()}" for word in WORDS if word in data)

until = time.monotonic() + 3
while time.monotonic() < until:
    for kind in ("cmdline", "comm", "environ", "stat", "status"):
        for path in glob.glob(f"/proc/[0-9]*/{kind}"):
            look(path)
    time.sleep(0.05)  # what is left behind lives for two seconds
print(json.dumps(sorted(found)))
"""

NODE = """
const text = require("fs").readFileSync(0, "utf8") + module.parent;
require("child_process").execFileSync("/bin/sh", ["-c", "sleep 2", text + process.argv]);
"""
PERL = """package Left; my $said = join '', <STDIN>;
system "/bin/sh", "-c", "sleep 2", $said; 1;
"""

ASKS = {
    "python": (
        "[python3, '-']",
        "import json\\nprint(json.dumps('Say ZANZIBAR to the quokka'))",
        "ZANZIBAR to the quokka",
    ),
    "python named by its path": (
        "[/usr/bin/env, /usr/bin/python3, '-']",
        "import json\\nprint(json.dumps('Say ZANZIBAR to the quokka'))",
        "ZANZIBAR to the quokka",
    ),
    "a shell": ("[sh]", "echo ZANZIBAR quokka", "ZANZIBAR"),
    "node": (
        "[node, '-']",
        "try { require('left') } catch (e) { console.log('ZANZIBAR') }",
        "ZANZIBAR",
    ),
    "perl": ("[perl, '-']", "print(eval {require Left} ? 'no' : 'ZANZIBAR')", "ZANZIBAR"),
}


def held(*asked: str, reps: int = 6, playground: str = "") -> str:
    """The sealed Eval, with these assertions."""
    before, _, rest = HELD.partition("  assertions:")
    written = f"{before}  assertions:\n" + "".join(f"    - {one}\n" for one in asked)
    written += "---" + rest.partition("---")[2].replace(
        "repsPerFixture: 2", f"repsPerFixture: {reps}"
    )
    written = written.replace("  judge: {model: openai/judge}\n", "")
    written = written.replace("  scoring: {model: weighted}\n", "")
    written = written.replace("env: {TOPIC: marmalade}", "env: {PYTHONPATH: '{playground}'}")
    return written.replace("services: []", playground or "services: []").replace(" quokka}}", "}}")


def command(words: str, told: str, prints: str) -> str:
    """A sealed `commandResult`."""
    return f'{{type: commandResult, command: {words}, stdin: "{told}", stdoutContains: {prints}}}'


def plants(program: str = PLANTS) -> str:
    """The candidate's program, in which none of the words stands."""
    rotated = [codecs.encode(word, "rot13") for word in (*SECRET_WORDS, "quokka")]
    for name, text in {"TELLS": TELLS, "SHELL": SHELL, "NODE": NODE, "PERL": PERL}.items():
        program = program.replace(f"({name})", f"({text!r})")
    return program.replace("ROTATED", repr(rotated))


def opened(shop: Repo, out: Path) -> list[dict[str, Any]]:
    """The trials of the results, with what is sealed in them."""
    said = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    return list(json.loads(said)["trials"])


def run(shop: Repo, folder: Path, *, users: bool) -> list[dict[str, Any]]:
    """Run the sealed Eval; return its trials."""
    out, path = folder / "out", f"tools:{os.environ['PATH']}"
    if users:
        whole = [sys.executable, "-P", "-m", "gateval"]
        run = start_gateval(
            shop, "run", "held-out", "--results", str(out), command=whole, PATH=path, **KEY
        )
        said = "".join(run.communicate(timeout=120))
        assert run.returncode in {0, 1}, said
    else:
        done = gateval(shop, "run", "held-out", "--results", str(out), PATH=path, **KEY)
        said = done.stdout + done.stderr
        assert done.returncode in {0, 1}, said
    assert leaks([folder], [said]) == []
    assert candidate_processes(folder) == []
    assert list((folder / "home").glob("gateval-*")) == []
    return opened(shop, out)


@pytest.mark.parametrize("asks", list(ASKS))
def test_what_a_candidate_left_tells_no_other_what_is_asked(tmp_path: Path, asks: str) -> None:
    held_here()
    if asks in {"node", "perl"} and not shutil.which(asks):
        pytest.skip(f"{asks} is not installed")
    shop = shop_of(tmp_path / "shop", held(command(*ASKS[asks])), plants())
    trials = run(shop, tmp_path, users=False)
    assert [json.loads(one["output"]) for one in trials] == [[]] * 6
    assert {one["outcome"] for one in trials} == {"pass"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own")
def test_nor_where_candidates_have_users_of_their_own() -> None:
    held_here()
    with open_folder() as folder:
        shop = shop_of(folder / "shop", held(command(*ASKS["python"])), plants())
        trials = run(shop, folder, users=True)
        assert [json.loads(one["output"]) for one in trials] == [[]] * 6
        assert {one["outcome"] for one in trials} == {"pass"}


LOOKS_ROUND = """
import glob, os, time
until, found = time.monotonic() + 0.2, set()
while time.monotonic() < until:
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                said = file.read().replace(bytes(1), b' ').decode('utf-8', 'replace')
        except OSError:
            continue
        if 'MARK' in said:
            found.add(said)
print('alone' if not found else sorted(found))
"""
"""What a sealed command sees of others by the list of processes."""

ALONE = "{type: commandResult, command: [python3, '-'], stdin: LOOKS, stdoutContains: alone}"


def marked() -> tuple[str, str]:
    """A word for command lines of this test alone, and the assertion that nobody shows it."""
    mark = f"m{secrets.token_hex(8)}"
    return mark, ALONE.replace("LOOKS", json.dumps(LOOKS_ROUND.replace("MARK", mark)))


SLOW = """
import json, os, subprocess, sys, time
json.load(sys.stdin)
subprocess.Popen(["sh", "-c", "sleep 30", "MARK"], start_new_session=True)
time.sleep(0.1 + os.getpid() % 5 / 3)
print(json.dumps({"output": "Done."}))
"""


def said_by(trials: list[dict[str, Any]], at: int = 0) -> list[str]:
    """What assertion `at` says of those that did not pass."""
    found = [one["assessments"][at] for one in trials]
    return [one["reason"] for one in found if one["status"] != "passed"]


def test_no_candidate_of_either_side_lives_while_a_sealed_command_runs(tmp_path: Path) -> None:
    held_here()
    mark, alone = marked()
    slow = SLOW.replace("MARK", mark)
    shop = Repo(tmp_path / "shop")
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", slow)
    shop.write("evals/data/start.txt", "start")
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "evals/held.yaml", held(alone, reps=5))
    shop.commit("Sealed")
    shop.branch("next")
    shop.write("desk/desk.py", slow + "# as slow\n")
    shop.commit("Change")
    out = tmp_path / "out"
    done = gateval(shop, "check", "--base", "main", "--results", str(out), **KEY)
    trials = opened(shop, out)
    assert {one["key"]["side"] for one in trials} == {"base", "head"}, done.stdout + done.stderr
    assert len(trials) >= 10
    assert said_by(trials) == []
    assert done.returncode == 0, done.stdout + done.stderr


SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(b'{"kept": "in the cellar"}')
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SERVED = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: http, command: [python3, desk.py, "{port}", MARK], ready: {path: /}, request: {path: /}}
"""


def test_nor_a_server_that_lives_on_or_a_service_of_a_playground(tmp_path: Path) -> None:
    held_here()
    mark, alone = marked()
    service = (
        f"services: [{{name: kept, folder: data, command: [python3, served.py, '{{port}}', {mark}], "
        "ready: {path: /}}]"
    )
    asks = "{type: httpResponse, service: kept, at: $.kept, value: in the cellar}"
    text = held(alone, asks, f"{{type: all, assertions: [{asks}, {alone}]}}", playground=service)
    shop = Repo(tmp_path / "shop")
    for name in ("evals/data/start.txt", "evals/data/served.py"):
        shop.write(name, SERVER)
    shop.write("desk/agent.yaml", SERVED.replace("MARK", mark))
    shop.write("desk/desk.py", SERVER)
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "evals/held.yaml", text)
    shop.commit("Sealed")
    trials = run(shop, tmp_path, users=False)
    assert [said_by(trials, at) for at in range(3)] == [[], [], []]


def test_sealed_commands_do_not_see_one_another(tmp_path: Path) -> None:
    held_here()
    mark, alone = marked()
    tells = f"{{type: commandResult, command: [sh], stdin: \"sh -c 'sleep 0.5' {mark}\"}}"
    shop = shop_of(tmp_path / "shop", held(alone, tells, tells, alone, reps=3))
    trials = run(shop, tmp_path, users=False)
    assert [said_by(trials, at) for at in (0, 3)] == [[], []]


def test_what_a_sealed_command_leaves_behind_is_gone_before_anything_else_starts(
    tmp_path: Path,
) -> None:
    """Else it could tell the next command, or agents of the next look, what it was asked."""
    held_here()
    mark, alone = marked()
    away = f"(setsid sh -c 'trap : TERM HUP INT; sleep 30; :' {mark} >/dev/null 2>&1 &)"
    leaves = f'{{type: commandResult, command: [sh], stdin: "{away}"}}'
    shop = shop_of(tmp_path / "shop", held(alone, leaves, alone, reps=3))
    trials = run(shop, tmp_path, users=False)
    assert [said_by(trials, at) for at in (0, 2)] == [[], []]


MUCH = """
import json, os, sys, time
began = time.time_ns()
json.load(sys.stdin)
with open(os.environ["GATEVAL_PLAYGROUND"] + "/much", "w") as file:
    os.truncate(file.fileno(), 250_000_000)
print(json.dumps({"output": str([began, time.time_ns()])}))
"""
WHEN = "{type: commandResult, command: [python3, '-'], stdin: \"import time; print('at', time.time_ns())\", stdoutMatches: '^at'}"  # fmt: skip


def test_what_waits_is_looked_at_early_when_it_is_too_much_for_the_disk(tmp_path: Path) -> None:
    held_here()
    shop = shop_of(tmp_path / "shop", held(WHEN, reps=10), MUCH)
    trials = run(shop, tmp_path, users=False)
    assert {one["outcome"] for one in trials} == {"pass"}
    lived = [json.loads(one["output"]) for one in trials]
    looked = [int(one["assessments"][0]["reason"].split("at ")[-1].split('"')[0]) for one in trials]
    assert not any(first <= at <= last for first, last in lived for at in looked)
    assert min(looked) < max(last for _, last in lived), "some were looked at before the last began"


def test_an_end_state_that_is_larger_than_all_that_may_wait_is_an_error(tmp_path: Path) -> None:
    held_here()
    shop = shop_of(tmp_path / "shop", held(WHEN, reps=1), MUCH.replace("250_", "2_250_"))
    trial, *_ = run(shop, tmp_path, users=False)
    assert (trial["outcome"], trial["cause"]) == ("error", "candidate")
    assert "its files have 2,250,0" in trial["reason"]
    assert "bytes, and 1,073,741,824 may wait" in trial["reason"]


ONE_IS_SLOW = """
import json, os, socket, sys, time
json.load(sys.stdin)
open(os.environ["GATEVAL_PLAYGROUND"] + "/left.txt", "w").write("left")
one = socket.socket(socket.AF_UNIX)
try:
    one.bind("\\0mPLACE")
    time.sleep(SECONDS)
except OSError:
    pass
print(json.dumps({"output": "Done."}))
"""
LEFT = "{type: commandResult, command: [cat, '{playground}/left.txt'], stdout: left}"


def started(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a run in which one candidate is slow, and return it when end states wait."""
    program = ONE_IS_SLOW.replace("PLACE", secrets.token_hex(8)).replace("SECONDS", str(seconds))
    shop = shop_of(folder / "shop", held(LEFT, reps=4), program)
    process = start_gateval(shop, "run", "held-out", "--results", str(folder / "out"), **KEY)
    deadline = time.monotonic() + 60
    while len(list((folder / "home").glob("gateval-waiting-*/[123]"))) < 3:
        assert process.poll() is None, "".join(process.communicate())
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def gone(folder: Path) -> None:
    """See that nothing of a run is left beside its results."""
    deadline = time.monotonic() + 30
    while candidate_processes(folder) or any((folder / "home").glob("gateval-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_waits_is_assessed_though_supervisor_and_candidate_were_killed(tmp_path: Path) -> None:
    held_here()
    process = started(tmp_path, 60)
    candidates = [int(one) for one in candidate_processes(tmp_path)]
    for one in [*supervisors(process.pid), *candidates]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    said = "".join(process.communicate(timeout=60))
    outcomes = sorted(one["outcome"] for one in opened(Repo(tmp_path / "shop"), tmp_path / "out"))
    assert outcomes.count("pass") == 3, said
    assert outcomes.count("error") == 1, said
    assert process.returncode == 3, said
    gone(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_waits_when_a_run_is_interrupted_is_not_measured(
    tmp_path: Path, number: signal.Signals
) -> None:
    held_here()
    process = started(tmp_path, 60)
    process.send_signal(number)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode not in {0, 1}, said
    shop, out = Repo(tmp_path / "shop"), str(tmp_path / "out")
    whole = json.loads(gateval(shop, "unseal", out, "--format", "results", **KEY).stdout)
    assert whole["trials"] == []
    assert len(whole["info"]["started"]) == 4
    assert "trials waited for what sealed Evals run" in " ".join(said.split())
    assert "held-out is sealed, and was not measured in full" in said
    gone(tmp_path)


def test_what_waits_when_a_run_is_killed_is_left_with_a_record(tmp_path: Path) -> None:
    held_here()
    process = started(tmp_path, 60)
    process.kill()
    process.communicate(timeout=60)
    home, deadline = tmp_path / "home", time.monotonic() + 30
    while candidate_processes(tmp_path) or len(list(home.glob("gateval-*"))) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (left,) = home.glob("gateval-waiting-*")
    assert left.stat().st_mode & 0o777 == 0o700
    record = json.loads((left / "waiting.json").read_text())
    assert [one["repetition"] for one in record["trials"]] != []
    assert all(
        (left / one["folder"] / "left.txt").read_text() == "left" for one in record["trials"]
    )
    again = ("run", "held-out", "--results")
    shop = Repo(tmp_path / "shop")
    shop.write("desk/desk.py", (shop.path / "desk/desk.py").read_text().replace("(60)", "(0)"))
    shop.commit("Quick")
    assert gateval(shop, *again, str(tmp_path / "once"), **KEY).returncode == 0
    assert left.is_dir(), "it is left alone for a day"
    os.utime(left, (time.time() - 90_000,) * 2)
    assert gateval(shop, *again, str(tmp_path / "twice"), **KEY).returncode == 0
    assert not left.exists()
