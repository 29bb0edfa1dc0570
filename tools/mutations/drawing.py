"""Which mutants are drawn, and which stand for them once the code has changed."""

from __future__ import annotations

import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.mutations.mutants import ROOT, SAME, SOURCE, Function, Mutant, functions_of

ROOMS = ("decision", "statistics", "labels", "planning", "results")

ALIKE = 0.6
"""From this likeness on, one function is taken for another that is gone."""


def draw(functions: Sequence[Function], seed: int, count: int) -> list[Mutant]:
    """Return so many mutants: of each room as many, and of no function two before one of each."""
    drawn: list[Mutant] = []
    for room in ROOMS:
        mine = [_in_order(each, seed) for each in functions if each.room == room]
        random.Random(f"{seed} {room}").shuffle(mine)  # noqa: S311
        rounds = range(max(map(len, mine), default=0))
        one_by_one = [each[nth] for nth in rounds for each in mine if nth < len(each)]
        drawn += one_by_one[: count // len(ROOMS)]
    return drawn


def _in_order(function: Function, seed: int) -> list[Mutant]:
    """Return a function's mutants in the order in which they are drawn, whatever else there is."""
    order = random.Random(f"{seed} {function.name}")  # noqa: S311
    return order.sample(function.mutants, len(function.mutants))


@dataclass
class Again:
    """A baseline's mutants in today's code, each with the function for which it stands."""

    mutants: list[tuple[str, Mutant]] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)


def draw_again(
    baseline: Mapping[str, Any], functions: Sequence[Function], old: Mapping[str, Function]
) -> Again:
    """Return the same mutants of the same functions; where they are gone, others of these."""
    asked: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in baseline["mutants"]:
        asked[each["function"]].append(each)
    names = {each.name: each for each in functions}
    again, taken = Again(), set[Mutant]()
    for name, records in asked.items():
        now = names.get(baseline["moved"].get(name, name)) or _most_alike(name, old, functions)
        if now is None:
            again.gone.append(name)
            continue
        if now.name != name:
            again.moved[name] = now.name
        free = [mutant for mutant in _in_order(now, baseline["seed"]) if mutant not in taken]
        wanted = [_texts(record) for record in records]
        free.sort(key=lambda mutant: _texts(mutant.record()) not in wanted)
        taken.update(free[: len(records)])
        again.mutants += [(name, mutant) for mutant in free[: len(records)]]
    return again


def _texts(record: Mapping[str, Any]) -> list[Any]:
    return [record[key] for key in SAME if key != "function"]


def _most_alike(
    name: str, old: Mapping[str, Function], functions: Sequence[Function]
) -> Function | None:
    """Return the function that seems to do the work of one that is gone, or None."""
    qualified = name.partition(":")[2]
    likeness = {}
    for each in functions:
        other = each.name.partition(":")[2]
        same = other.split(".")[-1] == qualified.split(".")[-1]
        named = 0.2 if other == qualified else 0.1 * same
        likeness[each.name] = named + (_alike(old[name].words, each.words) if name in old else 0)
    best = max(functions, key=lambda each: likeness[each.name])
    return best if likeness[best.name] >= ALIKE else None


def _alike(one: Counter[str], other: Counter[str]) -> float:
    return 2 * (one & other).total() / (one.total() + other.total())


def functions_at(commit: str, names: Iterable[str]) -> dict[str, Function]:
    """Return functions as they were in a commit; none where the repository does not have it."""
    found = {}
    for module in sorted({name.partition(":")[0] for name in names}):
        for end in (".py", "/__init__.py"):
            path = SOURCE / (module.replace(".", "/") + end)
            show = ["git", "show", f"{commit}:{path.relative_to(ROOT).as_posix()}"]
            done = subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                found.update({each.name: each for each in functions_of(done.stdout, path)})
    return found
