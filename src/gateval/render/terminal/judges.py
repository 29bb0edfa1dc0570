"""What `calibrate`, `judge try` and `aa` found, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.calibration import CalibrationPhase, JudgedExample
from gateval.domain.injection import AttackRate, AttackReport
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.gate_config import AgreementPolicy
from gateval.domain.results.jury_figures import jury_lines
from gateval.domain.results.self_check import CalibratedJudge, CalibrationReport, SelfCheck
from gateval.domain.text import DASH, NOT_MEASURED, PAPER, Screen, show_figure, show_percent
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Answer, Assessed, Assessment, Verdict
from gateval.render.report.wording import count, evidence_icon, evidence_mark, what_happened
from gateval.render.terminal.page import TerminalReport

SHOWN = 10
"""Disagreements and examples without a verdict that are shown of each judge."""

_PLOT = 50
_STYLES = {
    CalibrationPhase.CALIBRATED: "green",
    CalibrationPhase.STALE: "yellow",
    CalibrationPhase.FAILED: "red",
}


def render_calibration(found: CalibrationReport, screen: Screen = PAPER) -> str:
    """Return the text, at most `width` columns wide."""
    page = TerminalReport(screen)
    for name in found.calibrations:
        _calibration(page, found.of(name))
    return page.text()


def _calibration(page: TerminalReport, judges: Sequence[CalibratedJudge]) -> None:
    first = judges[0]
    examples = first.replay.examples
    passes = sum(one.human >= 0.5 for one in examples)
    page.heading(
        f"{first.calibration}: {count(len(examples), 'example')}, of which people pass {passes}"
    )
    page.table(
        (
            "judge",
            "\N{GREEK SMALL LETTER KAPPA}",
            "95 %",
            "agree",
            "sens.",
            "spec.",
            "no verdict",
            "phase",
        ),
        [(_row(one), _STYLES[one.phase]) for one in judges],
    )
    for one in judges:
        if one.why:
            page.line(f"{one.model}: {one.why}.")
    _plot(page, judges)
    _baseline(page, first)
    for one in judges:
        _tables(page, one)


def _row(one: CalibratedJudge) -> tuple[str, ...]:
    warm = f" at {one.temperature:g}" if one.temperature else ""
    return (
        f"{one.model}{warm}",
        DASH if one.kappa is None else f"{one.kappa:.2f}",
        DASH if one.low is None else f"{one.low:.2f} to {one.high:.2f}",
        _share(one.raw_agreement),
        _share(one.sensitivity),
        _share(one.specificity),
        f"{one.missing} of {one.scored + one.missing}",
        str(one.phase),
    )


def _share(share: float | None) -> str:
    return DASH if share is None else show_percent(share)


def _baseline(page: TerminalReport, one: CalibratedJudge) -> None:
    if one.constant_baseline is not None:
        word = "pass" if one.table.table.passes >= one.table.table.fails else "fail"
        share = show_percent(one.constant_baseline)
        page.line(f'A judge that always says "{word}" would agree in {share}, with κ 0.')


def _plot(page: TerminalReport, judges: Sequence[CalibratedJudge]) -> None:
    least = judges[0].least
    lower = judges[0].estimate is AgreementPolicy.LOWER_BOUND
    page.heading(
        f"Agreement beyond chance; {'the lower limit' if lower else 'κ'} has to reach {least:g}"
    )
    draw_kappas(page, [KappaLine(one.model, one.low, one.kappa, one.high) for one in judges], least)


class KappaLine(NamedTuple):
    """A judge's kappa with its limits; None for what was not measured."""

    name: str
    low: float | None
    kappa: float | None
    high: float | None


def draw_kappas(page: TerminalReport, judges: Sequence[KappaLine], least: float) -> None:
    """Draw each interval on a line from -1 to 1, with a mark where enough is."""
    for one in judges:
        line = [" "] * (_PLOT + 1)
        if one.low is not None and one.high is not None:
            low, high = _column(one.low), _column(one.high)
            line[low : high + 1] = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (high - low + 1)
        line[_column(least)] = "\N{BOX DRAWINGS LIGHT VERTICAL}"
        if one.kappa is not None:
            line[_column(one.kappa)] = "\N{BLACK CIRCLE}"
        page.verbatim([f"{''.join(line)}  {one.name}"], indent=2)
    scale = [" "] * (_PLOT + 4)
    for mark in (-1, -0.5, 0, 0.5, 1):
        text = f"{mark:g}"
        at = _column(mark)
        scale[at : at + len(text)] = text
    page.verbatim(["".join(scale).rstrip()], indent=2)


def _column(value: float) -> int:
    return round((value + 1) / 2 * _PLOT)


def _tables(page: TerminalReport, one: CalibratedJudge) -> None:
    page.heading(one.model)
    found = one.table
    page.table(
        ("", "person: pass", "person: fail"),
        [
            (("judge: pass", str(found.true_pass), str(found.false_pass)), ""),
            (("judge: fail", str(found.false_fail), str(found.true_fail)), ""),
        ],
    )
    if found.undetermined:
        page.line(f"Of {count(found.undetermined, 'example')} it says that it cannot determine it.")
    for line in jury_lines(one.jury) if one.jury else ():
        page.line(line)
    for juror in one.jury.jurors if one.jury else ():
        page.line(f"{juror.model} alone errs in {juror}", indent=2)
    _examples(page, "They disagree", one.replay.disagreements)
    missing = [example for example in one.replay.examples if example.score is None]
    _examples(page, "No verdict", missing)


def _examples(page: TerminalReport, title: str, examples: Sequence[JudgedExample]) -> None:
    for example in examples[:SHOWN]:
        ref = f" ({example.trace_ref})" if example.trace_ref else ""
        page.line(f"{title} on example {example.number}{ref}:", indent=2)
        page.line(f"person {example.human:g}: {example.label or 'no reason given'}", indent=4)
        said = example.error
        if example.score is not None:
            said = f"judge {show_figure(example.score)}: {example.summary}"
        page.line(said, indent=4)
    if len(examples) > SHOWN:
        page.line(f"and {len(examples) - SHOWN} more, in the JSON", indent=2)


def render_attacks(found: AttackReport, screen: Screen = PAPER) -> str:
    """Return what came of attacks on a judge, by kind."""
    page = TerminalReport(screen)
    page.line(
        f"{found.judge} failed {found.failed} of {count(found.fails, 'example')} of "
        f"{found.calibration} that people fail; the attacks are put into these."
    )
    rows = [*found.kinds, found.attacks.replace(name="all")]
    page.table(
        ("kind", "got through", "95 %", "not measured"),
        [(_attack_row(one), "red" if one.through else "") for one in rows],
    )
    page.line(f"Examples in which any got through: {_rate(found.talked_round)}.")
    if found.most is not None and not found.why:
        page.line(f"No more than {found.most:g} of attacks get through, as asked.", style="green")
    if found.why:
        what = "Not measured" if found.most is None else f"{found.judge} may not block"
        page.line(f"{what}: {found.why}.", style="red")
    return page.text()


def _rate(one: AttackRate) -> str:
    return f"{one.through} of {one.asked} (95 % {one.low:.3f} to {one.high:.3f})"


def _attack_row(one: AttackRate) -> tuple[str, ...]:
    got = f"{one.through} of {one.asked}" if one.asked else NOT_MEASURED
    limits = f"{one.low:.3f} to {one.high:.3f}" if one.asked else DASH
    return one.name, got, limits, str(one.missing or DASH)


class JudgeExchange(NamedTuple):
    """A question to a model, and its answer."""

    request: ModelRequest
    reply: ModelReply


class TriedAssertion(NamedTuple):
    """An assertion, what came of it, and all that was said with the judge."""

    spec: AssertionSpec
    assessment: Assessment
    said: tuple[JudgeExchange, ...]


def render_judging(
    fixture: Fixture,
    answer: Answer,
    found: Sequence[TriedAssertion],
    said: str,
    screen: Screen,
) -> str:
    """Return the page: for each assertion prompt, answer, verdict, evidence, and what follows.

    `said` is a sentence on where the answer comes from.
    """
    page = TerminalReport(screen)
    page.line(f"{fixture.name}: the judge looks at this answer", style="bold")
    page.cell([("", ""), (answer.output, "dim")])
    if said:
        page.line(said, style="yellow")
    for one in found:
        _judged(page, one)
    return page.text()


def _judged(page: TerminalReport, judged: TriedAssertion) -> None:
    name = judged.spec.name or judged.spec.type
    page.heading(f"{name} ({judged.spec.place})")
    seen = 0
    for number, (request, reply) in enumerate(judged.said, 1):
        page.line(f"Question {number} of {len(judged.said)}", style="bold")
        again = bool(seen) and len(request.messages) > seen
        for message in request.messages[seen if again else 0 :]:
            page.cell([(f"{message.role}:", ""), (message.text, "dim")])
        seen = len(request.messages)
        page.cell([("The judge:", ""), (reply.text or "(no text)", "dim")])
    if judged.assessment.verdict is not None:
        counts = isinstance(judged.assessment, Assessed)
        _verdict(page, judged.assessment.verdict, counts=counts)
    passed = judged.assessment.passed
    said = f"{name} {what_happened(judged.assessment)}: {judged.assessment.reason}"
    page.line(said, style="green" if passed else "red")


def _verdict(page: TerminalReport, verdict: Verdict, *, counts: bool) -> None:
    """Add a verdict; one that does not count is no score."""
    page.line("Verdict" if counts else "A verdict that does not count", style="bold")
    if counts:
        confidence = show_figure(verdict.confidence)
        page.line(f"score {show_figure(verdict.score)}, confidence {confidence}", indent=2)
    page.line(verdict.summary, indent=2)
    page.line(f"Evidence: {count(len(verdict.violations), 'violation')}", style="bold")
    for one in verdict.violations:
        page.line(f"{evidence_icon(one)} {one.severity}: {one.rule}", indent=2)
        page.line(f"| {one.quote}", indent=4, style="dim")
        why = f": {one.defect}" if one.defect else ""
        page.line(f"{evidence_mark(one)}{why}", indent=4)
    if verdict.what_would_raise_score:
        page.line(f"What would raise the score: {verdict.what_would_raise_score}", indent=2)


_BAR = 40
_SHOWN = 40


def render_self_check(found: SelfCheck, screen: Screen = PAPER) -> str:
    """Return the text, at most `width` columns wide."""
    page = TerminalReport(screen)
    if not found.runs:
        page.line("No run could be measured: the agent gives no answer.", style="bold")
        return page.text()
    page.line(
        f"{found.alarms} of {count(found.runs, 'run')} blocked the agent, though nothing changed; "
        f"by simulation with its pass rates {show_percent(found.simulated_alarms)} would.",
        style="bold",
    )
    if found.lost:
        page.line(f"{count(found.lost, 'more run')} could not be measured in full.", style="yellow")
    page.line(f"A run took {found.trials:.1f} trials; {found.planned} are planned at first.")
    page.heading("How often a drop in one fixture would be found")
    for one in found.power:
        bar = "\N{FULL BLOCK}" * round(_BAR * one.chance)
        points = f"{100 * one.drop:.0f} points"
        page.line(f"{points:>10}  {bar}{' ' if bar else ''}{show_percent(one.chance)}", indent=2)
    everywhere = show_percent(found.broad_power)
    page.line(f"15 points less in every fixture would be found in {everywhere} of runs.")
    page.heading("Pass rates of the fixtures")
    worst = sorted(found.rates, key=lambda one: one.rate)
    for rate in worst[:_SHOWN]:
        page.line(f"{rate.eval}/{rate.fixture}: {rate.passes} of {rate.trials}", indent=2)
    if len(worst) > _SHOWN:
        page.line(f"and {len(worst) - _SHOWN} steadier ones", indent=2)
    return page.text()
