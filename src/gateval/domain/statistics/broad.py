"""The rule for one Eval: broad slippage, many fixtures that are each a little worse.

The test is looked at twice at most, with half of the Eval's share each. The chance of a false alarm
is at most the share whatever decides about the second look (union bound), so the limit for going on
is a matter of cost alone; it is the same however many Evals share the budget.

Each fixture is a stratum. Given the passes of both sides in every stratum, the total of head's
passes is under equal rates a sum of independent hypergeometric variables, whatever the rates of the
fixtures are (exact one-sided Cochran-Mantel-Haenszel test: Birch 1964, Mehta, Patel & Gray 1985).
"""

from __future__ import annotations

from cmath import exp
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import fsum, pi

from gateval.domain.base import Value
from gateval.domain.statistics.design import Look, LookResult, weights
from gateval.domain.statistics.walk import Outcomes, PassCount, counted

MARGIN = 1e-9
"""Added to every p-value: more than all errors of rounding for up to 100,000 strata."""

_NEGLIGIBLE = 1e-15


def stratified(strata: Iterable[tuple[PassCount, PassCount]]) -> float:
    """Return the p-value, in (0, 1], that head is worse than base over all (base, head) pairs.

    It is exact to `MARGIN`, and never too small. Strata may have any trials; one without trials on
    a side has no say. Equal strata are worked out once: 10,000 take a fraction of a second.
    """
    kinds: Counter[tuple[float, ...]] = Counter()
    above_lowest = 0
    for base, head in strata:
        lowest, chances = _free(base.trials, head.trials, base.passes + head.passes)
        above_lowest += head.passes - lowest
        kinds[chances] += 1
    return min(1.0, _at_most(above_lowest, kinds) + MARGIN)


def _at_most(total: int, kinds: Mapping[tuple[float, ...], int]) -> float:
    """P(sum <= total), by the discrete Fourier transform of the sum's characteristic function.

    Every factor has real roots only, as the generating function of a hypergeometric variable
    (Vatutin & Mikhailov 1982), so the function's absolute value falls from 0 to pi: once it is
    negligible, so is the rest.
    """
    points = 1 + sum((len(chances) - 1) * times for chances, times in kinds.items())
    result = (total + 1) / points
    for index in range(1, points // 2 + 1):
        turn = exp(2j * pi * index / points)
        value = complex(1)
        for chances, times in kinds.items():
            value *= _polynomial(chances, turn) ** times
        if abs(value) < _NEGLIGIBLE:
            break
        back = turn.conjugate()
        term = (value * (1 - exp(-2j * pi * (index * (total + 1) % points) / points))) / (1 - back)
        result += term.real / points * (1 if 2 * index == points else 2)
    return max(0.0, result)


def _polynomial(chances: tuple[float, ...], point: complex) -> complex:
    value = complex(0)
    for chance in reversed(chances):
        value = value * point + chance
    return value


@cache
def _free(base_trials: int, head_trials: int, passes: int) -> tuple[int, tuple[float, ...]]:
    """The fewest passes that head can have, and the chances of 0, 1, ... more than that."""
    ways = list(weights(base_trials, head_trials, passes))
    total = sum(ways)
    return max(0, passes - base_trials), tuple(way / total for way in ways)


GO_ON = 0.10
"""The largest p-value at the first look that buys the second."""

LEAST_DROP = 0.05
"""The mean rate of the fixtures must have fallen by this much: a floor for very large Evals."""

LEAST_DROP_OF_MANY = 0.01
"""The same where fixtures are tested together only: nothing else sees 200 broken ones of 10,000."""

CONFIRMING_TRIALS = 5
CONFIRMING = 0.05


class Broad(Value):
    """The result of one look at an Eval: the step, its p-value, and both mean rates.

    `family` is the one that it is about; empty for all fixtures of the Eval. `confirming` says that
    the alarm rests on stored trials, and fresh ones of base are asked for; `outdated` that these
    did not bear it out. `axis` is the one that it is about, empty for whole scores; `at` is the
    number of the look, from 0; `exact` says that the candidates proved to be deterministic.
    """

    step: LookResult
    p_value: float
    base: float
    head: float
    family: str = ""
    confirming: bool = False
    outdated: bool = False
    axis: str = ""
    at: int = 0
    exact: bool = False


def first(look: Look, base: Outcomes, head: Outcomes) -> tuple[PassCount, PassCount]:
    """Return one fixture's stratum at `look`; lost trials are left out.

    That is exact if what makes a trial get lost knows nothing of how it would have ended.
    """
    return counted(base[: look.base]), counted(head[: look.head])


def broad_step(
    looks: Sequence[Look],
    look: int,
    strata: Sequence[tuple[PassCount, PassCount]],
    share: float,
    *,
    found: bool = False,
    least_drop: float = LEAST_DROP,
) -> Broad:
    """Return what follows at look number `look`, from 0, for an Eval whose share is `share`.

    `REGRESSED` is an alarm. `GO_ON` asks for the next look's trials on every fixture that takes
    part; they never reopen a fixture whose own rule has ended. Nothing is bought where a fixture of
    the Eval has regressed (`found`): it blocks anyway. New fixtures have no stratum. The mean rate
    must have fallen by `least_drop`.
    """
    compared = [(base, head) for base, head in strata if base.trials and head.trials]
    rates = [(base.rate, head.rate) for base, head in compared]
    p_value = stratified(compared) if compared else 1.0
    return step_of(looks, look, rates, p_value, share, found=found, least_drop=least_drop)


def step_of(
    looks: Sequence[Look],
    look: int,
    means: Sequence[tuple[float, float]],
    p_value: float,
    share: float,
    *,
    found: bool,
    least_drop: float,
) -> Broad:
    """Return what follows from a test's p-value and each stratum's mean on base and on head.

    The other arguments are those of `broad_step`. Without any stratum nothing follows.
    """
    if not means:
        return Broad(step=LookResult.STOP, p_value=1.0, base=0.0, head=0.0)
    base, head = (fsum(side) / len(means) for side in zip(*means, strict=True))
    step = LookResult.STOP
    if base - head >= least_drop:
        if p_value <= share / len(looks):
            step = LookResult.REGRESSED
        elif p_value <= GO_ON and look + 1 < len(looks) and not found:
            step = LookResult.GO_ON
    return Broad(step=step, p_value=p_value, base=base, head=head, at=look)


def confirmed(strata: Sequence[tuple[PassCount, PassCount]]) -> bool:
    """Tell whether fresh base trials bear an alarm out that rests on stored ones.

    `strata` holds, for every fixture, `CONFIRMING_TRIALS` base trials made now and head's trials of
    the alarm. Without this, a provider whose model got worse since would block unchanged agents.
    """
    return stratified(strata) <= CONFIRMING
