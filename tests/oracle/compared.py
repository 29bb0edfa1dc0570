"""What the oracle compares of generated worlds: old beside new, or new beside what was kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path

from tests.oracle.sides import Json, Side, both, differences
from tests.oracle.worlds import listed, make_world

WORLDS = 5_000
QUICK = 300
KEPT = 200
"""Worlds of which something is kept; old beside new looks at `WORLDS`."""

GOLDEN = Path(__file__).parent / "goldens" / "worlds.json"
_BLOCK = 50
_ASKED = 25
_SHOWN = 12
_SHOWN_ALONE = ("views", "compared")
"""Sections for people, of which nothing is kept: stored runs show them."""


def sections_of(sides: Sequence[Side]) -> list[str]:
    """Return the sections that all sides tell."""
    told = [side.one({})["sections"] for side in sides]
    return [name for name in told[0] if all(name in one for one in told)]


def compare_worlds(
    sides: Sequence[Side], seeds: tuple[int, int], sections: Sequence[str]
) -> list[str]:
    """Return a line for each world and section of which the sides tell otherwise."""
    found = []
    for first in range(*seeds, _ASKED):
        block = (first, min(first + _ASKED, seeds[1]))
        old, new = both(sides, {"seeds": block, "sections": sections})
        for one, other in zip(old, new, strict=True):
            names = sorted({*one["told"], *other["told"]})
            apart = [name for name in names if one["told"].get(name) != other["told"].get(name)]
            why = listed(make_world(one["seed"])) if apart else ""
            if why:
                print(f"world {one['seed']}: {why}", file=sys.stderr)
            elif apart:
                found.append(f"world {one['seed']}: {', '.join(apart)}")
    return found


def show_world(sides: Sequence[Side], seed: int, sections: Sequence[str]) -> list[str]:
    """Return where the sides tell otherwise of one world, value by value."""
    asked = {"seeds": [seed, seed + 1], "sections": sections, "whole": True}
    (old,), (new,) = both(sides, asked)
    return list(islice(differences(old["told"], new["told"]), _SHOWN))


DECIDING = ("asked", "trials", "compare", "decision", "scores", "outlook")
"""Sections that no format of a file changes."""


def check_worlds(
    sides: Sequence[Side], seeds: tuple[int, int], only: Sequence[str] = ()
) -> list[str]:
    """Return a line for each block of worlds of which something else was kept."""
    kept = json.loads(GOLDEN.read_text())
    found = []
    for name, told in _blocks(sides, seeds).items():
        asked = only or list(told)
        apart = [one for one in asked if kept.get(name, {}).get(one) != told[one]]
        if apart:
            last = int(name) + _BLOCK - 1
            found.append(f"worlds {name} to {last}: {', '.join(sorted(apart))}")
    return found


def keep_worlds(sides: Sequence[Side]) -> None:
    """Write what the new side tells of all worlds."""
    GOLDEN.parent.mkdir(exist_ok=True)
    lines = [
        f"{json.dumps(name)}: {json.dumps(told)}"
        for name, told in _blocks(sides, (0, KEPT)).items()
    ]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _blocks(sides: Sequence[Side], seeds: tuple[int, int]) -> dict[str, dict[str, str]]:
    """Return by block and section one digest, with floats that are the same on every machine."""
    sections = [one for one in sections_of(sides[:1]) if one not in _SHOWN_ALONE]
    starts = range(seeds[0], seeds[1], _BLOCK)

    def asked(number: int) -> list[tuple[int, list[Json]]]:
        question = {"sections": sections, "rounded": True}
        return [
            (one, list(sides[number].ask({**question, "seeds": [one, one + _BLOCK]})))
            for one in starts[number :: len(sides)]
        ]

    with ThreadPoolExecutor(len(sides)) as pool:
        answers = sorted(one for each in pool.map(asked, range(len(sides))) for one in each)
    return {
        str(start): {
            name: sha256(
                "".join(one["told"].get(name, one["told"].get("run", "")) for one in told).encode()
            ).hexdigest()[:12]
            for name in sections
        }
        for start, told in answers
    }
