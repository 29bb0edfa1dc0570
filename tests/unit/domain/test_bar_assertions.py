"""Edits inside combinators: what lets more pass is a lower bar, what lets less pass is none."""

from __future__ import annotations

import pytest

from gateval.app.readers import registries
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.planning.bar.fixtures import lowered_in_fixture, same_test
from gateval.formats.native.manifests import read_manifests

HEAD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: f}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions:
"""
A, B, C = (f"{{type: contains, value: {one}}}" for one in "abc")


def fixture(*assertions: str) -> Fixture:
    text = HEAD + "".join(f"    - {one}\n" for one in assertions)
    parsed = read_manifests("f.yaml", text.encode(), registries())
    assert parsed.problems == ()
    (found,) = parsed.manifests
    assert isinstance(found, Fixture)
    return found


def made(kind: str, *parts: str, more: str = "") -> str:
    return f"{{type: {kind}, {more}assertions: [{', '.join(parts)}]}}"


def lowered(before: str, after: str) -> list[str]:
    old, new = fixture(before), fixture(after)
    assert not same_test(old, new)
    assert old.digest != new.digest
    return [one.what for one in lowered_in_fixture(old, new)]


DROPPED = "assertion contains b of `{}` of fixture f dropped"
ADDED = "assertion contains c of `{}` of fixture f added, so that more passes"


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        ("all", [DROPPED.format("all")], []),
        ("any", [], [ADDED.format("any")]),
        ("not", [DROPPED.format("not")], []),
    ],
)
def test_a_part_that_is_gone_and_one_that_is_new(
    kind: str, less: list[str], more: list[str]
) -> None:
    assert lowered(made(kind, A, B), made(kind, A)) == less
    assert lowered(made(kind, A, B), made(kind, A, B, C)) == more


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        ("any", ["assertion contains b of `any` of `not` of fixture f dropped"], []),
        (
            "all",
            [],
            ["assertion contains c of `all` of `not` of fixture f added, so that more passes"],
        ),
    ],
)
def test_inside_a_negation_it_is_the_other_way_round(
    kind: str, less: list[str], more: list[str]
) -> None:
    before = made("not", made(kind, A, B))
    assert lowered(before, made("not", made(kind, A))) == less
    assert lowered(before, made("not", made(kind, A, B, C))) == more


def test_an_edit_of_a_part_is_shown() -> None:
    old, new = fixture(made("any", A, B)), fixture(made("any", A, "{type: contains, value: x}"))
    (one,) = lowered_in_fixture(old, new)
    assert str(one) == (
        'f.yaml:7 assertion contains b of `any` of fixture f changed {"value":"b"} → {"value":"x"}'
    )


def test_an_alternative_to_what_was_asked_alone() -> None:
    assert lowered(A, made("any", A, B)) == ["assertion contains a of fixture f dropped"]


def test_all_that_becomes_any() -> None:
    assert lowered(made("all", A, B), made("any", A, B)) == ["assertion all of fixture f dropped"]


def test_of_two_the_likelier_is_what_it_became() -> None:
    before = fixture(made("any", A, B), made("any", C, "{type: isJson}"))
    after = fixture(made("any", C), made("any", A, B, "{type: isJson}"))
    assert [one.what for one in lowered_in_fixture(before, after)] == [
        "assertion isJson of `any` of fixture f added, so that more passes"
    ]


def test_the_order_of_parts_and_a_weight_of_one_do_not_matter() -> None:
    plain, turned = fixture(made("any", A, B)), fixture(made("any", A, B, more="weight: 1, "))
    assert same_test(plain, turned)
