"""What is wrong, each thing at the line where it can be mended: annotations and SARIF show it.

Texts are as they came; the sink sanitises them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.decision.report import Report
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.plan.bar import Lowered
from gateval.domain.repository.place import Place
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.scoring import Meets
from gateval.domain.trials.trial import Assessment
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode
from gateval.render.report.bar import binding_edits
from gateval.render.report.facts import FixtureFacts, FixtureStatus, gather, with_status
from gateval.render.report.sealed import SealedLine, sealed_lines, whom_to_ask
from gateval.render.report.words.wording import eval_verdict, passes, score

_SHOWN = (
    FixtureStatus.REGRESSED,
    FixtureStatus.SILENT,
    FixtureStatus.FAILING,
    FixtureStatus.SUSPECT,
    FixtureStatus.UNMEASURED,
)

BELOW, EDIT, ELSE = "below-threshold", "lowered-bar", "no-pass"

RULES = {
    "regressed": "A fixture passes less often than on the base",
    "does-not-answer": "Head does not answer where the base does",
    "failing": "A fixture fails",
    "looks-worse": "A fixture looks worse; it is not confirmed",
    "not-measured": "A fixture was not measured",
    BELOW: "An Eval is below its threshold",
    EDIT: "The change asks less than its target branch",
    ELSE: "Something else keeps the gate from passing",
}
"""What a finding can be about, in a few words, by the name of its rule."""


class Finding(NamedTuple):
    """One thing that is wrong. `blocks` tells what is sure from what only warns.

    `eval` and `fixture` say what it is about, as far as it is; `key` is the same for the same thing
    in another run, wherever its line has moved.
    """

    rule: str
    place: Place
    blocks: bool
    title: str
    message: str
    key: str
    eval: str = ""
    fixture: str = ""


def findings(report: Report) -> tuple[Finding, ...]:
    """Return what can be told on a line of head, worst first."""
    facts = gather(report)
    found = [
        finding
        for which in _SHOWN
        for fact in with_status(facts, which)
        for finding in _of_fixture(report, fact)
    ]
    below = [one for one in report.comparison.evals if one.head.meets is Meets.NO]
    found += [_of_eval(report, one) for one in below]
    found += [_of_sealed(report, one) for one in sealed_lines(report) if one.counts]
    found += [_of_edit(report, lowered) for lowered in binding_edits(report)]
    return tuple(found)


def other_findings(report: Report) -> tuple[Finding, ...]:
    """Return the reasons against a pass that `findings` does not tell, at the nearest place."""
    found = findings(report)
    told = {(one.eval, one.fixture) for one in found if one.eval}
    edited = any(one.rule == EDIT for one in found)
    return tuple(
        Finding(
            ELSE,
            _nearest(report, reason),
            reason.verdict is GateVerdict.FAIL,
            reason.text,
            "",
            digest([reason.code, reason.eval, reason.fixture or reason.text]),
        )
        for reason in report.decision.reasons
        if reason.verdict is not GateVerdict.PASS
        and (reason.eval, reason.fixture) not in told
        and not (edited and reason.code is ReasonCode.LOWERED_BAR)
    )


def _of_fixture(report: Report, fact: FixtureFacts) -> Iterator[Finding]:
    rule, blocks = fact.status.replace(" ", "-"), _blocks(report, fact)
    name, eval_name = fact.fixture.name, fact.planned.name
    about = f"{eval_name}, severity {fact.compared.head.severity}: {passes(fact.compared)}"
    for broken in fact.broken:
        title = f"{name}: {fact.label(broken)} {fact.ended(broken)}"
        key = digest([rule, fact.planned.own_name, name, _asserted(fact, broken)])
        text = f"{broken.reason}\n{about}"
        yield Finding(rule, fact.place_of(broken), blocks, title, text, key, eval_name, name)
    if not fact.broken:
        reason = fact.why or "No planned repetition ran."
        title, text = f"{name}: {fact.status}", f"{reason}\n{about}"
        key = digest([rule, fact.planned.own_name, name])
        yield Finding(rule, fact.fixture.place, blocks, title, text, key, eval_name, name)


def _asserted(fact: FixtureFacts, assessment: Assessment) -> str:
    """Return what an assertion asks, whatever its line; its type where the fixture has it not."""
    written = fact.fixture.assertions
    if assessment.index >= len(written):
        return assessment.type
    asked = written[assessment.index]
    added = ("turn", "name", "required", "unsupported")
    later = {key for key in added if not getattr(asked, key)}
    apart = {"place", "parts", "own", "script", *later}
    own = asked.model_dump(mode="json", exclude=apart)
    return digest(own | ({"parts": asked.meaning["parts"]} if asked.parts else {}))


def _blocks(report: Report, fact: FixtureFacts) -> bool:
    """Failures block; what is uncertain or was not measured warns."""
    verdict, _ = eval_verdict(report.decision, fact.planned.name)
    sure = fact.status in {FixtureStatus.REGRESSED, FixtureStatus.SILENT, FixtureStatus.FAILING}
    return sure and verdict is GateVerdict.FAIL


def _of_eval(report: Report, compared: EvalComparison) -> Finding:
    planned = report.results.plan.eval(compared.eval)
    title = f"{compared.eval} is below its threshold"
    text = f"Score {score(compared.head)}, threshold {compared.head.asks}."
    verdict, _ = eval_verdict(report.decision, compared.eval)
    blocks, key = verdict is GateVerdict.FAIL, digest([BELOW, compared.eval])
    return Finding(BELOW, planned.place, blocks, title, text, key, compared.eval)


def _of_sealed(report: Report, one: SealedLine) -> Finding:
    name, fails = one.planned.name, one.verdict is GateVerdict.FAIL
    title = f"{one.planned.shown_name} is sealed: {one.words}"
    key, text = digest([ELSE, name]), whom_to_ask(report.results.plan)
    return Finding(ELSE, one.planned.place, fails, title, text, key, name)


def _of_edit(report: Report, lowered: Lowered) -> Finding:
    """Mark an edit that asks less, on its line, or where head removed what stood there."""
    accepted = report.results.plan.bar_accepted
    what = (
        f"Accepted by {accepted}."
        if accepted
        else "It blocks until it is taken back, met or accepted."
    )
    title, key = f"Asks less: {lowered.what}", digest([EDIT, lowered.place.file, lowered.edit])
    return Finding(EDIT, lowered.place, not accepted, title, f"{lowered.edit}.\n{what}", key)


def _nearest(report: Report, reason: DecisionReason) -> Place:
    """Return the fixture's place, the Eval's, or that of the file which the reason is about."""
    plan = report.results.plan
    if reason.eval:
        planned = plan.eval(reason.eval)
        return planned.fixture(reason.fixture).place if reason.fixture else planned.place
    places = {str(doubt): doubt.problem.place for doubt in plan.doubts}
    named = (
        path
        for path in (*plan.unclaimed, *plan.locked, *(one.path for one in plan.lacking))
        if reason.text.startswith((f"{path} ", f"{path}, "))
    )
    return places.get(reason.text) or Place(file=next(named, GATE_CONFIG_PATH))
