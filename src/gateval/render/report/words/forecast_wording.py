"""The words on what a plan is likely to take (not sanitised)."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.history.runs.forecast import Forecast
from gateval.domain.manifests.policy.spending import BudgetPolicy
from gateval.domain.text.figures import show_usd
from gateval.render.report.words.counts import listing

_SHOWN = 3

_UNKNOWN = (
    "model calls, tokens, money and minutes: not known, no earlier run of these Evals is stored "
    "here"
)


def forecast_lines(found: Forecast, budget: BudgetPolicy) -> tuple[str, ...]:
    """Return what a plan will take, by earlier runs, or that nobody can know."""
    if not found.runs:
        return (_UNKNOWN,)
    said = [f"{found.calls:,.0f} model calls"]
    said.append(
        "an unknown number of tokens" if found.tokens is None else f"{found.tokens:,.0f} tokens"
    )
    said.append("an unknown cost" if found.usd is None else show_usd(found.usd))
    said += [f"{found.minutes:.1f} minutes"] if found.minutes is not None else []
    lines = [f"by the last run ({listing(found.runs, _SHOWN)}), about {', '.join(said)}"]
    if found.unknown:
        lines.append(f"not in it, because no run of them is stored: {listing(found.unknown)}")
    return (*lines, *_over(found, budget))


def _over(found: Forecast, budget: BudgetPolicy) -> Iterator[str]:
    """Say where that is more than the budget: dollars end a run, and else what is planned runs."""
    for what, expected, limit in (
        ("tokens", found.tokens, budget.tokens),
        ("money", found.usd, budget.usd),
        ("minutes", found.minutes, budget.minutes),
    ):
        if limit is not None and expected is None:
            yield f"whether the budget of {what} is kept is not known"
        elif limit is None or expected is None or expected <= limit:
            continue
        elif what == "money":
            yield (
                "that is more than policy.budget.usd gives a run, which would end incomplete: plan "
                "fewer repetitions, or give it more"
            )
        else:
            yield (
                f"that is more than the budget of {what}; what is planned runs all the same: plan "
                "fewer repetitions, or set policy.budget.repetitions"
            )
