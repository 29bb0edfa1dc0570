"""What people said of an experiment's answers: thumbs or scores, as a column and as labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json, digest
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample
from gateval.domain.manifests.fixture import Origin
from gateval.domain.manifests.messages import Feedback, answer_digest
from gateval.domain.paths import Problem, SourceLocation, nearest
from gateval.domain.text import quote
from gateval.formats.base import GatheringContext, Source
from gateval.formats.native.cases import CaseRow, read_rows
from gateval.formats.native.experiment_document import ExperimentDocument, Named, named_file
from gateval.formats.native.golden_set import Asking, GoldenRow, Scorers
from gateval.formats.problems import problem_at


class FeedbackEntry(NamedTuple):
    """What somebody said: who (empty for nobody knows), of what, and when, as it was written."""

    who: str
    of: Hashable
    when: str


def last_words(words: Sequence[FeedbackEntry]) -> list[int]:
    """Return where the words stand that nobody took back by another one, in order.

    The later `when` (ISO 8601) counts; where one of two has none, what was written later. Two words
    of people who are not named are those of two.
    """
    latest: dict[Hashable, int] = {}
    for at, word in enumerate(words):
        who = word.who.strip().casefold()
        key = (who, word.of) if who else at
        before = latest.get(key)
        if before is None or not _is_earlier(word, words[before]):
            latest[key] = at
    return sorted(latest.values())


def _is_earlier(one: FeedbackEntry, other: FeedbackEntry) -> bool:
    first, second = _time(one.when), _time(other.when)
    return first is not None and second is not None and first < second


def _time(written: str) -> datetime | None:
    """Return a time, one without a zone as UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(written.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


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


def read_feedback(
    file: str, lines: Sequence[CaseRow], rows: Mapping[str, GoldenRow]
) -> FeedbackRead:
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
            problems.append(Problem(place=SourceLocation(file=file, line=line.line), message=said))
    last = [kept[at] for at in last_words([_word(*one) for one in kept])]
    taught = [_example(said, rows.get(name)) for said, name in last]
    return FeedbackRead(
        tuple(_feedback(said, name) for said, name in last if name),
        tuple(one for one in taught if one),
        tuple(problems),
    )


def _word(said: _Line, name: str) -> FeedbackEntry:
    of = (name or said.text("input"), said.text("output").strip())
    return FeedbackEntry(said.text("who"), of, said.text("when"))


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


class FeedbackLabels(NamedTuple):
    """What people said of rows, the calibration it makes, its file, and all problems."""

    feedback: tuple[Feedback, ...] = ()
    calibration: Calibration | None = None
    file: str = ""
    problems: tuple[Problem, ...] = ()


def read_labels(
    source: Source,
    written: ExperimentDocument,
    around: GatheringContext,
    rows: Mapping[str, GoldenRow],
    scorers: Scorers,
) -> FeedbackLabels:
    """Return what people said; `rows` are those of the golden set by fixture."""
    asked = written.spec.feedback
    if asked is None:
        return FeedbackLabels()
    named = named_file(source, ("spec", "feedback", "file"), asked.file, around, ENDINGS)
    if not isinstance(named, Named):
        return FeedbackLabels(problems=(named,))
    lines, wrong = read_rows(named.path, named.content)
    found = read_feedback(named.shown, lines, rows)
    chosen = _scorer(source, written, scorers)
    problems = [*wrong, *found.problems, *([chosen] if isinstance(chosen, Problem) else [])]
    calibration = None
    if not problems and found.examples and written.spec.judge.model and chosen:
        assert not isinstance(chosen, Problem)  # noqa: S101 - it would be among the problems
        place = SourceLocation(file=named.shown, line=1)
        calibration = _calibration(source, written, chosen, found.examples, place)
    return FeedbackLabels(found.feedback, calibration, named.path, tuple(problems))


def _scorer(
    source: Source, written: ExperimentDocument, scorers: Scorers
) -> Asking | Problem | None:
    """Return the judged scorer that the feedback speaks of; None where that is not known."""
    judged, asked = scorers.asking(), written.spec.feedback
    name = asked.scorer if asked else None
    if name is None:
        return next(iter(judged.values())) if len(judged) == 1 else None
    if name in judged:
        return judged[name]
    known = ", ".join(judged) or "none"
    message = f"No judged scorer is called {name!r}.{nearest(name, judged)} There are: {known}."
    return problem_at(source.document, ("spec", "feedback", "scorer"), message)


def _calibration(
    source: Source,
    written: ExperimentDocument,
    scorer: Asking,
    examples: tuple[CalibrationExample, ...],
    place: SourceLocation,
) -> Calibration:
    shown = [
        one.model_copy(
            update={key: None for key in ("expected", "reference") if key not in scorer.shows}
        )
        for one in examples
    ]
    told = [one.model_dump(mode="json") for one in shown]
    return Calibration(
        name=f"{written.metadata.name}-feedback",
        labels=written.metadata.labels,
        rubric=scorer.question,
        judge_models=(str(written.spec.judge.model),),
        examples=tuple(shown),
        place=place,
        path=source.path,
        digest=digest([scorer.question, *told]),
    )
