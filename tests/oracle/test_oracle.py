"""A small part of the oracle, against what was kept; `python -m tests.oracle` looks at all of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle import compared, plans, stored
from tests.oracle.cases import CASES, PLANS
from tests.oracle.sides import ROOT, Side


@pytest.fixture(scope="module")
def side() -> Iterator[Side]:
    with Side(ROOT) as side:
        yield side


def test_generated_runs_are_decided_as_before(side: Side) -> None:
    assert compared.check_worlds([side], (0, 50), compared.DECIDING) == []


def test_stored_runs_can_be_read(side: Side) -> None:
    (case,) = (one for one in CASES if one.name == "sealed-partly")
    told = stored.read(side, case)
    assert "held-out" in told
    assert "Traceback" not in told


def test_an_agent_that_nobody_changed_is_the_one_that_was_measured(side: Side) -> None:
    """A key that manifests gained since does not make what is kept of programs stale."""
    (case,) = (one for one in CASES if one.name == "program")
    told = stored.read(side, case)
    assert '"phase": "Failed"' in told
    assert "Stale" not in told


def test_changes_are_planned_as_before(side: Side) -> None:
    assert plans.check([side], PLANS[:2]) == []
