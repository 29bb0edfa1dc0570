"""Keeps what is sealed out of all that a run writes, and encrypts it for who may read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gateval.adapters.age import seal
from gateval.adapters.results_folder import ResultsFolder
from gateval.app.names import EVIDENCE_FILE
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import is_shut, shut_plan
from gateval.domain.results.results import Results
from gateval.domain.results.sealing import sealed_agents, shut_message, shut_results
from gateval.domain.trials.trial import Trial, TrialKey
from gateval.events import CandidateWarned, Event, Listener, RunStarted, TrialFinished
from gateval.ports.trial_log import TrialLog
from gateval.render.files.stage import dump_whole

UNREAD = (
    "`policy.recipients` names nobody, so the evidence on sealed Evals was not kept: nobody could "
    "have read it."
)

WORDLESS = (
    "A plan in a file holds no words of sealed Evals, so these did not run. One run with the key "
    "plans and measures them: `gateval check`, or the step `all` of the action."
)


class SealingLog:
    """Fulfils `ports.trial_log.TrialLog`: writes trials without what is sealed, and holds the rest
    until the run is over.
    """

    def __init__(self, log: TrialLog, shut: Callable[[Trial], Trial]) -> None:
        self._log = log
        self._shut = shut
        self._whole: dict[TrialKey, Trial] = {}

    def append(self, trial: Trial) -> None:
        """Store one trial as everybody may see it."""
        shown = self._shut(trial)
        if shown is not trial:
            self._whole[trial.key] = trial
        self._log.append(shown)

    def whole(self, stored: Iterable[Trial]) -> tuple[Trial, ...]:
        """Return the trials of the log with what is sealed in them."""
        return tuple(self._whole.get(one.key, one) for one in stored)


def sealed_off(listen: Listener, shut: Callable[[Trial], Trial], plan: Plan) -> Listener:
    """Return a listener that hears nothing of what is sealed in the run of this plan."""
    agents = sealed_agents(plan)

    def tell(event: Event) -> None:
        if isinstance(event, TrialFinished):
            shown = shut(event.trial)
            event = event if shown is event.trial else TrialFinished(trial=shown)
        elif isinstance(event, CandidateWarned):
            said = shut_message(event.message, event.agent, agents)
            event = event._replace(message=said)
        elif isinstance(event, RunStarted):
            event = RunStarted(plan=shut_plan(event.plan))
        listen(event)

    return tell


def runnable(plan: Plan) -> Plan:
    """Return the plan without the Evals of which it has no words: they are missing in the end."""
    if not any(map(is_shut, plan.evals)):
        return plan
    left = tuple(one for one in plan.evals if not is_shut(one))
    return plan.model_copy(update={"evals": left, "nothing": "" if left else WORDLESS})


def publishable(results: Results, folder: ResultsFolder, key: bytes) -> Results:
    """Return the results as everybody may see them; with the key to them, the whole is stored.

    `key` is that of `shut_results`. Whoever `policy.recipients` names can open what is stored.
    """
    shown = shut_results(results, key)
    if shown is results:
        return _warned(results, WORDLESS) if any(map(is_shut, results.plan.evals)) else results
    recipients = results.plan.policy.recipients
    if recipients:
        folder.write(EVIDENCE_FILE, seal(dump_whole(results).encode(), recipients))
        return shown
    return _warned(shown, UNREAD)


def _warned(results: Results, sentence: str) -> Results:
    warned = {"warnings": (*results.info.warnings, sentence)}
    return results.model_copy(update={"info": results.info.model_copy(update=warned)})
