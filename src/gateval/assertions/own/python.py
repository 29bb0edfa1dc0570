"""`python`: a decorated function of the repository assesses the trial."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from gateval.assertions.own.base import OwnCheck
from gateval.domain.manifests.fixture import CheckFiles
from gateval.judging.neutral import shorten


class Python(OwnCheck):
    """A Python function of one's own says whether the trial passes.

    The function has `@check` of `gateval.checks` above it, takes a `Trial` and returns `True` or
    `False`, a score from 0 to 1, or a `Result`. It runs in an interpreter of its own, which needs
    nothing installed: `gateval.checks` is there. What it prints is for people. Everything else is
    as with `script`.
    """

    type: ClassVar[str] = "python"
    python: ClassVar[bool] = True

    function: str = Field(
        pattern=r"^[^/:][^:]*\.py::[A-Za-z_]\w*$",
        max_length=500,
        description="The file, relative to the manifest's folder, and the function in it: "
        "`checks/polite.py::is_polite`.",
    )
    interpreter: tuple[str, ...] = Field(
        default=("python3",),
        min_length=1,
        description="The command that starts Python (3.8 or newer) with what the check imports.",
    )

    @property
    def named(self) -> str:
        """See `OwnCheck`."""
        return f"`{shorten(self.function, 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `OwnCheck`."""
        from gateval.candidates.preparing.check_library import LIBRARY, RUNNER

        del files
        file, _, name = self.function.partition("::")
        return (*self.interpreter, f"{LIBRARY}/{RUNNER}", file, name)
