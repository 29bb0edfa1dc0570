"""Eval sets of Google's Agent Development Kit: `*.evalset.json` and `*.test.json`.

Source: https://google.github.io/adk-docs/evaluate/ and .../evaluate/criteria. `test_config.json`
beside a file says what is measured, or `eval_config.json` there or in a folder above, as ADK's
templates have it; without one, tools must be called exactly as told (1.0) and the answer must share
words with the one told (ROUGE-1, 0.8). Keys are written in either case, as ADK's own models are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import normpath
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation
from gateval.domain.strict_json import NotStrictJson, object_of, objects_of, read_json, value_at
from gateval.formats.imports.base import (
    Imported,
    ImportedCase,
    ImportRequest,
    NotCarried,
    compared,
    document_of,
    entries,
    judged,
)
from gateval.formats.yaml_document import Document, DocumentPath

_DEFAULT: JsonObject = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
_CONFIGS = ("test_config.json", "eval_config.json", "../eval_config.json", "../../eval_config.json")
_MODES = {"EXACT": "exact", "IN_ORDER": "inOrder", "ANY_ORDER": "superset"}
_NO_ROUGE = (
    "its measure (ROUGE-1) is none of ours: the answer stands under `reference`; "
    "`--compare` asserts something of it"
)


class _Turn(NamedTuple):
    """What the user says, the calls that are expected (name, arguments; None where nothing is told
    of them), the answer told, and rubrics of its own.
    """

    place: SourceLocation
    user: str
    calls: list[tuple[str, JsonObject]] | None
    answer: str
    rubrics: list[JsonObject]


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
    def reads_answers(self) -> bool:
        """Whether what an agent answers is measured against what is told."""
        names = ("response_match_score", "final_response_match_v2")
        return any(self.threshold(name) > 0 for name in names)

    @property
    def mode(self) -> str:
        """The mode of `toolTrajectory`."""
        found = self.given.get("tool_trajectory_avg_score")
        kind = found.get("match_type", "EXACT") if isinstance(found, dict) else "EXACT"
        return _MODES.get(str(kind), "exact")


def read(request: ImportRequest) -> Imported:
    """Return the cases of a file. Raises `InvalidManifests` for one that is none of ADK's."""
    document = document_of(request)
    criteria = _criteria(request)
    cases: list[ImportedCase] = []
    data = document.data
    keys = [key for key in _CASES if isinstance(data, dict) and isinstance(data.get(key), list)]
    if isinstance(data, dict) and keys:
        request.unread(document.place(), _snake_all(data), _OF_SET)
        for place, written in entries(request, document, (keys[0],)):
            case = _snake_all(written)
            turns = _invocations(request, place, case)
            cases += _case(request, str(case.get("eval_id") or ""), place, turns, criteria)
    elif isinstance(data, list) and data and all(map(_is_old, data)):
        named = [one for one in entries(request, document, ()) if "data" in one[1]]
        for index, (place, case) in enumerate(named):
            if _has_state(case):
                request.leave(place, "initial_session", _STATE)
            request.unread(place, case, {"name", "data", "initial_session"})
            turns = _queries(request, document, (index, "data"))
            cases += _case(request, str(case.get("name") or ""), place, turns, criteria)
        if not named:
            turns = _queries(request, document, ())
            cases += _case(request, "", document.place((0,)), turns, criteria)
    else:
        raise request.refused(
            "This is no eval set of ADK: it has no `eval_cases`, and is no list of queries."
        )
    return Imported(cases, request.left)


_CASES = ("eval_cases", "evalCases")
_AS_WRITTEN = {"args", "tool_input", "state", "response"}
"""Keys below which the names are the program's own."""


def _snake(value: JsonValue) -> JsonValue:
    """Return what ADK's models read in camel case as they read it in snake case."""
    if isinstance(value, dict):
        return _snake_all(value)
    return [_snake(one) for one in value] if isinstance(value, list) else value


def _snake_all(value: JsonObject) -> JsonObject:
    named = {
        re.sub(r"(?<=[a-z0-9])[A-Z]", lambda one: f"_{one[0].lower()}", key): key for key in value
    }
    return {
        key: value[old] if key in _AS_WRITTEN else _snake(value[old]) for key, old in named.items()
    }


_STATE = "your program makes its own session: set the state there, or in the fixture's payload"


def _has_state(case: Mapping[str, JsonValue]) -> bool:
    found = [case.get(key) for key in ("session_input", "initial_session", "initial_state")]
    inner = [one for each in found if isinstance(each, dict) for one in each.values()]
    return any(isinstance(one, dict) and one for one in inner)


def _is_old(value: JsonValue) -> bool:
    return isinstance(value, dict) and ("query" in value or isinstance(value.get("data"), list))


def _criteria(request: ImportRequest) -> _Criteria:
    found_in = ((name, request.sibling(name)) for name in _CONFIGS)
    name, data = next((one for one in found_in if one[1] is not None), (_CONFIGS[0], None))
    place = SourceLocation(file=normpath(f"{request.folder}/{name}".lstrip("/")))
    if data is None:
        return _Criteria(_DEFAULT, place)
    try:
        found = _snake(read_json(data.decode("utf-8-sig")))
    except (UnicodeDecodeError, NotStrictJson) as error:
        raise InvalidManifests([Problem(place=place, message=f"This is not JSON: {error}.")])
    given = value_at(found, "criteria")
    if not isinstance(given, dict) or not isinstance(found, dict):
        return _Criteria(_DEFAULT, place)
    request.unread(place, found, {"criteria"})
    known = {*_DEFAULT, "final_response_match_v2", *_RUBRICS}
    for name in (one for one in given if one not in known):
        request.leave(place, name, "no assertion measures it")
    for name, told in given.items():
        own = told if isinstance(told, dict) and name in known else {}
        for key in (one for one in own if one not in {"threshold", "match_type", "rubrics"}):
            request.leave(place, f"`{key}` of {name}", "the Eval's judge has its own")
    return _Criteria(given, place)


_RUBRICS = ("rubric_based_final_response_quality_v1", "rubric_based_tool_use_quality_v1")


def _invocations(request: ImportRequest, place: SourceLocation, case: JsonObject) -> list[_Turn]:
    if _has_state(case):
        request.leave(place, "session_input.state", _STATE)
    if case.get("conversation_scenario"):
        request.leave(place, "conversation_scenario", "its user is simulated")
    request.unread(place, case, _OF_CASE)
    turns: list[_Turn] = []
    spoken = case.get("conversation")
    if not isinstance(spoken, list) or not spoken or len(objects_of(spoken)) < len(spoken):
        request.leave(place, "the case", "it has no `conversation` to be replayed")
        return []
    for one in objects_of(spoken):
        user, answer = _text(one.get("user_content")), _text(one.get("final_response"))
        if user is None:
            request.leave(place, "the case", "the user sends more than text")
            return []
        request.unread(place, one, _OF_TURN)
        if answer is None:
            request.leave(place, "final_response", "it is more than text")
        told = one.get("intermediate_data")
        if isinstance(told, dict):
            request.unread(place, told, {"tool_uses", "invocation_events", "tool_responses"})
        calls = list(_calls(told)) if told is not None else None
        turns.append(_Turn(place, user, calls, answer or "", objects_of(one, "rubrics")))
        if len(objects_of(spoken)) > 1 and turns[-1].rubrics:
            request.leave(place, "rubrics", _OF_ONE_TURN)
            turns[-1] = turns[-1]._replace(rubrics=[])
    if turns:
        turns[0].rubrics.extend(objects_of(case, "rubrics"))
    return turns


_OF_ONE_TURN = "a judge reads the whole conversation, and this is of one turn"
_OF_SET = {"eval_cases", "eval_set_id", "name", "creation_timestamp"}
_OF_CASE = {
    "eval_id", "conversation", "session_input", "creation_timestamp", "rubrics",
    "conversation_scenario",
}  # fmt: skip
_OF_TURN = {
    "invocation_id", "user_content", "final_response", "intermediate_data", "creation_timestamp",
    "rubrics",
}  # fmt: skip


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
    for call in objects_of(told, "tool_uses"):
        yield from _call(call, "name", "args")
    for event in objects_of(told, "invocation_events"):
        for part in _parts(event.get("content")):
            yield from _call(part.get("function_call"), "name", "args")


def _parts(content: JsonValue) -> list[JsonObject]:
    return objects_of(content, "parts")


def _call(call: JsonValue, name: str, arguments: str) -> Iterator[tuple[str, JsonObject]]:
    if isinstance(call, dict) and isinstance(call.get(name), str):
        yield str(call[name]), object_of(call, arguments)


def _queries(request: ImportRequest, document: Document, path: DocumentPath) -> list[_Turn]:
    """Read the older shape: each entry of the list is a query, all of them one session."""
    turns = []
    for place, one in entries(request, document, path):
        request.unread(place, one, {"query", "expected_tool_use", "reference"})
        calls: list[tuple[str, JsonObject]] = []
        for call in objects_of(one, "expected_tool_use"):
            request.unread(place, call, {"tool_name", "tool_input"})
            calls += _call(call, "tool_name", "tool_input")
        told = calls if "expected_tool_use" in one else None
        turns.append(
            _Turn(place, str(one.get("query") or ""), told, str(one.get("reference") or ""), [])
        )
    return turns


def _case(
    request: ImportRequest,
    name: str,
    place: SourceLocation,
    turns: list[_Turn],
    criteria: _Criteria,
) -> Iterator[ImportedCase]:
    """Yield the fixture of one session, if anything of it can be asserted."""
    if not turns:
        return
    asserted = [list(_assertions(request, turn, criteria, len(turns))) for turn in turns]
    own = [one for turn in turns for one in turn.rubrics]
    whole = list(_rubrics(request, criteria, own))
    measured = [name for name in _RUBRICS if criteria.given.get(name)]
    if any(not any(_kind(one, name) in name for name in measured) for one in own):
        request.leave(place, "rubrics", f"no criterion of {criteria.place.file} measures them")
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
    if not criteria.reads_answers:
        for turn in (one for one in turns[:-1] if one.answer):
            why = f"{criteria.place.file} does not measure it; `reference` holds the last alone"
            request.leave(turn.place, "the answer of an earlier turn", why)
    if whole:
        spec["assertions"] = [*whole]
    yield ImportedCase(name, place, spec)


def _assertions(
    request: ImportRequest, turn: _Turn, criteria: _Criteria, turns: int
) -> Iterator[JsonObject]:
    yield from _told_calls(request, turn, criteria, turns)
    if not turn.answer:
        return
    lowest = criteria.threshold("response_match_score")
    alike = criteria.threshold("final_response_match_v2")
    if alike > 0 and turns > 1:
        request.leave(turn.place, "final_response_match_v2", _OF_ONE_TURN)
    elif alike > 0:
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


def _told_calls(
    request: ImportRequest, turn: _Turn, criteria: _Criteria, turns: int
) -> Iterator[JsonObject]:
    """Yield what is asked of the calls of one turn."""
    lowest = criteria.threshold("tool_trajectory_avg_score")
    if lowest <= 0:
        if turn.calls:
            why = f"{criteria.place.file} does not measure them"
            request.leave(turn.place, "the tools told", why)
    elif turn.calls is None:
        why = "the case does not say which tools are called"
        request.leave(turn.place, f"tool_trajectory_avg_score {lowest:g}", why)
    else:
        yield from _trajectory(turn.calls, criteria.mode)
        if lowest < 1 and turns > 1:
            why = "a mean over turns is none of ours: each turn must call its tools here"
            request.leave(turn.place, f"tool_trajectory_avg_score {lowest:g}", why)


def _trajectory(calls: list[tuple[str, JsonObject]], mode: str) -> Iterator[JsonObject]:
    """Yield what the calls of one turn must be; in mode `exact` there may be no others."""
    if calls:
        expected: list[JsonValue] = [
            {"tool": name, "arguments": arguments} for name, arguments in calls
        ]
        yield {
            "type": "toolTrajectory",
            "mode": mode,
            "argumentsMatch": "exact",
            "minScore": 1,
            "expected": expected,
        }
    if mode == "exact":
        yield {"type": "executionMetrics", "maxToolCalls": len(calls), "minScore": 1}


def _rubrics(
    request: ImportRequest, criteria: _Criteria, own: list[JsonObject]
) -> Iterator[JsonObject]:
    """Yield the rubrics of the criteria and, where they have any, those of the case."""
    for name in (one for one in _RUBRICS if criteria.given.get(one)):
        given = criteria.given.get(name)
        shared = objects_of(given, "rubrics")
        for one in [*shared, *own]:
            text = value_at(one, "rubric_content", "text_property")
            try:
                if isinstance(text, str) and _kind(one, name) in name:
                    lowest = criteria.threshold(name)
                    yield judged(request, {"rubric": text, "minScore": lowest})
            except NotCarried as error:
                request.leave(criteria.place, name, error)


def _kind(rubric: JsonObject, name: str) -> str:
    """Return which criterion a rubric is for, as a part of its name: any, if it does not say."""
    return str(rubric.get("type") or name).lower()
