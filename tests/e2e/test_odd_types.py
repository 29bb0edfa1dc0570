"""Lists where texts belong, and links in the place of files: told in sentences, by every command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop

SUITE = "evalcases:\n  - {id: a, expected_outcome: Good, input: Hello}\n"
LINE = '{"id": "b", "expected_outcome": "Good", "input": "Hello"}\n'
TARGETS = "targets: [{name: default, provider: scripted, model: x}]\n"


@pytest.mark.parametrize(
    ("suite", "link"),
    [
        (SUITE, "../real.jsonl"),
        (SUITE, "/etc/hostname"),
        (SUITE, "nowhere"),
        ("execution: {target: default}\n", "../real.jsonl"),
        ("execution: {target: default}\n", "nowhere"),
        ("description: Cases of the desk\n", "nowhere"),
    ],
)
def test_a_link_beside_a_suite_in_the_place_of_its_lines(
    suite: str, link: str, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "desk")
    repo.write("targets.yaml", TARGETS)
    repo.write(".gateval/scripted/x.yaml", "rules: [{reply: x}]\n")
    repo.write("real.jsonl", LINE)
    repo.write("evals/s.yaml", suite)
    repo.link("evals/s.jsonl", link)
    repo.commit("A link")
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "evals/s.jsonl beside this suite is a symbolic link" in done.stdout
    assert len(done.stdout.splitlines()) == 2


WORKFLOW = """\
on: {pull_request: {types: [[opened]]}}
permissions: [read]
jobs:
  gate:
    name: [gate]
    runs-on: ubuntu-latest
    timeout-minutes: [30]
    steps: [{uses: gateval/gateval@v1, with: {max-minutes: {a: 1}, token: [x], step: [all]}}]
"""


def test_a_workflow_with_lists_in_place_of_texts(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    repo.write(".github/workflows/gate.yml", WORKFLOW)
    repo.commit("A workflow")
    done = gateval(repo, "doctor")
    assert "Traceback" not in done.stderr
    assert "TypeError" not in done.stdout + done.stderr


ASKS = """\
import json, os, urllib.error, urllib.request
body = {"model": "m", "x": {"type": ["mcp"], "mcp_servers": [1]}, "messages": [{"role": "user", "content": "Hello"}],
        "note": "mcp"}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
try:
    print("answered", urllib.request.urlopen(request).status)
except urllib.error.HTTPError as error:
    print("refused", error.code, error.read().decode())
"""
AGENT = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [openai/m]
  runtime: {{type: command, command: [{sys.executable}, ask.py]}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: asks, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: Hello}}}}
  assertions: [{{type: notContains, value: refused 5}}]
"""


def test_a_request_with_lists_in_place_of_texts_is_refused_and_breaks_nothing(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", AGENT)
    repo.write("agents/ask.py", ASKS)
    repo.write("evals/eval.yaml", EVAL)
    repo.commit("An agent that asks oddly")
    out = tmp_path / "out"
    nobody = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    done = gateval(repo, "run", "support-eval", "--results", str(out), **nobody)
    print(done.stdout)
    trial = json.loads((out / "results.v1.json").read_text())["trials"][0]
    assert "refused 5" not in str(trial["output"]), trial["output"]
    assert "TypeError" not in done.stdout + done.stderr


TALK = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  runtime: {{type: command, conversation: process, {greeting}command: [{python}, desk.py]}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: asks, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: One}}}}
  turns: [{{user: Two}}]
  assertions: [{{type: contains, value: Two}}]
"""
GREETS = """\
import json, sys
print("Welcome, Two", flush=True)
for line in sys.stdin:
    print("You said", json.loads(line)["prompt"], flush=True)
"""


@pytest.mark.parametrize(("greeting", "code"), [("", 1), ("greeting: 1, ", 0)])
def test_a_banner_before_the_first_question(greeting: str, code: int, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", TALK.format(greeting=greeting, python=sys.executable))
    repo.write("agents/desk.py", GREETS)
    repo.write("evals/eval.yaml", EVAL)
    repo.commit("A desk that greets")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == code, done.stdout
    assert ("`runtime.greeting`" in " ".join(done.stdout.split())) is bool(code)


BANNERS = {
    "banner": 'print("Welcome, Two", flush=True)\n',
    "none": "",
    "blank": "print(flush=True)\n",
}


@pytest.mark.parametrize(
    ("banner", "greeting", "code"),
    [
        ("banner", "", 1),
        ("banner", "greeting: 1, ", 0),
        ("none", "", 0),
        ("blank", "", 0),
        ("blank", "greeting: 1, ", 0),
    ],
)
def test_a_banner_before_the_only_question(
    banner: str, greeting: str, code: int, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "shop")
    alone = TALK.replace("prompt: One", "prompt: Two").replace("  turns: [{{user: Two}}]\n", "")
    repo.write("agents/support.yaml", alone.format(greeting=greeting, python=sys.executable))
    repo.write("agents/desk.py", GREETS.replace(BANNERS["banner"], BANNERS[banner]))
    repo.write("evals/eval.yaml", EVAL)
    repo.commit("A desk that may greet")
    out = tmp_path / "out"
    done = gateval(repo, "run", "support-eval", "--results", str(out))
    assert done.returncode == code, done.stdout
    said = " ".join(done.stdout.split())
    assert ("printed more than one line" in said and "`runtime.greeting`" in said) is bool(code)
    trial = json.loads((out / "results.v1.json").read_text())["trials"][0]
    assert trial["output"] == (None if code else "You said Two"), trial


def test_an_empty_banner_is_told_of_with_turns(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", TALK.format(greeting="", python=sys.executable))
    slow = GREETS.replace("    print(", "    time.sleep(1); print(").replace("sys\n", "sys, time\n")
    repo.write("agents/desk.py", slow.replace(BANNERS["banner"], BANNERS["blank"]))
    repo.write("evals/eval.yaml", EVAL)
    repo.commit("A desk that prints an empty line first")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 1, done.stdout
    assert "`runtime.greeting`" in " ".join(done.stdout.split())
