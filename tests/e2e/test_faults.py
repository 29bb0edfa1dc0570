"""A provider that stumbles costs no trial; one that is down is reported as such, and soon."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import stored
from tests.helpers.asking import ASK
from tests.helpers.command import ROOT, gateval
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP
from tests.helpers.tiers import some_always

MOST = 500
VERDICT = json.dumps(
    {
        "score": 0.9,
        "confidence": 0.9,
        "summary": "Polite.",
        "violations": [],
        "what_would_raise_score": "",
    }
)

MODEL = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: clerk}
spec:
  models: [openai/clerk-model]
  system: Answer politely.
"""
PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: porter}
spec:
  models: [openai/porter-model]
  runtime: {type: command, command: [python3, porter.py]}
"""
PORTER = f"""\
{ASK}
import sys
print(ask("porter-model", json.load(sys.stdin)["prompt"]))
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: {agent}-eval}}
spec:
  targetAgent: {agent}
  fixtureSelector: {{matchLabels: {{agent: {agent}}}}}
  judge: {{model: openai/judge-model}}
  scoring: {{passThreshold: 0.9}}
  execution: {{parallel: {parallel}}}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: case-{number:03}-{agent}, labels: {{agent: {agent}}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Greet customer-{number:03}"}}}}
  assertions:
    - {{type: contains, value: Good day}}
    - {{type: judge, rubric: Is it polite?}}
"""


def build_office(tmp_path: Path, fixtures: int = 100) -> Repo:
    """Two Agents, one run by the gate and one a program; one in ten fixtures of each fails."""
    repo = Repo(tmp_path / "office")
    repo.write("agents/clerk.yaml", MODEL)
    repo.write("agents/porter.yaml", PROGRAM)
    repo.write("agents/porter.py", PORTER)
    for agent, count, parallel in (("clerk", fixtures, 100), ("porter", fixtures // 10, 10)):
        repo.write(f"evals/{agent}.yaml", EVAL.format(agent=agent, parallel=parallel))
        texts = (FIXTURE.format(agent=agent, number=number) for number in range(count))
        repo.write(f"evals/{agent}-fixtures.yaml", "".join(texts))
    repo.commit()
    return repo


@contextmanager
def provider(*faults: str) -> Iterator[dict[str, str]]:
    """Start a model server in a process of its own and give the environment that leads to it."""
    command = (sys.executable, "-m", "tests.servers.model_server", *faults)
    said = ("--text", "Good day!", f"--answer=judge-model={VERDICT}")
    rude = [f"--answer=customer-{number:02}7=Go away." for number in range(MOST // 10)]
    with subprocess.Popen(
        (*command, *said, *rude), cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
            yield {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-faults-0123456789"}
        finally:
            process.kill()


def measured(results: Path) -> tuple[list[str], dict[str, Any]]:
    """Return what came of each trial, in a fixed order, and the decision."""
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    outcomes = sorted(f"{t['key']['fixture']} {t['outcome']} {t['score']}" for t in trials)
    decision: dict[str, Any] = json.loads((results / "decision.v1.json").read_text())
    return outcomes, decision


@pytest.mark.parametrize("fixtures", some_always([100, MOST], 2))
def test_a_provider_that_stumbles_costs_no_trial(tmp_path: Path, fixtures: int) -> None:
    office = build_office(tmp_path, fixtures)
    faults = ("--busy", "0.10", "--broken", "0.05", "--dropped", "0.02", "--seed", "7")
    seen = {}
    for name, chosen in (("calm", ()), ("stormy", faults)):
        results = tmp_path / name
        with provider(*chosen) as door:
            arguments = ("run", "clerk-eval", "porter-eval", "--results", str(results))
            done = gateval(office, *arguments, **door)
        assert done.returncode == 0, done.stderr
        keys = Counter(json.dumps(one["key"], sort_keys=True) for one in stored.trials(results))
        assert len(keys) == fixtures + fixtures // 10, "none is lost"
        assert set(keys.values()) == {1}, "none is counted twice"
        seen[name] = measured(results)
    assert seen["calm"] == seen["stormy"]
    outcomes, decision = seen["stormy"]
    assert Counter(line.split()[1] for line in outcomes) == {
        "pass": 9 * (fixtures // 10 + fixtures // 100),
        "fail": fixtures // 10 + fixtures // 100,
    }
    assert decision["verdict"] == "pass"


def test_a_provider_that_is_down_is_said_to_be_down(tmp_path: Path) -> None:
    office = build_office(tmp_path)
    results = tmp_path / "down"
    with provider("--broken", "1") as door:
        arguments = ("run", "clerk-eval", "porter-eval", "--results", str(results))
        done = gateval(office, *arguments, GATEVAL_OUTAGE_SECONDS="1", **door)
    assert done.returncode == 3, done.stderr
    outcomes, decision = measured(results)
    assert {line.split()[1] for line in outcomes} == {"error"}
    assert len(outcomes) == 110
    assert decision["verdict"] == "inconclusive"
    comment = (results / "comment.md").read_text()
    assert "the model provider was down or refused the call in 110 runs" in comment
    assert "answered 500: Something broke." in comment


def test_an_odd_setting_is_refused(tmp_path: Path) -> None:
    done = gateval(build_office(tmp_path), "run", "clerk-eval", GATEVAL_OUTAGE_SECONDS="soon")
    assert done.returncode == 2
    assert "GATEVAL_OUTAGE_SECONDS is no number of seconds" in done.stderr


WAITER = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: waiter}
spec:
  models: [openai/waiter-model]
  system: Answer politely.
%s---
apiVersion: gateval/v1
kind: Eval
metadata: {name: waiter-eval}
spec:
  targetAgent: waiter
  fixtures: [waits]
  execution: {timeoutSeconds: 3}
"""
WAITER_CASE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: waits, labels: {agent: waiter}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Good day}]
"""
INSISTING = f"""\
{ASK}
import time
def insist(text):
    while True:
        try: return ask("waiter-model", text)
        except (SystemExit, OSError): time.sleep(0.1)
"""
SERVED = """
class Waiter(Handler):
    def answer(self, body): self.say(200, {'reply': insist(body['message'])})
serve(Waiter)
"""
SERVER = """\
  runtime:
    type: http
    command: [python3, waiter.py, "{port}"]
    ready: {path: /}
    request: {path: /, body: {message: "{{ prompt }}"}}
    response: {output: "$.reply"}
"""
PROGRAM_OF_IT = "  runtime: {type: command, command: [python3, waiter.py]}\n"
WAITERS = {
    "model": ("", ""),
    "command": (PROGRAM_OF_IT, "print(insist('Hello'))\n"),
    "http": (SERVER, HTTP + SERVED),
}


@pytest.mark.parametrize(
    ("runtime", "fault"),
    some_always(
        [
            *(("command", fault) for fault in (("--busy", "1"), ("--broken", "1"))),
            *(("http", fault) for fault in (("--broken", "1"), ("--latency", "60"))),
            *(("model", fault) for fault in (("--latency", "60"), ("--broken", "1"))),
        ],
        3,
        spread=True,
    ),
)
def test_an_outage_that_meets_the_time_limit_is_called_the_outage(
    tmp_path: Path, runtime: str, fault: tuple[str, str]
) -> None:
    spec, program = WAITERS[runtime]
    office = Repo(tmp_path / "office")
    office.write("waiter.yaml", WAITER % spec)
    office.write("case.yaml", WAITER_CASE)
    office.write("waiter.py", INSISTING + program)
    office.commit()
    with provider(*fault) as environ:
        done = gateval(office, "run", "waiter-eval", "--results", str(tmp_path / "out"), **environ)
    assert done.returncode == 3, done.stdout + done.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert (trial["outcome"], trial["cause"]) == ("error", "provider")
    assert "1 error" in done.stderr
    assert "skip" not in done.stderr
    said = " ".join(done.stdout.split())
    assert "the model provider was down or refused the call in 1 run" in said
    if fault[0] != "--latency":
        assert f"openai answered {500 if fault[0] == '--broken' else 429}" in said


TOOL = "  tools: [{name: look, description: Looks.}]\n"
PATIENT = """\
import time
def work(text):
    ask("waiter-model", "Are you there?")
    time.sleep(1.7)
    return ask("waiter-model", text)
"""
HASTY = """\
import time
def work(text):
    ask("waiter-model", "Are you there?")
    socket.setdefaulttimeout(1.2)
    return ask("waiter-model", text)
"""
HANGING = {
    "model": ("3", TOOL, ""),
    "command": ("3", WAITERS["command"][0], PATIENT + "print(work('Hello'))\n"),
    "http": ("3", WAITERS["http"][0], PATIENT + WAITERS["http"][1].replace("insist", "work")),
    "command that gives up": ("20", WAITERS["command"][0], HASTY + "print(work('Hello'))\n"),
}


@pytest.mark.parametrize("kind", list(HANGING))
def test_a_provider_that_hangs_for_less_than_half_of_the_time_is_to_blame(
    tmp_path: Path, kind: str
) -> None:
    seconds, spec, program = HANGING[kind]
    office = Repo(tmp_path / "office")
    office.write("waiter.yaml", WAITER.replace("Seconds: 3", f"Seconds: {seconds}") % spec)
    slow = "  toolReplay: [{tool: look, result: {text: seen}, delay: 1.7}]\n"
    office.write("case.yaml", WAITER_CASE + (slow if kind == "model" else ""))
    office.write("waiter.py", ASK + program)
    office.commit()
    silent, first = ("seen", "Hello=look()") if kind == "model" else ("Hello", "there=Yes")
    with provider("--silent", silent, "--answer", first) as environ:
        done = gateval(office, "run", "waiter-eval", "--results", str(tmp_path / "out"), **environ)
    assert done.returncode == 3, done.stdout + done.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert (trial["outcome"], trial["cause"]) == ("error", "provider"), trial["reason"]
    assert "the model provider was down" in " ".join(done.stdout.split())


def test_an_agent_that_works_until_its_time_is_over_is_to_blame(tmp_path: Path) -> None:
    office = Repo(tmp_path / "office")
    office.write("waiter.yaml", WAITER % WAITERS["command"][0])
    office.write("case.yaml", WAITER_CASE)
    asks = "while True: ask('waiter-model', 'Hello')\n"
    office.write("waiter.py", ASK + asks)
    office.commit()
    with provider("--latency", "0.7") as environ:
        done = gateval(office, "run", "waiter-eval", "--results", str(tmp_path / "out"), **environ)
    assert done.returncode != 0, done.stdout + done.stderr
    trials = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert {(one["outcome"], one["cause"]) for one in trials} == {("skip", "candidate")}
