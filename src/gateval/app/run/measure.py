"""Runs a plan and leaves all about it in a results folder; `check` and the action share it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from hashlib import sha256
from operator import is_
from threading import Event
from typing import TYPE_CHECKING

from gateval.adapters.folders import real_path
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.machine import SystemClock, show_here
from gateval.adapters.own_code import engine_digest
from gateval.adapters.progress import show_progress
from gateval.adapters.results_folder import NAME as FINDINGS_FILE
from gateval.adapters.results_folder import FindingsFile, ResultsFolder
from gateval.app.run.evaluate import small_collections
from gateval.app.run.recording import NO_TAPING, Taping
from gateval.app.run.sealing import MeasuredRun, runnable, seal_results
from gateval.app.run.views import (
    PLAN_FILE,
    REUSABLE_BYTES,
    REUSABLE_FILE,
    RUN_FILE,
    warm_up,
    written_views,
)
from gateval.domain.decision.decision import Report
from gateval.domain.history.recorded import public_record, run_record
from gateval.domain.history.run_record import RunFacts, RunRecord, record_line
from gateval.domain.history.standing import (
    BYTES_READ,
    LocalFinding,
    LocalFindings,
    measured_anew,
    new_findings,
    read_findings,
    with_standing,
    write_findings,
)
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import kept_apart, shut_plan
from gateval.domain.results.averages import EarlierSet
from gateval.domain.results.results import Results
from gateval.domain.results.resume import NOTHING_KEPT, Resumed
from gateval.domain.results.reuse import reusable_of
from gateval.errors import UsageError
from gateval.events import Event as RunEvent
from gateval.events import Listener, TrialStarted
from gateval.render.report.wording import count
from gateval.render.stage import dump, plan_pieces
from gateval.settings import FINDINGS, Settings

if TYPE_CHECKING:
    from gateval.engine.stage import Stage
    from gateval.safe.redaction import Redactor

FIRST_WAVE_SECONDS = 0.15
"""So long after its plan is stored, a run's first trials have the machine to themselves."""


def measure(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    folder: ResultsFolder,
    *,
    part: Plan | None = None,
    earlier: tuple[EarlierSet, ...] = (),
    rates: bool = True,
    tells: bool = True,
    at_once: int | None = None,
    minutes: float,
    resumed: Resumed = NOTHING_KEPT,
    taping: Taping = NO_TAPING,
    stage: Stage | None = None,
    hear: Listener = lambda _: None,
) -> MeasuredRun:
    """Run a plan, or the part of it that can be run, and write plan and trials.

    The results are those of the whole plan: what is not in `part` did not run. `earlier` sets of
    experiments are kept with them. Secrets are out of all they hold; so is what is sealed, but for
    the verdicts on it, if the run `tells` them, and with `rates` how much of it passes. At most
    `at_once` trials run side by side, over all Evals; the run ends after `minutes`. What was
    `resumed` of an earlier run is kept; calls are recorded or replayed as `taping` says, and of a
    replay, from which nobody goes on, no plan is written. A `stage` is a piece of a run; `hear`
    hears of what is not sealed. Raises `MissingKey` when a model of the part has no key.
    """
    from gateval.app.run.evaluate import evaluate

    written_views(settings.views)
    redactor = settings.redactor(plan.policy.candidate_env)
    with small_collections(), ThreadPoolExecutor(1) as aside:  # beside waiting for models
        over = Event()
        safe = aside.submit(_safe, plan, redactor)
        storing = aside.submit(lambda: None if taping.replay else store_plan(safe.result(), folder))
        aside.submit(over.wait, FIRST_WAVE_SECONDS)
        ends = stage is None or stage.ends  # else there is nothing to show yet
        loading = aside.submit(lambda: warm_up(settings.views) if ends else None)
        try:
            with show_progress(sys.stderr, plain=settings.plain) as listen:
                wait([storing] if resumed.kept.measured else [])  # the log begins with these
                listening = _after(storing, listen, hear)
                asked = (runnable(part or plan), repository, settings, folder, listening)
                found = evaluate(
                    *asked, at_once=at_once, minutes=minutes,
                    resumed=resumed, taping=taping, stage=stage,
                )  # fmt: skip
        finally:
            over.set()
        storing.result()
        loading.result()
    whole = _without_secrets(found, redactor).replace(
        plan=safe.result(), earlier=tuple(map(redactor.value, earlier))
    )
    public = seal_results(whole, folder, settings.environ, rates=rates, tells=tells)
    return MeasuredRun(public, whole, folder, found.info.interrupted)


def _safe(plan: Plan, redactor: Redactor) -> Plan:
    """Take secrets out of a plan, fixture by fixture: of all at once the JSON is as large as it."""

    def safe(planned: PlannedEval) -> PlannedEval:
        around = redactor.value(bare := planned.replace(fixtures=()))
        fixtures = tuple(map(redactor.value, planned.fixtures))
        same = around is bare and all(map(is_, fixtures, planned.fixtures))
        return planned if same else around.replace(fixtures=fixtures)

    evals = tuple(map(safe, plan.evals))
    around = redactor.value(bare := plan.replace(evals=()))
    if around is bare and all(map(is_, evals, plan.evals)):
        return plan
    return around.replace(evals=evals)


def _without_secrets(found: Results, redactor: Redactor) -> Results:
    """Take secrets out of what a run found. Trials are redacted as they finish, all but the names
    by which they are found in the plan.
    """
    names = {name for trial in found.trials for name in (trial.key.eval, trial.key.fixture)}
    trials = found.trials
    if any(redactor.text(name) != name for name in names):
        trials = tuple(one.replace(key=redactor.value(one.key)) for one in trials)
    offers = tuple(map(redactor.value, found.offers))
    return found.replace(trials=trials, info=redactor.value(found.info), offers=offers)


def _after(storing: Future[None], *listening: Listener) -> Listener:
    """Return a listener, for all that are `listening`, that lets no trial begin before the plan is
    stored: nobody could go on from trials whose plan is not known, if the run is killed.
    """

    def told(event: RunEvent) -> None:
        if isinstance(event, TrialStarted) and not storing.done():
            wait([storing])
        for listen in listening:
            listen(event)

    return told


def store_plan(plan: Plan, folder: ResultsFolder) -> None:
    """Write the plan for a report on a run that crashes, without what is sealed, and for a run that
    goes on from there, with what tells by which code it was measured.

    Secrets have to be out of it before, as they are of results.
    """
    stored = shut_plan(plan).replace(engine=engine_digest())
    folder.write(PLAN_FILE, map(str.encode, plan_pieces(stored)))


def remember(
    whole: Report, measured: MeasuredRun, facts: RunFacts, *, leaves: bool = False
) -> RunRecord | None:
    """Write the record of a run, which `get` and an artifact find, and return it.

    None where nothing was evaluated. `whole` is the report with what is sealed, and what was
    measured says what of that may stand there. What others may take over of a run that `leaves` it
    is a file beside the record.
    """
    record = run_record(whole, facts)
    if record is not None:
        if measured.results is not measured.whole:
            record = public_record(record, measured.results)
        if leaves and (left := reusable_of(measured.results, engine_digest())).trials:
            content = dump(left, indent=None).encode()
            if len(content) <= REUSABLE_BYTES:
                measured.folder.write(REUSABLE_FILE, content)
                record = record.replace(reusable=sha256(content).hexdigest())
        measured.folder.write(RUN_FILE, record_line(record))
    return record


GIT_FOLDER = "gateval"


class LocalMemory:
    """The findings of earlier checks in this clone; `told` are sentences about them, for people.

    It only adds reds, so a memory that cannot be read or written is told and stops nothing.
    """

    def __init__(self, file: FindingsFile) -> None:
        self._file = file
        self.told: list[str] = []

    def applied(self, plan: Plan, *, fresh: bool) -> Plan:
        """Return the plan with what stands; with `fresh`, with a sentence that it does not.

        What is there of sealed Evals, of earlier versions or from before they were sealed, is taken
        out.
        """
        read, apart = self._read(), kept_apart(plan)
        told = [one for one in read.found if one.eval not in apart]
        if len(told) < len(read.found):
            self._change(lambda found: [one for one in found if one.eval not in apart])
        found = read._replace(found=told).remembered
        if fresh:
            return measured_anew(plan, found)
        plan = with_standing(plan, found)
        if many := len({one.fixture for planned in plan.evals for one in planned.standing}):
            self.told.append(
                f"{count(many, 'fixture')} regressed in an earlier check of the same, which stands "
                f"({show_here(self._file.path)}); --fresh measures anew."
            )
        return plan

    def keep(self, report: Report) -> None:
        """Keep what a report found."""
        found = new_findings(report, SystemClock().utc_now())
        if not found:
            return
        self._change(lambda before: [*before, *found])

    def _change(self, change: Callable[[Sequence[LocalFinding]], Iterable[LocalFinding]]) -> None:
        try:
            self._file.change(
                lambda content: write_findings(change(read_findings(content).found)), BYTES_READ
            )
        except OSError as error:
            self.told.append(
                f"What regressed could not be kept in {show_here(self._file.path)} "
                f"({error.strerror}), so the next check measures it anew."
            )

    def _read(self) -> LocalFindings:
        try:
            found = read_findings(self._file.read(BYTES_READ))
        except OSError as error:
            self.told.append(
                f"{show_here(self._file.path)} cannot be read ({error.strerror}), so what earlier "
                "checks found is not known. Remove it, and it is written anew."
            )
            return LocalFindings(())
        if found.broken:
            self.told.append(
                f"{show_here(self._file.path)} is damaged: {count(found.broken, 'line')} of it "
                "cannot be read, and what earlier checks found there is not known. Remove it, or "
                "bring an older one back."
            )
        return found


def local_memory(repository: GitRepository, settings: Settings) -> LocalMemory:
    """Return the memory of this clone, or the one that the environment names. Raises `UsageError`
    as `memory_file` does.
    """
    return LocalMemory(memory_file(repository, settings, FINDINGS_FILE))


def memory_file(repository: GitRepository, settings: Settings, name: str) -> FindingsFile:
    """Return a file in the folder where this clone remembers, or in that which the environment
    names. Raises `UsageError` for a folder in which git has files: a change could bring its own.
    """
    if not settings.findings:
        common = repository.common_folder
        return FindingsFile(common, common / GIT_FOLDER, hidden=False, name=name)
    root = repository.root.resolve()
    try:
        folder = real_path(root, root / settings.findings)
    except OSError as error:
        raise _unfit(f"a link leads there ({error.filename})") from error
    inside = folder.is_relative_to(root)
    if folder == root or (inside and repository.tracks(folder.relative_to(root))):
        raise _unfit("git tracks files there, which a change may have brought")
    hidden = inside and folder.relative_to(root).parts[0] != ".git"
    return FindingsFile(root, folder, hidden=hidden, name=name)


def _unfit(why: str) -> UsageError:
    return UsageError(
        f"Earlier findings cannot be kept in the folder that {FINDINGS} names: {why}.",
        hint="Name a folder outside of the repository, or one that git ignores.",
    )
