"""The fate of the gate's labels, in sentences (not sanitised)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.decision.decision import Decision
from gateval.domain.ruling import GateLabel, Ruling, RulingStatus
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.words.counts import count

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
    ruling = decision.bypass
    if ruling is None:
        return ""
    own = " (self-bypass)" if ruling.use.own else ""
    blocking = sum(reason.verdict is decision.evals for reason in decision.reasons)
    failed = decision.evals is GateVerdict.FAIL
    what = count(blocking, "failure") if failed else f"{decision.evals}, {blocking} not measured"
    return f"BYPASSED by @{ruling.use.by.login}{own}: {what}"


def _line(ruling: Ruling, *, carried: bool) -> str:
    use = ruling.use
    who = f"{use.by.login} ({use.by.role})" if use.by.role else use.by.login or "somebody"
    about = f"pull request {ruling.pull_request}" if carried else "this revision"
    if ruling.granted:
        own = ", author of the pull request (self-bypass)" if use.own else ""
        when = f" put on at {use.applied_at}" if use.applied_at else ""
        what = f"{_COUNTS[ruling.label]} {who}{own}, for {about}: label {ruling.label}{when}."
        said = f" Reason: {_quoted(ruling.reason)}." if ruling.reason else " No reason was given."
    else:
        ended = ruling.status is RulingStatus.ENDED
        verb = "no longer counts" if ended else "does not count"
        what = f"The label {ruling.label} that {who} put on {verb} for {about}. {ruling.why}"
        said = ""
    return f"{what}{said}"


def _quoted(reason: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{reason}\N{RIGHT DOUBLE QUOTATION MARK}"
