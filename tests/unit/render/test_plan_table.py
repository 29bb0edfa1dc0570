"""The plan as text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from gateval.domain.decision.decision import Report
from gateval.render.terminal.plan_table import render_plan
from tests.helpers import sample_reports
from tests.helpers.hostile import hostile_results
from tests.helpers.reports import make
from tests.unit.render.conftest import Golden

SAMPLES = {
    "regressed": sample_reports.regressed,
    "incomplete": sample_reports.incomplete,
    "nothing": sample_reports.nothing,
    "hostile": sample_reports.hostile,
    "without base": lambda: make("a-eval f base:new head:pass,pass", base=None),
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_golden(sample: Callable[[], Report], golden: Golden) -> None:
    golden(render_plan(sample().results.plan), "txt")


def test_nothing_to_evaluate_is_as_harmless() -> None:
    plan = hostile_results(sample_reports.nothing().results).plan
    shown = render_plan(plan)

    assert "\nNothing to evaluate. # PASSED /merge" in shown
    assert "\x1b" not in shown
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


def test_nothing_to_evaluate_is_said_once() -> None:
    plan = sample_reports.nothing().results.plan.model_copy(
        update={"nothing": "Nothing to evaluate: no Agent changed."}
    )

    assert render_plan(plan).count("Nothing to evaluate") == 1


def test_nothing_to_evaluate_loads_no_layout_library() -> None:
    code = """
import sys
from gateval.domain.plan.plan import (Plan)
from gateval.domain.tree import (Revision)
from gateval.render.terminal.plan_table import render_plan
render_plan(Plan(head=Revision(name="HEAD", commit=None, tree="1" * 40), nothing="Nothing."))
print(sorted({name.split(".")[0] for name in sys.modules} & {"rich", "jinja2", "junitparser"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
