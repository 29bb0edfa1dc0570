"""The words on GitHub when there is no report: the gate could not evaluate, or has to wait."""

from __future__ import annotations

from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import (
    TITLE_LIMIT,
    Annotation,
    AnnotationLevel,
    Conclusion,
)
from gateval.domain.forge.stamp import MARKER
from gateval.domain.repository.place import Problem
from gateval.errors import GatevalError, InvalidManifests
from gateval.safe.sanitize import inline, label, xml_text

_SHOWN = 50
_MESSAGE = 2_000


def announce_trouble(error: GatevalError, run_url: str = "") -> Announcement:
    """Render an error: what is wrong, where, and what to do next. Nothing of it lets merge."""
    problems = error.problems if isinstance(error, InvalidManifests) else ()
    lines = [f"- {inline(str(problem), 600)}" for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"- and {len(problems) - _SHOWN:,} more")
    parts = [str(inline(error.message, _MESSAGE)), "\n".join(lines), str(inline(error.hint, 600))]
    return _announcement(
        f"Could not evaluate: {error.message}",
        "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} Gateval: could not evaluate",
        parts,
        run_url,
        annotations=tuple(_annotation(problem) for problem in problems[:_SHOWN]),
    )


def announce_draft(run_url: str = "") -> Announcement:
    """Render that a draft is not evaluated yet."""
    text = "Drafts wait here (`policy.drafts: wait`). Mark the pull request as ready for review."
    heading = "\N{DOUBLE VERTICAL BAR} Gateval: waits until the draft is ready"
    title = "Waits until the draft is ready for review"
    return _announcement(title, heading, [text], run_url, unasked=True)


def _announcement(
    title: str,
    heading: str,
    parts: list[str],
    run_url: str,
    *,
    annotations: tuple[Annotation, ...] = (),
    unasked: bool = False,
) -> Announcement:
    link = [f"[Log of the run]({run_url})"] if run_url else []
    body = "\n\n".join(part for part in (f"### {heading}", *parts, *link) if part) + "\n"
    return Announcement(
        conclusion=Conclusion.ACTION_REQUIRED,
        title=label(title, TITLE_LIMIT),
        check_summary=body,
        comment=f"{MARKER}\n{body}",
        job_summary=body,
        annotations=annotations,
        unasked=unasked,
    )


def _annotation(problem: Problem) -> Annotation:
    return Annotation(
        path=label(problem.place.file, 400),
        line=problem.place.line,
        level=AnnotationLevel.FAILURE,
        title=label(problem.path or "invalid manifest", TITLE_LIMIT),
        message=xml_text(problem.message, _MESSAGE),
    )
