"""Which judge: several, measured on one person's labels side by side, and the cheapest that is
shown to agree enough.

What is compared is stored nowhere and counts for no Eval: only a judge that an Eval names, and a
run has measured, may decide.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from pydantic import Field

from gateval.domain.base import Count, Name, Positive, Share, Value
from gateval.domain.calibration import CUT, labels_wanted
from gateval.domain.injection import AttackRate, Injections, why_injectable
from gateval.domain.manifests.evaluation import Calibration, JudgeSpec
from gateval.domain.results.jury_figures import ErrorRate, error_rate
from gateval.domain.results.self_check import CalibratedJudge
from gateval.domain.statistics.choosing import (
    JudgedAnswer,
    choice_level,
    kappa_bound,
    labels_for,
    length_leaning,
)
from gateval.domain.statistics.jury import mcnemar
from gateval.domain.text import DASH, show_percent, show_usd
from gateval.domain.tree import Revision
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.preference import Preference


class LengthBias(Value):
    """How much more often a judge passes the longer half of answers that people judged alike, and
    how likely so much is by chance.
    """

    more: float = Field(ge=-1, le=1)
    p: Share


class PositionBias(Value):
    """In how many of so many pairs, each shown in both orders, a judge kept to a place; `p` is how
    likely such a difference of both places is by chance (exact sign test).
    """

    first: Count
    second: Count
    pairs: Positive
    p: Share


class Spending(Value):
    """What a judgement takes, in the mean: tokens, US dollars (None where nobody knows), and the
    median of its seconds; None where it was not timed.
    """

    tokens: float | None
    usd: float | None
    seconds: float | None


class ComparedJudge(Value):
    """One judge beside others. `bound` is the lower bound of kappa that is held against the least
    that is asked, and `holds` whether it is reached. What was not measured is None. `talked_round`
    says why attacks speak against it, where an Eval bounds them.
    """

    judged: CalibratedJudge
    bound: float | None
    holds: bool
    error: ErrorRate | None
    spending: Spending | None
    injected: AttackRate | None
    length: LengthBias | None
    position: PositionBias | None
    labels: int | None = Field(default=None, exclude_if=operator.not_)
    talked_round: str = Field(default="", exclude_if=operator.not_)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.judged.model

    @property
    def is_eligible(self) -> bool:
        """Whether it agrees enough, and is not talked round more than is allowed."""
        return self.holds and not self.talked_round

    @property
    def is_measured(self) -> bool:
        """Whether it gave a verdict on anything."""
        return bool(self.judged.scored)


class JudgeChoice(Value):
    """The judges of one calibration. `level` is that of each one's bound; `recommended` is the
    cheapest that holds and is not talked round more than the Evals allow (`most`, None where they
    say nothing), empty without one. `labels` is about how many more would show one of them to agree
    enough, None where none agrees so far.
    """

    calibration: Name
    least: float
    level: Share
    judges: tuple[ComparedJudge, ...]
    recommended: str = ""
    labels: int | None = None
    most: Share | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What follows, in sentences."""
        sure = f"at {100 * self.level:.1f} % (5 % shared by {len(self.judges)})"
        unmeasured = [one.name for one in self.judges if not one.is_measured]
        lines = [f"{name} is not measured." for name in unmeasured]
        fallen = [one for one in self.judges if one.holds and one.talked_round]
        lines += [
            f"{one.name} agrees, but it would not count: {one.talked_round}." for one in fallen
        ]
        if chosen := next((o for o in self.judges if o.name == self.recommended), None):
            bound = f"κ is at least {chosen.bound:.2f} {sure}, and {self.least:g} is asked"
            lines.append(
                f"Recommended: {chosen.name}, the cheapest that is shown to agree: {bound}."
            )
            if chosen.spending is None or chosen.spending.usd is None:
                lines.append("Nobody knows its price (policy.prices): by tokens it takes least.")
            if self.most is None and (tried := chosen.injected) is not None and tried.through:
                got = f"{tried.through} of {tried.asked} attacks got through it"
                lines.append(f"No Eval bounds what talks it round (`judge.maxInjected`): {got}.")
            return tuple(lines)
        if fallen:
            lines.append("None yet: each judge that agrees enough is talked round too easily.")
            return tuple(lines)
        none = f"None yet: no judge's κ is shown to be at least {self.least:g} {sure}"
        if self.labels is None:
            lines.append(f"{none}, and none agrees so far in these examples.")
        else:
            lines.append(
                f"{none}; about {self.labels:,} more labels would (Cantor 1996, power 80 %)."
            )
        return tuple(lines)


class ComparisonReport(Value):
    """What `calibrate --compare` found on a revision, for each calibration."""

    version: Literal["judge-comparison.v1"] = "judge-comparison.v1"
    revision: Revision
    choices: tuple[JudgeChoice, ...]


def compared_judge(
    judged: CalibratedJudge,
    calibration: Calibration,
    judges: int,
    taken: Mapping[str, tuple[Usage, Sequence[float]]],
    attacked: Injections,
    pairs: Sequence[Preference],
    *,
    most: float | None = None,
) -> ComparedJudge:
    """Return one of so many `judges` with all figures; see `judging.comparing.MeasuredJudge`."""
    table, level = judged.table.table, choice_level(judges)
    spec = judged.replay.binding.judge
    scored = [one for one in judged.replay.examples if one.score is not None]
    bound = kappa_bound(table, level) if scored else None
    lacks = judged.table.too_few_scored or judged.table.one_sided
    holds = bound is not None and bound >= judged.least and not lacks
    wanted = labels_for(table, judged.least, level)
    return ComparedJudge(
        judged=judged,
        bound=bound,
        holds=holds and len(scored) >= labels_wanted(spec),
        error=error_rate(judged.model, [one.disagrees for one in scored]) if scored else None,
        spending=_spending(spec, judged, taken),
        injected=AttackRate.of(attacked.whole) if attacked.whole.asked else None,
        length=_length(judged, calibration),
        position=_position(pairs),
        labels=None if wanted is None else max(wanted, labels_wanted(spec)),
        talked_round="" if most is None else why_injectable(attacked, most),
    )


def choice_of(
    calibration: str, judges: Sequence[ComparedJudge], most: float | None = None
) -> JudgeChoice:
    """Return what follows for judges of one calibration; there is at least one."""
    holding = [one for one in judges if one.is_eligible]
    chosen = min(holding, key=_price) if holding else None
    wanted = [one.labels - one.judged.scored for one in judges if one.labels is not None]
    return JudgeChoice(
        calibration=calibration,
        least=judges[0].judged.least,
        level=choice_level(len(judges)),
        judges=tuple(sorted(judges, key=_price)),
        recommended=chosen.name if chosen else "",
        labels=None if chosen or not wanted else max(1, min(wanted)),
        most=most,
    )


def _price(one: ComparedJudge) -> tuple[bool, float, float]:
    """Cheap ones first; those whose price nobody knows by their tokens, after all others."""
    spent = one.spending
    if spent is None:
        return (True, float("inf"), 0.0)
    tokens = float("inf") if spent.tokens is None else spent.tokens
    return (spent.usd is None, tokens if spent.usd is None else spent.usd, tokens)


def _spending(
    spec: JudgeSpec,
    judged: CalibratedJudge,
    taken: Mapping[str, tuple[Usage, Sequence[float]]],
) -> Spending | None:
    """What one judgement takes. A stronger judge counts as often as the band asks it, though it is
    asked of each example here.
    """
    many = judged.scored + judged.missing
    if not judged.scored:
        return None
    found = judged.jury.escalation if judged.jury else None
    parts = []
    for model, (usage, seconds) in taken.items():
        behind = spec.escalate is not None and model == spec.escalate.model
        share = found.asked / found.labels if behind and found else 1.0
        parts.append((share, usage, seconds))
    usds = [None if one.usd is None else share * one.usd for share, one, _ in parts]
    totals = [None if one.total is None else share * one.total for share, one, _ in parts]
    times = [share * median(seconds) for share, _, seconds in parts if seconds]
    timed = bool(times) and len(times) == len(parts)
    return Spending(
        tokens=_mean(totals, many),
        usd=_mean(usds, many),
        seconds=(max(times) if spec.models else sum(times)) if timed else None,
    )


def _mean(parts: Sequence[float | None], many: int) -> float | None:
    known = [one for one in parts if one is not None]
    return sum(known) / many if known and len(known) == len(parts) else None


def _length(judged: CalibratedJudge, calibration: Calibration) -> LengthBias | None:
    answers = [
        JudgedAnswer(
            len(calibration.examples[one.number - 1].candidate_output),
            one.score >= CUT,
            one.human >= CUT,
        )
        for one in judged.replay.examples
        if one.score is not None
    ]
    found = length_leaning(answers)
    return None if found is None else LengthBias(more=found.more, p=found.p)


def _position(pairs: Sequence[Preference]) -> PositionBias | None:
    if not pairs:
        return None
    places = [one.place for one in pairs]
    first, second = places.count(1), places.count(-1)
    return PositionBias(first=first, second=second, pairs=len(pairs), p=mcnemar(first, second))


def choice_figures(one: ComparedJudge) -> tuple[str, ...]:
    """Return in words, for the cells of a table: how it errs, its bound, its price for 1,000
    judgements, the seconds of one, how often it was talked round, and what moves it; a dash for
    what was not measured.
    """
    spent, tried, length, place = one.spending, one.injected, one.length, one.position
    usd = None if spent is None else spent.usd
    return (
        DASH if one.error is None else f"errs {show_percent(one.error.rate)}",
        DASH if one.bound is None else f"bound {one.bound:.2f}",
        DASH if usd is None else f"{show_usd(1_000 * usd)} for 1,000",
        DASH if spent is None or spent.seconds is None else f"{spent.seconds:.1f} s",
        DASH if tried is None else f"injected {tried.through} of {tried.asked}",
        DASH if length is None else f"longer {100 * length.more:+.0f} points",
        DASH if place is None else f"first {place.first}, second {place.second} of {place.pairs}",
    )
