"""The gate's labels, how one was put on, and what the gate says about it: plain values."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from gateval.domain.base import Count, Value
from gateval.domain.text import LongText, ShortText


class GateLabel(StrEnum):
    """The labels that the gate obeys."""

    BYPASS = "force-eval-bypass"
    ACCEPT_BAR = "accept-bar-change"

    @classmethod
    def named(cls, name: str) -> GateLabel | None:
        """Return the label of this name, None if it is none of the gate's.

        As GitHub compares names: `Force-Eval-Bypass` is the same label. Other letters that only
        look alike make another one.
        """
        same = name.lower() if name.isascii() else ""
        return next((label for label in cls if label == same), None)

    @classmethod
    def among(cls, names: Iterable[str]) -> frozenset[GateLabel]:
        """Return the gate's labels among the names of labels."""
        return frozenset(filter(None, map(cls.named, names)))


class AuditPerson(Value):
    """Who: the forge's login and number, and the role in the repository, as the forge has them."""

    login: ShortText
    id: int | None = None
    role: ShortText = ""


class LabelUse(Value):
    """A label as somebody put it on. `event` is the forge's id of that; `applied_at` its time.

    `own` marks the pull request's author, who then let through their own change.
    """

    name: ShortText
    by: AuditPerson
    applied_at: ShortText = ""
    event: ShortText = ""
    own: bool = False


class LabelStatus(StrEnum):
    """The fate of a label: it counts, it does not, or a push has ended it."""

    GRANTED = "granted"
    DENIED = "denied"
    ENDED = "ended"


class LabelDecision(Value):
    """The gate's ruling on a label that is on the pull request.

    `why` is a sentence, empty when granted. `reason` is what the person said. `entry` and `hash`
    name the entry of the audit log, once it is written (0 and empty before). `head` is the commit
    of `pull_request` that the label is about.
    """

    label: GateLabel
    status: LabelStatus
    use: LabelUse
    reason: LongText = ""
    why: LongText = ""
    entry: Count = 0
    hash: str = ""
    pull_request: Count = 0
    head: str = ""

    @property
    def granted(self) -> bool:
        """Whether the label counts."""
        return self.status is LabelStatus.GRANTED


class LabelDecisions(Value):
    """The rulings on all of the gate's labels on a pull request, or on those of a merge group."""

    found: tuple[LabelDecision, ...] = ()

    @property
    def bypass(self) -> LabelDecision | None:
        """The bypass if it counts: each one that is there has to."""
        return self._counting(GateLabel.BYPASS)

    @property
    def bar(self) -> LabelDecision | None:
        """The acceptance of a lowered bar, if it counts."""
        return self._counting(GateLabel.ACCEPT_BAR)

    def _counting(self, label: GateLabel) -> LabelDecision | None:
        mine = [label_decision for label_decision in self.found if label_decision.label is label]
        return mine[-1] if mine and all(label_decision.granted for label_decision in mine) else None


NO_LABEL_DECISIONS = LabelDecisions()
