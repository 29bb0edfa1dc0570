"""One run of one fixture against one candidate, and what came of it, step by step.

The answers of a conversation's turns make one trace, its steps numbered through.

The part of a trial that says most: the steps that failed assertions rest on, a line each.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from gateval.domain.base import Count, Positive, Share, Value, Word, canonical_json, plentiful
from gateval.domain.manifests.fixture import PREFERENCE, FixtureInput, Severity
from gateval.domain.manifests.messages import Role, text_of
from gateval.domain.trials.model_call import CallsMade, Usage, add_calls, in_one_trial
from gateval.domain.trials.preference import Preference
from gateval.domain.trials.trace import (
    STEP_LIMIT,
    STEPS_LIMIT,
    Step,
    StepKind,
    Trace,
    TraceSource,
    add_usage,
    who_said,
    whole_sum,
)


class Violation(Value):
    """A rule that the judge saw broken, with the step it blames and a quote from that step.

    `supported` is decided by code: the step exists and the quote stands in it (white space
    folded). An unsupported violation does not count. `defect` says what is wrong with it. One by
    `absent` quotes what is missing: a tool or text that the rubric names and no step of the agent
    holds. `addressed`: the quote stands in words that speak to a judge.
    """

    rule: str
    severity: Severity
    evidence_step: int
    quote: str
    supported: bool = False
    defect: str = ""
    absent: bool = Field(default=False, exclude_if=operator.not_)
    addressed: bool = Field(default=False, exclude_if=operator.not_)


class Verdict(Value):
    """A judge's verdict: `score` and `confidence` in [0, 1], texts already cut to their limits.

    `repaired` says that the judge had to be asked a second time, `undetermined` that it says the
    run does not show it: then its score counts for nothing. `answered` is the model's version as
    the provider names it, where that is not the name that was asked, and `fingerprint` its word for
    the machinery behind it. One of several judges has what
    each of `jurors` said, once or, of a jury whose first scores were `split`, twice.
    """

    score: Share
    confidence: Share
    summary: str
    violations: tuple[Violation, ...] = ()
    what_would_raise_score: str = ""
    model: str = ""
    repaired: bool = False
    undetermined: bool = Field(default=False, exclude_if=operator.not_)
    answered: str = Field(default="", exclude_if=operator.not_)
    fingerprint: str = Field(default="", exclude_if=operator.not_)
    jurors: tuple[Juror, ...] = Field(default=(), exclude_if=operator.not_)
    split: bool = Field(default=False, exclude_if=operator.not_)


class Juror(Value):
    """What one of several judges said. `passed` and `score` are None without a verdict that counts,
    and `why` and `cause` say why; with `outage` its provider was down or refused the key.
    """

    model: str
    passed: bool | None = None
    score: Share | None = None
    fatal: bool = False
    outage: bool = False
    why: str = ""
    cause: Cause | None = None
    verdict: Verdict | None = None

    @property
    def answered(self) -> bool:
        """Whether it said something that asking it again would not better."""
        return self.passed is not None or bool(self.verdict and self.verdict.undetermined)


OUTPUT_LIMIT = 8 * 1024
"""Characters kept of an agent's final message in results."""

DETAIL_LINES = 20
"""Last lines kept of what a candidate printed."""


class Side(Word):
    """Which revision a trial measures."""

    HEAD = "head"
    BASE = "base"


class Outcome(Word):
    """Of a trial or fixture. `error` is not measured; `skip` is no terminal answer in time.

    A candidate that crashes, or gives nothing in time by its own fault, has failed.
    """

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class Cause(Word):
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


class AssessmentStatus(Word):
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
    `parts` are the assessments that decided it, where it is made of others. `preference` is what a
    judge said of this answer and base's; that is about a pair of trials, and decides neither.
    """

    index: Count = 0
    at: tuple[int, ...] = ()
    type: str
    status: AssessmentStatus
    score: Share | None = None
    reason: str
    steps: tuple[int, ...] = ()
    claimed: bool = False
    absent: bool = False
    fatal: bool = False
    cause: Cause | None = None
    verdict: Verdict | None = None
    asked: Positive = 1
    again: AssessmentStatus | None = None
    parts: tuple[Assessment, ...] = ()
    preference: Preference | None = Field(default=None, exclude_if=operator.not_)

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
        """Whether it decides anything of its trial: the word of a judge that is not calibrated does
        not, and no preference does.
        """
        return self.cause is not Cause.UNCALIBRATED and self.type != PREFERENCE

    @property
    def wavered(self) -> bool:
        """Whether the judge said another thing when it was shown the same again."""
        return self.again is not None and self.again is not self.status


class Assessed(_Assessment):
    """The result of an assertion that could be evaluated; `score` is in [0, 1]."""

    status: Literal[AssessmentStatus.PASSED, AssessmentStatus.FAILED]
    score: Share
    cause: None = None


class NotAssessed(_Assessment):
    """An assertion that could not be evaluated, and whose fault that is: it has no score."""

    status: Literal[AssessmentStatus.ERROR] = AssessmentStatus.ERROR
    score: None = None
    cause: Cause


Assessment: TypeAlias = Annotated[Assessed | NotAssessed, Field(discriminator="status")]


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Names a trial. `repetition` counts from 1."""

    # no `Value`, which takes five times this
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    eval: str
    fixture: str
    side: Side
    repetition: Positive

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
    first: Positive
    last: Positive
    source: TraceSource
    usage: Usage = Field(default_factory=Usage)
    seconds: float = Field(ge=0)
    waited: float = Field(default=0, ge=0)
    calls: CallsMade | None = None


class Claimed(Value):
    """What only the candidate says of a trial, beside steps and tokens; None where it does not."""

    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    model_calls: Count | None = None


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


@plentiful
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
    score: Share | None = None
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
    def judged_whole(self) -> bool:
        """Whether no juror was left out of its judgement, so that it may stand for base later."""
        verdicts = (one.verdict for one in self.assessments if one.verdict is not None)
        return not any(juror.outage for one in verdicts for juror in one.jurors)

    @property
    def passed(self) -> bool | None:
        """Whether it counts as passed; None for a trial that was lost and says nothing."""
        if self.outcome is Outcome.PASS:
            return True
        measured = self.outcome is Outcome.FAIL or self.cause is Cause.CANDIDATE
        return False if measured else None


def numbered_steps(fixture_input: FixtureInput, answer: Answer) -> Trace:
    """Return the trace that evidence refers to, ending with what the candidate finally said.

    A recorded trace keeps its numbers; the final message is appended if the last assistant step
    is not already that message, as a step of the agent that said it. Without a trace there are two
    steps, the input and the final message, and `source` is `answer`. A user's words that only the
    candidate claims are marked, in conversations turn by turn. Store this as the trial's
    trace, so that a step number in an assessment means the same step in every report.
    """
    if answer.trace is None:
        user = Step(
            number=1,
            kind=StepKind.USER,
            text=fixture_input.prompt[:STEP_LIMIT],
            truncated=len(fixture_input.prompt) > STEP_LIMIT,
        )
        return Trace(steps=(user, _final(2, answer.output)), source="answer", usage=answer.usage)
    trace = answer.trace if answer.turns else _with_claims(fixture_input, answer.trace)
    last = final_step(trace)
    if last is not None and last.text.strip() == answer.output[:STEP_LIMIT].strip():
        return trace
    said = _final(len(trace.steps) + 1, answer.output)
    giver = who_said(trace, said.text.strip())
    if giver is not None:
        said = said.replace(conversation=giver.conversation, agent=giver.agent)
    return trace.replace(steps=(*trace.steps, said))


def _with_claims(fixture_input: FixtureInput, trace: Trace) -> Trace:
    """Mark what a program says in a user's name, who said something else. The gate does not."""
    if trace.source == "gate":
        return trace
    told = [fixture_input.prompt, canonical_json(fixture_input.payload)]
    told += [text_of(one.content) for one in fixture_input.messages if one.role is Role.USER]
    said = {_alike(one[:STEP_LIMIT]) for one in told}
    steps = tuple(
        step.replace(claimed=True)
        if step.kind is StepKind.USER and _alike(step.text) not in said
        else step
        for step in trace.steps
    )
    return trace.replace(steps=steps)


def final_step(trace: Trace) -> Step | None:
    """The last assistant step: in a transcript of `numbered_steps`, the final message."""
    said = (step for step in reversed(trace.steps) if step.kind is StepKind.ASSISTANT)
    return next(said, None)


def _final(number: int, output: str) -> Step:
    return Step(
        number=number,
        kind=StepKind.ASSISTANT,
        text=output[:STEP_LIMIT],
        truncated=len(output) > STEP_LIMIT,
    )


_FILE = re.compile(r"\[(?:image|audio|video|document|file)(?: [^\]]*)?\]")

_SOURCES = ("answer", "candidate", "gateway", "gate")
"""Who may have recorded a trace, the weakest evidence first."""


class Turns:
    """The turns that were answered so far. Does no I/O."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._turns: list[AnsweredTurn] = []
        self._traces: list[Trace] = []
        self._sources: list[TraceSource] = []
        self._claims: list[Claimed] = []

    def add(self, asked: FixtureInput, answer: Answer) -> None:
        """Take the answer to `asked`, what the user said in this turn being its prompt."""
        trace = numbered_steps(asked, answer)
        source = trace.source if answer.trace and answer.trace.steps else "answer"
        first = len(self._steps) + 1
        self._append(_of_this_turn(trace, asked.prompt))
        self._turns.append(
            AnsweredTurn(
                output=answer.output,
                first=first,
                last=len(self._steps),
                source=source,
                usage=answer.usage,
                seconds=answer.seconds,
                waited=trace.waited,
                calls=answer.calls,
            )
        )
        self._traces.append(trace)
        self._sources.append(source)
        self._claims.append(answer.claimed)

    def trace(self, unfinished: Trace | None = None) -> Trace:
        """Return all steps; `unfinished` is what was seen of a turn without an answer."""
        if unfinished is not None:
            self._append(unfinished.steps)
            self._traces.append(unfinished)
            self._sources.append(unfinished.source)
        return Trace(
            steps=tuple(self._steps[:STEPS_LIMIT]),
            source=min(self._sources, key=_SOURCES.index, default="answer"),
            usage=add_usage(one.usage for one in self._traces),
            model_calls=sum(one.model_calls for one in self._traces),
            models=tuple(dict.fromkeys(name for one in self._traces for name in one.models)),
            waited=round(sum(one.waited for one in self._traces), 3),
            redirected=tuple(dict.fromkeys(one for own in self._traces for one in own.redirected)),
            offered=in_one_trial(one.offered for one in self._traces),
        )

    def answer(self) -> Answer:
        """Return the answer of the whole conversation, which has had a turn."""
        return Answer(
            output=self._turns[-1].output,
            trace=self.trace(),
            usage=add_usage(one.usage for one in self._turns),
            seconds=sum(one.seconds for one in self._turns),
            claimed=Claimed(
                seconds=whole_sum([one.seconds for one in self._claims]),
                model_calls=whole_sum([one.model_calls for one in self._claims]),
            ),
            turns=tuple(self._turns),
            calls=self.calls(),
        )

    def calls(self, unfinished: CallsMade | None = None) -> CallsMade | None:
        """Return what became of the model calls of all turns; `unfinished` are those of a turn
        without an answer.
        """
        return add_calls([*(one.calls for one in self._turns), unfinished])

    def _append(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self._steps.append(step.replace(number=len(self._steps) + 1))


def _of_this_turn(trace: Trace, said: str) -> tuple[Step, ...]:
    """Return the steps from what the user said in this turn; what comes before is history.

    A claimed trace may leave out what the user said: it stands first then.
    """
    text = said[:STEP_LIMIT]
    for index, step in reversed([*enumerate(trace.steps)]):
        if step.kind is StepKind.USER and _alike(step.text) == _alike(text):
            return trace.steps[index:]
    user = Step(number=1, kind=StepKind.USER, text=text, truncated=len(said) > STEP_LIMIT)
    return (user, *trace.steps)


def _alike(said: str) -> str:
    """Return a text in which white space and what stands for a file are the same for everybody."""
    return " ".join(_FILE.sub("[file]", said).split())


STEPS_SHOWN = 10
STEP_WIDTH = 240
"""Characters shown of one step."""

KINDS = {
    StepKind.USER: "user",
    StepKind.ASSISTANT: "agent",
    StepKind.TOOL_CALL: "tool call",
    StepKind.TOOL_RESULT: "tool result",
    StepKind.ERROR: "error",
}


def blamed_steps(assessments: Iterable[Assessment]) -> tuple[int, ...]:
    """Return the numbers of the steps that these assessments rest on, ascending."""
    numbers: set[int] = set()
    for assessment in assessments:
        numbers.update(assessment.steps)
        if assessment.verdict is not None:
            numbers.update(v.evidence_step for v in assessment.verdict.violations if v.supported)
    return tuple(sorted(numbers))


def excerpt(trace: Trace, blamed: tuple[int, ...]) -> str:
    """Return the blamed steps, marked with `>`, with their neighbours; else the last steps.

    Where there were several agents, `[refunds]` says whose step it is, or `[2]` that it belongs to
    the second conversation where nobody told a name.
    """
    near = {number + offset for number in blamed for offset in (-1, 0, 1)}
    chosen = [step for step in trace.steps if step.number in near][:STEPS_SHOWN]
    chosen, parallel = chosen or [*trace.steps[-STEPS_SHOWN:]], trace.is_parallel
    lines = []
    previous = 0
    for step in chosen:
        if step.number > previous + 1:
            lines.append("   ...")
        mark = ">" if step.number in blamed else " "
        which = f"[{step.agent or step.conversation}]  " if parallel else ""
        kind = KINDS[step.kind]
        lines.append(f"{mark} {step.number:>2}  {which}{kind:<11}  {describe(step)}")
        previous = step.number
    if previous < len(trace.steps):
        lines.append("   ...")
    return "\n".join(lines)


def describe(step: Step) -> str:
    """Return what a step says on one line, cut at `STEP_WIDTH`."""
    if step.kind is StepKind.TOOL_CALL:
        refused = " (refused)" if step.refused else ""
        text = f"{step.tool or '?'}{refused} {canonical_json(step.arguments or {})}"
    elif step.kind is StepKind.TOOL_RESULT and step.tool:
        text = f"{step.tool}: {step.text}"
    else:
        text = step.text
    folded = " ".join(text.split())
    if len(folded) > STEP_WIDTH:
        return f"{folded[:STEP_WIDTH]}\N{HORIZONTAL ELLIPSIS}"
    return folded


def trial_excerpt(trial: Trial | None, assessments: Iterable[Assessment] = ()) -> str:
    """Return the excerpt of a trial's trace, or its final message when there is no trace."""
    if trial is None:
        return ""
    if trial.trace is not None and trial.trace.steps:
        return excerpt(trial.trace, blamed_steps(assessments))
    return trial.output or ""
