"""Annotations on the lines of the manifests: what failed, where the assertion stands."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.forge.check_run import TITLE_LIMIT, Annotation, AnnotationLevel
from gateval.render.report.findings import Finding
from gateval.render.view import ReportView
from gateval.safe.sanitize import label, xml_text

MOST = 200
"""Annotations of one run; four requests."""

_MESSAGE = 2_000


def annotate(view: ReportView) -> tuple[Annotation, ...]:
    """Return all annotations, worst first; none of a claim is more than a warning."""
    claim = bool(view.frame.unverified)
    return tuple(_annotation(one, unverified=claim) for one in view.findings)


def left_out_note(found: Sequence[Annotation]) -> str:
    """Return the sentence about annotations above `MOST`; empty when all are shown."""
    left = len(found) - MOST
    if left <= 0:
        return ""
    noun = "annotation is" if left == 1 else "annotations are"
    return f"{left:,} more {noun} not shown on the files; the worst {MOST} are."


def _annotation(found: Finding, *, unverified: bool) -> Annotation:
    fails = found.blocks and not unverified
    return Annotation(
        path=label(found.place.file, 400),
        line=found.place.line,
        level=AnnotationLevel.FAILURE if fails else AnnotationLevel.WARNING,
        title=label(found.title, TITLE_LIMIT),
        message=xml_text(found.message, _MESSAGE),
    )
