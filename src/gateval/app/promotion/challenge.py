"""What `challenge` does: a verdict that a person does not share becomes a labelled example."""

from __future__ import annotations

import re
from math import isnan
from pathlib import Path
from typing import NamedTuple

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository, open_repository
from gateval.app.guard import LINE_LIMIT
from gateval.app.history.last_run import last_run
from gateval.app.promotion.example_file import NewCalibration, begin, extend
from gateval.app.registries import valid_snapshot
from gateval.app.stored import named_run, read_results
from gateval.domain.base import NAME_PATTERN, JsonObject
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.promotion.challenge import (
    Judged,
    Objection,
    example_of,
    judged_in,
)
from gateval.domain.promotion.proposal import Promoter
from gateval.domain.repository.place import nearest
from gateval.domain.results.results import Results
from gateval.domain.text.quoting import quote
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_PASS, UsageError
from gateval.judging.presets.registry import preset
from gateval.pipeline.revisions import find_head
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings


class Challenge(NamedTuple):
    """What a person says of the verdict in a fixture's repetition."""

    fixture: str
    score: float
    why: Objection
    note: str
    run: str | None
    repetition: int
    calibration: str | None


class _Found(NamedTuple):
    judged: Judged
    planned: PlannedEval


def challenge_verdict(environ: dict[str, str], asked: Challenge, *, redact: bool) -> int:
    """Add the example to the calibration that the Eval names, or begin one beside the Eval.

    Raises `UsageError` where there is no such verdict, or the example is there already.
    """
    _refuse_wrong_words(asked)
    repository = open_repository(Path.cwd())
    snapshot = valid_snapshot(repository, find_head(repository, None))
    found = _verdict(asked, _results(repository, asked.run))
    origin = Promoter(by=repository.who(), at=SystemClock().utc_now())
    example = example_of(
        found.judged,
        found.planned,
        score=asked.score,
        why=asked.why,
        note=asked.note,
        origin=origin,
    )
    if redact:
        example = _redacted(example, environ)
    named = asked.calibration or found.planned.judge.calibration
    known = snapshot.catalogue.calibration(named) if named else None
    path = (
        extend(repository.root, known, example)
        if known
        else begin(
            repository.root,
            snapshot.catalogue,
            found.planned.own_name,
            named,
            NewCalibration(found.judged, example),
        )
    )
    _tell(path, found, asked, known)
    return EXIT_PASS


def _refuse_wrong_words(asked: Challenge) -> None:
    if isnan(asked.score):
        raise UsageError("--score is a number from 0 to 1, not nan.")
    if asked.calibration is not None and not re.search(NAME_PATTERN, asked.calibration):
        raise UsageError(
            f"{quote(asked.calibration)} is no name of a JudgeCalibration.",
            hint='Use lower-case letters, digits, "-" and ".", and begin and end with a letter or '
            "digit; its file gets the same name.",
        )


def _results(repository: GitRepository, run: str | None) -> Results:
    if run is None:
        return read_results(last_run(repository.root))
    return read_results(named_run(repository.root, run))


def _verdict(asked: Challenge, results: Results) -> _Found:
    """The one verdict on head that the words name; of several in a trial, the lowest."""
    evaluation, _, name = asked.fixture.rpartition("/")
    found = [
        _Found(judged, planned)
        for trial in results.trials
        if trial.key.side is Side.HEAD and trial.key.repetition == asked.repetition
        for planned in [results.plan.eval(trial.key.eval)]
        if trial.key.fixture == name and evaluation in {"", planned.own_name}
        for judged in judged_in(trial, planned, results.info.run)
    ]
    if not found:
        judged = sorted(
            {
                trial.key.fixture
                for trial in results.trials
                if any(judged_in(trial, results.plan.eval(trial.key.eval), ""))
            }
        )
        raise UsageError(
            f'No judge said anything of "{name}" in repetition {asked.repetition} of this run.'
            f"{nearest(name, judged)}",
            hint=f"Judged there: {', '.join(judged[:20]) or 'nothing'}.",
        )
    if any(one.judged.trial.output_truncated for one in found):
        raise UsageError(f"The answer in {name} was cut when it was stored; label it by hand.")
    lowest = min(found, key=lambda one: one.judged.verdict.score)
    return lowest._replace(judged=_with_rubric(lowest.judged))


def _with_rubric(judged: Judged) -> Judged:
    """Fill in the rubric of a preset."""
    if not judged.preset:
        return judged
    try:
        return judged.model_copy(update={"rubric": preset(judged.preset).rubric})
    except ValueError as error:  # the results are of another version of Gateval
        raise UsageError(str(error)) from None


def _redacted(example: JsonObject, environ: dict[str, str]) -> JsonObject:
    from gateval.safe.personal import PersonalRedactor

    redactor = PersonalRedactor(read_settings(environ).secrets)
    kept: JsonObject = {key: example[key] for key in ("traceRef", "origin") if key in example}
    return {**redactor.json(example), **kept}


def _tell(path: str, found: _Found, asked: Challenge, known: Calibration | None) -> None:
    score = found.judged.verdict.score
    print(
        plain_line(
            f"{path}: the judge gave {score:g}, you give {asked.score:g} ({asked.why}).", LINE_LIMIT
        )
    )
    if known is not None and known.rubric.strip() != found.judged.rubric.strip():
        print(f"The rubric of {known.name} is another one than the fixture's.")
    if known is None and found.planned.judge.calibration is None:
        name = Path(path).stem
        print(f"To have the judge measured by it, add `calibration: {name}` to the Eval's judge.")
    print("`gateval calibrate` shows how far the judge agrees now.")
