"""Annotations on the lines of the manifests: what failed, where the assertion stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateval.domain.decision.report import Report
from gateval.domain.forge.check_run import TITLE_LIMIT, Annotation, AnnotationLevel
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.repository.place import Place
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.scoring import Meets
from gateval.domain.text.figures import show_threshold
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.bar import binding_edits
from gateval.render.report.facts import FixtureFacts, Standing, gather, standing
from gateval.render.report.wording import eval_verdict, passes, score, what_happened
from gateval.safe.sanitize import label, xml_text

MOST = 200
"""Annotations of one run; four requests."""

_MESSAGE = 2_000

_SHOWN = (
    Standing.REGRESSED,
    Standing.SILENT,
    Standing.FAILING,
    Standing.SUSPECT,
    Standing.UNMEASURED,
)


def annotate(report: Report, *, unverified: bool = False) -> tuple[Annotation, ...]:
    """Return all annotations, worst first; none of a claim is more than a warning."""
    facts = gather(report)
    found = [
        annotation
        for which in _SHOWN
        for fact in standing(facts, which)
        for annotation in _of_fixture(report, fact)
    ]
    found += [_of_eval(report, one) for one in report.comparison.evals if _is_below(one)]
    found += [_of_edit(report, lowered) for lowered in binding_edits(report)]
    if not unverified:
        return tuple(found)
    return tuple(
        one.model_copy(update={"level": AnnotationLevel.WARNING})
        if one.level is AnnotationLevel.FAILURE
        else one
        for one in found
    )


def left_out_note(found: Sequence[Annotation]) -> str:
    """Return the sentence about annotations above `MOST`; empty when all are shown."""
    left = len(found) - MOST
    if left <= 0:
        return ""
    noun = "annotation is" if left == 1 else "annotations are"
    return f"{left:,} more {noun} not shown on the files; the worst {MOST} are."


def _of_fixture(report: Report, fact: FixtureFacts) -> Iterator[Annotation]:
    level = _level(report, fact)
    name, eval_name = fact.fixture.name, fact.planned.name
    about = f"{eval_name}, severity {fact.compared.head.severity}: {passes(fact.compared)}"
    for assessment in fact.broken:
        title = f"{name}: {assessment.type} {what_happened(assessment)}"
        yield _annotation(fact.place_of(assessment), level, title, f"{assessment.reason}\n{about}")
    if not fact.broken:
        reason = fact.worst.reason if fact.worst else "No planned repetition ran."
        title = f"{name}: {fact.standing}"
        yield _annotation(fact.fixture.place, level, title, f"{reason}\n{about}")


def _level(report: Report, fact: FixtureFacts) -> AnnotationLevel:
    """Failures block; what is uncertain or was not measured warns."""
    verdict, _ = eval_verdict(report.decision, fact.planned.name)
    sure = fact.standing in {Standing.REGRESSED, Standing.SILENT, Standing.FAILING}
    blocks = sure and verdict is GateVerdict.FAIL
    return AnnotationLevel.FAILURE if blocks else AnnotationLevel.WARNING


def _is_below(compared: EvalComparison) -> bool:
    return compared.head.meets is Meets.NO


def _of_eval(report: Report, compared: EvalComparison) -> Annotation:
    planned = report.results.plan.eval(compared.eval)
    title = f"{compared.eval} is below its threshold"
    message = f"Score {score(compared.head)}, threshold {show_threshold(compared.head.threshold)}."
    verdict, _ = eval_verdict(report.decision, compared.eval)
    level = AnnotationLevel.FAILURE if verdict is GateVerdict.FAIL else AnnotationLevel.WARNING
    return _annotation(planned.place, level, title, message)


def _of_edit(report: Report, lowered: Lowered) -> Annotation:
    """Mark an edit that asks less, on its line, or where head removed what stood there."""
    accepted = report.results.plan.bar_accepted
    level = AnnotationLevel.WARNING if accepted else AnnotationLevel.FAILURE
    what = (
        f"Accepted by {accepted}."
        if accepted
        else "It blocks until it is taken back, met or accepted."
    )
    title = f"Asks less: {lowered.what}"
    return _annotation(lowered.place, level, title, f"{lowered.edit}.\n{what}")


def _annotation(place: Place, level: AnnotationLevel, title: str, message: str) -> Annotation:
    return Annotation(
        path=label(place.file, 400),
        line=place.line,
        level=level,
        title=label(title, TITLE_LIMIT),
        message=xml_text(message, _MESSAGE),
    )
