"""Workflows of Mastra that people are told to start, where its agents are but their steps. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gateval.domain.setup.found_programs import program_of
from gateval.domain.setup.node_text import braced, parts, without_comments
from gateval.domain.setup.other_work import Refusal
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.repository_files import RepositoryFiles
from gateval.domain.setup.zod import schema_fields, schemas_of

_MADE = re.compile(r"\bconst\s+(\w+)\s*=\s*createWorkflow\(\s*\{")
_ID = re.compile(r"\b(?:id|name)\s*:\s*[\"'`]([^\"'`$\n]+)")
_TAKES = re.compile(r"\binputSchema\s*:\s*")


def told_workflow(programs: Sequence[FoundProgram], around: RepositoryFiles) -> list[FoundProgram]:
    """Return the workflow that a README names, and none of the agents, where nothing but agents of
    Mastra was found.
    """
    asked = [one for one in programs if one.refused is None]
    if not asked or any(one.framework != "Mastra" or not one.target for one in asked):
        return []
    readme = "\n".join(around.readmes.values())
    agents = {name for one in asked for name in (one.target.rpartition(":")[2], *one.names[:2])}
    if any(_is_named(one, readme) for one in agents):
        return []
    for path, text in around.texts.items():
        for variable, name, keys in _workflows(text):
            if _is_named(name, readme) or _is_named(variable, readme):
                made = program_of(path, "Mastra", around)
                return [made._replace(refused=_refusal(name or variable, keys))]
    return []


def _is_named(name: str, readme: str) -> bool:
    return bool(name) and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", readme, re.I))


def _workflows(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the variable, the name and the keys of the input of each workflow."""
    plain = without_comments(text) if "createWorkflow" in text else ""
    for one in _MADE.finditer(plain):
        body = braced(plain, one.end())
        own = "\n".join(part for part in parts(body) if "steps" not in part[:20])
        name, takes = _ID.search(own), _TAKES.search(own)
        known = schemas_of(plain)
        schema = own[takes.end() :].strip() if takes else ""
        named = re.match(r"\w+(?=\s*(?:,|\n|$))", schema)
        yield (
            one[1],
            name[1] if name else "",
            [*schema_fields(known.get(named[0], "") if named else schema, known)],
        )


def _refusal(name: str, keys: Sequence[str]) -> Refusal:
    given = f", whose input has {', '.join(f'`{one}`' for one in keys)}" if keys else ""
    return Refusal(
        f"has the workflow `{name}` of Mastra{given}; no bridge starts workflows, and the agents "
        "here are its parts.",
        "Export a function that takes the question, starts the workflow (`createRun`) and gives "
        "its result, and name it, `gateval init FILE:FUNCTION` (docs/guides/bridges.md). An agent "
        "alone becomes an Agent by its name, `gateval init FILE:OBJECT`.",
    )
