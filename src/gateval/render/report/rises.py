"""Money and time, head against base, in sentences (not sanitised)."""

from __future__ import annotations

from gateval.domain.decision.report import Report
from gateval.domain.decision.spending import SPENDING_CODES
from gateval.domain.results.rises import Rise, Unit
from gateval.domain.statistics.estimates.ratio import Ratio
from gateval.domain.text.figures import show_ratio, show_usd
from gateval.domain.trials.trial import Side
from gateval.render.report.usage import Money, count_money, mean_seconds
from gateval.render.report.words.counts import count

_WHAT = {
    Unit.USD: "an answer costs {} what it did on base",
    Unit.TOKENS: "an answer takes {} the tokens of base",
}


def overview(report: Report) -> str:
    """Return what the agents cost and how long an answer took, on both sides; empty for no run."""
    said = []
    for side in (Side.HEAD, Side.BASE):
        mine = [trial for trial in report.results.trials if trial.key.side is side]
        seconds = mean_seconds(mine)
        time = "" if seconds is None else f" and {seconds:.1f} s an answer"
        if mine:
            said.append(f"{side} {_cost(count_money([one.spent for one in mine]))}{time}")
    return ", ".join(said)


def told_of_spending(report: Report) -> tuple[str, ...]:
    """Return what the policy has to say on money and time."""
    return tuple(one.text for one in report.decision.reasons if one.code in SPENDING_CODES)


def rise_lines(report: Report) -> tuple[str, ...]:
    """Return, for each Eval of which it is known, how much more or less head costs than base.

    Time is not told so: that of a few fixtures is noise, unless the policy has a limit for it.
    """
    return tuple(
        f"{rise.eval}: {_compared(rise, rise.ratio)}."
        for rise in report.comparison.rises
        if rise.ratio is not None and rise.unit is not Unit.SECONDS
    )


def _cost(money: Money) -> str:
    if not money.known:
        return "at unknown cost"
    return f"{'at least ' if money.unknown else ''}{show_usd(money.usd)}"


def _compared(rise: Rise, ratio: Ratio) -> str:
    said = f"{_WHAT[rise.unit].format(f'{show_ratio(ratio.mean)} times')}{_sure(ratio)}"
    if rise.zeros:
        said += f"; {count(rise.zeros, 'fixture')} took nothing on one side, so no ratio"
    return said


def _sure(ratio: Ratio) -> str:
    pairs = count(ratio.pairs, "fixture")
    if ratio.low is None or ratio.high is None:
        return f" ({pairs}, too few for an interval)"
    interval = f"{show_ratio(ratio.low)} to {show_ratio(ratio.high)}"
    return f" ({100 * ratio.level:.4g} % interval {interval}, {pairs} in pairs)"
