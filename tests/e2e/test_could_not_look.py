"""Ways in which the gate could not look, tried as by somebody who has the pages alone: none is green.

Each row is a repository that somebody might well have, and a change of it that breaks its agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from junitparser import JUnitXml

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, reply

PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""

MODEL = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  system: {file: prompt.md}
"""

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: GOOD}
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""

BOTH = f"{FIXTURE}---\n{EVAL}"

AGENT, EVALS, PROMPT, CONFIG = (
    "desk/agent.yaml",
    "desk/evals.yaml",
    "desk/prompt.md",
    ".github/gateval.yml",
)

SCRIPT = """\
rules:
  - when: {system: polite}
    reply: A GOOD answer.
  - reply: A bad answer.
"""

DECLARED: Mapping[str, str | bytes | None] = {
    AGENT: MODEL,
    PROMPT: "Be polite.\n",
    EVALS: BOTH,
    ".gateval/scripted/desk.yaml": SCRIPT,
}

WRITTEN: Mapping[str, str | bytes | None] = {
    AGENT: PROGRAM,
    "desk/agent.py": "print('A GOOD answer.')\n",
    EVALS: BOTH,
}

RUDE = {PROMPT: "Be rude.\n"}
BROKEN = {"desk/agent.py": "print('A bad answer.')\n"}


def in_list(*documents: str) -> str:
    """A Kubernetes list, as `kubectl get -o yaml` prints one."""
    items = "".join(f"- {text.replace(chr(10), chr(10) + '  ').rstrip()}\n" for text in documents)
    return f"apiVersion: v1\nkind: List\nitems:\n{items}"


def without(files: Mapping[str, str | bytes | None], *paths: str) -> dict[str, str | bytes | None]:
    return {path: text for path, text in files.items() if path not in paths}


class Way(NamedTuple):
    """What stands on the default branch, what the change does (None removes), and what comes."""

    before: Mapping[str, str | bytes | None]
    change: Mapping[str, str | bytes | None]
    code: int
    said: str
    command: str = "check"


WAYS = {
    "the manifest of the agent is in UTF-16": Way(
        {**WRITTEN, AGENT: PROGRAM.encode("utf-16")},
        BROKEN,
        2,
        "desk/agent.yaml:1:1: This is not UTF-8",
    ),
    "the manifest of the agent has another ending": Way(
        {**without(WRITTEN, AGENT), "desk/agent.YML": PROGRAM},
        BROKEN,
        2,
        "desk/agent.YML:1:1: This is a manifest, and is not read: the names of those that are end",
    ),
    "the manifest of the agent is no YAML file": Way(
        {**without(WRITTEN, AGENT), "desk/agent.yaml.txt": PROGRAM},
        BROKEN,
        2,
        'spec.targetAgent: There is no Agent "desk".',
    ),
    "the Eval stands in a list of Kubernetes": Way(
        {**WRITTEN, EVALS: in_list(FIXTURE, EVAL)},
        BROKEN,
        2,
        "desk/evals.yaml:2:7: kind: Manifests in a List are not read.",
    ),
    "the gate config has another ending": Way(
        {
            **DECLARED,
            ".github/gateval.yaml": "policy: {mustBelong: ['src/**']}\n",
            "src/a.py": "1\n",
        },
        {"src/a.py": "2\n"},
        2,
        ".github/gateval.yaml:1:1: This is not the gate config, and holds nothing",
    ),
    "the gate config stands at the root": Way(
        {**DECLARED, "gateval.yml": "policy: {mustBelong: ['src/**']}\n", "src/a.py": "1\n"},
        {"src/a.py": "2\n"},
        2,
        "gateval.yml:1:1: This is not the gate config, and holds nothing",
    ),
    "manifests are looked for where there are none": Way(
        {**DECLARED, CONFIG: "manifests: ['evaluations/**']\n"},
        RUDE,
        2,
        '.github/gateval.yml:1:1: manifests[0]: "evaluations/**" fits no tracked file of this',
    ),
    "the agent lies below .gateval": Way(
        {path.replace("desk/", ".gateval/desk/"): text for path, text in WRITTEN.items()},
        {".gateval/desk/agent.py": "print('A bad answer.')\n"},
        2,
        '.gateval/desk/agent.yaml:5:3: spec.runtime: "agent.py" of runtime.command is',
    ),
}

JUDGED = f"""\
{BOTH.replace("{type: contains, value: GOOD}", "{type: judge, rubric: Is it kind?}")}\
  judge: {{model: scripted/judge, calibration: kind}}
---
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {{name: kind}}
spec:
  rubric: Is it kind?
  judgeModels: [scripted/judge]
  examples:
    - {{input: Hello, candidateOutput: Welcome., humanScore: 1, humanLabel: kind}}
    - {{input: Hello, candidateOutput: Go away., humanScore: 0, humanLabel: rude}}
"""

WAYS |= {
    "the judge says nothing of use, and nothing else decides": Way(
        {
            **DECLARED,
            EVALS: JUDGED,
            ".gateval/scripted/judge.yaml": "rules: [{reply: I like turtles.}]\n",
            CONFIG: "policy: {judge: {uncalibrated: warn}}\n",
        },
        RUDE,
        3,
        "Gateval: inconclusive — the judge of 1 Eval is not calibrated as it asks",
    ),
    "an Eval in which nothing has weight, and an agent that broke off": Way(
        {
            **WRITTEN,
            EVALS: BOTH.replace("value: GOOD}", "value: GOOD, weight: 0}")
            + "  scoring: {model: weighted}\n",
        },
        {"desk/agent.py": "raise SystemExit(1)\n"},
        1,
        "Gateval: fail — desk no longer answers",
    ),
    "a pattern that matches everything, and an agent without a word": Way(
        {
            **WRITTEN,
            EVALS: BOTH.replace("{type: contains, value: GOOD}", "{type: regex, pattern: '.*'}"),
        },
        {"desk/agent.py": "print('{\"output\": null}')\n"},
        1,
        "Gateval: fail — desk no longer answers",
    ),
    "an agent that says a byte order mark and a space of no width": Way(
        {
            **WRITTEN,
            EVALS: BOTH.replace("type: contains, value: GOOD", "type: notContains, value: X"),
        },
        {"desk/agent.py": "print('\\ufeff\\ufeff\\u200b')\n"},
        1,
        "Gateval: fail — desk no longer answers",
    ),
    "the fixtures are moved out of the folder that manifests are looked for in": Way(
        {**WRITTEN, CONFIG: "manifests: ['desk/**']\n"},
        {**BROKEN, EVALS: None, "checks/evals.yaml": BOTH},
        1,
        "Gateval: fail — what the target branch asks is not met",
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_could_not_be_looked_at_is_never_green(way: Way, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, way.before)
    repo.branch("change")
    put(repo, way.change)
    done = gateval(repo, *way.command.split())

    assert done.returncode == way.code, done.stdout + done.stderr
    assert way.said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def put(repo: Repo, files: Mapping[str, str | bytes | None]) -> None:
    for path, text in files.items():
        if text is None:
            repo.git("rm", "--quiet", path)
        else:
            repo.write(path, text)
    repo.commit()


def test_a_head_that_is_on_the_default_branch_is_compared_with_nothing(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, WRITTEN)
    put(repo, BROKEN)
    done = gateval(repo, "check")

    assert done.returncode == 2
    assert "is on the default branch already, so there is nothing to compare it" in done.stderr
    assert gateval(repo, "check", "--base", "HEAD~1").returncode == 1


@pytest.mark.parametrize("change", [BROKEN, {"desk/agent.py": "raise SystemExit(1)\n"}])
def test_an_eval_of_which_nothing_counts_has_no_score(
    change: Mapping[str, str], tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "repo")
    apart = "{fixture: greets, owner: ada, until: '2999-01-01'}"
    put(repo, {**WRITTEN, CONFIG: f"policy: {{quarantine: [{apart}]}}\n"})
    repo.branch("change")
    put(repo, change)
    done = gateval(repo, "check")

    assert done.returncode == 0, "by the policy of the target branch"
    said = " ".join(done.stdout.split())
    assert "all of desk-eval is in quarantine, so nothing of it decides" in said
    assert "desk desk-eval not measured not measured" in said
    assert "1 Eval measured" not in said


def test_what_the_policy_lets_pass_is_not_called_unharmed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, {**WRITTEN, CONFIG: "policy: {regressions: off}\n"})
    repo.branch("change")
    put(repo, BROKEN)
    done = gateval(repo, "check")

    assert done.returncode == 0
    assert "something regressed, which the policy lets pass" in done.stdout
    assert "nothing regressed" not in done.stdout


@pytest.mark.parametrize(
    ("before", "change", "arguments", "code", "element"),
    [
        (DECLARED, {AGENT: None, EVALS: None}, (), 1, "failures"),
        (WRITTEN, BROKEN, ("--max-minutes", "0.0001"), 3, "errors"),
    ],
    ids=["the bar", "no time"],
)
def test_junit_is_never_green_where_the_gate_is_not(
    before: Mapping[str, str],
    change: Mapping[str, str],
    arguments: tuple[str, ...],
    code: int,
    element: str,
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, before)
    repo.branch("change")
    put(repo, change)
    done = gateval(repo, "check", "--results", str(tmp_path / "out"), *arguments)

    assert done.returncode == code, done.stdout + done.stderr
    suites = {one.name: one for one in JUnitXml.fromfile(str(tmp_path / "out/junit.xml"))}
    assert getattr(suites["gateval"], element) == 1


@pytest.mark.parametrize(
    ("before", "change", "said"),
    [
        (
            {**WRITTEN, CONFIG: "policy: {candidateEnv: [CRM_KEY]}\n"},
            {"desk/more.txt": "1\n"},
            "policy.candidateEnv names CRM_KEY, which is not set here, so agents ran without it.",
        ),
        (
            {**DECLARED, CONFIG: "policy: {mustBelong: ['source/**']}\n", "src/a.py": "1\n"},
            {"src/a.py": "2\n"},
            'policy.mustBelong asks for "source/**", which fits no tracked file',
        ),
    ],
    ids=["a variable is not set", "a pattern fits nothing"],
)
def test_what_was_asked_for_and_is_not_there_is_told(
    before: Mapping[str, str], change: Mapping[str, str], said: str, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "repo")
    put(repo, before)
    repo.branch("change")
    put(repo, change)
    done = gateval(repo, "check")

    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stdout.split())


ASKS = """\
import json, os, sys, urllib.request
body = {"model": "local", "stream": STREAM, "messages": [
    {"role": "system", "content": open("prompt.md").read()},
    {"role": "user", "content": json.load(sys.stdin)["prompt"]}]}
asked = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
    {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
urllib.request.urlopen(asked).read()
print("A GOOD answer.")
"""
SERVES = """\
import http.server, subprocess, sys
class Desk(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        done = subprocess.run([sys.executable, "agent.py"], input=asked, capture_output=True)
        self.send_response(200); self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(done.stdout))); self.end_headers()
        self.wfile.write(done.stdout)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""
ASKING = {
    "model": MODEL.replace("scripted/desk", "vllm/local"),
    "command": PROGRAM.replace("spec:\n", "spec:\n  models: [vllm/local]\n"),
    "http": PROGRAM.replace(
        "{type: command, command: [python3, agent.py]}",
        """{type: http, command: [python3, serve.py, "{port}"], ready: {path: /},
    request: {path: /}}""",
    ).replace("spec:\n", "spec:\n  models: [vllm/local]\n"),
}  # fmt: skip
STOPS = {
    "length": "a model stopped at its token limit in 1 of 1 runs.",
    "content_filter": "a model refused to answer, or was filtered by its provider in 1 of 1 runs.",
}


@pytest.mark.parametrize("why", STOPS)
@pytest.mark.parametrize(
    ("kind", "stream"), [("model", False), ("command", False), ("command", True), ("http", True)]
)
def test_an_answer_that_the_model_broke_off_is_told(
    kind: str, why: str, stream: bool, tmp_path: Path
) -> None:
    def respond(call: Call) -> Answer:
        answer = reply(call, "A GOOD answer.")
        if "be rude" not in str(call.body).lower():
            return answer
        old, new = b'"stop"', f'"{why}"'.encode()
        pieces = tuple(piece.replace(old, new) for piece in answer.pieces)
        return replace(answer, body=answer.body.replace(old, new), pieces=pieces)

    repo = Repo(tmp_path / "repo")
    program = {"desk/agent.py": ASKS.replace("STREAM", str(stream)), "desk/serve.py": SERVES}
    put(repo, {**DECLARED, **program, AGENT: ASKING[kind]})
    repo.branch("change")
    put(repo, RUDE)
    with provider(respond) as (_, environ):
        done = gateval(repo, "check", VLLM_BASE_URL=environ["OPENAI_BASE_URL"])

    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert f"warning: desk (head): {STOPS[why]}" in said
    assert "desk (base)" not in said
