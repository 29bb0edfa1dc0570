"""What is published of a run with sealed Evals: made from the whole, after it was decided.

This is the one place that seals results. Of a sealed Eval its verdict stays and a coarse rate, and
no trial; reports from what is published take that verdict as it was decided, and decide all else
anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from gateval.domain.decision.reasons import all_reasons
from gateval.domain.plan.sealing import kept_apart, published_plan
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import Comparison
from gateval.domain.results.progress import is_public_warning, public_rate
from gateval.domain.results.results import Results, SealedVerdict, bits_of
from gateval.domain.verdicts import PRECEDENCE, DecisionReason, GateVerdict, ReasonCode, reason_of

Keyed = Callable[[str], str]
"""Gives the digest of a text that only who has the gate's key can make; empty without a key."""


def sealed_reasons(
    results: Results, comparison: Comparison, names: Collection[str]
) -> Iterator[DecisionReason]:
    """Yield what speaks against the sealed Evals of these names, in whole results."""
    for reason in all_reasons(results, comparison, results.plan.policy):
        if reason.eval in names:
            yield reason


def recorded_reasons(results: Results) -> Iterator[DecisionReason]:
    """Yield a reason for each sealed Eval of published results that is no pass by itself."""
    who = results.plan.bar_accepted
    for planned, found in zip(results.plan.sealed, results.sealed, strict=True):
        if found.verdict is GateVerdict.PASS:
            continue
        verdict = found.accepted if who else found.verdict
        text = f"{planned.shown_name} is sealed, and {_SAID[found.verdict]}"
        accepted = f"; accepted by {who}" if verdict is not found.verdict else ""
        yield reason_of(verdict, ReasonCode.SEALED, text + accepted, planned.name)


_SAID = {
    GateVerdict.FAIL: "head does not meet it",
    GateVerdict.INCOMPLETE: "was not measured in full",
    GateVerdict.INCONCLUSIVE: "what was measured does not say enough",
}


def published(
    whole: Results,
    reasons: Collection[DecisionReason],
    accepted: Collection[DecisionReason],
    keyed: Keyed = lambda _: "",
    *,
    rates: bool = True,
) -> Results:
    """Return the results as everybody may see them; those without sealed Evals as they are.

    `reasons` are those of the whole, `accepted` those where a lower bar is accepted. With `rates`,
    the rate of each sealed Eval is told, if it is large enough.
    """
    apart = kept_apart(whole.plan)
    if not apart:
        return whole
    plan, trials = published_plan(whole.plan), group_trials(whole.trials)
    found = []
    for one in plan.sealed:
        planned = whole.plan.eval(one.name)
        mine = tuple(trial for trial in whole.trials if trial.key.eval == one.name)
        about = [whole.info.run, whole.info.started_at, whole.plan.head.tree, one.name]
        told = SealedVerdict(
            eval=one.name,
            verdict=_worst(reasons, one.name),
            accepted=_worst(accepted, one.name),
            rate=public_rate(planned, trials) if rates and mine else None,
            digest=keyed("\0".join([*about, *(trial.model_dump_json() for trial in mine)])),
            bits=bits_of(fixtures=len(one.fixtures), rates=rates) if mine else 0,
        )
        found.append(told)
    names = {one.own_name for one in plan.sealed}
    info = whole.info.replace(
        warnings=tuple(w for w in whole.info.warnings if is_public_warning(w, whole.plan)),
        started=tuple(one for one in whole.info.started if one.eval not in apart),
    )
    shown = {
        "plan": plan,
        "trials": tuple(one for one in whole.trials if one.key.eval not in apart),
        "earlier": tuple(one for one in whole.earlier if one.eval not in names),
        "sealed": tuple(found),
        "info": info,
    }
    return whole.replace(**shown)


def untold(shown: Results) -> Results:
    """Return published results as of a run that tells nothing of its sealed Evals: another job
    does, which counts what that gives away.
    """
    if not shown.sealed:
        return shown
    names = ", ".join(one.shown_name for one in shown.plan.sealed)
    said = f"{names}: sealed, so the job that publishes tells how it ended, and this one does not."
    plan, info = shown.plan.replace(sealed=()), shown.info
    if plan.evals:
        info = info.replace(warnings=(*info.warnings, said))
    else:
        plan = plan.replace(nothing=said)
    return shown.replace(plan=plan, sealed=(), info=info)


def _worst(reasons: Collection[DecisionReason], name: str) -> GateVerdict:
    verdicts = [one.verdict for one in reasons if one.eval == name]
    return min(verdicts, key=PRECEDENCE.index, default=GateVerdict.PASS)
