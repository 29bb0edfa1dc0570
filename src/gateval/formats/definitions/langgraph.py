"""Graphs of LangGraph, as `langgraph.json` names them.

Source: https://docs.langchain.com/langsmith/application-structure. Each graph is an agent; the
bridge of LangGraph starts it, in Python or in Node as the file says, and its folder is its closure.
`env` is no part of it: what stands there is for machines, and secrets of it belong to
`policy.candidateEnv`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gateval.domain.base import JsonObject
from gateval.formats.definitions.base import Definition, Source, text_of, without


def read(source: Source) -> Iterator[Definition]:
    """Return every graph of a file."""
    try:
        keys = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise source.refused(f"This is no JSON: {str(error)[:200]}.") from None
    graphs = keys.get("graphs") if isinstance(keys, dict) else None
    if not isinstance(graphs, dict):
        raise source.refused("This file names no `graphs`.")
    node = "node_version" in keys
    for name, value in graphs.items():
        written = text_of(value) or text_of(value.get("path") if isinstance(value, dict) else "")
        path, _, found = written.removeprefix("./").rpartition(":")
        node = node or path.endswith((".ts", ".js", ".mjs", ".tsx"))
        target = f"{path}:{found}" if node else f"langgraph.json:{name}"
        runtime: JsonObject = {
            "type": "node" if node else "python",
            "target": target,
            "framework": "langgraph",
        }
        yield Definition(
            name=str(name),
            place=source.place,
            files=(source.folder or source.path,),
            root=source.folder,
            runtime=runtime if path and found else None,
            refusal="It does not say which object of which file the graph is.",
            means={"graph": written, **without(keys, "graphs", "env")},
        )
