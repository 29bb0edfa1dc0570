"""Shows a run as it goes: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

from gateval.adapters.machine import screen_of
from gateval.domain.manifests.evaluation import ScoringModel
from gateval.domain.plan.plan import Plan
from gateval.domain.results.juries import without_absent_jurors
from gateval.domain.results.trial_verdict import grade
from gateval.domain.text import PAPER
from gateval.domain.trials.trial import Outcome
from gateval.events import (
    CandidatePreparing,
    CandidateWarned,
    Event,
    Listener,
    RunFinished,
    RunStarted,
    RunWarned,
    TrialFinished,
    TrialsAdded,
    TrialStarted,
)
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PLAIN_LINES = 10
"""About how many progress lines a plain log gets, however many trials there are."""

SILENT_SECONDS = 60.0
"""After so long without a line a plain log gets one, or after a tenth of the run until then."""

WARNING_LIMIT = 300
"""Characters shown of a warning, in which a candidate's own words may stand."""


@contextlib.contextmanager
def show_progress(stream: TextIO, *, plain: bool) -> Iterator[Listener]:
    """Give a listener that writes to `stream`.

    A listener that cannot print must not end a run: broken pipes and closed streams are ignored.
    """
    if plain or not stream.isatty():
        yield _quietly(PlainProgress(stream))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        yield _quietly(LiveProgress(progress))


def _quietly(listener: Listener) -> Listener:
    def tell(event: Event) -> None:
        with contextlib.suppress(OSError, ValueError):
            listener(event)

    return tell


def _warning(event: CandidateWarned | RunWarned, width: int | None = None) -> str:
    """Return a warning on one line, or for a terminal on lines of `width` columns.

    A log keeps the line whole: a part of it at a line's start could be a command to a CI runner.
    """
    if isinstance(event, RunWarned):
        shown = f"Warning: {event.message}"
    else:
        said = f"{event.agent} ({event.side}): {event.message}"
        shown = f"Warning: {plain_line(said, WARNING_LIMIT)}"
    return textwrap.fill(shown, width, subsequent_indent="  ") if width else shown


class Tally:
    """Counts finished trials by outcome, as it is without jurors that were out of reach; runs of a
    benchmark's tasks by verdict.

    `tasks` are the Evals whose fixtures are tasks, `noun` what a trial is called. `clock` gives
    seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._started = 0
        self._plan: Plan | None = None
        self.planned = 0
        self.counts: Counter[str] = Counter()
        self.tasks: dict[str, ScoringModel] = {}
        self.noun = "trial"

    def start(self, event: RunStarted) -> None:
        """Take in how many are planned, and what they are called."""
        self._plan, evals = event.plan, event.plan.evals
        self.planned = event.plan.trial_count if event.trials is None else event.trials
        models = {one.name: one.scoring.model for one in evals}
        self.tasks = {name: model for name, model in models.items() if model.tasks}
        self.noun = "task run" if len(self.tasks) == len(evals) > 0 else "trial"

    def begin(self) -> None:
        """A trial begins."""
        self._begun = self._clock() if self._begun is None else self._begun
        self._started += 1

    @property
    def seconds(self) -> float:
        """How long ago the first trial began."""
        return 0.0 if self._begun is None else self._clock() - self._begun

    @property
    def left(self) -> str:
        """Say how long what is planned will go on at this pace, where that is minutes."""
        done = self.counts.total()
        half_done = done + max(0, self._started - done) / 2
        minutes = self.seconds / half_done * (self.planned - half_done) / 60 if done else 0
        if minutes < 1:
            return ""
        return (
            f", about {minutes:.0f} min left"
            if minutes < 90
            else f", about {minutes / 60:.1f} h left"
        )

    def add(self, event: TrialFinished) -> int:
        """Count one trial and return how many are finished."""
        trial = event.trial
        if self._plan and trial.passed is None:
            (trial,) = without_absent_jurors(self._plan, [trial])
        word = trial.outcome.value
        if model := self.tasks.get(trial.key.eval):
            score = grade(trial)
            word = model.called(score) or "not measured"
            word = "timed out" if trial.outcome is Outcome.SKIP and score == 0 else word
        self.counts[word] += 1
        return self.counts.total()

    def __str__(self) -> str:
        order = {word: at for at, word in enumerate(("pass", "partial", "fail", "error", "skip"))}
        known = sorted(self.counts.items(), key=lambda one: order.get(one[0], len(order)))
        return ", ".join(f"{count:,} {word}" for word, count in known)


class PlainProgress:
    """Writes a line at the start, about every tenth of the way, after a minute without one, and per
    set-up; the longer a run goes on, the seldomer. `clock` gives seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._width = screen_of(stream, {}).width if stream.isatty() else None
        self._tally = Tally(clock)
        self._told = self._added = 0
        self._told_at = 0.0

    def __call__(self, event: Event) -> None:
        """Print what is worth a line."""
        if isinstance(event, TrialStarted):
            self._tally.begin()
        elif isinstance(event, RunStarted):
            self._tally.start(event)
            many = f"{self._tally.planned:,} {self._tally.noun}{'s' * (self._tally.planned != 1)}"
            names = ", ".join(one.shown_name for one in event.plan.sealed)
            unseen = f" Sealed, so that nothing is told of trials: {names}." if names else ""
            kept = f" {event.kept:,} are kept from the run before." if event.kept else ""
            self._line(f"Running {many}.{kept}{unseen}")
        elif isinstance(event, TrialsAdded):
            self._tally.planned += len(event.keys)
            self._added += len(event.keys)
            if self._added >= self._step:
                self._line(f"{self._added:,} more, where something looks worse or is close.")
                self._added = 0
        elif isinstance(event, CandidatePreparing):
            self._line(f"Preparing {event.agent} ({event.side}): {event.what}")
        elif isinstance(event, CandidateWarned | RunWarned):
            self._line(_warning(event, self._width))
        elif isinstance(event, TrialFinished):
            silent = self._tally.seconds - self._told_at
            late = silent > max(SILENT_SECONDS, self._tally.seconds / PLAIN_LINES)
            if self._tally.add(event) >= self._told + self._step or late:
                self._counts()
        elif isinstance(event, RunFinished) and self._tally.counts.total() > self._told:
            self._counts()

    @property
    def _step(self) -> int:
        """How much has to happen before the next line."""
        return max(1, self._tally.planned // PLAIN_LINES, self._told // 4)

    def _counts(self) -> None:
        tally, self._told_at = self._tally, self._tally.seconds
        self._told = tally.counts.total()
        self._line(f"{self._told:,}/{tally.planned:,} {tally.noun}s: {tally}{tally.left}")

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class LiveProgress:
    """Keeps one moving line up to date."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tally = Tally()
        self._task: TaskID = progress.add_task("Trials", total=None, counts="")

    def __call__(self, event: Event) -> None:
        """Move the bar."""
        if isinstance(event, RunStarted):
            self._tally.start(event)
            self._progress.update(self._task, total=self._tally.planned)
        elif isinstance(event, TrialsAdded):
            self._tally.planned += len(event.keys)
            self._progress.update(self._task, total=self._tally.planned)
        elif isinstance(event, CandidatePreparing):
            self._progress.update(self._task, description=f"{event.agent}: {event.what}"[:60])
        elif isinstance(event, CandidateWarned | RunWarned):
            console = self._progress.console
            shown = _warning(event, min(console.width, PAPER.width))
            console.print(shown, markup=False, highlight=False, emoji=False, soft_wrap=True)
        elif isinstance(event, TrialFinished):
            self._tally.add(event)
            noun = self._tally.noun
            self._progress.update(
                self._task,
                advance=1,
                description=f"{noun[:1].upper()}{noun[1:]}s",
                counts=f"{self._tally}{self._tally.left}",
            )
        elif isinstance(event, TrialStarted):
            self._tally.begin()
            if event.key.eval in self._tally.tasks:
                self._progress.update(self._task, description=event.key.fixture[:60])
