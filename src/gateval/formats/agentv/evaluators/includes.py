"""Entries of a list of evaluators that stand for a file of them: `{include: NAME}`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from gateval.formats.agentv.documents import read_yaml
from gateval.formats.agentv.evaluators.entry import Context
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.references import NoFile, find

LIMIT = 500
"""Evaluators of one case, and files that are included for it."""

_DEPTH = 3


def included(written: Node, context: Context) -> Iterator[Node]:
    """Yield the entries of a list, those of the files that it includes in their place."""
    for number, entry in enumerate(_entries(written, context, 0), 1):
        if number > LIMIT:
            said = f"A case may have {LIMIT} evaluators, those of files that it includes, too."
            context.found.problems.append(written.problem(said))
            return
        if entry is not None:
            yield entry


def _entries(written: Node, context: Context, depth: int) -> Iterator[Node | None]:
    """Yield the entries of a list, and None for each file that is included."""
    for entry in written.items():
        name = entry.at("include").value if isinstance(entry.value, dict) else None
        if name is None or entry.at("type").value is not None:
            yield entry
        elif depth == _DEPTH:
            said = f"Files may include each other {_DEPTH} levels deep, and no deeper."
            context.found.problems.append(entry.problem(said))
        else:
            yield None
            yield from _file(entry.at("include"), str(name), context, depth)


def _file(node: Node, name: str, context: Context, depth: int) -> Iterator[Node | None]:
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    try:
        path = _found(name if is_path else f".agentv/templates/{name}", context, whole=is_path)
    except NoFile as error:
        context.found.problems.append(node.problem(str(error)))
        return
    context.found.own.add(path)
    documents, problems = read_yaml(path, context.around.content(path) or b"")
    context.found.problems += problems
    if problems or not documents:
        return
    whole = Node(documents[0], (), documents[0].data)
    listed = whole.first(("assertions", "assert")) if isinstance(whole.value, dict) else whole
    if listed is None or not isinstance(listed.value, list):
        context.found.problems.append(whole.wrong("a list of evaluators"))
        return
    yield from _entries(listed, context, depth + 1)


def _found(name: str, context: Context, *, whole: bool) -> str:
    if whole:
        return find(name, context.folder, context.around)
    try:
        return find(f"{name}.yaml", context.folder, context.around)
    except NoFile:
        with suppress(NoFile):
            return find(f"{name}.yml", context.folder, context.around)
        raise
