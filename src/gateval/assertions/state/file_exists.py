"""`fileExists`: a file stands in the playground when the agent is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from gateval.assertions.state.base import StateAssertion, instead, named
from gateval.domain.manifests.fixtures.playground import InnerPath
from gateval.domain.trials.trial import Assessment

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState


class FileExists(StateAssertion):
    """A file or directory stands at this path in the playground when the agent is done.

    Symbolic links are not followed, here and in all assertions on a playground: one is no file,
    and nothing stands behind one. Inside `not`, it says that there is none.
    """

    type: ClassVar[str] = "fileExists"

    path: InnerPath = Field(description="The path in the playground.")
    kind: Literal["file", "directory", "any"] = Field(
        default="file", description="What has to stand there."
    )

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        found = await state.look(self.path)
        met = found is not None and self.kind in {"any", found.kind}
        what = "something" if self.kind == "any" else f"a {self.kind}"
        return self.result(met=met, expected=f"{what} at {named(self.path)}", saw=instead(found))
