"""Programs that nothing here asks: a platform's functions, servers with a way of their own.

Each is refused by its own name, with what a person does then. What a program says is read, never
run. Pure.
"""

from __future__ import annotations

import json
import re

from gateval.domain.setup.libraries import PLAIN_NAMES, framework_of
from gateval.domain.setup.nest import is_nest
from gateval.domain.setup.node_protocols import serves_elsewhere
from gateval.domain.setup.other_work import NAMED, STREAMS, Refusal

_AGENT_OS = re.compile(r"^from agno\.os\b.*^[^#\n]*\bAgentOS\(", re.M | re.S)
_NEST_GATEWAY = re.compile(r"@WebSocketGateway\(|@SubscribeMessage\(")
_NEST_POST = re.compile(r"^[ \t]*@Post\(", re.M)
_HANDLER = re.compile(
    r"^(?:async )?def (?:(?:lambda_)?handler\(\s*(?:event|context)\b|on_request(?:_post)?\("
    r"|deployable_ai_service\()"
    r"|^(?:async )?def main\(context\b(?=.{0,4000}?\bcontext\.re[qs]\b)"
    r"|^@functions_framework\.http\b"
    r"|^export (?:async function|function|const) (?:onRequest(?:Post)?|handler)\b"
    r"|^(?:module\.)?exports\.handler\s*="
    r"|^(?:export default|module\.exports\s*=)\s+async\s*\(\s*\{\s*req\b[^()]{0,80}\}"
    r"|^export default \{\s*(?:(?://[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)\s*)*(?:async )?fetch\b"
    r"|^Deno\.serve\(|^export default app\b(?=;?\s*\Z)",
    re.M | re.S,
)
_WORKERS_AI = re.compile(r"\benv\.AI\.run\b")
_ASKS_A_MODEL = re.compile(r"\bchat/completions\b|\bchat\.completions\b")

AGENT_OS = Refusal(
    "serves agents by AgentOS of Agno, whose runs are asked at a path with the agent's id, which "
    "`init` does not read.",
    "Write the Agent by hand: `runtime: {type: http, command: [...], request: {path: "
    '/agents/ID/runs, form: {message: "{{ prompt }}", stream: "false"}}, response: {output: '
    "$.content}}`; or give AgentOS an interface that is asked here, "
    "`interfaces=[AGUI(agent=AGENT)]`.",
)
PLATFORM = Refusal(
    "has a handler that a platform calls with its own context or event (Lambda, Workers, watsonx "
    "and the like), so no command here starts what it answers.",
    "Name a function that takes the question and asks the model, `gateval init FILE:FUNCTION` "
    "(docs/guides/bridges.md); or write the Agent by hand, `runtime: {type: http, command: "
    "[...]}`, with the command of the platform that serves it on this machine.",
)
LOGIN = Refusal(
    "answers who has logged in (a session, or a token such as `Authorization: Bearer`, that its "
    "login or its store gives), and nothing here logs in.",
    "Write the Agent by hand, with its login under `runtime.request.begin`, or a token that it "
    "takes in `runtime.request.headers` (docs/reference/manifests.md#begin). " + NAMED,
)
FILE = Refusal(
    "takes a file, and no question.",
    "Write the Agent by hand, `runtime: {type: command, command: [...]}`, with a file of its "
    "folder among the words. " + NAMED,
)
DIALOG = Refusal(
    "asks for several things in turn, choices and a yes or a no among them, and nothing tells "
    "which is the question.",
    "Write the Agent by hand, with what is typed under `runtime.stdin` "
    "(docs/reference/manifests.md). " + NAMED,
)
_SHOWS_FILES = re.compile(r"\bSimpleHTTPRequestHandler\b")
SHOWN = Refusal(
    "serves what it made as a page, without end, so that a command of it never answers.", NAMED
)
FILLS = Refusal(
    "writes data into its store each time it is started, before it asks a model.",
    "Move that into a program of its own, and name what answers, `gateval init FILE:OBJECT` "
    "(docs/guides/bridges.md).",
)
FIELDS = Refusal(
    "is a graph whose state has no place for a question.",
    "Write the Agent by hand: `runtime.target` names the graph, and the payload of a fixture has "
    "the fields of its state (docs/guides/bridges.md).",
)

DEPENDENCIES = Refusal(
    "is an agent that is given its dependencies (`deps_type`) by what asks it, and no program here "
    "that takes a question does.",
    "Name a function that makes them, takes the question and asks the agent, `gateval init "
    "FILE:FUNCTION` (docs/guides/bridges.md).",
)


SANDBOX = Refusal(
    "is a SandboxAgent, which its own program gives a sandbox for each run, and no bridge does.",
    NAMED,
)
SERVERS = Refusal(
    "starts several servers, each at a port of its own, and a trial has one.",
    "Name the one that is asked, `gateval init FILE`, or its agent, `gateval init FILE:OBJECT` "
    "(docs/guides/bridges.md).",
)


TEMPORAL = Refusal(
    "gives work to a server of Temporal, whose worker answers; nothing here starts either.",
    "Name what the worker asks, `gateval init FILE:OBJECT`: a function that takes the question or "
    "an agent (docs/guides/bridges.md); or write the Agent by hand, with a program of yours that "
    "starts server and worker before it asks.",
)
_OF_TEMPORAL = re.compile(r"^from temporalio\.client import\b[^\n]*\bClient\b", re.M)
_GIVES_WORK = re.compile(r"\.(?:execute|start)_workflow\(|\bget_workflow_handle\(")
_STARTS_OTHERS = re.compile(
    r"\b(?:subprocess\.Popen|create_subprocess_exec)\([^)]{0,300}?"
    r"(?:(?i:server)|uvicorn|[\"']-m[\"']|\.py\b)"
)
_METRICS = re.compile(r"\bstart_(?:http|wsgi)_server\([^)]{0,300}\)")
_ROUTED = re.compile(r"^@\w+\.(?:post|route)\(", re.M)
_BESIDE = re.compile(r"\b(?:threading\.)?Thread\(|\b(?:multiprocessing\.)?Process\(")
_PORT = re.compile(r"\bport\s*=\s*(\d{4,5})\b|,\s*(\d{4,5})\s*\)")


def starts_several(text: str) -> bool:
    """Whether a Python program starts several servers, as processes or in threads."""
    if _ROUTED.search(text):  # its application is started by itself
        return False
    if len(_STARTS_OTHERS.findall(text)) > 1:
        return True
    ports = {one for found in _PORT.findall(_METRICS.sub("", text)) for one in found if one}
    return len(ports) > 1 and "uvicorn" in text and bool(_BESIDE.search(text))


def begun_by(path: str, method: str = "POST") -> Refusal:
    """Return why a server cannot be asked where a request to `path` begins each conversation."""
    return Refusal(
        f"is asked in a conversation that another request begins (`{method} {path}`), which `init` "
        "does not send.",
        "Write the Agent by hand, with that request under `runtime.request.begin` "
        "(docs/reference/manifests.md#begin). " + NAMED,
    )


def answers_later(how: str, route: str) -> Refusal:
    """Return why a server cannot be asked whose answer is elsewhere: `how` says its handler's file
    and what that does.
    """
    return Refusal(
        f"takes the question at `{route.partition('?')[0]}` {how}, and that never stands in the "
        "response.",
        NAMED,
    )


def demands(option: str) -> Refusal:
    """Return why a command cannot be asked that demands an option whose value nothing tells."""
    return Refusal(
        f"demands `{option}` beside what it is asked, and nothing here tells its value.",
        "Write the Agent by hand, `runtime: {type: command, command: [...]}`, with that among the "
        "words. " + NAMED,
    )


def without_question(body: str) -> Refusal:
    """Return why a handler cannot be asked that reads these keys of its payload, given as JSON."""
    keys = ", ".join(f"`{one}`" for one in json.loads(body))
    return Refusal(
        f"reads {keys} of its payload, and no question.",
        "Write the Agent by hand, with `runtime.request.body` as it wants it: "
        f"`{body}` has the keys, and `{{{{ prompt }}}}` stands where the question goes "
        "(docs/reference/manifests.md).",
    )


def served_otherwise(path: str, text: str, behind: str) -> Refusal | None:
    """Return why a server cannot be asked whose framework has a way of its own; None for others.

    `behind` are the texts of the files that it imports.
    """
    if path.endswith(".py"):
        own = _AGENT_OS.search(text) and not re.search(r"\bAGUI\(", f"{text}\n{behind}")
        gives = _OF_TEMPORAL.search(text) and _GIVES_WORK.search(text)
        if gives and not (_ROUTED.search(text) and framework_of(path, text, PLAIN_NAMES)):
            return TEMPORAL
        if _SHOWS_FILES.search(text) and "serve_forever(" in text and "do_POST" not in text:
            return SHOWN
        return AGENT_OS if own else SERVERS if starts_several(text) else None
    if elsewhere := serves_elsewhere(text, behind):
        return elsewhere
    speaks = is_nest(text) and _NEST_GATEWAY.search(behind) and not _NEST_POST.search(behind)
    return STREAMS if speaks else None


def is_handler(text: str) -> bool:
    """Whether a file has the handler that a platform calls."""
    return bool(_HANDLER.search(text))


def asks_workers_ai(text: str) -> bool:
    """Whether a handler of Cloudflare asks a model that its platform gives it."""
    return bool(_WORKERS_AI.search(text))


def asks_a_model(text: str) -> bool:
    """Whether a file asks a model by the path of its API, with no library."""
    return bool(_ASKS_A_MODEL.search(text))
