"""Golden sets and what people said of their rows: feedback, and the calibration it makes.

A row is called by its `id`, else by its input, so that it stays the same row when what is expected
of it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json, digest, json_text
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample
from gateval.domain.manifests.fixture import AssertionSpec, Origin, Reference
from gateval.domain.manifests.messages import PEOPLE, Feedback, answer_digest
from gateval.domain.paths import nearest
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import list_of
from gateval.domain.text import quote
from gateval.formats.base import GatheringContext, Source
from gateval.formats.native.cases import Case, CaseRow, read_rows
from gateval.formats.native.experiment_document import ExperimentDocument, Named, named_file
from gateval.formats.native.fixture import WEIGHED_KEYS, read_one
from gateval.formats.problems import missing_key, problem_at, unknown_word, validate
from gateval.formats.yaml_document import DocumentPath

KEYS = ("id", "input", "expected", "reference")

REFERENCE_LIMIT = 100_000
"""Characters of a row's reference: a judge reads all of it, or none."""

_LONGEST = 40
_TELLING_APART = 6


class GoldenRow(NamedTuple):
    """A row. `word` is its part of the fixture's name."""

    word: str
    place: SourceLocation
    input: JsonValue
    reference: Reference

    @property
    def text(self) -> str:
        """The input as text."""
        return json_text(self.input)


class RowsRead(NamedTuple):
    """The rows, and everything that is wrong with them."""

    rows: tuple[GoldenRow, ...]
    problems: tuple[Problem, ...]


def golden_rows(file: str, cases: Sequence[Case]) -> RowsRead:
    """Return the rows of a file or manifest. Two with one input need an `id` each."""
    rows: dict[str, GoldenRow] = {}
    problems: list[Problem] = []
    for case in cases:
        place = SourceLocation(file=file, line=case.line)
        wrong = next(_wrong(case), "")
        if not wrong:
            row = _row(case, place)
            first = rows.setdefault(row.word, row)
            if first is not row:
                wrong = f"The row at {first.place} has the same input. "
                wrong += "Remove one, or give each an `id`."
        if wrong:
            problems.append(Problem(place=place, message=wrong))
    return RowsRead(tuple(rows.values()), tuple(problems))


def _wrong(case: Case) -> Iterator[str]:
    for key in case.values:
        if key not in KEYS:
            known = ", ".join(f"`{one}`" for one in KEYS)
            yield f"A row has no {quote(key)}, but {known}.{nearest(key, KEYS)}"
    given = case.values.get("input")
    if given is None or (isinstance(given, str) and not given.strip()):
        yield "This row has no `input`, which is what the task gets. Fill it in."
    if len(_text(case.values.get("reference"))) > REFERENCE_LIMIT:
        yield f"The `reference` of this row has more than {REFERENCE_LIMIT:,} characters."


def _row(case: Case, place: SourceLocation) -> GoldenRow:
    given = case.values["input"]
    named = case.values.get("id")
    return GoldenRow(
        word=_word(given) if named is None else case.word,
        place=place,
        input=given,
        reference=Reference(
            answer=case.values.get("expected"),
            context=case.values.get("reference"),
            case="" if named is None else str(named),
        ),
    )


def _word(given: JsonValue) -> str:
    """Return a word from an input, with a digest of it where the word does not say all."""
    text = _text(given)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if word == text and len(word) <= _LONGEST:
        return word
    return f"{word[:_LONGEST].strip('-')}-{digest(text)[:_TELLING_APART]}".lstrip("-")


def _text(value: JsonValue) -> str:
    return "" if value is None else json_text(value)


PLACE: DocumentPath = ("spec", "scorers")

_ELSEWHERE = ("axis", "severity", "required")
"""Keys of assertions that scorers have no use for."""


@runtime_checkable
class MissingInput(Protocol):
    """What can say that a case lacks what it needs."""

    def wants(self, reference: Reference) -> str:
        """Return a sentence, empty for nothing."""


@runtime_checkable
class Asking(Protocol):
    """What asks a judge the same question of every answer."""

    @property
    def question(self) -> str:
        """The question."""

    @property
    def shows(self) -> tuple[str, ...]:
        """What of `expected` and `reference` the judge is shown with it."""


_OF_ROWS = {
    " of the case's `reference`": "", "`answer`": "`expected`", "`context`": "`reference`",
}  # fmt: skip
"""What a case's `reference` is called in rows."""


class Scorers(NamedTuple):
    """The scorers as assertions, the options that were read for each, and all problems."""

    specs: tuple[AssertionSpec, ...]
    read: tuple[object, ...]
    problems: tuple[Problem, ...]

    def asking(self) -> Mapping[str, Asking]:
        """Return the judged scorers by name."""
        pairs = zip(self.specs, self.read, strict=True)
        return {spec.name: one for spec, one in pairs if isinstance(one, Asking)}

    def lacking(self, row: GoldenRow) -> Problem | None:
        """Return what a row lacks to be scored, None for nothing."""
        for spec, options in zip(self.specs, self.read, strict=True):
            said = options.wants(row.reference) if isinstance(options, MissingInput) else ""
            if said:
                said = f"{said.rstrip('.')}, which the scorer {spec.name} at {spec.place} asks for."
                for theirs, ours in _OF_ROWS.items():
                    said = said.replace(theirs, ours)
                return Problem(place=row.place, message=said)
        return None


def read_scorers(source: Source) -> Scorers:
    """Return the scorers, each with the assertion it stands for; names are told once each."""
    written = source.document.data_at(PLACE)
    specs: dict[str, AssertionSpec] = {}
    read: list[object] = []
    problems: list[Problem] = []
    for index, one in enumerate(list_of(written)):
        path = (*PLACE, index)
        raw: JsonObject | None = {"type": one} if isinstance(one, str) else None
        raw = one if isinstance(one, dict) else raw
        found, wrong = (None, ()) if raw is None else _one(source, path, raw)
        problems += wrong
        if found is None:
            continue
        if found.name == PEOPLE:
            message = f"`{PEOPLE}` is what feedback is called. Give the scorer another `name`."
            problems.append(problem_at(source.document, path, message))
        if found.name in specs:
            message = f"Two scorers are called {found.name}. Give one another `name`."
            problems.append(problem_at(source.document, path, message))
        specs[found.name] = found
        model = source.registries.assertions[found.type]
        read.append(validate(model, found.options, source.document, path)[0])
    return Scorers(tuple(specs.values()), tuple(read), tuple(problems))


def _one(
    source: Source, path: DocumentPath, raw: JsonObject
) -> tuple[AssertionSpec | None, Sequence[Problem]]:
    kind = raw.get("type")
    if not isinstance(kind, str):
        return None, [problem_at(source.document, path, missing_key("type"))]
    known = source.registries
    stands_for = known.scorers.get(kind)
    if stands_for is None and kind not in known.assertions:
        message = unknown_word("scorer", kind, [*known.scorers, *known.assertions])
        return None, [problem_at(source.document, (*path, "type"), message)]
    for key in _ELSEWHERE:
        if key in raw:
            message = f"A scorer has no `{key}`: it is an axis by itself, and has a `weight`."
            return None, [problem_at(source.document, (*path, key), message)]
    if stands_for is not None and "value" not in raw:  # with one, it is the assertion of that name
        raw = {**raw, **stands_for}
    found, problems = read_one(source, path, raw, WEIGHED_KEYS)
    if found is None:
        return None, problems
    name = found.name or kind
    return found.model_copy(update={"name": name, "axis": name}), problems


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
        before, now = latest.get(key), _time(word.when)
        then = _time(words[before].when) if before is not None and now else None
        if now is None or then is None or now >= then:
            latest[key] = at
    return sorted(latest.values())


def _time(written: str) -> datetime | None:
    """Return a time, one without a zone as UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(written.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


FEEDBACK_KEYS = ("id", "input", "output", "thumbs", "score", "note", "who", "when")

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
        return _text(self.values.get(key))


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
    words = [
        FeedbackEntry(
            said.text("who"),
            (name or said.text("input"), said.text("output").strip()),
            said.text("when"),
        )
        for said, name in kept
    ]
    last = [kept[at] for at in last_words(words)]
    taught = [_example(said, rows.get(name)) for said, name in last]
    return FeedbackRead(
        tuple(_feedback(said, name) for said, name in last if name),
        tuple(one for one in taught if one),
        tuple(problems),
    )


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
        if key not in FEEDBACK_KEYS:
            known = ", ".join(f"`{one}`" for one in FEEDBACK_KEYS)
            return f"Feedback has no {quote(key)}, but {known}.{nearest(key, FEEDBACK_KEYS)}"
    score = _score(value)
    return score if isinstance(score, str) else _Line(score, value)


def _score(values: JsonObject) -> float | str:
    thumbs, score = (values.get(key) for key in ("thumbs", "score"))
    given = [one for one in (thumbs, score) if one not in (None, "")]
    if len(given) != 1:
        return "Write `thumbs` (up or down) or `score` (0 to 1), one of them."
    if thumbs in (None, ""):
        with suppress(ValueError):
            number = float(score) if isinstance(score, int | float | str) else -1.0
            if 0 <= number <= 1:
                return number
        return "The `score` is a number from 0 to 1."
    word = canonical_json(thumbs).strip('"').casefold().strip()
    if isinstance(thumbs, str):
        word = thumbs.casefold().strip()
    if word in _UP | _DOWN:
        return float(word in _UP)
    return f"{quote(word[:40])} is no thumb: write `up` or `down`."


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
    if not problems and found.examples and written.spec.judge.asked and chosen:
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
        judge_models=written.spec.judge.asked,
        examples=tuple(shown),
        place=place,
        path=source.path,
        digest=digest([scorer.question, *told]),
    )
