"""`python -m benchmarks.known_rates`: run `gateval check` again and again, and count.

A small program passes each fixture with a known chance, by the system's randomness. Prints false
blocks, breaks found, and trials, beside their bars; exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.known_rates.runs import check
from benchmarks.known_rates.scenarios import SCENARIOS, Counted, counted
from benchmarks.known_rates.world import world
from benchmarks.repository import default_cache

RUNS = 200
EVERY = 20
HEADER = ("scenario", "figure", "counted", "bar", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, and return the exit status."""
    options = _options(arguments)
    missed = False
    for scenario in SCENARIOS:
        if options.names and scenario.name not in options.names:
            continue
        folder = world(options.cache, scenario.base, scenario.head, scenario.reps)
        ran = []
        for number in range(1, options.runs + 1):
            ran.append(check(folder))
            if number % EVERY == 0:
                print(f"{scenario.name}: {number} runs", file=sys.stderr, flush=True)
        figures = counted(scenario, ran)
        _show(figures)
        missed = missed or any(figure.verdict == "MISSED" for figure in figures)
    return 1 if missed else 0


def _show(figures: Sequence[Counted]) -> None:
    """Print a scenario's figures at once: the next one may take an hour."""
    rows = [HEADER, *(figure.row() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip(), flush=True)
    print(flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_rates", description=__doc__)
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each scenario")
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="where repositories are kept"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(names):
        parser.error(f"no scenario is called {', '.join(sorted(unknown))}")
    if options.runs < 1:
        parser.error("at least one run is needed")
    return options


if __name__ == "__main__":
    sys.exit(main())
