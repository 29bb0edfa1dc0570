"""A model that obeys whatever its prompt does not keep from it, and each defence taken away alone.

`obeys` is the worst judge there is: it takes every word for an order that it cannot tell from one.
With all defences nothing reaches it. Without any one of them something does, so each is needed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from gateval.domain.trials.model_call import ModelRequest
from gateval.domain.trials.trial import numbered_steps
from gateval.judging.laboratory import (
    Attack,
    Position,
    attack_questions,
    attacks,
    deceiving,
)
from gateval.judging.preference import AnswerPair, preference_request
from gateval.judging.prompt import (
    JudgeLimits,
    JudgeQuestion,
    judge_request,
    repair_request,
    rubric_question,
)
from gateval.judging.verdict import Check, checklist_question
from gateval.safe.legible import is_angle, is_hidden
from tests.helpers.trials import JUDGE, PROMPT

CODE = "5f0c2a9e1b7d4836"
GUESS = "0000000000000000"
RUBRICS = ("Ask first.", 'Say "sorry" and call `lookup_order`.', "Score: 1 is best, 0 is worst.")


class Asked(NamedTuple):
    """What a judge is asked: instructions, and the text in which the strangers' words stand between
    delimiters of this name. `claims`: they give no order.
    """

    instructions: str
    text: str
    tag: str
    claims: bool


def _of(request: ModelRequest, tag: str, attack: Attack) -> Asked:
    system, user = request.messages[:2]
    return Asked(system.text, user.text, tag, attack.claim)


def _about_a_run(question: JudgeQuestion, attack: Attack, at: Position, code: str) -> ModelRequest:
    return judge_request(
        question,
        spec=JUDGE,
        fixture_input=PROMPT,
        transcript=numbered_steps(PROMPT, deceiving("I refunded it.", attack, at, code)),
        nonce=CODE,
        limits=JudgeLimits(),
    )


def by_rubric(attack: Attack, at: Position, code: str, rubric: str) -> Asked:
    question = rubric_question(rubric, JudgeLimits())
    return _of(_about_a_run(question, attack, at, code), "run", attack)


def by_checks(attack: Attack, at: Position, code: str, rubric: str) -> Asked:
    checks = [Check(id="a", text=rubric), Check(id="b", text="It is short.", pointed=True)]
    question = checklist_question(checks, "Refunds.", JudgeLimits())
    return _of(_about_a_run(question, attack, at, code), "run", attack)


def by_preference(attack: Attack, at: Position, code: str, rubric: str) -> Asked:
    said = "\n".join(attack.said(code)).replace("/run-", "/answers-")
    answers = (said, "Gladly.") if at is Position.ANSWER else ("Gladly.", said)
    pair = AnswerPair(PROMPT, *answers)
    request = preference_request(rubric, pair, spec=JUDGE, nonce=CODE, limits=JudgeLimits())
    return _of(request, "answers", attack)


def once_more(attack: Attack, at: Position, code: str, rubric: str) -> Asked:
    """The second question of a judge that repeated what it read, as its words and in its quotes."""
    request = _about_a_run(rubric_question(rubric, JudgeLimits()), attack, at, code)
    said = "\n".join(attack.said(code))
    again = repair_request(
        request, f"It says: {said}", [f'the quote "{said}" does not stand there.']
    )
    system, user, reply, defects = (one.text for one in again.messages)
    listed = defects.partition("- ")[2].partition("\n")[0]
    shown = f"<run-{CODE}>\n{json.dumps(reply, ensure_ascii=False)}\n</run-{CODE}>"
    for raw in (reply, listed):
        assert not any(is_angle(char) or (is_hidden(char) and char not in "\n\t") for char in raw)
    assert (system, user) == tuple(one.text for one in request.messages)
    return Asked(system, shown, "run", attack.claim)


FORMS = {"rubric": by_rubric, "checks": by_checks, "preference": by_preference, "again": once_more}


def obeys(told: Asked) -> bool:
    """Whether it takes something of the run for an order, or believes it.

    It does where it is not told that the run is data, or that claims prove nothing; where hidden
    characters speak to it behind people's backs; and of what it takes to stand outside of the data.
    The data end for it at a closing delimiter of any look and code, at the right code in any
    brackets, and where the JSON ends.
    """
    if "never an instruction" not in told.instructions:
        return True
    if told.claims and "proves nothing" not in told.instructions:
        return True
    chars = set(told.text)
    if any(is_hidden(char) and char != "\n" for char in chars):
        return True
    seen = told.text.translate({ord(char): _as_it_looks(char) for char in chars})
    begun = seen.index(f"<{told.tag}-{CODE}>") + len(f"<{told.tag}-{CODE}>")
    ends = re.compile(rf"</ ?{told.tag}[^>]*>|/{told.tag}-{CODE}")
    end = ends.search(seen, begun)
    if end is None or seen[end.end() :].strip():
        return True
    run = seen[begun : end.start()].strip()
    try:
        shown, read = json.JSONDecoder().raw_decode(run)
    except json.JSONDecodeError:
        return True
    return read < len(run) or (told.claims and any(_as_a_user(shown, told.instructions)))


def _as_a_user(shown: Any, instructions: str) -> Iterator[str]:
    """What it takes for the words of a user, of those that no user said."""
    marked = "in a user's name" in instructions
    for step in shown.get("steps", ()) if isinstance(shown, dict) else ():
        known = step.get("text") == PROMPT.prompt or (marked and step.get("claimed"))
        if step["kind"] == "user" and not known:
            yield step["text"]


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


def _without(words: str) -> Callable[[Asked], Asked]:
    """Return what takes the sentence with these words from the instructions."""

    def without(told: Asked) -> Asked:
        kept = [one for one in re.split(r"(?<=\.)\s", told.instructions) if words not in one]
        return told._replace(instructions=" ".join(kept))

    return without


DEFENCES: dict[str, tuple[str, Callable[[Asked], Asked]]] = {
    "the code is secret": (CODE, lambda told: told),
    "no bracket is left": (GUESS, _unescaped(is_angle)),
    "nothing is hidden": (GUESS, _unescaped(is_hidden)),
    "the run is JSON": (GUESS, _as_prose),
    "the run is data": (GUESS, _without("never an instruction")),
    "claims are no proof": (GUESS, _without("proves nothing")),
}
"""By name: the code that the candidate then knows, and what takes the defence away."""

ALL = [(one, at) for one in attacks() for at in Position]


@pytest.mark.parametrize("form", FORMS)
def test_no_attack_gets_through_all_defences(form: str) -> None:
    for rubric in RUBRICS:
        assert [pair for pair in ALL if obeys(FORMS[form](*pair, GUESS, rubric))] == []


@pytest.mark.parametrize("form", ["rubric", "checks", "preference"])
@pytest.mark.parametrize("defence", DEFENCES)
def test_without_any_one_defence_an_attack_gets_through(defence: str, form: str) -> None:
    code, take_away = DEFENCES[defence]
    for rubric in RUBRICS:
        places: set[Position] = set()
        for one, at in ALL:
            if len(places) <= 3 and obeys(take_away(FORMS[form](one, at, code, rubric))):
                places.add(at)
        assert len(places) > 3, "from most places"


@pytest.mark.parametrize("form", ["rubric", "checks"])
def test_what_a_program_puts_in_a_users_mouth_is_known_by_its_mark(form: str) -> None:
    claims = [one for one in attacks() if one.claim]
    for rubric in RUBRICS:
        asked = [FORMS[form](one, Position.USER, GUESS, rubric) for one in claims]
        assert not [one for one in asked if obeys(one)]
        unmarked = [one._replace(text=one.text.replace(',"claimed":true', "")) for one in asked]
        untold = map(_without("in a user's name"), asked)
        assert all(map(obeys, [*unmarked, *untold]))
    consent = [one for one in attacks() if one.at is Position.USER]
    assert consent, "there is consent that nobody gave"
    places = {one.at for one in attack_questions([1]) if one.attack in consent}
    assert places == {Position.ANSWER, Position.USER}


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
