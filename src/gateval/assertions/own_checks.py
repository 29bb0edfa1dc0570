"""`python` and `script`: programs of the repository that assess a trial."""

from __future__ import annotations

import json
import posixpath
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from gateval.assertions.base import (
    PASS_SCORE,
    Assertion,
    AssessmentContext,
    MinScore,
    Priced,
)
from gateval.assertions.evidence import Basis, CannotEvaluate, Evidence
from gateval.domain.base import JsonObject, Value, canonical_json, plain_message
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.fixture import AssertionSpec, CheckFiles
from gateval.domain.paths import path_of_text, resolve_path
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import beginning, quote, show_figure, show_threshold
from gateval.domain.trials.trace import STEPS_LIMIT
from gateval.domain.trials.trial import Assessment, Cause
from gateval.safe.legible import shorten

T = TypeVar("T")
F = TypeVar("F", bound=BaseModel)


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

    @property
    @abstractmethod
    def named(self) -> str:
        """What it is called in a sentence."""

    @abstractmethod
    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """Return the command line of its program, whose files are these."""

    async def printed(
        self, told: JsonObject, files: CheckFiles | None, context: AssessmentContext
    ) -> bytes:
        """Run the program on what it is told and return what it printed.

        Raises `CannotEvaluate` for one that crashes or is late.
        """
        from gateval.candidates.checks import CheckFailed, CheckOrder
        from gateval.candidates.playground_files import StateUnreadable

        if context.checks is None:
            why = f"`{self.type}` runs a program, and nothing runs any here"
            raise CannotEvaluate(Cause.GATE, why)
        if files is None:
            raise CannotEvaluate(Cause.GATE, f"the plan does not name the files of `{self.type}`")
        text, seconds = json.dumps(told).encode(), self.timeout_seconds
        argv = self.argv(files)
        order = CheckOrder(argv, files, text, seconds, python=self.python, setup=self.setup)
        try:
            async with context.place():
                if context.state is None:
                    return await context.checks.run(order)
                async with context.state.copied() as copy:
                    return await context.checks.run(replace(order, playground=copy))
        except CheckFailed as error:
            why = f"the check {self.named} gave no answer: {error.reason}"
            raise CannotEvaluate(error.cause, why)
        except StateUnreadable as error:
            raise CannotEvaluate(Cause.CANDIDATE, f"the end state cannot be looked at: {error}")

    async def answer(
        self,
        told: JsonObject,
        files: CheckFiles | None,
        context: AssessmentContext,
        read: Callable[[bytes], T],
    ) -> T:
        """Run the program and return what `read` makes of what it printed.

        Raises `CannotEvaluate` as `printed` does, and where `read` raises `ValueError`.
        """
        printed = await self.printed(told, files, context)
        try:
            return read(printed)
        except ValueError as error:
            message = f"the answer of the check {self.named} cannot be used: {error}"
            raise CannotEvaluate(Cause.CHECK, message) from None


_ENTER = 'cd -- "$1" && shift && exec "$@"'


class CommandInFolder(OwnProgram, ABC):
    """A program that is a command with a folder of its own, for a score."""

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )
    cwd: str = Field(
        default="",
        description="The folder in which it runs, relative to the manifest's folder; with a "
        "leading `/`, to the repository root.",
    )
    config: JsonObject = Field(default={}, description="What the program is told as `config`.")
    min_score: MinScore = PASS_SCORE

    @property
    def named(self) -> str:
        """See `OwnProgram`."""
        return f"`{shorten(shlex.join(self.command), 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `OwnProgram`."""
        return in_folder(self.command, self.cwd, path_of_text(files.rules.folder))


def in_folder(command: tuple[str, ...], cwd: str, folder: str) -> tuple[str, ...]:
    """Return the command so that it runs in `cwd` when it is started in the manifest's `folder`.

    A folder outside of the repository is the manifest's own.
    """
    there = resolve_path(folder, cwd) if cwd else folder
    if there is None or there == folder:
        return command
    return ("sh", "-c", _ENTER, "sh", posixpath.relpath(there or ".", folder or "."), *command)


def read_form(printed: str, form: type[F], lacks: str) -> F:
    """Return the answer of this form that a program printed. Raises `ValueError` with the end of a
    sentence, `NotStrictJson` for what is no JSON.
    """
    value = read_json(printed)
    if not isinstance(value, dict):
        raise ValueError(f"it is no JSON object with {lacks}")  # noqa: TRY004 - one kind
    try:
        return form.model_validate_json(canonical_json(value), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at, said = ".".join(map(str, first["loc"])), plain_message(first["msg"])
        raise ValueError(f"{at}: {said}" if at else said) from None


VERSION = 1
"""Of what a check is told. Keys may be added; another meaning is another version."""


class CustomCheck(OwnProgram, ABC):
    """A program of the repository that is told of the trial and answers with a score."""

    basis: ClassVar[Basis] = Basis.TRACE

    min_score: float = Field(
        default=0.5, ge=0, le=1, description="The lowest score that passes, if it does not say so."
    )
    vars: JsonObject = Field(default={}, description="What the check is told besides, as `vars`.")

    async def assess_in(
        self, evidence: Evidence, spec: AssertionSpec, context: AssessmentContext
    ) -> Priced:
        """Run the check. Rests on the steps that it names, else on the final message.

        Raises `CannotEvaluate` for a check that crashes, is late or does not answer as it should.
        """
        trace, answer, fixture = evidence.transcript, evidence.answer, context.fixture
        recorded = answer.recorded
        told: JsonObject = {
            "version": VERSION,
            "fixture": {"name": fixture.name, "labels": dict(fixture.labels)},
            "input": evidence.input.model_dump(mode="json"),
            "prompt": evidence.input.prompt,
            "output": answer.output,
            "steps": [
                step.model_dump(mode="json", exclude_defaults=True, exclude={"seconds", "retries"})
                for step in trace.steps
            ],
            "trace": recorded.source if recorded else "none",
            "complete": recorded is not None and len(recorded.steps) < STEPS_LIMIT,
            "usage": answer.usage.model_dump(mode="json"),
            "seconds": answer.seconds,
            "reference": evidence.reference.model_dump(mode="json", exclude_defaults=True),
            "vars": self.vars,
        }
        read = partial(read_answer, steps=[one.number for one in trace.steps])
        found = await self.answer(told, spec.own, context, read)
        return self._assessment(found, evidence), None

    def _assessment(self, answer: CheckAnswer, evidence: Evidence) -> Assessment:
        score = answer.score if answer.score is not None else float(bool(answer.passed))
        met = score >= self.min_score if answer.passed is None else answer.passed
        asks = f"the check {self.named} to pass"
        if answer.passed is None:
            asks = f"the check {self.named} to score at least {show_threshold(self.min_score)}"
        said = f": {shorten(answer.reason, 400).rstrip('.')}" if answer.reason.strip() else ""
        steps = answer.steps or evidence.final
        saw = f"{show_figure(score, self.min_score)}{said}"
        found = self.result(met=met, expected=asks, saw=saw, steps=steps)
        return found.replace(score=score)


class CheckAnswer(Value):
    """What a check found. `passed` decides if it is there, else `score` does."""

    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    passed: bool | None = None
    reason: str = Field(default="", max_length=10_000)
    steps: tuple[int, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.score is None and self.passed is None:
            raise ValueError("it has neither `score` nor `passed`")
        return self


def read_answer(printed: bytes, steps: Sequence[int]) -> CheckAnswer:
    """Return the answer of a check on a trial with these numbers of steps.

    Raises `ValueError` with the end of a sentence for anything but one JSON object of this form,
    and for a step that the trial does not have.
    """
    if not printed.strip():
        raise ValueError("it printed nothing on standard output")
    try:
        text = printed.decode("utf-8")
        answer = read_form(text, CheckAnswer, "`score` or `passed`")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except NotStrictJson as error:
        raise ValueError(f"{error}; it printed {quote(beginning(text.strip()))}") from None
    wrong = [number for number in answer.steps if number not in steps]
    if wrong:
        known = f"{steps[0]} to {steps[-1]}"
        raise ValueError(f"it names step {wrong[0]}, and there are steps {known}")
    return answer


class Python(CustomCheck):
    """A Python function of one's own says whether the trial passes.

    The function has `@check` of `gateval.checks` above it, takes a `Trial` and returns `True` or
    `False`, a score from 0 to 1, or a `Result`. It runs in an interpreter of its own, which needs
    nothing installed: `gateval.checks` is there. What it prints is for people. Everything else is
    as with `script`.
    """

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
        """See `CustomCheck`."""
        return f"`{shorten(self.function, 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `CustomCheck`."""
        from gateval.candidates.checks import LIBRARY, RUNNER

        del files
        file, _, name = self.function.partition("::")
        return (*self.interpreter, f"{LIBRARY}/{RUNNER}", file, name)


class Script(CustomCheck):
    """A program of one's own says whether the trial passes.

    It gets one JSON object on standard input (`input`, `prompt`, `output`, the numbered `steps`,
    `fixture`, `vars` and more), and prints one: `score` from 0 to 1, or `passed`, or both;
    `reason`, a sentence; `steps`, the numbers of those it rests on. What it prints on standard
    error is for people. A crash, a time-out or any other answer is an error, never a pass.

    It runs in the folder of the manifest, after the trial, apart from every candidate: with its own
    files and nothing else, as a user of its own, without keys. Its own files are the folder of the
    program that `command` names, or that file alone if it stands beside the manifest; no candidate
    gets them. Where the fixture has a playground, GATEVAL_PLAYGROUND is a copy of its end state.
    """

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )

    @property
    def named(self) -> str:
        """See `CustomCheck`."""
        return f"`{shorten(shlex.join(self.command), 120)}`"

    def argv(self, files: CheckFiles) -> tuple[str, ...]:
        """See `CustomCheck`."""
        del files
        return self.command
