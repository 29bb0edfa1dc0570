"""The runtime `agentv`: what its line is filled with, and how its answer is read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.messages import InputMessage, Role, TextPart
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, NoAnswer
from tests.helpers.candidates import World, agentv_agent, ask


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def run(world: World, agent: AgentDefinition, request: TrialRequest) -> Answer | NoAnswer:
    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agent, request)

    result = asyncio.run(main())
    assert world.survivors() == []
    assert world.leftovers() == []
    return result


def output(world: World, line: str, request: TrialRequest | None = None) -> str:
    result = run(world, agentv_agent(line), request or ask("Hello"))
    assert isinstance(result, Answer), result
    return result.output


def why_not(world: World, line: str, request: TrialRequest | None = None) -> str:
    result = run(world, agentv_agent(line), request or ask("Hello"))
    assert isinstance(result, NoAnswer), result
    return result.reason


@pytest.mark.parametrize("said", ["it's", "$(id) `id` $HOME", 'a "b" \\ c', "two\nlines", "-n", ""])
def test_what_is_filled_in_is_quoted_for_the_shell(said: str, world: World) -> None:
    line = "printf '<%s>' {PROMPT}; printf '%s' {PROMPT_FILE} >&2; printf '|'; cat {PROMPT_FILE}"
    assert output(world, line, ask(said)) == f"<{said}>|{said}".strip()


def test_the_answer_stands_in_the_output_file_or_is_printed(world: World) -> None:
    assert (
        output(world, 'echo \'{"text": "in the file"}\' > {OUTPUT_FILE}; echo noise')
        == "in the file"
    )
    assert output(world, "echo plain > {OUTPUT_FILE}") == "plain"
    assert output(world, "echo printed") == "printed"
    assert "wrote no file" in why_not(world, "echo printed # {OUTPUT_FILE}")
    assert "it is empty" in why_not(world, ": > {OUTPUT_FILE}")
    assert "exit code 3" in why_not(world, "echo x > {OUTPUT_FILE}; exit 3")


def test_an_id_tells_questions_apart_and_names_no_case(world: World) -> None:
    first, again, other = (
        output(world, "echo {EVAL_ID} {ATTEMPT}", ask(text)) for text in ("One", "One", "Two")
    )
    assert first == again != other
    assert first.startswith("case-")
    assert first.endswith(" 0")


def test_unknown_braces_stay(world: World) -> None:
    assert output(world, "echo {nothing} '{PLACE}' ${HOME:+home}") == "{nothing} {PLACE} home"


def asked(*messages: InputMessage) -> TrialRequest:
    request = ask("-")
    given = FixtureInput(type=InputType.PROMPT, messages=messages)
    return TrialRequest(**{**request.__dict__, "input": given})


def test_several_messages_are_told_with_their_roles(world: World) -> None:
    told = output(
        world,
        "cat {PROMPT_FILE}",
        asked(
            InputMessage(role=Role.SYSTEM, content="Be kind."),
            InputMessage(role=Role.USER, content="Hello"),
            InputMessage(role=Role.ASSISTANT, content="Hi"),
            InputMessage(role=Role.USER, content="Bye"),
        ),
    )
    assert told == ("@[System]:\nBe kind.\n\n@[User]:\nHello\n\n@[Assistant]:\nHi\n\n@[User]:\nBye")


def test_files_are_named_in_the_prompt_and_given_by_path(world: World) -> None:
    text = '<file path="../docs/a b.md">\nfirst\nsecond\n</file>'
    part = TextPart(type="text", text=text, file="../docs/a b.md")
    words = TextPart(type="text", text="Sum up.")
    request = asked(InputMessage(role=Role.USER, content=(words, part)))
    assert output(world, "cat {PROMPT_FILE}", request) == (
        'Sum up.\n\n<file: path="../docs/a b.md">'
    )
    assert output(world, "cat {FILES}", request) == "first\nsecond"
    agent = agentv_agent("echo {FILES}; cat {PROMPT_FILE}", files_format="--file {basename}")
    result = run(world, agent, request)
    assert isinstance(result, Answer)
    assert result.output.startswith("--file a b.md\n")


def test_messages_of_the_answer_are_its_trace(world: World) -> None:
    told = {
        "output_messages": [
            {"role": "assistant", "content": "Let me look.", "tool_calls": [
                {"tool": "find", "input": {"id": 7}, "output": {"at": "Lyon"}, "id": "c1"}]},
            {"role": "tool", "name": "find", "content": "again"},
            {"role": "assistant", "content": {"place": "Lyon"}},
        ],
        "token_usage": {"input": 11, "output": 7, "cached": 2},
        "cost_usd": 0.1,
        "duration_ms": 5,
    }  # fmt: skip
    world.write("told.json", json.dumps(told))
    result = run(world, agentv_agent("cp told.json {OUTPUT_FILE}"), ask("Where?"))
    assert isinstance(result, Answer), result
    assert json.loads(result.output) == {"place": "Lyon"}
    assert result.trace is not None
    assert [step.kind.value for step in result.trace.steps] == [
        "user", "assistant", "tool_call", "tool_result", "tool_result", "assistant",
    ]  # fmt: skip
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)


def test_an_older_turn_cannot_lead_the_gate_elsewhere(world: World, tmp_path: Path) -> None:
    """What a program leaves in HOME is not written through, and no old answer is read again."""
    outside = tmp_path / "outside"
    outside.mkdir()
    line = (
        'if [ -e "$HOME/left" ]; then echo new > {OUTPUT_FILE}; else touch "$HOME/left"; '
        f'for name in files prompt.txt answer.json; do ln -s {outside}/$name "$HOME/$name"; done; '
        "echo old > {OUTPUT_FILE}; fi"
    )
    request = ask("One")
    both = TrialRequest(**{**request.__dict__, "turns": ("One", "Two")})

    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agentv_agent(line), both)

    result = asyncio.run(main())
    assert isinstance(result, Answer), result
    assert [turn.output for turn in result.turns] == ["old", "new"]
    assert list(outside.iterdir()) == []


def test_variables_are_those_that_candidates_get(tmp_path: Path) -> None:
    world = World(tmp_path, environ={"LC_REGION": "eu west"})
    assert output(world, "echo '${{ LC_REGION }}'") == "eu west"
    assert "the variable OTHER is not passed on" in why_not(world, "echo ${{ OTHER }}")


def test_files_whose_names_meet_are_all_given(world: World) -> None:
    """`a` cannot be a file and a folder, and two files cannot have one place."""
    parts = [
        TextPart(type="text", text=f'<file path="{name}">\n{text}\n</file>', file=name)
        for name, text in (("a", "1"), ("a/b", "2"), ("../a", "3"), ("a", "1"))
    ]
    request = asked(InputMessage(role=Role.USER, content=tuple(parts)))
    assert output(world, "cat {FILES}", request).split() == ["1", "2", "3"]
