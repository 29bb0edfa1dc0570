"""Asks the judge, checks what it says, and asks once more when that cannot be used.

Each example goes through `Judge.judge`, with the same prompt, delimiters, limits and checks; the
judge sees the rubric, the input and the answer, never what a person said of it.

Replays the calibrations of a plan beside its trials, and says whose judges may decide.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.calibration import (
    CUT,
    CalibrationReplay,
    JudgedExample,
    ModelVersion,
    binding_of,
    unmeasured_versions,
)
from gateval.domain.manifests.evaluation import (
    Calibration,
    CalibrationExample,
    JudgeSpec,
    script_name,
)
from gateval.domain.manifests.fixture import FixtureInput, input_of
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts import binding_now, judge_doubt
from gateval.domain.trials.model_call import (
    Caller,
    ModelReply,
    ModelRequest,
    StopReason,
    Usage,
)
from gateval.domain.trials.trace import Trace, add_usage
from gateval.domain.trials.trial import Answer, Cause, Juror, Side, Verdict, numbered_steps
from gateval.judging.prompt import (
    PROMPT,
    VERDICT_SCHEMA,
    JudgeLimits,
    Question,
    judge_request,
    repair_request,
    rubric_question,
    shorten,
    with_grounds,
)
from gateval.judging.quotes import check_evidence, evidence_defects
from gateval.judging.verdict import (
    ANSWER,
    CHECKS_SCHEMA,
    Check,
    Checklist,
    DefectiveVerdict,
    checklist_question,
    parse_checklist,
    parse_verdict,
)
from gateval.ports.model_calls import ModelCallError, ModelCallFault, ModelCalls


class JudgeResult(NamedTuple):
    """A verdict whose evidence was checked, the tokens of all calls it took, and the answer to a
    list of checks, where that was asked.
    """

    verdict: Verdict
    usage: Usage
    checklist: Checklist | None = None


class JudgeError(Exception):
    """There is no verdict. `message` is a sentence; `usage` the tokens spent, None if no call was.

    `cause` is `judge` when what it said cannot be used, or it could not be asked, and `gate` when
    the gate does not know how to ask it. With `outage` its provider was down, or refused the key:
    nothing that it was shown can be the reason.
    """

    def __init__(
        self, cause: Cause, message: str, *, usage: Usage | None = None, outage: bool = False
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.usage = usage
        self.outage = outage


class _Reading(NamedTuple):
    """A reading of an answer: no verdict has at least one defect; a verdict may have some."""

    verdict: Verdict | None
    defects: tuple[str, ...]
    checklist: Checklist | None = None


_Read = Callable[[str], _Reading]


class SeenVersions:
    """The versions in which models have answered, as their providers name them."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, model: str, reply: ModelReply) -> None:
        """Take in who says to have answered; rules have no version but their digest."""
        if reply.model and script_name(model) is None:
            prints = self._seen.setdefault((model, shorten(reply.model)), {})
            if reply.fingerprint and len(prints) < FINGERPRINTS:
                prints[shorten(reply.fingerprint)] = None

    @property
    def versions(self) -> tuple[ModelVersion, ...]:
        """All of them, sorted."""
        return tuple(
            ModelVersion(model=model, version=version, fingerprints=tuple(sorted(prints)))
            for (model, version), prints in sorted(self._seen.items())
        )


FINGERPRINTS = 20
"""Fingerprints kept of one version of a model."""


class Judge:
    """An LLM judge behind `calls`. One instance serves all judgements of a run, at the same time.

    `new_nonce` gives the unpredictable part of a prompt's delimiters, new in each call. `denied`
    are the models whose provider refuses the key or the account, as it will the next time, and
    `seen` the versions in which models have answered; `schemaless` those whose provider refused a
    question with a JSON Schema of the answer, and which are asked without.
    `caller` names the judgement for recordings of its calls.
    """

    def __init__(
        self,
        calls: ModelCalls,
        *,
        limits: JudgeLimits | None = None,
        new_nonce: Callable[[], str] = lambda: secrets.token_hex(8),
        caller: Caller | None = None,
    ) -> None:
        self._calls = calls
        self._limits = limits or JudgeLimits()
        self._new_nonce = new_nonce
        self._caller = caller
        self.denied: set[str] = set()
        self.seen = SeenVersions()
        self.schemaless: set[str] = set()

    def apart(self) -> Judge:
        """Return the same judge with its own eyes for versions."""
        same = self._same(self._caller)
        same.seen = SeenVersions()
        return same

    def _same(self, caller: Caller | None) -> Judge:
        limits, nonce = self._limits, self._new_nonce
        same = Judge(self._calls, limits=limits, new_nonce=nonce, caller=caller)
        same.denied, same.seen, same.schemaless = self.denied, self.seen, self.schemaless
        return same

    def of(self, caller: Caller | None) -> Judge:
        """Return the same judge for the judgement that `caller` names; itself for None."""
        if caller is None:
            return self
        return self._same(caller)

    async def judge(
        self,
        *,
        rubric: str,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
        evidence_below: float = 0.0,
    ) -> JudgeResult:
        """Return the verdict on one trial, its violations marked supported or not.

        `transcript` comes from `numbered_steps`. An unusable answer, a violation that the
        transcript does not support, or a score under `evidence_below` without any violation is
        named to the judge, once. What is unsupported after that stays marked. Raises `JudgeError`.
        """
        question = rubric_question(rubric, self._limits)
        read = partial(
            self._read, asked=rubric, transcript=transcript, evidence_below=evidence_below
        )
        return await self._converse(question, spec, fixture_input, transcript, read)

    async def check(
        self,
        *,
        checks: Sequence[Check],
        about: str,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
    ) -> tuple[Checklist, Usage]:
        """Return the judge's answer to each of these checks; `about` says what else is to be known.

        A check that is not returned, or from which something is taken off without evidence, is
        named to the judge, once. See `judge`. Raises `JudgeError`.
        """
        question = checklist_question(checks, about, self._limits)
        read = partial(self._read_checks, checks=checks, transcript=transcript)
        found = await self._converse(question, spec, fixture_input, transcript, read)
        assert found.checklist is not None  # noqa: S101 - `_read_checks` gives both or neither
        checklist = found.checklist.replace(verdict=found.verdict)
        return checklist, found.usage

    async def _converse(
        self,
        question: Question,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
        read: _Read,
    ) -> JudgeResult:
        """Ask, and if the answer is defective ask once more, naming the defects."""
        if (model := spec.model) is None:
            why = "this Eval names no judge model; set `spec.judge.model` in the Eval"
            raise JudgeError(Cause.GATE, why)
        nonce = self._new_nonce()
        request = judge_request(
            question,
            spec=spec,
            fixture_input=fixture_input,
            transcript=transcript,
            nonce=nonce,
            limits=self._limits,
        )
        if self._caller is not None:
            request = request.replace(caller=self._caller.replace(drawn=(nonce,)))
        reply = await self._ask(model, request, None)
        verdict, defects, checklist = _reading(reply, read)
        usage = reply.usage
        said: dict[str, str | bool] = {"model": model, **_who_answered(model, reply)}
        if verdict is None or defects:
            again = repair_request(request, reply.text, defects)
            reply = await self._ask(model, again, usage)
            usage, said = add_usage((usage, reply.usage)), {**said, "repaired": True}
            verdict, defects, checklist = _reading(reply, read)
        if verdict is None:
            why = f"the judge gave no usable verdict, asked twice: {defects[0]}"
            raise JudgeError(Cause.JUDGE, why, usage=usage)
        return JudgeResult(verdict.replace(**said), usage, checklist)

    async def _ask(self, model: str, request: ModelRequest, spent: Usage | None) -> ModelReply:
        """Ask a model; a scripted one is head's for both sides, so that they can be compared."""
        if model in self.schemaless:
            request = request.replace(answer_schema=None)
        try:
            async with asyncio.timeout(self._limits.seconds):
                reply = await self._calls.call(model, request, side=Side.HEAD)
            self.seen.add(model, reply)
            return reply
        except TimeoutError:
            outage = False
            seconds = f"{self._limits.seconds:g}"
            why, cause = f"{model} did not answer within {seconds} seconds", Cause.JUDGE
        except ModelCallError as error:
            if request.answer_schema is not None and error.status in _NO_SCHEMA:
                self.schemaless.add(model)
                return await self._ask(model, request, spent)
            if error.lasting:
                self.denied.add(model)
            gate = error.cause is Cause.GATE
            outage = error.fault in {ModelCallFault.OUTAGE, ModelCallFault.DENIED}
            why, cause = error.message, Cause.GATE if gate else Cause.JUDGE
        message = f"the judge could not be asked: {why}"
        raise JudgeError(cause, message, usage=spent, outage=outage)

    def _read(self, text: str, *, asked: str, transcript: Trace, evidence_below: float) -> _Reading:
        verdict = check_evidence(parse_verdict(text, self._limits), transcript, asked)
        if verdict.undetermined:
            return _Reading(verdict, ())
        if verdict.score < evidence_below and not verdict.violations:
            return _Reading(verdict, ("the score is low, but no violation is cited for it.",))
        return _Reading(verdict, evidence_defects(verdict))

    def _read_checks(self, text: str, *, checks: Sequence[Check], transcript: Trace) -> _Reading:
        found = parse_checklist(text, checks, self._limits)
        asked = "\n".join(check.text for check in checks)
        verdict = check_evidence(found.verdict, transcript, asked)
        if verdict.undetermined:
            return _Reading(verdict, (), found)
        missing = tuple(f"the check {name} is not answered." for name in found.missing)
        return _Reading(verdict, (*missing, *evidence_defects(verdict)), found)


_NO_SCHEMA = (400, 422)
"""How a provider refuses a parameter that it does not know."""


def _reading(reply: ModelReply, read: _Read) -> _Reading:
    try:
        return read(reply.text)
    except DefectiveVerdict as error:
        stopped = {
            StopReason.LENGTH: " It was cut off at the token limit; be brief.",
            StopReason.REFUSAL: " The judge refused to answer.",
        }
        return _Reading(None, (f"{error}{stopped.get(reply.stop, '')}",))


def _who_answered(model: str, reply: ModelReply) -> dict[str, str]:
    same = script_name(model) is not None or reply.model == model.partition("/")[2]
    version = "" if same else shorten(reply.model)
    return {"answered": version, "fingerprint": shorten(reply.fingerprint)}


AT_ONCE = 8
"""Examples that are judged side by side."""

TRIES = 3
"""How often an example is judged whose verdict got lost."""

_WORDS = 500
"""Characters kept of what a judge says of an example."""

_Judged = tuple[JudgedExample, list[Usage]]


async def replay(
    calibration: Calibration, spec: JudgeSpec, judge: Judge, *, script: str = ""
) -> CalibrationReplay:
    """Have the judge that `spec` names score every example; return what it said.

    `script` is the digest of a scripted judge. An example without a verdict is in the replay, with
    the reason why; nothing is raised for it.
    """
    places = asyncio.Semaphore(AT_ONCE)

    async def judged(number: int, example: CalibrationExample) -> _Judged:
        async with places:
            return await _judged(number, example, calibration.rubric, spec, judge)

    judge = judge.apart()
    found = await asyncio.gather(
        *(judged(number, one) for number, one in enumerate(calibration.examples, 1))
    )
    return CalibrationReplay(
        calibration=calibration.name,
        binding=binding_of(calibration, spec, prompt=prompt_digest(), script=script),
        examples=tuple(example for example, _ in found),
        usage=add_usage([usage for _, spent in found for usage in spent]),
        versions=judge.seen.versions,
    )


def prompt_digest() -> str:
    """Return the SHA-256 of what Gateval itself says to judges."""
    return digest([*PROMPT, ANSWER, VERDICT_SCHEMA, CHECKS_SCHEMA])


async def _judged(
    number: int, example: CalibrationExample, rubric: str, spec: JudgeSpec, judge: Judge
) -> _Judged:
    """Judge one example; one whose verdict got lost, again. Every one of several judges is heard,
    so that each can be measured alone, too.
    """
    told = JudgedExample(
        number=number,
        human=example.human_score,
        label=example.human_label or "",
        trace_ref=example.trace_ref or "",
    )
    if not spec.is_panel:
        return await _judged_by(told, example, rubric, spec, judge)
    from gateval.domain.trials.jury import in_doubt, is_split, jury_assessment
    from gateval.judging.jury import JurorHeard, hear

    async def ask(one: JudgeSpec) -> JurorHeard:
        found, spent = await _judged_by(told, example, rubric, one, judge)
        passed = None if found.score is None else found.score >= CUT
        juror = Juror(model=one.named, passed=passed, score=found.score, why=found.error)
        if found.score is not None:
            verdict = Verdict(score=found.score, confidence=1, summary=found.summary)
            juror = juror.replace(verdict=verdict)
        return JurorHeard(juror, add_usage(spent))

    heard = await hear(spec, ask, everyone=True)
    jurors = heard.jurors
    if spec.escalate is not None and not in_doubt(spec, jurors[0].score):
        jurors = jurors[:1]
    found = jury_assessment("judge", spec, jurors)
    first = tuple(one.score for one in heard.jurors[: len(spec.asked)])
    said = {"jurors": first, "split": is_split(spec, [one for one in first if one is not None])}
    if found.score is None:
        return told.replace(error=shorten(found.reason, _WORDS), **said), [heard.usage]
    words = {"summary": found.verdict.summary if found.verdict else ""}
    return told.replace(score=found.score, **words, **said), [heard.usage]


async def _judged_by(
    told: JudgedExample, example: CalibrationExample, rubric: str, spec: JudgeSpec, judge: Judge
) -> _Judged:
    asked = input_of(example.input)
    answer = Answer(output=example.candidate_output, seconds=0)
    spent: list[Usage] = []
    for _ in range(TRIES):
        try:
            found = await judge.judge(
                rubric=with_grounds(rubric, example.given),
                spec=spec,
                fixture_input=asked,
                transcript=numbered_steps(asked, answer),
                evidence_below=CUT,
            )
        except JudgeError as error:
            spent += [error.usage] if error.usage else []
            told = told.replace(error=shorten(error.message, _WORDS))
            if error.cause is Cause.GATE:
                break
            continue
        verdict = found.verdict
        if verdict.undetermined:
            why = f"it cannot determine it: {shorten(verdict.summary, _WORDS)}"
            return told.replace(error=why, undetermined=True), [*spent, found.usage]
        said = {"score": verdict.score, "summary": shorten(verdict.summary, _WORDS), "error": ""}
        return told.replace(**said), [*spent, found.usage]
    return told, spent


class Agreements:
    """The replays of one run. Each is made once, and begins when the first trial needs it. Those
    that the plan knows need not be made; `keep` gets those that are. `callers` names the replay of
    an Eval's calibration, by its binding, for recordings.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        *,
        keep: Callable[[CalibrationReplay], None] = lambda _: None,
        callers: Callable[[PlannedEval, str], Caller | None] = lambda _planned, _binding: None,
    ) -> None:
        self._plan = plan
        self._judge = judge
        self._keep = keep
        self._callers = callers
        self._known = {one.binding.digest: one for one in plan.agreements}
        self._made: dict[str, asyncio.Task[CalibrationReplay]] = {}

    async def doubt(self, planned: PlannedEval) -> str:
        """Return why the word of this Eval's judge does not count; empty if it does."""
        if not planned.wants_calibration:
            return ""
        found = await self._replay(planned)
        if new := [version for one in found for version in self._unmeasured(one)]:
            who, what = new[0].model, found[0].calibration
            return (
                f"{who} answers as {new[0].version}, and {what} was replayed with another version"
            )
        return judge_doubt(planned, found, self._plan.policy.judge)

    def _unmeasured(self, known: CalibrationReplay) -> tuple[ModelVersion, ...]:
        """The versions in which its judge has answered this run, and not that replay."""
        return unmeasured_versions(self._judge.seen.versions, known.versions)

    async def close(self) -> None:
        """End replays that nobody waits for any more."""
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    async def _replay(self, planned: PlannedEval) -> tuple[CalibrationReplay, ...]:
        bound = binding_now(self._plan, planned, prompt_digest())
        if bound is None:
            return ()
        known = self._known.get(bound.digest)
        if known is not None and not self._unmeasured(known):
            return (known,)
        task = self._made.get(bound.digest)
        if task is None:
            judge = self._judge.of(self._callers(planned, bound.digest))
            task = asyncio.create_task(self._make(planned, judge, bound.script))
            self._made[bound.digest] = task
        return (await asyncio.shield(task),)

    async def _make(self, planned: PlannedEval, judge: Judge, script: str) -> CalibrationReplay:
        assert planned.calibration is not None  # noqa: S101 - seen by the caller
        made = await replay(planned.calibration, planned.judge, judge, script=script)
        self._keep(made)
        return made
