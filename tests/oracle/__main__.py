"""Proves that two trees of Gateval say the same: `python -m tests.oracle OLD_WORKTREE`.

Without a tree, what this one says is held against what was kept in `goldens/`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.oracle import compared, plans, stored
from tests.oracle.cases import CASES, Case
from tests.oracle.sides import ROOT, Side

PARTS = ("worlds", "runs", "plans")


def main() -> int:
    """Compare, keep, make or show, as asked; return 1 where something differs."""
    asked = _arguments()
    old = Path(asked.old) if asked.old else ROOT
    with Side(old) as one, Side(ROOT) as other:
        sides = [one, other]
        if asked.make is not None:
            stored.make(one, asked.make)
            return 0
        if asked.keep:
            _keep(sides, asked.parts)
            return 0
        if asked.world is not None:
            lines = compared.show_world(sides, asked.world, _sections(sides, asked))
            print("\n".join(lines) or "Both say the same.")
            return int(bool(lines))
        return _compare(sides, asked)


def _keep(sides: Sequence[Side], parts: Sequence[str]) -> None:
    if "worlds" in parts:
        compared.keep_worlds(sides)
    if "runs" in parts:
        stored.keep(sides)
    if "plans" in parts:
        plans.keep(sides)


def _compare(sides: Sequence[Side], asked: argparse.Namespace) -> int:
    begun, found = time.monotonic(), list[str]()
    for part in asked.parts:
        found += _PARTS[part](sides, asked)
        print(f"{part} after {time.monotonic() - begun:.0f} s", file=sys.stderr)
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} differ. `--world N` shows one of the worlds.", file=sys.stderr)
    return int(bool(found))


def _worlds(sides: Sequence[Side], asked: argparse.Namespace) -> list[str]:
    most = asked.worlds or (compared.QUICK if asked.quick else compared.WORLDS)
    if asked.old:
        return compared.compare_worlds(sides, (0, most), _sections(sides, asked))
    return compared.check_worlds(sides, (0, min(most, compared.KEPT)))


def _runs(sides: Sequence[Side], asked: argparse.Namespace) -> list[str]:
    cases = _some([one for one in CASES if not (asked.quick and one.large)], stored.QUICK, asked)
    return stored.compare(sides, cases) if asked.old else stored.check(sides, cases)


def _plans(sides: Sequence[Side], asked: argparse.Namespace) -> list[str]:
    cases = _some(plans.EVERY, plans.QUICK, asked)
    return plans.compare(sides, cases) if asked.old else plans.check(sides, cases)


_PARTS = {"worlds": _worlds, "runs": _runs, "plans": _plans}


def _some(cases: Sequence[Case], quick: int, asked: argparse.Namespace) -> Sequence[Case]:
    """Return the cases that are named, a part of all if it is to be quick, or all."""
    if asked.case:
        return [one for one in cases if one.name in asked.case]
    return cases[:: -(-len(cases) // quick)] if asked.quick else cases


def _sections(sides: Sequence[Side], asked: argparse.Namespace) -> list[str]:
    told = compared.sections_of(sides)
    return [one for one in told if one not in asked.without]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("old", nargs="?", metavar="OLD_WORKTREE", help="the tree to compare with")
    parser.add_argument("--quick", action="store_true", help="a part that takes less than a minute")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    parser.add_argument("--without", nargs="+", default=[], metavar="SECTION", help="but for these")
    parser.add_argument("--worlds", type=int, metavar="N", help="the first N worlds")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="only these runs and plans")
    parser.add_argument("--world", type=int, metavar="SEED", help="show one world's differences")
    parser.add_argument("--keep", action="store_true", help="write the goldens anew")
    parser.add_argument("--make", nargs="*", metavar="NAME", help="make stored runs anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
