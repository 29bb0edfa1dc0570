"""What one run measured, fixture by fixture: where status, history and baselines come from.

A line in git is written by whoever may push, so it is shown as what it says; what it may do beyond
that, `domain/history/baseline.py` decides.

A thousand runs of 200 fixtures take some 15 MB, which git packs to a tenth.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from gateval.domain.base import (
    Count,
    Digest,
    JsonObject,
    MaybeSha,
    Positive,
    Share,
    UtcTime,
    Value,
    Word,
    ascii_json,
)
from gateval.domain.calibration import StoredAgreement, StoredWatch
from gateval.domain.manifests.evaluation import ScoringModel
from gateval.domain.manifests.fixture import (
    DEFAULT_WEIGHTS,
    Fixture,
    named_axes,
    show_axis,
    weighed_axes,
)
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import ScorerAverage
from gateval.domain.results.comparison import AxisComparison, EvalComparison, FixtureStatus
from gateval.domain.results.trial_verdict import Use, axis_grades, by_criterion, grades, whole_mean
from gateval.domain.text import ShortText, first_of
from gateval.domain.trials.trial import Side, Trial
from gateval.domain.verdicts import EvalsVerdict, GateVerdict, Score, score_of
from gateval.errors import RecordsError

NAMED_TASKS = 200
"""Tasks up to which a record names the criteria of each."""

CRITERIA = 50
"""Criteria of one task that a record names."""


class RunScore(Value):
    """A mean score in [0, 1] and what it is of; None where it was not measured in full."""

    name: ShortText
    score: Share | None = None


def task_score(planned: PlannedEval, trials: Sequence[Trial]) -> float | None:
    """Return the mean score of the planned repetitions, None if one has none, or no scores."""
    if not planned.scoring.graded:
        return None
    return _mean(grades(trials, Use.SCORE), planned.execution.reps_per_fixture)


def axes_of_task(
    planned: PlannedEval, fixture: Fixture, trials: Sequence[Trial]
) -> tuple[RunScore, ...]:
    """Return the scores of a task by axis."""
    if not planned.scoring.graded:
        return ()
    many = planned.execution.reps_per_fixture
    return tuple(
        RunScore(name=axis, score=_mean(axis_grades(axis, fixture, trials), many))
        for axis in weighed_axes([fixture])
    )


def criteria_of_task(
    planned: PlannedEval, fixture: Fixture, trials: Sequence[Trial]
) -> tuple[RunScore, ...]:
    """Return the scores of a task's criteria by label, of a benchmark or experiment."""
    if not planned.scoring.model.named or len(planned.fixtures) > NAMED_TASKS:
        return ()
    many = planned.execution.reps_per_fixture
    first = [one for one in trials if one.key.repetition <= many]
    return tuple(
        RunScore(name=spec.name or spec.type, score=_mean(by_criterion(first, at), many))
        for at, spec in enumerate(fixture.assertions[:CRITERIA])
    )


def axes_of_run(compared: EvalComparison, side: Side = Side.HEAD) -> tuple[RunScore, ...]:
    """Return the scores of a run by axis, those that were measured in all its tasks."""

    def _score(one: AxisComparison) -> float | None:
        on_head = one.head, one.measured
        found, measured = on_head if side is Side.HEAD else (one.base, one.measured_base)
        return None if found is None or measured < one.fixtures else round(found, 6)

    return tuple(RunScore(name=one.axis, score=_score(one)) for one in compared.axes)


def _mean(scores: Sequence[float | None], many: int) -> float | None:
    mean = whole_mean(scores, many)
    return None if mean is None else round(mean, 6)


FIXTURES_LISTED = 2_000
"""Fixtures of one Eval that are named in a record; the counts hold all."""

EVALS_LISTED = 200
SCORERS_LISTED = 100
SCORES_LISTED = 50
"""Axes and criteria that are named of a fixture or an Eval."""


class TrialStatus(Word):
    """How one trial ended: passed, failed, failed without an answer, lost."""

    PASSED = "p"
    FAILED = "f"
    SILENT = "s"
    LOST = "x"


class FixtureMark(Word):
    """How a fixture ended; `Error` is neither: it could not be measured."""

    FAIL = "Fail"
    ERROR = "Error"
    SKIP = "Skip"
    PASS = "Pass"  # noqa: S105 - a result, not a password


_SHOWN = {
    FixtureMark.FAIL: FixtureStatus.FAILING,
    FixtureMark.ERROR: FixtureStatus.UNMEASURED,
    FixtureMark.SKIP: FixtureStatus.UNMEASURED,
    FixtureMark.PASS: FixtureStatus.PASSING,
}
_ORDER = list(FixtureStatus)
_WEIGHTS = {severity.value: weight for severity, weight in DEFAULT_WEIGHTS.items()}

Marks = Annotated[str, Field(pattern=r"^[pfsx]{0,1000}$")]


class RunFixture(Value):
    """One fixture on head.

    `digest` names what it asks (`fixture_digest`). `trials` has a `TrialStatus` for each planned
    repetition; those that were added because something looked worse are selected and not kept.
    Where neither side answers an Eval, all of them say nothing: they are lost.
    `asked_again` counts judgements that were repeated on the same output, `wavered` those of them
    that came out otherwise. `claimed` says that assertions rest on the candidate's claims, `says`
    why it did not pass. `score` is the mean of those whose trials have scores, which `axes` and
    `criteria` divide; `status` is that of a benchmark's task. `own` is what the run
    calls its score, an interval, and `shown` where its report has it, if `trials` do not say that.
    `base` and `base_score` are the same of base, as far as the same run measured it.
    """

    fixture: ShortText
    digest: str = Field(pattern=r"^[0-9a-f]{20}$")
    trials: Marks
    severity: ShortText = "medium"
    regressed: bool = False
    asked_again: Count = 0
    wavered: Count = 0
    claimed: bool = False
    says: ShortText = ""
    score: Share | None = None
    status: ShortText = ""
    axes: Annotated[tuple[RunScore, ...], first_of(SCORES_LISTED)] = ()
    criteria: Annotated[tuple[RunScore, ...], first_of(SCORES_LISTED)] = ()
    own: tuple[Share, Share] | None = None
    shown: FixtureStatus | None = None
    base: Marks = ""
    base_score: Share | None = None

    @property
    def of_base(self) -> RunFixture:
        """What the run says of base."""
        return RunFixture(
            fixture=self.fixture,
            digest=self.digest,
            trials=self.base,
            severity=self.severity,
            regressed=self.stands,
            score=self.base_score,
        )

    @property
    def result(self) -> FixtureMark:
        """How it ended: where it was looked at again, as the run scored it in the end. What stands
        as regressed from an earlier run has no trials.
        """
        later = self.score is None and self.own is not None and self.own[1] < 1
        if self.regressed or later or self.measured > self.passes:
            return FixtureMark.FAIL
        if not self.trials:
            return FixtureMark.SKIP
        return FixtureMark.ERROR if self.measured < len(self.trials) else FixtureMark.PASS

    @property
    def whole_score(self) -> Score:
        """What the run called its score; of an older record, the mean of its trials or its rate."""
        if self.own is not None:
            return score_of(*self.own)
        if self.score is not None or not self.measured:
            return score_of(self.score, self.score)
        planned, lost = len(self.trials), len(self.trials) - self.measured
        return score_of(self.passes / planned, (self.passes + lost) / planned)

    @property
    def status_shown(self) -> FixtureStatus:
        """Where the report of the run has it."""
        if self.shown is not None:
            return self.shown
        return FixtureStatus.REGRESSED if self.regressed else _SHOWN[self.result]

    @property
    def least(self) -> float:
        """The least rate that it can have, by which a report orders."""
        if self.score is not None and self.own is not None:
            return self.own[0]
        return self.score or (self.passes / len(self.trials) if self.trials else 0.0)

    @property
    def stands(self) -> bool:
        """Whether an earlier run found it regressed, which stands: this one did not measure it."""
        return self.regressed and not self.trials

    @property
    def all_passed(self) -> bool:
        """Whether there are trials and each passed."""
        return bool(self.trials) and self.passes == len(self.trials)

    @property
    def passes(self) -> int:
        """Trials that passed."""
        return self.trials.count(TrialStatus.PASSED)

    @property
    def measured(self) -> int:
        """Trials that say something."""
        return len(self.trials) - self.trials.count(TrialStatus.LOST)


class RunSpent(Value):
    """What all trials of an Eval took in a run, both sides and the judge together.

    None is unknown: tokens that nobody counted, money without a price.
    """

    trials: Positive
    calls: Count = 0
    tokens: Count | None = None
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class RunBase(Value):
    """An Eval on base, as a run measured it: its score as an interval in [0, 1], and of what.

    `closure` and `setting` are as in `RunEval`. `passing` of `total` fixtures passed all trials;
    what stands from an earlier run is in the score and in `total` alone.
    """

    closure: Digest
    setting: Digest
    low: Share | None
    high: Share | None
    passing: Count = 0
    total: Positive
    axes: Annotated[tuple[RunScore, ...], first_of(SCORES_LISTED)] = ()


_USUAL_MODELS = {"Benchmark": ScoringModel.BENCHMARK, "Experiment": ScoringModel.EXPERIMENT}
"""How scores come about of Evals of these kinds."""


class RunEval(Value):
    """One Eval on head: its score as an interval in [0, 1], what follows, its fixtures.

    Of a score that was measured in part, `runs` are those that say something, and of how many.
    What was not measured has no score: `low`, `high` and `limits` are then None.
    `closure` is that of the Agent, `setting` the digest of all else that trials depend on
    (`setting_digest`). `slipped` says that its fixtures together got worse, `seen` that the gate
    saw the Agent's model calls itself, `stood_in` that another model answered too often in place of
    the Agent's own. `kind` is that of its manifest, `model` how its
    scores came about, and `version` a benchmark's; `status` says how
    that ended, `axes` are its scores by axis, `averages` those of an experiment's scorers: the set
    that it measured. `fixtures` are the first ones of the plan, whatever came of them, since
    later rates rest on them; `beyond` are those of the others that did not pass on both sides.
    Of a `sealed` one there is the verdict, a coarse rate as its score, and the keyed `digest` of
    the whole: who has the key knows by it which evidence is this run's.
    """

    eval: ShortText
    kind: ShortText = "Eval"
    model: ScoringModel = ScoringModel.FIXTURES
    version: ShortText = ""
    status: ShortText = ""
    agent: ShortText
    closure: Digest
    setting: Digest
    verdict: EvalsVerdict
    low: Share | None
    high: Share | None
    runs: tuple[int, int] = (0, 0)
    limits: tuple[Share, Share] | None = (0.0, 1.0)
    threshold: Share | None = None
    passing: Count = 0
    failing: Count = 0
    total: Positive
    slipped: bool = False
    spent: RunSpent | None = None
    seen: bool = False
    stood_in: bool = False
    averages: Annotated[tuple[ScorerAverage, ...], first_of(SCORERS_LISTED)] = ()
    axes: Annotated[tuple[RunScore, ...], first_of(SCORES_LISTED)] = ()
    fixtures: Annotated[tuple[RunFixture, ...], first_of(FIXTURES_LISTED)] = ()
    beyond: Annotated[tuple[RunFixture, ...], first_of(FIXTURES_LISTED)] = ()
    base: RunBase | None = None
    sealed: bool = False
    digest: str = Field(default="", pattern=r"^([0-9a-f]{64}@[0-9a-f]{8})?$")

    @model_validator(mode="before")
    @classmethod
    def _of_its_kind(cls, given: object) -> object:
        """Read a record that names no scoring model, as earlier versions wrote it."""
        if not isinstance(given, dict) or "model" in given:
            return given
        return {**given, "model": _USUAL_MODELS.get(str(given.get("kind")), ScoringModel.FIXTURES)}

    @property
    def score(self) -> Score:
        """The score of this Eval."""
        return score_of(self.low, self.high, *self.runs)

    @property
    def shown_axes(self) -> tuple[RunScore, ...]:
        """Its scores by axis, as people call these, where assertions name any."""
        told = self.axes if named_axes([one.name for one in self.axes]) else ()
        return tuple(one.replace(name=show_axis(one.name)) for one in told)

    @property
    def named(self) -> tuple[RunFixture, ...]:
        """All fixtures that it names."""
        return (*self.fixtures, *self.beyond)

    @cached_property
    def by_name(self) -> Mapping[str, RunFixture]:
        """The same by their names."""
        return {one.fixture: one for one in self.named}

    @property
    def worst_first(self) -> tuple[RunFixture, ...]:
        """The same in the order of a report: by how they ended, then by weight and score."""

        def _urgency(one: RunFixture) -> tuple[int, float, float]:
            return _ORDER.index(one.status_shown), -_WEIGHTS.get(one.severity, 0.0), one.least

        return tuple(sorted(self.named, key=_urgency))

    @property
    def counted(self) -> tuple[int | None, int | None]:
        """How many fixtures passed, and how many failed; None where nothing was measured, and of a
        sealed one, of which nobody is told.
        """
        known = self.low is not None and not self.sealed
        return (self.passing, self.failing) if known else (None, None)

    @property
    def complete(self) -> bool:
        """Whether it was measured in full: its score is one number."""
        return self.low is not None and self.low == self.high

    @property
    def lacks(self) -> tuple[bool, int, int]:
        """What makes another run of the same revision better to look at: this one was not measured
        in full, findings stand that it did not look at, it has fewer fixtures.
        """
        return not self.complete, sum(one.stands for one in self.named), -self.total

    @property
    def cut(self) -> bool:
        """Whether it has more fixtures than it names."""
        return len(self.named) < self.total

    @property
    def unnamed_passed(self) -> bool:
        """Whether all fixtures that it does not name passed all their trials."""
        return self.total - self.passing == sum(not one.all_passed for one in self.named)

    @property
    def of_base(self) -> RunEval | None:
        """What the run says of base; None where it did not measure it."""
        if self.base is None:
            return None
        return RunEval(
            eval=self.eval,
            kind=self.kind,
            model=self.model,
            version=self.version,
            agent=self.agent,
            verdict=GateVerdict.PASS,
            limits=None,
            fixtures=tuple(one.of_base for one in self.fixtures if one.base or one.stands),
            beyond=tuple(one.of_base for one in self.beyond if one.base or one.stands),
            closure=self.base.closure,
            setting=self.base.setting,
            low=self.base.low,
            high=self.base.high,
            passing=self.base.passing,
            total=self.base.total,
            axes=self.base.axes,
        )

    @property
    def called(self) -> str:
        """What the score is called, if it was measured in full and has a name; else empty."""
        return self.model.called(self.low) if self.complete else ""


class RunFacts(Value):
    """Where a run happened.

    `id` is unique: that of the run and its attempt in CI, of the results folder elsewhere. `event`
    is `local` there. `workflow` is the path of its file, `branch` the one that was measured.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
    event: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")] = "local"
    at: UtcTime
    run: Count = 0
    url: ShortText = ""
    workflow: ShortText = ""
    branch: ShortText = ""
    pull_request: Positive | None = None


class RunRecord(RunFacts):
    """What a run measured on `commit` (empty for a working tree), compared with `base` if any.

    `at` is when it was recorded, UTC to the second. `part` says that somebody picked what it
    measured, as in `2 of 3 fixtures`: that says how these ended and nothing of the whole, and it
    counts nowhere. `agreements` are of the judges that it replayed calibrations with, `watches` of
    those of which it asked canaries. `reusable` is the SHA-256 of the file with the trials that
    later runs may take over; empty where it left none.
    """

    version: Literal["run.v1"] = "run.v1"
    commit: MaybeSha = ""
    base: MaybeSha = ""
    gateval: ShortText = ""
    part: ShortText = ""
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False)
    verdict: EvalsVerdict
    evals: Annotated[tuple[RunEval, ...], first_of(EVALS_LISTED)] = ()
    agreements: Annotated[tuple[StoredAgreement, ...], first_of(EVALS_LISTED)] = ()
    watches: Annotated[tuple[StoredWatch, ...], first_of(EVALS_LISTED)] = Field(
        default=(), exclude_if=operator.not_
    )
    reusable: str = Field(default="", pattern=r"^([0-9a-f]{64})?$", exclude_if=operator.not_)

    def eval(self, name: str) -> RunEval | None:
        """Return what it says of an Eval, None if nothing."""
        return next((one for one in self.evals if one.eval == name), None)

    @property
    def of_base(self) -> RunRecord:
        """What it says of base, as a record of its own."""
        evals = tuple(found for one in self.evals if (found := one.of_base) is not None)
        return self.replace(commit=self.base, base="", evals=evals)

    @property
    def revision(self) -> str:
        """How people call what was measured."""
        return self.commit[:7] or "working tree"


def record_line(record: RunRecord) -> bytes:
    """Return a record as its line: `id` and `event` first, what is default left out."""
    content: JsonObject = record.model_dump(mode="json", exclude_defaults=True)
    first = {"id": record.id, "event": record.event, "version": record.version}
    body = ascii_json({key: one for key, one in content.items() if key not in first})
    head = ascii_json(first["id"]), ascii_json(first["event"]), ascii_json(first["version"])
    return '{{"id":{},"event":{},"version":{},'.format(*head).encode() + body[1:].encode() + b"\n"


RUNS_KEPT = 1_000
OF_PULL_REQUESTS = 300
"""Runs of pull requests that are kept: a busy day must not push out what the main branch did."""

BYTES_KEPT = 20_000_000
LINE_LIMIT = 1_000_000

_HEAD = re.compile(rb'\{"id":"([A-Za-z0-9._-]{1,100})","event":"([a-z_]{1,40})",')
_PULL = {b"pull_request", b"issue_comment", b"merge_group", b"workflow_run"}


def add_run(content: bytes, record: RunRecord) -> bytes:
    """Return the file with `record` as its newest line; the same content if it holds it already.

    A line with its id goes: somebody wrote it beforehand. So does what is no record, then the
    oldest runs of pull requests, then the oldest of all. Raises `RecordsError` for a record that is
    too large.
    """
    line = record_line(record)
    if len(line) > LINE_LIMIT:
        raise RecordsError(f"The run takes {len(line):,} bytes; {LINE_LIMIT:,} are allowed.")
    lines, own = lines_of(content), line.rstrip(b"\n")
    if own in lines:
        return content
    known = [(head, one) for one in lines if (head := _HEAD.match(one))]
    others = [(head[2], one) for head, one in known if head[1] != record.id.encode()]
    kept = [*others, (record.event.encode(), own)]
    return b"".join(one + b"\n" for one in _bounded(kept))


def newest_first(content: bytes, naming: Collection[str] = ()) -> Iterator[RunRecord]:
    """Yield the records, the newest first; of what cannot be read, nothing.

    With `naming`, lines in which none of these names stands are skipped, which is quick.
    """
    wanted = [f'"{name}"'.encode() for name in naming]
    for line in reversed(lines_of(content)):
        if wanted and not any(name in line for name in wanted):
            continue
        if (record := read_line(line)) is not None:
            yield record


def newest_of(
    records: Iterable[RunRecord],
    wanted: Collection[str],
    counts: Callable[[RunRecord, RunEval], object],
) -> Mapping[str, tuple[RunRecord, RunEval]]:
    """Return for each of these Evals the first run that counts; `records` come the newest first."""
    found: dict[str, tuple[RunRecord, RunEval]] = {}
    for record in records if wanted else ():
        for run in record.evals:
            if run.eval in wanted and run.eval not in found and counts(record, run):
                found[run.eval] = record, run
        if len(found) == len(wanted):
            break
    return found


def read_line(line: bytes) -> RunRecord | None:
    """Return the record of a line, None for what this version does not write."""
    if len(line) > LINE_LIMIT:
        return None
    try:
        return RunRecord.model_validate_json(line)
    except ValidationError:
        return None


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines of the file, the oldest first."""
    return [line for line in content.split(b"\n") if line]


def _bounded(lines: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the newest lines that there is room for, in their order."""
    kept: list[bytes] = []
    pulls = size = 0
    for event, line in reversed(lines):
        if event in _PULL:
            pulls += 1
            if pulls > OF_PULL_REQUESTS:
                continue
        size += len(line) + 1
        if size > BYTES_KEPT or len(kept) == RUNS_KEPT:
            break
        kept.append(line)
    return kept[::-1]
