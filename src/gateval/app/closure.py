"""What `closure` does: reads one revision and lists what an Agent's candidates get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.app.guard import LINE_LIMIT
from gateval.app.planning import announce_worktree
from gateval.app.registries import registries
from gateval.domain.planning.files.inventory import Inventory, inventory
from gateval.domain.repository.place import nearest
from gateval.domain.text.figures import show_bytes
from gateval.errors import EXIT_PASS, UsageError
from gateval.pipeline.read import survey
from gateval.pipeline.revisions import find_head
from gateval.render.report.words.counts import count
from gateval.safe.sanitize import plain_line


def show_closure(name: str, *, head: str | None, as_json: bool) -> int:
    """Print the closure of one Agent. Raises `UsageError` when there is none of that name."""
    repository = open_repository(Path.cwd())
    revision = find_head(repository, head)
    announce_worktree(revision)
    snapshot = survey(repository, registries(), revision)
    agent = snapshot.catalogue.agent(name)
    if agent is None:
        known = [one.name for one in snapshot.catalogue.agents]
        raise UsageError(
            f'There is no Agent "{name}" on this revision.{nearest(name, known)}',
            hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
        )
    found = inventory(agent, snapshot)
    sizes = repository.sizes(file.oid for file in found.files if file.kind != "submodule")
    if as_json:
        print(json.dumps(_as_json(found, sizes), indent=2))
        return EXIT_PASS
    for file in found.files:
        size = f"{sizes[file.oid]:>12,}" if file.oid in sizes else f"{file.kind:>12}"
        print(plain_line(f"{size}  {file.shown}  ({file.why})", LINE_LIMIT))
    total = sum(sizes.get(file.oid, 0) for file in found.files)
    print(f"{count(len(found.files), 'file')}, {show_bytes(total)}: all that {name} gets.")
    return EXIT_PASS


def _as_json(found: Inventory, sizes: Mapping[str, int]) -> dict[str, object]:
    files = [
        {"path": file.shown, "kind": file.kind, "bytes": sizes.get(file.oid), "why": file.why}
        for file in found.files
    ]
    return {"version": "closure.v1", "agent": found.agent, "cwd": found.cwd, "files": files}
