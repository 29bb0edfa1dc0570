"""Reads the trials of parts line by line, and takes nothing that two readers could read otherwise:
a trial has the very bytes that it is written with.

Lines are much alike. What stands around output, steps and seconds in one of them is known once it
was read and written again. A line put together of such pieces is what would be written of their
values, for no field of a trial depends on another: so only the rest of it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from pydantic_core import from_json, to_json

from gateval.adapters.parts import LinesOfPart, StepsOfPart
from gateval.domain.strict_json import DEPTH_LIMIT, read_json
from gateval.domain.trials.kept import (
    TRACE_FIELDS,
    TRIAL_FIELDS,
    Sharing,
    read_steps,
    steps_json,
    tells_errors,
)
from gateval.domain.trials.trace import Step, Trace
from gateval.domain.trials.trial import Side, Trial, TrialKey
from gateval.render.stage import trial_json

_KEY = re.compile(
    rb'\{"key":\{"eval":"([ !#-\[\]-~]*)","fixture":"([ !#-\[\]-~]*)","side":"(head|base)",'
    rb'"repetition":([1-9]\d{0,8})\},'
)
"""How a trial begins whose names are printable ASCII that nothing has to be escaped in."""

_OUTPUT = b'"output":'
_BEHIND_OUTPUT = b',"output_truncated":'
_STEPS = b'"trace":{"steps":'
_BEHIND_STEPS = b'],"source":'
_SECONDS = b',"seconds":'
_ASSESSMENTS = b',"assessments":['
_NUMBER = re.compile(rb"(?:0\.0{0,2}[1-9]\d*|[1-9]\d{0,8}\.\d+)")
"""Seconds that nobody writes with an exponent."""

_MOST_KNOWN = 1_000
_LONGEST = 4 * 1024
"""How many pieces of one kind are remembered at most, and the bytes of one."""


class _Cut(NamedTuple):
    """A line in pieces: what stands before the output, the output, what stands up to the steps,
    the steps, what stands up to the seconds, these, and the rest.
    """

    key: tuple[bytes, ...]
    before: bytes
    output: bytes
    between: bytes
    steps: bytes
    start: int
    facts: bytes
    seconds: bytes
    rest: bytes


def _cut(text: bytes) -> _Cut | None:
    """Cut a line where no text inside it can stand; None for one that is laid out otherwise."""
    found = _KEY.match(text)
    if found is None:
        return None
    output = text.find(_OUTPUT, found.end()) + len(_OUTPUT)
    behind = text.find(_BEHIND_OUTPUT, output)
    begun = text.find(_STEPS, behind)
    start = begun + len(_STEPS)
    end = text.find(_BEHIND_STEPS, start) + 1
    at = text.find(_SECONDS, end) + len(_SECONDS)
    rest = text.find(_ASSESSMENTS, at)
    if output < len(_OUTPUT) or min(behind, begun, end - 1, at - len(_SECONDS), rest) < 0:
        return None
    return _Cut(
        found.groups(),
        text[found.end() : output],
        text[output:behind],
        text[behind:start],
        text[start:end],
        start,
        text[end:at],
        text[at:rest],
        text[rest:],
    )


_BEFORE = ("outcome", "cause", "reason", "detail", "score")
_BETWEEN = ("output_truncated",)
_FACTS = ("calls", "repeats", "endless", "usage", "judge_usage")
_REST = ("assessments", "lost_usage")
_EVERY: Mapping[str, object] = dict.fromkeys(Trial.model_fields)
_SIDES = {one.encode(): one for one in Side}

_Fields: TypeAlias = Mapping[str, object]


class _Known:
    """Pieces of one kind, each with the values of the fields that it holds."""

    def __init__(self) -> None:
        self._fields: dict[bytes, _Fields] = {}

    def get(self, piece: bytes) -> _Fields | None:
        """Return the values of a piece that was seen before."""
        return self._fields.get(piece)

    def add(self, piece: bytes, fields: _Fields) -> None:
        """Remember a piece, unless it is long."""
        if len(piece) <= _LONGEST and piece not in self._fields:
            if len(self._fields) >= _MOST_KNOWN:
                self._fields.clear()
            self._fields[piece] = fields


class TrialLines:
    """The lines of parts that are read together: what is equal in their trials is one object."""

    def __init__(self) -> None:
        self._sharing = Sharing()
        self._before, self._between, self._facts, self._rest = (_Known() for _ in range(4))

    def read(self, lines: LinesOfPart, text: bytes, at: int) -> Trial | None:
        """Return the trial of a line that begins at byte `at` of its part; None where it does not
        have the bytes that it is written with.
        """
        try:
            if text.count(b"{") + text.count(b"[") > DEPTH_LIMIT:  # so it may be nested as deep
                read_json(text.decode())
            cut = _cut(text)
            like = self._like(lines, text, at, cut) if cut else None
            return like or self._anew(lines, text, at, cut)
        except ValueError:
            return None

    def _like(self, lines: LinesOfPart, text: bytes, at: int, cut: _Cut) -> Trial | None:
        """Return the trial of a line whose pieces are known."""
        before, between = self._before.get(cut.before), self._between.get(cut.between)
        facts, rest = self._facts.get(cut.facts), self._rest.get(cut.rest)
        if before is None or between is None or facts is None or rest is None:
            return None
        seconds = _seconds(cut.seconds)
        if seconds is None:
            return None
        try:
            output = from_json(cut.output)
            steps = read_steps(cut.steps)
        except ValueError:  # cut inside of it
            return None
        if not isinstance(output, str) or to_json(output) != cut.output or not steps:
            return None
        if steps_json(steps) != cut.steps:
            return None
        evaluation, fixture, side, repetition = cut.key
        one = self._sharing.one
        key = TrialKey(
            one(evaluation.decode()), one(fixture.decode()), _SIDES[side], int(repetition)
        )
        left = _left(lines, text, at, cut.start, cut.steps, steps)
        told = cast("dict[str, object]", facts["trace"]) | {"steps": left}
        left.whole = Trial.of_kept(
            {
                **_EVERY,
                **before,
                **between,
                **facts,
                **rest,
                "key": key,
                "output": one(output),
                "trace": Trace.of_kept(told, TRACE_FIELDS),
                "seconds": seconds,
            },
            TRIAL_FIELDS,
        )
        return left.whole

    def _anew(self, lines: LinesOfPart, text: bytes, at: int, cut: _Cut | None) -> Trial | None:
        """Return the trial of a line that is read and written again, whose pieces are known then.

        Raises `ValueError`.
        """
        trial = Trial.model_validate_json(text)
        steps = trial.trace.steps if trial.trace else ()
        written = steps_json(steps) if steps else None
        if trial_json(trial, written).encode() != text:
            return None
        if written is None:
            return self._sharing.kept(trial, None)
        start = text.find(_STEPS) + len(_STEPS)
        left = _left(lines, text, at, start, written, steps)
        left.whole = whole = self._sharing.kept(trial, left)
        if cut and (cut.start, cut.steps) == (start, written):
            self._learn(cut, whole)
        return whole

    def _learn(self, cut: _Cut, trial: Trial) -> None:
        if _seconds(cut.seconds) is None or trial.trace is None:
            return
        fields = trial.__dict__

        def some(names: Iterable[str]) -> dict[str, object]:
            return {name: fields[name] for name in names}

        self._before.add(cut.before, some(_BEFORE))
        self._between.add(cut.between, some(_BETWEEN))
        self._facts.add(cut.facts, {"trace": {**trial.trace.__dict__, "steps": ()}, **some(_FACTS)})
        self._rest.add(cut.rest, some(_REST))


def _seconds(text: bytes) -> float | None:
    """Return seconds; None where they may be written otherwise."""
    if not _NUMBER.fullmatch(text):
        return None
    seconds = float(text)
    return seconds if repr(seconds).encode() == text else None


def _left(
    lines: LinesOfPart, text: bytes, at: int, start: int, written: bytes, steps: Sequence[Step]
) -> StepsOfPart:
    number = lines.add(at, text, (start, start + len(written)))
    return StepsOfPart(len(steps), lines, number, errors=tells_errors(steps))
