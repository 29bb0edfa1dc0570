"""Reads parts trial by trial: who joins a run has those of all its jobs, and no room for all their
steps, which stay in the files.
"""

from __future__ import annotations

from gateval.adapters.parts import LinesOfPart, PartFile, StepsOfPart
from gateval.domain.results.results import ResultsPart
from gateval.domain.strict_json import DEPTH_LIMIT, read_json
from gateval.domain.trials.kept import Sharing, steps_json, tells_errors
from gateval.domain.trials.trial import Trial
from gateval.render.stage import TRIALS_BEGIN, load_part, trial_json

_STEPS = b'"trace":{"steps":'


def read_part(found: PartFile, sharing: Sharing) -> ResultsPart:
    """Read a part, of which steps stay in the file. Raises `StageFileError` for what is no part.

    Nothing that two readers could read differently is taken: a trial has the very bytes that it is
    written with. A file that is laid out otherwise is read whole, and strictly.
    """
    return _by_trials(found, sharing) or load_part(found.content())


def _by_trials(found: PartFile, sharing: Sharing) -> ResultsPart | None:
    """Read a part with each trial on a line of its own; None where it is laid out otherwise."""
    begin, at = found.file.readline(found.limit + 1), 0
    if not begin.endswith(TRIALS_BEGIN):
        return None
    at, more, trials = len(begin), True, list[Trial]()
    lines = LinesOfPart(found.path)
    while more:
        line = found.file.readline(found.limit + 1 - at)
        more = line.endswith(b",\n")
        trial = _trial(lines, line[:-2] if more else line[:-1], at, sharing)
        if trial is None:
            return None
        trials.append(trial)
        at += len(line)
    end = found.file.read(found.limit + 1 - at)
    if at + len(end) > found.limit:
        return None
    part = load_part(begin.rstrip() + end)
    return None if part.trials else part.replace(trials=tuple(trials))


def _trial(lines: LinesOfPart, text: bytes, at: int, sharing: Sharing) -> Trial | None:
    """Return the trial of a line; None where it does not have the bytes that it is written with."""
    try:
        if text.count(b"{") + text.count(b"[") > DEPTH_LIMIT:  # so it may be nested as deep
            read_json(text.decode())
        trial = Trial.model_validate_json(text)
    except ValueError:
        return None
    steps = trial.trace.steps if trial.trace else ()
    written = steps_json(steps) if steps else None
    if trial_json(trial, written).encode() != text:
        return None
    if written is None:
        return sharing.kept(trial, None)
    start = text.find(_STEPS) + len(_STEPS)
    number = lines.add(at, text, (start, start + len(written)))
    left = StepsOfPart(len(steps), lines, number, errors=tells_errors(steps))
    left.whole = sharing.kept(trial, left)
    return left.whole
