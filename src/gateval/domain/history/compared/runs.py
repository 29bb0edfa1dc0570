"""Two revisions or runs held against each other, from what was stored; nothing is measured.

Of a revision one run counts, Eval by Eval: the newest that measured it in full. Trials of several
runs are never added up, since what made somebody run again is in the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

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


class ComparedRun(Value):
    """The run that stands for one of the two: it measured it as head, or `as_base`.

    `low` and `high` are the Eval's score as an interval in [0, 1], None where nothing was measured.
    `newer` are later runs of the revision that are less complete and left out. It names `listed` of
    its `total` fixtures first ones first, and `beyond` them those that did not pass; `others` says
    whether the rest is known to have passed.
    """

    run: str
    at: str
    revision: str
    as_base: bool = False
    complete: bool = True
    low: float | None = None
    high: float | None = None
    newer: tuple[str, ...] = ()
    listed: int
    beyond: int = 0
    total: int
    others: Literal["", "passed", "unknown"] = ""


class ComparedEval(Value):
    """One Eval on both; `otherwise` says what else differs, empty if nothing does.

    `of` are the runs that stand for the two, None where there is none. `scores` hold one against
    the other where trials have scores. A score is None where nothing was measured; `lacking` says
    which of the two has no run of it at all.
    """

    eval: str
    before: float | None = None
    after: float | None = None
    lacking: Literal["", "before", "after"] = ""
    otherwise: str = ""
    fixtures: tuple[ComparedFixture, ...] = ()
    scores: ComparedScores | None = None
    of: tuple[ComparedRun | None, ComparedRun | None] = (None, None)

    @property
    def delta(self) -> float | None:
        """The second score minus the first."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


class Measured(NamedTuple):
    """A record and whether it is of what a run measured as base."""

    record: RunRecord
    as_base: bool = False


class _Taken(NamedTuple):
    eval: RunEval
    said: ComparedRun


def measured_on(commit: str, records: Iterable[RunRecord]) -> Iterator[Measured]:
    """Yield what runs measured on a commit, as head or as base, in the order of `records`."""
    for record in records:
        if record.commit == commit:
            yield Measured(record)
        elif record.base == commit and (base := record.of_base).evals:
            yield Measured(base, as_base=True)


def compare_runs(before: Sequence[Measured], after: Sequence[Measured]) -> tuple[ComparedEval, ...]:
    """Compare what two sets of runs say, each of one revision, the newest first."""
    names = {one.eval for of in (*before, *after) for one in of.record.evals}
    return tuple(_compare(name, _take(name, before), _take(name, after)) for name in sorted(names))


def _take(name: str, runs: Sequence[Measured]) -> _Taken | None:
    """Return the newest run that measured an Eval in full, else the newest; None without any."""
    found = [(of, run) for of in runs if (run := of.record.eval(name)) is not None]
    if not found:
        return None
    index = next((at for at, (_, run) in enumerate(found) if run.complete), 0)
    (record, as_base), run = found[index]
    return _Taken(
        run,
        ComparedRun(
            run=record.id,
            at=record.at,
            revision=record.commit,
            as_base=as_base,
            complete=run.complete,
            low=run.low,
            high=run.high,
            newer=tuple(of.record.id for of, _ in found[:index]),
            listed=len(run.fixtures),
            beyond=len(run.beyond),
            total=run.total,
            others=("passed" if run.unnamed_passed else "unknown") if run.cut else "",
        ),
    )


def _compare(name: str, before: _Taken | None, after: _Taken | None) -> ComparedEval:
    old, new = before and before.eval, after and after.eval
    scored = old and new and has_scores(old) and has_scores(new)
    return ComparedEval(
        eval=name,
        before=old.low if old and old.complete else None,
        after=new.low if new and new.complete else None,
        lacking="" if old and new else "after" if old else "before",
        otherwise=_otherwise(old, new) if old and new else "",
        fixtures=tuple(_fixtures(old, new)),
        scores=compare_scores(old, new) if old and new and scored else None,
        of=(before and before.said, after and after.said),
    )


def _fixtures(before: RunEval | None, after: RunEval | None) -> Iterator[ComparedFixture]:
    old, new = _named(before), _named(after)
    alike = before is not None and after is not None and before.total == after.total
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if before and after and one is None and other and before.cut:
            yield _half(other, before, "first", alike=alike)
        elif before and after and other is None and one and after.cut:
            yield _half(one, after, "second", alike=alike)
        else:
            yield _fixture(name, one, other)


def _half(
    known: RunFixture, cut: RunEval, where: Literal["first", "second"], *, alike: bool
) -> ComparedFixture:
    """Return a fixture that one of the runs does not name, as it names a part of them only.

    It passed there, if all that is not named did and both have equally many fixtures.
    """
    if cut.unnamed_passed and alike:
        reps = max((len(one.trials) for one in cut.named), default=1)
        passed = known.model_copy(update={"trials": "p" * reps})
        both = (passed, known) if where == "first" else (known, passed)
        return _fixture(known.fixture, *both)
    shown = _shown(known)
    return ComparedFixture(
        fixture=known.fixture,
        before=shown if where == "second" else "",
        after=shown if where == "first" else "",
        differs=True,
        said=f"not listed in the {where}",
    )


def _named(run: RunEval | None) -> Mapping[str, RunFixture]:
    return {one.fixture: one for one in run.named} if run else {}


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
    """Return passes of measured trials; empty where none was measured."""
    return f"{one.passes}/{one.measured}" if one and one.measured else ""


def _otherwise(before: RunEval, after: RunEval) -> str:
    if before.closure != after.closure:
        return ""
    if before.setting != after.setting:
        return "The Agent is the same; judge, models or Gateval differ."
    return "The Agent is the same in both."
