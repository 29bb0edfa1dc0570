"""Two runs of a benchmark or experiment by task, axis and criterion.

The tasks of both are pairs, and so are their scores on an axis: the p-value is that of the exact
paired permutation test that the second is worse. It is a description. Nothing blocks by it, and
many axes are many tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateval.domain.base import Value
from gateval.domain.history.runs.record import RunEval, RunFixture
from gateval.domain.history.runs.scores import RunScore
from gateval.domain.statistics.graded.paired import sign_flip


class ComparedScore(Value):
    """One task, axis or criterion on both: mean scores in [0, 1], None where there is none.

    `name` of a criterion is `TASK: LABEL`. `pairs` are the tasks that both have and that ask the
    same; `p_value` needs some. `said` tells why the two are not alike.
    """

    name: str
    before: float | None = None
    after: float | None = None
    pairs: int = 0
    p_value: float | None = None
    said: str = ""

    @property
    def delta(self) -> float | None:
        """The second minus the first."""
        if self.before is None or self.after is None:
            return None
        return round(self.after - self.before, 6)


class ComparedScores(Value):
    """The scores of two runs: tasks and axes all, criteria those that moved.

    `kind` is that of the manifest: an experiment's tasks are rows, its axes scorers.
    """

    kind: str = "Benchmark"
    version: tuple[str, str]
    verdict: tuple[str, str]
    whole: ComparedScore
    tasks: tuple[ComparedScore, ...]
    axes: tuple[ComparedScore, ...]
    criteria: tuple[ComparedScore, ...]


def compare_scores(before: RunEval, after: RunEval) -> ComparedScores:
    """Compare two runs of Evals with scores, task by task."""
    old, new = ({one.fixture: one for one in run.named} for run in (before, after))
    same = [
        (old[name], new[name])
        for name in sorted(old.keys() & new.keys())
        if old[name].digest == new[name].digest
    ]
    return ComparedScores(
        kind=after.kind,
        version=(before.version, after.version),
        verdict=(before.called, after.called),
        whole=_score("", before.low, after.low, [(a.score, b.score) for a, b in same]),
        tasks=tuple(
            _task(name, old.get(name), new.get(name), cut=(before.cut, after.cut))
            for name in sorted({**old, **new})
        ),
        axes=tuple(_axes(before, after, same)),
        criteria=tuple(_criteria(same)),
    )


def has_scores(run: RunEval) -> bool:
    """Whether trials of a run have scores, or would, had they been measured."""
    return run.kind != "Eval" or any(one.score is not None for one in run.named)


def _task(
    name: str, old: RunFixture | None, new: RunFixture | None, *, cut: tuple[bool, bool]
) -> ComparedScore:
    said = ""
    if (old is None and cut[0]) or (new is None and cut[1]):
        said = f"not listed in the {'first' if old is None else 'second'}"
    elif old is None or new is None:
        said = "only in the second" if old is None else "only in the first"
    elif old.digest != new.digest:
        said = "edited"
    return ComparedScore(
        name=name, before=old and old.score, after=new and new.score, pairs=not said, said=said
    )


def _axes(
    before: RunEval, after: RunEval, same: Sequence[tuple[RunFixture, RunFixture]]
) -> Iterable[ComparedScore]:
    old, new = _named(before.axes), _named(after.axes)
    for axis in {**old, **new}:
        pairs = [
            (_named(a.axes).get(axis), _named(b.axes).get(axis))
            for a, b in same
            if axis in _named(a.axes)
        ]
        yield _score(axis, old.get(axis), new.get(axis), pairs)


def _criteria(same: Sequence[tuple[RunFixture, RunFixture]]) -> Iterable[ComparedScore]:
    for old, new in same:
        for one, other in zip(old.criteria, new.criteria, strict=False):
            if one.score != other.score:
                name = f"{old.fixture}: {one.name}"
                yield ComparedScore(name=name, before=one.score, after=other.score, pairs=1)


def _score(
    name: str,
    before: float | None,
    after: float | None,
    pairs: Sequence[tuple[float | None, float | None]],
) -> ComparedScore:
    moved = [new - old for old, new in pairs if old is not None and new is not None]
    return ComparedScore(
        name=name,
        before=before,
        after=after,
        pairs=len(moved),
        p_value=sign_flip(moved) if moved else None,
    )


def _named(scores: Sequence[RunScore]) -> Mapping[str, float | None]:
    return {one.name: one.score for one in scores}
