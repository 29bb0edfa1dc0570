"""The one view of a report: what people are shown, in which order. Writers only write it.

It is made from what was decided, never the other way round, and after sealing. Its texts are as
they came, with words of strangers in them: each writer makes them harmless for its own sink. The
comment, the summary in a terminal, JUnit, annotations and SARIF all write from here, so a number, a
cause or an order that one of them tells is told alike by all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from gateval.domain.decision.decision import Report
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.plan.plan import Plan
from gateval.domain.results.comparison import EvalComparison, FixtureChange, FixtureStatus
from gateval.domain.results.results import run_of
from gateval.domain.text import listing
from gateval.domain.verdicts import PRECEDENCE, GateVerdict, ReasonCode
from gateval.render.report.bar import (
    LabelLine,
    SealedLine,
    bypass_title,
    label_lines,
    lowered_bar,
    met_bar,
    rate_note,
    sealed_lines,
    shown_evals,
    whom_to_ask,
)
from gateval.render.report.evidence import (
    WORSE,
    Difference,
    Pair,
    beside_prompt,
    chosen,
    doubts_on_evidence,
    first_difference,
    nearest_base,
    offer_lines,
    prompt_edits,
    short_edits,
    trace_sources,
)
from gateval.render.report.facts import (
    PLAIN,
    FailureGroup,
    FixtureFacts,
    Frame,
    causes,
    gather,
    silent_agents,
    with_status,
    worst_first,
)
from gateval.render.report.findings import Finding, find_gaps, findings, other_findings
from gateval.render.report.headline import headline
from gateval.render.report.plan_wording import removed_sentence, revisions
from gateval.render.report.reproduce import reproduce_command
from gateval.render.report.scores import (
    benchmark_lines,
    by_axis,
    experiment_sets,
    moved,
    score_lines,
)
from gateval.render.report.usage import (
    certainty,
    models_used,
    overview,
    rise_lines,
    scripted_models,
    told_of_spending,
    usage_by_agent,
)
from gateval.render.report.wording import (
    base_score,
    chance,
    delta,
    eval_verdict,
    fixtures_passed,
    passes,
    regressed_title,
    score,
    words_of,
)

_RISES = 20
"""Sentences on money and time."""

_TRACED = 20
"""Agents of which is told where their traces come from."""


class SectionKind(StrEnum):
    """What a section shows. The value names one of its items where several are left out."""

    PROVIDERS = "new provider"
    EVALS = "Eval"
    SEALED = "sealed Eval"
    SCORERS = "scorer"
    BENCHMARKS = "benchmark"
    AXES = "axis score"
    FIXTURES = "fixture"
    PROMPTS = "prompt's diff"
    OFFERS = "change for the model"
    SILENT = "silent agent"
    BAR = "lowered bar"
    EVIDENCE = "doubt"
    SPENDING = "warning on spending"
    GAPS = "gap"
    REMOVED = "removed entry"
    WARNINGS = "warning"
    CHANGES = "changed agent"
    CERTAINTY = "note on certainty"
    IMPROVED = "improved fixture"
    PASSING = "passing fixture"
    ASSERTIONS = "axis share"
    USAGE = "agent's cost"
    WHY = "reason"


class Section(NamedTuple):
    """A heading and its items, most important first; `kind` says of which type these are.

    `said` are sentences before them, `note` one behind them. What is `folded` can wait: it is shown
    closed where something can be opened. So are the `quiet` items, which follow the others: in
    these nothing moved. `columns` are the titles of a table. `weight` is its share of the room
    where not everything fits, `noun` what an item is called there.
    """

    kind: SectionKind
    title: str
    items: Sequence[Any]
    weight: float = 2
    folded: bool = False
    said: tuple[str, ...] = ()
    note: str = ""
    columns: tuple[str, ...] = ()
    noun: str = ""
    quiet: Sequence[Any] = ()

    @property
    def whole(self) -> Sequence[Any]:
        """All items, the quiet ones last."""
        return [*self.items, *self.quiet]

    def hushed(self, moves: Callable[[Any], bool]) -> Section:
        """Return it with the items that do not move as quiet ones, if there are others."""
        loud = [one for one in self.items if moves(one)]
        quiet = [one for one in self.items if not moves(one)]
        return self._replace(items=loud, quiet=quiet) if loud else self


class EvalRow(NamedTuple):
    """One Eval on a line, as text; `verdict` is what it adds to the decision, `words` say that.

    `interval` is where the true score may lie; empty where nothing was measured.
    """

    agent: str
    name: str
    score: str
    base: str
    delta: str
    threshold: str
    fixtures: str
    words: str
    verdict: GateVerdict
    interval: str = ""

    @property
    def scores(self) -> tuple[str, ...]:
        """Its words, how far it moved, its name and scores alone."""
        return self.words, self.delta, self.name, self.score, self.base

    @property
    def repeats(self) -> bool:
        """Whether its name says nothing beside that of its Agent."""
        return self.name.removesuffix("-eval") == self.agent

    @property
    def moves(self) -> bool:
        """Whether there is anything to say of it: it does not just pass as it did on base."""
        passes = (self.verdict, self.words) == (GateVerdict.PASS, GateVerdict.PASS.value)
        return not (passes and self.delta == "0.00")


class EvalView(NamedTuple):
    """One Eval in full, whether it has a line in the table or not; `kind` is its manifest's.

    `reasons` are those of the decision that are about it, `fell` its fixtures whose regression
    blocks, `left_out` those that were not looked at. `status` is that of a run of tasks; `axes` and
    `scorers` are pairs of a name and a score as text.
    """

    eval: str
    kind: str
    row: EvalRow
    fixtures: tuple[FixtureFacts, ...]
    reasons: tuple[str, ...]
    fell: frozenset[str]
    left_out: tuple[str, ...]
    status: str = ""
    axes: tuple[tuple[str, str], ...] = ()
    scorers: tuple[tuple[str, str], ...] = ()


class FixtureView(NamedTuple):
    """One fixture in full: its counts, scores and trials in `facts`, and what is wrong with it."""

    facts: FixtureFacts
    findings: tuple[Finding, ...]

    def pair(self, repetition: int | None = None) -> Pair:
        """Return this repetition of both sides; without one, head's worst beside the nearest."""
        if repetition is not None:
            return chosen(self.facts, repetition)
        return Pair(self.facts.worst, nearest_base(self.facts, self.facts.worst))


@dataclass(frozen=True)
class ReportView:
    """A report for people. What costs time is worked out when it is asked for, once."""

    report: Report
    frame: Frame = PLAIN

    @property
    def plan(self) -> Plan:
        """What was planned."""
        return self.report.results.plan

    @property
    def verdict(self) -> GateVerdict:
        """The decision."""
        return self.report.decision.verdict

    @cached_property
    def headline(self) -> str:
        """Why the gate says what it says, in one sentence without its full stop."""
        return headline(self.report)

    @property
    def title(self) -> str:
        """Verdict and cause on one line, for where there is nothing but that line."""
        if bypassed := bypass_title(self.report.decision):
            return bypassed
        claim = "unverified, claims " if self.frame.unverified else ""
        words = f"{claim}{self.verdict}: {self.headline}"
        return words[:1].upper() + words[1:]

    @property
    def revisions(self) -> str:
        """What is compared with what."""
        return revisions(self.plan)

    @property
    def labels(self) -> Sequence[LabelLine]:
        """What became of each label that was looked at."""
        return label_lines(self.report.decision)

    @cached_property
    def scripted(self) -> str:
        """The scripted models that answered or judged; empty for none."""
        return ", ".join(scripted_models(self.report))

    @property
    def may_bypass(self) -> str:
        """The roles that may let this through; empty where there is nothing to let through."""
        settled = self.verdict in {GateVerdict.PASS, GateVerdict.BYPASSED}
        return "" if settled or self.frame.unverified else " or ".join(self.frame.may_bypass)

    @property
    def command(self) -> str:
        """The command line that does the same again."""
        return reproduce_command(self.plan)

    @property
    def rerun(self) -> str:
        """The comment that has head measured again, by its whole id; empty where nobody may."""
        return f"/gateval rerun {self.plan.head.commit}" if self.may_bypass else ""

    @property
    def explain(self) -> str:
        """The comment that asks about the first fixture that is worse than it should be."""
        groups = (one.items for one in self.sections if one.kind is SectionKind.FIXTURES)
        first = next((group.first for items in groups for group in items), None)
        return f"/gateval explain {first.fixture.name}" if first and self.may_bypass else ""

    @property
    def rises(self) -> Sequence[str]:
        """How much more or less head costs than base, a sentence for each Eval that tells."""
        return rise_lines(self.report)[:_RISES]

    @property
    def fixtures(self) -> tuple[FixtureFacts, ...]:
        """All fixtures, in the plan's order."""
        return gather(self.report)

    def fixture(self, name: str) -> tuple[FixtureView, ...]:
        """Return the fixtures of this name, given as FIXTURE or EVAL/FIXTURE, in plan order."""
        evaluation, _, fixture = name.rpartition("/")
        return tuple(
            FixtureView(
                one,
                tuple(
                    each
                    for each in self.findings
                    if (each.eval, each.fixture) == (one.planned.name, fixture)
                ),
            )
            for one in self.fixtures
            if one.fixture.name == fixture and evaluation in {"", one.planned.own_name}
        )

    @cached_property
    def sealed(self) -> tuple[SealedLine, ...]:
        """The sealed Evals, in the plan's order."""
        return sealed_lines(self.report)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What can be told on a line of head, worst first."""
        return findings(self.report)

    @cached_property
    def other_findings(self) -> tuple[Finding, ...]:
        """The reasons against a pass that no finding tells."""
        return other_findings(self.report, self.findings)

    @cached_property
    def evals(self) -> tuple[EvalView, ...]:
        """All Evals with fixtures of their own, in the plan's order."""
        facts: dict[str, list[FixtureFacts]] = {}
        for fact in self.fixtures:
            facts.setdefault(fact.planned.name, []).append(fact)
        compared = {one.eval: one for one in self.report.comparison.evals}
        return tuple(_eval(self.report, compared[name], mine) for name, mine in facts.items())

    def difference(self, fact: FixtureFacts) -> Difference | None:
        """Return where head's worst repetition first went another way than the nearest of base."""
        key = fact.planned.name, fact.fixture.name
        if key not in self._differences:
            pair = Pair(fact.worst, nearest_base(fact, fact.worst))
            self._differences[key] = first_difference(fact, pair)
        return self._differences[key]

    def told_difference(self, fact: FixtureFacts) -> str:
        """Return it in words where head is worse; of other wording alone nothing is said."""
        found = self.difference(fact) if fact.status in WORSE else None
        return str(found) if found is not None and found.tells else ""

    @cached_property
    def _differences(self) -> dict[tuple[str, str], Difference | None]:
        return {}

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All that has something to show, in the order in which it is shown."""
        return tuple(one for one in _sections(self.report, self.frame) if one.items)


def _eval(report: Report, compared: EvalComparison, facts: Sequence[FixtureFacts]) -> EvalView:
    planned = report.results.plan.eval(compared.eval)
    model = planned.scoring.model
    mine = [one for one in report.decision.reasons if one.eval == compared.eval]
    fell = {
        one.fixture
        for one in mine
        if (one.code, one.verdict) == (ReasonCode.REGRESSION, GateVerdict.FAIL)
    }
    sets = experiment_sets(report) if model.scorers and planned.bar is None else ()
    lines = [line for one in sets if one.name == planned.shown_name for line in one.lines]
    axes = [(show_axis(one.axis), one.head) for one in compared.named_axes] if model.tasks else []
    return EvalView(
        compared.eval,
        planned.kind,
        _row(report, compared),
        tuple(facts),
        tuple(one.text for one in mine),
        frozenset(fell),
        tuple(one.fixture for one in compared.head.left_out),
        run_of(report.results, planned).status.value if model.tasks else "",
        tuple((name, f"{mean:.2f}") for name, mean in axes if mean is not None),
        tuple((line.now.scorer, f"{line.average} ({line.change})") for line in lines),
    )


def _row(report: Report, compared: EvalComparison) -> EvalRow:
    verdict, words = eval_verdict(report.decision, compared.eval)
    return EvalRow(
        compared.agent,
        report.results.plan.eval(compared.eval).shown_name,
        score(compared.head),
        base_score(compared),
        delta(compared),
        compared.head.asks,
        fixtures_passed(compared.head),
        words,
        verdict,
        chance(compared.head),
    )


def _sections(report: Report, frame: Frame) -> Iterator[Section]:
    """Yield the sections, the empty ones too, most urgent first."""
    plan, facts = report.results.plan, gather(report)
    yield Section(SectionKind.PROVIDERS, "Asked for the first time", plan.new_providers)
    yield _table(report)
    yield from _worse(report, facts)
    yield Section(
        SectionKind.SEALED,
        "Sealed",
        sealed_lines(report),
        weight=4,
        said=(f"{whom_to_ask(plan)} {rate_note()}",),
        columns=("Agent", "Eval", "Rate", "Cases", "Verdict"),
    )
    bar = lowered_bar(report, frame.may_bypass)
    yield Section(SectionKind.BAR, "The bar", bar, weight=5)
    yield from _weak(facts)
    for found in experiment_sets(report):
        yield Section(
            SectionKind.SCORERS,
            f"{words_of([found.kind]).manifest} {found.name}",
            found.lines,
            weight=4,
            note=found.against,
            columns=("Scorer", "Average", "Δ", "Rows", "Rule"),
            noun="scorer",
        ).hushed(lambda one: one.moves)
    runs = words_of(one.kind for one in plan.evals if one.scoring.model.tasks).manifest
    yield Section(SectionKind.BENCHMARKS, f"{runs}s", benchmark_lines(report))
    axes = _axes(report)
    if not axes.folded:
        yield axes
    yield Section(SectionKind.EVIDENCE, "Evidence", doubts_on_evidence(report))
    yield Section(SectionKind.SPENDING, "Money and time", told_of_spending(report))
    yield Section(
        SectionKind.GAPS, "Not measured", find_gaps(facts, report.results.info.cut), weight=4
    )
    removed = [removed_sentence(entry) for entry in plan.removed]
    yield Section(SectionKind.REMOVED, "No longer evaluated", removed)
    warnings = [*plan.warnings, *report.results.info.warnings]
    yield Section(SectionKind.WARNINGS, "Warnings", warnings)
    yield from _folded(report, facts)
    if axes.folded:
        yield axes
    yield from _at_last(report, facts)


def _table(report: Report) -> Section:
    """The Evals, worst first."""
    rows = [_row(report, one) for one in shown_evals(report)]
    kinds = [report.results.plan.eval(one.eval).kind for one in shown_evals(report)]
    words = words_of(kinds)
    return Section(
        SectionKind.EVALS,
        "",
        sorted(rows, key=lambda row: PRECEDENCE.index(row.verdict)),
        weight=4,
        columns=(
            "Agent",
            words.manifest,
            "Score",
            "Base",
            "Δ",
            "Threshold",
            words.cases,
            "Verdict",
        ),
        noun=words.manifest,
    ).hushed(lambda row: row.moves)


def _axes(report: Report) -> Section:
    """The scores by axis; folded where none moved."""
    said = moved(report)
    section = Section(
        SectionKind.AXES,
        "By axis" if said else "Scores by axis",
        score_lines(report),
        weight=3,
        folded=not said,
        said=said,
        columns=("Eval", "Axis", "Score", "Base", "Verdict"),
        noun="axis score",
    )
    still = FixtureChange.UNCHANGED.value
    return section.hushed(lambda one: one.words != still) if said else section


def _fixtures(facts: Sequence[FixtureFacts], title: str, noun: str, weight: float) -> Section:
    return Section(SectionKind.FIXTURES, title, causes(facts), weight, noun=noun)


def _worse(report: Report, facts: Sequence[FixtureFacts]) -> Iterator[Section]:
    """What is worse than before, by cause, each with what the change does to its Agent: beside the
    first cause of the Agent, or below where that is long.
    """
    plan = report.results.plan
    worse = with_status(facts, FixtureStatus.REGRESSED)
    regressed = _fixtures(worse, regressed_title(plan.policy), "regressed fixture", 10)
    edits = {one.agent: one for one in prompt_edits(plan, facts)}
    changes = {one.agent: one for one in plan.changes}
    beside, groups = set[str](), list[FailureGroup]()
    for group in regressed.items:
        agent = group.first.planned.agent
        if agent in beside:
            groups.append(group)
            continue
        beside.add(agent)
        edit, change = edits.get(agent), changes.get(agent)
        rest = beside_prompt(change, edit) if change else None
        short = edits.pop(agent) if edit and len(edit.lines) <= _BESIDE else None
        files, left = short_edits(plan, rest) if rest else ([], None)
        groups.append(group._replace(edit=short, files=files, change=left))
    yield regressed._replace(items=groups)
    silent = silent_agents(facts)
    yield Section(SectionKind.SILENT, "Does not answer any more", silent, weight=5)
    prompts = tuple(edits.values())
    yield Section(SectionKind.PROMPTS, "What changed in the prompt", prompts, weight=6)
    yield Section(SectionKind.OFFERS, "What changed for the model", offer_lines(report), weight=5)


_BESIDE = 16
"""Lines of a prompt's diff that stand beside what it broke."""


def _weak(facts: Sequence[FixtureFacts]) -> Iterator[Section]:
    """What looks worse, and what fails where base does not have it or was not asked."""
    suspect = with_status(facts, FixtureStatus.SUSPECT)
    yield _fixtures(suspect, "Looks worse, not certain", "suspect", 4)
    failing = with_status(facts, FixtureStatus.FAILING)
    fresh = [one for one in failing if not one.failed_before]
    yield _fixtures(fresh, "Failing", "failing fixture", 8)


def _failed_before(facts: Sequence[FixtureFacts]) -> Section:
    """What fails on base as well, on one line that can be opened."""
    found = [one for one in with_status(facts, FixtureStatus.FAILING) if one.failed_before]
    section = _fixtures(found, "Failing, on base too", "fixture that fails on base too", 4)
    names = listing([one.fixture.name for one in found], _NAMED)
    return section._replace(folded=True, note=names)


_NAMED = 6
"""Fixtures that fail on base as well, by name on their line."""


def _folded(report: Report, facts: Sequence[FixtureFacts]) -> Iterator[Section]:
    plan = report.results.plan
    improved = worst_first(f for f in facts if f.compared.change is FixtureChange.IMPROVED)
    passing = with_status(facts, FixtureStatus.PASSING)
    yield _failed_before(facts)
    yield Section(SectionKind.BAR, "The bar moves, and head meets it", met_bar(report), folded=True)
    yield Section(SectionKind.CHANGES, "What changed in each agent", plan.changes, 3, folded=True)
    yield Section(SectionKind.CERTAINTY, "How sure this is", certainty(report), 1, folded=True)
    yield Section(SectionKind.IMPROVED, "Improved", improved, folded=True)
    yield Section(SectionKind.PASSING, "Passing", passing, folded=True)


def _at_last(report: Report, facts: Sequence[FixtureFacts]) -> Iterator[Section]:
    """What of axes assertions passed, what it took, and why it ran."""
    columns = ("Axis", "Assertions passed on head", "On base")
    yield Section(
        SectionKind.ASSERTIONS, "By axis", by_axis(facts), 1, folded=True, columns=columns
    )
    yield Section(
        SectionKind.USAGE,
        "Cost and time",
        usage_by_agent(report),
        1,
        folded=True,
        said=(
            f"Models: {', '.join(models_used(report)) or 'unknown'}",
            *rise_lines(report)[:_RISES],
            *trace_sources(report)[:_TRACED],
        ),
        note=overview(report),
        columns=("Agent", "Side", "Tokens", "Cost", "Time of an answer"),
    )
    shown = {compared.eval for compared in shown_evals(report)}
    evals = [one for one in report.results.plan.evals if one.name in shown]
    why = [f"{one.shown_name}: {listing([each.told for each in one.why], 4)}" for one in evals]
    title = f"Why each {words_of(one.kind for one in evals).manifest} runs"
    yield Section(SectionKind.WHY, title, why, 1, folded=True)


def passing_line(fact: FixtureFacts) -> str:
    """Return a fixture that passes on one line."""
    return f"{fact.planned.shown_name}/{fact.fixture.name}: {passes(fact.compared)}"
