"""The pull-request comment: the view of a report as markdown that GitHub shows.

Equal trials give equal bytes: nothing in here depends on a clock, a run id or a duration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from gateval.domain.label_decision import GateLabel
from gateval.domain.text import (
    BORDER,
    EMPTY,
    END,
    LINES,
    MARKER,
    PARAGRAPHS,
    Safe,
    listing,
    markdown,
)
from gateval.render import comment_parts
from gateval.render.comment_parts import cause, cause_line, cause_summary, fill, fixture_line
from gateval.render.report.bar import SealedLine
from gateval.render.report.facts import FEW, FailureGroup
from gateval.render.report.usage import only_judges_scripted
from gateval.render.report.wording import GLOSSARY, ICONS, UNVERIFIED_ICON, count
from gateval.render.view import EvalRow, ReportView, Section, SectionKind, passing_line
from gateval.safe.sanitize import inline, link, own_command

T = TypeVar("T")

_TAIL = 200
"""Room kept in a part that is cut for the line that says how much was left out."""

_GAP = 2
"""The empty line after a part."""


def size(text: str) -> int:
    """Return the length in UTF-16 units, the strictest way in which GitHub may count."""
    return len(text.encode("utf-16-le")) // 2


class CommentBlock(NamedTuple, Generic[T]):
    """A heading and its pieces, most important first.

    Up to `most` pieces are shown in `full`; the others, if there is a `brief`, as folded lines.
    `noun` names what the notice counts, of which a piece holds `holds`. `weight` is the part's
    share of the room where not everything fits, relative to the other parts.
    """

    noun: str
    opening: Safe
    items: Sequence[T]
    full: Callable[[T], Safe]
    brief: Callable[[T], Safe] | None = None
    closing: Safe = EMPTY
    joint: Safe = PARAGRAPHS
    most: int = 1000
    weight: float = 1.0
    holds: Callable[[T], int] = lambda _: 1


class Fitted(NamedTuple):
    """What fitted: the parts' texts, and what was left out as `12 failing fixtures`."""

    texts: tuple[Safe, ...]
    left_out: tuple[str, ...]


def fit(parts: Sequence[CommentBlock[Any]], limit: int) -> Fitted:
    """Fill the parts in their order; together they stay below `limit` (see `size`).

    A part gets the room that it needs, if that is no more than its share; what it does not need
    is shared among the others.
    """
    fillings = [_Filling(part) for part in parts]
    needs = [filling.need(limit) for filling in fillings]
    rooms = shares(needs, [part.weight for part in parts], limit)
    spare, texts, left_out = 0.0, [], []
    for part, filling, room in zip(parts, fillings, rooms, strict=True):
        text, left = filling.fill(room + spare - _GAP)
        spare += room - (size(text) + _GAP if text else 0)
        if text:
            texts.append(text)
        if left:
            left_out.append(f"{left:,} {part.noun}{'' if left == 1 else 's'}")
    return Fitted(tuple(texts), tuple(left_out))


def shares(needs: Sequence[float], weights: Sequence[float], limit: float) -> Sequence[float]:
    """Return the room of each part: its need, or by weight what is left once others have theirs."""
    rooms = [0.0] * len(needs)
    waiting, left = set(range(len(needs))), limit
    while waiting:
        unit = left / sum(weights[one] for one in waiting)
        served = {one for one in waiting if needs[one] <= unit * weights[one]}
        for one in served or waiting:
            rooms[one] = needs[one] if served else unit * weights[one]
            left -= rooms[one] if served else 0
        waiting = waiting - served if served else set()
    return rooms


class _Filling(Generic[T]):
    """One part; each of its pieces is rendered once."""

    def __init__(self, part: CommentBlock[T]) -> None:
        self._part = part
        self._total = len(part.items)
        self._full = cache(lambda number: part.full(part.items[number]))
        brief = part.brief
        self._brief = cache(lambda number: brief(part.items[number])) if brief else None

    def need(self, limit: float) -> float:
        """Return the room for all of it and the gap after it; `limit` if that is too little."""
        whole = self._whole(limit)
        return limit if whole is None else size(whole) + _GAP

    def fill(self, room: float) -> tuple[Safe, int]:
        """Return the part's text, empty if not even one piece fits, and how much it lacks."""
        whole = self._whole(room)
        if whole is not None:
            return whole, 0
        part = self._part
        room -= size(part.opening) + size(part.closing) + _TAIL
        full_room = room * 0.7 if self._brief and self._total > 1 else room
        full = _taken(map(self._full, range(min(part.most, self._total))), full_room, part.joint)
        room -= sum(size(self._full(number)) + len(part.joint) for number in range(full))
        rest = map(self._brief, range(full, self._total)) if self._brief else ()
        shown = full + _taken(rest, room, "\n")
        return (self._text(full, shown) if shown else EMPTY), self._left(shown)

    def _whole(self, limit: float) -> Safe | None:
        """Return all of it if that fits; nothing beyond `limit` is rendered."""
        part = self._part
        full = min(part.most, self._total)
        if full < self._total and not self._brief:
            return None
        pieces = chain(
            map(self._full, range(full)),
            map(self._brief, range(full, self._total)) if self._brief else (),
        )
        if _taken(pieces, limit, "") < self._total:
            return None
        text = self._text(full, self._total)
        return text if size(text) <= limit else None

    def _left(self, shown: int) -> int:
        return sum(map(self._part.holds, self._part.items[shown:]))

    def _text(self, full: int, shown: int) -> Safe:
        part, left = self._part, self._left(shown)
        body, rest = part.joint.joined(map(self._full, range(full))), EMPTY
        if shown > full and self._brief:
            lines = [self._brief(number) for number in range(full, shown)]
            rest = _folded(lines, left, held=self._left(full))
        elif left:
            rest = markdown("\n\n\N{HORIZONTAL ELLIPSIS} and {:,} more.", left)
        return EMPTY.joined([part.opening, body, rest, part.closing])


def _taken(pieces: Iterable[str], room: float, joint: str) -> int:
    """Return how many of the first pieces fit."""
    taken = 0
    for piece in pieces:
        room -= size(piece) + len(joint)
        if room < 0:
            break
        taken += 1
    return taken


def _folded(lines: Sequence[Safe], left: int, *, held: int) -> Safe:
    more = [markdown("- \N{HORIZONTAL ELLIPSIS} and {:,} more.", left)] if left else []
    body = LINES.joined([*lines, *more])
    return markdown("\n\n<details><summary>{:,} more</summary>\n\n{}\n\n</details>", held, body)


LIMIT = 60_000
"""GitHub refuses comments of more than 65,536 characters. The rest is for what a label event says
above the evidence, which stays."""

_NOTICE = 700
"""Room kept for the sentence that says what was left out."""

_PASSING_SHOWN = 100

_ROWS = 20
"""Evals in the first table: what is said about the worst fixtures should not be far below."""


def render_comment(view: ReportView, *, limit: int = LIMIT) -> Safe:
    """Return the comment as GitHub-flavoured markdown of at most `limit` UTF-16 units.

    `limit` must be at least 20,000. What does not fit is cut between whole pieces and named.
    """
    head, foot = _head(view), _foot(view, "")
    room = limit - size(head) - size(foot) - _NOTICE
    fitted = fit([_part(view, one) for one in _closed(view.sections)], room)
    if fitted.left_out:
        foot = _foot(view, listing(fitted.left_out, 12))
    return markdown("{}\n", PARAGRAPHS.joined((head, *fitted.texts, foot)))


def _head(view: ReportView) -> Safe:
    frame, verdict = view.frame, view.verdict
    return fill(
        "head.md.j2",
        marker=MARKER,
        icon=UNVERIFIED_ICON if frame.unverified else ICONS[verdict],
        verdict=f"unverified, claims {verdict}" if frame.unverified else verdict,
        unverified=frame.unverified,
        unkept=frame.unkept,
        fresh=view.plan.fresh,
        why=view.headline,
        labels=view.labels,
        scripted=view.scripted,
        judged_by_script=only_judges_scripted(view.report),
        border=BORDER,
        end=END,
    )


def _foot(view: ReportView, left_out: str) -> Safe:
    plan, frame = view.plan, view.frame
    return fill(
        "foot.md.j2",
        command=view.command,
        rerun=own_command(view.rerun),
        explain=own_command(view.explain),
        worktree=plan.head.worktree,
        head=plan.head.short,
        base=plan.base.short if plan.base else "",
        resumed=view.report.results.info.resumed,
        recorded=view.report.results.info.recorded,
        policy_source=plan.policy_source,
        policy_digest=plan.policy_digest[:12],
        left_out=left_out,
        report=link("Report with all traces", frame.report_url) if frame.report_url else "",
        log=link("Log of this run", frame.run_url) if frame.run_url else "",
        words=link("What the words mean", GLOSSARY),
        artifacts=link("Results and traces", frame.files_url) if frame.files_url else "",
        lost=frame.report_lost and not frame.files_url,
        anchor=frame.anchor,
        labels=view.labels,
        may_bypass=view.may_bypass,
        label=GateLabel.BYPASS,
        border=BORDER,
        end=END,
    )


class _How(NamedTuple):
    """How the items of a section are written: in full, on one line where there is no room, and what
    stands between them. Of a table, `numbers` are the columns with numbers, `order` is that of the
    columns where it is not the section's.
    """

    full: Callable[[ReportView, Any], Safe]
    brief: Callable[[ReportView, Any], Safe] | None = None
    joint: Safe = LINES
    most: int = 1000
    numbers: frozenset[int] | None = None
    order: tuple[int, ...] = ()


def _evals(view: ReportView, item: EvalRow | SealedLine, order: Iterable[int]) -> Safe:
    cells = comment_parts.evals_cells(item, claimed=bool(view.frame.unverified))
    return comment_parts.table_row(cells[at] for at in order)


_SCORES = (7, 4, 0, 1, 2, 3, 5, 6)
"""What a phone shows of the Evals comes first: the verdict, how much it moved, of which Agent."""

_RATES = (4, 0, 1, 2, 3)

_CAUSES = 5
"""Causes that are told in full, as many as the report has reasons; the others are folded lines."""

_LINES = _How(lambda _, item: comment_parts.bullet(str(item)))

_HOW: Final[Mapping[SectionKind, _How]] = MappingProxyType(
    {
        SectionKind.EVALS: _How(
            lambda view, item: _evals(view, item, _SCORES),
            numbers=frozenset({2, 3, 4, 5, 6}),
            order=_SCORES,
        ),
        SectionKind.SEALED: _How(
            lambda view, item: _evals(view, item, _RATES),
            numbers=frozenset({2, 3}),
            order=_RATES,
        ),
        SectionKind.SCORERS: _How(
            lambda _, item: comment_parts.scorer(item), numbers=frozenset({1, 2, 3})
        ),
        SectionKind.AXES: _How(
            lambda _, item: comment_parts.table_row(item), numbers=frozenset({2, 3})
        ),
        SectionKind.FIXTURES: _How(
            lambda view, item: cause(item, view),
            lambda _, item: cause_line(item),
            PARAGRAPHS,
            most=_CAUSES,
        ),
        SectionKind.PROMPTS: _How(
            lambda view, item: comment_parts.prompt(item, view.frame.tree_url),
            lambda view, item: comment_parts.prompt_line(item, view.frame.tree_url),
            PARAGRAPHS,
        ),
        SectionKind.SILENT: _How(
            lambda view, item: comment_parts.silent(item, view.plan), joint=PARAGRAPHS
        ),
        SectionKind.GAPS: _How(lambda view, item: comment_parts.gap(item, view.plan)),
        SectionKind.CHANGES: _How(
            lambda view, item: comment_parts.change(item, view.frame.tree_url)
        ),
        SectionKind.IMPROVED: _How(lambda _, item: fixture_line(item)),
        SectionKind.PASSING: _How(
            lambda _, item: comment_parts.bullet(passing_line(item)), most=_PASSING_SHOWN
        ),
        SectionKind.ASSERTIONS: _How(
            lambda _, item: comment_parts.axis(item), numbers=frozenset({1, 2})
        ),
        SectionKind.USAGE: _How(lambda _, item: comment_parts.usage(item), numbers=frozenset({4})),
    }
)
"""Sections that are no list of sentences."""

_UNNAMED = _HOW[SectionKind.EVALS]._replace(
    full=lambda view, item: _evals(view, item, (*_SCORES[:3], *_SCORES[4:])),
    order=(*_SCORES[:3], *_SCORES[4:]),
)
"""The table where the Eval's name would only repeat the Agent's."""


def _how(view: ReportView, section: Section) -> _How:
    if section.kind is not SectionKind.EVALS:
        return _HOW.get(section.kind, _LINES)
    table = next(one for one in view.sections if one.kind is SectionKind.EVALS)
    repeats = all(row.repeats for row in table.whole)
    return _UNNAMED if repeats else _HOW[SectionKind.EVALS]


def _closed(sections: Sequence[Section]) -> Sequence[Section]:
    """Return the sections with what did not move folded, and all but the first rows of the table of
    Evals, behind all that is open.
    """
    found: list[Section] = []
    rest: list[Section] = []
    for one in sections:
        most = _ROWS if one.kind is SectionKind.EVALS else len(one.items)
        more, quiet = [*one.items[most:], *one.quiet], len(one.quiet)
        if more:
            still = ", in which nothing moved" if len(more) == quiet else ""
            title = f"{count(len(more), f'more {one.noun}')}{still}"
            rest.append(one._replace(items=more, quiet=(), title=title, said=(), folded=True))
        if one.folded:
            found += rest
            rest = []
        found.append(one._replace(items=one.items[:most], quiet=()))
    return [*found, *rest]


def _part(view: ReportView, section: Section) -> CommentBlock[Any]:
    how = _how(view, section)
    note = section.note if section.kind is SectionKind.SCORERS and not section.folded else ""
    return CommentBlock(
        section.noun or section.kind.value,
        _opening(section, how),
        section.items,
        partial(how.full, view),
        partial(how.brief, view) if how.brief else None,
        closing=markdown("\n\n</details>")
        if section.folded
        else markdown("\n\nΔ: {}.", inline(note, 200))
        if note
        else EMPTY,
        joint=how.joint,
        most=how.most,
        weight=section.weight,
        holds=_fixtures_in if section.kind is SectionKind.FIXTURES else lambda _: 1,
    )


def _fixtures_in(group: FailureGroup) -> int:
    return len(group.facts)


def _opening(section: Section, how: _How) -> Safe:
    said = LINES.joined(map(comment_parts.bullet, section.said))
    table = _columns(section, how)
    rest = markdown("{}\n\n{}", said, table) if said else table
    number = len(section.items)
    if section.kind is SectionKind.FIXTURES:
        rest, number = _overview(section.items), sum(map(_fixtures_in, section.items))
    title = inline(section.title, 120)
    if section.folded:
        counted = EMPTY if table else markdown(" ({:,})", number)
        note = "" if section.kind is SectionKind.SCORERS else section.note
        about = markdown(": {}", inline(note, 200)) if note else EMPTY
        return markdown("<details><summary>{}{}{}</summary>\n\n{}", title, counted, about, rest)
    return markdown("### {}\n\n{}", title, rest) if title else rest


def _columns(section: Section, how: _How) -> Safe:
    """Return the first two lines of a table; empty for no table."""
    if how.numbers is None:
        return EMPTY
    order = how.order or range(len(section.columns))
    titles = (section.columns[at] for at in order)
    cells = (markdown(" {} |", inline(one, 60)) if one else markdown(" |") for one in titles)
    marks = (markdown("--:|") if at in how.numbers else markdown("---|") for at in order)
    return markdown("|{}\n|{}\n", EMPTY.joined(cells), EMPTY.joined(marks))


def _overview(found: Sequence[FailureGroup]) -> Safe:
    """List the causes first, where there are several and fewer than fixtures."""
    fixtures = len({fact.fixture.name for one in found for fact in one.facts})
    if not 1 < len(found) < fixtures:
        return EMPTY
    largest = sorted(found, key=lambda one: -len(one.facts))
    counted = f"{count(fixtures, 'fixture')}, {count(len(found), 'cause')}"
    lines = [markdown("{}:\n", inline(counted, 60)), *map(cause_summary, largest[:FEW])]
    if len(found) > FEW:
        rest = count(sum(map(_fixtures_in, largest[FEW:])), "fixture")
        lines.append(markdown("- and {:,} more, of {}", len(found) - FEW, inline(rest, 60)))
    return markdown("{}\n\n", LINES.joined(lines))
