"""What changed in the prompts of Agents that do worse, which is the likeliest cause."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Side
from gateval.render.report.facts import FixtureFacts, FixtureStatus

_WORSE = (FixtureStatus.REGRESSED, FixtureStatus.SILENT, FixtureStatus.SUSPECT)


class PromptEdit(NamedTuple):
    """An Agent whose prompt differs: a unified diff of base and head, and where head's stands.

    `where` is a path, or a path with a line after a colon; empty if nobody noted it.
    """

    agent: str
    where: str
    lines: Sequence[str]

    @property
    def diff(self) -> str:
        """The diff as text."""
        return "\n".join(self.lines)

    def count(self, sign: str) -> int:
        """How many lines begin with `+`, or with `-`."""
        return sum(line.startswith(sign) for line in self.lines)


def prompt_edits(plan: Plan, facts: Iterable[FixtureFacts]) -> Sequence[PromptEdit]:
    """Return the prompts' changes of all Agents that do worse than base, or look like it."""
    agents = dict.fromkeys(one.planned.agent for one in facts if one.status in _WORSE)
    found = (_edit(plan, agent) for agent in agents)
    return [one for one in found if one is not None]


def _edit(plan: Plan, name: str) -> PromptEdit | None:
    head, base = plan.agent(name, Side.HEAD), plan.agent(name, Side.BASE)
    if head is None or base is None:
        return None
    old, new = base.system.splitlines(), head.system.splitlines()
    lines = list(difflib.unified_diff(old, new, lineterm=""))[2:]  # the first two name the files
    if not lines:
        return None
    reasons = (one for change in plan.changes if change.agent == name for one in change.reasons)
    where = next((one.where for one in reasons if one.what == "spec.system"), "")
    return PromptEdit(name, where, lines)
