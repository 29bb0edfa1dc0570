"""Servers of Node that speak AG-UI, and those that hand their questions on to something else.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re

from gateval.domain.setup.node_text import braced, definition
from gateval.domain.setup.other_work import NAMED, Refusal

_AG_UI = re.compile(
    r"\bcreateStrandsApp\((?P<made>)|\badd\w*(?:Express|Hono|Fastify)Endpoint\((?P<added>)"
    r"|\bnew EventEncoder\("
)
_PATH = re.compile(r"\bpath\s*:\s*[\"'`](/[^\"'`$\n]*)")
_POSTED = re.compile(
    r"\bPOST[\"'][^\n]{0,60}?\b(?:url|pathname|path)\s*===?\s*[\"'`](/[^\"'`\n]*)"
    r"|(?:\.post|\bmiddlewares\.use)\(\s*[\"'`](/[^\"'`\n]*)"
)

COPILOT = Refusal(
    "is the runtime of CopilotKit, which asks its agents for a page, in a protocol of its own.",
    "Name the agent behind it; or write the Agent by hand, with the command that serves this, and "
    "`request: {preset: ag-ui, path: BASE/agent/NAME/run}`, where it has a path for each. " + NAMED,
)
AG_UI_KEYS = {
    "threadId": "gateval", "runId": "gateval", "state": {}, "tools": [], "context": [],
    "forwardedProps": {},
}  # fmt: skip
"""What a body of AG-UI holds beside its messages. A bridge asks a route by AG-UI that has them."""

_AG_UI_BODY = re.compile(r"\bchatParamsFromRequest(?:Body)?\(|\bRunAgentInput(?:Schema)?\b")
_AG_UI_EVENTS = (re.compile(r"\bRUN_STARTED\b"), re.compile(r"\bTEXT_MESSAGE_(?:CONTENT|CHUNK)\b"))
_AG_UI_READ = (re.compile(r"\bthreadId\b"), re.compile(r"\brunId\b"), re.compile(r"\bmessages\b"))
_AG_UI_CLIENT = re.compile(r"\bnew HttpAgent\(|\buseAgent\(")
_USED = re.compile(r"\b([A-Za-z_$]\w*)\s*[(),;]")
_MOST_USED = 40
_LISTENS = re.compile(r"\.listen\(|\bserve\(")
_OWN_ROUTE = re.compile(r"\.post\(\s*[\"'`]/(?![\w/-]*copilot)")
_COPILOT = re.compile(r"\bnew CopilotRuntime\b")

TO_A_JOB = "hands the question to a job"
BY_EVENT = f"{TO_A_JOB} (`inngest.send`)"
"""By a client that another file has, so that nothing else in it says so."""

_QUEUED = re.compile(
    r"\b(inngest\.send)\(|\bfrom\s*[\"'](workflow/api|@trigger\.dev/sdk(?:/v\d)?|@temporalio/client"
    r"|@upstash/workflow(?:/[\w-]+)?|@restatedev/restate-sdk-clients)[\"']"
)
MANAGED = Refusal(
    "gives the question to a managed agent of Anthropic (`beta.sessions`), which runs in its cloud "
    "and not here.",
    NAMED,
)
_MANAGED = re.compile(r"\.beta\.sessions\.(?:create|events)\b")
_CALLS_A_MODEL = re.compile(
    r"\b(?:stream|generate)(?:Text|Object)\(|\.(?:completions|responses|messages)\.(?:create|stream)\("
    r"|\.generateContent(?:Stream)?\("
)
"""What a route does that asks a model itself, and starts a job beside."""


def speaks_ag_ui(text: str) -> bool:
    """Whether a handler takes the body of AG-UI or writes the events of its runs."""
    if _AG_UI_CLIENT.search(text):
        return False
    written = all(one.search(text) for one in _AG_UI_EVENTS)
    read = all(one.search(text) for one in _AG_UI_READ)
    return bool(_AG_UI_BODY.search(text)) or (written and read)


def ag_ui_path(text: str, behind: str) -> str:
    """Return the path at which a server of Node speaks AG-UI, "" for none."""
    whole = f"{text}\n{behind}"
    found = _AG_UI.search(whole) if re.search(r"[\"']@ag-ui/", whole) else None
    if found is None:
        return _ag_ui_by_hand(whole) if speaks_ag_ui(whole) else ""
    if found["made"] is None and found["added"] is None:
        posted = _POSTED.search(whole)
        return (posted[1] or posted[2]) if posted else "/"
    paths = [braced(whole, one.end()) for one in _AG_UI.finditer(whole)]
    places = [place[1] for one in paths if (place := _PATH.search(one))]
    return next(iter(places), "/")


def _ag_ui_by_hand(whole: str) -> str:
    """Return the path of the route whose handler, or what that calls, speaks AG-UI; "" for none."""
    for one in _POSTED.finditer(whole):
        place = one[1] or one[2]
        inner = whole[one.end() : one.end() + 4_000]
        if one[2]:
            inner = braced(whole, whole.find("(", one.start()) + 1)
        used = [*dict.fromkeys(_USED.findall(inner))][:_MOST_USED]
        inner += "".join(f"\n{definition(name, whole)}" for name in used)
        if speaks_ag_ui(inner):
            return place
    return ""


def serves_elsewhere(text: str, behind: str) -> Refusal | None:
    """Return why a server of Node cannot be asked that serves a page of agents, and no more."""
    whole = f"{text}\n{behind}"
    if ag_ui_path(text, behind):
        return None
    page = _COPILOT.search(whole) and _LISTENS.search(text) and not _OWN_ROUTE.search(whole)
    return COPILOT if page else None


def asked_elsewhere(text: str) -> Refusal | None:
    """Return why a route cannot be asked that hands its questions on."""
    if _COPILOT.search(text):
        return COPILOT
    return queued_in(text)


def queued_in(text: str) -> Refusal | None:
    """Return why a program or a route cannot be asked that gives the question to a job, or to an
    agent that a provider keeps.
    """
    if why := managed_in(text):
        return why
    job = None if _CALLS_A_MODEL.search(text) else _QUEUED.search(text)
    return job and Refusal(
        f"{TO_A_JOB} (`{job[1] or job[2]}`), and what runs that is not started here.",
        "Name the function that the job calls, `gateval init FILE:OBJECT` "
        "(docs/guides/bridges.md). `gateval init --model PROVIDER/MODEL` writes an Agent that runs "
        "no program.",
    )


def managed_in(text: str) -> Refusal | None:
    """Return why a program cannot be asked that asks an agent which a provider keeps."""
    return MANAGED if _MANAGED.search(text) else None
