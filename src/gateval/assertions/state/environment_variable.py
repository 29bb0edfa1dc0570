"""`environmentVariable`: what a program would find in its environment, when the agent is done."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field, model_validator

from gateval.assertions.matching.final_message import NoText, quoted
from gateval.assertions.state.base import Pattern, StateAssertion, named
from gateval.assertions.state.contents import text_of
from gateval.assertions.state.file_matches import searched
from gateval.candidates.playground.reading import Unreadable
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


CHARACTERS = 65_536
"""Characters of an environment file that are read: the parser takes 4 µs for each."""

_BLANKS = re.compile(r"[^\S\r\n]{200}")
"""The parser looks through a row of blanks once for each of them: 1 MiB would take half an hour."""


class EnvironmentVariable(StateAssertion):
    """An environment variable has a value for programs in the playground when the agent is done.

    An environment file (lines `NAME=value`) says it; what that lacks is as the playground's `env`
    has it. It is read as python-dotenv reads it, but nothing is expanded in it, and a line of
    another form is an error; so is a file of more than 65,536 characters.
    """

    type: ClassVar[str] = "environmentVariable"

    variable: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200, description="Its name."
    )
    value: str | None = Field(default=None, description="Its whole value; any if both are absent.")
    pattern: Pattern | None = Field(
        default=None, description="A pattern (of RE2) that matches in its value."
    )
    path: InnerPath = Field(
        default=".env", description="The environment file's path in the playground."
    )

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if self.value is not None and self.pattern is not None:
            raise ValueError("Say `value` or `pattern`, not both")
        return self

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        expected = (
            f"{self.variable} to {self._asked()}, by {named(self.path)} or the playground's env"
        )
        try:
            said = variables(await text_of(state, self.path), named(self.path))
        except NoText as absent:
            if await state.look(self.path) is not None:
                return self.absent(expected=expected, saw=str(absent))
            said = {}
        found = {**state.variables, **said}.get(self.variable)
        if found is None:
            return self.absent(expected=expected, saw="it is not set")
        return self.result(met=await self._met(found), expected=expected, saw=quoted(found))

    async def _met(self, found: str) -> bool:
        if self.pattern is not None:
            return await searched(self.pattern, found, f"the value of {self.variable}") is not None
        return self.value is None or found == self.value

    def _asked(self) -> str:
        if self.pattern is not None:
            return f"match /{self.pattern}/"
        return "be set" if self.value is None else f"be {quoted(self.value)}"


def variables(text: str, what: str) -> dict[str, str]:
    """Return what an environment file sets, by name; the last line of a name counts.

    `what` names the file. Raises `Unreadable` for a line that sets nothing, and for too much.
    """
    from dotenv.parser import parse_stream

    if len(text) > CHARACTERS or _BLANKS.search(text):
        said = f"over {CHARACTERS:,} characters, or 200 blanks in a row"
        raise Unreadable(f"{what} has {said}, which no environment file has")
    found: dict[str, str] = {}
    for one in parse_stream(io.StringIO(text.removeprefix("\ufeff"))):
        if one.error or (one.key is not None and one.value is None):
            blank = one.original.string[: -len(one.original.string.lstrip())].count("\n")
            raise Unreadable(f"line {one.original.line + blank} of {what} is no NAME=value")
        if one.key is not None and one.value is not None:
            found[one.key] = one.value
    return found
