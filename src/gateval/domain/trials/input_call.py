"""A call that has texts measured rather than answered: embeddings and moderation."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from gateval.domain.base import Value
from gateval.domain.trials.model_call import Usage


class InputKind(StrEnum):
    """What is wanted of the texts: a vector for each, or whether it offends, and by what."""

    EMBEDDING = "embedding"
    MODERATION = "moderation"


class InputRequest(Value):
    """One request. `model` is the bare model id, without the provider's name.

    `dimensions` is how many numbers a vector shall have; None leaves it to the model. `is_tokens`
    says that the texts are numbers of tokens, which only one family of models understands.
    """

    model: str
    texts: tuple[str, ...]
    dimensions: int | None = None
    is_tokens: bool = False


class InputReply(NamedTuple):
    """What came of the texts, in their order.

    `vectors` holds one for each, `flags` the categories by which each offends; the other of the two
    is empty. `usage` is None where a call costs no tokens.
    """

    vectors: Sequence[Sequence[float]] = ()
    flags: Sequence[frozenset[str]] = ()
    usage: Usage | None = Usage()
    model: str = ""
