"""Asks several judges about one run: side by side and, where they are split, once more.

It is the same whether an assertion asks or a calibration, so that a jury is measured as it decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.trials.jury import in_doubt, is_split
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import add_usage
from gateval.domain.trials.trial import Juror


class JurorHeard(NamedTuple):
    """What one juror said, and the tokens it took; None where it was not asked."""

    juror: Juror
    usage: Usage | None


class JuryHeard(NamedTuple):
    """What all of them said, in the order of `JudgeSpec.asked`, twice where they were split."""

    jurors: tuple[Juror, ...]
    usage: Usage


async def hear(
    spec: JudgeSpec,
    ask: Callable[[JudgeSpec], Awaitable[JurorHeard]],
    *,
    everyone: bool = False,
    before: Sequence[Juror] = (),
) -> JuryHeard:
    """Have each of the models of `spec` asked; `ask` puts the question to one. Who gave an answer
    `before`, when others were lost, is not asked for it again.

    A stronger judge is asked only where the first leaves doubt, unless `everyone` is to be heard. A
    split jury keeps its first votes where the second time gives less, such as at the end of a
    budget. Scripted models say the same each time, and are asked once.
    """
    kept = {one.model: JurorHeard(one, None) for one in before if one.answered}

    async def heard(model: str) -> JurorHeard:
        return kept.get(model) or await ask(spec.alone(model))

    if spec.escalate is not None:
        found = [await heard(spec.asked[0])]
        if everyone or in_doubt(spec, found[0].juror.score):
            found.append(await heard(spec.escalate.model))
        return _together(found, found)
    found = [*await asyncio.gather(*map(heard, spec.asked))]
    scores = [one.juror.score for one in found if one.juror.score is not None]
    if len(scores) < len(found) or spec.is_scripted or not is_split(spec, scores):
        return _together(found, found)
    again = await asyncio.gather(*(ask(spec.alone(model)) for model in spec.asked))
    whole = all(one.juror.score is not None for one in again)
    return _together([*found, *(again if whole else [])], [*found, *again])


def _together(counted: list[JurorHeard], asked: list[JurorHeard]) -> JuryHeard:
    spent = [one.usage for one in asked if one.usage is not None]
    return JuryHeard(tuple(one.juror for one in counted), add_usage(spent))
