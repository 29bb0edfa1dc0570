"""How a program comes to the tools that the gate answers for, and what it means if it does not.

`GATEVAL_MCP_URL` leads to the gate's MCP server; `GATEVAL_MCP_COMMAND` is a program that speaks the
same over standard input and output. Clients start such a program without the first in its
environment (the official SDK's does), so the address stands in a file of the instance's own.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import TrialRequest
from gateval.domain.manifests.playground import TOOLS_COMMAND, TOOLS_URL
from gateval.domain.trials.trial import Answer, Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.program import PrivateFolders
    from gateval.gateway.local.session import Session


URL, COMMAND = "GATEVAL_MCP_URL", "GATEVAL_MCP_COMMAND"

_START = """\
#!/bin/sh
for python in {python} python3; do
    if "$python" -c '' 2>/dev/null; then exec "$python" -I -S "${{0%/*}}/{name}.py"; fi
done
echo '{name}: there is no Python here that this program may run; use {variable}' >&2
exit 127
"""
_NAME = "gateval-mcp"


def door_environment(session: Session | None, private: PrivateFolders) -> dict[str, str]:
    """Return the variables that lead an instance to models and tools."""
    if session is None:
        return {}
    environment = session.environment()
    if URL in environment:
        environment[COMMAND] = str(_write_command(private.home.parent, environment[URL]))
    return environment


def with_tools(literals: Mapping[str, str], door: Mapping[str, str]) -> dict[str, str]:
    """Return literals of a manifest with the way to the tools in the place of what names it."""
    url, command = door.get(URL, ""), door.get(COMMAND, "")
    return {
        name: text.replace(TOOLS_URL, url).replace(TOOLS_COMMAND, command)
        for name, text in literals.items()
    }


def _write_command(folder: Path, url: str) -> Path:
    """Write the program into a folder that nobody else can look into; it is gone with that. An
    earlier program of the same trial may have left links there, so it gets a fresh folder in it.
    """
    own = Path(tempfile.mkdtemp(prefix="tools-", dir=folder))
    own.chmod(0o755)
    bridge = Path(__file__).with_name("stdio_bridge.py").read_text("utf-8")
    program = own / f"{_NAME}.py"
    program.write_text(f"{bridge}\n\nmain({url!r})\n", "utf-8")
    start = own / _NAME
    python = shlex.quote(sys.executable)
    start.write_text(_START.format(python=python, name=_NAME, variable=URL), "utf-8")
    program.chmod(0o644)
    start.chmod(0o755)
    return start


def untouched_tools(
    given: Answer | NoAnswer, request: TrialRequest, session: Session | None
) -> Answer | NoAnswer:
    """Return what a program gave, unless its own tools acted where the fixture answers for them.
    That is so where such a tool was called and the program never spoke to the gate's MCP server.
    """
    if session is None or session.tools_asked or not isinstance(given, Answer) or not given.trace:
        return given
    answered = {*request.shadow_tools, *(entry.tool for entry in request.tool_replay)}
    called = [one.tool for one in given.trace.tool_calls() if one.tool and not one.refused]
    tool = next((name for name in called if name in answered), None)
    if tool is None:
        return given
    reason = (
        f"The fixture says what the tool {tool} answers, but the program called one of its own: it "
        f"never asked the gate's MCP server. Have it take its tools from {URL}."
    )
    return NoAnswer(cause=Cause.CANDIDATE, reason=reason, trace=given.trace, seconds=given.seconds)
