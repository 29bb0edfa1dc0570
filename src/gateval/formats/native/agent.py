"""Reads an Agent; its runtime is checked by the model registered for the runtime's type.

Several generations of this kind exist, so keys nobody here knows are kept under `spec` and its
tools, and named in the metadata. The runtime is our own, and strict.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Literal

from pydantic import JsonValue

from gateval.bridges import bridge_digest
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import (
    MODEL_RUNTIME,
    Agent,
    AgentSpec,
    AgentTool,
    ConversationMode,
    RuntimeSpec,
    ToolServerSpec,
    expression_problem,
)
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.formats.base import Source
from gateval.formats.native.written import (
    ManifestKind,
    OpenMetadata,
    ReadDocument,
    Written,
    canonical,
    meaning,
)
from gateval.formats.problems import expected_sentence, problem_at, unknown_word, validate
from gateval.formats.yaml_document import Document, DocumentPath

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./+-]*")


def with_list_form(problem: Problem, raw: JsonObject) -> Problem:
    """Add how a command line that stands there as one text is written as a list."""
    for key in ("command", "setup", "before", "after"):
        line = raw.get(key)
        if isinstance(line, str) and problem.path == f"spec.runtime.{key}":
            words = ", ".join(map(_word, _split(line)))
            return problem.model_copy(
                update={"message": f"{problem.message} Write [{words}]; no shell reads it."}
            )
    return problem


def _word(text: str) -> str:
    """Return a word as it stands in a YAML list."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark without its partner
        return line.split()


def with_servers(
    runtime: RuntimeSpec | None, tools: tuple[AgentTool, ...], source: Source
) -> tuple[RuntimeSpec | None, tuple[Problem, ...]]:
    """Return the runtime with the servers of these tools, and what is wrong with them.

    A program asks its own servers; only where the gate runs the agent does it start them.
    """
    entries = [(index, tool) for index, tool in enumerate(tools) if tool.is_server]
    if not entries or (runtime is not None and runtime.type != MODEL_RUNTIME):
        return runtime, ()
    servers: dict[str, ToolServerSpec] = {}
    problems: list[Problem] = []
    for index, _ in entries:
        path = ("spec", "tools", index)
        raw = source.document.data_at(path)
        server, wrong = validate(ToolServerSpec, raw, source.document, path)
        problems += wrong
        if server is not None and server.name in servers:
            message = "Another server has this name."
            problems.append(problem_at(source.document, (*path, "name"), message))
        elif server is not None:
            servers[server.name] = server
    enabled = tuple(one for one in servers.values() if one.enabled)
    if not enabled:
        return runtime, tuple(problems)
    known = runtime or RuntimeSpec()
    return known.model_copy(update={"servers": enabled}), tuple(problems)


_RUNTIME = ("spec", "runtime")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentDocument(Written):
    """An AI agent under test: models, system prompt and tools, and how to start it."""

    kind: Literal["Agent"]
    metadata: OpenMetadata
    spec: AgentSpec


NOT_WRITTEN = ("options", "servers", "bridge")
"""What a runtime is given by other keys."""

COMMON_KEYS = tuple(name for name in RuntimeSpec.model_fields if name not in NOT_WRITTEN)
"""The keys that every runtime has. They are one word each, so field and key are the same."""


def read(source: Source) -> ReadDocument:
    """Return the Agent and its problems."""
    document, problems = validate(AgentDocument, _without_runtime(source.body), source.document)
    runtime, broken = _read_runtime(source)
    if document is None or broken:
        return ReadDocument(None, (*problems, *broken))
    runtime, broken = with_servers(runtime, document.spec.tools, source)
    if broken:
        return ReadDocument(None, (*problems, *broken))
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
    return ReadDocument(agent, problems)


def _places(document: Document) -> dict[str, SourceLocation]:
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
    if "command" in raw and kind in source.registries.bridges:
        message = f"A runtime of type {kind} starts its `target`. Name in `interpreter` by what."
        problems += (problem_at(document, (*_RUNTIME, "command"), message),)
    _, broken = validate(registered, options, document, _RUNTIME, also_known=COMMON_KEYS)
    if common is None or problems or broken:
        return None, (*problems, *broken)
    bridge = source.registries.bridges.get(kind)
    own = bridged(common, options, bridge, raw) if bridge else {}
    return common.model_copy(update={"options": options, **own}), ()


def bridged(
    common: RuntimeSpec, options: JsonObject, bridge: str, raw: JsonObject
) -> dict[str, object]:
    """Return what a runtime with a bridge has besides: its interpreter is its command, and it goes
    on through a conversation unless the manifest says otherwise.
    """
    words = options.get("interpreter")
    return {
        "command": tuple(map(str, words)) if isinstance(words, list) else (),
        "conversation": common.conversation if "conversation" in raw else ConversationMode.PROCESS,
        "bridge": bridge_digest(bridge),
    }


def _missing(source: Source, kind: str, raw: JsonObject) -> tuple[Problem, ...]:
    """The shared keys that this runtime cannot do without, where they are not there."""
    described = RuntimeSpec.described()
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
