"""What `judge try` does: ask the judge about one answer, and show all of the conversation."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import screen_of
from gateval.app.calibrate import judges_gateway, refuse_unanswerable
from gateval.app.readers import rules_here, valid_snapshot
from gateval.app.show import last_run
from gateval.app.stored import read_results
from gateval.assertions.assess import assess
from gateval.domain.base import canonical_json
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import nearest
from gateval.domain.plan.sealing import is_sealed_fixture
from gateval.domain.promotion import NoRun, Recorded
from gateval.domain.text import quote
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, NotAssessed, Side
from gateval.errors import EXIT_NOT_EVALUATED, EXIT_PASS, UsageError
from gateval.formats.traces import LIMIT, read_runs
from gateval.judging.judge import Judge
from gateval.pipeline.read import find_head, read_rules
from gateval.ports.model_calls import ModelCalls
from gateval.render.terminal.judges import JudgeExchange, TriedAssertion, render_judging
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings

if TYPE_CHECKING:
    from gateval.gateway.door import Gateway


def answer_to(
    repository: GitRepository, fixture: Fixture, trace: Path | None
) -> tuple[Answer, str]:
    """Return the answer in the file `trace`, else head's in the last run, and what has to be said
    of where it comes from; empty for nothing. Raises `UsageError`.
    """
    if trace is None:
        return _last(repository.root, fixture), ""
    run = _of_file(trace, fixture)
    same = fixture.turns or run.turns or run.input.prompt.strip() == fixture.input.prompt.strip()
    said = "" if same else "This record answers to another input than the fixture's."
    return answer_of(run), said


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
            told = call.result if isinstance(call.result, str) else canonical_json(call.result)
            result = told if call.error is None else call.error
            builder.add(StepKind.TOOL_RESULT, result, tool=call.tool)
    builder.add(StepKind.ASSISTANT, run.output)
    return Answer(
        output=run.output, trace=Trace(steps=builder.steps(), source="candidate"), seconds=0
    )


class _Overheard:
    """Passes calls on, and keeps what was said."""

    def __init__(self, calls: ModelCalls) -> None:
        self._calls = calls
        self.said: list[JudgeExchange] = []

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        reply = await self._calls.call(model, request, side=side)
        self.said.append(JudgeExchange(request, reply))
        return reply


def try_judge(
    environ: Mapping[str, str], name: str, *, trace: Path | None, model: str | None
) -> int:
    """Ask the judge about an answer to the fixture `[EVAL/]FIXTURE`, and print all that is said.

    The answer is that in the file `trace`, else head's in the last run. Returns 3 where a judge
    gave no verdict that counts. Raises `UsageError` and `MissingKey`.
    """
    settings = read_settings(dict(environ))
    repository = open_repository(Path.cwd())
    revision = find_head(repository, None)
    policy = read_rules(repository, revision, rules_here(environ)).rules.policy
    snapshot = valid_snapshot(repository, revision)
    fixture, judge = _chosen(snapshot.catalogue, name, model)
    if is_sealed_fixture(fixture, snapshot.catalogue):
        raise UsageError(
            f"{fixture.name} is sealed, and this would print its rubric.",
            hint="Unseal a copy of it where nobody looks on, and try the judge with that.",
        )
    refuse_unanswerable([str(judge.model)], snapshot, settings, policy)
    answer, said = answer_to(repository, fixture, trace)
    found = asyncio.run(_asked(fixture, judge, answer, judges_gateway(snapshot, settings, policy)))
    screen = screen_of(sys.stdout, environ)
    sys.stdout.write(
        render_judging(fixture, answer, found, said, width=screen.width, color=screen.color)
    )
    lost = any(isinstance(one.assessment, NotAssessed) for one in found)
    return EXIT_NOT_EVALUATED if lost else EXIT_PASS


async def _asked(
    fixture: Fixture, judge: JudgeSpec, answer: Answer, door: Gateway
) -> list[TriedAssertion]:
    """Ask about one assertion after the other, so that what was said can be told apart."""
    found = []
    async with door as gateway:
        for spec in (one for one in fixture.assertions if one.needs_judge):
            overheard = _Overheard(gateway)
            alone = fixture.replace(assertions=(spec,))
            (assessment,), _ = await assess(alone, answer, Judge(overheard), judge)
            found.append(TriedAssertion(spec, assessment, tuple(overheard.said)))
    return found


def _chosen(catalogue: Catalogue, name: str, model: str | None) -> tuple[Fixture, JudgeSpec]:
    """Return the fixture with a judge: the model given, else that of an Eval which selects it."""
    evaluation, _, wanted = name.rpartition("/")
    selected = [
        (one, fixture)
        for one in catalogue.evals
        if evaluation in {"", one.name}
        for fixture in select_fixtures(one, catalogue)
        if fixture.name == wanted
    ]
    if not selected:
        names = [one.name for one in catalogue.fixtures]
        raise UsageError(f'No Eval has a fixture "{wanted}".{nearest(wanted, names)}')
    found, fixture = min(selected, key=lambda pair: pair[0].judge.model is None)
    if not any(one.needs_judge for one in fixture.assertions):
        raise UsageError(f'No assertion of the fixture "{wanted}" asks a judge.')
    return fixture, _spec(found, model)


def _spec(evaluation: Eval, model: str | None) -> JudgeSpec:
    if model is not None:
        return evaluation.judge.replace(model=model)
    if evaluation.judge.model is None:
        raise UsageError(
            f"The {evaluation.kind} {evaluation.name} names no judge.",
            hint="Name one: gateval judge try FIXTURE --model PROVIDER/ID.",
        )
    return evaluation.judge
