"""Eval sets of Google's Agent Development Kit: `*.evalset.json` and `*.test.json`.

Source: https://google.github.io/adk-docs/evaluate/ and .../evaluate/criteria. `test_config.json`
beside a file says what is measured; without it, tools must be called exactly as told (1.0) and the
answer must share words with the one told (ROUGE-1, 0.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.formats.imports.base import (
    Case,
    Imported,
    NotCarried,
    Request,
    compared,
    document_of,
    entries,
    judged,
    objects,
)
from gateval.formats.yaml_document import Document, DocumentPath

_DEFAULT: JsonObject = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
_CONFIG = "test_config.json"
_MODES = {"EXACT": "exact", "IN_ORDER": "inOrder", "ANY_ORDER": "superset"}
_NO_ROUGE = (
    "its measure (ROUGE-1) is none of ours: the answer stands under `reference`; "
    "`--compare` asserts something of it"
)


class _Turn(NamedTuple):
    """What the user says, the calls that are expected (name, arguments), and the answer told."""

    place: SourceLocation
    user: str
    calls: list[tuple[str, JsonObject]]
    answer: str


class _Criteria(NamedTuple):
    """What `test_config.json` measures, by name: a threshold, or a mapping with one."""

    given: JsonObject
    place: SourceLocation

    def threshold(self, name: str) -> float:
        """The lowest mean score; 0 where it is not measured."""
        found = self.given.get(name)
        value = found.get("threshold") if isinstance(found, dict) else found
        return float(value) if isinstance(value, int | float) else 0.0

    @property
    def mode(self) -> str:
        """The mode of `toolTrajectory`."""
        found = self.given.get("tool_trajectory_avg_score")
        kind = found.get("match_type", "EXACT") if isinstance(found, dict) else "EXACT"
        return _MODES.get(str(kind), "exact")


def read(request: Request) -> Imported:
    """Return the cases of a file. Raises `InvalidManifests` for one that is none of ADK's."""
    document = document_of(request)
    criteria = _criteria(request)
    cases: list[Case] = []
    data = document.data
    if isinstance(data, dict) and isinstance(data.get("eval_cases"), list):
        for place, case in entries(document, ("eval_cases",)):
            turns = _invocations(request, place, case)
            cases += _case(request, str(case.get("eval_id") or ""), place, turns, criteria)
    elif isinstance(data, list) and data and all(map(_is_old, data)):
        named = [one for one in entries(document, ()) if "data" in one[1]]
        for index, (place, case) in enumerate(named):
            if _has_state(case):
                request.leave(place, "initial_session", _STATE)
            turns = _queries(document, (index, "data"))
            cases += _case(request, str(case.get("name") or ""), place, turns, criteria)
        if not named:
            cases += _case(request, "", document.place((0,)), _queries(document, ()), criteria)
    else:
        raise request.refused(
            "This is no eval set of ADK: it has no `eval_cases`, and is no list of queries."
        )
    return Imported(cases, request.left)


_STATE = "your program makes its own session: set the state there, or in the fixture's payload"


def _has_state(case: Mapping[str, JsonValue]) -> bool:
    found = [case.get(key) for key in ("session_input", "initial_session", "initial_state")]
    inner = [one for each in found if isinstance(each, dict) for one in each.values()]
    return any(isinstance(one, dict) and one for one in inner)


def _is_old(value: JsonValue) -> bool:
    return isinstance(value, dict) and ("query" in value or isinstance(value.get("data"), list))


def _criteria(request: Request) -> _Criteria:
    data = request.sibling(_CONFIG)
    place = SourceLocation(file=f"{request.folder}/{_CONFIG}".lstrip("/"))
    if data is None:
        return _Criteria(_DEFAULT, place)
    try:
        found = read_json(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, NotStrictJson) as error:
        raise InvalidManifests([Problem(place=place, message=f"This is not JSON: {error}.")])
    given = found.get("criteria") if isinstance(found, dict) else None
    if not isinstance(given, dict):
        return _Criteria(_DEFAULT, place)
    known = {*_DEFAULT, "final_response_match_v2", *_RUBRICS}
    for name in (one for one in given if one not in known):
        request.leave(place, name, "no assertion measures it")
    return _Criteria(given, place)


_RUBRICS = ("rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1")


def _invocations(request: Request, place: SourceLocation, case: JsonObject) -> list[_Turn]:
    if _has_state(case):
        request.leave(place, "session_input.state", _STATE)
    turns: list[_Turn] = []
    spoken = case.get("conversation")
    if not isinstance(spoken, list):
        request.leave(place, "the case", "it has no `conversation` to be replayed")
    for one in objects(spoken):
        user, answer = _text(one.get("user_content")), _text(one.get("final_response"))
        if user is None:
            request.leave(place, "the case", "the user sends more than text")
            return []
        turns.append(_Turn(place, user, list(_calls(one.get("intermediate_data"))), answer or ""))
    return turns


def _text(content: JsonValue) -> str | None:
    """Return the text of a content; None where it is more than text, "" for none."""
    texts = [part.get("text") for part in _parts(content)]
    if any(not isinstance(one, str) for one in texts):
        return None
    return "\n".join(str(one) for one in texts)


def _calls(told: JsonValue) -> Iterator[tuple[str, JsonObject]]:
    """Yield the calls of both shapes: listed apart, or among the events of the invocation."""
    if not isinstance(told, dict):
        return
    for call in objects(told.get("tool_uses")):
        yield from _call(call, "name", "args")
    for event in objects(told.get("invocation_events")):
        for part in _parts(event.get("content")):
            yield from _call(part.get("function_call"), "name", "args")


def _parts(content: JsonValue) -> list[JsonObject]:
    return objects(content.get("parts")) if isinstance(content, dict) else []


def _call(call: JsonValue, name: str, arguments: str) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(call, dict) and isinstance(call.get(name), str):
        given = call.get(arguments)
        yield str(call[name]), given if isinstance(given, dict) else {}


def _queries(document: Document, path: DocumentPath) -> list[_Turn]:
    """Read the older shape: each entry of the list is a query, all of them one session."""
    return [
        _Turn(
            place,
            str(one.get("query") or ""),
            [
                found
                for call in objects(one.get("expected_tool_use"))
                for found in _call(call, "tool_name", "tool_input")
            ],
            str(one.get("reference") or ""),
        )
        for place, one in entries(document, path)
    ]


def _case(
    request: Request, name: str, place: SourceLocation, turns: list[_Turn], criteria: _Criteria
) -> Iterator[Case]:
    """Yield the fixture of one session, if anything of it can be asserted."""
    if not turns:
        return
    asserted = [list(_assertions(request, turn, criteria, len(turns))) for turn in turns]
    whole = list(_rubrics(request, criteria))
    if not any(asserted) and not whole:
        request.leave(place, "the case", "nothing of it can be asserted")
        return
    spec: JsonObject
    if len(turns) == 1:
        spec = {"input": {"type": "prompt", "payload": {"prompt": turns[0].user}}}
        whole = [*asserted[0], *whole]
    else:
        spec = {
            "turns": [
                {"user": turn.user, **({"assertions": [*found]} if found else {})}
                for turn, found in zip(turns, asserted, strict=True)
            ]
        }
    if turns[-1].answer:
        spec["reference"] = {"answer": turns[-1].answer}
    if whole:
        spec["assertions"] = [*whole]
    yield Case(name, place, spec)


def _assertions(
    request: Request, turn: _Turn, criteria: _Criteria, turns: int
) -> Iterator[JsonObject]:
    lowest = criteria.threshold("tool_trajectory_avg_score")
    if lowest > 0:
        yield from _trajectory(turn, criteria.mode)
        if lowest < 1 and turns > 1:
            why = "a mean over turns is none of ours: each turn must call its tools here"
            request.leave(turn.place, f"tool_trajectory_avg_score {lowest:g}", why)
    elif turn.calls:
        request.leave(turn.place, "the tools told", f"{_CONFIG} does not measure them")
    if not turn.answer:
        return
    lowest = criteria.threshold("response_match_score")
    alike = criteria.threshold("final_response_match_v2")
    if alike > 0 and turns == 1:
        try:
            yield judged(request, {"preset": "factuality", "minScore": alike})
        except NotCarried as error:
            request.leave(turn.place, "final_response_match_v2", error)
    if lowest > 0 and request.compare and (turns == 1 or request.compare != "judge"):
        try:
            yield compared(request, turn.answer)
        except NotCarried as error:
            request.leave(turn.place, "the answer told", error)
    elif lowest > 0:
        request.leave(turn.place, f"response_match_score {lowest:g}", _NO_ROUGE)


def _trajectory(turn: _Turn, mode: str) -> Iterator[JsonObject]:
    """Yield what the calls of one turn must be; in mode `exact` there may be no others."""
    if turn.calls:
        expected: list[JsonValue] = [
            {"tool": name, "arguments": arguments} for name, arguments in turn.calls
        ]
        yield {
            "type": "toolTrajectory",
            "mode": mode,
            "argumentsMatch": "exact",
            "minScore": 1,
            "expected": expected,
        }
    if mode == "exact":
        yield {"type": "executionMetrics", "maxToolCalls": len(turn.calls), "minScore": 1}


def _rubrics(request: Request, criteria: _Criteria) -> Iterator[JsonObject]:
    for name in _RUBRICS:
        given = criteria.given.get(name)
        for one in objects(given.get("rubrics")) if isinstance(given, dict) else ():
            content = one.get("rubric_content")
            text = content.get("text_property") if isinstance(content, dict) else None
            try:
                if isinstance(text, str):
                    lowest = criteria.threshold(name)
                    yield judged(request, {"rubric": text, "minScore": lowest})
            except NotCarried as error:
                request.leave(criteria.place, name, error)
