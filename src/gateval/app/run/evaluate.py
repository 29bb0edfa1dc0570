"""Runs a plan in the real world: candidates, gateway, judge, files, signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence

from gateval import __version__
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import SystemClock
from gateval.adapters.results_folder import ResultsFolder
from gateval.adapters.run_notes import RunNotes
from gateval.adapters.store import STORE_FOLDER, TrialStore, stored_trials
from gateval.app.guard import ENDING, end_in_order, handlers_kept, interrupted
from gateval.app.run.context import EvaluationRun, refuse_missing_keys, refuse_unpriced, run_context
from gateval.app.run.isolation import isolation_for
from gateval.app.run.recording import NO_TAPING, Taping
from gateval.app.run.sealing import SealingLog, sealed_off
from gateval.app.run.views import TRIALS_FILE
from gateval.candidates.isolation.isolation_level import IsolationLevel, egress_text
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.plan.plan import Plan
from gateval.domain.results.doubts import trial_warnings
from gateval.domain.results.offers import OfferCollector, offer_collector
from gateval.domain.results.progress import is_public_warning
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.results.resume import NOTHING_KEPT, KeptTrials, Resumed
from gateval.domain.trials.trial import Trial, TrialKey
from gateval.engine.run import run_trials
from gateval.engine.stage import Stage
from gateval.events import CandidateWarned, Event, Listener, RunWarned, TrialFinished, TrialStarted
from gateval.safe.legible import shorten
from gateval.settings import Settings

WARNINGS_LIMIT = 20
"""Warnings kept of a run, and characters of each."""

WARNING_LIMIT = 1_000


def evaluate(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    folder: ResultsFolder,
    listen: Listener,
    *,
    at_once: int | None = None,
    minutes: float,
    resumed: Resumed = NOTHING_KEPT,
    taping: Taping = NO_TAPING,
    stage: Stage | None = None,
) -> Results:
    """Run a plan, or a `stage` of it, for so many minutes, or to a SIGINT, SIGTERM or SIGHUP.

    What was `resumed` of an earlier run counts as if it were made here. Model calls are recorded or
    replayed as `taping` says. At most `at_once` trials run side by side; without it, as many as the
    Evals say. What is sealed is in the results alone. Secrets are out of what the trials hold, but
    not yet out of the plan and the names in it. Raises `MissingKey` when a model of the plan has no
    key, and `UsageError` when one has no price and the policy limits dollars.
    """
    refuse_unpriced(plan)
    refuse_missing_keys(plan, settings)
    started_at, begun = SystemClock().utc_now(), SystemClock().monotonic()
    level = isolation_for(plan, settings, listen)
    if level and (shown := settings.shown_secrets(plan.policy.candidate_env)):
        listen(RunWarned(message=shown))
    warnings: dict[str, None] = dict.fromkeys(filter(None, [taping.warning]))
    under_way: dict[TrialKey, None] = {}
    noted = RunNotes(folder.path, counted=plan.allowance is not None)
    with TrialStore(folder.path / STORE_FOLDER) as file, noted as notes:
        log = SealingLog(file, plan)
        kept = _kept_in(folder, log, resumed)
        offers = offer_collector(plan, resumed.offers)
        notes.offered(offers.news())
        noting = _noting(warnings, under_way, sealed_off(_noted_in(notes, offers, listen), plan))
        how = (level, at_once, minutes, kept, taping, stage, resumed.batches, notes.spent)
        run = EvaluationRun(plan, repository, settings, folder, log, noting, offers, *how)
        trials, interrupted = _trials_of(run)
    timed_out = trials is None and not interrupted
    done = (*stored_trials(folder.path, TRIALS_FILE), *log.held) if trials is None else trials
    told = (*_unset(plan, settings, level), *warnings, *trial_warnings(plan, done))
    seconds = round(SystemClock().monotonic() - begun, 3)
    info = RunInfo(
        run=folder.run,
        started_at=started_at,
        seconds=seconds,
        gateval=__version__,
        isolation=f"{level.text}{egress_text(plan.policy.egress)}" if level else "",
        interrupted=interrupted,
        resumed=resumed.told,
        recorded=taping.told(folder.path),
        started=tuple(sorted(under_way, key=lambda key: key.order)),
        ended=f"The time of the run was over ({minutes:g} minutes)." if timed_out else "",
        unanswered=_unanswered(run.silent, seconds) if timed_out else "",
        over_budget=" ".join(run.over_budget),
        usd=sum(run.usd) if plan.allowance else None,
        warnings=_limited(plan, told),
    )
    return results_of(plan, done, info, _agreements(plan, run.replays), offers.found())


def _kept_in(folder: ResultsFolder, log: SealingLog, resumed: Resumed) -> KeptTrials:
    """Return what a run keeps, all of it in its log: what is there already is not stored twice."""
    trials = stored_trials(folder.path, TRIALS_FILE)
    there = {one.key for one in trials if one.passed is not None}
    measured = resumed.kept.measured
    new = {one.key: one for one in log.keep(one for one in measured if one.key not in there)}
    return resumed.kept._replace(measured=tuple(new.get(one.key, one) for one in measured))


def _agreements(plan: Plan, made: Sequence[CalibrationReplay]) -> list[CalibrationReplay]:
    """Every replay that counts in the run: what it made itself, and else what it knew."""
    return [*{one.binding.digest: one for one in (*plan.agreements, *made)}.values()]


def _unset(plan: Plan, settings: Settings, level: IsolationLevel | None) -> list[str]:
    return [
        f"policy.candidateEnv names {name}, which is not set here, so agents ran without it. Set "
        "it for the gate, or take it out."
        for name in plan.policy.candidate_env
        if level and name not in settings.environ
    ]


def _limited(plan: Plan, told: Sequence[str]) -> tuple[str, ...]:
    public = [one for one in told if is_public_warning(one, plan)]
    others = [one for one in told if not is_public_warning(one, plan)]
    return *kept_warnings(public), *others[:WARNINGS_LIMIT]


def kept_warnings(told: Sequence[str]) -> tuple[str, ...]:
    """Return the first `WARNINGS_LIMIT` of them, the last of these telling of the rest, if any."""
    rest = len(told) - WARNINGS_LIMIT + 1
    if rest <= 1:
        return tuple(told)
    return (*told[: WARNINGS_LIMIT - 1], f"{rest} more warnings are left out here.")


def _unanswered(silent: Mapping[str, float], seconds: float) -> str:
    """Say which models had not answered for long when the time was over; empty for none."""
    down = {name: silence for name, silence in silent.items() if silence >= min(_LONG, seconds / 2)}
    if not down:
        return ""
    names = ", ".join(name[:_NAME_SHOWN] for name in sorted(down)[:_MODELS_NAMED])
    return f"Until then {names} had answered no call for {max(down.values()):.0f} s."


_LONG = 30.0
"""Seconds without an answer that are an outage where a run ends meanwhile; of a short run, half."""

_MODELS_NAMED = 3
_NAME_SHOWN = 80


def _trials_of(run: EvaluationRun) -> tuple[tuple[Trial, ...] | None, bool]:
    """Return all trials, None if the run ended before them, and whether a signal ended it."""
    with handlers_kept():
        try:
            return asyncio.run(_until_signalled(run)), False
        except asyncio.CancelledError:
            pass
    end_in_order()
    return None, True


def _noting(
    warnings: dict[str, None], under_way: dict[TrialKey, None], listen: Listener
) -> Listener:
    """Return a listener that notes warnings, each once, and which trials are begun and not over."""

    def noted(event: Event) -> None:
        if isinstance(event, CandidateWarned) and event.lasting:
            said = shorten(event.message, WARNING_LIMIT)
            warnings[f"{event.agent} ({event.side}): {said}"] = None
        elif isinstance(event, TrialStarted):
            under_way[event.key] = None
        elif isinstance(event, TrialFinished):
            under_way.pop(event.trial.key, None)
        listen(event)

    return noted


def _noted_in(notes: RunNotes, offers: OfferCollector, listen: Listener) -> Listener:
    """Return a listener that notes in the log's folder which trials are begun, and what models are
    offered.
    """

    def noted(event: Event) -> None:
        if isinstance(event, TrialStarted):
            notes.begin(event.key)
        elif isinstance(event, TrialFinished):
            notes.offered(offers.news())
        listen(event)

    return noted


async def _until_signalled(run: EvaluationRun) -> tuple[Trial, ...] | None:
    """Run the plan; the first signal that asks to end cancels it, so everything is torn down.

    None when the time of the run was over before; the trials that were finished are in the log.

    A signal that our parent process has us ignore (`nohup`, a job in the background) stays ignored.
    """
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_IGN:
                continue
            loop.add_signal_handler(number, task.cancel)
        if interrupted():
            task.cancel()
    async with run_context(run) as context:
        try:
            async with asyncio.timeout(run.minutes * 60) as limit:
                if run.stage and run.stage.calibrates and context.agreements:
                    await asyncio.gather(*map(context.agreements.doubt, run.plan.evals))
                return await run_trials(run.plan, context) if run.plan.evals else ()
        except TimeoutError:
            if not limit.expired():
                raise
            return None


SWITCH_SECONDS = 0.0005
"""How soon another thread hands over; by default trials would wait 5 ms for it each time."""

NEW_OBJECTS = 5_000
"""After so many new objects Python looks for cycles among them: a few milliseconds. The pace of
`gateval.__main__`, right while manifests are read, would stop all trials for 50 ms at a time."""

BETWEEN_FULL_LOOKS = 1_000
"""After so many such pieces what survived them is looked through again: a pause that grows with the
run, 100 ms at 1,000 fixtures with Python's usual number, for a handful of objects."""


LOOKED_AT = 8
"""Of so many pieces one is looked through, as long as little is found: to look costs a fifteenth of
the time of a run in which nearly nothing is garbage in cycles."""

MUCH_GARBAGE = NEW_OBJECTS // 10
"""So many objects found in one piece show that there are cycles: all pieces are looked at then."""


class _Spared:
    """A callback of `gc` that sets most pieces aside before they are looked through."""

    def __init__(self) -> None:
        self._pieces = 0
        self._much = False

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if phase == "stop":
            self._much = self._much or info["collected"] >= MUCH_GARBAGE
            return
        self._pieces += 1
        if self._pieces % LOOKED_AT and not self._much:
            gc.freeze()


@contextlib.contextmanager
def small_collections() -> Iterator[None]:
    """Collect garbage in small pieces inside the body, and leave older objects alone."""
    switch, thresholds, spared = sys.getswitchinterval(), gc.get_threshold(), _Spared()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, BETWEEN_FULL_LOOKS, thresholds[2])
    gc.callbacks.append(spared)
    try:
        yield
    finally:
        gc.callbacks.remove(spared)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(switch)
