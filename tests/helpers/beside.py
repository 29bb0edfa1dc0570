"""Agents with something beside them: a tiny database as a service, and what resets it."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.playground import ServiceSpec
from gateval.domain.plan.plan import AgentDefinition
from tests.helpers.isolation import open_python

PYTHON = (open_python(), "-I", "-S")

STORE = """\
import os, socket, sys, threading
from pathlib import Path
values = {}
def answer(peer):
    with peer, peer.makefile("rw") as lines:
        for line in lines:
            word, *rest = line.split()
            if word == "die": os._exit(int(rest[0]))
            if word == "clear": values.clear()
            if word == "add": values[rest[0]] = values.get(rest[0], 0) + 1
            print(values.get(rest[0], 0) if rest else "ok", file=lines, flush=True)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(20)
while True:
    threading.Thread(target=answer, args=listener.accept()[:1], daemon=True).start()
"""
"""A store of counters: `add NAME` says how many by now, `clear` forgets, `die CODE` ends it."""

TELL = """\
import os, socket, sys
host, port = os.environ["GATEVAL_SERVICE_STORE"].rsplit(":", 1)
def tell(line):
    with socket.create_connection((host, int(port)), 5) as peer:
        peer.sendall((line + "\\n").encode())
        return peer.makefile().readline().strip()
"""
"""`tell(LINE)` asks the store."""

STORE_SERVICE = ServiceSpec(name="store", command=(*PYTHON, "store.py", "{port}"))


def beside(
    agent: AgentDefinition,
    *services: ServiceSpec,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> AgentDefinition:
    """The Agent with these services and commands, each a Python file of the export."""
    given = {
        "services": services,
        "before": (*PYTHON, *before) if before else (),
        "after": (*PYTHON, *after) if after else (),
    }
    runtime = agent.runtime.model_copy(update=given)
    return agent.model_copy(update={"runtime": runtime})
