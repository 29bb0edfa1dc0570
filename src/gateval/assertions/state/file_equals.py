"""`fileEquals`: a file of the playground holds exactly a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from gateval.assertions.matching.final_message import NoText, quoted
from gateval.assertions.state.base import TEXT_BYTES, StateAssertion, named
from gateval.assertions.state.contents import text_of
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


class FileEquals(StateAssertion):
    """A file of the playground holds exactly this text when the agent is done.

    Line breaks of Windows count as plain ones.
    """

    type: ClassVar[str] = "fileEquals"

    path: InnerPath = Field(description="The file's path in the playground.")
    value: str = Field(max_length=TEXT_BYTES // 4, description="The whole text of the file.")
    trim: bool = Field(
        default=False, description="Whether white space around both texts is left aside."
    )

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        expected = f"{named(self.path)} to hold {quoted(self.value)}"
        try:
            text = await text_of(state, self.path)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent))
        met = self._plain(text) == self._plain(self.value)
        return self.result(met=met, expected=expected, saw=quoted(text))

    def _plain(self, text: str) -> str:
        plain = text.replace("\r\n", "\n")
        return plain.strip() if self.trim else plain
