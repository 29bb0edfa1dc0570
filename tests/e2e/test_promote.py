"""`gateval promote`: 20 recorded runs become fixtures, and pass against the agents that made them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.traces import FORMATS

DESK = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [scripted/desk]
  system: You help.
  tools: [{name: look_up}, {name: stock}, {name: refund}, {name: closed, enabled: false}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""

COUNTER = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: counter}}
spec:
  runtime: {{type: command, command: [{sys.executable}, -I, count.py]}}
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: counter-eval}}
spec:
  targetAgent: counter
  fixtureSelector: {{matchLabels: {{agent: counter}}}}
"""

PROGRAM = """\
import json, sys
asked = json.load(sys.stdin)["prompt"]
print(json.dumps({"output": f"{len(asked.split())} words, ending in {asked.split()[-1]}"}))
"""

RULES: list[dict[str, Any]] = [
    {"when": {"user": "Hello"}, "reply": "Hello! How can I help?"},
    {"when": {"user": "10482", "turn": 1},
     "toolCalls": [{"name": "look_up", "arguments": {"order": "10482"}}]},
    {"when": {"tool": "17.5"}, "reply": "Order 10482 cost 17.5 EUR."},
    {"when": {"user": "both", "turn": 1},
     "toolCalls": [{"name": "look_up", "arguments": {"order": "1"}},
                   {"name": "look_up", "arguments": {"order": "2"}}]},
    {"when": {"tool": "the second"}, "reply": "You have the first and the second."},
    {"when": {"user": "left", "turn": 1}, "toolCalls": [{"name": "stock"}]},
    {"when": {"tool": "cannot be reached"}, "reply": "I cannot say how many are left."},
    {"when": {"user": "money", "turn": 1}, "toolCalls": [{"name": "look_up", "arguments": {"order": 3}}]},
    {"when": {"user": "money", "turn": 2}, "toolCalls": [{"name": "refund", "arguments": {"eur": 3.0}}]},
    {"when": {"tool": "paid"}, "reply": "Your 3 EUR are on the way; see https://shop.example/r/77."},
    {"when": {"user": "Köln"}, "reply": "Schöne Grüße aus Köln!"},
    {"when": {"user": "as JSON"}, "reply": '{"status": "ok", "items": [1, 2]}'},
    {"when": {"user": "quote"}, "reply": "She said: \"no\" - it's 100 % fine # really"},
    {"when": {"user": "long"}, "reply": "First of all, thank you.\n\nSecond, see below.\n\n" + "x " * 400},
    {"when": {"user": "closed", "turn": 1}, "toolCalls": [{"name": "closed"}]},
    {"when": {"tool": "There is no tool"}, "reply": "That is not possible."},
    {"when": {"user": "blue"}, "reply": "The blue one, then."},
    {"reply": "I did not get that."},
]  # fmt: skip

SEEDS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "greeting": ("openai", "Hello", []),
    "lookup": ("openai", "What was 10482?", [{"tool": "look_up", "result": {"amount": 17.5}}]),
    "lookup-bare": ("bare", "Tell me of 10482", [{"tool": "look_up", "result": {"amount": 17.5}}]),
    "lookup-blocks": ("anthropic", "And 10482?", [{"tool": "look_up", "result": "17.5 EUR"}]),
    "lookup-logged": ("request", "So 10482?", [{"tool": "look_up", "result": [17.5, "EUR"]}]),
    "both": ("anthropic", "Show both", [
        {"tool": "look_up", "arguments": {"order": "1"}, "result": "the first"},
        {"tool": "look_up", "arguments": {"order": "2"}, "result": "the second"}]),
    "both-spans": ("genai", "I want both", [
        {"tool": "look_up", "arguments": {"order": "1"}, "result": "the first"},
        {"tool": "look_up", "arguments": {"order": "2"}, "result": "the second"}]),
    "outage": ("genai-typed", "How many are left?", [{"tool": "stock", "error": "It cannot be reached"}]),
    "outage-flat": ("openinference", "Any left?", [{"tool": "stock", "error": "It cannot be reached"}]),
    "two-tools": ("openllmetry", "I want my money", [
        {"tool": "look_up", "result": {"eur": 3}}, {"tool": "refund", "result": "paid"}]),
    "two-tools-spans": ("genai-typed", "Give me my money", [
        {"tool": "look_up", "result": {"eur": 3}}, {"tool": "refund", "result": "paid"}]),
    "two-tools-trial": ("trial", "All my money", [
        {"tool": "look_up", "result": {"eur": 3}}, {"tool": "refund", "result": "paid"}]),
    "unicode": ("openinference", "Grüße nach Köln", []),
    "json": ("trial", "Answer as JSON", []),
    "quotes": ("openai", "A quote, please: #1 'x' \"y\"", []),
    "long": ("genai", "Be long", []),
    "refused": ("trial", "Is it closed?", []),
    "shadow": ("openllmetry", "Nothing special: {a: b}", []),
}  # fmt: skip

WORDS = {"words": ("openai", "How many words is this"), "lines": ("genai", "one\ntwo\nthree 3")}


def shop(path: Path) -> Repo:
    repo = Repo(path)
    repo.write("desk/agent.yaml", DESK)
    repo.write("counter/agent.yaml", COUNTER)
    repo.write("counter/count.py", PROGRAM)
    repo.write(".gateval/scripted/desk.yaml", json.dumps({"rules": RULES}))
    for agent in ("desk", "counter"):
        repo.write(f"{agent}/fixtures/first.yaml", fixture(agent, f"{agent}-first", "Hello", []))
    repo.commit("Begin")
    return repo


def fixture(agent: str, name: str, prompt: str, replay: list[dict[str, Any]]) -> str:
    return json.dumps(
        {
            "apiVersion": "gateval/v1",
            "kind": "EvalFixture",
            "metadata": {"name": name, "labels": {"agent": agent}},
            "spec": {
                "input": {"type": "prompt", "payload": {"prompt": prompt}},
                "assertions": [{"type": "regex", "pattern": "."}],
                "toolReplay": replay,
            },
        }
    )


def recorded(repo: Repo, out: Path) -> dict[str, Any]:
    """Run every seed against its agent; return the stored trials by the name of the seed."""
    for name, (_, prompt, replay) in SEEDS.items():
        repo.write(f"seeds/{name}.yaml", fixture("desk", name, prompt, replay))
    for name, (_, prompt) in WORDS.items():
        repo.write(f"seeds/{name}.yaml", fixture("counter", name, prompt, []))
    done = gateval(repo, "run", "desk-eval", "counter-eval", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    for file in (repo.path / "seeds").iterdir():
        file.unlink()
    trials = json.loads((out / "results.v1.json").read_text())["trials"]
    return {trial["key"]["fixture"]: trial for trial in trials}


def test_twenty_recorded_runs_are_promoted_and_pass(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    trials = recorded(repo, tmp_path / "out")
    many: list[str] = []
    kinds = {name: seed[0] for name, seed in SEEDS.items()}
    kinds |= {name: seed[0] for name, seed in WORDS.items()}
    for name, kind in kinds.items():
        trace = json.dumps(FORMATS[kind](trials[name]))
        if name in {"greeting", "lookup", "both"}:
            many.append(trace)
            continue
        file = tmp_path / f"{name}.json"
        file.write_text(trace)
        agent = "counter" if name in WORDS else "desk"
        done = gateval(repo, "promote", str(file), "--agent", agent)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert f"Runs in {agent}-eval." in done.stdout
    (tmp_path / "many.jsonl").write_text("\n".join(many) + "\n")
    done = gateval(repo, "promote", str(tmp_path / "many.jsonl"), "--agent", "desk")
    assert done.returncode == 0, done.stderr
    assert "3 fixtures" in done.stdout
    listed = gateval(repo, "validate")
    assert "2 Agents, 2 Evals, 22 fixtures, 0 calibrations: valid." in listed.stdout, listed.stdout
    run = gateval(repo, "run", "desk-eval", "counter-eval", "--results", str(tmp_path / "again"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "22/22 trials: 22 pass" in run.stderr
    assert len(list(repo.path.glob("desk/fixtures/desk-*.yaml"))) == 16
    plan = json.loads((tmp_path / "again" / "results.v1.json").read_text())["plan"]
    asked = {
        one["name"]: sorted((a["type"], *a["options"].values()) for a in one["assertions"])
        for planned in plan["evals"]
        for one in planned["fixtures"]
    }
    assert asked["desk-what-was-10482"] == [("contains", "10482"), ("toolCalled", "look_up")]
    assert asked["desk-i-want-my-money"] == [
        ("contains", "https://shop.example/r/77"),
        ("toolCalled", "look_up"),
        ("toolCalled", "refund"),
    ]
    assert ("toolCalled", "closed") not in asked["desk-is-it-closed"]


def test_results_of_a_run_are_promoted_by_fixture(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    recorded(repo, tmp_path / "out")
    done = gateval(
        repo, "promote", str(tmp_path / "out"), "--agent", "desk", "--fixture", "both", "--dry-run"
    )
    assert done.returncode == 0, done.stderr
    assert "name: desk-show-both" in done.stdout
    assert "desk-eval/both#1" in done.stdout
    assert not list(repo.path.glob("desk/fixtures/desk-show*"))


def test_a_conversation_is_promoted_with_what_was_said_before(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    said = [
        {"role": "user", "content": "What colours are there?"},
        {"role": "assistant", "content": "Red and blue."},
        {"role": "user", "content": "The blue one"},
        {"role": "assistant", "content": "The blue one, then."},
    ]
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=json.dumps(said))
    assert done.returncode == 0, done.stderr
    text = (repo.path / "desk/fixtures/desk-the-blue-one.yaml").read_text()
    assert "content: Red and blue." in text
    run = gateval(repo, "run", "desk-eval", "--fixture", "desk-the-blue-one")
    assert run.returncode == 0, run.stdout


def test_nothing_is_overwritten_and_no_name_is_taken_twice(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    trace = json.dumps(
        [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    )
    repo.write("desk/fixtures/desk-hello.yaml", "# mine\n")
    for expected in ("desk-hello-2.yaml", "desk-hello-2-2.yaml"):
        done = gateval(repo, "promote", "-", "--agent", "desk", stdin=trace)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("desk/fixtures/desk-hello")
        del expected
    assert (repo.path / "desk/fixtures/desk-hello.yaml").read_text() == "# mine\n"
    assert "22" not in gateval(repo, "validate").stdout
    assert "valid" in gateval(repo, "validate").stdout


def test_secrets_and_personal_data_are_taken_out(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    said = [
        {"role": "user", "content": "Hello, I am jane.doe@example.com, password: hunter2secret"},
        {"role": "assistant", "tool_calls": [
            {"id": "1", "function": {"name": "look_up", "arguments": {"mail": "jane.doe@example.com"}}}]},
        {"role": "tool", "tool_call_id": "1", "content": "key AKIAIOSFODNN7EXAMPLE, order 10482"},
        {"role": "assistant", "content": "Hello! 10482 goes to jane.doe@example.com"},
    ]  # fmt: skip
    done = gateval(repo, "promote", "-", "--agent", "desk", "--redact", stdin=json.dumps(said))
    assert done.returncode == 0, done.stderr
    assert "Taken out: 3 of the kind email, 2 of the kind secret." in done.stderr
    (file,) = repo.path.glob("desk/fixtures/desk-hello*")
    text = file.read_text()
    for gone in ("jane.doe", "hunter2", "AKIA"):
        assert gone not in text
    assert text.count("[email 1]") >= 1
    assert "order 10482" in text


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("", "is no JSON"),
        ("{}", "holds no record of a run"),
        ('{"a": 1}\n{"b": 2}', "Nothing was promoted"),
        ('[{"role": "assistant", "content": "Hi"}]', "no user says anything in it"),
        ('[{"role": "user", "content": "Hi"}]', "nothing answers what the user said last"),
        ('[{"role": "robot", "content": "Hi"}]', "a message has the role 'robot'"),
        (
            '[{"role": "user", "content": [{"type": "image_url"}]}, {"role": "assistant", "content": "A"}]',
            "a message holds a part of the type 'image_url', not only text",
        ),
        ('{"resourceSpans": []}', "holds no record of a run"),
        ('{"version": "results.v1"}', "it is not as this version of Gateval writes it (plan)"),
        (
            '[{"role": "user", "content": "{{ vars.secret }}"}, {"role": "assistant", "content": "x"}]',
            "which a fixture would fill in",
        ),
    ],
)
def test_what_is_no_run_is_told(tmp_path: Path, trace: str, said: str) -> None:
    repo = shop(tmp_path / "shop")
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=trace)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert repo.git("status", "--short") == b""


def chat(user: str, answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]


def test_the_first_fixture_of_an_eval_can_be_a_promoted_one(tmp_path: Path) -> None:
    """Before it, the Eval's selector selects nothing, which is an error everywhere else."""
    repo = shop(tmp_path / "shop")
    (repo.path / "desk/fixtures/first.yaml").unlink()
    assert gateval(repo, "validate").returncode == 2
    trace = json.dumps(chat("Hello", "Hello! How can I help?"))
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=trace)
    assert done.returncode == 0, done.stderr
    assert "Runs in desk-eval." in done.stdout
    assert gateval(repo, "run", "desk-eval").returncode == 0


def test_lines_of_records_end_where_json_lines_end(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    traces = [chat(f"one\u2028two\x85three {n}", "Hello! 4711") for n in range(2)]
    lines = "\r\n".join(json.dumps(one, ensure_ascii=False) for one in traces)
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=lines)
    assert done.returncode == 0, done.stderr
    assert "2 fixtures" in done.stdout


@pytest.mark.parametrize(
    "span",
    [
        {"startTimeUnixNano": "²"},
        {"startTimeUnixNano": "9" * 5_000},
        {"attributes": [{"key": "gen_ai.usage", "value": {"intValue": "many"}}]},
        {"attributes": [{"key": "gen_ai.prompt.0.tool_calls.²", "value": {"stringValue": "x"}}]},
    ],
)
def test_spans_that_no_exporter_writes_are_told(tmp_path: Path, span: dict[str, Any]) -> None:
    repo = shop(tmp_path / "shop")
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "../x\x1b", **span}]}]}]}
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=json.dumps(trace))
    assert done.returncode == 2, done.stderr
    assert "Nothing was promoted." in done.stderr


def test_the_agent_has_to_be_known(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    several = gateval(repo, "promote", "-", stdin="[]")
    assert several.returncode == 2
    assert "Name one with --agent: counter, desk." in several.stderr
    unknown = gateval(repo, "promote", "-", "--agent", "dask", stdin="[]")
    assert 'There is no Agent "dask" here. Did you mean "desk"?' in unknown.stderr
    absent = gateval(repo, "promote", "none.json", "--agent", "desk")
    assert "none.json could not be read: No such file or directory." in absent.stderr


@pytest.mark.parametrize("takes", [True, False])
def test_tools_of_a_program_are_replayed_if_it_takes_them_from_the_gate(
    tmp_path: Path, *, takes: bool
) -> None:
    repo = shop(tmp_path / "shop")
    tools = "spec:\n  tools: [{name: count}]\n"
    repo.write("counter/agent.yaml", COUNTER.replace("spec:\n", tools, 1))
    repo.write("counter/count.py", PROGRAM + ("# asks GATEVAL_MCP_URL\n" if takes else ""))
    said = [
        {"role": "user", "content": "Count this"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "count"}}]},
        {"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "own"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "2"},
        {"role": "tool", "tool_call_id": "2", "content": "3"},
        {"role": "assistant", "content": "2 words, ending in this"},
    ]
    done = gateval(repo, "promote", "-", "--agent", "counter", stdin=json.dumps(said))
    assert done.returncode == 0, done.stderr
    text = (repo.path / "counter/fixtures/counter-count-this.yaml").read_text()
    assert ("toolReplay" in text) is takes
    assert text.count("tool: own") == 1
    assert "3 fixtures, 0 calibrations: valid." in gateval(repo, "validate").stdout


def test_what_was_recorded_gives_a_runner_no_commands(tmp_path: Path) -> None:
    repo = shop(tmp_path / "shop")
    said = [
        {"role": "user", "content": "Hello\n::error::x\n" + "word " * 60 + "::stop-commands::y"},
        {"role": "assistant", "content": "\u202e##[group]z"},
    ]
    done = gateval(repo, "promote", "-", "--agent", "desk", "--dry-run", stdin=json.dumps(said))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert not any(line.lstrip().startswith(("::", "##[")) for line in lines)
    assert "\u202e" not in done.stdout


def failing(repo: Repo, out: Path) -> dict[str, dict[str, Any]]:
    """Run one fixture that fails and one that passes, of which one tool is shadowed."""
    said = '[{"type": "contains", "value": "Order 99"}]'
    wrong = fixture("desk", "wrong", "What was 10482?", [{"tool": "look_up", "result": "17.5"}])
    repo.write("seeds/wrong.yaml", wrong.replace('[{"type": "regex", "pattern": "."}]', said))
    repo.write("seeds/right.yaml", fixture("desk", "right", "I want my money", []))
    done = gateval(repo, "run", "desk-eval", "--results", str(out))
    assert done.returncode == 1, done.stdout + done.stderr
    for file in (repo.path / "seeds").iterdir():
        file.unlink()
    return {trial["key"]["fixture"]: trial for trial in stored.trials(out)}


@pytest.mark.parametrize("whole", [True, False], ids=["results", "trial"])
def test_an_answer_that_failed_becomes_no_example_of_its_own_mistakes(
    tmp_path: Path, *, whole: bool
) -> None:
    repo, out = shop(tmp_path / "shop"), tmp_path / "out"
    trial = failing(repo, out)["wrong"]
    one = tmp_path / "one.json"
    one.write_text(json.dumps(trial))
    asked = ["promote", str(out if whole else one), "--agent", "desk"]
    asked += ["--fixture", "wrong"] if whole else []

    refused = gateval(repo, *asked)
    assert refused.returncode == 2, refused.stdout
    assert "did not pass" in refused.stderr
    assert "--allow-failed" in refused.stderr
    assert not list(repo.path.glob("desk/fixtures/desk-*"))

    written = gateval(repo, *asked, "--allow-failed")
    assert written.returncode == 0, written.stderr
    assert "gateval validate" in written.stdout
    (path,) = repo.path.glob("desk/fixtures/desk-*")
    text = path.read_text()
    assert "assertions: []" in text
    assert "golden" not in text
    assert "side: head" in text
    invalid = gateval(repo, "validate")
    assert invalid.returncode == 2, invalid.stdout
    assert "desk/fixtures/desk-what-was-10482.yaml" in invalid.stdout
    assert "what it should have done" in invalid.stdout
    path.write_text(text.replace("assertions: []", "assertions: [{type: contains, value: '17'}]"))
    assert gateval(repo, "validate").returncode == 0


def test_what_the_gate_answered_for_a_tool_is_no_answer_of_the_tool(tmp_path: Path) -> None:
    repo, out = shop(tmp_path / "shop"), tmp_path / "out"
    failing(repo, out)
    done = gateval(repo, "promote", str(out), "--agent", "desk", "--fixture", "right")
    assert done.returncode == 0, done.stderr
    (path,) = repo.path.glob("desk/fixtures/desk-*")
    text = path.read_text()
    assert "tool: look_up" in text
    assert "toolReplay" not in text
    assert "shadow" not in text


@pytest.mark.parametrize(
    "told",
    [
        ' {\n"shadow" : true }',
        "{'shadow': True}",
        '"{\\"shadow\\": true}"',
        '[{"type": "text", "text": "{\\"shadow\\": true}"}]',
    ],
    ids=["spread", "Python's", "JSON in JSON", "part"],
)
def test_a_shadow_is_one_however_a_program_wrote_it_down(tmp_path: Path, told: str) -> None:
    """Of the same tool, what was answered is kept for the arguments that it was answered to."""
    repo = shop(tmp_path / "shop")

    def called(order: str, answered: str) -> list[dict[str, Any]]:
        call: dict[str, Any] = {"id": order, "type": "function"}
        arguments = json.dumps({"order": order})
        call |= {"function": {"name": "look_up", "arguments": arguments}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": order, "content": answered},
        ]

    said = [
        {"role": "user", "content": "What were 10 and 11?"},
        *called("10", told),
        *called("11", "17.5"),
        {"role": "assistant", "content": "Order 11 was 17.5."},
    ]
    done = gateval(repo, "promote", "-", "--agent", "desk", "--dry-run", stdin=json.dumps(said))
    assert done.returncode == 0, done.stderr
    assert "shadow" not in done.stdout.lower()
    assert done.stdout.count("result:") == 1
    assert "arguments:" in done.stdout


def test_the_side_that_answered_stands_in_the_origin(tmp_path: Path) -> None:
    repo, out = shop(tmp_path / "shop"), tmp_path / "out"
    trial = failing(repo, out)["right"]
    trial["key"]["side"] = "base"
    done = gateval(repo, "promote", "-", "--agent", "desk", stdin=json.dumps(trial))
    assert done.returncode == 0, done.stderr
    (path,) = repo.path.glob("desk/fixtures/desk-*")
    assert "side: base" in path.read_text()
    assert "valid" in gateval(repo, "validate").stdout
