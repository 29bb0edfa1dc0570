"""Keeps what is sealed out of all that a run writes, and encrypts it for who may read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gateval.adapters.age import own_digest, own_key, seal
from gateval.adapters.results_folder import ResultsFolder
from gateval.adapters.store import TrialStore
from gateval.app.run.views import EVIDENCE_FILE
from gateval.domain.decision.decision import Report, counted, make_report, publishable, untold
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import is_open, is_shut, kept_apart, published_plan
from gateval.domain.results.progress import result_parts, sealed_agents
from gateval.domain.results.results import Results, ResultsPart, part_of
from gateval.domain.trials.trial import Trial
from gateval.events import (
    CandidatePreparing,
    CandidateWarned,
    Event,
    Listener,
    RunStarted,
    TrialFinished,
    TrialsAdded,
    TrialStarted,
)
from gateval.render.stage import dump_whole, load_part

UNREAD = (
    "`policy.recipients` names nobody, so the evidence on sealed Evals was not kept: nobody could "
    "have read it."
)

WORDLESS = (
    "A plan in a file holds no words of sealed Evals, so these did not run. One run with the key "
    "plans and measures them: `gateval check`, or the step `all` of the action."
)


class MeasuredRun(NamedTuple):
    """The results of a run as everybody may see them, those with what is sealed, the folder of the
    run, whether a signal ended it early, and why what it spent is `uncounted`; empty if it is not.
    """

    results: Results
    whole: Results
    folder: ResultsFolder
    interrupted: bool = False
    uncounted: str = ""

    def reports(self) -> tuple[Report, Report]:
        """Decide what everybody may see, and the whole; where they are one, once."""
        shown = make_report(self.results)
        return shown, shown if self.whole is self.results else make_report(self.whole)


class SealingLog:
    """Fulfils `ports.trial_log.TrialLog`: writes what everybody may see, and holds the trials of
    sealed Evals until the run is over.
    """

    def __init__(self, log: TrialStore, plan: Plan) -> None:
        self._log = log
        self._apart = kept_apart(plan)
        self.held: list[Trial] = []

    def append(self, trial: Trial) -> Trial:
        """Store one trial where it may be stored."""
        if trial.key.eval not in self._apart:
            return self._log.append(trial)
        self.held.append(trial)
        return trial

    def keep(self, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Store trials that lie elsewhere, too, where they may be stored."""
        every = tuple(trials)
        self.held += (one for one in every if one.key.eval in self._apart)
        stored = iter(self._log.keep(one for one in every if one.key.eval not in self._apart))
        return tuple(one if one.key.eval in self._apart else next(stored) for one in every)


def sealed_off(listen: Listener, plan: Plan) -> Listener:
    """Return a listener that hears nothing of the trials of sealed Evals: neither how one ended nor
    when, for a log has the time on every line. That a candidate is made ready again is not heard
    either: it is for further looks at what looks worse.
    """
    apart, agents = kept_apart(plan), sealed_agents(plan)
    ready: set[tuple[str, str]] = set()

    def tell(event: Event) -> None:
        match event:
            case TrialFinished(trial=trial) if trial.key.eval in apart:
                return
            case TrialStarted(key=key) if key.eval in apart:
                return
            case CandidateWarned(agent=agent) if agent in agents:
                return
            case CandidatePreparing(agent=agent, side=side) if agent in agents:
                if (agent, side) not in ready:
                    ready.add((agent, side))
                    listen(event)
            case TrialsAdded(keys=keys):
                left = tuple(one for one in keys if one.eval not in apart)
                if left:
                    listen(TrialsAdded(keys=left))
            case RunStarted(plan=whole):
                listen(event._replace(plan=published_plan(whole)))
            case _:
                listen(event)

    return tell


def runnable(plan: Plan) -> Plan:
    """Return the plan without the Evals of which it has no words: they are missing in the end."""
    if not any(map(is_shut, plan.evals)):
        return plan
    left = tuple(one for one in plan.evals if not is_shut(one))
    return plan.replace(evals=left, nothing="" if left else WORDLESS)


def seal_results(
    whole: Results,
    folder: ResultsFolder,
    environ: Mapping[str, str],
    *,
    rates: bool,
    tells: bool = True,
) -> Results:
    """Return the results as everybody may see them; with the key to them, the whole is stored.

    Whoever `policy.recipients` names can open what is stored. A run that does not tell how sealed
    Evals ended stores nothing of them: that is for the one that tells. Where nothing is sealed and
    every trial counts as it is, the results are the whole itself.
    """
    shown = counted(whole)
    if kept_apart(whole.plan):
        shown = publishable(make_report(whole), own_digest(environ), rates=rates)
        shown = shown.replace(info=shown.info.replace(usd=None))  # it would tell of what is sealed
    if not tells:
        return untold(shown)
    unread = any(map(is_shut, whole.plan.evals))
    shown = _warned(shown, WORDLESS) if unread else shown
    if not any(map(is_open, whole.plan.evals)):
        return shown
    recipients = whole.plan.policy.recipients
    if recipients:
        text = dump_whole(whole).encode()
        folder.write(EVIDENCE_FILE, seal(padded(text), recipients))
        return shown
    return _warned(shown, UNREAD)


def sealed_part(whole: Results, environ: Mapping[str, str]) -> str:
    """Return the trials of sealed Evals as a part, encrypted for the gate's own key; empty where
    none was measured, or without a key.
    """
    if not any(map(is_open, whole.plan.evals)):
        return ""
    *_, (shut, _) = result_parts(whole)
    text = padded(dump_whole(part_of(shut)).encode())
    return own_key(environ).keep(text.decode(), _about(whole.plan))


def opened_part(part: ResultsPart, plan: Plan, environ: Mapping[str, str]) -> ResultsPart | None:
    """Return what a part has of sealed Evals; None where it was not kept for this key and head."""
    text = own_key(environ).kept(part.sealed, _about(plan))
    return None if text is None else load_part(text.encode(), "The sealed part")


def with_sealed(part: ResultsPart, opened: ResultsPart | None) -> ResultsPart:
    """Return a part with what was `opened` of its sealed Evals, if that was."""
    if opened is None:
        return part
    both = {
        name: tuple(dict.fromkeys((*getattr(part.plan, name), *getattr(opened.plan, name))))
        for name in ("agents", "evals", "scripts")
    }
    trials = (*part.trials, *opened.trials)
    return part.replace(plan=part.plan.replace(**both), trials=trials, usd=opened.usd)


def _about(plan: Plan) -> str:
    return f"trials on {plan.head.commit or plan.head.tree}"


SMALLEST = 256 * 1024
"""Bytes of the smallest evidence, before it is encrypted; each larger size is four times that."""


def padded(text: bytes) -> bytes:
    """Return JSON with white space behind it, so that its size tells little of what it holds."""
    size = SMALLEST
    while size < len(text):
        size *= 4
    return text.ljust(size)


def _warned(results: Results, sentence: str) -> Results:
    warned = {"warnings": (*results.info.warnings, sentence)}
    return results.replace(info=results.info.replace(**warned))
