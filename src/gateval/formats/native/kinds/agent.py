"""Reads an Agent; its runtime is checked by the model registered for the runtime's type.

Several generations of this kind exist, so keys nobody here knows are kept under `spec` and its
tools, and named in the metadata. The runtime is our own, and strict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.domain.manifests.variable_names import expression_problem
from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.kinds.list_form import with_list_form
from gateval.formats.native.kinds.tool_servers import with_servers
from gateval.formats.native.written import (
    ManifestKind,
    OpenMetadata,
    Read,
    Source,
    Written,
    canonical,
    meaning,
)
from gateval.formats.problems.sentences import expected_sentence, unknown_word
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.yaml.document import Document, DocumentPath

_RUNTIME = ("spec", "runtime")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentDocument(Written):
    """An AI agent under test: models, system prompt and tools, and how to start it."""

    kind: Literal["Agent"]
    metadata: OpenMetadata
    spec: AgentSpec


NOT_WRITTEN = ("options", "servers")
"""What a runtime is given by other keys."""

COMMON_KEYS = tuple(name for name in RuntimeSpec.model_fields if name not in NOT_WRITTEN)
"""The keys that every runtime has. They are one word each, so field and key are the same."""


def read(source: Source) -> Read:
    """Return the Agent and its problems."""
    document, problems = validate(AgentDocument, _without_runtime(source.body), source.document)
    runtime, broken = _read_runtime(source)
    if document is None or broken:
        return Read(None, (*problems, *broken))
    runtime, broken = with_servers(runtime, document.spec.tools, source)
    if broken:
        return Read(None, (*problems, *broken))
    spec = document.spec.model_copy(update={"runtime": runtime})
    agent = Agent(
        name=document.metadata.name,
        labels=document.metadata.labels,
        other_metadata=tuple(document.metadata.model_extra or ()),
        spec=spec,
        place=source.document.place(("metadata", "name")),
        path=source.path,
        places=_places(source.document),
        digest=meaning(document.kind, document.metadata, canonical(spec)),
    )
    return Read(agent, problems)


def _places(document: Document) -> dict[str, Place]:
    """Return where the keys stand, as deep as somebody may have to look: each word of a command."""
    return (
        document.key_places(("spec",), depth=2)
        | document.key_places(_RUNTIME, depth=4)
        | document.key_places(("spec", "tools"), depth=3)
        | document.key_places(("metadata",), depth=1)
    )


def _without_runtime(body: JsonValue) -> JsonValue:
    if isinstance(body, dict) and isinstance(spec := body.get("spec"), dict):
        return body | {"spec": {key: spec[key] for key in spec if key != "runtime"}}
    return body


def _read_runtime(source: Source) -> tuple[RuntimeSpec | None, tuple[Problem, ...]]:
    document = source.document
    raw = document.data_at(_RUNTIME)
    if raw is None:
        return None, ()
    if not isinstance(raw, dict):
        return None, (problem_at(document, _RUNTIME, expected_sentence(["a mapping"], raw)),)
    common_raw: JsonObject = {key: raw[key] for key in raw if key in COMMON_KEYS}
    options: JsonObject = {key: raw[key] for key in raw if key not in COMMON_KEYS}
    common, problems = validate(RuntimeSpec, common_raw, document, _RUNTIME)
    problems = tuple(with_list_form(problem, raw) for problem in problems)
    problems += _unusable_texts(source, raw)
    kind = raw.get("type", RuntimeSpec().type)
    if not isinstance(kind, str):
        return None, problems
    registered = source.registries.runtimes.get(kind)
    if registered is None:
        message = unknown_word("runtime", kind, list(source.registries.runtimes))
        return None, (*problems, problem_at(document, (*_RUNTIME, "type"), message))
    problems += (*_missing(source, kind, raw), *_unusable_words(source, kind, raw))
    _, broken = validate(registered, options, document, _RUNTIME, also_known=COMMON_KEYS)
    if common is None or problems or broken:
        return None, (*problems, *broken)
    return common.model_copy(update={"options": options}), ()


def _missing(source: Source, kind: str, raw: JsonObject) -> tuple[Problem, ...]:
    """The shared keys that this runtime cannot do without, where they are not there."""
    described = {name: field.description for name, field in RuntimeSpec.model_fields.items()}
    return tuple(
        problem_at(
            source.document,
            _RUNTIME,
            f"A runtime of type {kind} needs `{key}`: {_begun_small(described[key])}",
        )
        for key in source.registries.required.get(kind, ())
        if not raw.get(key)
    )


def _unusable_words(source: Source, kind: str, raw: JsonObject) -> Iterator[Problem]:
    """What this runtime cannot make of a word of `command`."""
    check = source.registries.word_checks.get(kind)
    if check is None:
        return
    for path, word in _texts(("command",), raw.get("command")):
        try:
            check(word)
        except ValueError as error:
            text = str(error)
            yield problem_at(source.document, (*_RUNTIME, *path), f"{text[:1].upper()}{text[1:]}.")


def _begun_small(sentence: str | None) -> str:
    return (sentence or "")[:1].lower() + (sentence or "")[1:]


def _unusable_texts(source: Source, raw: JsonObject) -> tuple[Problem, ...]:
    """What no operating system takes: names that are no variable's, and NUL in a word."""
    document = source.document
    problems = [
        problem_at(document, (*_RUNTIME, *path), f"{quote(str(path[-1]))} cannot name a variable.")
        for path, _ in _words(raw)
        if "env" in path[:-1] and not _VARIABLE.fullmatch(str(path[-1]))
    ]
    problems += [
        problem_at(document, (*_RUNTIME, *path), "A NUL character cannot stand here.")
        for path, text in _words(raw)
        if "\0" in text
    ]
    problems += [
        problem_at(document, (*_RUNTIME, *path), message)
        for path, text in _words(raw)
        if "env" in path[:-1] and (message := expression_problem(text, str(path[-1])))
    ]
    return tuple(problems)


def _words(raw: JsonObject) -> Iterator[tuple[DocumentPath, str]]:
    """Every text that goes to the operating system, with its path below `runtime`."""
    for key in ("cwd", "setup", "command", "env", "before", "after", "services"):
        yield from _texts((key,), raw.get(key))


def _texts(path: DocumentPath, value: JsonValue) -> Iterator[tuple[DocumentPath, str]]:
    """The texts in a value, four levels deep: `services[0].command[0]`."""
    if isinstance(value, str):
        yield path, value
    if len(path) > 4:
        return
    entries = value.items() if isinstance(value, dict) else enumerate(_list(value))
    for step, inner in entries:
        yield from _texts((*path, step), inner)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


AGENT = ManifestKind("Agent", AgentDocument, read)
