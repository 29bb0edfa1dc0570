"""What `gateval aa` found, as a table and a plot of bars."""

from __future__ import annotations

from gateval.domain.results.self_check import SelfCheck
from gateval.domain.text.figures import show_percent
from gateval.render.report.words.counts import count
from gateval.render.terminal.page import Page

_BAR = 40
_SHOWN = 40


def render_self_check(found: SelfCheck, *, width: int = 100, color: bool = False) -> str:
    """Return the text, at most `width` columns wide."""
    page = Page(width, color=color)
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
