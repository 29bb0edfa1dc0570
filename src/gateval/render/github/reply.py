"""Answers to commands in comments. Everything in them is inert, as in every other comment.

They carry no marker: they are not the gate's report, and no later run writes over them.
"""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.history.record import LISTED, HistoryRecord
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.text.figures import show_score, show_threshold
from gateval.render.report.environment import fill
from gateval.safe.sanitize import link

_ASKS = 10


class Explanation(NamedTuple):
    """What is known of one fixture at a head.

    `fixture` is None if head has none of this name that can be read; `instead` then names the
    nearest. `evals` are those of head that have it. `record` is the confirmed verdict, None for the
    reason in `why_not`. `log` leads to the check run.
    """

    name: str
    head: str
    fixture: Fixture | None
    instead: str
    evals: tuple[str, ...]
    record: HistoryRecord | None
    why_not: str
    log: str


def explanation(told: Explanation) -> str:
    """Return the answer as GitHub-flavoured markdown."""
    record = told.record
    reasons = [one for one in record.reasons if one.fixture == told.name] if record else []
    evals = {one.eval for one in reasons}
    listed = [one.eval for one in record.evals] if record else []
    whole = record is not None and record.evals_total <= len(listed)
    return fill(
        "github/explained.md.j2",
        told=told,
        asks=[
            (one.type, f"{one.place.file}:{one.place.line}")
            for one in (told.fixture.assertions[:_ASKS] if told.fixture else ())
        ],
        more=max(0, len(told.fixture.assertions) - _ASKS) if told.fixture else 0,
        reasons=reasons,
        unrun=whole and not reasons and not set(told.evals) & set(listed),
        evals=", ".join(told.evals),
        unlisted=bool(record and record.reasons_total > LISTED),
        scores=[
            (
                one.eval,
                show_score(one.score, one.threshold),
                show_threshold(one.threshold),
            )
            for one in (record.evals if record else ())
            if one.eval in evals
        ],
        log=link("What the run reported", told.log),
    )


def refusal(why: str, again: str = "") -> str:
    """Return the answer to a command that is not carried out; `again` is one to copy."""
    return fill("github/refused.md.j2", why=why, again=again)
