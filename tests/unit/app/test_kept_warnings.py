"""Warnings of a run that are too many are counted, and not dropped without a word."""

from __future__ import annotations

from gateval.app.run.evaluate import WARNINGS_LIMIT, kept_warnings


def test_what_is_left_out_is_told() -> None:
    few = [f"Warning {number}." for number in range(WARNINGS_LIMIT)]
    assert kept_warnings(few) == tuple(few)
    kept = kept_warnings([*few, "One more.", "And another."])
    assert len(kept) == WARNINGS_LIMIT
    assert kept[:-1] == tuple(few[:-1])
    assert kept[-1] == "3 more warnings are left out here."
