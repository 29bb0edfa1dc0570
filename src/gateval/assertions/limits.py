"""Assertions on what an answer takes: `cost`, `latency`, `tokenUsage`, `executionMetrics`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple, NoReturn, Self

from pydantic import Field, model_validator

from gateval.assertions.base import PASS_SCORE, EvidenceAssertion, MinScore, TraceAssertion
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.domain.text import show_usd
from gateval.domain.trials.trial import Assessment, Cause


class Cost(EvidenceAssertion):
    """The candidate's model calls took at most this many tokens, input and output together, and
    cost at most so many US dollars.

    What the gate counted itself is believed before what the candidate reports. If nobody counted,
    it is an error, not zero; so is a model without a known price. Money is the provider's list
    price of the calls that the gate saw; where it saw none, what a command line of AgentV reports.
    The judge's tokens do not count.
    """

    basis: ClassVar[Basis] = Basis.USAGE

    max_tokens: int | None = Field(
        default=None, ge=0, description="The greatest number of tokens that passes."
    )
    max_usd: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        alias="maxUSD",
        description="The most US dollars that pass, at list prices.",
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.max_tokens is None and self.max_usd is None:
            raise ValueError("Write `maxTokens`, `maxUSD` or both.")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole.

        A limit that is passed fails, whatever cannot be said of the other one.
        """
        found = [self._tokens(evidence)] if self.max_tokens is not None else []
        if not found or found[0][0]:
            found += [self._money(evidence)] if self.max_usd is not None else []
        met = all(within for within, _, _ in found)
        told = [one for one in found if one[0] is met]
        return self.result(
            met=met,
            expected=" and ".join(expected for _, expected, _ in told),
            saw=" and ".join(saw for _, _, saw in told),
        )

    def _tokens(self, evidence: Evidence) -> tuple[bool, str, str]:
        most, (total, is_counted) = self.max_tokens or 0, evidence.tokens
        if total is None:
            _unknown("tokens", or_print=True)
        saw = f"{total:,}{'' if is_counted else ' as the candidate reports'}"
        return total <= most, f"at most {most:,} tokens", saw

    def _money(self, evidence: Evidence) -> tuple[bool, str, str]:
        most, (spent, unpriced) = self.max_usd or 0.0, evidence.money
        if spent is None and unpriced:
            why = f"nobody knows a price of {', '.join(unpriced)}; limit it by `maxTokens`"
            raise CannotEvaluate(Cause.GATE, why)
        if spent is None:
            why = "the money that this trial cost is unknown; let the candidate call models "
            raise CannotEvaluate(Cause.GATE, f"{why}through the gateway")
        who = " as the candidate reports" if evidence.is_money_claimed else ""
        return spent <= most, f"at most ${most:g}", f"{show_usd(spent, most)}{who}"


def _unknown(what: str, *, or_print: bool = False) -> NoReturn:
    """Raise `CannotEvaluate` for what nobody counted."""
    said = (
        f"the {what} of this trial are unknown; let the candidate call models through the gateway"
    )
    raise CannotEvaluate(Cause.GATE, f"{said} or print `usage`" if or_print else said)


class Latency(EvidenceAssertion):
    """The candidate answered within this many seconds.

    Measured from handing it the input until its answer was complete; set-up does not count, and
    neither do waits for a provider that refused or dropped calls (too many requests, say). Where a
    program may have used such a wait for something else, and the answer hangs on that, it is an
    error. A longer time that a command line of AgentV reports itself counts as its
    claim. Times vary between runs and machines, so leave room. Without `maxSeconds` it only notes
    the time and passes; `validate` says so.
    """

    max_seconds: float | None = Field(
        default=None,
        gt=0,
        description="The longest time that passes, in seconds. Any, if absent.",
    )

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        seconds, own = evidence.answer.seconds, evidence.own_seconds
        trace = evidence.answer.recorded
        waited = trace.waited if trace else 0.0
        if self.max_seconds is None:
            return self.result(
                met=True, expected="an answer at any time", saw=f"it after {own:.3f} s"
            )
        within = own <= self.max_seconds
        if within and seconds > self.max_seconds and trace and trace.source != "gate":
            raise CannotEvaluate(
                Cause.PROVIDER,
                f"the answer came after {seconds:.3f} s, of which {waited:.3f} s went by waiting "
                "for a provider that refused or dropped calls; run the gate again",
            )
        waits = f", {waited:.3f} s of waits for a provider not counted" if waited else ""
        waits = " as the candidate reports" if evidence.is_time_claimed else waits
        found = self.result(
            met=within,
            expected=f"an answer within {self.max_seconds:g} s",
            saw=f"it after {own:.3f} s{waits}",
        )
        return found.replace(claimed=evidence.is_time_claimed)


class TokenUsage(EvidenceAssertion):
    """The candidate's model calls kept within every limit that is given.

    Tokens are counted as for `cost`. A count that nobody made is an error, not zero.
    """

    basis: ClassVar[Basis] = Basis.USAGE

    max_total: int | None = Field(default=None, ge=0, description="Input and output together.")
    max_input: int | None = Field(default=None, ge=0, description="Tokens that were read.")
    max_output: int | None = Field(default=None, ge=0, description="Tokens that were written.")

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max_total is None and self.max_input is None and self.max_output is None:
            raise ValueError("it limits nothing: give `maxTotal`, `maxInput` or `maxOutput`")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        usage = evidence.usage
        asked = [
            (what, count, limit)
            for what, count, limit in (
                ("tokens", usage.total, self.max_total),
                ("input tokens", usage.input_tokens, self.max_input),
                ("output tokens", usage.output_tokens, self.max_output),
            )
            if limit is not None
        ]
        if unknown := [what for what, count, _ in asked if count is None]:
            _unknown(" and ".join(unknown), or_print=True)
        return self.result(
            met=all(count is not None and count <= limit for _, count, limit in asked),
            expected=" and ".join(f"at most {limit:,} {what}" for what, _, limit in asked),
            saw=" and ".join(f"{count:,} {what}" for what, count, _ in asked),
        )


EXPLORING = frozenset(
    {"read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"}
)
"""Tools that look and change nothing, by AgentV's list."""


class _Seen(NamedTuple):
    """One limit: whether it is kept, what was seen, in words, and whether that is only claimed."""

    kept: bool
    words: str
    claimed: bool = False


class ExecutionMetrics(TraceAssertion):
    """The share of the limits that the trial keeps is at least `minScore`.

    `targetExplorationRatio` is the share of the tool calls that only look (read, grep, glob,
    search, list, web search and fetch), which may differ from it by `explorationTolerance`. What
    nobody measured is an error, not a limit missed.
    """

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
        limits = (self.max_tool_calls, self.max_llm_calls, self.max_tokens, self.max_usd)
        if {*limits, self.max_seconds, self.target_exploration_ratio} == {None}:
            raise ValueError("it limits nothing: give `maxToolCalls` or another limit")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the trial as a whole."""
        seen = [*self._kept(evidence)]
        score = sum(one.kept for one in seen) / len(seen)
        found = self.graded(
            score,
            least=self.min_score,
            expected=f"{self.min_score:g} of {len(seen)} limits to be kept",
            saw=f"{score:.3g} ({', '.join(one.words for one in seen)})",
        )
        return found.replace(claimed=any(one.claimed for one in seen))

    def _kept(self, evidence: Evidence) -> Iterator[_Seen]:
        """Look at each limit that there is, in their order."""
        if (most := self.max_tool_calls) is not None:
            yield _at_most(len(evidence.tool_calls.steps), most, "tool calls")
        if (most := self.max_llm_calls) is not None:
            calls, counted = evidence.model_calls
            yield _at_most(calls, most, "model calls", claimed=not counted)
        if (most := self.max_tokens) is not None:
            total, claimed = evidence.usage.total, not evidence.tokens[1]
            yield _at_most(total, most, "tokens", claimed=claimed)
        if (usd := self.max_usd) is not None:
            spent, claimed = evidence.money[0], evidence.is_money_claimed
            yield _at_most(spent, usd, "dollars", claimed=claimed, of="costs")
        if (longest := self.max_seconds) is not None:
            own, claimed = evidence.own_seconds, evidence.is_time_claimed
            yield _at_most(own, longest, "seconds", claimed=claimed)
        if (ratio := self.target_exploration_ratio) is not None:
            steps = evidence.tool_calls.steps
            share = sum(one.tool in EXPLORING for one in steps) / len(steps) if steps else 0.0
            kept = abs(share - ratio) <= self.exploration_tolerance + 1e-9
            yield _Seen(kept, f"{share:.3g} exploring")


def _at_most(
    seen: float | None, limit: float, what: str, *, claimed: bool = False, of: str = ""
) -> _Seen:
    if seen is None:
        _unknown(of or what)
    return _Seen(seen <= limit, f"{seen:,.6g} {what} of at most {limit:,.6g}", claimed)
