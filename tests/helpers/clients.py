"""Official clients as programs of their own, with a candidate's environment and nothing else.

Importing a client takes half a second, so a server, one for each Python, imports it once and forks
for each program: before that no variable of a candidate is set, and nothing is asked.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gateval.candidates.environment import instance_environment
from gateval.candidates.program import PrivateFolders
from gateval.gateway.local.session import Session

_SERVER = """
import atexit, json, os, signal, sys, tempfile, traceback
for client in sys.argv[1:]:
    try:
        __import__(client)
    except ImportError:
        pass
for line in sys.stdin:
    asked = json.loads(line)
    said = [tempfile.TemporaryFile() for _ in range(2)]
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.environ.clear()
        os.environ.update(asked["environment"])
        for number, file in enumerate((open(os.devnull), *said)):
            os.dup2(file.fileno(), number)
        sys.argv = ["-c", *asked["arguments"]]
        try:
            exec(asked["code"], {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    for file in said:
        file.seek(0)
    print(json.dumps([file.read().decode() for file in said]), flush=True)
"""

_CLIENTS = ("openai", "openai.resources", "openai.resources.responses", "anthropic", "openrouter", "google.genai")  # fmt: skip

_servers: dict[tuple[str, bool], subprocess.Popen[str]] = {}


async def run_client(
    session: Session,
    code: str,
    *,
    python: Path | str = sys.executable,
    fresh: bool = False,
    **literals: str,
) -> tuple[str, str]:
    """Return what a Python program prints on standard output and standard error.

    A `fresh` one imports clients itself, which matters where they read variables on import.
    """
    private = PrivateFolders(Path("/nonexistent"), Path("/tmp"))
    environment = instance_environment({}, "c", private, literals, session.environment())
    return await run_program(code, environment, python=python, fresh=fresh)


async def run_program(
    code: str,
    environment: Mapping[str, str],
    *arguments: str,
    python: Path | str = sys.executable,
    fresh: bool = False,
) -> tuple[str, str]:
    """The same for this whole environment. After a minute the program is ended."""
    asked = {"code": code, "arguments": arguments, "environment": dict(environment)}
    out, errors = await asyncio.to_thread(_run, str(python), fresh, json.dumps(asked))
    return out, errors


def _run(python: str, fresh: bool, asked: str) -> list[str]:
    server = _servers.get((python, fresh))
    if server is None or server.poll() is not None:
        server = _servers[python, fresh] = subprocess.Popen(
            [python, "-I", "-c", _SERVER, *(() if fresh else _CLIENTS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(asked + "\n")
    server.stdin.flush()
    said: list[str] = json.loads(server.stdout.readline())
    return said
