"""What everybody may see of a sealed Eval's trials: outcomes, scores, tokens and seconds.

This is the one place that seals. What it gives decides exactly as what it takes: the verdict of a
run is made from what is published, and whoever holds the key sees the rest.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Collection

from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import SEALED, is_open, shut_plan
from gateval.domain.results.outcome import reassessed
from gateval.domain.results.results import Results
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Assessment, Trial

_REASON = "the evidence is sealed; `gateval unseal` shows it to who holds the key"
_NO_ANSWER = "What went wrong is sealed; `gateval unseal` shows it to who holds the key."
_SAYS_NOTHING = re.compile(
    r"The agent (ended with exit code \d+|was not done within [\d.]+ s( and was ended)?|"
    r"did not finish in \d+ turns)\.( If it needs more time, raise `[\w.]+` of the "
    r"(Eval|task or benchmark)\.)?"
)
"""Why there is no answer, where nothing in it is a stranger's or the sealed file's."""

_WARNING = "A warning here is sealed; `gateval unseal` shows it to who holds the key."
_DIGITS = 16


def shut_results(results: Results, key: bytes) -> Results:
    """Return the results as everybody may see them.

    `key` is random and of this run alone: equal answers of the agent stay equal under it, and
    nobody can try guesses at them. Trials that are shut already stay as they are.
    """
    if not any(map(is_open, results.plan.evals)):
        return results
    shut = shutter(results.plan, key)
    info, agents = results.info, sealed_agents(results.plan)
    warnings = tuple(dict.fromkeys(_shut_warning(one, agents) for one in info.warnings))
    shown = {
        "plan": shut_plan(results.plan),
        "trials": tuple(map(shut, results.trials)),
        "info": info.model_copy(update={"warnings": warnings}),
    }
    return results.model_copy(update=shown)


def sealed_agents(plan: Plan) -> frozenset[str]:
    """Return the Agents that are asked what is sealed."""
    return frozenset(one.agent for one in plan.evals if one.sealed)


def shut_message(message: str, agent: str, agents: Collection[str]) -> str:
    """Return what may be told of an Agent's candidates: no words of one that was asked what is
    sealed.
    """
    return _WARNING if agent in agents else message


def _shut_warning(warning: str, agents: Collection[str]) -> str:
    """The same for a warning of a run, which begins with the Agent and its side."""
    said = re.match(r"(.+?) \((?:base|head)\): ", warning)
    return f"{said[0]}{_WARNING}" if said and said[1] in agents else warning


def unsealed(results: Results) -> Results:
    """Return opened results as those of Evals that were never sealed, to be looked at."""
    evals = tuple(one.model_copy(update={"sealed": False}) for one in results.plan.evals)
    return results.model_copy(update={"plan": results.plan.model_copy(update={"evals": evals})})


def shutter(plan: Plan, key: bytes) -> Callable[[Trial], Trial]:
    """Return what takes out of a trial of this plan what is sealed; other trials stay as they are.

    `plan` has the words of its sealed Evals.
    """
    public = {one.name: one for one in shut_plan(plan).evals if one.sealed}

    def shut(trial: Trial) -> Trial:
        planned = public.get(trial.key.eval)
        if planned is None:
            return trial
        bare = _bare(trial, key)
        if not trial.assessments:
            return bare
        assessments = tuple(map(_shut_assessment, trial.assessments))
        return reassessed(bare, planned.fixture(trial.key.fixture), assessments, planned.scoring)

    return shut


def _bare(trial: Trial, key: bytes) -> Trial:
    """The trial without what was said and done in it; how much of that there was stays."""
    trace = trial.trace
    return trial.model_copy(
        update={
            "reason": _shut_reason(trial.reason),
            "detail": (),
            "output": None if trial.output is None else _mark(trial, key),
            "trace": trace and Trace(**{**dict(trace), "steps": ()}),
            "calls": trial.calls and trial.calls.shut,
        }
    )


def _shut_reason(reason: str) -> str:
    """A reason without assessments: of our own, or with words of candidates and playgrounds."""
    return reason if not reason or _SAYS_NOTHING.fullmatch(reason) else _NO_ANSWER


def _mark(trial: Trial, key: bytes) -> str:
    """What stands for an answer and the way to it: equal for equal ones of a run."""
    steps = trial.trace.steps if trial.trace else ()
    said = [f"{one.kind} {one.text} {one.tool} {one.arguments}" for one in steps]
    text = "\0".join([trial.output or "", *said]).encode("utf-8", "surrogatepass")
    return f"sealed {hmac.new(key, text, hashlib.sha256).hexdigest()[:_DIGITS]}"


def _shut_assessment(one: Assessment) -> Assessment:
    verdict = one.verdict
    if verdict is not None:
        empty = {"summary": "", "violations": (), "what_would_raise_score": ""}
        verdict = verdict.model_copy(update=empty)
    return Assessment(
        index=one.index,
        type=SEALED,
        status=one.status,
        score=one.score,
        reason=_REASON,
        claimed=one.claimed,
        absent=one.absent,
        fatal=one.fatal,
        cause=one.cause,
        verdict=verdict,
        asked=one.asked,
        again=one.again,
    )
