"""What `init --self-test` does: renames a tool in a copy of the working tree, and shows the red."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.app.check import check_change
from gateval.app.proof import copied
from gateval.app.readers import MEND, valid_snapshot
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.setup.gate_job import RUN_MINUTES
from gateval.domain.setup.program_search import worth_reading
from gateval.errors import EXIT_FAILED, EXIT_PASS, UsageError
from gateval.safe.sanitize import plain_line


def run_self_test(environ: dict[str, str]) -> int:
    """Check a change that has to be found; return 0 where the gate is red, and 1 where it is green.

    The person's tree, index and refs stay as they are. Raises `UsageError` where no fixture says
    which tool has to be called, or no file of an agent names it.
    """
    repository = open_repository(Path.cwd())
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    tools = list(dict.fromkeys(_tools(snapshot)))
    if not tools:
        raise UsageError(
            "No fixture says which tool has to be called, so nothing would see that one is gone.",
            hint="Add `- {type: toolCalled, tool: NAME}` to a fixture, and try again.",
        )
    with copied(repository) as (copy, git):
        git.run("commit", "--quiet", "--message", "As it is")
        tool = next((one for one in tools if _rename(copy.root, snapshot, one)), "")
        if not tool:
            raise UsageError(
                f"No file of an agent names the tool {plain_line(tools[0], 100)}.",
                hint="Correct the fixture: a tool is called as the model calls it.",
            )
        named = plain_line(tool, 100)
        print(f"In a copy of the working tree, {named} is called {named}_renamed now.", flush=True)
        # What it says beside the summary leads to a folder that is gone when somebody reads it.
        with contextlib.chdir(copy.root), contextlib.redirect_stderr(io.StringIO()):
            code = check_change(
                environ,
                base="main",
                head=None,
                agents=(),
                evals=(),
                fixtures=(),
                failed=False,
                fresh=True,
                results=copy.root.parent / "results",
                accept_bar_change=False,
                minutes=RUN_MINUTES,
            )
    if code == EXIT_FAILED:
        print("The gate is red, as it should be. Your files are as they were.")
        return EXIT_PASS
    if code == EXIT_PASS:
        print(f"The gate is green, though {named} is gone: no fixture depends on its call.")
        return EXIT_FAILED
    return code


def _tools(snapshot: Snapshot) -> Iterator[str]:
    """Yield the tools that fixtures want to be called."""
    for fixture in snapshot.catalogue.fixtures:
        for one in fixture.assertions:
            if one.type in {"toolCalled", "toolArguments"}:
                yield str(one.options.get("tool", ""))
            tools = one.options.get("tools")
            if one.type == "toolSequence" and isinstance(tools, list):
                yield from map(str, tools)


def _rename(root: Path, snapshot: Snapshot, tool: str) -> bool:
    """Rename a tool in programs, and where manifests define it; say whether it was anywhere."""
    manifests = {agent.path for agent in snapshot.catalogue.agents}
    word = re.compile(rf"(?<![\w-]){re.escape(tool)}(?![\w-])")
    defined = re.compile(rf"(\bname[\"']?\s*:\s*[\"']?){re.escape(tool)}(?![\w-])")
    found = False
    for path, entry in snapshot.tree.items():
        pattern = defined if path in manifests else word if worth_reading(path) else None
        if pattern is None or not entry.is_file or (root / path).is_symlink():
            continue
        text = (root / path).read_bytes().decode("utf-8", "surrogateescape")
        given = rf"\g<1>{tool}_renamed" if pattern is defined else f"{tool}_renamed"
        new = pattern.sub(given, text)
        if new != text:
            (root / path).write_bytes(new.encode("utf-8", "surrogateescape"))
            found = True
    return found
