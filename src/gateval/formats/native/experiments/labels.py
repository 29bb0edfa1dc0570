"""Takes what people said of an experiment's answers into it: as a column, and as labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.calibration import Calibration, CalibrationExample
from gateval.domain.manifests.fixtures.feedback import Feedback
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.formats.gathering import GatheringContext
from gateval.formats.native.cases.reading import read_rows
from gateval.formats.native.experiments.feedback import ENDINGS, read_feedback
from gateval.formats.native.experiments.files import Named, named_file
from gateval.formats.native.experiments.rows import GoldenRow
from gateval.formats.native.experiments.scorers import Asking, Scorers
from gateval.formats.native.experiments.written import ExperimentDocument
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import problem_at


class Labels(NamedTuple):
    """What people said of rows, the calibration it makes, its file, and all problems."""

    feedback: tuple[Feedback, ...] = ()
    calibration: Calibration | None = None
    file: str = ""
    problems: tuple[Problem, ...] = ()


def read_labels(
    source: Source,
    written: ExperimentDocument,
    around: GatheringContext,
    rows: Mapping[str, GoldenRow],
    scorers: Scorers,
) -> Labels:
    """Return what people said; `rows` are those of the golden set by fixture."""
    asked = written.spec.feedback
    if asked is None:
        return Labels()
    named = named_file(source, ("spec", "feedback", "file"), asked.file, around, ENDINGS)
    if not isinstance(named, Named):
        return Labels(problems=(named,))
    lines, wrong = read_rows(named.path, named.content)
    found = read_feedback(named.shown, lines, rows)
    chosen = _scorer(source, written, scorers)
    problems = [*wrong, *found.problems, *([chosen] if isinstance(chosen, Problem) else [])]
    calibration = None
    if not problems and found.examples and written.spec.judge.model and chosen:
        assert not isinstance(chosen, Problem)  # noqa: S101 - it would be among the problems
        place = Place(file=named.shown, line=1)
        calibration = _calibration(source, written, chosen, found.examples, place)
    return Labels(found.feedback, calibration, named.path, tuple(problems))


def _scorer(
    source: Source, written: ExperimentDocument, scorers: Scorers
) -> Asking | Problem | None:
    """Return the judged scorer that the feedback speaks of; None where that is not known."""
    judged, asked = scorers.asking(), written.spec.feedback
    name = asked.scorer if asked else None
    if name is None:
        return next(iter(judged.values())) if len(judged) == 1 else None
    if name in judged:
        return judged[name]
    known = ", ".join(judged) or "none"
    message = f"No judged scorer is called {name!r}.{nearest(name, judged)} There are: {known}."
    return problem_at(source.document, ("spec", "feedback", "scorer"), message)


def _calibration(
    source: Source,
    written: ExperimentDocument,
    scorer: Asking,
    examples: tuple[CalibrationExample, ...],
    place: Place,
) -> Calibration:
    shown = [
        one.model_copy(
            update={key: None for key in ("expected", "reference") if key not in scorer.shows}
        )
        for one in examples
    ]
    told = [one.model_dump(mode="json") for one in shown]
    return Calibration(
        name=f"{written.metadata.name}-feedback",
        labels=written.metadata.labels,
        rubric=scorer.question,
        judge_models=(str(written.spec.judge.model),),
        examples=tuple(shown),
        place=place,
        path=source.path,
        digest=digest([scorer.question, *told]),
    )
