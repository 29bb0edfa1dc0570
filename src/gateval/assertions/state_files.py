"""Assertions on files of a playground: `fileExists`, `fileEquals`, `fileMatches`, `fileJson`,
`directoryListing`.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from gateval.assertions.base import Assertion, AssessmentContext, Priced
from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.assertions.matching import TEXT_LIMIT, NoText, compiled, matches, quoted
from gateval.candidates.bounded import Nothing, PathError, check_path, find
from gateval.candidates.playground_files import StateUnreadable
from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.manifests.playground import InnerPath
from gateval.domain.paths import show_path
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Cause
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground_files import FoundPath
    from gateval.candidates.playground_state import EndState


TEXT_BYTES = 1024 * 1024
"""Bytes of a file that are looked at."""


def _pattern(pattern: str) -> str:
    compiled(pattern)
    return pattern


def _json_path(expression: str) -> str:
    try:
        check_path(expression)
    except PathError as error:
        raise ValueError(str(error)) from None
    return expression


Pattern = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_pattern)]
JsonPath = Annotated[str, Field(max_length=300), AfterValidator(_json_path)]


class StateAssertion(Assertion, ABC):
    """An assertion that looks at the end state of a playground."""

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """See `Assertion`. What a candidate left unreadable is its own doing, and never a pass."""
        from gateval.candidates.playground_state import StateUnavailable

        del evidence, spec
        state = context.state
        if state is None:
            why = f"`{self.type}` looks at a playground, and there is none"
            raise CannotEvaluate(Cause.GATE, why)
        try:
            async with context.place() if self.starts_program else contextlib.nullcontext():
                met, saw = await self._look(state)
        except NoText as lack:
            return self.absent(expected=self._expected, saw=str(lack)), None
        except StateUnreadable as error:
            raise CannotEvaluate(Cause.CANDIDATE, f"the end state cannot be looked at: {error}")
        except StateUnavailable as error:
            raise CannotEvaluate(error.cause, error.reason)
        return self.result(met=met, expected=self._expected, saw=saw), None

    @property
    @abstractmethod
    def _expected(self) -> str:
        """What is expected, as a part of a sentence."""

    @abstractmethod
    async def _look(self, state: EndState) -> tuple[bool, str]:
        """Whether it is met, and what was seen. Raises `NoText` for what is not there,
        `StateUnreadable` and `StateUnavailable`.
        """


def named(path: str) -> str:
    """Return a path for a sentence."""
    return f"`{show_path(path)}`" if path else "the playground"


def instead(found: FoundPath | None) -> str:
    """Say what stands where a file should."""
    if found is None:
        return "nothing there"
    said = {"link": "a symbolic link, which is not followed", "other": "no regular file"}
    return said.get(found.kind, f"a {found.kind}")


async def text_of(state: EndState, path: str) -> str:
    """Return a file as text; what is no UTF-8 is U+FFFD. Raises `NoText`, `StateUnreadable`."""
    found = await state.content(path, TEXT_BYTES)
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    raise NoText(f"{instead(found)} at {named(path)}")


def json_of(text: str, at: str, what: str) -> JsonValue:
    """Return the value that a JSONPath names in a text. Raises `NoText` and `StateUnreadable`."""
    try:
        return find(at, read_json(text))
    except NotStrictJson as error:
        raise NoText(f"{what} that is no JSON ({error})") from None
    except Nothing:
        raise NoText(f"nothing at `{at}` of {what}") from None
    except PathError as error:
        raise StateUnreadable(f"{what}: {error}") from None


def shown(value: JsonValue) -> str:
    """Return a value for a sentence."""
    return shorten(canonical_json(value))


_SHOWN = 20


class DirectoryListing(StateAssertion):
    """A directory of the playground holds these entries when the agent is done.

    An entry is a name, of a directory with a `/` behind it: `notes/`. With `deep`, it is a path:
    `notes/a.txt`. More than 10,000 entries, or 64 levels, are an error.
    """

    path: InnerPath | None = Field(
        default=None, description="The directory's path; the playground itself if absent."
    )
    entries: tuple[str, ...] = Field(max_length=1000, description="What it holds.")
    mode: Literal["exact", "subset"] = Field(
        default="exact", description="Whether it may hold more (`subset`)."
    )
    deep: bool = Field(
        default=False, description="Whether what stands in its directories counts, too."
    )

    @property
    def _expected(self) -> str:
        more = "and no more " if self.mode == "exact" else ""
        return f"{_shown(self.entries)} {more}in {named(self.path or '')}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        found = await state.listing(self.path or "", deep=self.deep)
        if not isinstance(found, list):
            raise NoText(instead(found))
        there = [f"{one.path}/" if one.found.kind == "directory" else one.path for one in found]
        lacking = sorted({*self.entries} - {*there})
        further = sorted({*there} - {*self.entries}) if self.mode == "exact" else []
        saw = [f"{_shown(there)}"]
        saw += [f"without {_shown(lacking)}"] if lacking else []
        saw += [f"with {_shown(further)} besides"] if further else []
        return not lacking and not further, ", ".join(saw)


def _shown(names: tuple[str, ...] | list[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return shorten(", ".join(names[:_SHOWN])) + more


class FileEquals(StateAssertion):
    """A file of the playground holds exactly this text when the agent is done.

    Line breaks of Windows count as plain ones.
    """

    path: InnerPath = Field(description="The file's path in the playground.")
    value: str = Field(max_length=TEXT_BYTES // 4, description="The whole text of the file.")
    trim: bool = Field(
        default=False, description="Whether white space around both texts is left aside."
    )

    @property
    def _expected(self) -> str:
        return f"{named(self.path)} to hold {quoted(self.value)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        text = await text_of(state, self.path)
        ours, theirs = (one.replace("\r\n", "\n") for one in (text, self.value))
        return ours.strip() == theirs.strip() if self.trim else ours == theirs, quoted(text)


class FileExists(StateAssertion):
    """A file or directory stands at this path in the playground when the agent is done.

    Symbolic links are not followed, here and in all assertions on a playground: one is no file,
    and nothing stands behind one. Inside `not`, it says that there is none.
    """

    path: InnerPath = Field(description="The path in the playground.")
    kind: Literal["file", "directory", "any"] = Field(
        default="file", description="What has to stand there."
    )

    @property
    def _expected(self) -> str:
        what = "something" if self.kind == "any" else f"a {self.kind}"
        return f"{what} at {named(self.path)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        found = await state.look(self.path)
        return found is not None and self.kind in {"any", found.kind}, instead(found)


class FileJson(StateAssertion):
    """The value that a JSONPath names in a JSON file of the playground is this one.

    Paths are those of RFC 9535, for one value. Numbers count by their value: 1 is 1.0, not "1".
    """

    path: InnerPath = Field(description="The file's path in the playground.")
    at: JsonPath = Field(default="$", description="The JSONPath of the value.")
    value: JsonValue = Field(description="The value expected there.")
    mode: Literal["exact", "subset"] = Field(
        default="exact", description="Whether objects may have further keys, at every level."
    )

    @property
    def _expected(self) -> str:
        return f"{shown(self.value)} at `{self.at}` of {named(self.path)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        text = await text_of(state, self.path)
        value = json_of(text, self.at, named(self.path))
        return matches(self.value, value, subset=self.mode == "subset"), shown(value)


class FileMatches(StateAssertion):
    """The pattern (of RE2, as for `regex`) matches somewhere in a file of the playground.

    A file of more than 100,000 characters is not searched but reported as an error.
    """

    path: InnerPath = Field(description="The file's path in the playground.")
    pattern: Pattern = Field(description="The pattern to search for.")

    @property
    def _expected(self) -> str:
        return f"a match of /{self.pattern}/ in {named(self.path)}"

    async def _look(self, state: EndState) -> tuple[bool, str]:
        text = await text_of(state, self.path)
        found = await searched(self.pattern, text, named(self.path))
        return found is not None, quoted(found or text)


async def searched(pattern: str, text: str, what: str) -> str | None:
    """Return what matches first, or None. Raises `StateUnreadable` for a text that is too long."""
    import asyncio  # planning reads all assertions, and start-up time is a promise

    if len(text) > TEXT_LIMIT:
        raise StateUnreadable(f"{what} has {len(text):,} characters, over {TEXT_LIMIT:,}")
    match = await asyncio.to_thread(compiled(pattern).search, text)
    return None if match is None else str(match.group())
