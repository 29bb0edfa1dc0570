"""`toolTrajectory`: how much of the expected tool calls was made."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured, ToolCalls
from gateval.assertions.graded.least import PASS_SCORE, MinScore
from gateval.assertions.graded.measures.trajectories import (
    ArgumentsMatch,
    ExpectedCall,
    exact,
    in_order,
    subset,
    superset,
)
from gateval.assertions.matching.tool_order import ToolName
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten

_SHOWN = 5
_WAYS = {"inOrder": in_order, "exact": exact, "superset": superset}


class _Tally(NamedTuple):
    """What was looked at: how much of it is as it should be, what is not, and the calls it is."""

    hits: int
    total: int
    lacking: list[str]
    calls: list[Step]


class ToolTrajectory(Assertion):
    """The share of what is expected of the tool calls is at least `minScore`.

    `anyOrder`: each tool of `minimums` is called at least so often. `inOrder`: the calls of
    `expected` are made one after the other, and others may stand between; the next call of that
    tool counts, and with other arguments it is used up and missed. `exact`: they are made position
    by position; further calls cost nothing. `superset`: each of them is made, in any order.
    `subset`: each call that is made is one of them. A refused call counts as none. `argumentsMatch`
    says how a call's arguments are compared with those expected: `superset`, it has all of them;
    `subset`, it has no others; `exact`; `ignore`; or a list of dotted paths that are compared.
    `maxSeconds` of a call that is made counts beside it; where nobody told how long it took, that
    is an error. So is a missing trace, not 0.
    """

    type: ClassVar[str] = "toolTrajectory"
    basis: ClassVar[Basis] = Basis.TRACE

    mode: Literal["anyOrder", "inOrder", "exact", "superset", "subset"] = Field(
        description="How the calls are compared."
    )
    minimums: dict[ToolName, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="With `anyOrder`, the fewest calls of each tool."
    )
    expected: tuple[ExpectedCall, ...] = Field(
        default=(), max_length=500, description="With the other modes, the calls expected."
    )
    arguments_match: ArgumentsMatch = Field(
        default="superset", description="How arguments are compared."
    )
    min_score: MinScore = PASS_SCORE

    @model_validator(mode="after")
    def _fits_its_mode(self) -> Self:
        any_order = self.mode == "anyOrder"
        wanted, other = ("minimums", "expected") if any_order else ("expected", "minimums")
        if getattr(self, other):
            raise ValueError(f"`{other}` does not go with `mode: {self.mode}`; write `{wanted}`")
        if not getattr(self, wanted):
            raise ValueError(f"`mode: {self.mode}` needs `{wanted}`")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that are as they should be."""
        calls = evidence.tool_calls
        hits, total, lacking, found = self._tally(calls)
        score = hits / total if total else 1.0
        missed = [shorten(one, 80) for one in lacking[:_SHOWN]]
        return self.graded(
            score,
            least=self.min_score,
            expected=f"tool calls ({self.mode}) that score at least {self.min_score:g}",
            saw=f"{score:.3g} for {calls}"
            + (f"; not as expected: {', '.join(missed)}" if missed else ""),
            steps=[call.number for call in found],
        )

    def _tally(self, calls: ToolCalls) -> _Tally:
        if self.mode == "anyOrder":
            few = [tool for tool, least in self.minimums.items() if len(calls.of(tool)) < least]
            enough = [call for call in calls.steps if call.tool in self.minimums]
            return _Tally(len(self.minimums) - len(few), len(self.minimums), few, enough)
        if self.mode == "subset":
            known = subset(self.expected, calls.steps, self._fits)
            other = [call for call, fits in zip(calls.steps, known, strict=True) if not fits]
            mine = [call for call, fits in zip(calls.steps, known, strict=True) if fits]
            return _Tally(len(mine), len(known), [call.tool or "" for call in other], mine)
        return self._aligned(calls.steps)

    def _aligned(self, calls: tuple[Step, ...]) -> _Tally:
        pairs = list(
            zip(self.expected, _WAYS[self.mode](self.expected, calls, self._fits), strict=True)
        )
        lacking = [one.tool for one, call in pairs if call is None]
        found = [call for _, call in pairs if call is not None]
        timed = [
            (one.tool, _seconds(call) <= one.max_seconds)
            for one, call in pairs
            if call is not None and one.max_seconds is not None
        ]
        late = [f"{tool} in its time" for tool, in_time in timed if not in_time]
        hits = len(found) + len(timed) - len(late)
        return _Tally(hits, len(pairs) + len(timed), lacking + late, found)

    def _fits(self, one: ExpectedCall, call: Step) -> bool:
        return one.fits(call, self.arguments_match)


def _seconds(call: Step) -> float:
    if call.took is None:
        raise NotMeasured(
            Cause.GATE,
            f"nobody told how long the call of `{shorten(call.tool or '', 60)}` took; the "
            "candidate may print `seconds` with the tool calls of its trace",
        )
    return call.took
