"""Programs as they are: asked by arguments or plain text, answering in text, JSON or a file."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from gateval.app.readers import registries
from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.formats.native.manifests import read_manifests
from tests.helpers.candidates import World, ask, command_agent

ECHO = "import sys, json; print(json.dumps([sys.argv[1:], sys.stdin.read()]))"
REPLACE_HOME = "home = os.environ['HOME']; os.rename(home, home + '2'); os.symlink('/etc', home)"
PAYLOAD: dict[str, JsonValue] = {"prompt": "hi {{ prompt }} {home}", "order": {"id": 7}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def agent_of(*words: str, options: Mapping[str, JsonValue] | None = None) -> AgentDefinition:
    agent = command_agent((sys.executable, "-I", "agent.py", *words))
    runtime = agent.runtime.model_copy(update={"options": dict(options or {})})
    return agent.model_copy(update={"runtime": runtime})


def answer(
    world: World, agent: AgentDefinition, asked: TrialRequest | None = None
) -> Answer | NoAnswer:
    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agent, asked or ask(payload=PAYLOAD))

    result = asyncio.run(main())
    assert world.leftovers() == []
    return result


def output(world: World, agent: AgentDefinition) -> str:
    result = answer(world, agent)
    assert isinstance(result, Answer), result
    return result.output


def reason(world: World, agent: AgentDefinition) -> str:
    result = answer(world, agent)
    assert isinstance(result, NoAnswer), result
    assert result.cause is Cause.CANDIDATE
    return result.reason


def test_arguments_and_input_are_templates_and_no_shell_reads_them(world: World) -> None:
    world.write("agent.py", ECHO)
    words = (
        "--ask",
        "{{ prompt }}",
        "id={{ input.payload.order.id }}",
        "{{ input.payload.order }}",
    )
    arguments, read = json.loads(
        output(world, agent_of(*words, options={"stdin": "{{ prompt }}\n"}))
    )

    assert arguments == ["--ask", "hi {{ prompt }} {home}", "id=7", '{"id":7}']
    assert read == "hi {{ prompt }} {home}\n"


def test_without_templates_nothing_changes(world: World) -> None:
    world.write("agent.py", ECHO)
    arguments, read = json.loads(output(world, agent_of("a {b}")))

    assert arguments == ["a {b}"]
    assert json.loads(read)["prompt"] == "hi {{ prompt }} {home}"


def test_a_fixture_that_lacks_what_a_template_names_is_told(world: World) -> None:
    world.write("agent.py", ECHO)
    said = reason(world, agent_of("{{ input.payload.customer }}"))

    assert said == (
        "The program cannot be asked: the fixture has no `input.payload.customer`; add it, or "
        "write `| default('')`."
    )


def test_the_answer_stands_somewhere_in_printed_json(world: World) -> None:
    program = """\
        import json
        steps = [{"type": "tool_call", "tool": "refund", "arguments": {"id": 7}}]
        print(json.dumps({"reply": {"text": "Done."}, "steps": steps, "cost": {"inputTokens": 3}}))
        """
    world.write("agent.py", program)
    paths: JsonValue = {"output": "$.reply.text", "trace": "$.steps", "usage": "$.cost"}
    result = answer(world, agent_of(options={"response": paths}))

    assert isinstance(result, Answer)
    assert result.output == "Done."
    assert result.trace is not None
    assert [step.tool for step in result.trace.steps] == ["refund"]
    assert result.usage.input_tokens == 3


def test_the_answer_stands_in_a_file(world: World) -> None:
    world.write(
        "agent.py",
        """\
        import json, pathlib, sys
        print("Thinking ...")
        path = pathlib.Path(sys.argv[1])
        path.parent.mkdir()
        path.write_text(json.dumps({"reply": "Done."}))
        """,
    )
    response: JsonValue = {"file": "out/answer.json", "output": "$.reply"}
    agent = agent_of("{home}/out/answer.json", options={"response": response})

    assert output(world, agent) == "Done."


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("", "it wrote no file `a.txt` into its HOME"),
        ("os.symlink('/etc/hostname', path)", "`a.txt` in its HOME cannot be read: Too many"),
        ("os.mkfifo(path)", "`a.txt` in its HOME is no plain file"),
        ("os.mkdir(path)", "`a.txt` in its HOME is no plain file"),
        ("open(path, 'w').close(); os.link(path, path + '2')", "is no plain file"),
        ("f = open(path, 'w'); f.truncate(2_000_000)", "`a.txt` has 2,000,000 bytes, more than"),
        ("open(path, 'w').close()", "it is empty"),
        (REPLACE_HOME, "`a.txt` in its HOME cannot be read"),
        ("os.rmdir(os.environ['HOME'])", "it wrote no file `a.txt` into its HOME"),
    ],
)
def test_whatever_lies_there_instead_is_told(world: World, program: str, expected: str) -> None:
    start = "import os; path = os.environ['HOME'] + '/a.txt'; "
    world.write("agent.py", start + program)
    said = reason(world, agent_of(options={"response": {"file": "a.txt"}}))

    assert said.startswith("The agent's answer cannot be used: ")
    assert expected in said


def test_no_folder_on_the_way_may_be_a_link(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "a.txt").write_text("what only the gate may read")
    world.write("agent.py", f"import os; os.symlink({str(secret)!r}, os.environ['HOME'] + '/out')")
    said = reason(world, agent_of(options={"response": {"file": "out/a.txt"}}))

    assert "cannot be read: Not a directory" in said


def test_a_program_that_fails_is_told_by_its_exit_code_first(world: World) -> None:
    world.write("agent.py", "import sys; sys.exit(3)")

    said = reason(world, agent_of(options={"response": {"file": "a.txt"}}))
    assert said == "The agent ended with exit code 3."


MANIFEST = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec:
  runtime:
    type: command
    command: [python, agent.py, "%s"]
    %s
"""


@pytest.mark.parametrize(
    ("word", "line", "expected"),
    [
        ("{{ prompt }}", 'stdin: "{{ input.payload }}"', None),
        ("a", "response: {file: out/a.json, output: $.reply}", None),
        (
            "{{ promt }}",
            "cwd: .",
            "7:33: spec.runtime.command[2]: A template does not know `promt`",
        ),
        ("{{ prompt", "cwd: .", "7:33: spec.runtime.command[2]: The template cannot be read"),
        ("a", 'stdin: "{% if %}"', "8:12: spec.runtime.stdin: "),
        (
            "a",
            "response: {file: /etc/passwd}",
            "8:22: spec.runtime.response.file: the file is named",
        ),
        ("a", "response: {file: ../x}", "8:22: spec.runtime.response.file: the file is named"),
        ("a", "response: {trace: $.t}", "8:15: spec.runtime.response: `trace` and `usage` need"),
        ("a", "stdinn: x", 'Unknown key "stdinn". Did you mean "stdin"?'),
    ],
)
def test_what_validate_says(word: str, line: str, expected: str | None) -> None:
    text = MANIFEST % (word, line)
    problems = [
        str(problem) for problem in read_manifests("a.yaml", text.encode(), registries()).problems
    ]
    if expected is None:
        assert problems == []
    else:
        (only,) = problems
        assert expected in only
