"""Trials whose steps lie in a store, so that a run of any size fits into memory.

A trial's steps are most of it, and hardly a rule asks for them: they are read when one does. What
else is kept is much alike from trial to trial, so that equal parts are one object.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar, cast, overload

from pydantic import TypeAdapter

from gateval.domain.base import Value
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Trial, TrialKey

V = TypeVar("V")


@cache
def _steps() -> TypeAdapter[tuple[Step, ...]]:
    return TypeAdapter(tuple[Step, ...])


def steps_json(steps: Sequence[Step]) -> bytes:
    """Return steps as JSON."""
    if type(steps) is not tuple and isinstance(steps, KeptSteps):
        return steps.json()
    return _steps().dump_json(tuple(steps))


def read_steps(written: bytes) -> tuple[Step, ...]:
    """Read steps of JSON; raises `ValueError` for anything else."""
    return _steps().validate_json(written)


def tells_errors(steps: Sequence[Step]) -> bool:
    """Whether one of the steps is an error; they are read where nobody knows."""
    known = steps.errors if type(steps) is not tuple and isinstance(steps, KeptSteps) else None
    return any(one.kind is StepKind.ERROR for one in steps) if known is None else known


class WrittenTrial(NamedTuple):
    """A trial as JSON, as it is written; its steps begin at byte `start` and end before `end`."""

    json: bytes
    start: int
    end: int


class KeptSteps(Sequence[Step]):
    """The steps of a trace, in place of a tuple of them; `length` is how many there are, `errors`
    whether one of them is an error, None where nobody knows.

    `stored` is where they were stored anew, if they were.
    """

    __slots__ = ("errors", "length", "stored")

    def __init__(self, length: int, *, errors: bool | None = None) -> None:
        self.length = length
        self.errors = errors
        self.stored: KeptSteps | None = None

    @abstractmethod
    def found(self) -> bytes:
        """Read the steps from where they lay first."""

    def written(self, trial: Trial) -> WrittenTrial | None:
        """Read all of the trial, if this very one was read from where the steps lie."""
        del trial
        return None

    def json(self) -> bytes:
        """Read the steps, as `steps_json` writes them."""
        return self.stored.json() if self.stored else self.found()

    def read(self) -> tuple[Step, ...]:
        """Read the steps."""
        return read_steps(self.json())

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Step]:
        return iter(self.read())

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self.read()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeptSteps | tuple) and self.read() == tuple(other)

    def __hash__(self) -> int:
        return hash(self.read())


_SHARED = 20_000
"""Different parts that are remembered at most."""

_SHARED_STEPS = 5_000
"""The same of steps, which seldom are equal."""

TRIAL_FIELDS, TRACE_FIELDS = (set(kind.model_fields) for kind in (Trial, Trace))
"""The names of all fields, one set for all values."""


class Sharing:
    """Gives one object for parts of trials that are equal."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}
        self._steps: dict[object, KeptSteps] = {}

    def kept(self, trial: Trial, steps: KeptSteps | None) -> Trial:
        """Return the trial with these steps, None for a trial that has no trace."""
        trace, usage = trial.trace, self._value(trial.usage)
        assessments = tuple(map(self._value, trial.assessments))
        parts: dict[str, object] = {
            **trial.__dict__,
            "key": self._named(trial.key),
            "assessments": self._known.setdefault(tuple(map(id, assessments)), assessments),
            "calls": trial.calls and self._value(trial.calls),
            "usage": usage,
            "judge_usage": self._value(trial.judge_usage),
            "lost_usage": self._value(trial.lost_usage),
            "reason": self.one(trial.reason),
            "output": self.one(trial.output),
            "score": self._number(trial.score),
        }
        if trace is not None and steps is not None:
            seen = usage if trace.usage is trial.usage else self._value(trace.usage)
            told = {**trace.__dict__, "steps": steps, "usage": seen}
            told |= {"models": self.one(trace.models), "waited": self._number(trace.waited)}
            parts["trace"] = Trace.of_kept(told, TRACE_FIELDS)
        return Trial.of_kept(parts, TRIAL_FIELDS)

    def steps(self, where: tuple[object, ...], made: Callable[[], KeptSteps]) -> KeptSteps:
        """Return the steps that lie there, which other trials may have, too."""
        known = self._steps.get(where)
        if known is None:
            if len(self._steps) > _SHARED_STEPS:
                self._steps.clear()
            known = self._steps[where] = made()
        return known

    def _named(self, key: TrialKey) -> TrialKey:
        """Return the key with names that others have, too: the very same in the run that asked."""
        evaluation, fixture = self.one(key.eval), self.one(key.fixture)
        if evaluation is key.eval and fixture is key.fixture:
            return key
        return TrialKey(evaluation, fixture, key.side, key.repetition)

    def _number(self, number: float | None) -> float | None:
        return cast("float | None", self._known.setdefault((float, number), number))

    def _value(self, value: Value) -> Value:
        """Return the one of such a value, which is looked for by its fields: values of pydantic
        compare themselves in Python, which takes three times as long.
        """
        if len(self._known) > _SHARED:
            self._known.clear()
        fields = (type(value), *value.__dict__.values())
        return cast("Value", self._known.setdefault(fields, value))

    def one(self, part: V) -> V:
        """Return the one of such a part."""
        if len(self._known) > _SHARED:
            self._known.clear()
        return cast("V", self._known.setdefault(part, part))
