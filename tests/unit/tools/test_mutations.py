"""Mutants are drawn by function, and found again where the code has changed."""

from __future__ import annotations

import textwrap
from types import CodeType
from typing import Any

import pytest

from tools.mutations.__main__ import shares
from tools.mutations.drawing import draw, draw_again
from tools.mutations.mutants import SOURCE, Function, Mutant, functions_of


def module(text: str, name: str = "gateval.domain.results.made") -> list[Function]:
    path = SOURCE / f"{name.replace('.', '/')}.py"
    return list(functions_of(textwrap.dedent(text), path))


@pytest.mark.parametrize(
    "row",
    [
        ["return a < 1", "return not a < 1", "return a <= 1", "return a >= 1", "return a < 2"],
        ["return not a", "return not (not a)", "return a"],
        ["c = a and b", "c = a or b", "c = (not a) and b", "c = a and not b"],
        ["return any(a)", "return not any(a)", "return all(a)"],
        ["return f(b, c=d)", "return not f(b, c=d)", "return f(b)"],
        ["while a: break", "while not a: break", "while a: pass"],
        ["c = [x for x in a if x.y]", "c = [x for x in a if not x.y]"],
        ["if a: raise b", "if not a: raise b", "if a: pass"],
        ["c: int = 1", "c: int = 2"],
        ["'prose'\nf(f'{a:.2f} {b + c}')", "'prose'\npass", "'prose'\nf(f'{a:.2f} {b - c}')"],
        ["yield a"],  # what yields nothing is another kind of function
    ],
    ids=lambda row: row[0],
)
def test_what_may_be_changed(row: list[str]) -> None:
    text, *expected = row

    def function(body: str) -> Function:
        lines = textwrap.indent(body, "    ")
        return module(f"@b(1 < 2)\ndef it(a: int = 1) -> bool:\n{lines}\n")[0]

    def code(function: Function, mutant: Mutant | None = None) -> tuple[object, ...]:
        code = function.code(mutant)
        return code.co_code, [each for each in code.co_consts if not isinstance(each, CodeType)]

    mine = function(text)
    mutants = [code(mine, mutant) for mutant in mine.mutants]
    assert mutants == [code(function(each)) for each in expected]
    assert code(mine) == code(function(text)), "what is exchanged is put back"


TWO = """
    class Rule:
        @property
        def share(self) -> float:
            return self.passed / self.trials if self.trials else 0.0

    def worse(before: float, now: float) -> bool:
        return now < before - 0.05 and before > 0
"""


def baseline(functions: list[Function]) -> dict[str, Any]:
    drawn = draw(functions, 1, 10)
    return {"mutants": [mutant.record() for mutant in drawn], "seed": 1, "moved": {}}


def test_each_function_comes_once_before_any_comes_twice() -> None:
    assert [mutant.function.split(":")[1] for mutant in draw(module(TWO), 1, 20)] in (
        ["worse", "Rule.share"] * 2,
        ["Rule.share", "worse"] * 2,
    )


@pytest.mark.parametrize(
    ("now", "name", "moved"),
    [
        (TWO, "gateval.domain.results.made", 0),
        ("    X = 1\n" + TWO.replace("worse", "sinks"), "gateval.domain.results.made", 1),
        (TWO, "gateval.domain.results.models.moved", 2),
    ],
)
def test_the_same_mutants_are_measured_again(now: str, name: str, moved: int) -> None:
    was = module(TWO)
    record = baseline(was)
    again = draw_again(record, module(now, name), {each.name: each for each in was})
    texts = [(each["operator"], each["before"], each["after"]) for each in record["mutants"]]
    assert [(each.operator, each.before, each.after) for _, each in again.mutants] == texts
    assert len(again.moved) == moved
    assert not again.gone


def test_others_stand_for_mutants_that_are_gone_and_none_for_a_function_that_is() -> None:
    was = module(TWO)
    changed = module(TWO.replace("before - 0.05 and before > 0", "before * 0.95"))
    record = baseline(was)
    again = draw_again(record, changed, {each.name: each for each in was})
    assert len(again.mutants) == len({mutant for _, mutant in again.mutants}) == 2
    gone = draw_again(record, was[:1], {})
    assert gone.gone == ["gateval.domain.results.made:worse"]


def test_people_say_what_does_the_work_of_a_function_that_is_gone() -> None:
    was = module(TWO)
    now = module("def all_new(a: int) -> bool:\n    return a < 1\n")
    moved = {each.name: "gateval.domain.results.made:all_new" for each in was}
    again = draw_again({**baseline(was), "moved": moved}, now, {})
    assert {name for name, _ in again.mutants} == set(moved)
    assert {mutant.function for _, mutant in again.mutants} == set(moved.values())


def test_a_timeout_counts_as_killed_and_is_told_apart() -> None:
    outcomes = {"a": "killed", "b": "timeout", "c": "survived", "d": "survived"}
    records = [
        {"function": f"gateval.domain.labels.{name}:f", "outcome": outcome}
        for name, outcome in outcomes.items()
    ]
    expected = {"killed": 1, "timeout": 1, "survived": 2, "share": 0.5}
    assert shares(records)["labels"] == shares(records)["all"] == expected
