"""What labels say of several judges: how each errs, how they err together, what a second opinion is
worth.

The jury's error is counted on what it really decided, never worked out from the errors of its
jurors: that would suppose that they err by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.base import Count, Share, Value
from gateval.domain.calibration import CUT, CalibrationReplay, JudgedExample
from gateval.domain.statistics.jury import (
    clopper_pearson,
    error_correlation,
    krippendorff,
    mcnemar,
)
from gateval.domain.text import show_percent

CLEAR = 0.05
"""The largest p-value at which a jury is called better than its best juror."""


class ErrorRate(Value):
    """How often a judge says another thing than people: `wrong` of `scored`; limits of 95 %."""

    model: str
    wrong: Count
    scored: Count
    low: Share
    high: Share

    @property
    def rate(self) -> float:
        """The share in [0, 1]; 0 without an example."""
        return self.wrong / self.scored if self.scored else 0.0

    def __str__(self) -> str:
        limits = f"95 % {show_percent(self.low)} to {show_percent(self.high)}"
        return f"{show_percent(self.rate)} of {self.scored} ({limits})"


class EscalationFigures(Value):
    """What a band of doubt is worth: how often the stronger judge was asked, and the errors.

    `asked` and `wrong` are those of the band that is written. `tried_asked` and `tried_wrong` are
    cross-validated: the best band of nine tenths of the labels, tried on the tenth, in turn. `best`
    is the best band of all labels.
    """

    labels: Count
    asked: Count
    wrong: Count
    tried_asked: Count
    tried_wrong: Count
    best: tuple[Share, Share]


class JuryFigures(Value):
    """What a replay says of several judges, by the examples that all of them scored.

    `alpha` is Krippendorff's, of scores: agreement, and nothing of who is right. `correlation` is
    how the jurors' errors hang together, and `worth` how many that err by themselves they are worth
    together. `p` compares the jury's errors with those of its best juror.
    """

    jury: ErrorRate
    jurors: tuple[ErrorRate, ...]
    alpha: float | None = None
    correlation: float | None = None
    worth: float | None = None
    p: Share = 1.0
    split: Count = 0
    escalation: EscalationFigures | None = None

    @property
    def best(self) -> ErrorRate:
        """The juror that errs least."""
        return min(self.jurors, key=lambda one: one.wrong)

    @property
    def compared(self) -> str:
        """How the jury compares with its best juror."""
        if self.jury.wrong >= self.best.wrong:
            return f"no better than one: {self.best.model} alone errs in {self.best}"
        sure = "better than" if self.p <= CLEAR else "not shown to be better than"
        return f"{sure} {self.best.model} alone, which errs in {self.best}"


def jury_figures(replay: CalibrationReplay) -> JuryFigures | None:
    """Return the figures of a replay; None of a single judge, and where nothing was scored by all.

    What an earlier run has measured is counts alone, and has none.
    """
    spec = replay.binding.judge
    examples = [e for e in replay.examples if e.score is not None and None not in e.jurors]
    examples = [one for one in examples if one.jurors]
    if not examples:
        return None
    errors = [[errs(score, one) for score in one.jurors] for one in examples]
    jury = [errs(one.score, one) for one in examples]
    jurors = [
        error_rate(model, [row[index] for row in errors]) for index, model in enumerate(spec.asked)
    ]
    best = min(range(len(jurors)), key=lambda index: jurors[index].wrong)
    alone = [(row[best], mine) for row, mine in zip(errors, jury, strict=True)]
    together = error_correlation(errors)
    return JuryFigures(
        jury=error_rate(spec.named, jury),
        jurors=tuple(jurors),
        alpha=krippendorff([one.jurors for one in examples]),
        correlation=together.mean if together else None,
        worth=together.worth if together else None,
        p=mcnemar(alone.count((True, False)), alone.count((False, True))),
        split=sum(one.split for one in examples),
        escalation=_escalation(spec.escalate.band, examples) if spec.escalate else None,
    )


def errs(score: float | None, example: JudgedExample) -> bool:
    """Whether a score says another thing of an example than the person did."""
    return score is not None and (score >= CUT) is not (example.human >= CUT)


def error_rate(model: str, errors: Sequence[bool]) -> ErrorRate:
    """Return how often a judge errs, from whether it does about each example."""
    low, high = clopper_pearson(sum(errors), len(errors))
    return ErrorRate(model=model, wrong=sum(errors), scored=len(errors), low=low, high=high)


FOLDS = 10
_STEPS = 20
_BANDS = [
    (low / _STEPS, high / _STEPS) for low in range(_STEPS) for high in range(low + 1, _STEPS + 1)
]


class _Doubt(NamedTuple):
    """The first judge's score of an example, and which of the two err about it."""

    score: float
    first: bool
    second: bool


def _escalation(band: tuple[float, float], examples: Sequence[JudgedExample]) -> EscalationFigures:
    seen = [
        _Doubt(first, errs(first, one), errs(second, one))
        for one in examples
        for first, second in [one.jurors]
        if first is not None and second is not None
    ]
    wrong, asked = _with_band(band, seen)
    tried_wrong = tried_asked = 0
    for fold in range(FOLDS):
        rest = [one for number, one in enumerate(seen) if number % FOLDS != fold]
        more_wrong, more_asked = _with_band(_best(rest), seen[fold::FOLDS])
        tried_wrong, tried_asked = tried_wrong + more_wrong, tried_asked + more_asked
    return EscalationFigures(
        labels=len(seen),
        asked=asked,
        wrong=wrong,
        tried_asked=tried_asked,
        tried_wrong=tried_wrong,
        best=_best(seen),
    )


def _best(seen: Sequence[_Doubt]) -> tuple[float, float]:
    """The band with the fewest errors; of such, the one that asks least, and is narrowest."""
    return min(_BANDS, key=lambda one: (*_with_band(one, seen), one[1] - one[0]))


def _with_band(band: tuple[float, float], seen: Sequence[_Doubt]) -> tuple[int, int]:
    """The errors with this band, and how often the stronger judge is asked."""
    low, high = band
    doubted = [low <= one.score <= high for one in seen]
    wrong = sum(
        one.second if doubt else one.first for one, doubt in zip(seen, doubted, strict=True)
    )
    return wrong, sum(doubted)


def jury_lines(found: JuryFigures) -> tuple[str, ...]:
    """Return in sentences what the figures say."""
    return _escalation_lines(found) if found.escalation else _jury_lines(found)


def _jury_lines(found: JuryFigures) -> tuple[str, ...]:
    lines = [f"The jury errs in {found.jury}: {found.compared}."]
    if found.correlation is not None and found.worth is not None:
        lines.append(
            f"Its jurors' errors correlate by {found.correlation:.2f}: {len(found.jurors)} of them "
            f"are worth {found.worth:.1f} that err by themselves."
        )
    if found.alpha is not None:
        lines.append(
            f"They agree by Krippendorff's α {found.alpha:.2f}, which says nothing of who is right."
        )
    if found.split:
        lines.append(f"The jury was split over {found.split} of {found.jury.scored} examples.")
    return tuple(lines)


def _escalation_lines(found: JuryFigures) -> tuple[str, ...]:
    one = found.escalation
    assert one is not None  # noqa: S101 - seen by the caller
    first, second = found.jurors
    spared, tried = (1 - many / one.labels for many in (one.asked, one.tried_asked))
    low, high = one.best
    wrong = show_percent(one.tried_wrong / one.labels)
    alone = f"{first.model} alone errs in {first}, {second.model} in {second}."
    best = f"of all of them, {low:g} to {high:g} is the best."
    return (
        f"It errs in {found.jury}, and spares {show_percent(spared)} of the stronger calls.",
        alone,
        f"Cross-validated, such a band errs in {wrong} and spares {show_percent(tried)}; {best}",
    )
