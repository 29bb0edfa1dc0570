"""`directoryListing`: what a directory of the playground holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gateval.assertions.state.base import StateAssertion, instead, named
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState

_SHOWN = 20


class DirectoryListing(StateAssertion):
    """A directory of the playground holds these entries when the agent is done.

    An entry is a name, of a directory with a `/` behind it: `notes/`. With `deep`, it is a path:
    `notes/a.txt`. More than 10,000 entries, or 64 levels, are an error.
    """

    type: ClassVar[str] = "directoryListing"

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

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        found = await state.listing(self.path or "", deep=self.deep)
        more = "and no more " if self.mode == "exact" else ""
        expected = f"{_shown(self.entries)} {more}in {named(self.path or '')}"
        if not isinstance(found, list):
            return self.absent(expected=expected, saw=instead(found))
        there = [f"{one.path}/" if one.found.kind == "directory" else one.path for one in found]
        lacking = sorted({*self.entries} - {*there})
        further = sorted({*there} - {*self.entries}) if self.mode == "exact" else []
        saw = [f"{_shown(there)}"]
        saw += [f"without {_shown(lacking)}"] if lacking else []
        saw += [f"with {_shown(further)} besides"] if further else []
        return self.result(met=not lacking and not further, expected=expected, saw=", ".join(saw))


def _shown(names: tuple[str, ...] | list[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return shorten(", ".join(names[:_SHOWN])) + more
