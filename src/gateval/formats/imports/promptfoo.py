"""Configs of promptfoo: `promptfooconfig.yaml` and the like.

Source: https://www.promptfoo.dev/docs/configuration/reference/ and .../expected-outputs/. Prompts
and providers are the Agent here; test cases become fixtures, assertions their own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import show_path
from gateval.domain.problems import SourceLocation
from gateval.domain.strict_json import list_of, object_of, objects_of
from gateval.formats.imports.base import (
    Imported,
    ImportedCase,
    ImportRequest,
    NotCarried,
    asked,
    asserted,
    document_of,
    entries,
    filled,
    judged,
)
from gateval.formats.native.cases import read_cases
from gateval.formats.yaml_reader import read_documents

_MOST = 1_000
"""Fixtures that lists of values in `vars` may make of one test."""

_OF_CONFIG: Final = {
    "defaultTest", "evaluateOptions", "prompts", "tests", "$schema",
}  # fmt: skip
_OF_TEST: Final = {"assert", "description", "vars"}
_OF_ASSERTION: Final = {"metric", "threshold", "type", "value", "weight"}

_NO_COUNTERPART = "it has no counterpart here"
_WHY = {
    "scenarios": "write its cases under `tests` first",
    "redteam": "attacks are made up anew in each run; write those you want to keep as tests",
    "env": "name variables in the Agent's `runtime.env`",
    "threshold": "a fixture fails with any of its assertions; give them weights instead",
    "options": "how an answer is transformed or graded is none of ours",
    "metadata": "only readers of promptfoo see it",
    "provider": "a fixture runs on its Eval's Agent",
    "providers": "a fixture runs on its Eval's Agent",
    "description": "only readers of promptfoo see it",
}


def read(request: ImportRequest) -> Imported:
    """Return the cases of a config. Raises `InvalidManifests` for a file that is none."""
    document = document_of(request)
    config = document.data
    if not isinstance(config, dict) or not ({"tests", "scenarios"} & config.keys()):
        raise request.refused("This is no config of promptfoo: it has no `tests`.")
    for key in (one for one in config if one not in _OF_CONFIG):
        request.leave(document.place((key,)), key, _WHY.get(key, _NO_COUNTERPART))
    shared = _shared(request, config.get("defaultTest"), document.place(("defaultTest",)))
    prompt = _prompt(request, config.get("prompts"), document.place(("prompts",)))
    cases: list[ImportedCase] = []
    tests = config.get("tests")
    found: Iterable[tuple[SourceLocation, JsonObject]] = entries(
        request, document, ("tests",), texts=True
    )
    files = [tests] if isinstance(tests, str) else list_of(tests)
    for name in files:
        if isinstance(name, str):
            found = itertools.chain(found, _file(request, name, document.place(("tests",))))
    for place, test in found:
        cases += _cases(request, place, test, shared, prompt)
    told = object_of(config, "evaluateOptions")
    for key in (one for one in told if one != "repeat"):
        request.leave(document.place(("evaluateOptions", key)), key, _WHY.get(key, _NO_COUNTERPART))
    repeat = told.get("repeat")
    execution = {"repsPerFixture": repeat} if isinstance(repeat, int) and repeat > 1 else {}
    return Imported(cases, request.left, execution)


def _shared(request: ImportRequest, default: JsonValue, place: SourceLocation) -> JsonObject:
    """Return what all cases have; it may stand in a file of its own."""
    if not isinstance(default, str):
        return object_of(default)
    path = default.removeprefix("file://")
    data = request.sibling(path)
    documents = read_documents(path, data)[0] if data is not None else ()
    found = documents[0].data if len(documents) == 1 else None
    if isinstance(found, dict):
        return found
    request.leave(place, f"defaultTest ({default})", "it is no file of this repository that has it")
    return {}


def _prompt(request: ImportRequest, prompts: JsonValue, place: SourceLocation) -> str:
    """Return the one prompt that is a text; empty where the cases' values are the input."""
    listed = prompts if isinstance(prompts, list) else [prompts] if prompts else []
    texts = [one for one in listed if isinstance(one, str)]
    if len(listed) != 1 or not texts:
        if listed:
            why = "they belong to the Agent; a fixture's input is its `vars`"
            request.leave(place, "prompts", why)
        return ""
    text = texts[0]
    if text.startswith("file://"):
        data = request.sibling(text.removeprefix("file://"))
        plain = text.endswith((".txt", ".md")) and data is not None
        text = data.decode("utf-8", "replace") if plain and data is not None else ""
    if not text or text.lstrip().startswith(("[", "{\n", '{"')):
        why = "it is no plain text: it belongs to the Agent, and a fixture's input is its `vars`"
        request.leave(place, "prompts", why)
        return ""
    return text


def _file(
    request: ImportRequest, name: str, place: SourceLocation
) -> Iterator[tuple[SourceLocation, JsonObject]]:
    path = name.removeprefix("file://")
    data = request.sibling(path)
    if data is None or not path.endswith((".csv", ".yaml", ".yml", ".json", ".jsonl")):
        request.leave(place, name, "only files of this repository with plain cases are read")
        return
    path = request.path_of(path)
    read_in = read_cases(path, data, each=True)
    for one in read_in.problems:
        request.leave_line(one)
    for case in read_in.cases:
        where = SourceLocation(file=show_path(path), line=case.line)
        yield where, _of_columns(case.values) if path.endswith(".csv") else case.values


_EXPECTED = re.compile(r"__expected\d*$")


def _of_columns(row: JsonObject) -> JsonObject:
    """Return a row of CSV as a test: `__expected` is an assertion, all else is `vars`."""
    asserted: list[JsonValue] = []
    for key, value in row.items():
        if _EXPECTED.match(key) and isinstance(value, str) and value:
            kind, _, rest = value.partition(":")
            named = re.fullmatch(r"(?:not-)?([a-z-]+)(?:\([\d.]+\))?", kind)
            known = named and named[1] in {*_KINDS, *_NO_KIND}
            asserted.append({"type": kind, "value": rest.strip()} if known else
                            {"type": "equals", "value": value})  # fmt: skip
    values: JsonObject = {key: value for key, value in row.items() if not key.startswith("__")}
    called = row.get("__description")
    told: JsonObject = {"description": called} if isinstance(called, str) and called else {}
    return {**told, "vars": values, "assert": asserted}


def _cases(
    request: ImportRequest,
    place: SourceLocation,
    test: JsonObject,
    shared: Mapping[str, JsonValue],
    prompt: str,
) -> Iterator[ImportedCase]:
    values: JsonObject = {}
    for one in (shared.get("vars"), test.get("vars")):
        if isinstance(one, dict):
            values |= one
        elif one:
            request.leave(place, "the case", f"its `vars` stand in {one}: write them into it first")
            return
    for key in (one for one in {**shared, **test} if one not in _OF_TEST):
        request.leave(place, key, _WHY.get(key, _NO_COUNTERPART))
    try:
        every = list(_each(request, values))
    except NotCarried as error:
        request.leave(place, "the case", error)
        return
    wanted = [*objects_of(shared, "assert"), *objects_of(test, "assert")]
    for values_ in every:
        made = asserted(request, place, _wanted(request, place, wanted, values_))
        given = asked(request, place, values_, prompt) if made else None
        if given is None:
            continue
        named = str(test.get("description") or "")
        told: JsonObject = {"description": named} if named else {}
        yield ImportedCase(named, place, {**told, "input": given, "assertions": made})


def _each(request: ImportRequest, values: JsonObject) -> Iterator[JsonObject]:
    """Yield the values of each case: a list of them makes a case of each of its entries."""
    listed = {name: _values(request, value) for name, value in values.items()}
    for number, chosen in enumerate(itertools.product(*listed.values())):
        if number == _MOST:
            raise NotCarried(f"its lists of values make more than {_MOST:,} cases")
        yield dict(zip(listed, chosen, strict=True))


def _values(request: ImportRequest, value: JsonValue) -> list[JsonValue]:
    if isinstance(value, str) and value.startswith("file://"):
        name = value.removeprefix("file://")
        data = request.sibling(name)
        if data is None or not name.endswith((".txt", ".md")):
            raise NotCarried(f"the value {value} is no text file of this repository")
        return [data.decode("utf-8", "replace")]
    return value if isinstance(value, list) else [value]


def _wanted(
    request: ImportRequest, place: SourceLocation, wanted: Iterable[JsonObject], values: JsonObject
) -> Iterator[tuple[str, Callable[[], list[JsonObject]]]]:
    """Yield what each assertion is, and what makes ours; keys that nobody reads are left."""

    def make(one: JsonObject, what: str) -> list[JsonObject]:
        made = _assertion(request, one, values)
        for key in (each for each in one if each not in _OF_ASSERTION):
            if key != "assert" or one.get("type") != _SET:
                request.leave(place, f"`{key}` of {what}", _WHY.get(key, _NO_COUNTERPART))
        return [made]

    for one in wanted:
        kind = str(one.get("type") or one.get("$ref") or "an assertion without type")
        what = f"the assertion `{kind}`"
        yield what, partial(make, one, what)


def _assertion(request: ImportRequest, written: JsonObject, values: JsonObject) -> JsonObject:
    kind = str(written.get("type") or "")
    plain = kind.removeprefix("not-")
    short = re.fullmatch(r"([a-z-]+)\(([\d.]+)\)", plain)
    threshold = written.get("threshold")
    if short:
        plain, threshold = short[1], float(short[2])
    if plain == _SET:
        return _set(request, written, values)
    if plain not in _KINDS:
        raise NotCarried(_NO_KIND.get(plain, "no assertion of ours does the same"))
    given = _filled_value(written.get("value"), values)
    made: JsonObject = _KINDS[plain](request, given, threshold)
    if kind != plain and kind.startswith("not-"):
        made = {"type": "not", "assertions": [made]}
    return {"type": made["type"], **_told(written), **made}


def _told(written: JsonObject) -> JsonObject:
    """Return what an assertion is called, and its weight."""
    told: JsonObject = {}
    if isinstance(written.get("metric"), str):
        told["name"] = written["metric"]
    weight = written.get("weight")
    if isinstance(weight, int | float) and weight != 1:
        if weight == 0:
            raise NotCarried("its weight is 0: it counts nothing")
        told["weight"] = weight
    return told


_SET = "assert-set"


def _set(request: ImportRequest, written: JsonObject, values: JsonObject) -> JsonObject:
    """Return a set of which all have to hold. One that cannot be carried leaves the whole."""
    if written.get("threshold") not in (None, 1):
        raise NotCarried("a share of its assertions would do, and all of ours have to hold")
    inner: list[JsonValue] = [
        _assertion(request, one, values) for one in objects_of(written, "assert")
    ]
    if not inner:
        raise NotCarried("it has no assertions")
    return {"type": "all", **_told(written), "assertions": inner}


def _filled_value(value: JsonValue, values: JsonObject) -> JsonValue:
    if isinstance(value, str):
        if value.startswith("file://"):
            raise NotCarried("its value stands in a file of its own")
        return filled(value, values)
    if isinstance(value, list):
        return [_filled_value(one, values) for one in value]
    return value


_NO_KIND = {
    "javascript": "it is code: make it a check of your own (`type: script`)",
    "python": "it is code: make it a check of your own (`type: python`)",
    "webhook": "it is a program elsewhere: make it a check of your own (`type: script`)",
    "rouge-n": "its measure (ROUGE-N) is none of ours; `similar` has ROUGE-L",
    "fn": "it is code: make it a check of your own (`type: script`)",
    "eval": "it is code: make it a check of your own (`type: script`)",
    "similar": "it asks a model that the file does not name: `similar` of ours names one",
    "select-best": "it compares answers of several providers with each other",
}


def _text(value: JsonValue) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise NotCarried("its value is no text")


def _number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise NotCarried("it has no `threshold`")


def _one(kind: str, **options: JsonValue) -> Callable[[ImportRequest, JsonValue, Any], JsonObject]:
    return lambda _request, value, _threshold: {"type": kind, "value": _text(value), **options}


def _several(
    kind: str, **options: JsonValue
) -> Callable[[ImportRequest, JsonValue, Any], JsonObject]:
    def make(_request: ImportRequest, value: JsonValue, _threshold: Any) -> JsonObject:
        listed = value if isinstance(value, list) else str(value).split(",")
        texts = [_text(one.strip() if isinstance(one, str) else one) for one in listed]
        parts: list[JsonValue] = [{"type": "contains", "value": one, **options} for one in texts]
        return {"type": kind, "assertions": parts}

    return make


def _rubric(request: ImportRequest, value: JsonValue, threshold: Any) -> JsonObject:
    lowest: JsonObject = {} if threshold is None else {"minScore": _number(threshold)}
    return judged(request, {"rubric": _text(value), **lowest})


_KINDS: Mapping[str, Callable[[ImportRequest, JsonValue, Any], JsonObject]] = {
    "equals": lambda _request, value, _threshold: {"type": "equals", "value": value},
    "contains": _one("contains"),
    "icontains": _one("contains", ignoreCase=True),
    "starts-with": _one("startsWith"),
    "contains-all": _several("all"),
    "contains-any": _several("any"),
    "icontains-all": _several("all", ignoreCase=True),
    "icontains-any": _several("any", ignoreCase=True),
    "regex": lambda _request, value, _threshold: {"type": "regex", "pattern": _text(value)},
    "is-json": lambda _request, value, _threshold: (
        {"type": "jsonSchema", "schema": value} if isinstance(value, dict) else {"type": "isJson"}
    ),
    "llm-rubric": _rubric,
    "grade": _rubric,
    "g-eval": _rubric,
    "factuality": lambda request, value, threshold: _rubric(
        request,
        f"The answer is factually consistent with this reference:\n\n{_text(value)}",
        threshold,
    ),
    "latency": lambda _request, _value, threshold: {
        "type": "executionMetrics",
        "maxSeconds": _number(threshold) / 1000,
        "minScore": 1,
    },
    "cost": lambda _request, _value, threshold: {
        "type": "executionMetrics",
        "maxUSD": _number(threshold),
        "minScore": 1,
    },
}
"""By promptfoo's type: what makes the assertion of a value and a threshold."""
