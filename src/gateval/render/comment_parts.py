"""The comment's pieces: a fixture in full or on one line, and the smaller ones, each through one
template.

The templates' engine. It lets nothing into a comment that the sanitiser has not made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from gateval.domain.plan.plan import AgentChange, ChangeKind, Plan
from gateval.domain.plan.planned_eval import Reason
from gateval.domain.problems import SourceLocation
from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.text import EMPTY, LINES, Safe, listing, markdown, table_line
from gateval.domain.trials.trial import Assessed, Assessment, Outcome, Verdict, trial_excerpt
from gateval.render.report.bar import SealedLine
from gateval.render.report.evidence import page_address
from gateval.render.report.facts import (
    FailureGroup,
    FixtureFacts,
    PromptEdit,
    SilentAgent,
    expected_and_saw,
)
from gateval.render.report.findings import UnmeasuredTrials
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.scores import AxisShare, ScorerLine
from gateval.render.report.usage import AgentUsage
from gateval.render.report.wording import (
    ICONS,
    UNVERIFIED_ICON,
    count,
    evidence_icon,
    evidence_mark,
    own_score,
    passes,
)
from gateval.render.view import EvalRow, ReportView
from gateval.safe.sanitize import block, cell, code, diff, inline, page_link, source_link

if TYPE_CHECKING:
    import jinja2


class UnsafeInterpolation(TypeError):
    """A template shows text without one of the sanitiser's filters: a bug of the template."""


def only_safe(value: object) -> object:
    """Let numbers and sanitised text pass; raise `UnsafeInterpolation` for everything else."""
    if isinstance(value, Safe | int | float) and not isinstance(value, bool):
        return value
    raise UnsafeInterpolation(f"a template shows {type(value).__name__} {value!r:.80} unsanitised")


@cache
def environment() -> jinja2.Environment:
    """The environment with the filters `inline`, `code`, `block`, `diff`, each with its limit."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("gateval.render"),
        finalize=only_safe,
        autoescape=False,  # noqa: S701 - markdown, not HTML; `finalize` is stricter
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        inline=_filter(inline), code=_filter(code), block=_filter(block), diff=_filter(diff)
    )
    return made


def _filter(sink: Callable[[str, int], Safe]) -> Callable[[object, int], Safe]:
    def sanitise(value: object, limit: int) -> Safe:
        return sink(str(value), limit)

    return sanitise


def fill(template: str, **values: object) -> Safe:
    """Return the template's text without white space at its ends."""
    return Safe(environment().get_template(template).render(**values).strip())


NAMES_WIDTH = 4_000
"""Characters for the names of those that fail alike."""


def cause(found: FailureGroup, view: ReportView) -> Safe:
    """Render everything about the worst of the fixtures that fail alike, and name the others.

    The fixture and its assertions lead to their lines in head, and to the run's report, where these
    can be seen.
    """
    fact, frame, tree_url = found.first, view.frame, view.frame.tree_url
    if fact.planned.bar is not None:
        tree_url = ""  # it stands on the target branch, perhaps nowhere on head
    return fill(
        "fixture.md.j2",
        name=_linked(inline(fact.fixture.name, 80), fact.fixture.place, tree_url),
        eval=fact.planned.shown_name,
        severity=fact.compared.head.severity,
        description=fact.fixture.description,
        difference=view.told_difference(fact),
        edit=found.edit,
        where=_where(found.edit, tree_url) if found.edit else "",
        files=[(place_link(one.reason.where, tree_url), one) for one in found.files],
        reasons=_changes(found.change, tree_url) if found.change else (),
        passes=_first_upper(passes(fact.compared)),
        score=_first_upper(own_score(fact.compared)),
        note=_note(fact),
        items=[_assessment(fact, assessment, tree_url) for assessment in fact.told],
        reason=fact.why,
        excerpts=_excerpts(fact),
        todo=_todo(fact),
        again=one_fixture_command(view.plan, fact),
        trace=page_link("What it did, step by step", frame.report_url, page_address(fact))
        if frame.report_url
        else None,
        same={"title": found.same, "names": _names(found)} if found.others else None,
    )


def cause_line(found: FailureGroup) -> Safe:
    """Render the same as one line of a list."""
    return fixture_line(found.first, found.same if found.others else "")


def cause_summary(found: FailureGroup) -> Safe:
    """Render how many fixtures fail for one reason, and for which."""
    label, reason = _told(found.first)
    return fill(
        "cause.md.j2",
        count=count(len(found.facts), "fixture"),
        label=label,
        reason=reason,
        agent=listing(found.agents, 3),
        name=found.first.fixture.name,
    )


def fixture_line(fact: FixtureFacts, same: str = "") -> Safe:
    """Render one fixture as one line of a list; `same` says which others fail alike."""
    label, reason = _told(fact)
    return fill(
        "line.md.j2",
        name=fact.fixture.name,
        eval=fact.planned.shown_name,
        severity=fact.compared.head.severity,
        passes=passes(fact.compared),
        label=label,
        reason=reason,
        same=same,
    )


def _todo(fact: FixtureFacts) -> str:
    """What a reader does next."""
    if fact.stands is not None:
        return "push a commit that mends it; running this one again takes nothing back"
    if fact.status is FixtureStatus.SUSPECT:
        return "look whether the change means it; it may be chance"
    if fact.status is FixtureStatus.FAILING and fact.failed_before:
        return "nothing for this change, unless its Eval is to reach a threshold"
    return "mend it and push"


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _told(fact: FixtureFacts) -> tuple[str, str]:
    """Return what failed first, and why."""
    if fact.broken:
        return fact.label(fact.broken[0]), fact.broken[0].reason
    return "Reason", fact.why


def _names(found: FailureGroup) -> str:
    """Name the others; their Eval only where it is another."""
    first = found.first.planned.name
    names = [
        one.fixture.name
        if one.planned.name == first
        else f"{one.planned.shown_name}/{one.fixture.name}"
        for one in found.others
    ]
    ends = accumulate(len(name) + 2 for name in names)
    return listing(names, sum(end <= NAMES_WIDTH for end in ends))


def _note(fact: FixtureFacts) -> str:
    """Return what one has to know to read the numbers."""
    said = []
    base = fact.compared.base
    if base is None:
        said.append("Not compared with base.")
    elif fact.failed_before and fact.status is not FixtureStatus.REGRESSED:
        said.append("It failed on base as well.")
    elif not base.measured:
        said.append("Base was not fully measured.")
    wavering, judged = fact.wavering
    if wavering:
        said.append(
            f"The judge wavers: shown the same again, it said otherwise for {wavering} of {judged}."
        )
    if fact.worst is not None and len(fact.head) > 1:
        said.append(f"Shown is repetition {fact.worst.key.repetition}.")
    if fact.worst is not None and fact.worst.output == "":
        said.append("The final message is empty: the steps tell why.")
    return " ".join(said)


def _linked(words: Safe, place: SourceLocation, tree_url: str) -> Safe:
    return source_link(words, tree_url, place.file, place.line)


def _assessment(fact: FixtureFacts, assessment: Assessment, tree_url: str) -> dict[str, object]:
    place = code(fact.place(assessment), 120)
    return {
        "label": fact.label(assessment),
        "what": fact.ended(assessment),
        "reason": assessment.reason,
        "said": _said(assessment.reason),
        "place": _linked(place, fact.place_of(assessment), tree_url),
        "verdict": judged(assessment.verdict, assessment.reason),
        "counts": isinstance(assessment, Assessed),
    }


def _said(reason: str) -> tuple[str, str]:
    """What was expected and what was seen, each a line of its own; empty if it does not say."""
    expected, saw = expected_and_saw(reason)
    return (expected, _first_upper(f"saw {saw}")) if saw else ("", "")


def judged(verdict: Verdict | None, said: str) -> dict[str, object] | None:
    """Return what the templates show of a verdict; its summary only if `said` leaves it out."""
    if verdict is None:
        return None
    return {
        "confidence": f"{verdict.confidence:.2f}",
        "summary": "" if verdict.summary.rstrip(".") in said else verdict.summary,
        "violations": [
            {
                "icon": evidence_icon(one),
                "mark": evidence_mark(one),
                "severity": one.severity,
                "rule": one.rule,
                "quote": one.quote,
            }
            for one in verdict.violations
        ],
        "raise": verdict.what_would_raise_score,
    }


def _excerpts(fact: FixtureFacts) -> list[dict[str, str]]:
    """Head's steps around what failed, what it printed, and what base did where it passed."""
    passed = next((trial for trial in fact.base if trial.outcome is Outcome.PASS), None)
    sources = (
        ("What head did then", fact.stands.excerpt if fact.stands else ""),
        ("What head did", trial_excerpt(fact.worst, fact.broken)),
        ("What head printed", "\n".join(fact.worst.detail) if fact.worst else ""),
        ("What base did, where it passed", trial_excerpt(passed)),
    )
    return [{"title": title, "text": text} for title, text in sources if text]


REASONS_SHOWN = 12
DETAIL_WIDTH = 300


def table_row(cells: Iterable[str], limit: int = 60) -> Safe:
    """Render one line of a table."""
    return table_line(cell(one, limit) for one in cells)


def evals_cells(found: EvalRow | SealedLine, *, claimed: bool) -> Sequence[str]:
    """Return the cells of an Eval, in the order of its columns; no claim looks like a verdict."""
    cells = found.cells if isinstance(found, SealedLine) else found[:8]
    icon = UNVERIFIED_ICON if claimed else ICONS[found.verdict]
    return *cells[:-1], f"{icon} {'claims ' if claimed else ''}{found.words}"


def silent(found: SilentAgent, plan: Plan) -> Safe:
    """Render an Agent that does not answer on head."""
    worst = found.facts[0].worst
    return fill(
        "silent.md.j2",
        agent=found.agent,
        fixtures=listing([fact.fixture.name for fact in found.facts], 8),
        reason=worst.reason if worst else "",
        detail=_detail(worst.detail if worst else ()),
        again=one_fixture_command(plan, found.facts[0]),
    )


def gap(found: UnmeasuredTrials, plan: Plan) -> Safe:
    """Render trials that were not measured, with what to do."""
    return fill(
        "gap.md.j2",
        found=found,
        reason=found.reason,
        verdict=judged(found.verdict, found.reason),
        where=listing(found.where, 6),
        again=found.again(plan),
        detail=_detail(found.detail),
    )


def _detail(lines: Sequence[str]) -> str:
    return "\n".join(line[:DETAIL_WIDTH] for line in lines)


def prompt(found: PromptEdit, tree_url: str = "") -> Safe:
    """Render the whole diff of a prompt."""
    where = _where(found, tree_url)
    return fill("prompt.md.j2", agent=found.agent, where=where, diff=found.diff)


def prompt_line(found: PromptEdit, tree_url: str = "") -> Safe:
    """Render that a prompt changed, and how much."""
    return fill(
        "prompt_line.md.j2",
        agent=found.agent,
        where=_where(found, tree_url),
        added=found.count("+"),
        removed=found.count("-"),
    )


def _where(found: PromptEdit, tree_url: str) -> Safe:
    return place_link(found.where, tree_url) if found.where else EMPTY


def place_link(where: str, tree_url: str) -> Safe:
    """Return a place, `file` or `file:line`, as code that leads there, if it can be seen."""
    parts = re.fullmatch(r"(.+):([0-9]{1,7})", where, re.DOTALL)
    path, line = (parts[1], int(parts[2])) if parts else (where, 1)
    return source_link(code(where, 200), tree_url, path, line)


def change(found: AgentChange, tree_url: str = "") -> Safe:
    """Render what changed in one Agent."""
    return fill(
        "change.md.j2",
        agent=found.agent,
        kind=found.kind,
        reasons=_changes(found, tree_url),
        more=max(0, len(found.reasons) - REASONS_SHOWN),
    )


def _changes(found: AgentChange, tree_url: str) -> list[tuple[Safe, Reason]]:
    """Return where an Agent changed, as links, and what; what was deleted leads nowhere."""
    gone = found.kind is ChangeKind.DELETED
    return [
        (place_link(one.where, "" if gone or one.what == "removed" else tree_url), one)
        for one in found.reasons[:REASONS_SHOWN]
    ]


def bullet(text: str) -> Safe:
    """Render one sentence as a list item."""
    return markdown("- {}", inline(text, 600))


def axis(found: AxisShare) -> Safe:
    """Render one line of the table of axes."""
    return table_row((found.axis, *found.sides))


def scorer(found: ScorerLine) -> Safe:
    """Render one line of the table of an experiment's scorers."""
    return table_row((found.now.scorer, found.average, found.change, found.rows, found.said))


def usage(found: AgentUsage) -> Safe:
    """Render an Agent's lines of the table of tokens, money and time."""
    return LINES.joined(
        table_row((found.agent, name, str(spent.tokens), str(spent.money), spent.time), 200)
        for name, spent in found.sides
    )
