"""`skillTrigger`: whether the agent took up a skill."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment

_SKILL_TOOLS = frozenset({"skill", "activate_skill", "use_skill"})
_SKILL_KEYS = ("skill", "name", "skill_name", "command")
_READ_TOOLS = frozenset({"read", "read_file", "view", "open", "cat"})


class SkillTrigger(Assertion):
    """The agent takes up this skill, or with `shouldTrigger: false` does not.

    It does by a call of a tool named `Skill` (or `use_skill`, `activate_skill`) with that name, or
    by reading a file below a folder of that name in a folder `skills`.
    """

    type: ClassVar[str] = "skillTrigger"
    basis: ClassVar[Basis] = Basis.TRACE

    skill: str = Field(min_length=1, max_length=200, description="The skill's name.")
    should_trigger: bool = Field(default=True, description="Whether it is to be taken up.")

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that take it up."""
        if not self.should_trigger:
            evidence.refuse_empty_claim()
        calls = evidence.tool_calls
        looked_at = calls.steps if self.should_trigger else calls.asked
        taken = [call for call in looked_at if self._takes_up(call)]
        wish = "to be taken up" if self.should_trigger else "not to be taken up"
        return self.result(
            met=bool(taken) is self.should_trigger,
            expected=f"the skill `{self.skill}` {wish}",
            saw=str(calls),
            steps=[call.number for call in taken],
        )

    def _takes_up(self, call: Step) -> bool:
        tool, arguments = (call.tool or "").lower(), call.arguments or {}
        if tool in _SKILL_TOOLS:
            given = [arguments.get(key) for key in _SKILL_KEYS]
            return any(isinstance(one, str) and one.strip("/ ") == self.skill for one in given)
        if tool not in _READ_TOOLS:
            return False
        paths = [value for value in arguments.values() if isinstance(value, str)]
        return any(f"skills/{self.skill}/" in path.replace("\\", "/") for path in paths)
