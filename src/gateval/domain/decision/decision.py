"""The gate's decision: a pure function of the comparison, the policy and the labels; and the
report of it.

Precedence: fail > incomplete (planned trials missing) > inconclusive (a trial is `error` or
`skip`) > pass. An `error` is never a pass, and no policy lets a candidate's error pass. A bypass
that counts turns whatever is no pass into `bypassed`, and leaves every reason where it is.

What is published of a run with sealed Evals: made from the whole, after it was decided.

This is the one place that seals results. Of a sealed Eval its verdict stays and a coarse rate, and
no trial; reports from what is published take that verdict as it was decided, and decide all else
anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from operator import is_
from typing import Literal, NamedTuple

from gateval.domain.base import Value
from gateval.domain.decision.reasons import all_reasons
from gateval.domain.forge.trigger import Trust
from gateval.domain.label_decision import NO_LABEL_DECISIONS, LabelDecision, LabelDecisions
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart, published_plan
from gateval.domain.results.averages import group_trials
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import Comparison
from gateval.domain.results.doubts import (
    as_juries_count,
    without_common_refusals,
    without_mere_claims,
)
from gateval.domain.results.progress import is_public_warning, public_rate, result_parts
from gateval.domain.results.results import Results, SealedVerdict, bits_of
from gateval.domain.verdicts import (
    EXIT_CODES,
    PRECEDENCE,
    DecisionReason,
    EvalsVerdict,
    GateVerdict,
    ReasonCode,
    reason_of,
)
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED

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


class Decision(Value):
    """The decision with its ordered reasons, worst first.

    `evals` is what the evals say; `verdict` differs from it only when that was bypassed. `labels`
    is what became of each label of the gate's that was looked at.
    """

    version: Literal["decision.v1"] = "decision.v1"
    verdict: GateVerdict
    evals: EvalsVerdict
    exit_code: int
    head: str
    reasons: tuple[DecisionReason, ...] = ()
    labels: tuple[LabelDecision, ...] = ()

    @property
    def bypass(self) -> LabelDecision | None:
        """The label that let this revision through, or None."""
        granted = self.verdict is GateVerdict.BYPASSED
        return LabelDecisions(found=self.labels).bypass if granted else None


def decide(
    results: Results,
    reasons: Collection[DecisionReason],
    label_decisions: LabelDecisions = NO_LABEL_DECISIONS,
) -> Decision:
    """Fold every reason into one verdict by precedence, then let the labels count."""
    codes = list(ReasonCode)
    ordered = tuple(
        sorted(reasons, key=lambda r: (PRECEDENCE.index(r.verdict), codes.index(r.code)))
    )
    verdict = ordered[0].verdict if ordered else GateVerdict.PASS
    decision = Decision(
        verdict=verdict,
        evals=verdict,
        exit_code=EXIT_CODES[verdict],
        head=results.plan.head.commit or results.plan.head.tree,
        reasons=ordered,
    )
    return with_labels(decision, label_decisions)


def with_labels(decision: Decision, label_decisions: LabelDecisions) -> Decision:
    """Return what follows from a decision's evals once these labels count."""
    passed = decision.evals is GateVerdict.PASS
    verdict = GateVerdict.BYPASSED if label_decisions.bypass and not passed else decision.evals
    return decision.replace(
        verdict=verdict, exit_code=EXIT_CODES[verdict], labels=label_decisions.found
    )


UNVERIFIED_GATE = "unverified"
"""The gate under which claims appear: its check run is `gateval (unverified)`. So no claim, forged
or not, ever touches the check run `gateval`, which branch protection asks for."""

_WHY = {
    Trust.FORK: "The pull request comes from another repository, so this run had no keys.",
    Trust.DEPENDABOT: "Dependabot started this run, so it had no keys.",
    Trust.CLAIM: "A run without keys measured this, and anybody could have written its results.",
}


def unverified(trust: Trust, plan: Plan | None, number: int | None) -> str:
    """Return why the report is only a claim and who gives the verdict; empty if it is none.

    That nothing an eval depends on has changed is no claim: it is read from git by this very run.
    A plan is None when there is none yet.
    """
    if trust.verified or (plan and plan.nothing and not _touches(plan)):
        return ""
    return f"{_WHY[trust]} {_who_does(number)}; that run gives the verdict."


def unwritten(number: int | None) -> str:
    """Return why a run for a fork leaves nothing on GitHub, and who gives the check."""
    return (
        "GitHub gives a run for a fork a token that only reads, so the check gateval is not "
        f"written, nor a comment; the job's summary holds the result. {_who_does(number)}: see "
        "docs/guides/forks.md."
    )


def _who_does(number: int | None) -> str:
    which = f"pull request {number}" if number else "the pull request"
    return (
        "A maintainer who has read the change starts the maintainers' workflow "
        f"(`workflow_dispatch`) for {which}"
    )


def _touches(plan: Plan) -> bool:
    """Whether the change touches an Agent, or takes something away that was asked of one."""
    return bool(plan.changes or plan.removed or plan.binds)


def exit_code(decision: Decision, *, claimed: bool) -> int:
    """Return the exit status of a run: 0 only for a pass that the gate stands for.

    A claimed failure is a failure; a claimed pass was not evaluated by anyone we trust.
    """
    if not claimed:
        return decision.exit_code
    return EXIT_FAILED if decision.verdict is GateVerdict.FAIL else EXIT_NOT_EVALUATED


class Report(NamedTuple):
    """Results with the comparison and the decision computed from them."""

    results: Results
    comparison: Comparison
    decision: Decision


def make_report(results: Results, label_decisions: LabelDecisions = NO_LABEL_DECISIONS) -> Report:
    """Compare and decide. The same results and labels always give the same report.

    Who accepted a lower bar is kept in the plan: it is part of what was asked of the change. What
    is sealed is decided apart from the rest, and what was decided of it before stays.
    """
    if label_decisions.bar is not None:
        results = _accepting(results, accepted_by(label_decisions.bar))
    results, comparison, reasons = _decided(results)
    return Report(results, comparison, decide(results, reasons, label_decisions))


def publishable(report: Report, keyed: Keyed = lambda _: "", *, rates: bool = True) -> Results:
    """Return the results of a report as everybody may see them, with what is sealed decided.

    `keyed` gives digests with the gate's key. Without `rates`, verdicts alone are told.
    """
    if not kept_apart(report.results.plan):
        return report.results
    *_, reasons = _decided(_accepting(report.results, ""))
    *_, accepted = _decided(_accepting(report.results, "somebody"))
    return published(report.results, reasons, accepted, keyed, rates=rates)


def counted(results: Results) -> Results:
    """Return the results, of which nothing is sealed, with every trial as it counts; where each
    counts as it is, the very same.
    """
    found = without_common_refusals(without_mere_claims(results))
    trials = as_juries_count(found.plan, found.trials)
    same = len(trials) == len(results.trials) and all(map(is_, trials, results.trials))
    return results if same else results.replace(trials=trials)


def _decided(results: Results) -> tuple[Results, Comparison, list[DecisionReason]]:
    """Return the results as they count, how they compare, and every reason, part by part."""
    (first, beside), *others = result_parts(results)
    first = counted(first)
    comparison = compare(first, beside)
    reasons = [*all_reasons(first, comparison, first.plan.policy), *recorded_reasons(results)]
    if not others:
        return first, comparison, reasons
    ((shut, beside),) = others
    shut = counted(shut)
    held = compare(shut, beside)
    names = {one.name for one in shut.plan.evals}
    reasons += sealed_reasons(shut, held, names)
    by_name = {one.eval: one for one in (*comparison.evals, *held.evals)}
    trials = sorted((*first.trials, *shut.trials), key=lambda one: one.key.order)
    both = {
        "evals": tuple(by_name[one.name] for one in results.plan.evals),
        "rises": (*comparison.rises, *held.rises),
    }
    whole = results.replace(trials=tuple(trials))
    return whole, comparison.replace(**both), reasons


def _accepting(results: Results, who: str) -> Results:
    plan = results.plan.replace(bar_accepted=who)
    return results.replace(plan=plan)


def accepted_by(decided: LabelDecision) -> str:
    """Return who accepted a lower bar, and how."""
    return f"{decided.use.by.login} ({decided.use.by.role}) with the label {decided.label}"
