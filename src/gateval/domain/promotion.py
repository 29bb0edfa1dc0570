"""From a recorded run of an agent to a fixture or a labelled example that people go on with.
Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

from pydantic import JsonValue

from gateval.domain.base import JsonObject, Value, canonical_json, json_text
from gateval.domain.manifests.fixture import AssertionSpec, FixtureInput, InputType
from gateval.domain.manifests.messages import InputMessage, InputToolCall, Role, text_of
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.trials.trace import SHADOW, STEP_LIMIT, StepKind
from gateval.domain.trials.trial import Assessment, Trial, Verdict, final_step


class NoRun(Exception):
    """A record holds no run that can be promoted; the message is the end of a sentence."""


class RecordedToolCall(Value):
    """A call of a tool, and what it answered: a `result`, or the text of an `error`.

    `answered` says whether that was recorded.
    """

    id: str = ""
    tool: str
    arguments: JsonObject = {}
    answered: bool = False
    result: JsonValue = None
    error: str | None = None


class RecordedMessage(Value):
    """A message of a conversation, in the words of no provider."""

    role: Role
    text: str = ""
    calls: tuple[RecordedToolCall, ...] = ()
    call_id: str = ""
    result: JsonValue = None
    is_error: bool = False


class Recorded(Value):
    """A run that can be promoted. `turns` are what the user said, where that was several times.

    `fixture` is what it answers to, with ` on base` behind it if base does; empty if none is named.
    `side` says whose run it was, where the gate recorded it, and `failed`, as the end of a
    sentence, why the gate did not let it pass; empty if it did, or nobody judged it.
    """

    trace_id: str = ""
    fixture: str = ""
    side: str = ""
    failed: str = ""
    input: FixtureInput
    turns: tuple[str, ...] = ()
    calls: tuple[RecordedToolCall, ...] = ()
    output: str = ""


def recorded_run(messages: Sequence[RecordedMessage], trace_id: str = "") -> Recorded:
    """Return the last exchange of a conversation; what came before is what it begins with.

    System messages are left out: the agent has its own. Raises `NoRun` where nobody asks, or
    nothing is answered.
    """
    spoken = [one for one in messages if one.role is not Role.SYSTEM]
    asked = [at for at, one in enumerate(spoken) if one.role is Role.USER and one.text.strip()]
    if not asked:
        raise NoRun("no user says anything in it")
    last = asked[-1]
    answer = spoken[last + 1 :]
    said = [one.text for one in answer if one.role is Role.ASSISTANT and one.text.strip()]
    calls = tuple(answered_calls(answer))
    if not said and not calls:
        raise NoRun("nothing answers what the user said last")
    return Recorded(
        trace_id=trace_id,
        input=_input(spoken[: last + 1]),
        calls=calls,
        output=said[-1] if said else "",
    )


def answered_calls(messages: Sequence[RecordedMessage]) -> Iterator[RecordedToolCall]:
    """Yield the calls of tools in order, each with the answer that came to it."""
    results = [one for one in messages if one.role is Role.TOOL]
    for message in messages:
        for call in message.calls:
            found = next((one for one in results if one.call_id == call.id), None)
            if call.answered or found is None:
                yield call
                continue
            results.remove(found)
            error = str(found.result or found.text) if found.is_error else None
            result = None if found.is_error else found.result
            yield call.replace(answered=True, result=result, error=error)


def _input(messages: Sequence[RecordedMessage]) -> FixtureInput:
    """What comes in: the user's text, after what was said before."""
    prompt: JsonObject = {"prompt": messages[-1].text}
    before = tuple(_message(one) for one in messages if one.text or one.calls)
    if len(before) == 1:
        return FixtureInput(type=InputType.PROMPT, payload=prompt)
    return FixtureInput(type=InputType.PROMPT, messages=before)


def _message(said: RecordedMessage) -> InputMessage:
    return InputMessage(
        role=said.role,
        content=said.text,
        tool_calls=tuple(
            InputToolCall(id=call.id or f"call_{at}", tool=call.tool, arguments=call.arguments)
            for at, call in enumerate(said.calls, 1)
        ),
        tool_call_id=(said.call_id or "call_1") if said.role is Role.TOOL else None,
    )


MOST = 60
"""Characters of a text that a fixture asks for."""

_LOOKED_AT = 10_000
_LOOKED_IN = 200_000
"""Characters of an answer that may be asked for, and of what they are looked for in."""

_FACT = re.compile(
    r"https?://[^\s)>\]\"']+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}|[$€£]\s?\d[\d.,]*"
    r"|\b[A-Z]{2,}[-_]?\d[\w-]*|\b\d[\d.,:/-]*\d\b"
)
"""Links, addresses, amounts, identifiers and numbers; a digit alone stands in too many texts."""

_WORD = re.compile(r"[^\W\d_][\w'-]{4,}")


def telling_part(output: str, sources: Iterable[str]) -> str:
    """Return a piece of `output` that says most; empty for an empty one.

    A fact (a number, an amount, an identifier, a link) that stands in one of `sources`, which are
    what came in and what tools answered; else any fact; else a long word that stands there; else
    how it begins.
    """
    text = output.strip()[:_LOOKED_AT]
    known = "\n".join(sources)[:_LOOKED_IN]
    facts = _fitting(match.group().rstrip(".,:/-") for match in _FACT.finditer(text))
    words = _fitting(match.group() for match in _WORD.finditer(text))
    grounded = [fact for fact in facts if fact in known]
    shared = [word for word in words if re.search(rf"\b{re.escape(word)}\b", known)]
    for found in (grounded, facts, shared):
        if found:
            return max(found, key=len)
    line = text.partition("\n")[0].strip()
    if len(line) <= MOST:
        return line
    return line[: line.rfind(" ", 0, MOST) if " " in line[:MOST] else MOST].rstrip()


def _fitting(found: Iterable[str]) -> Sequence[str]:
    return [one for one in dict.fromkeys(found) if 0 < len(one) <= MOST]


_WORDS = 6
"""Words of what the user says in a fixture's name."""

_NAME = 60

_SPELLING = re.compile(r"[\s'\"\\]")
"""What programs write differently in the same value."""

_SHADOW = _SPELLING.sub("", SHADOW)


class PromotionTarget(Value):
    """The Agent that a fixture is for. `offered` are its tools, None where nobody knows them.

    `replayed` are those that the gate answers for, None for all.
    """

    agent: str
    offered: tuple[str, ...] | None = None
    replayed: tuple[str, ...] | None = ()


class Promoter(Value):
    """Who promotes it, and when (ISO 8601 in UTC); empty where that is not known."""

    by: str = ""
    at: str = ""


def propose(
    run: Recorded, target: PromotionTarget, origin: Promoter, taken: Collection[str]
) -> JsonObject:
    """Return the document of an EvalFixture; no name in `taken` is used again.

    It asks for the tools that the run called, and for what its answer states; what the tools
    answered is replayed. What the agent should have done instead, a person has to write: a run that
    failed has no assertions. Raises `NoRun` where there is nothing to ask for.
    """
    calls = [one for one in run.calls if target.offered is None or one.tool in target.offered]
    assertions = [*_assertions(run, calls)]
    if not assertions:
        raise NoRun("it has neither an answer nor a call of a tool of that Agent")
    said = {
        "traceId": run.trace_id,
        "side": run.side,
        "promotedAt": origin.at,
        "promotedBy": origin.by,
    }
    spec: JsonObject = {
        "targetAgent": target.agent,
        "kind": "bad" if run.failed else "golden",
        "origin": {key: text for key, text in said.items() if text},
    }
    given = run.input.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if not run.turns or len(given) > 1:
        spec["input"] = given
    if run.turns:
        spec["turns"] = [{"user": turn} for turn in run.turns]
    spec["assertions"] = [] if run.failed else assertions
    replayed = [c for c in calls if target.replayed is None or c.tool in target.replayed]
    if replay := [*_replay(replayed)]:
        spec["toolReplay"] = replay
    return {
        "apiVersion": "gateval/v1",
        "kind": "EvalFixture",
        "metadata": {"name": _name(run, target, taken), "labels": {"agent": target.agent}},
        "spec": {key: value for key, value in spec.items() if value != {}},
    }


def is_unfinished(document: JsonObject) -> bool:
    """Whether a person has to write what the fixture asks for."""
    spec = document["spec"]
    return isinstance(spec, dict) and not spec["assertions"]


def _assertions(run: Recorded, calls: Sequence[RecordedToolCall]) -> Iterator[JsonValue]:
    for tool in dict.fromkeys(call.tool for call in calls):
        yield {"type": "toolCalled", "tool": tool}
    if part := telling_part(run.output, _sources(run)):
        yield {"type": "contains", "value": part}


def _sources(run: Recorded) -> Iterator[str]:
    """What came in, and what tools answered, as text."""
    yield run.input.prompt
    yield from run.turns
    for message in run.input.messages:
        yield text_of(message.content)
    for call in run.calls:
        yield json_text(call.result)


def _replay(calls: Sequence[RecordedToolCall]) -> Iterator[JsonValue]:
    """What the tools answered, but not what the gate answered for them. Arguments tell calls apart
    where a tool was called differently.
    """
    answered = [one for one in calls if one.answered and not _is_shadow(one)]
    asked: dict[str, set[str]] = {}
    for call in calls:
        asked.setdefault(call.tool, set()).add(canonical_json(call.arguments))
    for call in answered:
        entry: JsonObject = {"tool": call.tool}
        if len(asked[call.tool]) > 1:
            entry["arguments"] = call.arguments
        entry |= {"result": call.result} if call.error is None else {"error": call.error}
        yield entry


def _is_shadow(call: RecordedToolCall) -> bool:
    """Whether the gate answered, however the program wrote that down: spread over lines, as Python
    prints it, as JSON in JSON, as a part of a message.
    """
    told = json_text(call.result)
    plain = _SPELLING.sub("", told).lower()
    part = rf"\[?\{{type:text,text:{re.escape(_SHADOW)}\}}\]?"
    return plain == _SHADOW or re.fullmatch(part, plain) is not None


def _name(run: Recorded, target: PromotionTarget, taken: Collection[str]) -> str:
    said = run.turns[0] if run.turns else run.input.prompt
    plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)[:_WORDS]
    name = "-".join([target.agent, *words])[:_NAME].strip("-.")
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


class Objection(StrEnum):
    """What was wrong where judge and person disagree: the rubric, the judge, or the trace."""

    RUBRIC = "rubricWrong"
    JUDGE = "judgeWrong"
    TRACE = "traceWrong"


class Judged(Value):
    """A judge's verdict in a trial: where the trial is recorded, whether the answer is good by it,
    and the rubric asked.

    `preset` names one that comes with the gate, in whose place `rubric` is empty until it is known.
    """

    trace: str
    trial: Trial
    verdict: Verdict
    good: bool
    rubric: str
    preset: str = ""


_GOOD = 0.5
"""A score that is good, of a judge whose word does not count."""


def judged_in(trial: Trial, planned: PlannedEval, run: str) -> Iterator[Judged]:
    """Yield the verdicts in a trial, those inside `all`, `any` and `not` too."""
    key = trial.key
    trace = f"{run}/{planned.own_name}/{key.fixture}#{key.repetition}"
    specs = planned.fixture(key.fixture).assertions
    for one in _within(trial.assessments):
        if one.verdict is not None:
            spec = specs[one.index].part(one.at)
            rubric, preset = _option(spec, "rubric"), _option(spec, "preset")
            yield Judged(
                trace=trace,
                trial=trial,
                verdict=one.verdict,
                good=one.passed or not (one.failed or one.verdict.score < _GOOD),
                rubric=rubric,
                preset=preset,
            )


def example_of(
    judged: Judged,
    planned: PlannedEval,
    *,
    score: float,
    why: Objection | None,
    note: str,
    origin: Promoter,
) -> JsonObject:
    """Return the example as people write it in `spec.examples`; without `why`, both agree."""
    fixture = planned.fixture(judged.trial.key.fixture)
    given = fixture.input.payload or {"messages": [m.as_json() for m in fixture.input.messages]}
    said = {"promotedAt": origin.at, "promotedBy": origin.by}
    origin_said: JsonObject = {key: text for key, text in said.items() if text}
    example: JsonObject = {
        "traceRef": judged.trace,
        "input": {**given}
        if not fixture.turns
        else {"turns": [text_of(turn) for turn in fixture.turns]},
        **_steps(judged.trial),
        "candidateOutput": judged.trial.output or "",
        "humanScore": score,
        "humanLabel": note,
        **({"disagreementReason": why.value} if why else {}),
    }
    if judged.preset and (given_of := fixture.reference):
        grounds = {"expected": given_of.wanted, "reference": given_of.context}
        example |= {key: value for key, value in grounds.items() if value is not None}
    return {**example, "origin": origin_said} if origin_said else example


_TRACE = 20_000
"""Characters of the steps that an example keeps; one with more has none."""

_SHOWN = {"kind", "text", "tool", "arguments"}


def _steps(trial: Trial) -> JsonObject:
    """Return as `trace` what an agent did between what it was asked and its answer, if anything."""
    trace = trial.trace
    if trace is None or trace.source == "answer":
        return {}
    last = final_step(trace)
    if last is not None and last.text.strip() != (trial.output or "")[:STEP_LIMIT].strip():
        last = None
    asked = [one for one in trace.steps[:1] if one.kind is StepKind.USER]
    kept: list[JsonValue] = [
        one.model_dump(mode="json", include=_SHOWN, exclude_defaults=True)
        for one in trace.steps
        if one not in (*asked, last)
    ]
    return {"trace": kept} if kept and len(canonical_json(kept)) <= _TRACE else {}


def new_calibration(name: str, judged: Judged, example: JsonObject) -> JsonObject:
    """Return a JudgeCalibration that begins with this example."""
    return {
        "apiVersion": "gateval/v1",
        "kind": "JudgeCalibration",
        "metadata": {"name": name},
        "spec": {
            "rubric": judged.rubric,
            "judgeModels": [one.model for one in judged.verdict.jurors or (judged.verdict,)],
            "examples": [example],
        },
    }


def _option(spec: AssertionSpec, name: str) -> str:
    return str(spec.options.get(name, ""))


def _within(assessments: Iterable[Assessment]) -> Iterator[Assessment]:
    for one in assessments:
        yield one
        yield from _within(one.parts)
