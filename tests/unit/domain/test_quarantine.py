"""Which fixtures are in quarantine on a day, and what people are told of entries that ended."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.planning.shares import with_quarantine
from tests.helpers.reports import edit_fixture, edit_plan, make_results

TODAY, YESTERDAY, LATER = "2026-12-01", "2026-11-30", "2027-01-01"


def entry(fixture: str = "f", until: str = TODAY, **fields: Any) -> dict[str, Any]:
    return {"fixture": fixture, "owner": "ada", "until": until, **fields}


@pytest.mark.parametrize(
    ("entries", "apart", "told"),
    [
        ([], [], []),
        ([entry()], ["a-eval f", "b-eval f"], []),
        ([entry(eval="b-eval")], ["b-eval f"], []),
        ([entry(until=YESTERDAY)], [], ["ended on 2026-11-30"]),
        ([entry(until=YESTERDAY), entry(until=LATER)], ["a-eval f", "b-eval f"], []),
        ([entry(until=YESTERDAY), entry(eval="a-eval")], ["a-eval f"], ["ended on 2026-11-30"]),
        ([entry(until=YESTERDAY, eval="a-eval"), entry()], ["a-eval f", "b-eval f"], []),
        ([entry("cases")], ["a-eval g", "b-eval g"], []),
        ([entry("f"), entry("f", LATER)], ["a-eval f", "b-eval f"], []),
        ([entry("gone")], [], ["names gone, and there is no such fixture"]),
    ],
)
def test_a_quarantine_holds_up_to_its_day(
    entries: list[dict[str, Any]], apart: list[str], told: list[str]
) -> None:
    rows = "\n".join(
        f"{name} {f} base:pass head:pass" for name in ("a-eval", "b-eval") for f in "fg"
    )
    policy = Policy.model_validate({"quarantine": entries})
    plan = edit_plan(edit_fixture(make_results(rows), "g", family="cases"), policy=policy).plan
    catalogue = Catalogue(fixtures=plan.evals[0].fixtures)
    found = with_quarantine(plan, TODAY, [catalogue])
    mine = [(one.name, each) for one in found.evals for each in one.quarantined]
    assert [f"{name} {each.fixture}" for name, each in mine] == apart
    assert {each.owner for _, each in mine} <= {"ada"}
    assert {each.until for _, each in mine} <= {TODAY, LATER}
    assert len(found.warnings) == len(told)
    assert all(part in text for part, text in zip(told, found.warnings, strict=True))
