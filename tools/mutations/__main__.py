"""Measures what the unit tests kill: `make mutations`; `--write` makes it the baseline.

`--survivors` does so too, and takes for killed what the baseline has as killed: after new tests.
`--only PREFIX` lists what survives of all mutants of functions whose names begin so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools.mutations.drawing import ROOMS, Again, draw, draw_again, functions_at
from tools.mutations.killing import outcomes
from tools.mutations.mutants import ROOT, SAME, SOURCE, Function, functions_in, room_of

BASELINE = ROOT / "tests/data/mutations.json"
SLACK = 0.02
"""So far the share may lie below the baseline's: chance decides which mutants are drawn."""

Records = Sequence[Mapping[str, Any]]


def main() -> int:
    """Measure, and compare with the baseline or become it."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--survivors", action="store_true")
    parser.add_argument("--only", metavar="PREFIX")
    parser.add_argument("--tests", default="tests/unit")
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    os.chdir(ROOT)
    functions = functions_in(SOURCE / "gateval")
    if options.only:
        mine = [each for each in functions if each.name.startswith(options.only)]
        mutants = [mutant for each in mine for mutant in each.mutants]
        found = outcomes(mutants, functions, options.tests).values()
        print(dict(Counter(each["outcome"] for each in found)))
        return 0
    stored = BASELINE.read_text("utf-8") if BASELINE.exists() else '{"mutants": []}'
    baseline = json.loads(stored)
    if options.write or options.survivors:
        mutants = draw(functions, options.seed, options.count)
        known = {_same(each): each for each in baseline["mutants"] if "test" in each}
        if options.write:
            known = {}
        asked = [mutant for mutant in mutants if _same(mutant.record()) not in known]
        measured = {
            _same(mutant.record()): {**mutant.record(), **outcome}
            for mutant, outcome in outcomes(asked, functions, options.tests).items()
        }
        records = [(known | measured)[_same(mutant.record())] for mutant in mutants]
        _store(records, baseline["mutants"], options.seed)
        return 0
    return _compare(baseline, functions, options.tests)


def _same(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[key] for key in SAME)


def shares(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return per room and for all the counts of outcomes, and the share that was killed."""
    rows: dict[str, Counter[str]] = {name: Counter() for name in (*ROOMS, "all")}
    for record in records:
        for name in (room_of(record["function"]), "all"):
            rows[name][record["outcome"]] += 1
    return {
        name: {
            **{key: row[key] for key in ("killed", "timeout", "survived")},
            "share": round((row["killed"] + row["timeout"]) / max(1, row.total()), 4),
        }
        for name, row in rows.items()
    }


def _compare(baseline: Mapping[str, Any], functions: Sequence[Function], tests: str) -> int:
    """Measure the baseline's functions again; return 1 where the share is lower than it may be."""
    old = functions_at(baseline["commit"], {each["function"] for each in baseline["mutants"]})
    again = draw_again(baseline, functions, old)
    measured = outcomes([mutant for _, mutant in again.mutants], functions, tests)
    records = [
        {**mutant.record(), **measured[mutant], "function": name} for name, mutant in again.mutants
    ]
    kept = [each for each in baseline["mutants"] if each["function"] not in again.gone]
    before, now = shares(kept), shares(records)
    _tell(again, before, now)
    return int(now["all"]["share"] < before["all"]["share"] - SLACK)


def _tell(again: Again, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name, new in again.moved.items():
        print(f"moved: {name} is {new}")
    for name in again.gone:
        print(
            f'gone: {name}; name what does its work under "moved" in {BASELINE.relative_to(ROOT)}'
        )
    for name in before:
        print(f"{name:<10} before {before[name]}, now {now[name]}")


def _store(records: Records, earlier: Records, seed: int) -> None:
    """Write the baseline; what people noted about a mutant that survives stays."""
    notes = {_same(each): each.get("note") for each in earlier}
    noted = []
    for record in records:
        note = notes.get(_same(record))
        noted.append({**record, "note": note} if note and "test" not in record else record)
    last = ["git", "log", "-1", "--format=%H", "--", "src/gateval"]
    done = subprocess.run(last, capture_output=True, text=True, check=True)
    head = {"commit": done.stdout.strip(), "seed": seed, "shares": shares(records), "moved": {}}
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in noted)
    text = json.dumps(head, indent=1).removesuffix("\n}")
    BASELINE.write_text(f'{text},\n "mutants": [\n{lines}\n ]\n}}\n', "utf-8")
    print(json.dumps(head["shares"], indent=1))


if __name__ == "__main__":
    sys.exit(main())
