"""How several judges come to one verdict, and what is left of it without one of them.

A juror passes or fails the run by the same rules as a judge alone: what it takes off has to be
proven with a quote. One without a verdict that counts is never a vote for either side: the jury has
none, unless its provider was down and it can be left out on both sides of what is compared. What a
juror could not make of a run is no outage: a run that silences a strict juror would choose its
judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import fsum
from typing import NamedTuple

from gateval.domain.manifests.evaluation import TOLERANCE, JudgeSpec, JuryRule
from gateval.domain.text import show_figure
from gateval.domain.trials.trial import (
    Assessed,
    Assessment,
    AssessmentStatus,
    Cause,
    Juror,
    NotAssessed,
    Verdict,
)

VIOLATIONS = 10
"""Violations kept of all jurors together."""


class Vote(NamedTuple):
    """Whether a juror passes the run, and its score in [0, 1]. Votes are in order, worst first."""

    passed: bool
    score: float


def decided(rule: JuryRule, votes: Sequence[Vote]) -> Vote:
    """Return what a jury says by its rule. There is at least one vote."""
    ascending = sorted(votes)
    if rule is JuryRule.UNANIMOUS:
        return ascending[0]
    if rule is JuryRule.MEDIAN:
        return ascending[(len(ascending) - 1) // 2]
    passed = 2 * sum(one.passed for one in votes) > len(votes)
    side = [one.score for one in votes if one.passed is passed]
    return Vote(passed, fsum(side) / len(side))


def vote_of(spec: JudgeSpec, votes: Sequence[Vote]) -> Vote:
    """Return what a judge of several models says: where a stronger one was asked, its word."""
    return votes[-1] if spec.escalate is not None else decided(spec.rule, votes)


def in_doubt(spec: JudgeSpec, score: float | None) -> bool:
    """Whether the first judge's score wants the word of the stronger one."""
    if spec.escalate is None or score is None:
        return False
    low, high = spec.escalate.band
    return low <= score <= high


def is_split(spec: JudgeSpec, scores: Sequence[float]) -> bool:
    """Whether the jurors are so far apart that they are asked again."""
    return bool(spec.models and scores) and max(scores) - min(scores) > spec.split + TOLERANCE


def jury_assessment(
    kind: str, spec: JudgeSpec, jurors: Sequence[Juror], without: Collection[str] = ()
) -> Assessment:
    """Return what an assertion of the type `kind` comes to by these jurors, `without` some of them.

    A jury that was asked twice has each juror twice. Where one of them has no vote, no more than
    half of the jury is left, or those left out could turn it, nothing is decided; what the others
    said is kept all the same.
    """
    heard = [one for one in jurors if one.model not in without]
    asked = max(Counter(one.model for one in jurors).values())
    lost = next((one for one in heard if one.passed is None), None)
    if lost is None and 2 * len({one.model for one in heard}) <= len({one.model for one in jurors}):
        lost = next(one for one in jurors if one.model in without)
    why = f"{lost.model} gives no verdict that counts, so there is none: {lost.why}" if lost else ""
    if lost is None and without and _hangs_on(spec, jurors, without):
        lost = next(one for one in jurors if one.model in without)
        out = f"The provider of {lost.model} was out of reach in a run of this fixture"
        why = f"{out}, and its vote would decide, so there is no verdict."
    if lost is not None:
        return NotAssessed(
            type=kind,
            reason=why,
            cause=Cause.JUDGE if lost.cause is Cause.PROVIDER else lost.cause or Cause.JUDGE,
            verdict=_verdict(spec, jurors, heard),
            asked=asked,
        )
    verdict = _verdict(spec, jurors, heard)
    assert verdict is not None  # noqa: S101 - all of them have votes
    found = vote_of(spec, _votes(heard))
    said = ", ".join(f"{one.model} {show_figure(one.score or 0.0)}" for one in heard)
    split = "; split" if verdict.split else ""
    apart = f"; out of reach: {', '.join(sorted(without))}" if without else ""
    reason = f"{'Passes' if found.passed else 'Fails'} with {show_figure(found.score)}"
    return Assessed(
        type=kind,
        status=AssessmentStatus.PASSED if found.passed else AssessmentStatus.FAILED,
        score=found.score,
        reason=f"{reason} ({said}{split}{apart}): {verdict.summary.rstrip('.')}.",
        steps=tuple(sorted({one.evidence_step for one in verdict.violations if one.supported})),
        fatal=any(one.fatal for one in heard if not (one.passed or found.passed)),
        verdict=verdict,
        asked=asked,
    )


def _hangs_on(spec: JudgeSpec, jurors: Sequence[Juror], without: Collection[str]) -> bool:
    """Whether the jury with those left out would say another thing, whatever these may say."""
    votes = _votes(one for one in jurors if one.model not in without)
    known = [*votes, *_votes(one for one in jurors if one.model in without)]
    unknown = len(jurors) - len(known)
    said = {
        decided(spec.rule, [*known, *([any_vote] * unknown)]).passed
        for any_vote in (Vote(passed=False, score=0.0), Vote(passed=True, score=1.0))
    }
    return said != {decided(spec.rule, votes).passed}


def _votes(jurors: Iterable[Juror]) -> list[Vote]:
    return [
        Vote(one.passed, one.score)
        for one in jurors
        if one.passed is not None and one.score is not None
    ]


def _verdict(spec: JudgeSpec, jurors: Sequence[Juror], heard: Sequence[Juror]) -> Verdict | None:
    """Return the verdict of those `heard` who have a vote, None where nobody has.

    Its words are those of the side that it takes, the nearest to its score first.
    """
    votes = _votes(heard)
    if not votes:
        return None
    found = vote_of(spec, votes)
    side = [one for one in heard if one.verdict is not None and one.passed is found.passed]
    side.sort(key=lambda one: abs((one.score or 0.0) - found.score))
    said = [one.verdict for one in side if one.verdict is not None]
    proven = dict.fromkeys(v for one in said for v in one.violations if v.supported)
    first = list(dict.fromkeys(one.model for one in jurors))
    scores = [one.score for one in jurors[: len(first)] if one.score is not None]
    return Verdict(
        score=found.score,
        confidence=min(one.confidence for one in said),
        summary=said[0].summary,
        violations=tuple(proven)[:VIOLATIONS] or said[0].violations,
        what_would_raise_score=said[0].what_would_raise_score,
        model=spec.named,
        repaired=any(one.repaired for one in said),
        undetermined=any(one.verdict.undetermined for one in heard if one.verdict),
        jurors=tuple(jurors),
        split=is_split(spec, scores),
    )
