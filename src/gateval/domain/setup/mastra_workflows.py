"""Workflows of Mastra that people are told to start, where its agents are but their steps, or that
are all there is. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gateval.domain.setup.declared import DeclaredAgent
from gateval.domain.setup.found_programs import declared_program, program_of
from gateval.domain.setup.mastra_agents import Mastras, OfMastra
from gateval.domain.setup.node_text import braced, parts, without_comments
from gateval.domain.setup.openapi import takes_question
from gateval.domain.setup.other_work import MUTE, UNSTARTED, Refusal
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.repository_files import RepositoryFiles
from gateval.domain.setup.zod import schema_fields, schemas_of

_MADE = re.compile(r"\bconst\s+(\w+)\s*=\s*createWorkflow\(\s*\{")
_ID = re.compile(r"\b(?:id|name)\s*:\s*[\"'`]([^\"'`$\n]+)")
_TAKES = re.compile(r"\binputSchema\s*:\s*")


def told_workflow(programs: Sequence[FoundProgram], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the workflow that a README names, and none of the agents, where nothing but agents of
    Mastra was found; or any where nothing was.
    """
    asked = [one for one in programs if one.refused is None]
    if any(one.framework != "Mastra" or not one.target for one in asked):
        return []
    if not asked and any(one.refused not in {MUTE, UNSTARTED} for one in programs):
        return []
    readme = "\n".join(around.readmes.values())
    agents = {name for one in asked for name in (one.target.rpartition(":")[2], *one.names[:2])}
    if any(_is_named(one, readme) for one in agents):
        return []
    known = Mastras(around.texts).workflows()
    for path, text in around.texts.items():
        for one in _workflows(text):
            named = _is_named(one.name, readme) or _is_named(one.variable, readme)
            if named or (not asked and one.variable in known):
                return [_program(one, path, known.get(one.variable), around)]
    return []


class _Workflow(NamedTuple):
    """A workflow: its variable, its name, and what its input demands."""

    variable: str
    name: str
    fields: dict[str, Any]


def _program(
    one: _Workflow, path: str, of: OfMastra | None, around: RepositoryFiles
) -> FoundProgram:
    """Return a workflow as what a bridge starts, through its Mastra; refused where nothing of its
    input takes a question, or more would have to be made up.
    """
    asked = [key for key in one.fields if takes_question(key)][:1]
    rest = {key: value for key, value in one.fields.items() if key not in asked}
    plain = all(isinstance(value, bool | int | float | list) for value in rest.values())
    if not (of and asked and plain):
        made = program_of(path, "Mastra", around)
        return made._replace(refused=_refusal(one.name or one.variable, [*one.fields]))
    more = tuple((key, json.dumps(value)) for key, value in rest.items())
    names = (one.name, one.variable)
    inputs = tuple(key for key in asked if key != "prompt")
    return declared_program(
        DeclaredAgent(of.path, path, of.found, "Mastra", names, 20, inputs, more=more), around
    )


def _is_named(name: str, readme: str) -> bool:
    return bool(name) and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", readme, re.I))


def _workflows(text: str) -> Iterator[_Workflow]:
    """Yield the workflows that a file makes."""
    plain = without_comments(text) if "createWorkflow" in text else ""
    for one in _MADE.finditer(plain):
        body = braced(plain, one.end())
        own = "\n".join(part for part in parts(body) if "steps" not in part[:20])
        name, takes = _ID.search(own), _TAKES.search(own)
        known = schemas_of(plain)
        schema = own[takes.end() :].strip() if takes else ""
        named = re.match(r"\w+(?=\s*(?:,|\n|$))", schema)
        fields = schema_fields(known.get(named[0], "") if named else schema, known)
        yield _Workflow(one[1], name[1] if name else "", fields)


def _refusal(name: str, keys: Sequence[str]) -> Refusal:
    given = f", whose input has {', '.join(f'`{one}`' for one in keys)}" if keys else ""
    return Refusal(
        f"has the workflow `{name}` of Mastra{given}, which no question fills; agents here are its "
        "parts.",
        "Export a function that takes the question, starts the workflow (`createRun`) and gives "
        "its result, and name it, `gateval init FILE:FUNCTION` (docs/guides/bridges.md). An agent "
        "alone becomes an Agent by its name, `gateval init FILE:OBJECT`.",
    )
