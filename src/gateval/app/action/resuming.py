"""Goes on from a run of the action that was cut short: what it measured counts, red and green
alike, so that nobody draws lots by running a job again.

While trials run, those that ended are uploaded from time to time, and the check run confirms each
upload (`LeftTrials`). The next run that measures the same finds that check run by commit, name and
plan, and takes what it confirms; what was measured since the last upload is paid again. What is
sealed is never uploaded so, and runs again whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from gateval.adapters.github.runner import RESULTS_URL, NoArtifact, upload_file
from gateval.adapters.own_code import engine_digest
from gateval.adapters.run_notes import read_batches, read_offers
from gateval.app.action.context import ActionEvent
from gateval.app.action.result import ActionProgress
from gateval.app.run.shards import claim_limit
from gateval.app.run.views import PART_FILE
from gateval.domain.base import plain_message
from gateval.domain.forge.left_trials import (
    MOST_UPLOADS,
    CutShort,
    LeftTrials,
    TrialUpload,
    cut_short,
    plan_digest,
)
from gateval.domain.plan.plan import Plan
from gateval.domain.results.offers import SharedOffer
from gateval.domain.results.results import (
    ResultsPart,
    RunInfo,
    digest_of,
    refuse_other,
    results_of,
)
from gateval.domain.results.resume import (
    NOTHING_KEPT,
    Resumed,
    kept_trials,
    offered_in,
    resumed_sentence,
)
from gateval.domain.trials.model_call import NO_BATCHES, BatchBook
from gateval.errors import GatevalError, MissingPermission, StageFileError
from gateval.events import Event, Listener, TrialAnswered, TrialFinished
from gateval.formats.github.action_inputs import ActionStep
from gateval.publish.check import PublishTarget
from gateval.render.stage import dump, load_part
from gateval.safe.redaction import Redactor
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.domain.forge.check_run import CheckRun

FIRST_SECONDS = 5
MOST_SECONDS = 120
"""Seconds to the first upload, and between the last ones; in between they double, so that a lost
machine has lost no more than half of its work, and no more than that."""

_CANCELLED_SECONDS = 2
"""So long an upload is waited for at the end: the runner ends a cancelled job soon."""


def resumes(event: ActionEvent) -> bool:
    """Whether a run goes on from one that was cut short, and leaves its trials for another one."""
    return event.binds and event.context.inputs.step is ActionStep.ALL


def earlier_trials(
    event: ActionEvent, git_plan: Plan, plan: Plan, checks: Iterable[CheckRun]
) -> Resumed:
    """Return what `plan` keeps of the newest run on this commit, if that was cut short.

    `git_plan` is the plan as git alone gives it, by which runs are the same; `checks` are our check
    runs on the commit, the newest first. Where what was left cannot be had, that is said.
    """
    if not resumes(event):
        return NOTHING_KEPT
    measured_by = git_plan.replace(engine=engine_digest())
    found = cut_short(tuple(checks), plan_digest(measured_by), event.target.stamp)
    if found is None:
        return NOTHING_KEPT
    name = f"{found.stamp.run}.{found.stamp.attempt}"
    if not found.left.uploads:
        return Resumed(told=f"Run {name} was cut short and has left nothing. {_ANEW}")
    try:
        parts = [_part(event, plan, found, one) for one in found.left.uploads]
        for one in parts:
            refuse_other(digest_of(measured_by), one.plan)
        trials = {each.key: each for one in parts for each in one.trials}
        kept = kept_trials(plan, measured_by, trials.values())
        results_of(plan, kept.measured, RunInfo())
    except ValidationError as error:
        why = plain_message(error.errors(include_url=False)[0]["msg"])
        return Resumed(told=f"What run {name} measured does not count: {why}. {_ANEW}")
    except MissingPermission:
        why = "the job lacks `actions: read`"
        return Resumed(told=f"What run {name} measured cannot be had: {why}. {_ANEW}")
    except GatevalError as error:
        why = plain_line(error.sentence, _WHY)
        return Resumed(told=f"What run {name} measured cannot be had. {why} {_ANEW}")
    if not kept.measured and not kept.to_judge:
        return NOTHING_KEPT
    told = f"{resumed_sentence(name, kept, 0)} {_SINCE}"
    offers = offered_in(plan, kept, parts[-1].offers)
    return Resumed(kept, told, offers, parts[-1].batches)


_ANEW = "All is measured anew."
_SINCE = "What it measured after its last upload is paid again."
_WHY = 300


def _part(event: ActionEvent, plan: Plan, found: CutShort, upload: TrialUpload) -> ResultsPart:
    """Download one upload, as the check run confirms it. Raises `GatevalError`."""
    forge, name = event.context.forge, found.left.artifact(upload.number)
    limit = claim_limit(plan)
    for one in forge.artifacts(found.left.run, name):
        content = forge.artifact_file(one, PART_FILE, limit=limit)
        if content is not None and sha256(content).hexdigest() == upload.sha256:
            return load_part(content)
    raise StageFileError(f"Its artifact {name} is gone, or is not what its check run confirms.")


def _sent(folder: Path) -> BatchBook:
    """What a run has sent in batches: of one that is being sent nobody knows yet."""
    book = read_batches(folder)
    return book.replace(batches=tuple(one for one in book.batches if one.id))


class Uploads:
    """Uploads the trials of a run while it goes on, from a thread of its own; where the runner has
    no service for that, none. Use it as a context. Trials that were `resumed` are uploaded first.

    `fault` says why trials could not be uploaded; empty if they could.
    """

    def __init__(
        self, event: ActionEvent, git_plan: Plan, progress: ActionProgress, resumed: Resumed
    ) -> None:
        plan = git_plan.replace(engine=engine_digest())
        stamp, job = event.target.stamp, re.sub(r"[^\w-]", "-", event.context.job)[:60]
        name = f"{stamp.gate}-trials{f'-{job}' if job else ''}-{stamp.attempt or 1}"
        self._event, self._progress = event, progress
        self._left = LeftTrials(plan=plan_digest(plan), run=stamp.run, name=name)
        self._plan = digest_of(plan)
        self._redactor = Redactor(event.context.secrets)
        self._new = [*resumed.kept.measured, *resumed.kept.to_judge]
        self._offers, self._batches = resumed.offers, resumed.batches
        self._told = NO_BATCHES
        self._folder: Path | None = None
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._confirms = resumes(event)
        self._works = self._confirms and RESULTS_URL in event.context.settings.environ
        self.fault = ""

    @property
    def target(self) -> PublishTarget:
        """What is reported on, with what is confirmed so far."""
        return self._event.target.replace(left=str(self._left) if self._confirms else "")

    def listener(self, folder: Path) -> Listener:
        """Return what is to hear of the trials of the run that has this folder."""
        self._folder = folder

        def hear(event: Event) -> None:
            if self._works and isinstance(event, TrialFinished | TrialAnswered):
                with self._lock:
                    self._new.append(event.trial)

        return hear

    def __enter__(self) -> Self:
        if self._works:
            self._send()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._works:
            self._thread.join(_CANCELLED_SECONDS)

    def rest(self, offers: tuple[SharedOffer, ...]) -> PublishTarget:
        """Upload what is left of a run that gave no verdict, with all that models were offered;
        return what is reported on.
        """
        if self._works:
            self._offers, folder = offers, self._folder
            self._batches, self._folder = _sent(folder) if folder else self._batches, None
            last = threading.Thread(target=self._send, daemon=True)
            last.start()
            last.join(_CANCELLED_SECONDS)
        return self.target

    def _run(self) -> None:
        seconds = FIRST_SECONDS
        while not self._over.wait(seconds):
            seconds = min(2 * seconds, MOST_SECONDS)
            if self._send() and not self._over.is_set():
                self._progress.note(self.target)

    def _send(self) -> bool:
        """Upload what is new; return whether anything was."""
        with self._sending:
            with self._lock:
                new, self._new = self._new, []
            shown = [one for one in new if self._redactor.value(one.key) is one.key]
            number, told = len(self._left.uploads) + 1, self._told
            if self._folder is not None:
                self._offers = read_offers(self._folder) or self._offers
                self._batches = _sent(self._folder)
            if not (shown or self._batches != told) or self.fault or number > MOST_UPLOADS:
                return False
            self._told = self._batches
            part = ResultsPart(
                plan=self._plan, trials=tuple(shown), offers=self._offers, batches=self._batches
            )
            content = dump(part, indent=None).encode()
            context, name = self._event.context, self._left.artifact(number)
            environ, ca_file = context.settings.environ, context.settings.ca_file
            try:
                upload_file(environ, name, PART_FILE, content, ca_file)
            except NoArtifact as error:
                self.fault = (
                    f"{error.sentence} A run that goes on from this one measures more anew."
                )
                return False
            upload = TrialUpload(number=number, sha256=sha256(content).hexdigest())
            self._left = self._left.replace(uploads=(*self._left.uploads, upload))
            return True
