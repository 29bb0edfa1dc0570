from __future__ import annotations

import pytest
from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.trials.trace import SHADOW, Replay, ToolAnswer

Call = tuple[str, JsonObject]


def entry(
    tool: str, result: JsonValue = None, *, arguments: JsonObject | None = None, error: str = ""
) -> ToolReplay:
    return ToolReplay(tool=tool, arguments=arguments, result=result, error=error or None)


def play(entries: list[ToolReplay], calls: list[Call], shadow: tuple[str, ...] = ()) -> list[str]:
    replay = Replay(tuple(entries), shadow)
    return [replay.answer(tool, arguments).text for tool, arguments in calls]


CASES: list[tuple[str, list[ToolReplay], list[Call], list[str]]] = [
    ("no entry is a shadow", [], [("find", {})], [SHADOW]),
    (
        "the nth entry answers the nth call, the last one all further",
        [entry("find", "one"), entry("find", "two")],
        [("find", {}), ("find", {"id": 1}), ("find", {}), ("find", {})],
        ["one", "two", "two", "two"],
    ),
    (
        "entries with arguments win, wherever they stand",
        [entry("find", "any"), entry("find", "seven", arguments={"id": 7})],
        [("find", {"id": 7}), ("find", {"id": 8}), ("find", {"id": 7})],
        ["seven", "any", "seven"],
    ),
    (
        "calls count for the group that answers them",
        [
            entry("find", "any-1"),
            entry("find", "any-2"),
            entry("find", "seven-1", arguments={"id": 7}),
            entry("find", "seven-2", arguments={"id": 7}),
        ],
        [("find", {"id": 7}), ("find", {}), ("find", {"id": 7}), ("find", {}), ("find", {"id": 7})],
        ["seven-1", "any-1", "seven-2", "any-2", "seven-2"],
    ),
    (
        "arguments match exactly",
        [entry("find", "seven", arguments={"id": 7})],
        [
            ("find", {"id": 7, "deep": True}),
            ("find", {"id": "7"}),
            ("find", {}),
            ("look", {"id": 7}),
        ],
        [SHADOW] * 4,
    ),
    (
        "key order and 7.0 for 7 are no difference, true for 1 is",
        [entry("find", "hit", arguments={"id": 7, "on": {"a": 1, "b": [2]}})],
        [
            ("find", {"on": {"b": [2.0], "a": 1}, "id": 7.0}),
            ("find", {"id": 7, "on": {"a": True, "b": [2]}}),
        ],
        ["hit", SHADOW],
    ),
    (
        "empty arguments are arguments",
        [entry("find", "none given", arguments={})],
        [("find", {}), ("find", {"id": 1})],
        ["none given", SHADOW],
    ),
    (
        "results that are no text become JSON",
        [entry("find", {"b": 1, "a": None}), entry("find", None), entry("find", "null")],
        [("find", {})] * 3,
        ['{"a":null,"b":1}', "null", "null"],
    ),
]


@pytest.mark.parametrize(
    ("entries", "calls", "texts"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_replay(entries: list[ToolReplay], calls: list[Call], texts: list[str]) -> None:
    assert play(entries, calls) == texts


def test_a_shadow_tool_is_never_replayed() -> None:
    assert play([entry("pay", "paid")], [("pay", {})], shadow=("pay",)) == [SHADOW]


def test_an_error_is_told_apart_from_a_result() -> None:
    replay = Replay((entry("pay", error="card declined"),), ())
    assert replay.answer("pay", {}) == ToolAnswer("card declined", is_error=True)


def test_trials_do_not_share_their_count() -> None:
    entries = (entry("find", "one"), entry("find", "two"))
    for _ in range(2):
        assert Replay(entries, ()).answer("find", {}).text == "one"
