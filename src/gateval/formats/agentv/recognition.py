"""Which YAML files are suites of AgentV, told by their content and name; others are left alone.

`evalcases` and `eval_cases` are nobody else's keys. `tests` and `cases` are; they count where the
file is named as AgentV names suites, or its cases look like AgentV's. What is nearly a suite is
told: cases that vanish by one wrong letter are a gate that looks at nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import nearest, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import list_of
from gateval.formats.base import Parsed, Pending, Registries
from gateval.formats.yaml_document import Document
from gateval.formats.yaml_reader import read_documents

CASES_KEYS = ("tests", "eval_cases", "evalcases", "cases")
"""Where the cases stand, the newest spelling first."""

SETTINGS = (
    "$schema", "name", "description", "category", "version", "author", "tags", "license",
    "requires", "dataset", "suite", "target", "execution", "evaluator", "evaluators", "assertions",
    "assert", "input", "input_files", "metadata", "governance", "workspace", "preprocessors",
)  # fmt: skip
"""The keys of a suite beside its cases."""

_TELLING = frozenset({"execution", "evaluator", "evaluators", "assertions", "dataset"})
_FOREIGN = frozenset({"apiVersion", "kind", "prompts", "providers", "models", "sources", "jobs"})
_PECULIAR = frozenset({"expected_outcome", "expected_messages", "input_messages"})
_USUAL = frozenset(
    {"criteria", "rubrics", "evaluators", "assertions", "conversation_id", "expected_output"}
)
_SURE = (_PECULIAR | _USUAL) - {"expected_output"}
_LOOKED_AT = 20
SUFFIXES = (".yaml", ".yml", ".eval.jsonl")
"""How the names of files end that are looked at; other JSON lines are where targets are."""

TARGETS_FILES = ("targets.yaml", "targets.yml", ".agentv/targets.yaml", ".agentv/targets.yml")
"""Where targets stand, in the order in which they are looked for in each folder."""

NO_MAPPING = (
    "This file is named as a suite of AgentV and is no mapping, so nothing in it is read. Its "
    "cases stand in a list under `tests`, or `evalcases`."
)
_SCHEMA = "agentv-eval"
_NAMED = re.compile(r"(?:^|/)(?:[^/]*\.eval|eval)\.ya?ml$", re.IGNORECASE)
_SURELY_NAMED = re.compile(r"(?:^|/)[^/]+\.eval\.ya?ml$", re.IGNORECASE)
_KEY = re.compile(
    rb"(?<![\w.$/-])(?:eval[-_ ]?[a-z]{0,8}|tests?|cases|test[-_ ]?cases|execution|evaluators?"
    rb"|assertions|dataset|expected_outcome|expected_messages|input_messages)[\"']?[ \t]*:",
    re.IGNORECASE,
)
_MARK = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_HEAD = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*apiVersion[ \t]*:")
_TOP = re.compile(rb"^[\"']?([A-Za-z_$][\w-]*)[\"']?[ \t]*:", re.MULTILINE)
_SETTINGS_LIMIT = 16 * 1024
"""Bytes of a file that may have nothing but the settings of a file of cases."""
_LIKE = re.compile(r"(?:eval|test)?[-_ ]?(?:tests?|cases?|cses|csaes|evals?)", re.IGNORECASE)


class FileKind(StrEnum):
    """What a file is. A companion holds the settings of a file of cases beside it; cases alone are
    for a suite to name.
    """

    SUITE = "suite"
    COMPANION = "companion"
    ALMOST = "almost"
    NEWER = "newer"
    CASES = "cases"
    TARGETS = "targets"


def may_be_suite(path: str, data: bytes) -> bool:
    """Whether a file may be a suite or a companion, told without parsing; false is certain."""
    if path.lower().endswith(".jsonl") or is_surely_named(path):
        return True
    plain = narrow(data)
    if _is_targets(path) and b"targets" in plain:
        return True
    if _of_others(plain):
        return False
    if _SCHEMA.encode() in plain or _KEY.search(plain) is not None:
        return True
    keys = {key.decode() for key in _TOP.findall(plain)} if len(plain) < _SETTINGS_LIMIT else set()
    return bool(keys) and keys <= {*SETTINGS}


def _of_others(data: bytes) -> bool:
    """Whether each document begins with `apiVersion`, as manifests do: no suite has that key."""
    if b"---" not in data:
        return _HEAD.match(data) is not None
    parts = [part for part in _MARK.split(data) if part.strip()]
    return bool(parts) and all(_HEAD.match(part) for part in parts)


def narrow(data: bytes) -> bytes:
    """Return a text in UTF-16 or UTF-32 as ASCII, so that it is recognised and then refused."""
    return data.replace(b"\0", b"").lstrip(b"\xff\xfe") if b"\0" in data[:4096] else data


def is_named(path: str) -> bool:
    """Whether a file is named as AgentV names suites."""
    return _NAMED.search(path) is not None


def is_surely_named(path: str) -> bool:
    """Whether a file is named as nobody else names one."""
    return _SURELY_NAMED.search(path) is not None


def _is_targets(path: str) -> bool:
    return f"/{path}".endswith(("/targets.yaml", "/targets.yml"))


def kind_of(path: str, data: JsonValue) -> FileKind | None:
    """Return what a document is; None for what belongs to others."""
    if not isinstance(data, dict):  # as every suite is
        holds = isinstance(data, list) and any(map(is_case, data[:_LOOKED_AT]))
        if is_surely_named(path) or (holds and is_named(path)):
            return FileKind.ALMOST
        return FileKind.CASES if holds else None
    if "apiVersion" in data:
        return None
    if _is_targets(path) and isinstance(data.get("targets"), list):
        return FileKind.TARGETS
    marked = is_marked(data)
    named = is_named(path)
    if "evalcases" in data or "eval_cases" in data:
        return FileKind.SUITE
    cases = next((data[key] for key in ("tests", "cases") if key in data), None)
    if cases is None:
        return _without_cases(data, marked=marked, named=named)
    if "prompts" in data and (marked or named or "execution" in data):
        return FileKind.NEWER
    if marked or _like_cases(cases):
        return FileKind.SUITE
    if data.keys() & _FOREIGN:
        return None
    telling = bool(data.keys() & _TELLING)
    held = isinstance(cases, str) or any(
        isinstance(one, dict) or (isinstance(one, str) and one.startswith("file://"))
        for one in list_of(cases)
    )
    return FileKind.SUITE if named or (held and telling) else None


def almost_key(data: JsonObject) -> str:
    """Return the key of an almost-suite that holds its cases, or nearly so; empty if none does."""
    for key, value in data.items():
        if key not in SETTINGS and _LIKE.fullmatch(key) and isinstance(value, list):
            return key
    return next((key for key, value in data.items() if _like_cases(value)), "")


def _without_cases(data: JsonObject, *, marked: bool, named: bool) -> FileKind | None:
    key = almost_key(data)
    if key and (marked or named or _like_cases(data[key]) or "execution" in data):
        return FileKind.ALMOST
    if data.keys() & _FOREIGN:
        return FileKind.ALMOST if marked else None
    if data.keys() <= {*SETTINGS} and data:
        return FileKind.COMPANION
    if not marked:
        return None
    return FileKind.COMPANION if data.keys() & _TELLING else FileKind.ALMOST


def tells(data: JsonObject) -> bool:
    """Whether settings are such as only AgentV has; others belong to whatever lies beside them."""
    return bool(data.keys() & _TELLING) or is_marked(data)


def is_marked(data: JsonObject) -> bool:
    """Whether a document says that it is of AgentV."""
    schema = data.get("$schema")
    return isinstance(schema, str) and schema.startswith(_SCHEMA)


def _like_cases(value: JsonValue) -> bool:
    """Whether a value is a list with a case as nobody else writes it, or but for a wrong letter in
    what is peculiar to it.
    """
    entries = list_of(value)
    near = [one for one in entries[:_LOOKED_AT] if isinstance(one, dict) and "id" in one]
    keys = (key for one in near for key in [*one][:_LOOKED_AT])
    return any(map(like_case, entries)) or any(
        nearest(key, _PECULIAR, likeness=0.85) for key in keys
    )


def like_case(one: JsonValue) -> bool:
    """Whether a value is a case as nobody else writes it."""
    return isinstance(one, dict) and bool(
        (one.keys() & _PECULIAR and ("id" in one or "input" in one))
        or (one.keys() & _USUAL and "id" in one and ("input" in one or "turns" in one))
    )


def is_case(one: JsonValue) -> bool:
    """Whether a value is a case of AgentV beyond doubt: others have `expected_output`, too."""
    return like_case(one) and isinstance(one, dict) and bool(one.keys() & _SURE)


_BY_POINTS = "score_ranges"
_NO_TEXT = "A key must be text. Put it in quotes:"


def read_yaml(path: str, data: bytes) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents and problems of a file, as `read_documents` does.

    The keys of `score_ranges` are points: `0: …` is no mistake there, and stands for `"0": …`.
    """
    documents, problems = read_documents(path, data)
    if not any(map(_is_points, problems)):
        return documents, problems

    def without(wrong: tuple[Problem, ...]) -> tuple[Problem, ...]:
        return tuple(one for one in wrong if not _is_points(one))

    kept = [replace(one, problems=without(one.problems)) for one in documents]
    return tuple(kept), without(problems)


def _is_points(problem: Problem) -> bool:
    return problem.path.endswith(_BY_POINTS) and problem.message.startswith(_NO_TEXT)


_PECULIAR_KEYS = re.compile(rb"^[\"']?(?:evalcases|eval_cases)[\"']?[ \t]*:", re.MULTILINE)
_NEWER = (
    "This suite is written for AgentV 5, which is not read yet. Versions 2.6.1 to 4 are: cases as "
    "`tests` with `input`, and a target in `execution`."
)


def read_file(path: str, data: bytes, registries: Registries) -> Parsed:
    """Return a suite or companion as something to be put together, be it with what is wrong with
    its YAML. What belongs to others gives nothing.
    """
    del registries
    if path.endswith(".jsonl"):
        return Parsed((), (), pending=(Pending(path, None),))
    documents, problems = read_yaml(path, data)
    kinds = [kind_of(path, document.data) for document in documents]
    if not any(kinds):
        plain = narrow(data)
        surely = b"agentv-eval" in plain or _PECULIAR_KEYS.search(plain) is not None
        if not problems and not documents and is_surely_named(path):
            place = SourceLocation(file=show_path(path), line=1, column=1)
            problems = (Problem(place=place, message=NO_MAPPING),)
        elif not (problems and (surely or is_named(path))):
            return Parsed((), ())
    elif not problems and len(documents) > 1:
        said = "Only one document may stand in this file."
        problems = (Problem(place=documents[1].place(), message=said),)
    elif not problems and kinds[0] is FileKind.NEWER:
        problems = (Problem(place=documents[0].place(), message=_NEWER),)
    document = None if problems else documents[0]
    return Parsed((), (), pending=(Pending(path, document, problems=problems),))
