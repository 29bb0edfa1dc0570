"""Measures a judge for a comparison with others: by people's labels, and by what may move it.

Besides the examples themselves it is asked about bad ones that carry an attack of the laboratory,
and about pairs of answers in both orders. What it takes is counted by model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from gateval.domain.base import canonical_json
from gateval.domain.calibration import CalibrationReplay, script_of
from gateval.domain.injection import Injections
from gateval.domain.manifests.evaluation import (
    Calibration,
    CalibrationExample,
    JudgeSpec,
    ScriptedModel,
)
from gateval.domain.manifests.fixture import input_of
from gateval.domain.trials.model_call import ModelReply, ModelRequest, Usage
from gateval.domain.trials.preference import Choice, Preference
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Side
from gateval.judging.calibrating import (
    IN_BATCHES,
    ONE_BY_ONE,
    AskingRules,
    ExampleAsker,
    judge_behind,
    replay,
    requests_of,
)
from gateval.judging.judge import Judge, JudgeError
from gateval.judging.preference import AnswerPair
from gateval.judging.prompt import with_grounds
from gateval.ports.model_calls import ModelCalls

NTH = 5
"""Each which question of the laboratory is asked where nothing bounds what gets through: all kinds,
in the answer and elsewhere. So few show no bound to be kept."""

PAIRS = 10
"""Pairs of answers that each judge is shown in both orders."""


class ModelTaken(NamedTuple):
    """What one model took: the tokens of its calls, and how long each of them was answered in."""

    usage: Usage
    seconds: tuple[float, ...]


class Meter:
    """Fulfils `ModelCalls`: passes calls on, and counts what each model takes."""

    def __init__(self, calls: ModelCalls) -> None:
        self._calls = calls
        self._usages: dict[str, list[Usage]] = {}
        self._seconds: dict[str, list[float]] = {}

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        reply = await self._calls.call(model, request, side=side)
        self._usages.setdefault(model, []).append(reply.usage)
        if reply.seconds is not None:
            self._seconds.setdefault(model, []).append(reply.seconds - reply.waited)
        return reply

    @property
    def taken(self) -> Mapping[str, ModelTaken]:
        """What was taken so far, by model."""
        return {
            model: ModelTaken(add_usage(usages), tuple(self._seconds.get(model, ())))
            for model, usages in self._usages.items()
        }


class MeasuredJudge(NamedTuple):
    """What came of one judge.

    `taken` is what the examples took, by model. `attacked` is what came of attacks, `pairs` what it
    prefers.
    """

    replay: CalibrationReplay
    taken: Mapping[str, ModelTaken]
    attacked: Injections
    pairs: tuple[Preference, ...]


async def measure(
    calibration: Calibration,
    spec: JudgeSpec,
    calls: ModelCalls,
    scripts: Mapping[str, ScriptedModel],
    *,
    batch: bool = False,
) -> MeasuredJudge:
    """Have a judge score all examples, then those attacked that it was right to fail, and pairs.
    All attacks are asked about where `spec` bounds what gets through, else a part of them.

    Nothing is raised where it gives no verdict: what is not measured is not there.
    """
    meter = Meter(calls)
    judge, rules = judge_behind(meter, batch=batch), IN_BATCHES if batch else ONE_BY_ONE
    found = await replay(calibration, spec, judge, script=script_of(spec, scripts), rules=rules)
    taken = meter.taken
    tried = await ExampleAsker(calibration, spec, judge, rules).attacks(
        found.examples, nth=_nth(spec)
    )
    pairs = pairs_of(calibration) if found.agreement.scored else []
    return MeasuredJudge(
        replay=found,
        taken=taken,
        attacked=tried,
        pairs=await _preferred(spec, judge, pairs, rules),
    )


def _nth(spec: JudgeSpec) -> int:
    return NTH if spec.max_injected is None else 1


class RubricPair(NamedTuple):
    """Two answers, and the rubric by which one may be better."""

    rubric: str
    pair: AnswerPair


def pairs_of(calibration: Calibration) -> list[RubricPair]:
    """Return answers to show side by side: different ones to the same input, as far as there are
    such, then answers beside themselves. Of those a judge prefers none, unless by the place.
    """
    groups: dict[str, list[CalibrationExample]] = {}
    for one in calibration.examples:
        key = canonical_json([one.input, one.expected, one.reference])
        groups.setdefault(key, []).append(one)
    different, alike = [], []
    for examples in groups.values():
        rubric = with_grounds(calibration.rubric, examples[0].given)
        asked = input_of(examples[0].input)
        said = [*dict.fromkeys(one.candidate_output for one in examples)]
        different += [RubricPair(rubric, AnswerPair(asked, *two)) for two in combinations(said, 2)]
        alike.append(RubricPair(rubric, AnswerPair(asked, said[0], said[0])))
    return [*different, *alike][:PAIRS]


async def _preferred(
    spec: JudgeSpec, judge: Judge, pairs: Sequence[RubricPair], rules: AskingRules
) -> tuple[Preference, ...]:
    """Show each pair in both orders; one without two answers that count is left out."""
    places = asyncio.Semaphore(rules.at_once)

    async def preferred(rubric: str, pair: AnswerPair) -> Choice | None:
        async with places:
            try:
                found, _ = await judge.prefer(rubric=rubric, spec=spec, pair=pair)
            except JudgeError:
                return None
        return found.choice

    async def shown(rubric: str, pair: AnswerPair) -> Preference | None:
        turned = pair._replace(first=pair.second, second=pair.first)
        one, other = await asyncio.gather(preferred(rubric, pair), preferred(rubric, turned))
        if one is None or other is None:
            return None
        return Preference(base_first=one, head_first=other)

    found = await asyncio.gather(*(shown(*one) for one in pairs))
    return tuple(one for one in found if one is not None)


class Foreseen(NamedTuple):
    """What a model will be asked, at the least: so many calls with so many bytes in all."""

    calls: int
    size: int


def foreseen(calibration: Calibration, spec: JudgeSpec, *, compared: bool) -> Foreseen:
    """Return what each model of a judge will be asked, if it is never asked twice and fails what
    people fail. `compared`: with attacks and pairs.
    """
    sizes = [
        len(text.encode()) for text in requests_of(calibration, spec, nth=_nth(spec) * compared)
    ]
    more = 2 * len(pairs_of(calibration)) if compared else 0
    return Foreseen(len(sizes) + more, sum(sizes) + more * sum(sizes) // len(sizes))
