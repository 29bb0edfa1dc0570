"""Processes of head and base never live at the same time; agents without processes interleave."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Side
from gateval.engine.stage import phases
from tests.helpers.first_trials import first_trials
from tests.helpers.reports import edit_plan, make_results

ROWS = """
a-eval f base:pass,pass head:pass,pass
b-eval g base:pass,pass head:pass,pass
"""


def plan_of(processes: str, rows: str = ROWS) -> Plan:
    """A plan in which the named agents, as `a.head b.base`, are processes."""
    results = make_results(rows)
    agents = tuple(
        agent.model_copy(update={"runtime": RuntimeSpec(type="command")})
        if f"{agent.name}.{agent.side}" in processes.split()
        else agent
        for agent in results.plan.agents
    )
    return edit_plan(results, agents=agents).plan


def told(plan: Plan, first: Side) -> list[tuple[str, Side | None]]:
    """The phases as text, e.g. `a.base a.base b.head`, and whose processes live in each."""
    return [
        (" ".join(f"{key.eval[0]}.{key.side}{key.repetition}" for key in phase.keys), phase.side)
        for phase in phases(plan, first_trials(plan), first)
    ]


ALL = "a.base1 a.head1 a.base2 a.head2 b.base1 b.head1 b.base2 b.head2"


@pytest.mark.parametrize(
    ("processes", "first", "expected"),
    [
        pytest.param("", Side.BASE, [(ALL, None)], id="no process"),
        pytest.param("a.head b.head", Side.BASE, [(ALL, Side.HEAD)], id="one side only"),
        pytest.param(
            "a.base a.head b.base b.head",
            Side.BASE,
            [
                ("a.base1 a.base2 b.base1 b.base2", Side.BASE),
                ("a.head1 a.head2 b.head1 b.head2", Side.HEAD),
            ],
            id="all are processes",
        ),
        pytest.param(
            "a.base a.head b.base b.head",
            Side.HEAD,
            [
                ("a.head1 a.head2 b.head1 b.head2", Side.HEAD),
                ("a.base1 a.base2 b.base1 b.base2", Side.BASE),
            ],
            id="head first",
        ),
        pytest.param(
            "a.base a.head",
            Side.BASE,
            [
                ("a.base1 a.base2 b.base1 b.head1 b.base2 b.head2", Side.BASE),
                ("a.head1 a.head2", Side.HEAD),
            ],
            id="others interleave",
        ),
        pytest.param(
            "a.head b.base",
            Side.BASE,
            [
                ("a.base1 a.base2 b.base1 b.head1 b.base2 b.head2", Side.BASE),
                ("a.head1 a.head2", Side.HEAD),
            ],
            id="of two agents",
        ),
    ],
)
def test_phases(processes: str, first: Side, expected: list[tuple[str, Side | None]]) -> None:
    assert told(plan_of(processes), first) == expected


@pytest.mark.parametrize("first", list(Side))
@pytest.mark.parametrize("processes", ["", "a.head", "a.head a.base", "a.base b.head", "b.base"])
def test_every_trial_runs_once_and_no_phase_has_processes_of_both_sides(
    processes: str, first: Side
) -> None:
    plan = plan_of(processes)
    found = phases(plan, first_trials(plan), first)
    keys = [key for phase in found for key in phase.keys]
    assert sorted(keys, key=lambda key: key.order) == sorted(
        first_trials(plan), key=lambda key: key.order
    )
    for phase in found:
        sides = {
            key.side
            for key in phase.keys
            if f"{key.eval.removesuffix('-eval')}.{key.side}" in processes.split()
        }
        assert sides <= {phase.side}
