"""Reads what people said of answers: thumbs or scores, a line each, in CSV or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.calibration import CalibrationExample
from gateval.domain.manifests.fixtures.feedback import Feedback, answer_digest
from gateval.domain.manifests.fixtures.recorded import Origin
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.text.quoting import quote
from gateval.formats.native.cases.case import Row
from gateval.formats.native.experiments.last_words import Word, last_words
from gateval.formats.native.experiments.rows import GoldenRow

KEYS = ("id", "input", "output", "thumbs", "score", "note", "who", "when")

ENDINGS = (".csv", ".jsonl")

_UP = frozenset({"up", "👍", "+1", "yes", "true", "1", "good"})
_DOWN = frozenset({"down", "👎", "-1", "no", "false", "0", "bad"})
_SAID = 300


class FeedbackRead(NamedTuple):
    """What was said of rows, what it teaches of answers, and everything that is wrong."""

    feedback: tuple[Feedback, ...]
    examples: tuple[CalibrationExample, ...]
    problems: tuple[Problem, ...]


class _Line(NamedTuple):
    score: float
    values: Mapping[str, JsonValue]

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if value is None:
            return ""
        return value if isinstance(value, str) else canonical_json(value)


def read_feedback(file: str, lines: Sequence[Row], rows: Mapping[str, GoldenRow]) -> FeedbackRead:
    """Return the lines of a file; `rows` are those of the golden set by fixture.

    A line belongs to the row of its `id`, else of its `input`. One that belongs to none still
    teaches, if it says input and output: people ask what no golden set holds. Of what one person
    says of one answer, the last word counts.
    """
    named = {one.reference.case: name for name, one in rows.items() if one.reference.case}
    asked = {one.text: name for name, one in rows.items()}
    kept: list[tuple[_Line, str]] = []
    problems: list[Problem] = []
    for line in lines:
        said = _line(line.value)
        if not isinstance(said, str):
            own, other = named.get(said.text("id")), asked.get(said.text("input"))
            name = own or other or ""
            if wrong := _no_row(said, name, {own, other}):
                said = wrong
            else:
                kept.append((said, name))
        if isinstance(said, str):
            problems.append(Problem(place=Place(file=file, line=line.line), message=said))
    last = [kept[at] for at in last_words([_word(*one) for one in kept])]
    taught = [_example(said, rows.get(name)) for said, name in last]
    return FeedbackRead(
        tuple(_feedback(said, name) for said, name in last if name),
        tuple(one for one in taught if one),
        tuple(problems),
    )


def _word(said: _Line, name: str) -> Word:
    of = (name or said.text("input"), said.text("output").strip())
    return Word(said.text("who"), of, said.text("when"))


def _no_row(said: _Line, name: str, found: AbstractSet[str | None]) -> str:
    """Return why a line belongs to no row, if it should; empty where it is fine."""
    if len(found - {None}) > 1:
        return "The `id` and the `input` of this line are those of two rows. Leave one out."
    if not name and _example(said, None) is None:
        return "No row has this `id` or `input`, and there is no `output` to learn from."
    return ""


def _line(value: JsonValue) -> _Line | str:
    """Return a line, or what is wrong with it."""
    if not isinstance(value, dict):
        return 'A line is a mapping, such as {"input": "Hi", "thumbs": "up"}.'
    for key in value:
        if key not in KEYS:
            known = ", ".join(f"`{one}`" for one in KEYS)
            return f"Feedback has no {quote(key)}, but {known}.{nearest(key, KEYS)}"
    score = _score(value)
    return score if isinstance(score, str) else _Line(score, value)


def _score(values: JsonObject) -> float | str:
    thumbs, score = (values.get(key) for key in ("thumbs", "score"))
    given = [one for one in (thumbs, score) if one not in (None, "")]
    if len(given) != 1:
        return "Write `thumbs` (up or down) or `score` (0 to 1), one of them."
    if thumbs in (None, ""):
        number = _number(score)
        wrong = number is None or not 0 <= number <= 1
        return "The `score` is a number from 0 to 1." if wrong or number is None else number
    word = canonical_json(thumbs).strip('"').casefold().strip()
    if isinstance(thumbs, str):
        word = thumbs.casefold().strip()
    if word in _UP | _DOWN:
        return float(word in _UP)
    return f"{quote(word[:40])} is no thumb: write `up` or `down`."


def _number(value: JsonValue) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None


def _feedback(said: _Line, fixture: str) -> Feedback:
    output = said.text("output")
    return Feedback(
        fixture=fixture,
        score=said.score,
        answer=answer_digest(output) if output.strip() else "",
        note=said.text("note")[:_SAID],
        who=said.text("who")[:_SAID],
        when=said.text("when")[:_SAID],
    )


def _example(said: _Line, row: GoldenRow | None) -> CalibrationExample | None:
    """Return what a line teaches of an answer; None where it says not of which."""
    output = said.text("output")
    asked = said.values.get("input") if row is None else row.input
    if not output.strip() or asked in (None, ""):
        return None
    origin = {"promotedBy": said.text("who") or None, "promotedAt": said.text("when") or None}
    return CalibrationExample(
        input=asked,
        candidate_output=output,
        human_score=said.score,
        human_label=said.text("note") or None,
        expected=row.reference.answer if row else None,
        reference=row.reference.context if row else None,
        origin=Origin.model_validate(origin) if any(origin.values()) else None,
    )
