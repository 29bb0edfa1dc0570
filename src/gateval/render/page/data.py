"""What the page's program reads: a line for each fixture, and of each a block with its traces.

Blocks are compressed, and opened when somebody looks. All texts are as a reader may see them.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.plan.plan import Plan
from gateval.domain.results.averages import group_trials, scores_by_row
from gateval.domain.results.comparison import FixtureStatus
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Assessment, Side, Trial, Violation, blamed_steps
from gateval.render.page.template import as_json, seen
from gateval.render.report.evidence import (
    Pair,
    beside_prompt,
    first_difference,
    nearest_base,
    prompt_edit,
    shown_edits,
)
from gateval.render.report.facts import FixtureFacts, in_order, told
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.wording import evidence_mark, own_score, passes
from gateval.render.view import ReportView

Json = dict[str, Any]

LIMIT = 5_000_000
"""Bytes of the page: what a mail takes, and a browser opens at once."""

_LINES = 1_200_000
"""Bytes for lines of fixtures."""

_TRACE = 1_000_000
"""Characters of the steps of one trace."""

_STEP = 8_000
"""Characters of a step on which nothing rests."""

_SAID = 2_000
"""Characters of a sentence."""

STATES = tuple(FixtureStatus)
"""Whose traces are shown whole first where not all fit."""


class PageData(NamedTuple):
    """What stands in the page: `lines` as JSON, `blocks` by name, compressed."""

    lines: str
    blocks: dict[str, str]


def page_data(view: ReportView, room: int) -> PageData:
    """Return the data of a page with so many bytes of room for them.

    Each fixture has a line. Then each gets a block with one repetition of head and one of base,
    then one with all others, in the order of `in_order`; the first that does not fit ends it.
    """
    facts = in_order(view.fixtures)
    scorers, scores = _scores(view)
    lines = _lines(facts, scorers, scores)
    blocks = {"agents": _packed(_agents(view.plan))}
    room -= len(",".join(lines)) + len("[]") + len(blocks["agents"])
    shown: list[Pair] = []
    for number, fact in enumerate(facts):
        shown.append(pair := _pair(fact))
        block = _packed(_fixture(view, fact, pair))
        room -= len(block) + _TAG
        if room < 0 or number >= len(lines):
            break
        blocks[f"{number}a"] = block
    for number, (fact, pair) in enumerate(zip(facts, shown, strict=False) if room >= 0 else ()):
        others = (one for one in (*fact.head, *fact.base) if all(one is not each for each in pair))
        if trials := list(others):
            block = _packed(_trials(fact, trials))
            room -= len(block) + _TAG
            if room < 0:
                break
            blocks[f"{number}b"] = block
    return PageData(_index(view, lines, scorers, len(facts)), blocks)


def _lines(facts: Sequence[FixtureFacts], scorers: Sequence[str], scores: _Scores) -> list[str]:
    """Return the lines that fit, as JSON: all, or the first half, or the first half of these. None
    is made behind the first that fits in none.
    """
    lines: list[str] = []
    ends = [len("[")]
    for fact in facts:
        if ends[-1] > _LINES:
            break
        line = _line(fact)
        if scorers:
            mine = scores.get((line[0], line[1]), {})
            line.append([mine.get(name) for name in scorers])
        lines.append(as_json(line))
        ends.append(ends[-1] + len(lines[-1]) + len(","))
    fitting = len(facts)
    while fitting > len(lines) or ends[fitting] > _LINES:
        fitting //= 2
    return lines[:fitting]


_SCORERS = 12
"""Scorers of experiments that have a column."""

_Scores: TypeAlias = dict[tuple[str, str], dict[str, list[float | None]]]
"""By Eval and row, and by scorer: the score of head, and that of base."""


def _scores(view: ReportView) -> tuple[list[str], _Scores]:
    """Return the scorers of experiments, and what each says of each row on both sides."""
    trials = group_trials(view.report.results.trials)
    found: _Scores = {}
    for planned in view.plan.evals:
        if not planned.scoring.model.scorers or planned.bar is not None:
            continue
        sides = [scores_by_row(planned, side, trials) for side in (Side.HEAD, Side.BASE)]
        for number, fixture in enumerate(planned.fixtures):
            found[planned.name, fixture.name] = {
                seen(scorer, 80): [side[scorer][number] for side in sides] for scorer in sides[0]
            }
    return list(dict.fromkeys(name for row in found.values() for name in row))[:_SCORERS], found


def _pair(fact: FixtureFacts) -> Pair:
    """Return the repetitions that are shown first; what passes needs no search for the nearest."""
    if fact.status.fine:
        return Pair(fact.worst, next(iter(fact.base), None))
    return Pair(fact.worst, nearest_base(fact, fact.worst))


_TAG = 60
"""Bytes of the element around a block."""


def _index(view: ReportView, lines: list[str], scorers: list[str], total: int) -> str:
    plan = view.plan
    first = {
        "run": view.report.results.info.run,
        "states": STATES,
        "evals": [
            {"name": one.name, "shown": one.shown_name, "own": one.own_name, "agent": one.agent}
            for one in plan.evals
        ],
    }
    rest = {"left": total - len(lines), "scorers": scorers}
    return f'{as_json(first)[:-1]},"fixtures":[{",".join(lines)}],{as_json(rest)[1:]}'


def _packed(value: Any) -> str:
    packed = gzip.compress(as_json(value).encode(), 4, mtime=0)
    return base64.b64encode(packed).decode()


def _line(fact: FixtureFacts) -> list[Any]:
    """Eval, name, severity, state, repetitions of head and base, how many passed, why, axes, and
    how many steps there are.
    """
    steps = sum(len(one.trace.steps) for one in (*fact.head, *fact.base) if one.trace)
    why = fact.broken[0].reason if fact.broken else fact.why
    return [
        fact.planned.name,
        fact.fixture.name,
        fact.fixture.severity,
        STATES.index(fact.status),
        _strip(fact, fact.head, fact.compared.missing),
        _strip(fact, fact.base, fact.compared.missing_base),
        passes(fact.compared),
        seen(why, 160),
        sorted({show_axis(one.axis) for one in fact.fixture.assertions if one.axis}),
        steps,
    ]


def _strip(fact: FixtureFacts, trials: Sequence[Trial], missing: int) -> str:
    """A letter for each repetition: passed, scored, failed, no answer, or lost."""
    return "".join(_mark(fact, one) for one in trials) + "-" * missing


def _mark(fact: FixtureFacts, trial: Trial) -> str:
    """The letter of a trial: `p`, or `m` where it is scored instead, `f`, `s` where the candidate
    is silent, `?` where lost.
    """
    if trial.passed is None:
        return "?"
    if trial.passed:
        return "m" if fact.planned.scoring.model.scorers else "p"
    return "f" if trial.answered else "s"


def _fixture(view: ReportView, fact: FixtureFacts, pair: Pair) -> Json:
    fixture = fact.fixture
    found = None if fact.status.fine else first_difference(fact, pair)
    run, name = view.report.results.info.run, f"{fact.planned.own_name}/{fact.fixture.name}"
    again = one_fixture_command(view.plan, fact)
    stands = fact.stands
    return {
        "about": seen(fixture.description, _SAID),
        "place": f"{seen(fixture.place.file, 300)}:{fixture.place.line}",
        "agent": fact.planned.agent,
        "score": own_score(fact.compared),
        "why": seen(fact.why, _SAID),
        "then": seen(stands.excerpt, _STEP) if stands else "",
        "pair": [one.key.repetition if one else 0 for one in pair],
        "difference": found
        and {
            "head": found.head_step.number if found.head_step else 0,
            "base": found.base_step.number if found.base_step else 0,
            "said": seen(str(found), _SAID),
        },
        "trials": _trials(fact, [one for one in pair if one is not None]),
        "outline": [_outline(fact, one) for one in (*fact.head, *fact.base)],
        "commands": [
            ["Run it again", again],
            ["See it in a terminal", f"gateval show {run} {name}"],
            ["Make a fixture of an answer", f"gateval promote {run} --fixture {fixture.name}"],
            *(
                [["Say that the judge is wrong", _challenge(run, name, pair)]]
                if fixture.is_judged
                else []
            ),
        ],
    }


def _challenge(run: str, name: str, pair: Pair) -> str:
    number = pair.head.key.repetition if pair.head else 1
    return (
        f"gateval challenge {name} --run {run} --repetition {number} --score 1 "
        '--reason judgeWrong --note "..."'
    )


def _outline(fact: FixtureFacts, trial: Trial) -> Json:
    steps = len(trial.trace.steps) if trial.trace else 0
    side, number = trial.key.side.value, trial.key.repetition
    return {"side": side, "rep": number, "mark": _mark(fact, trial), "steps": steps}


def _trials(fact: FixtureFacts, trials: Sequence[Trial]) -> list[Json]:
    """Return trials of a fixture. Of most the assessments are the very same, which are looked at
    once.
    """
    ended = {id(one.assessments): one for one in trials}
    checks = {same: list(_checks(fact, one)) for same, one in ended.items()}
    return [_trial(fact, one, checks[id(one.assessments)]) for one in trials]


def _trial(fact: FixtureFacts, trial: Trial, checks: list[Json]) -> Json:
    usage = trial.usage
    blamed = set(blamed_steps(trial.assessments))
    steps, left = _steps_of(trial, blamed)
    return {
        "side": trial.key.side.value,
        "rep": trial.key.repetition,
        "mark": _mark(fact, trial),
        "outcome": trial.outcome.value,
        "reason": seen(trial.reason, _SAID),
        "seconds": round(trial.seconds, 2),
        "tokens": usage.total,
        "usd": usage.usd,
        "models": [seen(one, 200) for one in trial.trace.models] if trial.trace else [],
        "source": trial.trace.source if trial.trace else "",
        "output": "" if steps else seen(trial.output or "", _STEP),
        "printed": seen("\n".join(trial.detail), _STEP),
        "steps": steps,
        "left": left,
        "checks": checks,
    }


def _steps_of(trial: Trial, blamed: set[int]) -> tuple[list[Json], int]:
    """Return the steps, and how many do not fit."""
    steps = trial.trace.steps if trial.trace else ()
    found: list[Json] = []
    room = _TRACE
    for step in steps:
        shown = _step(step, None if step.number in blamed else _STEP)
        room -= len(shown["text"])
        if room < 0:
            break
        found.append(shown)
    return found, len(steps) - len(found)


def _step(step: Step, limit: int | None) -> Json:
    call = step.kind is StepKind.TOOL_CALL
    text = canonical_json(step.arguments or {}) if call else step.text
    shown: Json = {"kind": step.kind.value, "text": seen(text, limit)}
    if step.tool:
        shown["tool"] = seen(step.tool, 200)
    if step.conversation > 1:
        shown["conversation"] = step.conversation
    if step.agent:
        shown["agent"] = seen(step.agent, 200)
    if step.refused:
        shown["refused"] = True
    if step.truncated:
        shown["cut"] = True
    return shown


def _checks(fact: FixtureFacts, trial: Trial) -> Iterator[Json]:
    """Yield how each assertion ended, with the parts that decided it: what did not pass first."""
    for one in sorted(trial.assessments, key=lambda one: one.passed):
        for each in told([one]) if not one.passed else [one]:
            yield {
                "label": seen(fact.label(each), 300),
                "status": each.status.value,
                "ended": seen(fact.ended(each), 300),
                "reason": seen(each.reason, _SAID),
                "place": seen(fact.place(each), 300),
                "steps": each.steps,
                "claimed": each.claimed,
                **_judged(each),
            }


def _judged(found: Assessment) -> Json:
    if found.verdict is None:
        return {}
    return {
        "judge": {
            "says": seen(found.verdict.summary, _SAID),
            "confidence": found.verdict.confidence,
            "model": seen(found.verdict.model, 200),
            "quotes": [_quote(one) for one in found.verdict.violations],
        }
    }


def _quote(found: Violation) -> Json:
    return {
        "rule": seen(found.rule, _SAID),
        "severity": found.severity.value,
        "step": found.evidence_step,
        "quote": seen(found.quote, _SAID),
        "found": found.supported,
        "mark": evidence_mark(found),
    }


_AGENTS = 200
_DIFF = 16_000
"""Characters of a prompt's diff, and of what a tool is said to do."""


def _agents(plan: Plan) -> Json:
    """What each Agent's model was told and offered, head against base, and what was changed."""
    names = list(dict.fromkeys(one.agent for one in plan.evals))[:_AGENTS]
    return {name: _agent(plan, name) for name in names}


def _agent(plan: Plan, name: str) -> Json:
    edit = prompt_edit(plan, name)
    changes = [beside_prompt(one, edit) for one in plan.changes if one.agent == name]
    shown = [shown_edits(plan, one) for one in changes]
    reasons = [reason for _, others in shown if others for reason in others.reasons]
    return {
        "models": [_models(plan, name, side) for side in (Side.HEAD, Side.BASE)],
        "tools": _tools(plan, name),
        "prompt": seen(edit.diff, _DIFF) if edit else "",
        "where": seen(edit.where, 300) if edit else "",
        "files": [
            [seen(one.name, 300), seen("\n".join(one.lines)), one.note]
            for edits, _ in shown
            for one in edits
        ],
        "changes": [
            [seen(text, 500) for text in (str(one), one.before, one.after)] for one in reasons[:50]
        ],
    }


def _models(plan: Plan, name: str, side: Side) -> list[str]:
    agent = plan.agent(name, side)
    return [seen(one, 200) for one in agent.models] if agent else []


def _tools(plan: Plan, name: str) -> list[list[str]]:
    """Each tool that a side offers: its name, how it differs, and what head, else base says."""
    sides = []
    for side in (Side.HEAD, Side.BASE):
        agent = plan.agent(name, side)
        sides.append({t.tool_name: t for t in agent.tools if t.enabled} if agent else {})
    head, base = sides
    found = []
    for tool in list(dict.fromkeys((*head, *base)))[:200]:
        ours, theirs = head.get(tool), base.get(tool)
        state = "same" if ours == theirs else "changed"
        state = "head only" if theirs is None else "base only" if ours is None else state
        about = (ours or theirs).description if ours or theirs else ""  # type: ignore[union-attr]
        found.append([seen(tool, 200), state if base else "", seen(about, 500)])
    return found
