"""What every view says of sealed Evals: a line each, and whom to ask about the rest."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.decision.report import Report
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealed_eval import SealedEval
from gateval.domain.results.sealed_verdict import STEPS, SealedVerdict
from gateval.domain.verdicts import GateVerdict
from gateval.render.report.words.counts import count, listing
from gateval.render.report.words.kinds import words_of

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
        _line(planned, told, results.plan.bar_accepted)
        for planned, told in zip(results.plan.sealed, results.sealed, strict=True)
    )


def _line(planned: SealedEval, told: SealedVerdict, accepted: str) -> SealedLine:
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
