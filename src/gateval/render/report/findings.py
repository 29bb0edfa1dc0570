"""What is wrong, each thing at the line where it can be mended: annotations and SARIF show it.

Texts are as they came; the sink sanitises them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.decision.decision import Report
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.problems import SourceLocation
from gateval.domain.results.comparison import EvalComparison, FixtureStatus
from gateval.domain.results.scoring import Meets
from gateval.domain.trials.trial import Assessment, Cause, Side, Trial, Verdict
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode
from gateval.render.report.bar import SealedLine, binding_edits, sealed_lines, whom_to_ask
from gateval.render.report.facts import (
    FixtureFacts,
    broken,
    gather,
    in_order,
    silent_agents,
    told,
)
from gateval.render.report.reproduce import one_fixture_command
from gateval.render.report.wording import (
    GAP_TITLES,
    count,
    eval_verdict,
    next_step,
    passes,
    score,
    words_of,
)

BELOW, EDIT, ELSE = "below-threshold", "lowered-bar", "no-pass"

RULES = {
    "regressed": "A fixture passes less often than on the base",
    "does-not-answer": "Head does not answer where the base does",
    "failing": "A fixture fails",
    "looks-worse": "A fixture looks worse; it is not confirmed",
    "not-measured": "A fixture was not measured",
    BELOW: "An Eval is below its threshold",
    EDIT: "The change asks less than its target branch",
    ELSE: "Something else keeps the gate from passing",
}
"""What a finding can be about, in a few words, by the name of its rule."""


class Finding(NamedTuple):
    """One thing that is wrong. `blocks` tells what is sure from what only warns.

    `eval` and `fixture` say what it is about, as far as it is; `key` is the same for the same thing
    in another run, wherever its line has moved.
    """

    rule: str
    place: SourceLocation
    blocks: bool
    title: str
    message: str
    key: str
    eval: str = ""
    fixture: str = ""


def findings(report: Report) -> tuple[Finding, ...]:
    """Return what can be told on a line of head: what blocks first, else in the report's order."""
    found = [
        finding
        for fact in in_order(gather(report))
        if not fact.status.fine
        for finding in _of_fixture(report, fact)
    ]
    below = [one for one in report.comparison.evals if one.head.meets is Meets.NO]
    found += [_of_eval(report, one) for one in below]
    found += [_of_sealed(report, one) for one in sealed_lines(report) if one.counts]
    found += [_of_edit(report, lowered) for lowered in binding_edits(report)]
    return tuple(sorted(found, key=lambda one: not one.blocks))


def other_findings(report: Report, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the reasons against a pass that `found`, which is what `findings` returned, does not
    tell, at the nearest place.
    """
    found = tuple(found)
    told = {(one.eval, one.fixture) for one in found if one.eval}
    edited = any(one.rule == EDIT for one in found)
    return tuple(
        Finding(
            ELSE,
            _nearest(report, reason),
            reason.verdict is GateVerdict.FAIL,
            reason.text,
            "",
            digest([reason.code, reason.eval, reason.fixture or reason.text]),
        )
        for reason in report.decision.reasons
        if reason.verdict is not GateVerdict.PASS
        and (reason.eval, reason.fixture) not in told
        and not (edited and reason.code is ReasonCode.LOWERED_BAR)
    )


def _of_fixture(report: Report, fact: FixtureFacts) -> Iterator[Finding]:
    rule, blocks = fact.status.replace(" ", "-"), _blocks(report, fact)
    name, eval_name = fact.fixture.name, fact.planned.name
    of = f"{fact.planned.shown_name}, severity {fact.compared.head.severity}"
    about = f"{of}: {passes(fact.compared)}"
    for one in fact.broken:
        title = f"{name}: {fact.label(one)} {fact.ended(one)}"
        key = digest([rule, fact.planned.own_name, name, _asserted(fact, one)])
        text = f"{one.reason}\n{about}"
        yield Finding(rule, fact.place_of(one), blocks, title, text, key, eval_name, name)
    if not fact.broken:
        reason = fact.why or "No planned repetition ran."
        title, text = f"{name}: {fact.status}", f"{reason}\n{about}"
        key = digest([rule, fact.planned.own_name, name])
        yield Finding(rule, fact.fixture.place, blocks, title, text, key, eval_name, name)


def _asserted(fact: FixtureFacts, assessment: Assessment) -> str:
    """Return what an assertion asks, whatever its line; its type where the fixture has it not."""
    written = fact.fixture.assertions
    if assessment.index >= len(written):
        return assessment.type
    asked = written[assessment.index]
    added = ("turn", "name", "required", "unsupported")
    later = {key for key in added if not getattr(asked, key)}
    apart = {"place", "parts", "own", "script", *later}
    own = asked.model_dump(mode="json", exclude=apart)
    return digest(own | ({"parts": asked.meaning["parts"]} if asked.parts else {}))


def _blocks(report: Report, fact: FixtureFacts) -> bool:
    """Failures block; what is uncertain or was not measured warns."""
    if fact.status not in {FixtureStatus.REGRESSED, FixtureStatus.SILENT, FixtureStatus.FAILING}:
        return False
    verdict, _ = eval_verdict(report.decision, fact.planned.name)
    return verdict is GateVerdict.FAIL


def _of_eval(report: Report, compared: EvalComparison) -> Finding:
    planned = report.results.plan.eval(compared.eval)
    title = f"{planned.shown_name} is below its threshold"
    text = f"Score {score(compared.head)}, threshold {compared.head.asks}."
    verdict, _ = eval_verdict(report.decision, compared.eval)
    blocks, key = verdict is GateVerdict.FAIL, digest([BELOW, compared.eval])
    return Finding(BELOW, planned.place, blocks, title, text, key, compared.eval)


def _of_sealed(report: Report, one: SealedLine) -> Finding:
    name, fails = one.planned.name, one.verdict is GateVerdict.FAIL
    title = f"{one.planned.shown_name} is sealed: {one.words}"
    key, text = digest([ELSE, name]), whom_to_ask(report.results.plan)
    return Finding(ELSE, one.planned.place, fails, title, text, key, name)


def _of_edit(report: Report, lowered: Lowered) -> Finding:
    """Mark an edit that asks less, on its line, or where head removed what stood there."""
    accepted = report.results.plan.bar_accepted
    what = (
        f"Accepted by {accepted}."
        if accepted
        else "It blocks until it is taken back, met or accepted."
    )
    title, key = f"Asks less: {lowered.what}", digest([EDIT, lowered.place.file, lowered.edit])
    return Finding(EDIT, lowered.place, not accepted, title, f"{lowered.edit}.\n{what}", key)


def _nearest(report: Report, reason: DecisionReason) -> SourceLocation:
    """Return the fixture's place, the Eval's, or that of the file which the reason is about."""
    plan = report.results.plan
    if reason.eval:
        planned = plan.eval(reason.eval)
        return planned.fixture(reason.fixture).place if reason.fixture else planned.place
    places = {str(doubt): doubt.problem.place for doubt in plan.doubts}
    named = (
        path
        for path in (*plan.unclaimed, *plan.locked, *(one.path for one in plan.lacking))
        if reason.text.startswith((f"{path} ", f"{path}, "))
    )
    return places.get(reason.text) or SourceLocation(file=next(named, GATE_CONFIG_PATH))


class UnmeasuredTrials(NamedTuple):
    """Trials of one Agent that say nothing, all for the same reason.

    They are of one side, or of both where it is nobody's doing. `cause` is None for planned trials
    that never ran; `reason` is then why the run ended. `detail` holds the command and the last
    lines of its output. `verdict` is what the judge said in the first of them, if it blamed what it
    could not prove. `where` names the fixtures as `eval/fixture`, `cases` says what these are
    called; `first` is the first of them.
    """

    agent: str
    cause: Cause | None
    reason: str
    detail: tuple[str, ...]
    sides: tuple[Side, ...]
    verdict: Verdict | None
    where: tuple[str, ...]
    cases: str
    trials: int
    first: FixtureFacts

    @property
    def what(self) -> str:
        """On which side, how many, and what became of them."""
        where = " and ".join(self.sides)
        return f"on {where}, {count(self.trials, 'run')}: {GAP_TITLES[self.cause]}"

    @property
    def title(self) -> str:
        """The same, with the Agent's name."""
        return f"{self.agent} {self.what}"

    @property
    def next(self) -> str:
        """What to do about them."""
        return next_step(self.cause, self.sides[0])

    def again(self, plan: Plan) -> str:
        """The command that measures just the first fixture again; empty where another run of all
        is the next step.
        """
        if self.sides[0] is Side.BASE or self.cause not in (Cause.CANDIDATE, Cause.CHECK):
            return ""
        return one_fixture_command(plan, self.first)


def find_gaps(facts: Sequence[FixtureFacts], cut: str = "") -> tuple[UnmeasuredTrials, ...]:
    """Return all gaps, head's first, in the plan's order; what was printed alike is told once, and
    not again where it is told of an Agent that fell silent.

    `cut` says why trials did not run.
    """
    found: dict[_Gap, list[_Silence]] = {}
    for fact in facts:
        for side, trial in _silences(fact):
            key: _Gap = (fact.planned.agent, None, cut, (), side)
            if trial is not None:
                cause = trial.cause or Cause.GATE
                apart = side if cause is Cause.CANDIDATE else None
                key = (fact.planned.agent, cause, trial.reason, trial.detail, apart)
            found.setdefault(key, []).append((fact, side, trial))
    said = {(one.agent, one.facts[0].worst.detail) for one in silent_agents(facts)
            if one.facts[0].worst}  # fmt: skip
    gaps = []
    for key, silences in sorted(found.items(), key=lambda one: _sides(one[1])[0] is Side.BASE):
        gap = _gap(key, silences)
        gaps.append(gap._replace(detail=()) if (gap.agent, gap.detail) in said else gap)
        said.add((gap.agent, gap.detail))
    return tuple(gaps)


_Gap = tuple[str, Cause | None, str, tuple[str, ...], Side | None]
"""What trials of one gap share: Agent, cause, reason and detail, and the side where that matters.
"""

_Silence = tuple[FixtureFacts, Side, Trial | None]


def _sides(silences: Sequence[_Silence]) -> tuple[Side, ...]:
    """Return whose trials these are, head first."""
    found = {side for _, side, _ in silences}
    return tuple(side for side in (Side.HEAD, Side.BASE) if side in found)


def _silences(fact: FixtureFacts) -> Iterator[tuple[Side, Trial | None]]:
    """Yield the trials of a fixture that say nothing; None for one that never ran."""
    for trial in (*fact.head, *fact.base):
        unanswered = fact.compared.silent and not fact.compared.no_answer and not trial.answered
        if trial.passed is None or unanswered:
            yield trial.key.side, trial
    yield from [(Side.HEAD, None)] * fact.compared.missing
    yield from [(Side.BASE, None)] * fact.compared.missing_base


def _gap(key: _Gap, silences: Sequence[_Silence]) -> UnmeasuredTrials:
    facts, (first, _, trial) = [fact for fact, _, _ in silences], silences[0]
    said = [one.verdict for one in told(broken(trial)) if one.verdict]
    return UnmeasuredTrials(
        *key[:-1],
        _sides(silences),
        said[0] if said else None,
        tuple(dict.fromkeys(f"{one.planned.shown_name}/{one.fixture.name}" for one in facts)),
        words_of(one.planned.kind for one in facts).cases,
        len(silences),
        first,
    )
