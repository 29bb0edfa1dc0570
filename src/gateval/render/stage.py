"""Stage files: plan, results and decision as versioned JSON, written and read back.

They cross trust borders: what is read was perhaps written by someone else. So nothing unknown,
ambiguous or oversized is accepted, and every refusal says what is wrong. Pure: bytes in, values
out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError

from gateval.domain.base import JsonObject, Value, plain_message
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import is_open
from gateval.domain.results.offers import SharedOffer
from gateval.domain.results.results import Results, ResultsPart, RunInfo
from gateval.domain.strict_json import DEPTH_LIMIT, NotStrictJson, read_json, read_json_parts
from gateval.domain.trials.kept import KeptSteps
from gateval.domain.trials.trial import Assessment, AssessmentStatus, Trial
from gateval.errors import StageFileError
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.domain.decision.decision import Report
    from gateval.domain.forge.trigger import Trigger
    from gateval.domain.results.reuse import ReusableTrials


PLAN_LIMIT = 64 * 1024 * 1024
"""Bytes of a plan."""

TRIGGER_LIMIT = 64 * 1024
"""Bytes of a trigger."""

RESULTS_LIMIT = 4 * 1024 * 1024 * 1024
"""Bytes of results: more than a run that fits into a machine's memory writes. What comes from
strangers has limits of its own."""

_PROBLEMS_SHOWN = 5

_HINT = "Make the file again with this version of Gateval."
_OF_A_PART = (
    "A part holds no plan, and is for `step: publish`. Name results.v1.json of the job that made "
    "it, or of the one that published."
)

_DEPTH = DEPTH_LIMIT + 20
"""Levels of nesting: those of a tool call's arguments, and those of the results around them."""

V = TypeVar("V", bound=Value)
K = TypeVar("K")


def dump(value: Value, *, indent: int | None = 2) -> str:
    """Return a value as JSON with a newline at the end; equal values, equal text.

    Without `indent` it is one line: half the size, for files that only programs read.

    What JSON cannot hold is replaced: a lone surrogate by U+FFFD, `NaN` by null. Raises
    `ValueError` for a plan with the words of sealed Evals: what is dumped, everybody may read.
    """
    _refuse_open(value)
    return dump_whole(value, indent=indent)


def _refuse_open(value: Value) -> None:
    plan = value.plan if isinstance(value, Results) else value
    if isinstance(plan, Plan) and any(map(is_open, plan.evals)):
        raise ValueError("a plan with the words of sealed Evals is not for everybody")


def dump_whole(
    value: Value, *, indent: int | None = None, fields: Collection[str] | None = None
) -> str:
    """Return the same with sealed words, where there are any: to be encrypted. With `fields`, these
    alone.
    """
    include = None if fields is None else set(fields)
    try:
        return value.model_dump_json(indent=indent, include=include) + "\n"
    except PydanticSerializationError:
        text = json.dumps(value.model_dump(mode="json", include=include), ensure_ascii=False)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        finite = json.loads(whole, parse_constant=lambda _: None)
        return json.dumps(finite, indent=indent, ensure_ascii=False) + "\n"


def dump_decision(report: Report) -> str:
    """Return a report's decision as JSON."""
    return dump(report.decision)


def plan_pieces(plan: Plan) -> Iterator[str]:
    """Yield what `dump` returns of a plan on one line, fixture by fixture."""
    _refuse_open(plan)
    yield from _fixture_by_fixture(plan)
    yield "\n"


def results_pieces(report: Report) -> Iterator[str]:
    """Yield a report's results as JSON on one line, fixture by fixture and trial by trial."""
    return _trial_by_trial(report.results)


class ResultsPlaces(NamedTuple):
    """Where the fixtures of each Eval stand in results that are written, in the plan's order: the
    first byte of each and the one behind its last; and the first byte of all trials.
    """

    fixtures: Mapping[str, Sequence[tuple[int, int]]]
    trials: int


def places_in(plan: Plan, ends: Sequence[int]) -> ResultsPlaces:
    """Return the places in results whose `results_pieces` end there."""
    found, at = dict[str, Sequence[tuple[int, int]]](), _BEFORE_EVALS
    for planned in plan.evals:
        behind = at + len(planned.fixtures)
        own = zip(ends[at:behind], ends[at + 1 : behind + 1], strict=True)
        found[planned.name] = [
            (start + (number > 0), end) for number, (start, end) in enumerate(own)
        ]
        at = behind + 2  # what closes this Eval, what opens the next or closes all
    return ResultsPlaces(found, ends[at + 1])


_BEFORE_EVALS = 2
"""Pieces of results before those of the first Eval: what opens the results, and the plan."""


TRIALS_BEGIN = b',"trials":[\n'
"""What stands before the trials of a part, of which each has a line."""


def part_pieces(part: ResultsPart) -> Iterator[bytes]:
    """Yield a part as JSON, each trial on a line of its own."""
    lines = "\n" if part.trials else ""
    return (one.encode() for one in _trial_by_trial(part, lines))


def _trial_by_trial(value: Results | ResultsPart, lines: str = "") -> Iterator[str]:
    """Yield what `dump` returns, of trials in short; of one at a time the steps are in memory.
    Around trials are `lines`.
    """
    _refuse_open(value)
    if isinstance(value, Results):
        yield dump_whole(value, fields={"version"})[:-2] + ',"plan":'
        yield from _fixture_by_fixture(value.plan)
        yield ',"trials":['
    else:
        yield _before(value, "trials") + lines
    yield from _items(value.trials, f",{lines}", trial_json)
    yield lines + _behind(value, "trials") + "\n"


def _fixture_by_fixture(plan: Plan) -> Iterator[str]:
    yield _before(plan, "evals")
    for number, planned in enumerate(plan.evals):
        yield ("," if number else "") + _before(planned, "fixtures")
        yield from _items(planned.fixtures)
        yield _behind(planned, "fixtures")
    yield _behind(plan, "evals")


def _before(value: Value, field: str) -> str:
    """Return the JSON of a value up to the items of a list in it."""
    fields = list(type(value).model_fields)
    return dump_whole(value, fields=fields[: fields.index(field)])[:-2] + f',"{field}":['


def _behind(value: Value, field: str) -> str:
    """Return what comes behind these items."""
    fields = list(type(value).model_fields)
    rest = dump_whole(value, fields=fields[fields.index(field) + 1 :])[1:-1]
    return "]" + ("" if rest == "}" else ",") + rest


def _dumped_value(value: Value) -> str:
    return dump_whole(value)[:-1]


def _items(
    values: Iterable[V], between: str = ",", dumped: Callable[[V], str] = _dumped_value
) -> Iterator[str]:
    for number, one in enumerate(values):
        yield (between if number else "") + dumped(one)


def _dumped(trial: Trial, left: _Left, steps: bytes | None) -> str:
    """Return a trial as JSON without what is `left` out; `steps` are put in as they are written."""
    if steps is None:
        return dump_whole(trial, fields=Trial.model_fields.keys() - left.keys())[:-1]
    text, begin = trial.model_dump_json(exclude={**left, **_NO_STEPS}), '"trace":{'
    return text.replace(begin, f'{begin}"steps":{steps.decode()},', 1)


def trial_json(trial: Trial, steps: bytes | None = None) -> str:
    """Return a trial as parts and results have it: without what is default in its assessments and
    lost tokens, which is a fifth of it. By their schema nothing of that has to be there. One that
    was read from a part is written as it stands there; so are `steps` that are known as JSON.
    """
    of_trial = trial.trace.steps if trial.trace else ()
    if steps is None and isinstance(of_trial, KeptSteps) and of_trial:
        if written := of_trial.written(trial):
            return written.json.decode()
        steps = of_trial.json()
    if not trial.assessments or _has_errors(trial.assessments):
        return _dumped(trial, {}, steps)
    try:
        short = trial.model_dump_json(include=_SHORTENED, exclude_defaults=True)
    except PydanticSerializationError:
        return _dumped(trial, {}, steps)
    return f"{_dumped(trial, _LEFT, steps)[:-1]},{short[1:]}"


_Left: TypeAlias = dict[str, bool | set[str]]
_NO_STEPS: _Left = {"trace": {"steps"}}
_SHORTENED = {"assessments", "lost_usage"}
_LEFT: _Left = dict.fromkeys(_SHORTENED, True)


def _has_errors(assessments: Sequence[Assessment]) -> bool:
    """Whether one says by its `status`, which is its default, what it is."""
    return any(
        one.status is AssessmentStatus.ERROR or _has_errors(one.parts) for one in assessments
    )


def load_plan(data: bytes, name: str = "The plan") -> Plan:
    """Read a plan; raise `StageFileError`, which calls it `name`.

    It is read fixture by fixture, which takes a third of the memory; what is refused so is read as
    a whole, which says what is wrong.
    """
    known: dict[object, object] = {}
    try:
        if len(data) <= PLAN_LIMIT:
            content = read_json_parts(
                data.decode(), _FIXTURES, lambda one: _made_fixture(one, known), depth=_DEPTH - 4
            )
            if content.get("version") == _PLAN:
                return Plan.model_validate(content, by_alias=False, by_name=True)
    except (ValueError, RecursionError):
        pass
    return _load(data, name, Plan, _PLAN, PLAN_LIMIT)


_PLAN, _FIXTURES = "plan.v1", ("evals", "fixtures")


class Ending(Value):
    """What results say behind their trials of how the run ended, and what models were offered."""

    offers: tuple[SharedOffer, ...] = ()
    info: RunInfo = RunInfo()


def load_ending(data: bytes, name: str) -> Ending:
    """Read what stands behind the trials of results; raise `StageFileError`."""
    content = _parse(b"{" + data.removeprefix(b"],"), name, "results.v1")
    try:
        told = {key: content[key] for key in Ending.model_fields if key in content}
        return Ending.model_validate(told, by_alias=False, by_name=True)
    except ValidationError as error:
        _refuse(f"{name} is no valid results.v1. {_sentence(error.errors(include_url=False)[0])}")


def load_results(
    data: bytes,
    name: str = "The file of results",
    *,
    fixture: str | None = None,
    fixtures: Mapping[str, Iterable[bytes]] | None = None,
) -> Results:
    """Read results; raise `StageFileError`, which calls them `name`. With `fixture`, their plan has
    no other. With `fixtures`, `data` has none, and they are those of each Eval: read one by one,
    they take a third of the memory.
    """
    change = None
    if fixture is not None:
        change = partial(_leave_one, fixture=fixture)
    elif fixtures is not None:
        change = partial(_put_fixtures, fixtures=fixtures, name=name)
    return _load(data, name, Results, "results.v1", RESULTS_LIMIT, change)


def load_part(data: bytes, name: str = "The part") -> ResultsPart:
    """Read a part; raise `StageFileError`, which calls it `name`."""
    return _load(data, name, ResultsPart, "part.v1", RESULTS_LIMIT)


def load_reusable(data: bytes) -> ReusableTrials:
    """Read what a run left for others; raise `StageFileError`."""
    from gateval.domain.results.reuse import ReusableTrials

    return _load(data, "What it left", ReusableTrials, "reusable.v1", RESULTS_LIMIT)


def load_trigger(data: bytes) -> Trigger:
    """Read a trigger; raise `StageFileError`."""
    from gateval.domain.forge.trigger import Trigger

    return _load(data, "The trigger", Trigger, "trigger.v1", TRIGGER_LIMIT)


def _load(
    data: bytes,
    name: str,
    kind: type[V],
    version: str,
    limit: int,
    change: Callable[[JsonObject], None] | None = None,
) -> V:
    if len(data) > limit:
        _refuse(f"{name} has {len(data):,} bytes; {version} may have {limit:,}.")
    content = _parse(data, name, version)
    found = content.get("version")
    if found != version:
        said = f'version "{found}"' if isinstance(found, str) else "no version"
        hint = _OF_A_PART if found == "part.v1" else _HINT
        _refuse(f"{name} has {said}; this Gateval reads {version}.", hint)
    if change is not None:
        change(content)
    try:
        return kind.model_validate(content, by_alias=False, by_name=True)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        shown = " ".join(_sentence(problem) for problem in problems[:_PROBLEMS_SHOWN])
        more = len(problems) - _PROBLEMS_SHOWN
        _refuse(f"{name} is no valid {version}. {shown}" + (f" And {more} more." * (more > 0)))


def _leave_one(content: JsonObject, fixture: str) -> None:
    """Take all other fixtures out of the plan of results, before these are made values of."""
    left: list[JsonValue] = []
    for one in (evals := _evals_in(content)):
        fixtures = one.get("fixtures") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(fixtures, list):
            mine: list[JsonValue] = [
                each for each in fixtures if isinstance(each, dict) and each.get("name") == fixture
            ]
            names: JsonObject = {
                key: [each for each in named if each == fixture]
                for key in ("compared", "added")
                if isinstance(named := one.get(key), list)
            }
            left += [{**one, "fixtures": mine, **names}] if mine else []
    evals[:] = left


def _evals_in(content: JsonObject) -> list[JsonValue]:
    """Return the list of Evals in the plan of results; an empty one where there is none."""
    plan = content.get("plan")
    evals = plan.get("evals") if isinstance(plan, dict) else None
    return evals if isinstance(evals, list) else []


def _put_fixtures(content: JsonObject, fixtures: Mapping[str, Iterable[bytes]], name: str) -> None:
    """Put the fixtures into the plan of results, each as a value."""
    known: dict[object, object] = {}
    for one in _evals_in(content):
        if isinstance(one, dict) and isinstance(named := one.get("name"), str):
            made = [_fixture(text, name, known) for text in fixtures.get(named, ())]
            one["fixtures"] = cast("list[JsonValue]", made)


_KNOWN = 20_000
"""Different parts of fixtures that are remembered at most."""


def _fixture(text: bytes, name: str, known: dict[object, object]) -> Fixture:
    """Return the fixture of this JSON; what it has in common with others is one object: `known`."""
    try:
        return _made_fixture(_parse(text, name, "fixture"), known)
    except ValidationError as error:
        _refuse(f"{name} is no valid results.v1. {_sentence(error.errors(include_url=False)[0])}")


def _made_fixture(content: JsonValue, known: dict[object, object]) -> Fixture:
    if len(known) > _KNOWN:
        known.clear()
    found = Fixture.model_validate(content, by_alias=False, by_name=True)
    parts = {
        "labels": _one(found.labels, known),
        "target_agent": known.setdefault(found.target_agent, found.target_agent),
        "description": known.setdefault(found.description, found.description),
        "input": found.input.lean(),
        "assertions": tuple(_assertion(one, known) for one in found.assertions),
    }
    return found.replace(**parts).lean()


def _assertion(found: AssertionSpec, known: dict[object, object]) -> AssertionSpec:
    parts = {
        "type": known.setdefault(found.type, found.type),
        "weight": known.setdefault(found.weight, found.weight),
        "options": _one(found.options, known),
    }
    return found.replace(**parts).lean()


def _one(value: K, known: dict[object, object]) -> K:
    """Return the one of equal JSON, which is told by how it is written."""
    return cast("K", known.setdefault((type(value), repr(value)), value))


def _parse(data: bytes, name: str, version: str) -> dict[str, JsonValue]:
    """Return the JSON object in `data`, refusing whatever two readers could read differently."""
    try:
        content = read_json(data.decode("utf-8"), depth=_DEPTH)
    except UnicodeDecodeError as error:
        _refuse(f"{name} is not UTF-8: byte {error.start + 1} is wrong.")
    except NotStrictJson as error:
        _refuse(f"{name} cannot be read as JSON: {error}.")
    if not isinstance(content, dict):
        _refuse(f"{name} holds no JSON object, so it is no {version}.")
    return content


def _sentence(problem: ErrorDetails) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"Unknown field {where}."
    return f"{where or 'As a whole'}: {plain_message(problem['msg'])}."


def _refuse(message: str, hint: str = _HINT) -> NoReturn:
    raise StageFileError(plain_line(message, 1000), hint=hint)
