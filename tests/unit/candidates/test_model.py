"""The built-in agent loop, with a real `ModelCalls` that answers from a list."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.model import TURN_LIMIT, ModelRuntime
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.problems import SourceLocation
from gateval.domain.strict_json import DEPTH_LIMIT
from gateval.domain.trials.model_call import ModelReply, StopReason, ToolCall, Usage
from gateval.domain.trials.trace import SHADOW, StepKind, Trace, offered_tools
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from tests.helpers.candidates import World, ask
from tests.helpers.scripted_calls import ScriptedCalls, Turn, calls, outage, says

FIND = AgentTool(
    name="find", description="Finds.", input_schema={"type": "object", "required": ["id"]}
)
PAY = AgentTool(type="pay")
OFF = AgentTool(name="off", enabled=False)


def agent(*models: str, system: str = "Be brief.") -> AgentDefinition:
    return AgentDefinition(
        name="helper",
        side=Side.BASE,
        place=SourceLocation(file="agent.yaml"),
        models=models or ("openai/main", "anthropic/spare"),
        system=system,
        tools=(FIND, PAY, OFF),
        closure="0" * 64,
    )


def converse(
    tmp_path: Path,
    turns: list[Turn] | ScriptedCalls,
    request: TrialRequest | None = None,
    definition: AgentDefinition | None = None,
) -> Answer | NoAnswer:
    script = turns if isinstance(turns, ScriptedCalls) else ScriptedCalls(turns)
    world = World(tmp_path, calls=script)
    runtime = ModelRuntime(definition or agent(), world.context)

    async def main() -> Answer | NoAnswer:
        failed = await runtime.prepare()
        result = failed or await runtime.answer(request or ask("Where is 7?"))
        await runtime.close()
        return result

    return asyncio.run(main())


def answered(result: Answer | NoAnswer) -> tuple[str, Trace]:
    assert isinstance(result, Answer), result
    assert result.trace is not None
    return result.output, result.trace


def silent(result: Answer | NoAnswer) -> NoAnswer:
    assert isinstance(result, NoAnswer), result
    return result


def shown(trace: Trace) -> list[tuple[str, str]]:
    return [(step.kind.value, step.tool or step.text) for step in trace.steps]


def test_a_first_answer_is_the_answer(tmp_path: Path) -> None:
    script = ScriptedCalls([says("At home.")])
    output, trace = answered(converse(tmp_path, script))
    assert output == "At home."
    assert shown(trace) == [("user", "Where is 7?"), ("assistant", "At home.")]
    assert trace.source == "gate"
    assert trace.usage == Usage(input_tokens=10, output_tokens=5)
    assert (trace.model_calls, trace.models) == (1, ("openai/main",))

    (model, request, side), *_ = script.asked
    assert (model, request.model, side) == ("openai/main", "main", Side.BASE)
    assert [(m.role, m.text) for m in request.messages] == [
        ("system", "Be brief."), ("user", "Where is 7?"),
    ]  # fmt: skip
    assert [tool.name for tool in request.tools] == ["find", "pay"]
    assert request.temperature is None


def test_tools_are_replayed_or_shadowed_and_all_of_it_is_recorded(tmp_path: Path) -> None:
    script = ScriptedCalls(
        [
            calls(("find", {"id": 7}), ("pay", {"cents": 5}), text="Let me look."),
            calls(("find", {"id": 8})),
            says("Found."),
        ]
    )
    replay = (
        ToolReplay(tool="find", arguments={"id": 7}, result={"at": "home"}),
        ToolReplay(tool="find", error="no such parcel"),
    )
    result = converse(tmp_path, script, ask("Where?", replay=replay))
    _, trace = answered(result)
    assert shown(trace) == [
        ("user", "Where?"),
        ("assistant", "Let me look."),
        ("tool_call", "find"),
        ("tool_call", "pay"),
        ("tool_result", "find"),
        ("tool_result", "pay"),
        ("tool_call", "find"),
        ("tool_result", "find"),
        ("assistant", "Found."),
    ]
    assert [s.text for s in trace.steps if s.kind is StepKind.TOOL_RESULT] == [
        '{"at":"home"}', SHADOW, "no such parcel",
    ]  # fmt: skip
    assert trace.steps[2].arguments == {"id": 7}
    assert (trace.steps[2].call_id, trace.steps[4].call_id) == ("call-1", "call-1")
    assert trace.usage == Usage(input_tokens=30, output_tokens=15)

    last = script.asked[-1][1].messages
    assert [m.role for m in last] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert [(m.tool_call_id, m.is_error) for m in last if m.role == "tool"] == [
        ("call-1", False), ("call-2", False), ("call-1", True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["off", "teleport", ""])
def test_a_tool_that_is_not_offered_is_refused_by_naming_those_that_are(
    tmp_path: Path, name: str
) -> None:
    replay = (ToolReplay(tool="off", result="must not be seen"),)
    _, trace = answered(converse(tmp_path, [calls((name, {})), says("ok")], ask(replay=replay)))
    assert trace.steps[2].text == f"There is no tool {name!r}. Tools: find, pay."
    assert trace.tool_calls()[0].tool == name


@pytest.mark.parametrize(
    ("call", "recorded"),
    [
        (ToolCall(id="c", name="find", raw='{"id": 7'), '{"id": 7'),
        (ToolCall(id="c", name="find", raw=""), "(nothing)"),
    ],
)
def test_arguments_that_are_no_json_are_recorded_as_they_came(
    tmp_path: Path, call: ToolCall, recorded: str
) -> None:
    script = ScriptedCalls([ModelReply(tool_calls=(call,)), says("sorry")])
    _, trace = answered(converse(tmp_path, script))
    assert trace.steps[1].text == recorded
    assert trace.steps[1].arguments == {}
    assert trace.steps[2].text == "The arguments are no usable JSON object."
    assert script.asked[1][1].messages[-1].is_error


def test_arguments_too_deep_for_a_results_file_are_not_kept(tmp_path: Path) -> None:
    deep: JsonObject = {}
    for _ in range(DEPTH_LIMIT):
        deep = {"a": deep}
    reply = ModelReply(tool_calls=(ToolCall(id="c", name="find", arguments=deep),))
    _, trace = answered(converse(tmp_path, [reply, says("sorry")]))
    assert trace.steps[1].arguments == {}
    stored = trace.model_copy(update={"offered": None})
    assert Trace.model_validate_json(trace.model_dump_json()) == stored


def test_fallbacks_answer_only_after_an_outage_and_stay(tmp_path: Path) -> None:
    script = ScriptedCalls([outage("Main is down."), calls(("find", {"id": 1})), says("ok")])
    _, trace = answered(converse(tmp_path, script))
    assert [model for model, _, _ in script.asked] == [
        "openai/main", "anthropic/spare", "anthropic/spare",
    ]  # fmt: skip
    assert trace.models == ("anthropic/spare",)
    assert trace.model_calls == 2
    assert shown(trace)[1] == ("error", "Main is down.")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (ModelCallFault.DENIED, Cause.PROVIDER),
        (ModelCallFault.UNREADABLE, Cause.PROVIDER),
        (ModelCallFault.REJECTED, Cause.CANDIDATE),
        (ModelCallFault.UNCONFIGURED, Cause.GATE),
    ],
)
def test_other_faults_end_the_trial_with_the_trace_so_far(
    tmp_path: Path, fault: ModelCallFault, cause: Cause
) -> None:
    script = ScriptedCalls(
        [calls(("find", {"id": 1})), ModelCallError(fault, "No."), says("never")]
    )
    result = silent(converse(tmp_path, script))
    assert (result.cause, result.reason, result.timed_out) == (cause, "No.", False)
    assert result.trace is not None
    assert [step.kind.value for step in result.trace.steps] == [
        "user", "tool_call", "tool_result", "error",
    ]  # fmt: skip
    assert len(script.asked) == 2


def test_when_all_models_are_out_the_provider_is_to_blame(tmp_path: Path) -> None:
    result = silent(converse(tmp_path, [outage("One."), outage("Two."), says("never")]))
    assert (result.cause, result.reason) == (Cause.PROVIDER, "Two.")
    assert result.trace is not None
    assert result.trace.usage == Usage()


def test_an_agent_that_never_comes_to_an_end_is_stopped(tmp_path: Path) -> None:
    script = ScriptedCalls([calls(("find", {"id": 1}))], forever=True)
    result = silent(converse(tmp_path, script))
    assert result.reason == f"The agent did not finish in {TURN_LIMIT} turns."
    assert result.cause is Cause.CANDIDATE
    assert len(script.asked) == TURN_LIMIT


def test_a_late_model_is_a_skip_with_the_trace_so_far(tmp_path: Path) -> None:
    script: list[Turn] = [calls(("find", {"id": 1})), 30.0, says("too late")]
    result = silent(converse(tmp_path, script, ask(timeout=0.05)))
    assert result.timed_out
    assert result.cause is Cause.PROVIDER
    assert result.reason == "A model did not answer in time. The agent was not done within 0.05 s."
    assert result.trace is not None
    assert result.trace.model_calls == 1
    assert 0.04 < result.seconds < 5


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.LENGTH, StopReason.END])
def test_no_text_is_no_answer(tmp_path: Path, stop: StopReason) -> None:
    result = silent(converse(tmp_path, [ModelReply(text=" \n", stop=stop)]))
    assert result.cause is Cause.CANDIDATE
    assert stop.value in result.reason


def test_a_refusal_in_words_is_an_answer(tmp_path: Path) -> None:
    output, _ = answered(converse(tmp_path, [ModelReply(text="I won't.", stop=StopReason.REFUSAL)]))
    assert output == "I won't."


def test_an_answer_cut_at_the_token_limit_says_so_in_the_trace(tmp_path: Path) -> None:
    _, trace = answered(converse(tmp_path, [ModelReply(text="Half an", stop=StopReason.LENGTH)]))
    assert shown(trace)[-1] == ("error", "openai/main stopped at its token limit.")


def test_usage_of_one_call_unknown_makes_the_sum_unknown(tmp_path: Path) -> None:
    _, trace = answered(converse(tmp_path, [calls(("find", {})), says("x", tokens=None)]))
    assert trace.usage == Usage()
    assert trace.model_calls == 2


def test_without_a_model_nothing_is_asked(tmp_path: Path) -> None:
    lonely = agent().model_copy(update={"models": ()})
    result = silent(converse(tmp_path, [], definition=lonely))
    assert result.cause is Cause.CANDIDATE
    assert "names no model" in result.reason


def test_without_a_system_prompt_there_is_no_system_message(tmp_path: Path) -> None:
    script = ScriptedCalls([says("hi")])
    answered(converse(tmp_path, script, definition=agent(system="")))
    assert [m.role for m in script.asked[0][1].messages] == ["user"]


def test_offered_tools_are_the_enabled_ones_each_name_once() -> None:
    tools = (FIND, OFF, AgentTool(name="find", description="again"), AgentTool(), PAY)
    offered = offered_tools(tools)
    assert [tool.name for tool in offered] == ["find", "pay"]
    assert offered[0].description == "Finds."
    assert offered[0].input_schema == FIND.input_schema
    assert offered[1].input_schema == {"type": "object"}
