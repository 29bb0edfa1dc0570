"""Pairs of trials: which head's answers a judge is shown beside base's, and what came of it.

Both were made in this run, for the same repetition of the same fixture. The judge is asked once
both are there, where flipped outputs are judged again, and what it says is kept with head's trial,
beside the assessments that decide that. One whose candidate gave no answer loses to one that
answers. What cannot be measured is left out; where that is more than a fifth of the pairs, or all,
nothing is known, which is no pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import LOST_SHARE, Grouped
from gateval.domain.results.comparison import FixtureChange, PreferenceComparison
from gateval.domain.statistics.graded import ESCALATION
from gateval.domain.statistics.preference import HIGHEST_RATE, Preferences, preferences
from gateval.domain.statistics.walk import CLEAR
from gateval.domain.trials.trial import Assessment, Cause, Side, Trial


class RepetitionPair(NamedTuple):
    """Trials of one repetition of a fixture on both sides, None for one that was not made now.

    `at` is the position of the assertion that compares them.
    """

    planned: PlannedEval
    fixture: Fixture
    at: int
    base: Trial | None
    head: Trial | None

    @property
    def said(self) -> Assessment | None:
        """The assessment that is about the two, None where head's trial has none."""
        found = self.head.assessments if self.head else ()
        return next((one for one in found if one.index == self.at), None)

    @property
    def to_judge(self) -> bool:
        """Whether both answered, and nobody has been asked about them."""
        both = self.base is not None and self.head is not None
        answered = both and all(one and one.output is not None for one in (self.base, self.head))
        return answered and self.said is not None and self.said.preference is None

    @property
    def won(self) -> int | None:
        """1 where head's answer is preferred, -1 where base's is, 0 for a tie; None for unknown."""
        said = self.said
        if said is not None and said.preference is not None:
            return said.preference.won
        if self.base is None or self.head is None or None in (self.base.passed, self.head.passed):
            return None
        if self.base.answered and self.head.answered:
            return None
        return int(self.head.answered) - int(self.base.answered)


def pairs_of(planned: PlannedEval, trials: Grouped) -> Iterator[RepetitionPair]:
    """Yield the pairs of an Eval's compared fixtures that ask for a preference, by repetition."""
    owners, stored, asking = planned.owners(), planned.stored_counts(), planned.preferring
    for fixture in planned.fixtures:
        at, name = fixture.preference, fixture.name
        if at is None or name not in asking:
            continue
        head, base = (
            {one.key.repetition: one for one in trials.get((owners[name], name, side), ())}
            for side in (Side.HEAD, Side.BASE)
        )
        for number in range(1, planned.execution.reps_per_fixture + 1):
            made = base.get(number) if number > stored.get(name, 0) else None
            yield RepetitionPair(planned, fixture, at, made, head.get(number))


def compare_preferences(planned: PlannedEval, trials: Grouped) -> PreferenceComparison | None:
    """Return what is preferred in an Eval; None where no fixture of it asks for that."""
    if not planned.preferring:
        return None
    pairs = list(pairs_of(planned, trials))
    known = [pair for pair in pairs if pair.won is not None]
    by_fixture: dict[str, list[int]] = {}
    for pair in known:
        by_fixture.setdefault(pair.fixture.name, []).append(pair.won or 0)
    shown = (pair.said.preference for pair in known if pair.said and pair.said.preference)
    said = preferences(
        list(by_fixture.values()), planned.preference_share, [one.place for one in shown]
    )
    lost = [pair for pair in pairs if pair.won is None]
    enough = bool(known) and len(lost) <= LOST_SHARE * len(pairs)
    cause, why = _why_lost(planned, lost)
    return PreferenceComparison(
        change=_change(said) if enough else FixtureChange.INCONCLUSIVE,
        said=said,
        planned=len(pairs),
        why=why,
        cause=cause,
    )


def _change(said: Preferences) -> FixtureChange:
    if said.worse:
        return FixtureChange.REGRESSED
    if said.rate <= HIGHEST_RATE and said.p_value <= ESCALATION:
        clear = said.p_value <= CLEAR
        return FixtureChange.SUSPECT if clear else FixtureChange.NOT_CONFIRMED
    return FixtureChange.UNCHANGED


def _why_lost(planned: PlannedEval, lost: Iterable[RepetitionPair]) -> tuple[Cause | None, str]:
    """Return whose fault it is that the first of these pairs says nothing, and why."""
    pair = next(iter(lost), None)
    if pair is None:
        return None, ""
    if planned.stored_counts().get(pair.fixture.name):
        return Cause.GATE, "base's answers are stored and not made now"
    if pair.base is None or pair.head is None:
        return Cause.GATE, f"{'base' if pair.base is None else 'head'} was not asked"
    unmeasured = next((one for one in (pair.head, pair.base) if one.passed is None), None)
    if unmeasured is not None and unmeasured.output is None:
        return unmeasured.cause, unmeasured.reason
    said = pair.said
    return (said.cause, said.reason) if said is not None else (Cause.GATE, "it was not assessed")
