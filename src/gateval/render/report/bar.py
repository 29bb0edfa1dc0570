"""Lowered demands, labels and sealed Evals of a report, in sentences (not sanitised)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.decision.decision import Decision, Report
from gateval.domain.history.standing import UNREADABLE
from gateval.domain.label_decision import GateLabel, LabelDecision, LabelStatus
from gateval.domain.plan.plan import Plan, SealedEval
from gateval.domain.plan.planned_eval import Lowered, PlannedEval
from gateval.domain.planning.change import why_locked
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.results import STEPS, SealedVerdict
from gateval.domain.results.scoring import EVERY_CASE, Meets
from gateval.domain.text import listing, show_score
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.wording import count, words_of

_MEETS = {
    Meets.YES: "which head meets",
    Meets.NO: "which head does not meet",
    Meets.UNKNOWN: "which could not be measured",
}

_EDITED = "Meet it, or take these edits back. If they are meant, "
_UNEDITED = "The change takes nothing of it away: meet it without what the change adds. Otherwise, "
_UNREAD = (
    "It may ask more than was measured. Mend it on the target branch and update this branch. "
    "Otherwise, "
)
_BROKEN = (
    "The change touches this suite, its target or the Agent that it measures: mend it, or "
    "remove it."
)


def how_to_accept(roles: Sequence[str]) -> str:
    """Return who can accept a lower bar, and how; `roles` are empty where no label counts."""
    if roles:
        return (
            f"a person with the role {' or '.join(roles)} accepts it with the label "
            f"`{GateLabel.ACCEPT_BAR}`. It is recorded, and a push ends it."
        )
    return (
        f"it has to be accepted: on a pull request with the label `{GateLabel.ACCEPT_BAR}`, "
        "locally with `--accept-bar-change`."
    )


def shown_evals(report: Report) -> Sequence[EvalComparison]:
    """Return every Eval worth a line: not the target branch's version of one that nobody lowered,
    that ran nothing of its own, and that is met.
    """
    plan = report.results.plan
    pairs = zip(plan.evals, report.comparison.evals, strict=True)
    return [
        compared
        for planned, compared in pairs
        if planned.bar is None
        or planned.bar.lowered
        or planned.own_fixtures
        or _binds(report, planned)
    ]


def lowered_bar(report: Report, may_accept: Sequence[str] = ()) -> Sequence[str]:
    """Return the lines on every Eval of the target branch that keeps head from passing.

    `may_accept` are the roles whose label accepts that; empty where no label counts.
    """
    plan, accept = report.results.plan, how_to_accept(may_accept)
    lines = [f"{lost}." for lost in plan.lost]
    found = _found_before(plan)
    rules = [one for one in (plan.rules_unread, found, why_locked(plan.locked)) if one]
    unread = [f"Cannot be read: {doubt}" for doubt in plan.doubts if doubt.where != "head"]
    broken = [f"Cannot be read: {doubt}" for doubt in plan.doubts if doubt.where == "head"]
    broken += [_BROKEN] if broken else []
    binding = [(planned, one) for planned, one in _bars(report) if _binds(report, planned)]
    for planned, compared in binding:
        lines += _lines(planned, compared)
    shut = [one for one, told in _sealed_bars(report) if told.verdict is not GateVerdict.PASS]
    for one in shut:
        lines += [
            f"Head does not meet {one.shown_name}, which is sealed.",
            *map(_item, one.lowered),
        ]
    if unread and not plan.bar_accepted:
        unread.append(f"{_UNREAD}{accept}")
    if (lines or unread) and plan.bar_accepted:
        unread.append(f"Accepted by {plan.bar_accepted}: this does not block.")
    elif lines:
        edits = plan.lost or any(planned.bar and planned.bar.lowered for planned, _ in binding)
        edits = edits or any(one.lowered for one in shut)
        lines.append(f"{_EDITED if edits else _UNEDITED}{accept}")
    return [*rules, *broken, *lines, *unread, *map(str, plan.lacking), *_unclaimed(plan)]


def _found_before(plan: Plan) -> str:
    if not plan.findings_lost:
        return ""
    if plan.findings_lost == UNREADABLE:
        todo = "Run it again when they can be."
    else:
        todo = (
            "Running it again on this commit does not help: push the change that mends it, or have "
            "somebody who may let this one through."
        )
    return f"{plan.findings_lost[:1].upper()}{plan.findings_lost[1:]}. {todo}"


def _unclaimed(plan: Plan) -> list[str]:
    if not plan.unclaimed:
        return []
    said = (
        f"{listing(plan.unclaimed, 10)}: changed, and of no Agent that an Eval measures. The "
        "target branch wants these files to belong to one (`policy.mustBelong`): add them to "
        "spec.include of the Agent that uses them."
    )
    return [said]


def binding_edits(report: Report) -> Sequence[Lowered]:
    """Return the change's own edits that ask less and keep head from passing, each once."""
    of_evals = [
        lowered
        for planned, _ in _bars(report)
        if planned.bar and _binds(report, planned)
        for lowered in planned.bar.lowered
        if not lowered.moved
    ]
    of_evals += [
        lowered
        for one, told in _sealed_bars(report)
        if told.verdict is not GateVerdict.PASS
        for lowered in one.lowered
        if not lowered.moved
    ]
    return tuple(dict.fromkeys((*report.results.plan.lost, *of_evals)))


def met_edits(report: Report) -> Sequence[Lowered]:
    """Return the change's own edits that ask less of what head meets all the same, each once."""
    return tuple(
        dict.fromkeys(
            lowered
            for planned, compared in _bars(report)
            if planned.bar and not _binds(report, planned) and compared.head.meets is Meets.YES
            for lowered in planned.bar.lowered
            if not lowered.moved
        )
    )


def met_bar(report: Report) -> Sequence[str]:
    """Return the lines on what head asks less, but meets on the target branch's terms as well."""
    met = [
        line
        for planned, compared in _bars(report)
        if planned.bar and planned.bar.lowered and not _binds(report, planned)
        for line in _lines(planned, compared)
    ]
    for one, told in _sealed_bars(report):
        if one.lowered and told.verdict is GateVerdict.PASS:
            met += [f"Head meets {one.shown_name}, which is sealed.", *map(_item, one.lowered)]
    return met


def _sealed_bars(report: Report) -> Sequence[tuple[SealedEval, SealedVerdict]]:
    results = report.results
    return [pair for pair in zip(results.plan.sealed, results.sealed, strict=True) if pair[0].bar]


def _bars(report: Report) -> Sequence[tuple[PlannedEval, EvalComparison]]:
    pairs = zip(report.results.plan.evals, report.comparison.evals, strict=True)
    return [(planned, compared) for planned, compared in pairs if planned.bar is not None]


def _binds(report: Report, planned: PlannedEval) -> bool:
    """Whether this Eval speaks against a pass, or would, were it not accepted."""
    accepted = bool(report.results.plan.bar_accepted)
    return any(
        accepted or reason.verdict is not GateVerdict.PASS
        for reason in report.decision.reasons
        if reason.eval == planned.name
    )


def _lines(planned: PlannedEval, compared: EvalComparison) -> list[str]:
    bar = planned.bar
    if bar is None:
        return []
    score = show_score(compared.head.score, compared.head.threshold)
    asked = f"that {EVERY_CASE}" if compared.head.asks == EVERY_CASE else compared.head.asks
    asked = "that nothing regresses" if compared.head.threshold is None else asked
    said = compared.head.meets if compared.head.ends else Meets.UNKNOWN
    first = f"The target branch asks {asked} in its version of {bar.eval}, {_MEETS[said]}: {score}."
    return [first, *map(_item, bar.lowered)]


def _item(lowered: Lowered) -> str:
    since = " (new on the target branch since this branch was made)" if lowered.moved else ""
    return f"{lowered}{since}"


_COUNTS = {
    GateLabel.BYPASS: "Bypassed by",
    GateLabel.ACCEPT_BAR: "The lower bar is accepted by",
}


class LabelLine(NamedTuple):
    """The fate of a label, and the audit log's entry about it: 0 and empty for none."""

    text: str
    entry: int
    hash: str

    def __str__(self) -> str:
        log = f" Audit log: entry {self.entry}, hash {self.hash}." if self.hash else ""
        return f"{self.text}{log}"


def label_lines(decision: Decision) -> Sequence[LabelLine]:
    """Return a sentence or two about each label that was looked at."""
    return [
        LabelLine(_line(one, carried=one.head != decision.head), one.entry, one.hash)
        for one in decision.labels
    ]


def bypass_title(decision: Decision) -> str:
    """Return `BYPASSED by @ada: 3 failures`; empty when nothing was bypassed."""
    decided = decision.bypass
    if decided is None:
        return ""
    own = " (self-bypass)" if decided.use.own else ""
    blocking = sum(reason.verdict is decision.evals for reason in decision.reasons)
    failed = decision.evals is GateVerdict.FAIL
    what = count(blocking, "failure") if failed else f"{decision.evals}, {blocking} not measured"
    return f"BYPASSED by @{decided.use.by.login}{own}: {what}"


def _line(decided: LabelDecision, *, carried: bool) -> str:
    use = decided.use
    who = f"{use.by.login} ({use.by.role})" if use.by.role else use.by.login or "somebody"
    about = f"pull request {decided.pull_request}" if carried else "this revision"
    if decided.granted:
        own = ", author of the pull request (self-bypass)" if use.own else ""
        when = f" put on at {use.applied_at}" if use.applied_at else ""
        what = f"{_COUNTS[decided.label]} {who}{own}, for {about}: label {decided.label}{when}."
        said = " No reason was given."
        if decided.reason:
            said = f" Reason: \N{LEFT DOUBLE QUOTATION MARK}{decided.reason}"
            said += "\N{RIGHT DOUBLE QUOTATION MARK}" + "." * (decided.reason[-1] not in ".!?")
    else:
        ended = decided.status is LabelStatus.ENDED
        verb = "no longer counts" if ended else "does not count"
        what = f"The label {decided.label} that {who} put on {verb} for {about}. {decided.why}"
        said = ""
    return f"{what}{said}"


_KEYS_SHOWN = 5


class SealedLine(NamedTuple):
    """A sealed Eval as published results have it; `verdict` is what it adds to the decision."""

    planned: SealedEval
    told: SealedVerdict
    verdict: GateVerdict
    words: str

    @property
    def rate(self) -> str:
        """The coarse share of trials that passed; a dash where it is not told."""
        return "\N{EN DASH}" if self.told.rate is None else f"{self.told.rate:.2f}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line of a table."""
        return self.planned.agent, self.planned.shown_name, self.rate, self.cases, self.words

    @property
    def counts(self) -> bool:
        """Whether it keeps the gate from passing."""
        return self.verdict is not GateVerdict.PASS

    @property
    def cases(self) -> str:
        """How many fixtures it has."""
        return count(len(self.planned.fixtures), words_of([self.planned.kind]).case)


def sealed_lines(report: Report) -> tuple[SealedLine, ...]:
    """Return the sealed Evals in the plan's order."""
    results = report.results
    return tuple(
        _sealed_line(planned, told, results.plan.bar_accepted)
        for planned, told in zip(results.plan.sealed, results.sealed, strict=True)
    )


def _sealed_line(planned: SealedEval, told: SealedVerdict, accepted: str) -> SealedLine:
    verdict = told.accepted if accepted else told.verdict
    words = verdict.value if verdict is told.verdict else f"{told.verdict}, accepted"
    return SealedLine(planned, told, verdict, words)


def rate_note() -> str:
    """Say what the rate of a sealed Eval is."""
    return f"The rate is in steps of {1 / STEPS:g}; no trial of these Evals stands anywhere here."


def whom_to_ask(plan: Plan) -> str:
    """Say who can tell more of what is sealed, and how."""
    keys = plan.policy.recipients
    if not keys:
        return "Nobody can tell more of this run: `policy.recipients` names nobody."
    return (
        "Why, and which, is told by who holds a key of `policy.recipients` in the target branch's "
        f"gate config ({listing(keys, _KEYS_SHOWN)}): `gateval show RESULTS` with "
        "GATEVAL_IDENTITY set, or `gateval unseal RESULTS`."
    )
