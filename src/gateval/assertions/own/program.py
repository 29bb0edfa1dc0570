"""A program of the repository that has a say in an assertion: how it is run, and how that fails."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pydantic import Field, ValidationError, field_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.domain.base import JsonObject, plain_message
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.trials.trial import Assessment, Cause

if TYPE_CHECKING:
    from gateval.assertions.world import Bench
    from gateval.domain.manifests.fixture import CheckFiles

T = TypeVar("T")


class OwnProgram(Assertion, ABC):
    """An assertion for which a program of the repository runs.

    `python` says that it gets to import `gateval.checks`.
    """

    python: ClassVar[bool] = False
    starts_program: ClassVar[bool] = True

    include: tuple[str, ...] = Field(
        default=(),
        description="Patterns of further files that the check needs, relative to the manifest's "
        "folder; with a leading `/`, to the repository root. Candidates may get them, too.",
    )
    timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="How long the check may take."
    )
    setup: LayerSpec | None = Field(
        default=None,
        description="Installs what the check needs, as `runtime.setup` of an Agent does; paths are "
        "relative to the manifest's folder. The inputs are files of the check.",
    )

    @field_validator("setup")
    @classmethod
    def _makes_what_is_below(cls, setup: LayerSpec | None) -> LayerSpec | None:
        for made in setup.creates if setup else ():
            if made.startswith("/") or ".." in made.split("/") or not made.strip("./"):
                raise ValueError("What a set-up creates has to be a name below the folder")
        return setup

    def assess(self, evidence: Evidence) -> Assessment:
        """Raise `NotMeasured`: without anything to run it, there is nothing to say."""
        del evidence
        raise NotMeasured(Cause.GATE, f"`{self.type}` runs a program, and nothing runs any here")

    @property
    @abstractmethod
    def named(self) -> str:
        """What it is called in a sentence."""

    @abstractmethod
    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """Return the command line of its program, whose files are these."""

    async def printed(self, told: JsonObject, files: CheckFiles | None, bench: Bench) -> bytes:
        """Run the program on what it is told and return what it printed.

        Raises `NotMeasured` for one that crashes or is late.
        """
        from gateval.candidates.checks import CheckFailed, CheckOrder
        from gateval.candidates.playground.reading import Unreadable

        if bench.checks is None:
            raise NotMeasured(
                Cause.GATE, f"`{self.type}` runs a program, and nothing runs any here"
            )
        if files is None:
            raise NotMeasured(Cause.GATE, f"the plan does not name the files of `{self.type}`")
        try:
            order = CheckOrder(
                self.argv(files),
                files,
                json.dumps(told).encode(),
                self.timeout_seconds,
                python=self.python,
                setup=self.setup,
            )
            async with bench.place():
                if bench.state is None:
                    return await bench.checks.run(order)
                async with bench.state.copied() as copy:
                    return await bench.checks.run(replace(order, playground=copy))
        except CheckFailed as error:
            raise NotMeasured(error.cause, f"the check {self.named} gave no answer: {error.reason}")
        except Unreadable as error:
            raise NotMeasured(Cause.CANDIDATE, f"the end state cannot be looked at: {error}")

    async def answer(
        self,
        told: JsonObject,
        files: CheckFiles | None,
        bench: Bench,
        read: Callable[[bytes], T],
    ) -> T:
        """Run the program and return what `read` makes of what it printed.

        Raises `NotMeasured` as `printed` does, and where `read` raises `ValueError`.
        """
        printed = await self.printed(told, files, bench)
        try:
            return read(printed)
        except ValueError as error:
            message = f"the answer of the check {self.named} cannot be used: {error}"
            raise NotMeasured(Cause.CHECK, message) from None


def first_mistake(error: ValidationError) -> str:
    """Return what is wrong first with an answer, and where, as the end of a sentence."""
    first = error.errors(include_url=False)[0]
    at = ".".join(map(str, first["loc"]))
    said = plain_message(first["msg"])
    return f"{at}: {said}" if at else said
