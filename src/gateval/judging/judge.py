"""Asks the judge, checks what it says, and asks once more when that cannot be used."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from gateval.domain.calibration import FINGERPRINTS, ModelVersion
from gateval.domain.manifests.evaluation import (
    JudgeSpec,
    script_name,
)
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.model_call import (
    Caller,
    ModelReply,
    ModelRequest,
    StopReason,
    Usage,
)
from gateval.domain.trials.trace import Trace, add_usage
from gateval.domain.trials.trial import Cause, Side, Verdict
from gateval.judging.preference import (
    AnswerPair,
    Preferred,
    majority,
    parse_preference,
    preference_request,
)
from gateval.judging.prompt import (
    JudgeLimits,
    JudgeQuestion,
    judge_request,
    repair_request,
    rubric_question,
)
from gateval.judging.quotes import check_evidence, contradiction, evidence_defects
from gateval.judging.verdict import (
    Check,
    Checklist,
    DefectiveVerdict,
    checklist_question,
    parse_checklist,
    parse_verdict,
)
from gateval.ports.model_calls import ModelCallError, ModelCallFault, ModelCalls
from gateval.safe.legible import shorten


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

    async def prefer(
        self, *, rubric: str, spec: JudgeSpec, pair: AnswerPair
    ) -> tuple[Preferred, Usage]:
        """Return which of two answers is better by the rubric, and the tokens that took.

        An unusable answer, or a preference without a quote that stands in an answer, is named to
        the judge, once. Raises `JudgeError`, where that does not help either. A jury prefers what
        most of it do, and of judges of which one stands behind another the first is asked.
        """
        jury = spec.models or (_model_of(spec),)
        ask = (self._prefer(rubric, spec.alone(model), pair) for model in jury)
        found = await asyncio.gather(*ask)
        chosen = majority([one for one, _ in found])
        return chosen, add_usage([usage for _, usage in found])

    async def _prefer(
        self, rubric: str, spec: JudgeSpec, pair: AnswerPair
    ) -> tuple[Preferred, Usage]:
        """Ask one model, and if its answer is defective ask once more, naming the defects."""
        model, nonce = _model_of(spec), self._new_nonce()
        request = self._named(
            preference_request(rubric, pair, spec=spec, nonce=nonce, limits=self._limits), nonce
        )

        def read(reply: ModelReply) -> tuple[Preferred | None, tuple[str, ...]]:
            try:
                found = parse_preference(reply.text, pair, self._limits)
            except DefectiveVerdict as error:
                return None, (str(error),)
            return found, found.defects

        reply = await self._ask(model, request, None)
        (found, defects), usage = read(reply), reply.usage
        if defects:
            reply = await self._ask(model, repair_request(request, reply.text, defects), usage)
            (found, defects), usage = read(reply), add_usage((usage, reply.usage))
        if found is None or defects:
            why = f"the judge gave no usable preference, asked twice: {defects[0]}"
            raise JudgeError(Cause.JUDGE, why, usage=usage)
        return found, usage

    async def _converse(
        self,
        question: JudgeQuestion,
        spec: JudgeSpec,
        fixture_input: FixtureInput,
        transcript: Trace,
        read: _Read,
    ) -> JudgeResult:
        """Ask, and if the answer is defective ask once more, naming the defects."""
        model, nonce = _model_of(spec), self._new_nonce()
        request = judge_request(
            question,
            spec=spec,
            fixture_input=fixture_input,
            transcript=transcript,
            nonce=nonce,
            limits=self._limits,
        )
        request = self._named(request, nonce)
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

    def _named(self, request: ModelRequest, nonce: str) -> ModelRequest:
        """Return the request with the judgement that it is of, where calls are recorded."""
        caller = self._caller and self._caller.replace(drawn=(nonce,))
        return request.replace(caller=caller) if caller else request

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
                reply = await self._ask(model, request.replace(answer_schema=None), spent)
                self.schemaless.add(model)  # now that it was the schema which it refused
                return reply
            if error.lasting:
                self.denied.add(model)
            gate = error.cause is Cause.GATE
            outage = error.fault in _OUTAGES
            why, cause = error.message, Cause.GATE if gate else Cause.JUDGE
        message = f"the judge could not be asked: {why}"
        raise JudgeError(cause, message, usage=spent, outage=outage)

    def _read(self, text: str, *, asked: str, transcript: Trace, evidence_below: float) -> _Reading:
        verdict = check_evidence(parse_verdict(text, self._limits), transcript, asked)
        if wrong := contradiction(verdict):
            return _Reading(None, (wrong, *evidence_defects(verdict)))
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


_OUTAGES = {ModelCallFault.OUTAGE, ModelCallFault.GIVEN_UP, ModelCallFault.DENIED}
"""What is no answer to the question: whatever was asked, it would not have been answered."""

_NO_SCHEMA = (400, 422)
"""How a provider refuses a parameter that it does not know."""


def _model_of(spec: JudgeSpec) -> str:
    """Return the model to ask. Raises `JudgeError` where the Eval names none."""
    if spec.model is None:
        why = "this Eval names no judge model; set `spec.judge.model` in the Eval"
        raise JudgeError(Cause.GATE, why)
    return spec.model


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
