"""`executionMetrics`: how many limits on tools, calls, tokens and time a trial keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.domain.trials.trial import Assessment, Cause

EXPLORING = frozenset(
    {"read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"}
)
"""Tools that look and change nothing, by AgentV's list."""


class _Seen(NamedTuple):
    """One limit: whether it is kept, what was seen, in words, and whether that is only claimed."""

    kept: bool
    words: str
    claimed: bool = False


class ExecutionMetrics(Assertion):
    """The share of the limits that the trial keeps is at least `minScore`.

    `targetExplorationRatio` is the share of the tool calls that only look (read, grep, glob,
    search, list, web search and fetch), which may differ from it by `explorationTolerance`. What
    nobody measured is an error, not a limit missed.
    """

    type: ClassVar[str] = "executionMetrics"
    basis: ClassVar[Basis] = Basis.TRACE

    max_tool_calls: int | None = Field(default=None, ge=0, description="The most tool calls.")
    max_llm_calls: int | None = Field(default=None, ge=0, description="The most model calls.")
    max_tokens: int | None = Field(default=None, ge=0, description="The most tokens, in and out.")
    max_usd: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        alias="maxUSD",
        description="The most US dollars, at list prices.",
    )
    max_seconds: float | None = Field(
        default=None, ge=0, description="The longest time; waits for a provider do not count."
    )
    target_exploration_ratio: float | None = Field(
        default=None, ge=0, le=1, description="The share of tool calls that only look."
    )
    exploration_tolerance: float = Field(
        default=0.2, ge=0, le=1, description="How far that share may be off."
    )
    min_score: MinScore = PASS_SCORE

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if not self._asked():
            raise ValueError("it limits nothing: give `maxToolCalls` or another limit")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        seen = [look(evidence) for look in self._asked()]
        score = sum(one.kept for one in seen) / len(seen)
        found = self.graded(
            score,
            least=self.min_score,
            expected=f"{self.min_score:g} of {len(seen)} limits to be kept",
            saw=f"{score:.3g} ({', '.join(one.words for one in seen)})",
        )
        return found.model_copy(update={"claimed": any(one.claimed for one in seen)})

    def _asked(self) -> list[Callable[[Evidence], _Seen]]:
        looks = (
            (self.max_tool_calls, self._tool_calls),
            (self.max_llm_calls, self._llm_calls),
            (self.max_tokens, self._tokens),
            (self.max_usd, self._money),
            (self.max_seconds, self._seconds),
            (self.target_exploration_ratio, self._exploration),
        )
        return [look for limit, look in looks if limit is not None]

    def _tool_calls(self, evidence: Evidence) -> _Seen:
        return _at_most(len(evidence.tool_calls.steps), self.max_tool_calls, "tool calls")

    def _llm_calls(self, evidence: Evidence) -> _Seen:
        calls, counted = evidence.model_calls
        if calls is None:
            raise _unknown("model calls")
        seen = _at_most(calls, self.max_llm_calls, "model calls")
        return seen._replace(claimed=not counted)

    def _tokens(self, evidence: Evidence) -> _Seen:
        total = evidence.usage.total
        if total is None:
            raise _unknown("tokens")
        seen = _at_most(total, self.max_tokens, "tokens")
        return seen._replace(claimed=not evidence.tokens[1])

    def _money(self, evidence: Evidence) -> _Seen:
        spent, _ = evidence.money
        if spent is None:
            raise _unknown("costs")
        seen = _at_most(spent, self.max_usd, "dollars")
        return seen._replace(claimed=evidence.is_money_claimed)

    def _seconds(self, evidence: Evidence) -> _Seen:
        seen = _at_most(evidence.own_seconds, self.max_seconds, "seconds")
        return seen._replace(claimed=evidence.is_time_claimed)

    def _exploration(self, evidence: Evidence) -> _Seen:
        calls = evidence.tool_calls.steps
        share = sum(call.tool in EXPLORING for call in calls) / len(calls) if calls else 0.0
        off = abs(share - (self.target_exploration_ratio or 0.0))
        return _Seen(off <= self.exploration_tolerance + 1e-9, f"{share:.3g} exploring")


def _at_most(seen: float, limit: float | None, what: str) -> _Seen:
    return _Seen(limit is None or seen <= limit, f"{seen:,.6g} {what} of at most {limit or 0:,.6g}")


def _unknown(what: str) -> NotMeasured:
    message = (
        f"the {what} of this trial are unknown; let the candidate call models through the gateway"
    )
    return NotMeasured(Cause.GATE, message)
