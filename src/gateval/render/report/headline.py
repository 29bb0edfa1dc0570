"""Verdict and why, in one sentence in a reviewer's words (not sanitised)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from gateval.domain.decision.decision import Report
from gateval.domain.decision.reasons import MEASURED_CODES, never_began, why_silent
from gateval.domain.plan.absent import Lacking
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import FixtureChange, distinct
from gateval.domain.text import listing
from gateval.domain.trials.trial import Cause, Side
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode
from gateval.render.report.bar import met_edits, shown_evals
from gateval.render.report.wording import GAP_TITLES, KindLabels, count, words_of


def headline(report: Report) -> str:
    """Return why the gate says what it says, in one sentence without its full stop."""
    kept, total = report.results.plan.coverage
    if kept == total:
        return _told(report)
    cases = words_of(one.kind for one in report.results.plan.evals).case
    return f"a part of the gate: {kept:,} of {total:,} {cases}s; {_told(report)}"


def _told(report: Report) -> str:
    decision = report.decision
    blocking = [reason for reason in decision.reasons if reason.verdict is decision.evals]
    if decision.evals is GateVerdict.FAIL:
        return "; ".join(_failures(report, blocking))
    if decision.evals is GateVerdict.INCOMPLETE:
        return "; ".join(_missing(report, blocking))
    if decision.evals is GateVerdict.INCONCLUSIVE:
        return "; ".join(_unknowns(report, blocking))
    return _passed(report)


_RISEN = {
    ReasonCode.COST: "cost more than the policy allows",
    ReasonCode.LATENCY: "took longer than the policy allows",
}


def _missing(report: Report, blocking: Sequence[DecisionReason]) -> list[str]:
    said = list(_ended_early(report, blocking))
    budget = [reason for reason in blocking if reason.code is ReasonCode.BUDGET]
    if cut := sum(bool(reason.fixture or reason.eval) for reason in budget):
        what = f"{count(cut, 'comparison')} looked worse"
        said.append(f"{what}, and the budget left nothing to look again")
    unreadable = sum(reason.code is ReasonCode.BAR_UNREADABLE for reason in blocking)
    if unreadable:
        said.append(f"what the target branch asks cannot be read ({count(unreadable, 'problem')})")
    if broken := sum(reason.code is ReasonCode.SUITE_UNREADABLE for reason in blocking):
        said.append(f"a suite that concerns this cannot be read ({count(broken, 'problem')})")
    if report.results.plan.rules_unread:
        said.append("the rules that the gate config extends cannot be read")
    if lost := report.results.plan.findings_lost:
        said.append(lost)
    if files := report.results.plan.locked:
        said.append(f"{listing(files, 2)} cannot be opened without the key")
    sealed = [one.text for one in blocking if one.code is ReasonCode.SEALED and one.eval]
    said += sealed[:_TOGETHER]
    down = [one for one in report.decision.reasons if one.code in _DOWN]
    said += _unknowns(report, down)
    said += _lacking(report.results.plan.lacking)
    if paths := report.results.plan.unclaimed:
        verb = "belongs" if len(paths) == 1 else "belong"
        said.append(f"{listing(paths, 2)} {verb} to no Agent that an Eval measures")
    return said or ["nothing that ran speaks against the change"]


def _ended_early(report: Report, blocking: Sequence[DecisionReason]) -> Iterator[str]:
    """How much of what was planned from the beginning did not run, and why the run ended."""
    plan, info = report.results.plan, report.results.info
    keys = [one.key for one in report.results.trials]
    ran = Counter((key.eval, key.fixture, key.side) for key in keys)
    if missing := sum(max(0, due - ran[where]) for where, due in plan.first_trials.items()):
        yield f"{missing:,} of {count(plan.trial_count, 'planned run')} did not happen"
    elif any(one.code is ReasonCode.MISSING_TRIALS for one in blocking):
        yield "what looked worse was not looked at again"
    if info.interrupted or info.ended:
        why = "the run was interrupted" if info.interrupted else "its time was over"
        yield f"{_OUTAGE} when {why}" if info.unanswered else why
    if info.over_budget:
        short = plan.allowance and plan.allowance.ended(info.over_budget)
        whom = "its pull request or a day" if short else "a run"
        yield f"what the policy gives {whom} was used up"
    elif plan.budget_spent:
        yield "an earlier run used up what the policy gives one"


_OUTAGE = GAP_TITLES[Cause.PROVIDER]


def _lacking(every: Sequence[Lacking]) -> Iterator[str]:
    if away := list(dict.fromkeys(one.path for one in every if one.commit)):
        yield f"the content of {listing(away, 2)} is not in this checkout"
    if edited := list(dict.fromkeys(one.path for one in every if not one.commit)):
        yield f"edits in {listing(edited, 2)} are in no commit of the submodule"


def _failures(report: Report, blocking: Sequence[DecisionReason]) -> list[str]:
    by_code: dict[ReasonCode, list[DecisionReason]] = {}
    for reason in blocking:
        by_code.setdefault(reason.code, []).append(reason)
    said = [*_regressed(report, by_code.get(ReasonCode.REGRESSION, ()))]
    if silent := by_code.get(ReasonCode.NO_ANSWER):
        said.append(_silent(report, silent))
    said += _lowered(by_code.get(ReasonCode.LOWERED_BAR, ()))
    said += _below(report, by_code.get(ReasonCode.BELOW_THRESHOLD, ()))
    said += [one.text for one in by_code.get(ReasonCode.UNANSWERED, ())[:_TOGETHER]]
    if added := by_code.get(ReasonCode.NEW_FIXTURE):
        fixtures = distinct(one.fixture for one in added)
        names = _names(fixtures, f"new {_words(report, added).case}")
        said.append(f"{names} {'does' if len(fixtures) == 1 else 'do'} not pass")
    said += [one.text for one in by_code.get(ReasonCode.SEALED, ())[:_TOGETHER]]
    risen = [(what, by_code[code]) for code, what in _RISEN.items() if code in by_code]
    return said + [f"{_evals(report, reasons)} {what}" for what, reasons in risen]


_TOGETHER = 3
"""What fell together that is named."""


def _regressed(report: Report, regressed: Sequence[DecisionReason]) -> Iterator[str]:
    """What passed before; of Evals whose trials have scores, what scored more; and what fell only
    together, or on one axis.
    """
    graded = {one.name for one in report.results.plan.evals if one.scoring.graded}
    single = [one for one in regressed if one.fixture]
    stand = [one for one in single if report.results.plan.eval(one.eval).stands(one.fixture)]
    if names := distinct(one.fixture for one in stand):
        verb = "stands as regressed" if len(names) == 1 else "stand as regressed"
        yield f"{_names(names, 'fixture')} {verb} from an earlier run"
    single = [one for one in single if one not in stand]
    if names := distinct(one.fixture for one in single if one.eval not in graded):
        verb = "fails" if len(names) == 1 else "fail"
        yield f"{_names(names, 'fixture')} passed before and {verb} now"
    if fell := [one for one in single if one.eval in graded and one.fixture not in names]:
        names = distinct(one.fixture for one in fell)
        named = _names(names, _words(report, fell).case)
        yield f"{named} score{'s' if len(names) == 1 else ''} lower than before"
    together = [one.text.partition(": ")[0] for one in regressed if not one.fixture]
    yield from together[:_TOGETHER]
    if len(together) > _TOGETHER:
        yield f"{len(together) - _TOGETHER} more of this kind"


def _below(report: Report, below: Sequence[DecisionReason]) -> Iterator[str]:
    """Which Evals miss the threshold that they write, and which do not pass without one."""
    heads = {one.eval: one.head for one in report.comparison.evals}
    if written := [one for one in below if heads[one.eval].written]:
        verb = "is below its threshold" if len(written) == 1 else "are below their thresholds"
        yield f"{_evals(report, written)} {verb}"
    if others := [one for one in below if not heads[one.eval].written]:
        whole = all((heads[one.eval].threshold or 0) >= 1 for one in others)
        cases = f"{_words(report, others).case}s"
        names = _evals(report, others)
        verb = "scores" if len(others) == 1 else "score"
        yield f"not all {cases} of {names} pass" if whole else f"{names} {verb} too low to pass"


def _silent(report: Report, silent: Sequence[DecisionReason]) -> str:
    """Which Agents fell silent: they do not start, and why, or do not answer."""
    plan, trials = report.results.plan, group_trials(report.results.trials)
    agents = distinct(plan.eval(one.eval).agent for one in silent)
    of_evals = (plan.eval(name) for name in distinct(one.eval for one in silent))
    whys = distinct(filter(None, (why_silent(one, Side.HEAD, trials) for one in of_evals)))
    if not whys or not all(map(never_began, whys)):
        return f"{listing(agents, 3)} no longer answer{'s' if len(agents) == 1 else ''}"
    verb = "starts" if len(agents) == 1 else "start"
    return f"{listing(agents, 3)} no longer {verb}: {listing(whys, 2)[:_WHY]}"


_WHY = 200
"""Characters of why nothing starts."""


def _lowered(lowered: Sequence[DecisionReason]) -> Iterator[str]:
    evals = sum(bool(reason.eval) for reason in lowered)
    if evals:
        yield f"what the target branch asks is not met ({count(evals, 'Eval')})"
    if edits := len(lowered) - evals:
        yield f"what the gate asks is lowered ({count(edits, 'edit')})"


def _evals(report: Report, reasons: Sequence[DecisionReason]) -> str:
    plan = report.results.plan
    names = [plan.eval(reason.eval).shown_name for reason in reasons]
    return _names(names, _words(report, reasons).manifest)


def _words(report: Report, reasons: Sequence[DecisionReason]) -> KindLabels:
    """What is meant by these reasons is called."""
    return words_of(report.results.plan.eval(one.eval).kind for one in reasons if one.eval)


def _names(names: Sequence[str], noun: str) -> str:
    """Name up to two of them, count more."""
    return " and ".join(names) if len(names) <= 2 else count(len(names), noun)


_OF_WHOLE_EVALS = {
    ReasonCode.UNANSWERED,
    ReasonCode.DEAD_BASELINE,
    ReasonCode.SEALED,
    ReasonCode.NO_PREFERENCE,
}
"""Reasons that are said in full: what they say no table tells."""

_UNKNOWN = {
    **{code: f"{GAP_TITLES[cause]} in {{}}" for cause, code in MEASURED_CODES.items()},
    ReasonCode.BASELINE_ERROR: "base could not be measured in {}",
    ReasonCode.BAR_UNMEASURED: "what the target branch asks hangs on {}",
}
_DOWN = {ReasonCode.PROVIDER_ERROR, ReasonCode.JUDGE_ERROR}
"""What may be why a run is not complete."""

_UNKNOWN_EVALS = {
    ReasonCode.UNCALIBRATED_JUDGE: "the judge of {} is not calibrated as it asks",
    ReasonCode.STAND_IN: "stand-ins answered for the first model in {}",
    ReasonCode.NO_MODEL_CALLS: "the agent of {} asked models on base and asks none on head",
    ReasonCode.COST: "the cost of {} cannot be held against base",
    ReasonCode.LATENCY: "the time of {} cannot be held against base",
}


def _unknowns(report: Report, blocking: Sequence[DecisionReason]) -> list[str]:
    whole = [one.text for one in blocking if one.code in _OF_WHOLE_EVALS]
    said = list(dict.fromkeys(whole))[:_TOGETHER]
    counts = Counter(one.code for one in blocking if one.code not in _OF_WHOLE_EVALS)
    cause = _of_base(report, blocking)
    alike = MEASURED_CODES[cause] if cause else None
    on_base = counts.pop(ReasonCode.BASELINE_ERROR, 0) if alike in counts else 0
    for code, n in counts.items():
        if code in _UNKNOWN_EVALS:
            said.append(_UNKNOWN_EVALS[code].format(count(n, "Eval")))
            continue
        told = _UNKNOWN[code].format(count(n, "run"))
        told += f" and in {on_base} of base" if on_base and code is alike else ""
        because = cause is not None and code is ReasonCode.BASELINE_ERROR
        said.append(f"{told}: {GAP_TITLES[cause]}" if because else told)
    return said


def _of_base(report: Report, blocking: Sequence[DecisionReason]) -> Cause | None:
    """Return why base could not be measured; None for several causes."""
    asked = {(one.eval, one.fixture) for one in blocking if one.code is ReasonCode.BASELINE_ERROR}
    causes = {
        one.cause or Cause.GATE
        for one in report.results.trials
        if one.key.side is Side.BASE
        and one.passed is None
        and (one.key.eval, one.key.fixture) in asked
    }
    return causes.pop() if len(causes) == 1 else None


def _passed(report: Report) -> str:
    if report.results.plan.nothing:
        return report.results.plan.nothing.rstrip(".")
    unseen = [one for one in report.decision.reasons if one.code in _OF_WHOLE_EVALS]
    said = list(dict.fromkeys(one.text for one in unseen))[:_TOGETHER]
    apart = [one.eval for one in shown_evals(report) if one.head.in_quarantine]
    said += [f"all of {name} is in quarantine, so nothing of it decides" for name in apart]
    said += _met(report, {*apart, *(one.eval for one in unseen)})
    if shut := [one for one in report.results.sealed if one.verdict is GateVerdict.PASS]:
        said.append(f"{count(len(shut), 'sealed Eval')} pass{'es' if len(shut) == 1 else ''}")
    warned = Counter(reason.code for reason in report.decision.reasons)
    once = {(one.code, one.fixture or one.text) for one in report.decision.reasons}
    fixtures = Counter(code for code, _ in once)
    if regressed := fixtures[ReasonCode.REGRESSION]:
        said.append(f"{count(regressed, 'fixture')} regressed, which the policy lets pass")
    if suspect := fixtures[ReasonCode.SUSPECT]:
        verb = "looks" if suspect == 1 else "look"
        said.append(f"{count(suspect, 'fixture')} {verb} worse")
    if risen := warned[ReasonCode.COST] + warned[ReasonCode.LATENCY]:
        said.append(f"{count(risen, 'warning')} on money and time")
    if judge := warned[ReasonCode.JUDGE_ERROR]:
        said.append(f"{count(judge, 'run')} without a verdict, which the policy lets pass")
    if lowered := warned[ReasonCode.LOWERED_BAR]:
        who = report.results.plan.bar_accepted
        said.append(f"{count(lowered, 'lowered demand')}, accepted by {who}")
    if edits := listing([one.what for one in met_edits(report)], 2):
        said.append(f"less is asked ({edits}), and head meets what the target branch asks")
    said += _improved(report)
    said += () if warned else _unwarned(report)
    if waiting := report.results.plan.after_merge:
        named = _names([one.eval for one in waiting], "sealed Eval")
        said.append(f"what is new in {named} first runs after the merge")
    return "; ".join(said)


def _improved(report: Report) -> Iterator[str]:
    """What is better than on base."""
    plan, found = report.results.plan, FixtureChange.IMPROVED
    better = [(one, each) for one in report.comparison.evals for each in one.fixtures]
    better = [(one, each) for one, each in better if each.change is found]
    if names := distinct(each.fixture for _, each in better):
        noun = words_of(plan.eval(one.eval).kind for one, _ in better).case
        yield f"{_names(names, noun)} improved"


def _unwarned(report: Report) -> Iterator[str]:
    """What became of the comparison with base where no reason speaks of it."""
    compared = [one for one in report.comparison.evals if one.base is not None]
    if any(one.regressed for one in compared):
        yield "something regressed, which the policy lets pass (policy.regressions: off)"
    elif compared:
        yield "nothing regressed"


def _met(report: Report, unseen: Collection[str]) -> Iterator[str]:
    """How many meet a threshold that somebody wrote, pass without one, or were measured only: where
    there is a baseline, and experiments. `unseen` are those of which nothing can be said.
    """
    pairs = [(report.results.plan.eval(one.eval), one) for one in shown_evals(report)]
    shown = [(of, one) for of, one in pairs if of.name not in unseen]
    free = [of.kind for of, one in shown if one.head.asks_nothing]
    asked = [(of.kind, one.head) for of, one in shown if not one.head.asks_nothing]
    kinds = [
        ("meets its threshold", "meet their thresholds", [k for k, one in asked if one.written]),
        ("passes", "pass", [k for k, one in asked if not one.written and one.threshold]),
        ("measured", "measured", [k for k, one in asked if not one.written and not one.threshold]),
    ]
    for one_does, several_do, of_kind in kinds:
        if of_kind:
            many = count(len(of_kind), words_of(of_kind).manifest)
            yield f"{many} {one_does if len(of_kind) == 1 else several_do}"
    if free:
        verb = "asks" if len(free) == 1 else "ask"
        many = count(len(free), words_of(free).manifest)
        yield f"{many} measured, which {verb} for no score"
