"""Reads parts trial by trial: who joins a run has those of all its jobs, and no room for all their
steps, which stay in the files.
"""

from __future__ import annotations

from gateval.adapters.parts import LinesOfPart, PartFile
from gateval.app.run.trial_lines import TrialLines
from gateval.domain.results.results import ResultsPart
from gateval.domain.trials.trial import Trial
from gateval.render.stage import TRIALS_BEGIN, load_part


def read_part(found: PartFile, known: TrialLines) -> ResultsPart:
    """Read a part, of which steps stay in the file. Raises `StageFileError` for what is no part.

    Nothing that two readers could read differently is taken: a trial has the very bytes that it is
    written with. A file that is laid out otherwise is read whole, and strictly.
    """
    return _by_trials(found, known) or load_part(found.content())


def _by_trials(found: PartFile, known: TrialLines) -> ResultsPart | None:
    """Read a part with each trial on a line of its own; None where it is laid out otherwise."""
    begin, at = found.file.readline(found.limit + 1), 0
    if not begin.endswith(TRIALS_BEGIN):
        return None
    at, more, trials = len(begin), True, list[Trial]()
    lines = LinesOfPart(found.path)
    while more:
        line = found.file.readline(found.limit + 1 - at)
        more = line.endswith(b",\n")
        trial = known.read(lines, line[:-2] if more else line[:-1], at)
        if trial is None:
            return None
        trials.append(trial)
        at += len(line)
    end = found.file.read(found.limit + 1 - at)
    if at + len(end) > found.limit:
        return None
    part = load_part(begin.rstrip() + end)
    return None if part.trials else part.replace(trials=tuple(trials))
