"""Reads an Agent; its runtime is checked by the model registered for the runtime's type.

Several generations of this kind exist, so keys nobody here knows are kept under `spec` and its
tools, and named in the metadata. The runtime is our own, and strict.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import JsonValue

from gateval.bridges import HOOK, bridge_digest
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
from gateval.domain.manifests.playground import PLAYGROUND
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.formats.base import Source
from gateval.formats.native.written import (
    ManifestKind,
    OpenMetadata,
    ReadDocument,
    Written,
    canonical,
    envelope,
    meaning,
)
from gateval.formats.problems import expected_sentence, problem_at, unknown_word, validate
from gateval.formats.yaml_document import DocumentPath

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./+-]*")


def with_list_form(problem: Problem, raw: JsonObject) -> Problem:
    """Add how a command line that stands there as one text is written as a list."""
    line = raw.get(problem.path.removeprefix("spec.runtime."))
    if problem.path not in _COMMANDS or not isinstance(line, str):
        return problem
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark without its partner
        words = line.split()
    shown = (w if _PLAIN.fullmatch(w) else json.dumps(w, ensure_ascii=False) for w in words)
    said = f"{problem.message} Write [{', '.join(shown)}]; no shell reads it."
    return problem.model_copy(update={"message": said})


_COMMANDS = frozenset(f"spec.runtime.{key}" for key in ("command", "setup", "before", "after"))


def with_servers(
    runtime: RuntimeSpec | None, tools: tuple[AgentTool, ...], source: Source
) -> tuple[RuntimeSpec | None, tuple[Problem, ...]]:
    """Return the runtime with the servers of these tools, and what is wrong with them.

    A program asks its own servers; only where the gate runs the agent does it start them.
    """
    if runtime is not None and runtime.type != MODEL_RUNTIME:
        return runtime, ()
    servers: dict[str, ToolServerSpec] = {}
    problems: list[Problem] = []
    for index in (number for number, tool in enumerate(tools) if tool.is_server):
        path = ("spec", "tools", index)
        raw = source.document.data_at(path)
        server, wrong = validate(ToolServerSpec, raw, source.document, path)
        problems += wrong
        if server is not None and server.name in servers:
            message = "Another server has this name."
            problems.append(problem_at(source.document, (*path, "name"), message))
        elif server is not None:
            servers[server.name] = server
    if enabled := tuple(one for one in servers.values() if one.enabled):
        runtime = (runtime or RuntimeSpec()).model_copy(update={"servers": enabled})
    return runtime, tuple(problems)


_RUNTIME = ("spec", "runtime")
_DEEPER: Mapping[str | int, int] = {"runtime": 4, "tools": 3}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentDocument(Written):
    """An AI agent under test: models, system prompt and tools, and how to start it."""

    kind: Literal["Agent"]
    metadata: OpenMetadata
    spec: AgentSpec


NOT_WRITTEN = ("options", "servers", "bridge", "hook")
"""What a runtime is given by other keys."""

COMMON_KEYS = tuple(name for name in RuntimeSpec.model_fields if name not in NOT_WRITTEN)
"""The keys that every runtime has. They are one word each, so field and key are the same."""


def read(source: Source) -> ReadDocument:
    """Return the Agent and its problems; `places` goes as deep as somebody may have to look."""
    body, written = source.body, source.document
    if isinstance(body, dict) and isinstance(spec := body.get("spec"), dict):
        body = body | {"spec": {key: spec[key] for key in spec if key != "runtime"}}
    document, problems = validate(AgentDocument, body, written)
    runtime, broken = read_runtime(source)
    if document is not None and not broken:
        runtime, broken = with_servers(runtime, document.spec.tools, source)
    if document is None or broken:
        return ReadDocument(None, (*problems, *broken))
    whole = document.spec.replace(runtime=runtime) if runtime else document.spec
    agent = Agent.of_known(
        **envelope(source, document),
        other_metadata=tuple(document.metadata.model_extra or ()),
        spec=whole,
        places=written.key_places(("spec",), depth=2, deeper=_DEEPER)
        | written.key_places(("metadata",), depth=1),
        digest=meaning(document.kind, document.metadata, canonical(whole)),
    )
    return ReadDocument(agent, problems)


def read_runtime(source: Source) -> tuple[RuntimeSpec | None, tuple[Problem, ...]]:
    """Return `spec.runtime` of a document, None without one or with all that is wrong with it."""
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
    problems += tuple(_unusable_texts(source, raw))
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
    problems += tuple(_without_program(source, kind, raw))
    _, broken = validate(registered, options, document, _RUNTIME, also_known=COMMON_KEYS)
    if common is None or problems or broken:
        return None, (*problems, *broken)
    bridge = source.registries.bridges.get(kind)
    own = bridged(common, options, bridge, raw) if bridge else {}
    if common.redirect:
        own["hook"] = bridge_digest(HOOK)
    return common.replace(options=options, **own), ()


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


def _missing(source: Source, kind: str, raw: JsonObject) -> Iterator[Problem]:
    """The shared keys that this runtime cannot do without, where they are not there."""
    for key in source.registries.required.get(kind, ()):
        if not raw.get(key):
            what = RuntimeSpec.described()[key]
            message = f"A runtime of type {kind} needs `{key}`: {what[:1].lower()}{what[1:]}"
            yield problem_at(source.document, _RUNTIME, message)


def _without_program(source: Source, kind: str, raw: JsonObject) -> Iterator[Problem]:
    """What only a program in its own files can have."""
    for key in (one for one in ("workdir", "redirect") if raw.get(one)):
        if kind == MODEL_RUNTIME:
            message = f"The gate runs this agent itself, and there is no program for `{key}`."
            yield problem_at(source.document, (*_RUNTIME, key), message)
    if raw.get("workdir") and raw.get("cwd") == PLAYGROUND:
        message = "It works in the trial's playground, which it may write. Remove `workdir`."
        yield problem_at(source.document, (*_RUNTIME, "workdir"), message)


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


def _unusable_texts(source: Source, raw: JsonObject) -> Iterator[Problem]:
    """What no operating system takes, of every text that goes to it: names that are no variable's,
    and NUL in a word; and what only a workflow would fill in.
    """
    for key in ("cwd", "setup", "command", "env", "before", "after", "services"):
        for path, text in _texts((key,), raw.get(key)):
            name, said = str(path[-1]), []
            if "env" in path[:-1]:
                named = _VARIABLE.fullmatch(name)
                said = ["" if named else f"{quote(name)} cannot name a variable."]
                said.append(expression_problem(text, name) or "")
            said.append("A NUL character cannot stand here." if "\0" in text else "")
            for message in filter(None, said):
                yield problem_at(source.document, (*_RUNTIME, *path), message)


def _texts(path: DocumentPath, value: JsonValue) -> Iterator[tuple[DocumentPath, str]]:
    """The texts in a value with their paths, four levels deep: `services[0].command[0]`."""
    if isinstance(value, str):
        yield path, value
    elif len(path) <= 4 and isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts((*path, step), inner)


AGENT = ManifestKind("Agent", AgentDocument, read)
