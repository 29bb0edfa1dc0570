"""`python -m benchmarks [NAME...]`: measure, and print the figures beside their bars."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    action_entry,
    agentv_run,
    alternating,
    bridges,
    closure_export,
    gateway,
    kills,
    looking_back,
    many_cases,
    memory,
    owner_checks,
    phoning_home,
    plan_changed,
    plan_unchanged,
    playgrounds,
    redirect,
    replay,
    report_page,
    run_http,
    second_set_up,
    shards,
    validate_all,
)
from benchmarks.figures import table
from benchmarks.processes import BenchmarkError
from benchmarks.repository import default_cache
from benchmarks.scale import Scale, tiny
from benchmarks.statistics import bars, lines

BENCHMARKS = {
    plan_unchanged.NAME: plan_unchanged.measure,
    plan_changed.NAME: plan_changed.measure,
    validate_all.NAME: validate_all.measure,
    many_cases.NAME: many_cases.measure,
    looking_back.NAME: looking_back.measure,
    closure_export.NAME: closure_export.measure,
    second_set_up.NAME: second_set_up.measure,
    phoning_home.NAME: phoning_home.measure,
    action_entry.NAME: action_entry.measure,
    run_http.NAME: run_http.measure,
    agentv_run.NAME: agentv_run.measure,
    playgrounds.NAME: playgrounds.measure,
    alternating.NAME: alternating.measure,
    gateway.NAME: gateway.measure,
    owner_checks.NAME: owner_checks.measure,
    bridges.NAME: bridges.measure,
    redirect.NAME: redirect.measure,
    replay.NAME: replay.measure,
    kills.NAME: kills.measure,
    shards.NAME: shards.measure,
    memory.NAME: memory.measure,
    report_page.NAME: report_page.measure,
    lines.NAME: bars.measured,
}

ON_REQUEST = {memory.NAME}
"""They take a quarter of an hour."""

ALONE = {shards.NAME}
"""Those that take so long that they run by their name alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or most; returns the exit status."""
    options = _options(arguments)
    scale = tiny(options.cache) if options.tiny else Scale(options.cache)
    figures = []
    for name in options.names or [one for one in BENCHMARKS if one not in ON_REQUEST]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            figures += BENCHMARKS[name](scale)
        except BenchmarkError as error:
            print(f"{name} could not be measured: {error}", file=sys.stderr)
            return 2
    if options.json:
        print(json.dumps([figure.as_json() for figure in figures], indent=2))
    else:
        print(table(figures))
    return 1 if options.check and any(figure.over for figure in figures) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure is over its bar")
    parser.add_argument("--tiny", action="store_true", help="sizes that only show that it runs")
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="where repositories are kept"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - BENCHMARKS.keys():
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
