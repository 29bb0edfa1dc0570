"""Which targets a suite may be for that cannot be read."""

from __future__ import annotations

import pytest

from gateval.formats.agentv.suite_evals import named_targets

KNOWN = ("default", "desk", "shop", "shop-fast", "judge")


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        ("tests: [", (), {"default"}),
        ("tests:\n  - {id: shop, input: desk}\n  - [", (), {"default"}),
        ("execution: {target: shop}\ntests: [", (), {"shop"}),
        ("execution:\n  target: shop-fast\ntests: [", (), {"shop-fast"}),
        ("execution:\n  targets: [shop, 'desk']\ntests: [", (), {"shop", "desk"}),
        ("execution:\n  targets:\n    - shop\n    - desk\ntests: [", (), {"shop", "desk"}),
        ("target: shop\ntests: [", (), {"shop"}),
        ("tests:\n  - id: a\n    execution: {target: desk}\n  - [", (), {"default", "desk"}),
        ("execution: {target: shpo}\ntests: [", (), {*KNOWN}),
        ("executoin: {target: shpo}\ntests: [", (), {*KNOWN}),
        ("execution: {target: '${{ T }}'}\ntests: [", (), {*KNOWN}),
        ("tests: ./a.jsonl\n[", ('{"execution": {"target": "shop"}}\n',), {"default", "shop"}),
        ("", (), {"default"}),
    ],
)
def test_named_targets(own: str, others: tuple[str, ...], expected: set[str]) -> None:
    assert named_targets(own, others, KNOWN, "default") == expected


def test_without_a_default_any_may_be_meant() -> None:
    assert named_targets("tests: [", (), ("desk", "shop"), "default") == {"desk", "shop"}
