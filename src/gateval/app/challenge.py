"""What `challenge` does: a verdict that a person does not share becomes a labelled example."""

from __future__ import annotations

import re
from math import isnan
from pathlib import Path
from typing import Any

from gateval.adapters.folders import write_new, write_whole
from gateval.adapters.git.repository import open_repository
from gateval.adapters.machine import SystemClock
from gateval.app.guard import LINE_LIMIT
from gateval.app.readers import registries, valid_snapshot
from gateval.app.show import last_run
from gateval.app.stored import named_run, read_results
from gateval.domain.base import NAME_PATTERN, JsonObject
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Calibration
from gateval.domain.paths import nearest
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.promotion import (
    Judged,
    Objection,
    Promoter,
    example_of,
    judged_in,
    new_calibration,
)
from gateval.domain.results.results import Results
from gateval.domain.text import quote, show_figure
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.native.writing import manifest_text, with_example
from gateval.judging.presets import preset
from gateval.pipeline.read import find_head
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings


def extend(root: Path, known: Calibration, example: JsonObject) -> str:
    """Put the example into the file of a calibration that is there."""
    if any(one.trace_ref == example["traceRef"] for one in known.examples):
        raise UsageError(
            f"{known.name} has an example of this trace already.",
            hint=f"Change it in {known.place.file}; nothing is overwritten.",
        )
    file = root / known.path
    before = file.read_bytes()
    after = with_example(before.decode(), _number(known, before), example).encode()
    old, new = (read_manifests(known.path, data, registries()) for data in (before, after))
    said = [one.digest for one in old.manifests if one.name != known.name or one.kind != known.kind]
    kept = [one.digest for one in new.manifests if one.name != known.name or one.kind != known.kind]
    grown = next(
        (one for one in new.manifests if isinstance(one, Calibration) and one.name == known.name),
        None,
    )
    whole = (
        grown is not None and grown.examples[:-1] == known.examples and grown.rubric == known.rubric
    )
    if new.problems or said != kept or not whole:
        raise UsageError(
            f"{known.place.file} is written in a way that Gateval cannot add to.",
            hint="Write its examples as a list of lines, each with a dash.",
        )
    write_whole(file, after)
    return known.place.file


def _number(known: Calibration, data: bytes) -> int:
    """Which document of its file a calibration is."""
    from gateval.formats.yaml_reader import read_documents

    documents, _ = read_documents(known.path, data)
    for number, document in enumerate(documents):
        if document.place(("metadata", "name")) == known.place:
            return number
    raise UsageError(f"{known.place.file} has changed meanwhile.", hint="Do it again.")


def begin(
    root: Path,
    catalogue: Catalogue,
    evaluation: str,
    named: str | None,
    judged: Judged,
    example: JsonObject,
) -> str:
    """Write a new calibration beside an Eval, and return its path from the root."""
    known = catalogue.eval(evaluation)
    folder = known.path.rpartition("/")[0] if known else ""
    free, number = f"{evaluation}-judge", 2
    name = named or free
    while not named and catalogue.calibration(name) is not None:
        name, number = f"{free}-{number}", number + 1
    text = manifest_text([new_calibration(name, judged, example)])
    path = f"{folder}/{name}.yaml" if folder else f"{name}.yaml"
    if not write_new(root, path, text):
        raise UsageError(f"{path} is there already.", hint="Name another with --calibration.")
    return path


def challenge_verdict(environ: dict[str, str], **asked: Any) -> int:
    """Do what `label_verdict` does, and print what it says. Raises as it does."""
    for said in label_verdict(environ, **asked):
        print(said)
    return EXIT_PASS


def label_verdict(
    environ: dict[str, str],
    *,
    fixture: str,
    score: float,
    reason: str,
    note: str,
    run: str | None,
    repetition: int,
    calibration: str | None,
    redact: bool,
    may_agree: bool = False,
) -> list[str]:
    """Add what a person says of a verdict, as an example, to the calibration that the Eval names,
    or begin one beside the Eval. Return what was done, line by line. Who `may_agree` does so by a
    score of 0 where it failed, of 1 where it passed, and then the reason does not count.

    Raises `UsageError` where there is no such verdict, or the example is there already.
    """
    if isnan(score):
        raise UsageError("--score is a number from 0 to 1, not nan.")
    if calibration is not None and not re.search(NAME_PATTERN, calibration):
        raise UsageError(
            f"{quote(calibration)} is no name of a JudgeCalibration.",
            hint='Use lower-case letters, digits, "-" and ".", and begin and end with a letter or '
            "digit; its file gets the same name.",
        )
    repository = open_repository()
    snapshot = valid_snapshot(repository, find_head(repository, None))
    root = repository.root
    results = read_results(last_run(root) if run is None else named_run(root, run))
    judged, planned = _verdict(fixture, repetition, results)
    origin = Promoter(by=repository.who(), at=SystemClock().utc_now())
    agrees = may_agree and judged.good == bool(score)
    why = None if agrees else Objection(reason)
    example = example_of(judged, planned, score=score, why=why, note=note, origin=origin)
    if redact:
        example = _redacted(example, environ)
    named = calibration or planned.judge.calibration
    known = snapshot.catalogue.calibration(named) if named else None
    path = (
        extend(root, known, example)
        if known
        else begin(root, snapshot.catalogue, planned.own_name, named, judged, example)
    )
    given = judged.verdict.score
    ended = f" ({why})" if why else ", and so agree"
    said = f"{path}: the judge gave {show_figure(given)}, you give {score:g}{ended}."
    lines = [plain_line(said, LINE_LIMIT)]
    if known is not None and known.rubric.strip() != judged.rubric.strip():
        lines.append(f"The rubric of {known.name} is another one than the fixture's.")
    if known is None and planned.judge.calibration is None:
        name = Path(path).stem
        lines.append(
            f"To have the judge measured by it, add `calibration: {name}` to the Eval's judge."
        )
    return [*lines, "`gateval calibrate` shows how far the judge agrees now."]


def _verdict(fixture: str, repetition: int, results: Results) -> tuple[Judged, PlannedEval]:
    """The one verdict on head that `[EVAL/]FIXTURE` names; of several, the lowest."""
    evaluation, _, name = fixture.rpartition("/")
    found = [
        (judged, planned)
        for trial in results.trials
        if trial.key.side is Side.HEAD and trial.key.repetition == repetition
        for planned in [results.plan.eval(trial.key.eval)]
        if trial.key.fixture == name and evaluation in {"", planned.own_name}
        for judged in judged_in(trial, planned, results.info.run)
    ]
    if not found:
        known = sorted(
            {
                trial.key.fixture
                for trial in results.trials
                if any(judged_in(trial, results.plan.eval(trial.key.eval), ""))
            }
        )
        raise UsageError(
            f'No judge said anything of "{name}" in repetition {repetition} of this run.'
            f"{nearest(name, known)}",
            hint=f"Judged there: {', '.join(known[:20]) or 'nothing'}.",
        )
    if any(judged.trial.output_truncated for judged, _ in found):
        raise UsageError(f"The answer in {name} was cut when it was stored; label it by hand.")
    lowest, planned = min(found, key=lambda one: one[0].verdict.score)
    if not lowest.preset:
        return lowest, planned
    try:
        rubric = preset(lowest.preset).rubric
    except ValueError as error:  # the results are of another version of Gateval
        raise UsageError(str(error)) from None
    return lowest.replace(rubric=rubric), planned


def _redacted(example: JsonObject, environ: dict[str, str]) -> JsonObject:
    from gateval.safe.redaction import PersonalRedactor

    redactor = PersonalRedactor(read_settings(environ).secrets)
    kept: JsonObject = {key: example[key] for key in ("traceRef", "origin") if key in example}
    return {**redactor.json(example), **kept}
