"""One run of one fixture against one candidate, and what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.trials.calls import CallsMade
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace, TraceSource, add_usage

OUTPUT_LIMIT = 8 * 1024
"""Characters kept of an agent's final message in results."""

DETAIL_LINES = 20
"""Last lines kept of what a candidate printed."""


class Side(StrEnum):
    """Which revision a trial measures."""

    HEAD = "head"
    BASE = "base"


class Outcome(StrEnum):
    """Of a trial or fixture. `error` is not measured; `skip` is no terminal answer in time.

    A candidate that crashes, or gives nothing in time by its own fault, has failed.
    """

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class Cause(StrEnum):
    """Who is to blame for an error or a skip.

    `candidate`: it did not start, crashed, was too slow or broke the contract; `judge`: the judge
    gave no usable verdict, or could not be asked; `uncalibrated`: the judge was not measured
    against people as the Eval asks, so its word does not count; `provider`: a model provider was
    down, or refused the key or what both sides ask;
    `check`: one of people's own checks crashed, was too slow or gave no usable answer; `gate`: what
    an assertion needs is not there (no trace, no usage), or a fault of the gate itself.
    """

    CANDIDATE = "candidate"
    JUDGE = "judge"
    UNCALIBRATED = "uncalibrated"
    PROVIDER = "provider"
    CHECK = "check"
    GATE = "gate"


class AssessmentStatus(StrEnum):
    """Of one assertion: `error` means that it could not be evaluated."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


class _Assessment(Value):
    """What came of one assertion in one trial, whether it could be evaluated or not.

    `index` is the assertion's position in the fixture, from 0; `at` leads on from there to one that
    stands inside others, a position for each level. `reason` is one sentence: what was expected and
    what was seen. `steps` are the numbers of the trace steps it rests on. `claimed` says that it
    rests on a trace or usage that only the candidate reports, `absent` that what it looks at was
    not there. `asked` is how often a judge was asked before this counted; `again` what it said when
    the fixture had flipped and it was shown the same output once more. `fatal` says that a required
    part of it failed, which fails the trial in the weighted model whatever the others score.
    `parts` are the assessments that decided it, where it is made of others.
    """

    index: int = Field(default=0, ge=0)
    at: tuple[int, ...] = ()
    type: str
    status: AssessmentStatus
    score: float | None = Field(default=None, ge=0, le=1)
    reason: str
    steps: tuple[int, ...] = ()
    claimed: bool = False
    absent: bool = False
    fatal: bool = False
    cause: Cause | None = None
    verdict: Verdict | None = None
    asked: int = Field(default=1, ge=1)
    again: AssessmentStatus | None = None
    parts: tuple[Assessment, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it was evaluated, and holds."""
        return self.status is AssessmentStatus.PASSED

    @property
    def failed(self) -> bool:
        """Whether it was evaluated, and does not hold."""
        return self.status is AssessmentStatus.FAILED

    @property
    def counts(self) -> bool:
        """Whether it decides anything: the word of a judge that is not calibrated does not."""
        return self.cause is not Cause.UNCALIBRATED

    @property
    def wavered(self) -> bool:
        """Whether the judge said another thing when it was shown the same again."""
        return self.again is not None and self.again is not self.status


class Assessed(_Assessment):
    """The result of an assertion that could be evaluated; `score` is in [0, 1]."""

    status: Literal[AssessmentStatus.PASSED, AssessmentStatus.FAILED]
    score: float = Field(ge=0, le=1)
    cause: None = None


class NotAssessed(_Assessment):
    """An assertion that could not be evaluated, and whose fault that is: it has no score."""

    status: Literal[AssessmentStatus.ERROR] = AssessmentStatus.ERROR
    score: None = None
    cause: Cause


Assessment: TypeAlias = Annotated[Assessed | NotAssessed, Field(discriminator="status")]


class TrialKey(Value):
    """Names a trial. `repetition` counts from 1."""

    eval: str
    fixture: str
    side: Side
    repetition: int = Field(ge=1)

    @property
    def order(self) -> tuple[str, str, int, str]:
        """The order of reports: Eval, fixture, repetition, base before head."""
        return (self.eval, self.fixture, self.repetition, self.side)

    def __str__(self) -> str:
        return f"{self.eval}/{self.fixture} #{self.repetition} on {self.side}"


class AnsweredTurn(Value):
    """The answer in one turn of a conversation.

    `first` and `last` are the numbers of its steps, in the trace of the whole; `source` says who
    recorded these. `waited` are seconds of `seconds` in which providers were waited for.
    """

    output: str
    first: int = Field(ge=1)
    last: int = Field(ge=1)
    source: TraceSource
    usage: Usage = Field(default_factory=Usage)
    seconds: float = Field(ge=0)
    waited: float = Field(default=0, ge=0)
    calls: CallsMade | None = None


class Claimed(Value):
    """What only the candidate says of a trial, beside steps and tokens; None where it does not."""

    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    model_calls: int | None = Field(default=None, ge=0)


class Answer(Value):
    """A candidate's answer in time: its final message and, if it was recorded, a trace.

    A conversation has `turns`, and its trace is of source `answer` where not all of it was
    recorded. `calls` is what became of its model calls, None where nobody saw them.
    """

    claimed: Claimed = Claimed()

    output: str
    trace: Trace | None = None
    usage: Usage = Field(default_factory=Usage)
    seconds: float = Field(ge=0)
    turns: tuple[AnsweredTurn, ...] = ()
    calls: CallsMade | None = None

    @property
    def recorded(self) -> Trace | None:
        """The trace, None where nobody recorded one, or not all of it."""
        return None if self.trace is None or self.trace.source == "answer" else self.trace


class NoAnswer(Value):
    """Why a candidate gave nothing that can be assessed.

    `timed_out` makes the trial a `skip`, everything else an `error`. `detail` holds the command
    and the last lines of its output. What was seen so far is in `trace`. `lasting` says that the
    gateway saw a provider refuse the key or the account, so that another try is in vain, and
    `repeats` that it failed in a way that another trial repeats: a set-up, an import. `endless`
    says that the gate's own loop ended it, which has a limit of turns. `calls` is as in an
    `Answer`.
    """

    cause: Cause
    reason: str
    detail: tuple[str, ...] = ()
    timed_out: bool = False
    lasting: bool = False
    repeats: bool = False
    endless: bool = False
    trace: Trace | None = None
    calls: CallsMade | None = None
    seconds: float = Field(default=0, ge=0)


class Trial(Value):
    """A finished trial.

    `outcome`, `cause` and `reason` tell why it is not a pass; `score` in [0, 1] is the weighted
    share of passed assertions, None when anything could not be measured. `output` is cut at
    `OUTPUT_LIMIT`. `calls` is what became of its model calls, None where nobody saw them; in a
    conversation of which a turn was not answered by a model, of those of that turn. `repeats` says
    that there is no answer for a reason that another trial of the same side repeats, `endless` that
    there is none within the turns that the gate's own loop gives it.
    """

    key: TrialKey
    outcome: Outcome
    cause: Cause | None = None
    reason: str = ""
    detail: tuple[str, ...] = ()
    assessments: tuple[Assessment, ...] = ()
    score: float | None = Field(default=None, ge=0, le=1)
    output: str | None = None
    output_truncated: bool = False
    trace: Trace | None = None
    calls: CallsMade | None = None
    repeats: bool = False
    endless: bool = False
    usage: Usage = Field(default_factory=Usage)
    judge_usage: Usage = Field(default_factory=Usage)
    lost_usage: Usage = Field(default_factory=Usage)
    seconds: float = Field(default=0, ge=0, json_schema_extra={"volatile": True})

    @property
    def spent(self) -> Usage:
        """What its calls took, and as far as it was counted, those of attempts that were lost."""
        return add_usage([self.usage, self.lost_usage]) if self.lost_usage.total else self.usage

    @property
    def own_seconds(self) -> float:
        """The seconds it took, without waits for a provider that refused or dropped calls."""
        return max(0.0, self.seconds - (self.trace.waited if self.trace else 0.0))

    @property
    def answered(self) -> bool:
        """Whether the candidate gave an answer, as far as it was up to the candidate."""
        return self.cause is not Cause.CANDIDATE

    @property
    def passed(self) -> bool | None:
        """Whether it counts as passed; None for a trial that was lost and says nothing."""
        if self.outcome is Outcome.PASS:
            return True
        measured = self.outcome is Outcome.FAIL or self.cause is Cause.CANDIDATE
        return False if measured else None
