"""Asks the judge, checks what it says, and asks once more when that cannot be used."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from gateval.domain.base import Value
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.judge_verdict import Verdict
from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason, Usage
from gateval.domain.trials.trace import Trace, add_usage
from gateval.domain.trials.trial import Cause, Side
from gateval.judging.checklist import Check, Checklist, parse_checklist
from gateval.judging.checklist_prompt import checklist_request
from gateval.judging.evidence import check_evidence, evidence_defects
from gateval.judging.limits import JudgeLimits
from gateval.judging.prompt import judge_request, repair_request
from gateval.judging.verdict import DefectiveVerdict, parse_verdict
from gateval.ports.model_calls import ModelCallError, ModelCallFault, ModelCalls


class JudgeResult(Value):
    """A verdict whose evidence was checked, and the tokens of all calls it took."""

    verdict: Verdict
    usage: Usage


class JudgeError(Exception):
    """There is no verdict. `message` is a sentence; `usage` the tokens spent, None if no call was.

    `cause` is `judge` when what it said cannot be used, `provider` when it could not be asked, and
    `gate` when the gate does not know how to ask it.
    """

    def __init__(self, cause: Cause, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.usage = usage


class ChecklistResult(Value):
    """A checklist whose evidence was checked, and the tokens of all calls it took."""

    checklist: Checklist
    usage: Usage


class _Reading(NamedTuple):
    """A reading of an answer: no verdict has at least one defect; a verdict may have some."""

    verdict: Verdict | None
    defects: tuple[str, ...]
    checklist: Checklist | None = None


class _Said(NamedTuple):
    """What the judge said in the end, usable."""

    verdict: Verdict
    checklist: Checklist | None
    usage: Usage


_Ask = Callable[[ModelRequest, Usage | None], Awaitable[ModelReply]]
_Read = Callable[[ModelReply], _Reading]


class Judge:
    """An LLM judge behind `calls`. One instance serves all judgements of a run, at the same time.

    `new_nonce` gives the unpredictable part of a prompt's delimiters, new in each call. `denied`
    are the models whose provider refuses the key or the account, as it will the next time.
    """

    def __init__(
        self,
        calls: ModelCalls,
        *,
        limits: JudgeLimits | None = None,
        new_nonce: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._calls = calls
        self._limits = limits or JudgeLimits()
        self._new_nonce = new_nonce
        self.denied: set[str] = set()

    async def judge(
        self,
        *,
        rubric: str,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
        evidence_below: float = 0.0,
        side: Side = Side.HEAD,
    ) -> JudgeResult:
        """Return the verdict on one trial, its violations marked supported or not.

        `transcript` comes from `numbered_steps`. An unusable answer, a violation that the
        transcript does not support, or a score under `evidence_below` without any violation is
        named to the judge, once. What is unsupported after that stays marked. `side` says whose
        scripted model judges; head and base are judged by head's, so that they can be compared.
        Raises `JudgeError`.
        """
        model = _model(spec)
        request = judge_request(
            rubric=rubric,
            spec=spec,
            fixture_input=fixture_input,
            transcript=transcript,
            nonce=self._new_nonce(),
            limits=self._limits,
        )
        read = partial(self._read, transcript=transcript, evidence_below=evidence_below)
        found = await self._converse(request, partial(self._ask, model, side), read)
        verdict = found.verdict.model_copy(update={"model": model})
        return JudgeResult(verdict=verdict, usage=found.usage)

    async def check(
        self,
        *,
        checks: Sequence[Check],
        about: str,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
        side: Side = Side.HEAD,
    ) -> ChecklistResult:
        """Return the judge's answer to each of these checks; `about` says what else is to be known.

        A check that is not returned, or from which something is taken off without evidence, is
        named to the judge, once. See `judge`. Raises `JudgeError`.
        """
        model = _model(spec)
        request = checklist_request(
            checks=checks,
            about=about,
            spec=spec,
            fixture_input=fixture_input,
            transcript=transcript,
            nonce=self._new_nonce(),
            limits=self._limits,
        )
        read = partial(self._read_checks, checks=checks, transcript=transcript)
        found = await self._converse(request, partial(self._ask, model, side), read)
        assert found.checklist is not None  # noqa: S101 - `_read_checks` gives both or neither
        verdict = found.verdict.model_copy(update={"model": model})
        checklist = found.checklist.model_copy(update={"verdict": verdict})
        return ChecklistResult(checklist=checklist, usage=found.usage)

    async def _converse(self, request: ModelRequest, ask: _Ask, read: _Read) -> _Said:
        """Ask, and if the answer is defective ask once more, naming the defects."""
        first = await ask(request, None)
        verdict, defects, checklist = read(first)
        if verdict is not None and not defects:
            return _Said(verdict, checklist, first.usage)
        second = await ask(repair_request(request, first.text, defects), first.usage)
        usage = add_usage((first.usage, second.usage))
        verdict, defects, checklist = read(second)
        if verdict is None:
            raise JudgeError(
                Cause.JUDGE,
                f"the judge gave no usable verdict, asked twice: {defects[0]}",
                usage=usage,
            )
        return _Said(verdict.model_copy(update={"repaired": True}), checklist, usage)

    async def _ask(
        self, model: str, side: Side, request: ModelRequest, spent: Usage | None
    ) -> ModelReply:
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._calls.call(model, request, side=side)
        except TimeoutError:
            seconds = f"{self._limits.seconds:g}"
            why, cause = f"{model} did not answer within {seconds} seconds", Cause.PROVIDER
        except ModelCallError as error:
            if error.lasting:
                self.denied.add(model)
            gate = error.fault is ModelCallFault.UNCONFIGURED
            why, cause = error.message, Cause.GATE if gate else Cause.PROVIDER
        raise JudgeError(cause, f"the judge could not be asked: {why}", usage=spent)

    def _read(self, reply: ModelReply, *, transcript: Trace, evidence_below: float) -> _Reading:
        try:
            verdict = check_evidence(parse_verdict(reply.text, self._limits), transcript)
        except DefectiveVerdict as error:
            return _Reading(None, (f"{error}{_stopped_early(reply)}",))
        if verdict.score < evidence_below and not verdict.violations:
            return _Reading(verdict, ("the score is low, but no violation is cited for it.",))
        return _Reading(verdict, evidence_defects(verdict))

    def _read_checks(
        self, reply: ModelReply, *, checks: Sequence[Check], transcript: Trace
    ) -> _Reading:
        try:
            found = parse_checklist(reply.text, checks, self._limits)
        except DefectiveVerdict as error:
            return _Reading(None, (f"{error}{_stopped_early(reply)}",))
        verdict = check_evidence(found.verdict, transcript)
        missing = tuple(f"the check {name} is not answered." for name in found.missing)
        return _Reading(verdict, (*missing, *evidence_defects(verdict)), found)


def _model(spec: JudgeSpec) -> str:
    if spec.model is None:
        raise JudgeError(
            Cause.GATE, "this Eval names no judge model; set `spec.judge.model` in the Eval"
        )
    return spec.model


def _stopped_early(reply: ModelReply) -> str:
    if reply.stop is StopReason.LENGTH:
        return " It was cut off at the token limit; be brief."
    return " The judge refused to answer." if reply.stop is StopReason.REFUSAL else ""
