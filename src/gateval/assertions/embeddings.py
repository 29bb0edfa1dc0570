"""How alike two texts are to a model: the cosine of the angle between its vectors for them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateval.assertions.evidence import CannotEvaluate
from gateval.domain.trials.trial import Cause

if TYPE_CHECKING:
    from gateval.domain.trials.model_call import Usage
    from gateval.ports.model_calls import Embed


_SECONDS = 60


async def embedded_likeness(
    embed: Embed | None, model: str, text: str, reference: str
) -> tuple[float, Usage | None]:
    """Return the likeness in [0, 1] and the tokens it took. Raises `CannotEvaluate`."""
    from gateval.ports.model_calls import ModelCallError, ModelCallFault

    if embed is None:
        raise CannotEvaluate(Cause.GATE, "no model can be asked for embeddings here")
    try:
        async with asyncio.timeout(_SECONDS):
            found = await embed(model, (text, reference))
    except TimeoutError:
        message = f"{model} gave no embeddings within {_SECONDS} seconds"
        raise CannotEvaluate(Cause.PROVIDER, message) from None
    except ModelCallError as error:
        ours = error.fault is ModelCallFault.UNCONFIGURED
        message = f"{model} gave no embeddings: {error.message}"
        raise CannotEvaluate(Cause.GATE if ours else Cause.PROVIDER, message) from None
    likeness = cosine(*found.vectors)
    if likeness is None:
        message = f"{model} gave embeddings that cannot be compared"
        raise CannotEvaluate(Cause.PROVIDER, message)
    return max(0.0, likeness), found.usage


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the cosine of the angle between two vectors, in [-1, 1].

    None where there is none: their lengths differ, one is zero, or a number is not finite.
    """
    if len(one) != len(other):
        return None
    product = math.hypot(*one) * math.hypot(*other)
    if not product or not math.isfinite(product):
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, other, strict=True)) / product))
