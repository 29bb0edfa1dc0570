"""What changed for the model: told off the wire, for the gate's own loop and for any program."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gateval.adapters.run_notes import OFFERS_FILE
from tests.helpers import stored
from tests.helpers.command import gateval, start_gateval
from tests.helpers.repo import Repo

REST = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund}
spec:
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions: [{type: contains, value: order}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec: {targetAgent: desk, fixtures: [refund], execution: {repsPerFixture: 2}}
"""
DECLARED = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  system: You help.
  tools: [{name: search, description: Look things up on the web.}]
"""
PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  runtime: {type: command, command: [/usr/bin/python3, agent.py]}
"""
CODE = '''\
import json, os, sys, time, urllib.request

system = f"""You help.
Now it is {time.time_ns()}."""
tool = {"name": "search", "description": "Look things up.", "parameters": {"type": "object"}}
body = {
    "model": "scripted/desk",
    "temperature": 0,
    "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hello"}],
    "tools": [{"type": "function", "function": tool}],
}
asked = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
'''
KEY = "sk-proj-a-key-that-is-nowhere-to-be-read"


def repository(folder: Path, agent: str) -> Repo:
    repo = Repo(folder)
    repo.write("desk.yaml", agent + REST)
    repo.write("agent.py", CODE)
    repo.write(".gateval/scripted/desk.yaml", "rules: [{reply: Which order?}]\n")
    repo.commit("Before")
    return repo


def offers(out: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((out / "results.v1.json").read_text("utf-8"))[
        "offers"
    ]
    return found


def test_the_loop_of_the_gate_tells_tools_and_prompt(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", DECLARED)
    longer = "system: You help. " + "Say what you do not know. " * 32
    changed = DECLARED.replace("search", "web_lookup").replace("system: You help.", longer)
    repo.write("desk.yaml", changed + REST)
    repo.commit("After")
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    said = 'desk: tool "search" is now "web_lookup", about 208 tokens more system prompt'
    assert f"for the model: {said}" in " ".join(done.stdout.split())
    comment = (out / "comment.md").read_text("utf-8")
    assert "What changed for the model" in comment
    assert "is now" in comment
    assert "web_lookup" in comment
    assert said in " ".join(gateval(repo, "show", str(out)).stdout.split())


def test_of_a_program_only_what_all_its_runs_share_is_compared(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", PROGRAM)
    code = CODE.replace('"temperature": 0', '"temperature": 0.7').replace("Look things up", "Find")
    repo.write("agent.py", code)
    repo.commit("After")
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    said = (
        'for the model: desk: tool "search" has another description, parameter "temperature 0" is '
        'now "temperature 0.7"'
    )
    assert said in " ".join(done.stdout.split())
    assert "system prompt" not in done.stdout, "the time in it is of the run, not of the Agent"
    found = offers(out)
    assert [(one["side"], one["offer"]["system"]) for one in found] == [  # type: ignore[index]
        ("base", ["You help."]),
        ("head", ["You help."]),
    ]
    assert "time" not in stored.log(out), "no trial repeats it"


def test_every_parameter_that_changes_the_answer_is_told_by_its_name(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", PROGRAM)
    schema = {
        "type": "object",
        "properties": {"order": {"type": "string", "description": "x" * 80}},
    }
    more = {
        "top_p": 0.5,
        "reasoning_effort": "high",
        "stop": [f"\n{KEY}"],
        "response_format": {"type": "json_schema", "json_schema": schema},
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "max_completion_tokens": 900,
        "user": "someone",
        "metadata": {"run": "new"},
    }
    added = f'"seed": time.time_ns(), "temperature": 0, **json.loads({json.dumps(more)!r})'
    repo.write("agent.py", CODE.replace('"temperature": 0', added))
    repo.commit("After")
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out), OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    line = " ".join(done.stdout.split()).partition("for the model: desk: ")[2]
    for said in (
        '"max_tokens 900" is new',
        '"top_p 0.5" is new',
        '"reasoning_effort high" is new',
        '"response_format.type json_schema" is new',
        '"response_format.json_schema" is new',
        '"tool_choice required" is new',
        '"parallel_tool_calls false" is new',
    ):
        assert said in line, line
    assert "seed" not in line, "it is of the run, not of the Agent"
    assert "someone" not in line
    comment = (out / "comment.md").read_text("utf-8")
    for view in (
        comment,
        (out / "report.html").read_text("utf-8"),
        gateval(repo, "show", str(out)).stdout,
    ):
        assert "reasoning" in view
        assert "top" in view
    written = b"".join(stored.content(one) for one in out.rglob("*") if one.is_file())
    assert KEY.encode() not in written


def test_a_change_that_the_model_does_not_see_is_not_told(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", PROGRAM)
    repo.write("agent.py", f"# A comment.\n{CODE}")
    repo.commit("After")
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "for the model" not in done.stdout


@pytest.mark.parametrize("agent", [DECLARED, PROGRAM])
def test_a_key_in_a_prompt_is_in_no_file(tmp_path: Path, agent: str) -> None:
    repo = repository(tmp_path / "repo", agent.replace("You help.", f"You help. {KEY}"))
    repo.write("agent.py", CODE.replace("You help.", f"You help. {KEY}"))
    repo.commit("With a key")
    repo.write("desk.yaml", (agent + REST).replace("You help.", f"You help now. {KEY}"))
    repo.write("agent.py", CODE.replace("You help.", f"You help now. {KEY}"))
    repo.commit("After")
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out), OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(offers(out)) == 2
    written = b"".join(stored.content(one) for one in out.rglob("*") if one.is_file())
    assert KEY.encode() not in written


WAITING = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: wait}
spec:
  input: {type: prompt, payload: {prompt: Wait}}
  assertions: [{type: contains, value: order}]
"""
OWN = "sk-ant-a-key-that-the-program-brings-itself"


@pytest.mark.parametrize(("secret", "runtime"), [(KEY, "{"), (OWN, "{redirect: true, ")])
def test_nor_in_what_a_killed_run_leaves(tmp_path: Path, secret: str, runtime: str) -> None:
    """What models are offered is noted while the run goes on, and uploaded if it is killed."""
    agent = PROGRAM.replace("runtime: {", f"runtime: {runtime}")
    repo = repository(tmp_path / "repo", agent)
    repo.write("desk.yaml", agent + REST.replace("[refund]", "[refund, wait]") + WAITING)
    waits = 'if "Wait" in sys.stdin.read():\n    time.sleep(60)\nsystem ='
    repo.write(
        "agent.py",
        CODE.replace("You help.", f"You help. {secret}").replace("system =", waits, 1),
    )
    repo.commit("After")
    out = tmp_path / "out"
    run = start_gateval(repo, "run", "desk-eval", "--results", str(out), OPENAI_API_KEY=KEY)
    try:
        deadline = time.monotonic() + 60
        while not (out / OFFERS_FILE).exists() and run.poll() is None:
            assert time.monotonic() < deadline, "nothing was noted"
            time.sleep(0.02)
    finally:
        run.kill()
        run.communicate()
    assert b"You help." in (out / OFFERS_FILE).read_bytes()
    written = b"".join(stored.content(one) for one in out.rglob("*") if one.is_file())
    assert secret.encode() not in written
