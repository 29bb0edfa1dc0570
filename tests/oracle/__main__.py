"""Proves that two trees of Gateval say the same: `python -m tests.oracle OLD_WORKTREE`.

Without a tree, what this one says is held against what was kept in `goldens/`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.oracle import compared
from tests.oracle.sides import ROOT, Side

PARTS = ("worlds",)


def main() -> int:
    """Compare, keep or show, as asked; return 1 where something differs."""
    asked = _arguments()
    old = Path(asked.old) if asked.old else ROOT
    with Side(old) as one, Side(ROOT) as other:
        sides = [one, other]
        if asked.keep:
            compared.keep_worlds(sides)
            return 0
        if asked.world is not None:
            lines = compared.show_world(sides, asked.world, _sections(sides, asked))
            print("\n".join(lines) or "Both say the same.")
            return int(bool(lines))
        return _compare(sides, asked)


def _compare(sides: list[Side], asked: argparse.Namespace) -> int:
    begun, found = time.monotonic(), []
    if "worlds" in asked.parts:
        most = asked.worlds or (compared.QUICK if asked.quick else compared.WORLDS)
        if asked.old:
            found += compared.compare_worlds(sides, (0, most), _sections(sides, asked))
        else:
            found += compared.check_worlds(sides, (0, most))
        print(f"{most:,} worlds after {time.monotonic() - begun:.0f} s", file=sys.stderr)
    for line in found:
        print(line)
    if found:
        print(f"{len(found)} differ. --world N shows one.", file=sys.stderr)
    return int(bool(found))


def _sections(sides: list[Side], asked: argparse.Namespace) -> list[str]:
    told = compared.sections_of(sides)
    return [one for one in told if one not in asked.without]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("old", nargs="?", metavar="OLD_WORKTREE", help="the tree to compare with")
    parser.add_argument("--quick", action="store_true", help="a part that takes less than a minute")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    parser.add_argument("--without", nargs="+", default=[], metavar="SECTION", help="but for these")
    parser.add_argument("--worlds", type=int, metavar="N", help="the first N worlds")
    parser.add_argument("--world", type=int, metavar="SEED", help="show one world's differences")
    parser.add_argument("--keep", action="store_true", help="write the goldens anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
