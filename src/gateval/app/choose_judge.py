"""What `calibrate --compare` does: measure several judges side by side, and say which to take.

Nothing of it is kept where a run would rely on it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from gateval.adapters.machine import SystemClock, screen_of
from gateval.adapters.results_folder import create_results_folder
from gateval.app.batched import BatchFile, asked_by
from gateval.app.calibrate import (
    AskedJudge,
    GatewayInputs,
    batch_file,
    calibration_of_preset,
    calibrations_named,
    judges_gateway,
    least_asked,
    read_here,
    refuse_unanswerable,
    write_plotted,
)
from gateval.app.foreseen_calls import announce_calls
from gateval.domain.base import plain_message
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Escalation, JudgeSpec
from gateval.domain.manifests.gate_config import AgreementPolicy
from gateval.domain.results.judge_choice import (
    ComparisonReport,
    JudgeChoice,
    choice_of,
    compared_judge,
)
from gateval.domain.results.self_check import CalibratedJudge
from gateval.domain.text import quote
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, UsageError
from gateval.judging.comparing import MeasuredJudge, measure

COMPARISON_FILE = "judge-comparison.v1.json"
PLOT_FILE = "judge-comparison.svg"

BAND = (0.3, 0.7)
"""The band of doubt of `CHEAP>STRONG`."""

MOST = 20

_JUROR = re.compile(r"\+(?=[^/+\s]+/)")


def judge_named(text: str) -> JudgeSpec:
    """Return the judge that `a`, the jury `a+b+c`, or `cheap>strong` means. Raises `UsageError`."""
    first, _, strong = text.partition(">")
    models = tuple(_JUROR.split(first))
    try:
        if strong:
            return JudgeSpec(model=first, escalate=Escalation(model=strong, band=BAND))
        return JudgeSpec(models=models) if len(models) > 1 else JudgeSpec(model=first)
    except ValidationError as error:
        why = plain_message(error.errors()[0]["msg"])
        raise UsageError(
            f"{quote(text)} names no judge: {why}.",
            hint="A judge is PROVIDER/ID, a jury A+B+C, and 'CHEAP>STRONG' asks STRONG in doubt.",
        ) from None


def _candidates(
    catalogue: Catalogue, names: Sequence[str], presets: Sequence[str], compared: Sequence[str]
) -> list[AskedJudge]:
    """The judges to compare on each calibration; of one that an Eval has, the Eval's own terms."""
    specs = {one.named: one for one in map(judge_named, filter(None, compared))}
    if not 2 <= len(specs) <= MOST:
        raise UsageError(
            f"--compare takes 2 to {MOST} different judges, and not {len(specs)}.",
            hint="For one: gateval calibrate --model PROVIDER/ID.",
        )
    first = next(iter(specs.values())).asked[0]
    wanted = calibrations_named(catalogue, names) if names or not presets else []
    wanted += [calibration_of_preset(name, first) for name in presets]
    found = []
    for calibration in wanted:
        naming = [one for one in catalogue.evals if one.judge.calibration == calibration.name]
        own = {one.judge.named: one.judge for one in naming}
        bounds = [o.judge.max_injected for o in naming if o.judge.max_injected is not None]
        most, least = {"max_injected": min(bounds, default=None)}, least_asked(naming)
        found += [
            AskedJudge(calibration, own.get(name, spec).replace(**most), least)
            for name, spec in specs.items()
        ]
    return found


def compare_judges(
    environ: dict[str, str],
    names: Sequence[str],
    compared: Sequence[str],
    *,
    presets: Sequence[str] = (),
    rev: str | None,
    plot: Path | None,
    results: Path | None,
    as_json: bool,
    batch: bool = False,
) -> int:
    """Measure the judges `compared` on the named calibrations, all without a name; print which one
    to take.

    Returns 0 where there is one for each calibration, 1 where there is none, and 3 where a judge
    was not measured. Raises `UsageError` and `MissingKey` before anybody is asked.
    """
    from gateval.render.plots import render_choice_plot
    from gateval.render.stage import dump
    from gateval.render.terminal.choice import render_choices
    from gateval.safe.redaction import Redactor

    settings, repository, revision, snapshot, policy = read_here(environ, rev)
    asked = _candidates(snapshot.catalogue, names, presets, compared)
    refuse_unanswerable({m for one in asked for m in one.spec.asked}, snapshot, settings, policy)
    announce_calls(
        [(one.calibration, one.spec) for one in asked], policy, compared=True, batch=batch
    )
    notes = batch_file(repository.root, asked, snapshot, compared=True) if batch else None
    under = (repository, snapshot, settings, policy)
    made, over_budget = asyncio.run(_measured(asked, under, notes))
    clean = Redactor(settings.secrets)
    made = [one._replace(replay=clean.value(one.replay)) for one in made]
    found = ComparisonReport(revision=revision, choices=tuple(_choices(asked, made)))
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    names = (COMPARISON_FILE, PLOT_FILE)
    write_plotted(folder, names, dump(found), render_choice_plot(found), plot)
    if notes is not None:
        notes.settle()
    screen = screen_of(sys.stdout, environ)
    sys.stdout.write(dump(found) if as_json else render_choices(found, screen))
    print(f"Results: {folder.path}", file=sys.stderr)
    if over_budget:
        print(f"gateval: {over_budget}", file=sys.stderr)
    every = [judge for one in found.choices for judge in one.judges]
    if over_budget or not all(one.is_measured for one in every):
        return EXIT_NOT_EVALUATED
    return EXIT_PASS if all(one.recommended for one in found.choices) else EXIT_FAILED


def _choices(asked: Sequence[AskedJudge], made: Sequence[MeasuredJudge]) -> Iterator[JudgeChoice]:
    """Yield what follows for each calibration; those of one stand side by side."""
    for name, group in groupby(zip(asked, made, strict=True), lambda one: one[0].calibration.name):
        pairs = list(group)
        yield choice_of(
            name,
            [
                compared_judge(
                    CalibratedJudge.of(found.replay, one.least, AgreementPolicy.LOWER_BOUND),
                    one.calibration,
                    len(pairs),
                    found.taken,
                    found.attacked,
                    found.pairs,
                    most=one.spec.max_injected,
                )
                for one, found in pairs
            ],
            pairs[0][0].spec.max_injected,
        )


async def _measured(
    asked: Sequence[AskedJudge],
    under: GatewayInputs,
    notes: BatchFile | None,
) -> tuple[list[MeasuredJudge], str]:
    """Ask all judges side by side; return why not all were, if the policy gave no more calls."""
    batch, (_, snapshot, settings, _) = notes is not None, under
    async with (
        judges_gateway(*under, priced=True, batch=batch) as gateway,
        asked_by(gateway, settings, notes) as calls,
    ):
        each = (
            measure(one.calibration, one.spec, calls, snapshot.scripts, batch=batch)
            for one in asked
        )
        found = await asyncio.gather(*each)
    return found, gateway.ledger.told if gateway.ledger.ended else ""
