"""`fileJson`: a value in a JSON file of the playground."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, JsonValue

from gateval.assertions.matching.final_message import NoText
from gateval.assertions.matching.json_match import matches
from gateval.assertions.state.base import JsonPath, StateAssertion, named
from gateval.assertions.state.contents import json_of, shown, text_of
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


class FileJson(StateAssertion):
    """The value that a JSONPath names in a JSON file of the playground is this one.

    Paths are those of RFC 9535, for one value. Numbers count by their value: 1 is 1.0, not "1".
    """

    type: ClassVar[str] = "fileJson"

    path: InnerPath = Field(description="The file's path in the playground.")
    at: JsonPath = Field(default="$", description="The JSONPath of the value.")
    value: JsonValue = Field(description="The value expected there.")
    mode: Literal["exact", "subset"] = Field(
        default="exact", description="Whether objects may have further keys, at every level."
    )

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        where = f"`{self.at}` of {named(self.path)}"
        expected = f"{shown(self.value)} at {where}"
        try:
            text = await text_of(state, self.path)
            value = json_of(text, self.at, named(self.path))
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent))
        met = matches(self.value, value, subset=self.mode == "subset")
        return self.result(met=met, expected=expected, saw=shown(value))
