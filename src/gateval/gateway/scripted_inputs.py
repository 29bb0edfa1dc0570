"""Scripted models that measure texts: the same numbers on every run and machine, without a key.

A vector counts the words of a text, each at a place and with a sign that its hash gives (the
"hashing trick": Weinberger et al., Feature Hashing for Large Scale Multitask Learning, 2009), and
has the length 1. So texts that share words are near each other, as programs that search expect.
"""

from __future__ import annotations

import hashlib
import math
import re

from gateval.domain.manifests.scripted import ScriptedModel
from gateval.domain.trials.input_call import InputKind, InputReply, InputRequest
from gateval.domain.trials.model_call import Message, ModelRequest, Usage
from gateval.gateway.scripted import CHARACTERS_PER_TOKEN, answer
from gateval.wire.inputs.openai_moderations import CATEGORIES

DIMENSIONS = 256
"""Numbers in a vector, if neither the script nor the request says how many."""

MOST_DIMENSIONS = 4_096
MOST_NUMBERS = 500_000
"""Numbers in one answer: about 5 MB of JSON."""

_WORD = re.compile(r"\w+")
_DIGITS = 7


def is_too_much(script: ScriptedModel, request: InputRequest) -> bool:
    """Whether a request asks for more numbers than one answer may hold."""
    size = _dimensions(script, request)
    return size > MOST_DIMENSIONS or size * len(request.texts) > MOST_NUMBERS


def measure(script: ScriptedModel, kind: InputKind, request: InputRequest) -> InputReply:
    """Return what the script makes of the texts. Tokens are estimated as for conversations.

    A text offends by those categories of OpenAI's that the answer of the first rule names which
    applies to it as a user's message.
    """
    if kind is InputKind.MODERATION:
        flags = [_flags(script, request.model, text) for text in request.texts]
        return InputReply(flags=flags, usage=None, model=request.model)
    size = _dimensions(script, request)
    used = sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in request.texts)
    return InputReply(
        vectors=[vector(text, size) for text in request.texts],
        usage=Usage(input_tokens=used, output_tokens=0),
        model=request.model,
    )


def vector(text: str, size: int) -> list[float]:
    """Return the `size` numbers of a text; a text without words points along the first axis."""
    numbers = [0.0] * size
    for word in _WORD.findall(text.casefold()):
        drawn = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8])
        numbers[(drawn >> 1) % size] += 1 if drawn & 1 else -1
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not length:
        return [1.0, *numbers[1:]]
    return [round(number / length, _DIGITS) for number in numbers]


def _dimensions(script: ScriptedModel, request: InputRequest) -> int:
    return request.dimensions or script.spec.dimensions or DIMENSIONS


def _flags(script: ScriptedModel, model: str, text: str) -> frozenset[str]:
    asked = ModelRequest(model=model, messages=(Message(role="user", text=text),))
    found = answer(script, model, asked)
    said = set(re.findall(r"[\w/-]+", found.reply.text)) if found else set()
    return frozenset(said.intersection(CATEGORIES))
