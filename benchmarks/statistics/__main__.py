"""`python -m benchmarks.statistics`: simulate, and print our figures beside bars and a peer's.

It exits with 1 when a bar is missed. `--plot` writes the plot of the documentation instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.statistics.bars import lines
from benchmarks.statistics.lines import table
from benchmarks.statistics.plot import draw

RUNS = 4_000


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated runs for each figure")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the plot as SVG")
    options = parser.parse_args()
    if options.plot:
        options.plot.write_text(draw(options.runs), encoding="utf-8")
        return 0
    found = []
    for line in lines(options.runs):
        print(f"{line.setting}: {line.what} ...", file=sys.stderr, flush=True)
        found.append(line)
    print(table(found))
    return 1 if any(line.missed for line in found) else 0


if __name__ == "__main__":
    sys.exit(main())
