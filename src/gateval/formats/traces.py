"""Reads records of runs, whatever of the known formats they are in."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue, ValidationError

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.messages import Role, files_in, text_of
from gateval.domain.promotion import (
    NoRun,
    Recorded,
    RecordedCall,
    RecordedMessage,
    answered_calls,
    recorded_run,
)
from gateval.domain.results.results import Results
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Side, Trial
from gateval.errors import UsageError
from gateval.formats.otlp import is_otlp, read_otlp
from gateval.formats.trace_messages import as_result, is_chat, read_chat


def is_ours(value: JsonValue) -> bool:
    """Whether this is a trial, or the results of a run."""
    return isinstance(value, dict) and (
        value.get("version") == "results.v1" or {"key", "outcome"} <= value.keys()
    )


def read_ours(value: JsonValue) -> Iterator[Recorded | NoRun]:
    """Yield the first trial on head of each fixture, or the one trial that this is."""
    try:
        if isinstance(value, dict) and value.get("version") == "results.v1":
            yield from _of_results(Results.model_validate(value))
        else:
            yield _of_trial(Trial.model_validate(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        yield NoRun(f"it is not as this version of Gateval writes it ({where})")
    except NoRun as error:
        yield error


def _of_results(results: Results) -> Iterator[Recorded | NoRun]:
    run = results.info.run
    for trial in results.trials:
        if trial.key.side is not Side.HEAD or trial.key.repetition != 1:
            continue
        fixture = results.plan.eval(trial.key.eval).fixture(trial.key.fixture)
        try:
            _refuse_files(fixture)
            found = _of_trial(trial, run)
        except NoRun as error:
            yield error
            continue
        if fixture.turns:
            steps = [step for step in trial.trace.steps if not step.refused] if trial.trace else []
            calls = tuple(answered_calls([*_said(steps)]))
            turns = tuple(map(text_of, fixture.turns))
            found = found.model_copy(update={"turns": turns, "calls": calls})
        yield found.model_copy(update={"input": fixture.input} if _is_told(fixture) else {})


def _refuse_files(fixture: Fixture) -> None:
    contents = (*(message.content for message in fixture.input.messages), *fixture.turns)
    if any(any(files_in(content)) for content in contents):
        raise NoRun(f"of {fixture.name}, what came in has files, which its record does not hold")


def _is_told(fixture: Fixture) -> bool:
    """Whether the fixture says all that came in."""
    return bool(fixture.input.payload or fixture.input.messages or fixture.turns)


def _of_trial(trial: Trial, run: str = "") -> Recorded:
    key = trial.key
    name = "/".join(part for part in (run, key.eval, f"{key.fixture}#{key.repetition}") if part)
    if trial.output is None or trial.trace is None:
        raise NoRun(f"of {name}, the agent gave no answer")
    if trial.output_truncated or any(step.truncated for step in trial.trace.steps):
        raise NoRun(f"of {name}, texts were cut when it was stored")
    steps = [step for step in trial.trace.steps if not step.refused]
    found = recorded_run([*_said(steps)], name)
    side = " on base" if key.side is Side.BASE else ""
    failed = "" if trial.passed else f"did not pass ({trial.outcome})"
    told = {"side": key.side.value, "failed": failed, "fixture": f"{key.fixture}{side}"}
    return found.model_copy(update={"output": trial.output, **told})


def _said(steps: list[Step]) -> Iterator[RecordedMessage]:
    """The steps as messages; a call and its result are told by the call's id, or by order."""
    for number, step in enumerate(steps):
        call_id = step.call_id or ""
        if step.kind is StepKind.USER:
            yield RecordedMessage(role=Role.USER, text=step.text)
        elif step.kind is StepKind.ASSISTANT:
            yield RecordedMessage(role=Role.ASSISTANT, text=step.text)
        elif step.kind is StepKind.TOOL_CALL and step.tool:
            call_id = call_id or _result_after(steps, number)
            call = RecordedCall(id=call_id, tool=step.tool, arguments=step.arguments or {})
            yield RecordedMessage(role=Role.ASSISTANT, calls=(call,))
        elif step.kind is StepKind.TOOL_RESULT:
            call_id = call_id or f"step-{step.number}"
            yield RecordedMessage(
                role=Role.TOOL, text=step.text, call_id=call_id, result=as_result(step.text)
            )


def _result_after(steps: list[Step], at: int) -> str:
    """How the result of a call without an id is called here."""
    tool = steps[at].tool
    for step in steps[at + 1 :]:
        if step.kind is StepKind.TOOL_RESULT and step.tool in {tool, None} and not step.call_id:
            return f"step-{step.number}"
    return ""


LIMIT = 64 * 1024 * 1024
"""Bytes of a file of records."""

_HINT = (
    "Known are results and trials of Gateval, messages as chat APIs have them, OTLP in JSON, and "
    "one of these on each line."
)


def read_runs(data: bytes, name: str) -> Iterator[tuple[str, Recorded | NoRun]]:
    """Yield each run in `data` with where it stands, or why one there cannot be promoted.

    Raises `UsageError`, which calls the file `name`, when it is too large or of no known format.
    """
    if len(data) > LIMIT:
        raise UsageError(f"{name} has more than {LIMIT:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text in UTF-8.", hint=_HINT) from None
    try:
        value = read_json(text)
    except NotStrictJson as error:
        yield from _lines(text, name, error)
        return
    found = [*_runs(value)]
    if not found:
        raise UsageError(f"{name} holds no record of a run.", hint=_HINT)
    for number, run in enumerate(found, 1):
        yield (name if len(found) == 1 else f"{name}, no. {number}"), run


def _lines(text: str, name: str, whole: NotStrictJson) -> Iterator[tuple[str, Recorded | NoRun]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2:
        raise UsageError(f"{name} is no JSON: {whole}.", hint=_HINT)
    for number, line in lines:
        where = f"{name}:{number}"
        try:
            found = [*_runs(read_json(line))]
        except NotStrictJson as error:
            yield where, NoRun(f"it is no JSON: {error}")
            continue
        yield from ((where, run) for run in found or [NoRun("it is no record of a run")])


def _runs(value: JsonValue) -> Iterator[Recorded | NoRun]:
    if is_ours(value):
        yield from read_ours(value)
    elif is_otlp(value):
        yield from read_otlp(value)
    elif is_chat(value):
        try:
            yield read_chat(value)
        except NoRun as error:
            yield error
    elif isinstance(value, list) and all(
        is_ours(one) or is_otlp(one) or is_chat(one) for one in value
    ):
        for one in value:
            yield from _runs(one)
