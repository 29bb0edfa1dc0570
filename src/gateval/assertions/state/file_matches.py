"""`fileMatches`: a pattern matches in a file of the playground."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from gateval.assertions.matching.final_message import TEXT_LIMIT, NoText, quoted
from gateval.assertions.matching.linear_regex import compiled
from gateval.assertions.state.base import Pattern, StateAssertion, named
from gateval.assertions.state.contents import text_of
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


class FileMatches(StateAssertion):
    """The pattern (of RE2, as for `regex`) matches somewhere in a file of the playground.

    A file of more than 100,000 characters is not searched but reported as an error.
    """

    type: ClassVar[str] = "fileMatches"

    path: InnerPath = Field(description="The file's path in the playground.")
    pattern: Pattern = Field(description="The pattern to search for.")

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        expected = f"a match of /{self.pattern}/ in {named(self.path)}"
        try:
            text = await text_of(state, self.path)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent))
        found = await searched(self.pattern, text, named(self.path))
        return self.result(met=found is not None, expected=expected, saw=quoted(found or text))


async def searched(pattern: str, text: str, what: str) -> str | None:
    """Return what matches first, or None. Raises `Unreadable` for a text that is too long."""
    import asyncio  # planning reads all assertions, and start-up time is a promise

    from gateval.candidates.playground.reading import Unreadable

    if len(text) > TEXT_LIMIT:
        raise Unreadable(f"{what} has {len(text):,} characters, over {TEXT_LIMIT:,}")
    match = await asyncio.to_thread(compiled(pattern).search, text)
    return None if match is None else str(match.group())
