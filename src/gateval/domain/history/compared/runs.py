"""Two revisions or runs held against each other, from what was stored; nothing is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gateval.domain.base import Value
from gateval.domain.history.compared.scores import ComparedScores, compare_scores, has_scores
from gateval.domain.history.runs.record import RunEval, RunFixture, RunRecord
from gateval.domain.statistics.fisher import fisher


class ComparedFixture(Value):
    """One fixture: passes of measured trials on both, and how likely that is by chance alone.

    `p_value` is that of Fisher's one-sided exact test that the second is worse; None where one of
    them has no trials, or the fixture asks something else.
    """

    fixture: str
    before: str = ""
    after: str = ""
    p_value: float | None = None
    worse: bool = False
    differs: bool = False
    said: str = ""


class ComparedEval(Value):
    """One Eval on both; `otherwise` says what else differs, empty if nothing does.

    `scores` hold the newest run of each against the other where trials have scores. A score is
    None where nothing was measured; `lacking` says which of the two has no run of it at all.
    """

    eval: str
    before: float | None = None
    after: float | None = None
    lacking: Literal["", "before", "after"] = ""
    otherwise: str = ""
    fixtures: tuple[ComparedFixture, ...] = ()
    scores: ComparedScores | None = None

    @property
    def delta(self) -> float | None:
        """The second score minus the first."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


def compare_runs(
    before: Sequence[RunRecord], after: Sequence[RunRecord]
) -> tuple[ComparedEval, ...]:
    """Compare what two sets of runs say, each of one revision, the newest first.

    Trials of several runs of one revision count together, as far as they measured the same.
    """
    names = list(dict.fromkeys(e.eval for r in (*before, *after) for e in r.evals))
    return tuple(_compare(name, _of(name, before), _of(name, after)) for name in sorted(names))


def _of(name: str, records: Sequence[RunRecord]) -> list[RunEval]:
    found = [run for record in records if (run := record.eval(name)) is not None]
    return [run for run in found if run.setting == found[0].setting]


def _compare(name: str, before: list[RunEval], after: list[RunEval]) -> ComparedEval:
    old, new = _pooled(before), _pooled(after)
    fixtures = tuple(
        _fixture(one, old.get(one), new.get(one)) for one in sorted(old.keys() | new.keys())
    )
    return ComparedEval(
        eval=name,
        before=before[0].low if before else None,
        after=after[0].low if after else None,
        lacking="" if before and after else "after" if before else "before",
        otherwise=_otherwise(before, after),
        fixtures=fixtures,
        scores=compare_scores(before[0], after[0]) if _have_scores(before, after) else None,
    )


def _have_scores(before: Sequence[RunEval], after: Sequence[RunEval]) -> bool:
    return all(runs and has_scores(runs[0]) for runs in (before, after))


def _pooled(runs: Sequence[RunEval]) -> dict[str, RunFixture]:
    found: dict[str, RunFixture] = {}
    for run in runs:
        for one in run.fixtures:
            known = found.get(one.fixture)
            if known is None:
                found[one.fixture] = one
            elif known.digest == one.digest and len(known.trials) + len(one.trials) <= 1000:
                trials = known.trials + one.trials
                found[one.fixture] = known.model_copy(update={"trials": trials})
    return found


def _fixture(name: str, old: RunFixture | None, new: RunFixture | None) -> ComparedFixture:
    if old is None or new is None:
        said = "only in the second" if old is None else "only in the first"
        return ComparedFixture(
            fixture=name, before=_shown(old), after=_shown(new), differs=True, said=said
        )
    same = old.digest == new.digest
    p_value = None
    if same and old.measured and new.measured:
        p_value = fisher(old.passes, old.measured, new.passes, new.measured)
    rates = [one.passes / one.measured if one.measured else None for one in (old, new)]
    worse = None not in rates and (rates[1] or 0) < (rates[0] or 0)
    return ComparedFixture(
        fixture=name,
        before=_shown(old),
        after=_shown(new),
        p_value=p_value,
        worse=worse and same,
        differs=rates[0] != rates[1] or not same,
        said="" if same else "the fixture was edited",
    )


def _shown(one: RunFixture | None) -> str:
    return "" if one is None else f"{one.passes}/{one.measured}"


def _otherwise(before: Sequence[RunEval], after: Sequence[RunEval]) -> str:
    if not before or not after:
        return ""
    if before[0].closure != after[0].closure:
        return ""
    if before[0].setting != after[0].setting:
        return "The Agent is the same; judge, models or Gateval differ."
    return "The Agent is the same in both."
