"""The runtimes `python` and `node` on the real command: verdicts, and what a manifest gets wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  runtime:
    type: %s
    target: %s
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: order-7, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: "Where is order 7?"}}
  assertions:
    - {type: toolCalled, tool: order_status}
    - {type: contains, value: in transit}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: two-turns, labels: {agent: desk}}
spec:
  turns:
    - {user: "Where is order 7?", assertions: [{type: contains, value: in transit}]}
    - {user: Thanks, assertions: [{type: contains, value: "welcome, after 3 messages"}]}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""
SCRIPT = """\
rules:
  - when: {user: Thanks}
    reply: You are welcome
  - when: {tool: in transit}
    reply: Order 7 is in transit.
  - when: {user: order 7, turn: 1}
    toolCalls: [{name: order_status, arguments: {order: 7}}]
  - reply: I do not know.
"""
PYTHON = """\
import json, os, urllib.request

TOOLS = {"order_status": lambda order: "in transit"}


def asked(messages):
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in TOOLS]
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "desk", "messages": messages, "tools": tools}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]


def answer(messages):
    print("a line of its own on standard output")
    told = list(messages)
    while True:
        said = asked(told)
        if not said.get("tool_calls"):
            after = f", after {len(messages)} messages" if len(messages) > 1 else ""
            return said["content"] + after
        told.append(said)
        for call in said["tool_calls"]:
            made = TOOLS.get(call["function"]["name"], lambda **_: "unknown")
            result = made(**json.loads(call["function"]["arguments"]))
            told.append({"role": "tool", "tool_call_id": call["id"], "content": result})
"""
NODE = """\
const TOOLS = { order_status: () => "in transit" };

async function asked(messages) {
  const tools = Object.keys(TOOLS).map((name) => ({ type: "function", function: { name, parameters: {} } }));
  const reply = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: "desk", messages, tools }),
  });
  return (await reply.json()).choices[0].message;
}

export async function answer(messages) {
  console.log("a line of its own on standard output");
  const told = [...messages];
  for (;;) {
    const said = await asked(told);
    if (!said.tool_calls?.length) return said.content + (messages.length > 1 ? `, after ${messages.length} messages` : "");
    told.push(said);
    for (const call of said.tool_calls) {
      const result = TOOLS[call.function.name]?.() ?? "unknown";
      told.push({ role: "tool", tool_call_id: call.id, content: result });
    }
  }
}
"""
LANGUAGES = ["python", pytest.param("node", marks=pytest.mark.skipif(not shutil.which("node"), reason="node is not installed"))]  # fmt: skip


def desk(tmp_path: Path, language: str) -> Repo:
    repo = Repo(tmp_path / "desk")
    target = {"python": "desk.answering:answer", "node": "desk/answering.mjs:answer"}[language]
    repo.write("agent.yaml", AGENT % (language, target))
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    repo.write("desk/answering.py", PYTHON)
    repo.write("desk/answering.mjs", NODE)
    repo.commit("Begin")
    repo.branch("change")
    return repo


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_agent_behind_a_bridge_is_asked_and_traced(tmp_path: Path, language: str) -> None:
    repo = desk(tmp_path, language)
    ended = gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "out/results.v1.json").read_text())
    (once,) = [one for one in found["trials"] if one["key"]["fixture"] == "order-7"]
    assert once["output"] == "Order 7 is in transit."
    assert once["trace"]["source"] == "gateway"
    kinds = [step["kind"] for step in once["trace"]["steps"]]
    assert kinds == ["user", "tool_call", "tool_result", "assistant"]
    (agent,) = found["plan"]["agents"]
    assert len(agent["runtime"]["bridge"]) == 64


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_renamed_tool_is_a_regression_and_a_refactoring_is_none(
    tmp_path: Path, language: str
) -> None:
    repo = desk(tmp_path, language)
    path, source = {
        "python": ("desk/answering.py", PYTHON),
        "node": ("desk/answering.mjs", NODE),
    }[language]
    repo.write(path, source.replace("told", "heard"))
    repo.commit("Other names")
    checked = gateval(repo, "check", "--base", "main")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    repo.write(
        path, source.replace("order_status:", "status_of:").replace('"order_status"', '"status_of"')
    )
    repo.commit("Rename the tool")
    checked = gateval(repo, "check", "--base", "main")
    assert checked.returncode == 1, checked.stdout + checked.stderr


def test_a_package_below_a_folder_that_can_be_none_imports_its_own(tmp_path: Path) -> None:
    repo = desk(tmp_path, "python")
    repo.write("agent.yaml", AGENT % ("python", "python-backend/desk/answering.py:answer"))
    for folder in ("python-backend", "python-backend/desk"):
        repo.write(f"{folder}/__init__.py", "")
    repo.write("python-backend/desk/answering.py", f"from .names import NAME\n{PYTHON}")
    repo.write("python-backend/desk/names.py", "NAME = 'desk'\n")
    repo.commit("A package")
    ended = gateval(repo, "run", "desk-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_repository_that_is_a_package_imports_its_own(tmp_path: Path) -> None:
    repo = desk(tmp_path, "python")
    repo.write("agent.yaml", AGENT % ("python", "answering.py:answer"))
    repo.write("__init__.py", "from . import answering\n")
    repo.write("answering.py", f"import plain\nfrom .names import NAME\n{PYTHON}")
    repo.write("names.py", "NAME = 'desk'\n")
    repo.write("plain.py", "")
    repo.commit("The root is the package")
    ended = gateval(repo, "run", "desk-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_target_that_is_not_there_is_told_with_what_to_do_next(tmp_path: Path) -> None:
    repo = desk(tmp_path, "python")
    repo.write("agent.yaml", AGENT % ("python", "desk.answering:answers"))
    repo.commit("A slip")
    checked = gateval(repo, "check", "--base", "main")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "`desk.answering` has no `answers`. Did you mean `answer`?" in checked.stdout
    assert "Traceback" not in checked.stdout
    assert "problem" not in checked.stdout


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("type: python", "agent.yaml:6:3: spec.runtime.target: The required key \"target\" is missing."),
        ("type: python\n    target: desk", None),
        ('type: python\n    target: "desk agent"', "agent.yaml:8:13: spec.runtime.target: "),
        (
            "type: python\n    target: desk:a\n    framework: langraph",
            'agent.yaml:9:16: spec.runtime.framework: "langraph" is no framework that is known here. Did you mean "langgraph"?',
        ),
        (
            "type: node\n    target: desk.mjs\n    framework: crewai",
            "Known are agentkit, ai-sdk, beeai, google-adk, langgraph, llama-index, mastra, openai-agents, strands, route, callable, or the file of a bridge of your own (.mjs or .js)",
        ),
        (
            "type: python\n    target: desk:a\n    command: [python3, desk.py]",
            "agent.yaml:9:14: spec.runtime.command: A runtime of type python starts its `target`. Name in `interpreter` by what.",
        ),
        ("type: pyhton\n    target: desk:a", 'Did you mean "python"?'),
        (
            "type: python\n    target: desk:a\n    framwork: crewai",
            'Did you mean "framework"?',
        ),
    ],
)  # fmt: skip
def test_what_a_manifest_gets_wrong_is_told_with_its_place(
    tmp_path: Path, written: str, said: str | None
) -> None:
    repo = Repo(tmp_path / "desk")
    text = f"apiVersion: gateval/v1\nkind: Agent\nmetadata: {{name: desk}}\nspec:\n  uses: []\n  runtime:\n    {written}\n"
    repo.write("agent.yaml", text)
    repo.write("desk.py", PYTHON)
    repo.commit("Begin")
    ended = gateval(repo, "validate")
    told = ended.stdout + ended.stderr
    assert ended.returncode == (0 if said is None else 2), told
    assert said is None or said in told


def test_a_file_that_is_not_there_is_seen_before_anything_runs(tmp_path: Path) -> None:
    repo = desk(tmp_path, "python")
    repo.write("agent.yaml", AGENT % ("python", "desk/answers.py:answer"))
    repo.commit("A slip")
    ended = gateval(repo, "validate")
    assert "agent.yaml:6:3: " in ended.stdout + ended.stderr
    assert "desk/answers.py is no file of this revision." in ended.stdout + ended.stderr


def test_the_files_of_target_and_bridge_belong_to_the_agent(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "desk")
    agent = AGENT.replace(
        "target: %s", "target: ../lib/desk.py:answer\n    framework: ../lib/bridge.py"
    )
    repo.write("agents/desk/agent.yaml", agent % "python")
    repo.write("agents/.gateval/scripted/desk.yaml", SCRIPT)
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    repo.write("agents/lib/desk.py", PYTHON)
    bridge = "class Bridge:\n    def __init__(self, target):\n        self.ask = lambda q: target(q.messages)\n"
    repo.write("agents/lib/bridge.py", bridge)
    repo.write("agents/lib/other.py", "")
    repo.commit("Begin")
    listed = gateval(repo, "closure", "desk")
    assert "agents/lib/desk.py" in listed.stdout
    assert "agents/lib/bridge.py" in listed.stdout
    assert "other.py" not in listed.stdout
    ended = gateval(repo, "run", "desk-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr
