"""The pull-request comment: the view of a report as markdown that GitHub shows.

Equal trials give equal bytes: nothing in here depends on a clock, a run id or a duration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from gateval.domain.ruling import GateLabel
from gateval.render.comment import pieces
from gateval.render.comment.fitting import Part, fit, size
from gateval.render.comment.fixtures import cause, cause_line, cause_summary, fixture_line
from gateval.render.report.causes import FEW, FailureGroup
from gateval.render.report.environment import fill
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.wording import ICONS, UNVERIFIED_ICON
from gateval.render.view import ReportView, Section, SectionKind, passing_line
from gateval.safe.sanitize import border, inline, link, marker

LIMIT = 60_000
"""GitHub refuses comments of more than 65,536 characters. The rest is for what a label event says
above the evidence, which stays."""

_NOTICE = 700
"""Room kept for the sentence that says what was left out."""

_PASSING_SHOWN = 100

_ROWS = 20
"""Evals in the first table: what is said about the worst fixtures should not be far below."""


def render_comment(view: ReportView, *, limit: int = LIMIT) -> str:
    """Return the comment as GitHub-flavoured markdown of at most `limit` UTF-16 units.

    `limit` must be at least 20,000. What does not fit is cut between whole pieces and named.
    """
    head, foot = _head(view), _foot(view, "")
    room = limit - size(head) - size(foot) - _NOTICE
    fitted = fit([_part(view, one) for one in _closed(view.sections)], room)
    if fitted.left_out:
        foot = _foot(view, listing(fitted.left_out, 12))
    return "\n\n".join((head, *fitted.texts, foot)) + "\n"


def _head(view: ReportView) -> str:
    plan, frame, verdict = view.plan, view.frame, view.verdict
    return fill(
        "head.md.j2",
        marker=marker(),
        icon=UNVERIFIED_ICON if frame.unverified else ICONS[verdict],
        verdict=f"unverified, claims {verdict}" if frame.unverified else verdict,
        unverified=frame.unverified,
        unkept=frame.unkept,
        fresh=plan.fresh,
        why=view.headline,
        labels=view.labels,
        may_bypass=view.may_bypass,
        label=GateLabel.BYPASS,
        border=border(),
        worktree=plan.head.worktree,
        head=plan.head.short,
        base=plan.base.short if plan.base else "",
        scripted=view.scripted,
    )


def _foot(view: ReportView, left_out: str) -> str:
    plan, frame = view.plan, view.frame
    return fill(
        "foot.md.j2",
        command=view.command,
        worktree=plan.head.worktree,
        policy_source=plan.policy_source,
        policy_digest=plan.policy_digest[:12],
        left_out=left_out,
        log=link("Log of this run", frame.run_url) if frame.run_url else "",
        artifacts=link("Results and traces", frame.files_url) if frame.files_url else "",
        anchor=frame.anchor,
    )


class _How(NamedTuple):
    """How the items of a section are written: in full, on one line where there is no room, and what
    stands between them. `align` is the second line of a table.
    """

    full: Callable[[ReportView, Any], str]
    brief: Callable[[ReportView, Any], str] | None = None
    joint: str = "\n"
    most: int = 1000
    align: str = ""


_LINES = _How(lambda _, item: pieces.bullet(str(item)))

_HOW: Final[Mapping[SectionKind, _How]] = MappingProxyType(
    {
        SectionKind.EVALS: _How(
            lambda view, item: pieces.row(item, claimed=bool(view.frame.unverified)),
            align="|---|---|--:|--:|--:|--:|--:|---|",
        ),
        SectionKind.SEALED: _How(
            lambda view, item: pieces.sealed_row(item, claimed=bool(view.frame.unverified)),
            align="|---|---|--:|--:|---|",
        ),
        SectionKind.SCORERS: _How(
            lambda _, item: pieces.scorer(item), align="|---|--:|--:|--:|---|"
        ),
        SectionKind.AXES: _How(
            lambda _, item: pieces.axis_score(item), align="|---|---|--:|--:|---|"
        ),
        SectionKind.FIXTURES: _How(
            lambda view, item: cause(item, view.plan, view.frame.tree_url),
            lambda _, item: cause_line(item),
            "\n\n",
            most=FEW,
        ),
        SectionKind.PROMPTS: _How(
            lambda view, item: pieces.prompt(item, view.frame.tree_url),
            lambda view, item: pieces.prompt_line(item, view.frame.tree_url),
            "\n\n",
        ),
        SectionKind.SILENT: _How(lambda _, item: pieces.silent(item), joint="\n\n"),
        SectionKind.GAPS: _How(lambda view, item: pieces.gap(item, view.plan)),
        SectionKind.CHANGES: _How(lambda view, item: pieces.change(item, view.frame.tree_url)),
        SectionKind.IMPROVED: _How(lambda _, item: fixture_line(item)),
        SectionKind.PASSING: _How(
            lambda _, item: pieces.bullet(passing_line(item)), most=_PASSING_SHOWN
        ),
        SectionKind.ASSERTIONS: _How(lambda _, item: pieces.axis(item), align="|---|--:|--:|"),
        SectionKind.USAGE: _How(lambda _, item: pieces.usage(item), align="|---|---|---|---|--:|"),
    }
)
"""Sections that are no list of sentences."""


def _closed(sections: Sequence[Section]) -> Sequence[Section]:
    """Return the sections with all but the first rows of the table of Evals folded, behind all that
    is open.
    """
    found: list[Section] = []
    rest: list[Section] = []
    for one in sections:
        if one.kind is SectionKind.EVALS and len(one.items) > _ROWS:
            title = count(len(one.items) - _ROWS, f"more {one.noun}")
            rest = [one._replace(items=one.items[_ROWS:], title=title, folded=True)]
            one = one._replace(items=one.items[:_ROWS])  # noqa: PLW2901 - what is shown of it
        if one.folded:
            found += rest
            rest = []
        found.append(one)
    return [*found, *rest]


def _part(view: ReportView, section: Section) -> Part[Any]:
    how = _HOW.get(section.kind, _LINES)
    note = section.note if section.kind is SectionKind.SCORERS else ""
    return Part(
        section.noun or section.kind.value,
        _opening(section, how.align),
        section.items,
        partial(how.full, view),
        partial(how.brief, view) if how.brief else None,
        closing=(f"\n\nΔ: {inline(note, 200)}." if note else "")
        + ("\n\n</details>" if section.folded else ""),
        joint=how.joint,
        most=how.most,
        weight=section.weight,
        holds=_fixtures_in if section.kind is SectionKind.FIXTURES else lambda _: 1,
    )


def _fixtures_in(group: FailureGroup) -> int:
    return len(group.facts)


def _opening(section: Section, align: str) -> str:
    said = "\n".join(map(pieces.bullet, section.said))
    table = f"| {' | '.join(section.columns)} |\n{align}\n".replace("|  |", "| |")
    rest = (f"{said}\n\n" if said else "") + (table if align else "")
    if section.kind is SectionKind.FIXTURES:
        rest = _overview(section.items)
    if section.folded:
        counted = "" if align else f" ({len(section.items):,})"
        about = f": {inline(section.note, 200)}" if section.note else ""
        return f"<details><summary>{section.title}{counted}{about}</summary>\n\n{rest}"
    heading = f"### {inline(section.title, 120)}\n\n" if section.title else ""
    return f"{heading}{rest}"


def _overview(found: Sequence[FailureGroup]) -> str:
    """List the causes first, where there are several and fewer than fixtures."""
    fixtures = len({fact.fixture.name for one in found for fact in one.facts})
    if not 1 < len(found) < fixtures:
        return ""
    largest = sorted(found, key=lambda one: -len(one.facts))
    lines = [f"{count(fixtures, 'fixture')}, {count(len(found), 'cause')}:\n"]
    lines += map(cause_summary, largest[:FEW])
    if len(found) > FEW:
        rest = sum(map(_fixtures_in, largest[FEW:]))
        lines.append(f"- and {len(found) - FEW:,} more, of {count(rest, 'fixture')}")
    return "\n".join(lines) + "\n\n"
