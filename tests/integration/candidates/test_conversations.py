"""Conversations: what a candidate is told in each turn, what it remembers, what is recorded."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.messages import InputMessage, InputToolCall, Role
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from tests.helpers.candidates import Door, World, ask, command_agent, no_survivors
from tests.helpers.scripted_calls import ScriptedCalls, calls, says
from tests.helpers.serving import answers, server, serving
from tests.servers.model_server import ModelServer, reply

ASKED = ("My order is late.", "It is 4711.")
SAID_BEFORE = (InputMessage(role=Role.USER, content="Hi"), InputMessage(role=Role.ASSISTANT, content="Hello!"))  # fmt: skip

TELLS_ALL = """\
import json, sys
asked = json.load(sys.stdin)
print(asked["prompt"], [m["role"][0] + ":" + m["content"] for m in asked["messages"]])
"""
REMEMBERS = """\
import json, sys
heard = []
for line in sys.stdin:
    heard.append(json.loads(line)["prompt"])
    print("heard " + " ".join(heard))
"""


def talk(
    turns: Sequence[str] = ASKED, *, before: tuple[InputMessage, ...] = (), timeout: float = 20
) -> TrialRequest:
    """A conversation's question."""
    request = ask(payload={"order": 4711}, timeout=timeout)
    given = request.input.model_copy(update={"messages": before})
    return replace(request, input=given, turns=tuple(turns))


def program(conversation: str) -> AgentDefinition:
    """An Agent that is `agent.py`."""
    agent = command_agent((sys.executable, "agent.py"))
    runtime = agent.runtime.model_copy(update={"conversation": ConversationMode(conversation)})
    return agent.model_copy(update={"runtime": runtime})


def outputs(found: Answer | NoAnswer) -> list[str]:
    """What was said in each turn."""
    assert isinstance(found, Answer), found
    return [turn.output for turn in found.turns]


def test_a_program_is_told_all_messages_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", TELLS_ALL)
    (found,) = answers(world, program("history"), talk(before=SAID_BEFORE))
    first = "My order is late. ['u:Hi', 'a:Hello!', 'u:My order is late.']"
    begun = ["u:Hi", "a:Hello!", "u:My order is late.", f"a:{first}", "u:It is 4711."]
    assert outputs(found) == [first, f"It is 4711. {begun}"]


def test_one_process_goes_on_and_is_told_what_is_new(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", REMEMBERS)
    (found,) = answers(world, program("process"), talk(["a", "b", "c"]))
    assert outputs(found) == ["heard a", "heard a b", "heard a b c"]
    assert isinstance(found, Answer)
    assert found.output == "heard a b c"
    assert [(turn.first, turn.last) for turn in found.turns] == [(1, 2), (3, 4), (5, 6)]
    assert found.trace is not None
    assert [step.number for step in found.trace.steps] == [1, 2, 3, 4, 5, 6]
    assert [step.text for step in found.trace.steps][::2] == ["a", "b", "c"]
    assert found.recorded is None, "nobody recorded it"
    assert world.leftovers() == []
    assert no_survivors(world.context.run)


def test_one_process_is_told_once_what_was_said_before(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", "import sys\nfor line in sys.stdin: print(line, end='')")
    (found,) = answers(world, program("process"), talk(before=SAID_BEFORE))
    first, second = map(json.loads, outputs(found))
    assert [one["content"] for one in first["messages"]] == ["Hi", "Hello!", ASKED[0]]
    assert "messages" not in second


@pytest.mark.parametrize(
    ("source", "turn"),
    [
        ("for line in sys.stdin: print('one\\ntwo')", 1),
        ("sys.stdin.readline(); print('one')\nfor line in sys.stdin: print('two\\nthree')", 2),
    ],
)
def test_which_line_answers_what_is_not_guessed(tmp_path: Path, source: str, turn: int) -> None:
    world = World(tmp_path)
    world.write("agent.py", f"import sys\n{source}")
    (found,) = answers(world, program("process"), talk(timeout=5))
    assert isinstance(found, NoAnswer), found
    assert f"printed more than one line in turn {turn}. It has to print" in found.reason
    assert found.cause is Cause.CANDIDATE
    assert world.leftovers() == []


GREETS = """\
import json, sys, time
print("Welcome!")
for line in sys.stdin:
    time.sleep({seconds})
    print("heard " + json.loads(line)["prompt"])
"""


@pytest.mark.parametrize(
    ("seconds", "turns"),
    [(0, ["a", "b"]), (0, ["a"]), (0.1, ["a"]), (0.1, ["a", "b", "c"]), (0.7, ["a", "b"])],
)
def test_a_greeting_is_no_answer(tmp_path: Path, seconds: float, turns: list[str]) -> None:
    """Each answer would stand one turn too late, and the last one nowhere."""
    world = World(tmp_path)
    world.write("agent.py", GREETS.format(seconds=seconds))
    (found,) = answers(world, program("process"), talk(turns))
    assert isinstance(found, NoAnswer), found
    assert "printed more than one line in turn" in found.reason
    assert "lines that are in `runtime.greeting`" in found.reason
    assert found.cause is Cause.CANDIDATE
    assert world.leftovers() == []


def test_a_program_that_asks_a_model_after_its_greeting_has_not_answered(tmp_path: Path) -> None:
    calls_model = (
        "import json, os, urllib.request\n"
        "print('Welcome!')\n"
        "input()\n"
        "body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}]})\n"
        "headers = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "print(urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)).read())\n"
    )

    async def go() -> Answer | NoAnswer:
        async with ModelServer(lambda call: reply(call, "late", delay=2)) as provider:
            environ = {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "sk-0123456789"}
            async with (
                Gateway(read_upstreams(environ), {}) as gateway,
                GatewayServer(gateway) as door,
            ):
                world = World(tmp_path, calls=gateway, door=door)
                world.write("agent.py", calls_model)
                agent = program("process").model_copy(update={"models": ("openai/m",)})
                async with world.http, Candidates(world.context) as candidates:
                    return await candidates.answer(agent, talk(["a"]))

    found = asyncio.run(go())
    assert isinstance(found, NoAnswer), found
    assert "printed more than one line in turn 1" in found.reason


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_greeting_that_is_told_is_left_out(tmp_path: Path, seconds: float) -> None:
    world = World(tmp_path)
    world.write("agent.py", GREETS.format(seconds=seconds))
    agent = program("process")
    runtime = agent.runtime.model_copy(update={"options": {"greeting": 1}})
    agent = agent.model_copy(update={"runtime": runtime})
    (found,) = answers(world, agent, talk(["a", "b"]))
    assert outputs(found) == ["heard a", "heard b"]


def test_a_slow_program_that_greets_nobody_is_in_step(tmp_path: Path) -> None:
    world = World(tmp_path)
    slow = GREETS.replace('print("Welcome!")', "time.sleep(0.4)")
    world.write("agent.py", slow.format(seconds=0.4))
    (found,) = answers(world, program("process"), talk(["a", "b"]))
    assert outputs(found) == ["heard a", "heard b"]


SERVER = """
talks = {}
class Mine(Handler):
    def answer(self, body):
        heard = talks.setdefault(body.get("talk"), [])
        heard.append(body["message"])
        self.say(200, {"reply": f"{len(talks)} " + " ".join(heard)})
serve(Mine)
"""


def test_a_server_keeps_conversations_apart_by_their_name(tmp_path: Path) -> None:
    world = serving(tmp_path, SERVER)
    body: JsonValue = {
        "message": "{{ prompt }}",
        "talk": "{{ input.payload.conversation | default('') }}",
    }
    agent = server(request={"path": "/chat", "body": body})
    process = agent.runtime.model_copy(update={"conversation": ConversationMode.PROCESS})
    agent = agent.model_copy(update={"runtime": process})
    found = answers(world, agent, talk(["a", "b"]), talk(["c", "d"]))
    assert [outputs(one) for one in found] == [["1 a", "1 a b"], ["2 c", "2 c d"]]


def test_a_server_is_told_once_what_was_said_before(tmp_path: Path) -> None:
    echo = "class Mine(Handler):\n    def answer(self, body): self.say(200, {'reply': json.dumps(body)})\nserve(Mine)"
    agent = server(request={"path": "/chat", "body": {"all": "{{ messages }}"}})
    process = agent.runtime.model_copy(update={"conversation": ConversationMode.PROCESS})
    agent = agent.model_copy(update={"runtime": process})
    (found,) = answers(serving(tmp_path, echo), agent, talk(before=SAID_BEFORE))
    told = [[one["content"] for one in json.loads(text)["all"]] for text in outputs(found)]
    assert told == [["Hi", "Hello!", ASKED[0]], [ASKED[1]]]


def test_a_server_that_ends_is_not_replaced_in_a_conversation(tmp_path: Path) -> None:
    dies = "class Mine(Handler):\n    def answer(self, body):\n        os._exit(3)\nserve(Mine)"
    both = dies.replace(
        "os._exit(3)", "self.say(200, {'reply': 'ok'}); self.wfile.flush(); os._exit(3)"
    )
    world = serving(tmp_path, both)
    agent = server()
    process = agent.runtime.model_copy(update={"conversation": ConversationMode.PROCESS})
    (found,) = answers(world, agent.model_copy(update={"runtime": process}), talk(["a", "b"]))
    assert isinstance(found, NoAnswer)
    assert found.cause is Cause.CANDIDATE
    assert "In turn 2 of 2: " in found.reason or "In turn 1 of 2: " in found.reason


def test_a_declared_agent_goes_on_with_its_own_tool_results(tmp_path: Path) -> None:
    scripted = ScriptedCalls([calls(("look_up", {"order": 1})), says("Found."), says("Sent.")])
    world = World(tmp_path, calls=scripted)
    agent = command_agent(()).model_copy(update={"models": ("x/y",), "system": "Be kind."})
    declared = agent.model_copy(
        update={"runtime": agent.runtime.model_copy(update={"type": "model"})}
    )
    history = (
        InputMessage(role=Role.USER, content="Hi"),
        InputMessage(role=Role.ASSISTANT, tool_calls=(InputToolCall(id="1", tool="greet"),)),
        InputMessage(role=Role.TOOL, content="ok", tool_call_id="1"),
        InputMessage(role=Role.ASSISTANT, content="Hello!"),
    )
    (found,) = answers(world, declared, talk(before=history))
    assert outputs(found) == ["Found.", "Sent."]
    last = scripted.asked[-1][1].messages
    assert [message.role for message in last] == [
        "system", "user", "assistant", "tool", "assistant",
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert isinstance(found, Answer)
    assert found.trace is not None
    assert found.trace.source == "gate"
    assert [step.kind for step in found.trace.steps] == [
        StepKind.USER, StepKind.TOOL_CALL, StepKind.TOOL_RESULT, StepKind.ASSISTANT,
        StepKind.USER, StepKind.ASSISTANT,
    ]  # fmt: skip
    assert [(turn.first, turn.last) for turn in found.turns] == [(1, 4), (5, 6)]
    assert found.usage.total == 45, "the tokens of all turns"
    assert found.trace.model_calls == 3


def test_messages_alone_are_a_question_with_a_history(tmp_path: Path) -> None:
    scripted = ScriptedCalls([says("Sure.")])
    world = World(tmp_path, calls=scripted)
    agent = command_agent(()).model_copy(update={"models": ("x/y",)})
    declared = agent.model_copy(
        update={"runtime": agent.runtime.model_copy(update={"type": "model"})}
    )
    request = talk((), before=(*SAID_BEFORE, InputMessage(role=Role.USER, content="Help me")))
    asked = request.input.model_copy(update={"payload": {}})
    (found,) = answers(world, declared, replace(request, input=asked))
    assert isinstance(found, Answer)
    assert [message.text for message in scripted.asked[0][1].messages] == [
        "Hi",
        "Hello!",
        "Help me",
    ]
    assert (
        [step.text for step in found.trace.steps] == ["Help me", "Sure."] if found.trace else None
    )


def test_history_that_the_gateway_sees_again_is_no_step_of_the_turn(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for kind, text in (
        (StepKind.USER, "a"), (StepKind.ASSISTANT, "x"),
        (StepKind.USER, "b"), (StepKind.ASSISTANT, "x"),
    ):  # fmt: skip
        builder.add(kind, text)
    door = Door(trace=Trace(steps=builder.steps(), source="gateway", model_calls=1))
    world = World(tmp_path, door=door)
    world.write("agent.py", "print('x')")
    (found,) = answers(world, program("history"), talk(["a", "b"]))
    assert isinstance(found, Answer)
    assert found.trace is not None
    second = found.trace.steps[found.turns[1].first - 1 :]
    assert [step.text for step in second] == ["b", "x"]
    assert found.trace.source == "gateway"
    assert (door.begun, door.ended) == (2, 2)


@pytest.mark.parametrize(
    ("source", "expected", "late"),
    [
        ("import sys\nsys.stdin.readline(); print('one')", "The agent ended without an answer", False),
        ("import sys\nsys.stdin.readline(); print('one'); sys.stdin.readline(); sys.exit(3)", "ended with exit code 3", False),
        ("import sys\nfor _ in sys.stdin: print('one' if _.count('late') else '')", "cannot be used: it is empty", False),
        ("import sys, time\nsys.stdin.readline(); print('one'); time.sleep(60)", "did not answer within", True),
        ("import sys\nsys.stdin.readline(); print('one'); sys.stdin.readline()\nwhile True: print('x' * 65536, end='')", "printed more than 1 MiB on standard output", False),
        ("import os, sys\nsys.stdin.readline(); print('one'); os.close(0); os.close(1)\nimport time; time.sleep(60)", "did not answer within", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("count", [2])
def test_a_process_that_breaks_off_loses_its_trial_and_nothing_more(
    tmp_path: Path, source: str, expected: str, *, late: bool, count: int
) -> None:
    world = World(tmp_path)
    world.write("agent.py", source)
    request = talk(["late", *["more"] * (count - 1)], timeout=1.5 if late else 20)
    (found,) = answers(world, program("process"), request)
    assert isinstance(found, NoAnswer), found
    assert found.reason.startswith("In turn 2 of 2: "), found.reason
    assert expected in found.reason
    assert found.timed_out is late
    assert found.cause is Cause.CANDIDATE
    assert found.trace is not None
    assert [step.text for step in found.trace.steps][:2] == ["late", "one"]
    assert world.leftovers() == []
    assert no_survivors(world.context.run)


def test_what_a_line_cannot_hold_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", REMEMBERS)
    agent = program("process")
    runtime = agent.runtime.model_copy(update={"options": {"stdin": "{{ prompt }}"}})
    agent = agent.model_copy(update={"runtime": runtime})
    (found,) = answers(world, agent, talk(["two\nlines"]))
    assert isinstance(found, NoAnswer)
    assert "has to be one line; write `{{ prompt | tojson }}`" in found.reason


def test_turns_share_the_time_of_their_trial(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", "import time; time.sleep(0.5); print('x')")
    (found,) = answers(world, program("history"), talk([*"abcde"], timeout=2))
    assert isinstance(found, NoAnswer)
    assert found.timed_out
    assert not found.reason.startswith("In turn 1 ")


def test_nothing_is_left_when_a_conversation_is_cancelled(tmp_path: Path) -> None:
    import asyncio

    world = World(tmp_path)
    world.write("agent.py", "import sys, time\nfor line in sys.stdin: time.sleep(60)")

    async def main() -> None:
        async with world.http, Candidates(world.context) as candidates:
            asking = asyncio.create_task(candidates.answer(program("process"), talk()))
            await asyncio.sleep(0.5)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert no_survivors(world.context.run)

    asyncio.run(main())
    assert world.leftovers() == []


def test_templates_can_name_the_messages(tmp_path: Path) -> None:
    world = serving(tmp_path, "class Mine(Handler):\n    def answer(self, body): self.say(200, {'reply': json.dumps(body['messages'])})\nserve(Mine)")  # fmt: skip
    agent = server(request={"path": "/chat", "body": {"messages": "{{ messages }}"}})
    alone, both = answers(world, agent, ask("hi"), talk(["a"], before=SAID_BEFORE))
    assert isinstance(alone, Answer)
    assert json.loads(alone.output) == [{"role": "user", "content": "hi"}]
    assert [one["content"] for one in json.loads(outputs(both)[0])] == ["Hi", "Hello!", "a"]


def test_the_default_line_is_the_contract(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("agent.py", "import sys\nfor line in sys.stdin: print(line, end='')")
    (found,) = answers(world, program("process"), talk(["a"]))
    told = json.loads(outputs(found)[0])
    payload = {"order": 4711, "prompt": "a"}
    assert told == {"version": 1, "input": {"type": "prompt", "payload": payload}, "prompt": "a"}
