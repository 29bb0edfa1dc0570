"""What a judge is tried on: an answer to a fixture, from a record of a run or from the last one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gateval.adapters.git import GitRepository
from gateval.app.history.last_run import last_run
from gateval.app.stored import read_results
from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.promotion.recorded import NoRun, Recorded, RecordedCall
from gateval.domain.text.quoting import quote
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, Side
from gateval.errors import UsageError
from gateval.formats.traces.reading import LIMIT, read_runs
from gateval.safe.sanitize import plain_line


class Material(NamedTuple):
    """An answer, and what has to be said of where it comes from; empty for nothing."""

    answer: Answer
    said: str = ""


def answer_to(repository: GitRepository, fixture: Fixture, trace: Path | None) -> Material:
    """Return the answer in the file `trace`, else head's in the last run. Raises `UsageError`."""
    if trace is None:
        return Material(_last(repository.root, fixture))
    run = _of_file(trace, fixture)
    same = fixture.turns or run.turns or run.input.prompt.strip() == fixture.input.prompt.strip()
    said = "" if same else "This record answers to another input than the fixture's."
    return Material(answer_of(run), said)


def _last(root: Path, fixture: Fixture) -> Answer:
    folder = last_run(root)
    for trial in read_results(folder).trials:
        mine = trial.key.fixture == fixture.name and trial.key.side is Side.HEAD
        if mine and trial.output is not None:
            return Answer(
                output=trial.output, trace=trial.trace, usage=trial.usage, seconds=trial.seconds
            )
    raise UsageError(
        f'The last run, {folder.name}, has no answer to the fixture "{fixture.name}".',
        hint=f"Run it (gateval run EVAL --fixture {fixture.name}), or name a record with --trace.",
    )


def _of_file(path: Path, fixture: Fixture) -> Recorded:
    """Return the run of a file that answers to the fixture, else its only run without a fixture."""
    shown = plain_line(str(path), 200)
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{shown} could not be read: {error.strerror}.") from error
    found = [run for _, run in read_runs(data, shown)]
    runs = [run for run in found if isinstance(run, Recorded)]
    if not runs:
        why = next((str(run) for run in found if isinstance(run, NoRun)), "it is empty")
        raise UsageError(f"{shown} holds no run that a judge could look at: {why}.")
    mine = [run for run in runs if run.fixture == fixture.name]
    chosen = mine or [run for run in runs if not run.fixture]
    if not chosen:
        others = f"the first answers to {quote(runs[0].fixture)}"
        raise UsageError(f"{shown} holds no answer to {quote(fixture.name)}: {others}.")
    if not mine and len(chosen) > 1:
        raise UsageError(
            f"{shown} holds {len(chosen):,} runs, and nothing says which answers to "
            f"{quote(fixture.name)}.",
            hint="Name a file that holds the one to look at.",
        )
    return chosen[0]


def answer_of(run: Recorded) -> Answer:
    """Return a recorded run as the answer of a candidate: its calls, and what it said at last."""
    builder = TraceBuilder()
    for said in run.turns or (run.input.prompt,):
        builder.add(StepKind.USER, said)
    for call in run.calls:
        builder.add(StepKind.TOOL_CALL, tool=call.tool, arguments=call.arguments)
        if call.answered:
            builder.add(StepKind.TOOL_RESULT, _result(call), tool=call.tool)
    builder.add(StepKind.ASSISTANT, run.output)
    return Answer(
        output=run.output, trace=Trace(steps=builder.steps(), source="candidate"), seconds=0
    )


def _result(call: RecordedCall) -> str:
    if call.error is not None:
        return call.error
    return call.result if isinstance(call.result, str) else canonical_json(call.result)
