"""The evidence behind the numbers: steps of trials, head beside base, changed prompts, and
doubts.

Where head first went another way than base, and in how many repetitions of each that was seen.

A step is another one where its kind or its tool is, where a tool gets other arguments or answers
otherwise, or where the user says something else. What varies among base's own repetitions is no
difference. Words of an answer count only where nothing else differs: models never say a thing twice
alike.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import quote

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.plan.plan import AgentChange, Plan
from gateval.domain.plan.planned_eval import Reason
from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.results.offers import offer_changes
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import excerpts, listing
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import AssessmentStatus, Side, Trial
from gateval.render.report.facts import FileDiff, FixtureFacts, PromptEdit
from gateval.render.report.wording import count

if TYPE_CHECKING:
    from gateval.domain.decision.decision import Report

_MORE_TIME = (
    "What was measured until then is shown. Give it more (`max-minutes`), or let more trials run "
    "side by side (`execution.parallel`)."
)

_ANSWERING = "What was measured is shown. Run the gate again once the provider answers."

_SHOWN_ONLY = "What was measured until then is shown."

_MORE_MONEY = (
    f"{_SHOWN_ONLY} Plan fewer repetitions, or give a run more in the gate "
    "config of the target branch."
)

_OFFERS = 8
"""Changes for the models of one Agent that are told."""

_SOURCES = {
    "gateway": "read off its model calls",
    "gate": "from the gate's own loop",
    "candidate": "claimed by the candidate",
    "answer": "none, only the answer",
}


def doubts_on_evidence(report: Report) -> Sequence[str]:
    """Return what a reader has to know before the numbers, as sentences."""
    from gateval.domain.decision.measured_reasons import EVIDENCE_CODES  # no plan needs them

    reasons = [one.text for one in report.decision.reasons if one.code in EVIDENCE_CODES]
    if ended := report.results.info.ended:
        unanswered = report.results.info.unanswered
        reasons.insert(0, f"{ended} {f'{unanswered} {_ANSWERING}' if unanswered else _MORE_TIME}")
    if report.results.info.over_budget:
        over, allowance = report.results.info.over_budget, report.results.plan.allowance
        short = allowance and allowance.ended(over)
        reasons.insert(0, f"{over} {_SHOWN_ONLY if short else _MORE_MONEY}")
    return [*dict.fromkeys(reasons), *_no_calls(report), *_claims(report), *_any_model(report)]


def trace_sources(report: Report) -> Sequence[str]:
    """Return where the traces of each Agent come from, a line each."""
    lines = []
    for agent, sides in _by_agent(report).items():
        parts = [f"{side} {_counted(trials)}" for side, trials in sides.items() if trials]
        if parts:
            lines.append(f"Traces of {agent}: {'; '.join(parts)}")
    seen = {(one.agent, one.side) for one in report.results.offers}
    agents = dict.fromkeys(one.agent for one in report.results.plan.evals if one.stored)
    lines += [
        f"What the models of {agent} were offered on base is not known: its trials are stored"
        for agent in agents
        if (agent, Side.HEAD) in seen and (agent, Side.BASE) not in seen
    ]
    return lines


def offer_lines(report: Report) -> Sequence[str]:
    """Return what changed for the models of each Agent, a line each."""
    changes = offer_changes(report.results.offers)
    return [f"{agent}: {listing(says, _OFFERS)}" for agent, says in changes.items()]


def _counted(trials: Sequence[Trial]) -> str:
    counts = Counter(trial.trace.source for trial in trials if trial.trace)
    said = [f"{_SOURCES[source]} ({count(n, 'trial')})" for source, n in sorted(counts.items())]
    led = {host for trial in trials if trial.trace for host in trial.trace.redirected}
    return listing(said, 4) + (f", redirected from {listing(sorted(led), 4)}" if led else "")


def _no_calls(report: Report) -> Iterator[str]:
    """An Agent that names a model, and asked none where the gate could see it."""
    plan = report.results.plan
    for agent, sides in _by_agent(report).items():
        for side, trials in sides.items():
            defined = plan.agent(agent, side)
            seen = sum(t.trace.model_calls for t in trials if t.trace and t.trace.is_seen)
            if trials and defined is not None and defined.models and not seen:
                yield (
                    f"0 model calls of {agent} on {side} reached the gateway, though its manifest "
                    f"names {defined.models[0]}."
                )


def _claims(report: Report) -> Iterator[str]:
    for agent, sides in _by_agent(report).items():
        claimed = sum(
            any(one.claimed for one in trial.assessments)
            and not (trial.trace and trial.trace.is_partly_seen)
            for trial in sides[Side.HEAD]
        )
        if claimed:
            yield (
                f"What {agent} did in {count(claimed, 'trial')} on head is claimed by the "
                "candidate itself; the gate did not see it."
            )


def _any_model(report: Report) -> Iterator[str]:
    """A program that calls models, and names none: it may ask whatever the gate has keys for."""
    plan = report.results.plan
    for agent, sides in _by_agent(report).items():
        asked = {name for t in sides[Side.HEAD] if t.trace for name in t.trace.models}
        defined = plan.agent(agent, Side.HEAD)
        if asked and defined is not None and not (defined.models or defined.uses):
            yield (
                f"{agent} names no model in its manifest, so it may ask for any. It asked for "
                f"{listing(sorted(asked), 4)}; name them in `spec.models` or `spec.uses`."
            )


def _by_agent(report: Report) -> dict[str, dict[Side, list[Trial]]]:
    """The answered trials of each Agent by side, head first, in the plan's order."""
    agents = {planned.name: planned.agent for planned in report.results.plan.evals}
    found: dict[str, dict[Side, list[Trial]]] = {
        agent: {Side.HEAD: [], Side.BASE: []} for agent in agents.values()
    }
    for trial in report.results.trials:
        if trial.output is not None:
            found[agents[trial.key.eval]][trial.key.side].append(trial)
    return found


_MOST = 1_000_000
"""Comparisons of steps that an alignment may take; longer traces stand side by side by number."""


class Pair(NamedTuple):
    """A trial of head, and one of base to hold beside it; None where there is none."""

    head: Trial | None
    base: Trial | None

    @property
    def rows(self) -> list[tuple[Step | None, Step | None]]:
        """The steps of both, those that mean the same in one row: see `aligned`."""
        return aligned(_steps(self.head), _steps(self.base))


def page_address(fact: FixtureFacts, trial: Trial | None = None, step: int = 0) -> str:
    """Return where the page shows a fixture, or one step of it: the same in every run."""
    parts = [fact.planned.name, fact.fixture.name]
    if trial is not None:
        parts += [trial.key.side.value, str(trial.key.repetition)]
        parts += [str(step)] if step else []
    return "#" + "/".join(quote(one, safe="") for one in parts)


def chosen(fact: FixtureFacts, repetition: int | None) -> Pair:
    """Return the trials to show: this repetition, else head's worst and base's beside it."""
    head = _repetition(fact.head, repetition) if repetition else fact.worst
    number = repetition or (head.key.repetition if head else 1)
    base = _repetition(fact.base, number) or (None if repetition else next(iter(fact.base), None))
    return Pair(head, base)


def aligned(head: Sequence[Step], base: Sequence[Step]) -> list[tuple[Step | None, Step | None]]:
    """Return both in rows, by a longest common subsequence of what the steps mean: their kind, and
    the tool that is called or answers. What stands between two such steps is put side by side.
    """
    ours, theirs = list(map(_meaning, head)), list(map(_meaning, base))
    if len(ours) * len(theirs) > _MOST:
        same = [(at, at) for at in range(min(len(ours), len(theirs)))]
    else:
        same = _common(ours, theirs)
    rows: list[tuple[Step | None, Step | None]] = []
    row, column = 0, 0
    for left, right in [*same, (len(head), len(base))]:
        rows += zip_longest(head[row:left], base[column:right])
        if left < len(head) and right < len(base):
            rows.append((head[left], base[right]))
        row, column = left + 1, right + 1
    return rows


def _common(ours: Sequence[object], theirs: Sequence[object]) -> list[tuple[int, int]]:
    """Return the positions of a longest common subsequence, the earliest pairs first."""
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for at in range(len(ours) - 1, -1, -1):
        for to in range(len(theirs) - 1, -1, -1):
            lengths[at][to] = (
                lengths[at + 1][to + 1] + 1
                if ours[at] == theirs[to]
                else max(lengths[at + 1][to], lengths[at][to + 1])
            )
    found, at, to = [], 0, 0
    while at < len(ours) and to < len(theirs):
        if ours[at] == theirs[to]:
            found.append((at, to))
            at, to = at + 1, to + 1
        elif lengths[at + 1][to] >= lengths[at][to + 1]:
            at += 1
        else:
            to += 1
    return found


def _meaning(step: Step | None) -> object:
    return (step.kind, step.tool) if step else None


def _steps(trial: Trial | None) -> Sequence[Step]:
    return trial.trace.steps if trial and trial.trace else ()


def _repetition(trials: Sequence[Trial], number: int) -> Trial | None:
    return next((trial for trial in trials if trial.key.repetition == number), None)


WORSE = (FixtureStatus.REGRESSED, FixtureStatus.SILENT, FixtureStatus.SUSPECT)
"""What does worse than base, or looks like it."""


def prompt_edits(plan: Plan, facts: Iterable[FixtureFacts]) -> Sequence[PromptEdit]:
    """Return the prompts' changes of all Agents that do worse than base, or look like it."""
    agents = dict.fromkeys(one.planned.agent for one in facts if one.status in WORSE)
    found = (prompt_edit(plan, agent) for agent in agents)
    return [one for one in found if one is not None]


def prompt_edit(plan: Plan, name: str) -> PromptEdit | None:
    """Return how an Agent's prompt differs; None where it does not, or only one side has it."""
    head, base = plan.agent(name, Side.HEAD), plan.agent(name, Side.BASE)
    if head is None or base is None:
        return None
    old, new = base.system.splitlines(), head.system.splitlines()
    lines = list(difflib.unified_diff(old, new, lineterm=""))[2:]  # the first two name the files
    if not lines:
        return None
    reasons = (one for change in plan.changes if change.agent == name for one in change.reasons)
    where = next((one.where for one in reasons if one.what == _PROMPT), "")
    return PromptEdit(name, where, lines)


_PROMPT = "spec.system"
"""What a changed prompt is called among the reasons of a change."""


def beside_prompt(change: AgentChange, edit: PromptEdit | None) -> AgentChange:
    """Return what changed in an Agent but for its prompt, where that is shown line by line."""
    reasons = change.reasons
    if edit is not None:
        reasons = tuple(one for one in reasons if (one.where, one.what) != (edit.where, _PROMPT))
    return change.replace(reasons=reasons)


def shown_edits(plan: Plan, change: AgentChange) -> tuple[list[FileDiff], AgentChange | None]:
    """Return the files of a changed Agent whose lines are known, and what else changed in it."""
    known = {one.where: one for one in plan.edits}
    found: dict[Reason, FileDiff] = {}
    for reason in change.reasons:
        edit = known.get(reason.where)
        if edit is not None and not (reason.before or reason.after):
            note = f"{count(edit.left, 'line')} left out" if edit.left else edit.unread
            found[reason] = FileDiff(reason, edit.diff.split("\n") if edit.diff else [], note)
    return [*found.values()], _without(change, found)


def short_edits(plan: Plan, change: AgentChange) -> tuple[list[FileDiff], AgentChange | None]:
    """Return the files of which all changed lines fit beside what they may have broken, those with
    the fewest first; what else changed in the Agent is named there.
    """
    found, _ = shown_edits(plan, change)
    room, short = _BESIDE, set[Reason]()
    for one in sorted(found, key=lambda one: len(one.lines)):
        room -= len(one.lines)
        if room >= 0 and one.lines and not one.note and max(map(len, one.lines)) <= _LINE:
            short.add(one.reason)
    return [one for one in found if one.reason in short], _without(change, short)


def _without(change: AgentChange, gone: Collection[Reason]) -> AgentChange | None:
    left = tuple(one for one in change.reasons if one not in gone)
    return change.replace(reasons=left) if left else None


_BESIDE = 32
"""Lines of diffs of files that stand beside what they may have broken."""

_LINE = 200
"""Characters of such a line."""

_TRIED = 8
"""Repetitions of base that are held beside head's to find the nearest."""

_Place: TypeAlias = tuple[object, int]
"""What a step is, and how many such steps there are up to it: the same thing in other traces."""

_DOES = {
    StepKind.USER: "hears the user",
    StepKind.ASSISTANT: "answers in words",
    StepKind.TOOL_CALL: "calls {}",
    StepKind.TOOL_RESULT: "gets a result of {}",
    StepKind.ERROR: "meets an error",
}


class Difference(NamedTuple):
    """The first row of two traces that differs; a side is None that has no step there.

    `said` is the sentence, without how often. `head` and `base` of so many repetitions with a trace
    each do what it says of head or, where head lacks a step, what it says of base.
    """

    head_step: Step | None
    base_step: Step | None
    said: str
    head: tuple[int, int]
    base: tuple[int, int]

    @property
    def tells(self) -> bool:
        """Whether it is more than other words of an answer."""
        worded = self.head_step is not None and self.base_step is not None
        kinds = {one.kind for one in (self.head_step, self.base_step) if one}
        return not (worded and kinds == {StepKind.ASSISTANT})

    def __str__(self) -> str:
        ours, theirs = (f"{seen:,} of {total:,}" for seen, total in (self.head, self.base))
        return f"{self.said}: {ours} on head, {theirs} on base"


def nearest_base(fact: FixtureFacts, head: Trial | None) -> Trial | None:
    """Return base's repetition with which head's has most steps in common: one that passed, if one
    did; None where base has none.
    """
    passed = [one for one in fact.base if one.passed]
    traced = [one for one in passed if _steps(one)]
    found = (traced or passed or fact.base)[:_TRIED]
    if len(found) < 2 or head is None:
        return next(iter(found), None)
    return min(found, key=lambda one: _distance(Pair(head, one)))


def _distance(pair: Pair) -> int:
    return sum(
        3 if _apart(ours, theirs) else _content(ours) != _content(theirs)
        for ours, theirs in pair.rows
    )


def first_difference(fact: FixtureFacts, pair: Pair) -> Difference | None:
    """Return where head first differs from base; None where one has no trace, or nothing does.

    Where only words of answers differ, those of a step that a failed assertion blames come first.
    """
    sides = [list(filter(None, map(_steps, trials))) for trials in (fact.head, fact.base)]
    if not (_steps(pair.head) and _steps(pair.base)):
        return None
    passed = [steps for one in fact.base if one.passed and (steps := _steps(one))] or sides[1]
    worded: list[tuple[Step, Step]] = []
    for ours, theirs, mine, other in _placed(pair):
        if ours is None or theirs is None or _apart(ours, theirs):
            return _another_step(pair, (ours, theirs), (mine, other), sides)
        if _content(ours) == _content(theirs):
            continue
        if ours.kind is StepKind.ASSISTANT:
            worded.append((ours, theirs))
        elif len({_content(found) for one in passed if (found := _find(one, other))}) < 2:
            return _other_content(ours, theirs, mine, sides)
    if not worded:
        return None
    checks = pair.head.assessments if pair.head else ()
    failed = [one for one in checks if one.status is AssessmentStatus.FAILED]
    blamed = {number for one in failed for number in one.steps}
    step, beside = next((row for row in worded if row[0].number in blamed), worded[0])
    return _other_content(step, beside, _place_in(_steps(pair.head), step), sides)


_Sides: TypeAlias = Sequence[Sequence[Sequence[Step]]]
"""The traces of head, and those of base."""


def _another_step(
    pair: Pair,
    row: tuple[Step | None, Step | None],
    places: tuple[_Place, _Place],
    sides: _Sides,
) -> Difference:
    (ours, theirs), (mine, other) = row, places
    head, base = _steps(pair.head), _steps(pair.base)
    if ours is None:
        said = f"base {_does(theirs)}, head {_later(head, other)}"
    elif theirs is None:
        said = f"head {_does(ours)}, base {_later(base, mine)}"
    else:
        said = f"head {_does(ours)} where base {_does(theirs)}"
    step, own, place = (ours, head, mine) if ours else (theirs, base, other)
    found = _counted_in(sides, lambda trace: _find(trace, place) is not None)
    (on_head, heads), (on_base, bases) = found
    if (on_head * bases <= on_base * heads) if ours else (on_base * heads <= on_head * bases):
        before = _before(own, step)  # both do it, each at another point
        found = _counted_in(sides, lambda trace: _before(trace, _find(trace, place)) == before)
    return Difference(ours, theirs, _at(step, said), *found)


def _at(step: Step | None, said: str) -> str:
    return f"At step {step.number} {said}" if step else said


def _later(trace: Sequence[Step], place: _Place) -> str:
    """Say of the side that lacks a step whether it comes to it at another point."""
    found = _find(trace, place)
    return f"only at step {found.number}" if found else "does not"


def _other_content(ours: Step, theirs: Step, place: _Place, sides: _Sides) -> Difference:
    tool = _tool(ours)
    said = {
        StepKind.TOOL_CALL: f"head calls {tool} with other arguments than base",
        StepKind.TOOL_RESULT: f"{tool} answers head otherwise than base",
        StepKind.USER: "the user tells head something else than base",
        StepKind.ERROR: "head meets another error than base",
        StepKind.ASSISTANT: "head words its answer otherwise than base",
    }[ours.kind]
    if ours.kind in {StepKind.TOOL_CALL, StepKind.TOOL_RESULT}:
        theirs_told, ours_told = excerpts(_told(theirs), _told(ours))
        if theirs_told and ours_told:
            said = f"{said} (`{ours_told}` instead of `{theirs_told}`)"
    content = _content(ours)

    def does(trace: Sequence[Step]) -> bool:
        found = _find(trace, place)
        return found is not None and _content(found) == content

    return Difference(ours, theirs, _at(ours, said), *_counted_in(sides, does))


def _told(step: Step) -> JsonValue:
    """A call's arguments, or what a tool answered, read as JSON if that is what it is."""
    if step.kind is StepKind.TOOL_CALL:
        return step.arguments or {}
    try:
        return read_json(step.text)
    except NotStrictJson:
        return step.text


def _counted_in(
    sides: _Sides, does: Callable[[Sequence[Step]], bool]
) -> tuple[tuple[int, int], tuple[int, int]]:
    head, base = ((sum(map(does, traces)), len(traces)) for traces in sides)
    return head, base


def _placed(pair: Pair) -> Iterator[tuple[Step | None, Step | None, _Place, _Place]]:
    """Yield the rows, with the place of each side's step."""
    counts: tuple[Counter[object], Counter[object]] = (Counter(), Counter())
    for row in aligned(_steps(pair.head), _steps(pair.base)):
        places: list[_Place] = []
        for step, seen in zip(row, counts, strict=True):
            meaning = _meaning(step)
            seen[meaning] += 1
            places.append((meaning, seen[meaning]))
        yield row[0], row[1], places[0], places[1]


def _find(trace: Sequence[Step], place: _Place) -> Step | None:
    meaning, number = place
    alike = [one for one in trace if _meaning(one) == meaning]
    return alike[number - 1] if len(alike) >= number else None


def _place_in(trace: Sequence[Step], step: Step) -> _Place:
    meaning = _meaning(step)
    return meaning, sum(_meaning(one) == meaning for one in trace[: step.number])


def _before(trace: Sequence[Step], step: Step | None) -> object:
    """What comes right before a step; None where the step is not there."""
    if step is None:
        return None
    return [_meaning(one) for one in trace[: step.number - 1]][-1:]


def _apart(ours: Step | None, theirs: Step | None) -> bool:
    return ours is None or theirs is None or _meaning(ours) != _meaning(theirs)


def _content(step: Step | None) -> str:
    if step is None:
        return ""
    return canonical_json(step.arguments or {}) if step.kind is StepKind.TOOL_CALL else step.text


def _does(step: Step | None) -> str:
    return _DOES[step.kind].format(_tool(step)) if step else "does nothing"


def _tool(step: Step) -> str:
    return f"`{step.tool or '?'}`"
