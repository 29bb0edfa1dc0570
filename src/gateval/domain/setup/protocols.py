"""Servers that speak a protocol of agents, and how a server that starts itself is told its port.

Each protocol is a preset of `runtime.request`. What a program says is read, never run. Pure.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from gateval.domain.setup.invocation import PROMPT, Invocation
from gateval.domain.setup.node_protocols import ag_ui_path
from gateval.domain.setup.python_text import statement

_SAID = "output[*].content[*].text"
_TURN = json.dumps({"input": [{"role": "user", "content": PROMPT}]})
_HOSTS = {
    r"^from mlflow\.genai\.agent_server import [^#]*?\bAgentServer\b": Invocation(
        route="/invocations", field="input", body=_TURN, answer=_SAID
    ),
    r"^from databricks_ai_bridge\.long_running import [^#]*?\bLongRunningAgentServer\b": Invocation(
        route="/responses", field="input", body=_TURN, answer=_SAID
    ),
    r"\bResponsesHostServer\(": Invocation(route="/responses", field="input", answer=_SAID),
    r"\bInvocationsHostServer\(": Invocation(
        route="/invocations", field="message", answer="response"
    ),
}


def hosted(path: str, text: str) -> Invocation | None:
    """Return how a program is asked that hands its agent to a server with a way of its own, which
    its framework has; None for any other.
    """
    found = (asked for host, asked in _HOSTS.items() if re.search(host, text, re.M))
    return next(found, None) if path.endswith(".py") else None


class Protocol(NamedTuple):
    """A protocol: its preset, the path at which it is asked, and the application that speaks it,
    where a name at a module's top is one by itself.
    """

    preset: str
    path: str = "/"
    application: str = ""


_TYPE = r"[ \t]*(?::[^=\n]+)?=[ \t]*"
_OWN = re.compile(
    rf"^(\w+){_TYPE}(?:[\w.]+\.to_ag_ui|(?:\w+\.)?(?:create_strands_app|AGUIApp))\(", re.M
)
"""An application that is made of an agent and speaks AG-UI."""

_ADDED = re.compile(
    r"\badd_\w+_fastapi_endpoint\((?P<given>[^#]{0,300})|\bget_ag_ui_workflow_router\(", re.S
)
_AGUI = re.compile(r"\bAGUI\((?:[^()]{0,300}\bprefix\s*=\s*[\"'](/[^\"'{]*)[\"'])?")
"""The interface of Agno's AgentOS that speaks AG-UI."""

_PATH = re.compile(
    r"\bpath\s*=\s*[\"'](/[^\"'{]{0,300})[\"']|,\s*[\"'](/[^\"'{]{0,300})[\"']\s*,?\s*\)"
)
_RUN_INPUT = re.compile(
    r"@\w+\.post\(\s*[\"'](/[^\"'{]{0,300})[\"'][^\n]*\n"
    r"(?:async )?def \w+\([^)]{0,500}:\s*RunAgentInput\b"
)
"""A handler that takes what AG-UI sends."""

_ENCODES = re.compile(
    r"@\w+\.post\(\s*[\"'](/[^\"'{]{0,300})[\"'][^\n]*\n"
    r"(?:async )?def \w+\(\s*\w+\s*:\s*(?:\w+\.)?Request\b"
    r"(?:(?!^(?:async )?def |^@)[\s\S]){0,600}?\[[\"']messages[\"']\]",
    re.M,
)
"""A handler that reads the messages of what AG-UI sends itself."""

_DISPATCHES = re.compile(
    r"^(?:@\w+\.post\(\s*[\"'](?P<path>/[^\"'{]{0,300})[\"'][^\n]*\n)?"
    r"(?:async )?def (?P<name>\w+)\("
    r"(?:(?!^(?:async )?def |^@)[\s\S]){0,1500}?\b(?:AGUIAdapter\.dispatch|handle_ag_ui)_request\(",
    re.M,
)
"""A handler that gives what it got to Pydantic AI, which answers by AG-UI."""

_MOUNTED = re.compile(r"\.mount\(\s*[\"'](/[^\"'{]{0,300})[\"']\s*,\s*\w+\.build_asgi\(")
"""Where the stream of AG2 that speaks AG-UI is mounted, which answers below its path."""

_CHAINS = re.compile(r"\badd_routes\(\s*\w+\s*,(?P<given>[^#]{0,300})", re.S)
_A2A = re.compile(
    r"^[ \t]*(?:from|import) a2a\.server\b|\bA2A(?:Starlette|FastAPI)Application\(", re.M
)
_A2A_MADE = re.compile(
    rf"^(\w+){_TYPE}(?:(?:\w+\.)?to_a2a\(|[\w.]+(?:\([^\n]*\))?\.build\(\)|(?:Starlette|FastAPI)\()",
    re.M,
)
_A2A_BUILT = re.compile(rf"^(\w+){_TYPE}(?:\w+\.)?A2A(?:Starlette|FastAPI)Application\(", re.M)
_CARD_ELSEWHERE = re.compile(r"\bagent_card_url\s*=\s*[\"']/(?!\.well-known/)")
_RPC_AT = re.compile(r"\brpc_url\s*=\s*[\"'](/[^\"'{]{0,300})[\"']")
_A2A_OF_NODE = re.compile(
    r"[\"']@a2a-js/sdk/server(?:/\w+)?[\"']|\bA2AExpressApp\(|\bjsonRpcHandler\("
)


def _dispatched(text: str) -> str:
    """Return the path at which Pydantic AI answers by AG-UI; "" for none."""
    given = _DISPATCHES.search(text) if "_request(" in text else None
    if given is None or given["path"]:
        return given["path"] if given else ""
    listed = re.search(rf"\bRoute\(\s*[\"'](/[^\"'{{]*)[\"']\s*,\s*{given['name']}\b", text)
    return listed[1] if listed else ""


def _mounted(text: str) -> str:
    """Return the path below which a stream of AG2 answers by AG-UI, or that of a handler which
    encodes its events itself; "" for none.
    """
    if "EventEncoder(" in text and (taken := _ENCODES.search(text)):
        return taken[1]
    found = _MOUNTED.search(text) if "AGUIStream(" in text else None
    return f"{found[1].rstrip('/')}/" if found else ""


def protocol_of(path: str, text: str, behind: str = "") -> Protocol | None:
    """Return the protocol that a server speaks, by its text and that of the files it imports; None
    for any other program.
    """
    whole = f"{text}\n{behind}"
    if not path.endswith(".py"):
        if place := ag_ui_path(text, behind):
            return Protocol("ag-ui", place)
        return Protocol("a2a") if _A2A_OF_NODE.search(whole) else None
    if own := _OWN.search(text):
        return Protocol("ag-ui", application=own[1])
    if added := _ADDED.search(whole):
        return Protocol("ag-ui", _path(added["given"], "/") if added["given"] else "/run")
    if place := _dispatched(text) or _mounted(whole):
        return Protocol("ag-ui", place)
    if "AgentOS(" in whole and (given := _AGUI.search(whole)):
        return Protocol("ag-ui", f"{given[1] or ''}/agui")
    if taken := _RUN_INPUT.search(whole):
        return Protocol("ag-ui", taken[1])
    if chain := _CHAINS.search(whole):
        return Protocol("langserve", f"{_path(chain['given'], '').rstrip('/')}/stream")
    if _A2A.search(whole) or ("to_a2a(" in text and _A2A_MADE.search(text)):
        made = _A2A_MADE.search(text) or _built(text)
        return Protocol("a2a", application=made[1] if made else "")
    return None


def _built(text: str) -> re.Match[str] | None:
    """Return the application that is built where its server is made, over several lines."""
    made = _A2A_BUILT.search(text)
    return made if made and ".build(" in statement(text, made.start()) else None


def a2a_elsewhere(text: str) -> str:
    """Return where a server of A2A is asked whose card is not where cards are; "" for any other."""
    found = _RPC_AT.search(text) if _CARD_ELSEWHERE.search(text) else None
    return found[1] if found else ""


def _path(given: str, usual: str) -> str:
    found = _PATH.search(given.split("\n\n", 1)[0])
    return (found[1] or found[2]) if found else usual


_STARTS = re.compile(
    r"^[^#\n]*\buvicorn\.(?:run|Config)\(|^from uvicorn import\b.*\brun\b|^[^#\n]*\bweb\.run_app\("
    r"|^from aiohttp\.web import\b[^#]{0,300}?\brun_app\b",
    re.M,
)
_OPTION = re.compile(r"[\"']--port[\"']|^@\w+\.command\([^#]*?\bdef \w+\([^#]*?\bport\s*:", re.M)
_VARIABLE = re.compile(r"(?:getenv|environ\.get)\(\s*[\"']PORT[\"']|environ\[\s*[\"']PORT[\"']")
_GIVEN = (
    "import runpy, sys, uvicorn; was = uvicorn.Config.__init__; uvicorn.Config.__init__ = "
    "lambda self, app, **more: was(self, app, **dict(more, port={port}, reload=False)); "
)
_GIVEN_AIOHTTP = (
    "import runpy, sys, aiohttp.web; was = aiohttp.web.run_app; aiohttp.web.run_app = "
    "lambda app, *a, **more: was(app, *a, **dict(more, port={port})); "
)
"""Has uvicorn serve at the port of the trial, for two at once would meet at the program's own."""


def starts_itself(path: str, text: str) -> bool:
    """Whether a Python file starts the server of an application that it makes."""
    return path.endswith(".py") and bool(_STARTS.search(text))


def serves_at_import(text: str, application: str) -> bool:
    """Whether a module serves its application at its top, unguarded: what imports it never comes
    back, so it is started itself.
    """
    served = rf"^(?:uvicorn\.run\(\s*|(?=\w+\.run\()){re.escape(application)}\b"
    return bool(application) and re.search(served, text, re.M) is not None


_NODE_VARIABLE = re.compile(
    r"\benv\??(?:\.PORT\b|\[[\"']PORT)|\bPORT\b[^\n]*=\s*(?:process\.)?env\b"
)
_NODE_GIVEN = (
    "data:text/javascript,import net from 'node:net'; const at = (a) => Number(a[0]) && [{port}, "
    "...a.slice(1)] || Number(a[0].port) && [Object.assign(a[0], Object.fromEntries([['port', "
    "{port}]])), ...a.slice(1)] || a; net.Server.prototype.listen = new Proxy("
    "net.Server.prototype.listen, Object.fromEntries([['apply', (f, self, a) => "
    "Reflect.apply(f, self, a.length && a[0] && at(a) || a)]]));"
)
"""Has a server of Node listen at the port of the trial, where it names its own. It has no `?`,
at which the text of such an address ends.
"""


def node_at_port(text: str, command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command of a Node server with the port of a trial, unless it reads PORT."""
    if _NODE_VARIABLE.search(text):
        return command
    at = command.index("node") + 1
    return (*command[:at], "--import", _NODE_GIVEN, *command[at:])


def at_port(text: str, command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command of a server that starts itself, with the port of a trial.

    By its option, or by the variable PORT that it reads; else by a line before it.
    """
    if _OPTION.search(text) or "AgentServer(" in text:
        return (*command, "--port", "{port}")
    if _VARIABLE.search(text) or "HostServer(" in text:
        return command
    given = _GIVEN_AIOHTTP if "aiohttp" in text and "run_app(" in text else _GIVEN
    python, *words = command
    more = words[2 if words[0] in {"-c", "-m"} else 1 :]
    if words[0] == "-c":
        return (python, "-c", given + words[1], *more)
    if words[0] == "-m":
        run = f'runpy.run_module({json.dumps(words[1])}, run_name="__main__", alter_sys=True)'
    else:
        folder = json.dumps(words[0].rpartition("/")[0] or ".")
        run = f"sys.path.insert(0, {folder}); runpy.run_path({json.dumps(words[0])}, "
        run += 'run_name="__main__")'
    return (python, "-c", given + run, *more)
