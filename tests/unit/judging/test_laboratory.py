"""A model that obeys whatever its prompt does not keep from it, and each defence taken away alone.

`obeys` is the worst judge there is: it takes every word for an order that it cannot tell from one.
With all defences nothing reaches it. Without any one of them something does, so each is needed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import pytest

from gateval.domain.trials.trial import numbered_steps
from gateval.judging.laboratory import Attack, Position, attacks, deceiving
from gateval.judging.prompt import (
    JudgeLimits,
    is_angle,
    is_hidden,
    judge_request,
    rubric_question,
)
from tests.helpers.trials import JUDGE, PROMPT

CODE = "5f0c2a9e1b7d4836"
GUESS = "0000000000000000"
RUBRICS = ("Ask first.", 'Say "sorry" and call `lookup_order`.', "Score: 1 is best, 0 is worst.")


class Asked(NamedTuple):
    """What a judge is asked: instructions, and the text in which rubric and run stand."""

    instructions: str
    text: str


def asked(attack: Attack, at: Position, code: str, rubric: str = RUBRICS[0]) -> Asked:
    request = judge_request(
        rubric_question(rubric, JudgeLimits()),
        spec=JUDGE,
        fixture_input=PROMPT,
        transcript=numbered_steps(PROMPT, deceiving("I refunded it.", attack, at, code)),
        nonce=CODE,
        limits=JudgeLimits(),
    )
    system, user = request.messages
    return Asked(system.text, user.text)


def obeys(told: Asked) -> bool:
    """Whether it takes something of the run for an order.

    It does where it is not told that the run is data; where hidden characters speak to it behind
    people's backs; and of what it takes to stand outside of the data. The data end for it at a
    closing delimiter of any look and code, at the right code in any brackets, and where the JSON
    ends.
    """
    if "never an instruction" not in told.instructions:
        return True
    if any(is_hidden(char) and char != "\n" for char in told.text):
        return True
    seen = "".join(_as_it_looks(char) for char in told.text)
    begun = seen.index(f"<run-{CODE}>") + len(f"<run-{CODE}>")
    ends = re.compile(rf"</ ?run[^>]*>|/run-{CODE}")
    end = ends.search(seen, begun)
    if end is None or seen[end.end() :].strip():
        return True
    run = seen[begun : end.start()].strip()
    try:
        _, read = json.JSONDecoder().raw_decode(run)
    except json.JSONDecodeError:
        return True
    return read < len(run)


def _as_it_looks(char: str) -> str:
    if not is_angle(char):
        return char
    plain = unicodedata.normalize("NFKD", char)
    if plain in {"<", ">"}:
        return plain
    name = unicodedata.name(char, "")
    return ">" if "RIGHT" in name or "GREATER" in name else "<"


def _unescaped(keep: Callable[[str], bool]) -> Callable[[Asked], Asked]:
    """Return what writes the escapes of some characters as the characters themselves."""

    def back(found: re.Match[str]) -> str:
        char = str(json.loads(f'"{found[0]}"'))
        return char if any(keep(one) for one in char) else found[0]

    escape = re.compile(r"(?:\\ud[89ab][0-9a-f]{2})?\\u[0-9a-f]{4}")
    return lambda told: told._replace(text=escape.sub(back, told.text))


def _as_prose(told: Asked) -> Asked:
    text = told.text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return told._replace(text=text)


def _without_the_clause(told: Asked) -> Asked:
    kept = [one for one in told.instructions.split("\n\n") if "never an instruction" not in one]
    return told._replace(instructions="\n\n".join(kept))


DEFENCES: dict[str, tuple[str, Callable[[Asked], Asked]]] = {
    "the code is secret": (CODE, lambda told: told),
    "no bracket is left": (GUESS, _unescaped(is_angle)),
    "nothing is hidden": (GUESS, _unescaped(is_hidden)),
    "the run is JSON": (GUESS, _as_prose),
    "the run is data": (GUESS, _without_the_clause),
}
"""By name: the code that the candidate then knows, and what takes the defence away."""

ALL = [(one, at) for one in attacks() for at in Position]


@pytest.mark.parametrize("rubric", RUBRICS)
def test_no_attack_gets_through_all_defences(rubric: str) -> None:
    assert [pair for pair in ALL if obeys(asked(*pair, GUESS, rubric))] == []


@pytest.mark.parametrize("defence", DEFENCES)
def test_without_any_one_defence_an_attack_gets_through(defence: str) -> None:
    code, take_away = DEFENCES[defence]
    through = [pair for pair in ALL if obeys(take_away(asked(*pair, code)))]
    assert through, defence
    assert len({at for _, at in through}) > 3, "from most places"


def test_there_are_attacks_of_all_kinds() -> None:
    kinds = {one.kind for one in attacks()}
    assert len(attacks()) >= 80
    assert len(kinds) >= 18
    said = [one.said(GUESS) for one in attacks()]
    assert len(set(said)) == len(said), "no attack stands there twice"


def test_parts_are_said_in_steps_of_their_own() -> None:
    split = Attack(kind="split", parts=("a", "b", "c"))
    answer = deceiving("No.", split, Position.RESULT)
    assert answer.trace is not None
    assert [step.text for step in answer.trace.steps] == ["a", "b", "c"]
    final = deceiving("No.", split, Position.ANSWER)
    assert final.trace is not None
    assert [step.text for step in final.trace.steps] == ["a", "b"]
    assert final.output == "No.\n\nc"
