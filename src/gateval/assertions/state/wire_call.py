"""`wireCall`: a call that the gate itself saw pass, however often it should."""

from __future__ import annotations

import json
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Basis, Evidence, NotMeasured
from gateval.assertions.matching.json_match import matches
from gateval.assertions.matching.tool_order import ToolName
from gateval.domain.base import JsonObject
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten


class WireCall(Assertion):
    """A tool is called, and the gate saw it on the wire between the candidate and its models.

    What a candidate says of itself is no proof here: where there is only its word, it is an error.
    Calls that were refused do not count. Of a candidate that calls tools of the gate and no model
    through it, `atMost` is an error: it may have called others.
    """

    type: ClassVar[str] = "wireCall"
    basis: ClassVar[Basis] = Basis.TRACE

    tool: ToolName = Field(description="The tool whose calls are counted.")
    arguments: JsonObject = Field(
        default={}, description="What a call has to hold to count; others do not matter."
    )
    mode: Literal["subset", "exact"] = Field(
        default="subset", description="Whether a call may have further arguments."
    )
    at_least: int = Field(default=1, ge=0, le=2000, description="How many calls there must be.")
    at_most: int | None = Field(
        default=None, ge=0, le=2000, description="How many there may be; any number if absent."
    )

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError("`atMost` is below `atLeast`, so that nothing could pass")
        return self

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the calls that count, else on all of the tool."""
        calls = evidence.tool_calls
        trace = evidence.answer.recorded
        if (
            trace is None
            or not trace.is_seen
            or (trace.is_partly_seen and self.at_most is not None)
        ):
            raise NotMeasured(
                Cause.GATE,
                "the gate did not see all calls itself, and the candidate's word is no proof; let "
                "it call models through the gateway",
            )
        mine = calls.of(self.tool)
        counted = (
            [
                one
                for one in mine
                if one.arguments is not None
                and matches(self.arguments, one.arguments, subset=self.mode == "subset")
            ]
            if self.arguments or self.mode == "exact"
            else [*mine]
        )
        most = float("inf") if self.at_most is None else self.at_most
        shown = shorten(json.dumps(self.arguments, ensure_ascii=False)) if self.arguments else ""
        asked = f"at least {self.at_least}" if self.at_most is None else self._between()
        return self.result(
            met=self.at_least <= len(counted) <= most,
            expected=f"{asked} calls of `{self.tool}`{f' with {shown}' if shown else ''}",
            saw=f"{len(counted)} among {calls}",
            steps=[one.number for one in counted or mine],
        )

    def _between(self) -> str:
        if self.at_least == self.at_most:
            return f"{self.at_least}"
        return f"{self.at_least} to {self.at_most}"
