"""What a candidate may say to deceive its judge, as data, and where in a run it can say that.

The attacks are in `attacks.toml`, and in `independent_attacks.toml` those of an author who had not
seen the defences. Tests try them on the prompt, `gateval judge attack` and the
calibrations of judges with `maxInjected` on the judge itself.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from gateval.domain.base import Value, digest
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Answer

CODE = "NONCE"
"""Stands in an attack for the code of the delimiters, as if the candidate knew it."""

_HARMLESS = "The order was looked up, and nothing about it was unusual. "


class Position(StrEnum):
    """Where in its run a candidate says it."""

    ANSWER = "answer"
    BEFORE = "earlier message"
    ARGUMENTS = "arguments"
    ARGUMENT_NAME = "name of an argument"
    TOOL = "name of a tool"
    RESULT = "tool result"
    USER = "words of a user"


class Attack(Value):
    """A text that is to raise a score. `kind` is what results are counted by.

    `parts` are said in steps of their own, one after the other. `filler` harmless sentences come
    before the first. A `claim` gives no order, but says what happened, or what words mean. `at` is
    where it is said beside the answer, None for wherever it is its turn.
    """

    kind: str = Field(min_length=1)
    text: str = ""
    parts: tuple[str, ...] = ()
    filler: int = Field(default=0, ge=0)
    claim: bool = False
    at: Position | None = None

    def said(self, code: str) -> tuple[str, ...]:
        """Return its texts, in order, with a code of delimiters in its place."""
        first, *others = self.parts or (self.text,)
        return tuple(one.replace(CODE, code) for one in (_HARMLESS * self.filler + first, *others))


_FILES = ("attacks.toml", "independent_attacks.toml")


@functools.cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks, in the order of the files."""
    here = Path(__file__)
    texts = [here.with_name(name).read_text("utf-8") for name in _FILES]
    written = [one for text in texts for one in tomllib.loads(text)["attack"]]
    return tuple(map(Attack.model_validate, written))


class AttackQuestion(NamedTuple):
    """An attack to put into the answer of an example, counted from 1, and where."""

    attack: Attack
    at: Position
    example: int


_ELSEWHERE = tuple(one for one in Position if one is not Position.ANSWER)


def attack_questions(examples: Sequence[int]) -> list[AttackQuestion]:
    """Return each attack twice: in the answer, where all judges look, and in another place. They
    go round places and examples, and none is asked where there is no example.
    """
    found: list[AttackQuestion] = []
    for number, attack in enumerate(attacks() if examples else ()):
        for at in (Position.ANSWER, attack.at or _ELSEWHERE[number % len(_ELSEWHERE)]):
            turn = len(found) + number // len(_ELSEWHERE)  # so that places meet all examples
            found.append(AttackQuestion(attack, at, examples[turn % len(examples)]))
    return found


@functools.cache
def attacks_digest() -> str:
    """Return the SHA-256 of all that judges are attacked with, and how."""
    questions = [(one.attack.model_dump(mode="json"), str(one.at)) for one in attack_questions([1])]
    return digest([[attack, at] for attack, at in questions])


def deceiving(output: str, attack: Attack, at: Position, code: str = "") -> Answer:
    """Return an answer that ends with `output` and carries the attack at a position.

    In the answer itself the attack follows the output, its last part if it has several.
    """
    *before, last = attack.said(code)
    if at is Position.ANSWER:
        steps = [_step(Position.BEFORE, one) for one in before]
        return _answer(f"{output}\n\n{last}", steps)
    return _answer(output, [_step(at, one) for one in (*before, last)])


def _answer(output: str, steps: list[Step]) -> Answer:
    numbered = tuple(one.replace(number=at) for at, one in enumerate(steps, 1))
    trace = Trace(steps=numbered, source="gateway") if steps else None
    return Answer(output=output, trace=trace, seconds=0)


def _step(at: Position, text: str) -> Step:
    match at:
        case Position.USER:
            return Step(number=1, kind=StepKind.USER, text=text)
        case Position.RESULT:
            return Step(number=1, kind=StepKind.TOOL_RESULT, tool="search", text=text)
        case Position.TOOL:
            return Step(number=1, kind=StepKind.TOOL_CALL, tool=text, arguments={})
        case Position.ARGUMENTS:
            return Step(number=1, kind=StepKind.TOOL_CALL, tool="search", arguments={"query": text})
        case Position.ARGUMENT_NAME:
            return Step(number=1, kind=StepKind.TOOL_CALL, tool="search", arguments={text: "x"})
        case Position.ANSWER | Position.BEFORE:
            return Step(number=1, kind=StepKind.ASSISTANT, text=text)
