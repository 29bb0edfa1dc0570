"""Programs that are no agents, though they import a framework: a guess must never start them.

Others are agents that cannot be asked; why is said aloud.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import NamedTuple

_OTHER_WORK = re.compile(
    r"(?:^|[/_.-])(?:deploy\w*|train(?:ing)?|tests?|migrat\w*|seed(?:s|er|ing)?|ingest\w*|loader|load"
    r"|populate|insert\w*|prepare|backfill|replay|upload\w*|download\w*|bench\w*|evals?|evaluat\w*"
    r"|create|build|setup|install|embed\w*|index(?:er|ing)|reset|infra|mcp[_-]?servers?)(?=[/_.-])",
    re.I,
)
"""Words in the name of a program that is no agent: it deploys one, trains it, or loads its data."""

_ASIDE = re.compile(
    r"(?:^|/)(?:dev|debug|demo|sanity|smoke|check|old|legacy|backup)[_-][^/]*$"
    r"|[_-](?:old|backup|copy|demo|debug)\.\w+$",
    re.I,
)
"""How a file is called that stands beside the one that counts."""

_OTHER_CALLS = re.compile(
    r"agent_engines\.|reasoning_engines|AdkApp\(|insert_rows|load_table_from|import_files\("
    r"|\.invoke_agent(?:_runtime)?\(|\bCopilotClient\(|\bInvokeAgent(?:Runtime)?Command\("
    r"|\bFastMCP\(|\bnew McpServer\(|\bstdio_server\(|\bStdioServerTransport\("
)
_TRAINS = re.compile(
    r"\btrainset\s*=|\b(?:BootstrapFewShot\w*|MIPROv2|GEPA|COPRO|(?:SFT|GRPO|DPO|PPO|Seq2Seq)Trainer"
    r"|TrainingArguments)\(|\btrainer\.train\(|\bfine_tuning\.jobs\.create\("
)
_STORES = re.compile(
    r"\bvector_?[sS]tores\.(?:create|files|fileBatches|file_batches|upload)\b|\bfiles\.(?:create|upload)\("
    r"|\.upload_(?:file|blob|fileobj)\(|\.upsert\(|\.save_local\("
    r"|(?<!InMemoryVectorStore\.)(?<!FAISS\.)\bfrom_documents\("
)
_ASKED = re.compile(
    r"\binput\(|Prompt\.ask\(|sys\.(?:stdin|argv)|add_argument\(|process\.(?:stdin|argv)|readline"
    r"|\.(?:post|route)\(|\bPOST\b"
)
"""What a program has that is asked, though it fills its store first."""

_PAGE = re.compile(
    r"^[\"']use client[\"']|\b(?:from|require\()\s*[\"'](?:react|react-dom|electron)[/\"']", re.M
)
_PYTHON_PAGE = re.compile(
    r"^(?:import|from) (streamlit|gradio|chainlit|mesop|flet|nicegui|marimo|tkinter|textual"
    r"|curses|urwid)\b"
    r"|\bGradioUI\(",
    re.M,
)
_TERMINAL = frozenset({"textual", "curses", "urwid"})
"""What a file has that draws a page or a window: a person types into it."""

_ROUTED = re.compile(r"^@\w+\.(?:get|post|route)\(", re.M)
"""What a server has, which may draw a page or open a window beside."""

_FILLED_IN = re.compile(r"^[ \t]*\{%|\{\{[ \t-]*cookiecutter\.", re.M)


class Refusal(NamedTuple):
    """Why nothing here can ask a program, as the rest of a sentence that its path begins, and what
    a person does then.
    """

    why: str
    hint: str


STREAMS = Refusal(
    "takes questions over WebSocket alone, which nothing here asks.",
    "Point at a function or an object that answers, as in docs/guides/bridges.md, or give the "
    "server a POST route.",
)
NAMED = (
    "Name what answers, `gateval init FILE:OBJECT`: a function that takes the question will do "
    "(docs/guides/bridges.md). "
    "`gateval init --model PROVIDER/MODEL` writes an Agent that runs no program."
)
"""What a person does where no guess is right."""

_LOOKED = (
    "no agent was found: no langgraph.json, root_agent, crew, flow or agent object at a module's "
    "top, no server with a POST route, no program that takes a question"
)
MUTE = Refusal(
    "takes no question: nothing in it reads its arguments, its input or a request.", NAMED
)
AZURE = Refusal(
    "has handlers of Azure Functions (`app.http`), which the program `func` of their Core Tools "
    "alone starts.",
    "Name what answers, `gateval init FILE:OBJECT` (docs/guides/bridges.md); or write the Agent by "
    'hand, `runtime: {type: http, command: [func, start, --port, "{port}"]}`, where `func` is '
    "installed.",
)
SILENT = Refusal(
    "serves no POST route that takes a question, as far as its handlers and their models tell.",
    NAMED,
)
UNSTARTED = Refusal(f"asks a model, but {_LOOKED}.", NAMED)
UNKNOWN = Refusal(
    "is a program, but none here imports a library of models or agents that is known, so nothing "
    "tells which of them asks one.",
    NAMED,
)
FOREIGN = Refusal(
    "is a program in a language that `init` does not read.",
    "Write the Agent by hand, with the command that starts it: docs/getting-started.md shows one. "
    "`gateval init --model PROVIDER/MODEL` writes one that runs no program.",
)
NOTEBOOKS = Refusal(
    "is a notebook, and no program here is an agent: nothing asks a notebook.",
    "`jupyter nbconvert --to script NOTEBOOK` makes a program of it; then name its function or "
    "object that answers, `gateval init FILE:OBJECT` (docs/guides/bridges.md).",
)
OTHER_ENDINGS = (".cs", ".java", ".kt", ".rs", ".rb", ".php", ".swift", ".ex", ".dart", ".scala")
"""Of programs that may be agents and are not read."""

_TEMPLATE = Refusal(
    "is a template of a program ({% … %}), and none as it stands.",
    "Make a project of the template, and call `gateval init` there.",
)


_ELECTRON = re.compile(r"\b(?:from|require\()\s*[\"']electron[\"']")
_WINDOW = Refusal(
    "opens a window with Electron, which a person types into and nothing here does.",
    "Name a function that answers in a file without the window, `gateval init FILE:FUNCTION` "
    "(docs/guides/bridges.md).",
)


def page_of(text: str) -> Refusal | None:
    """Return why a program that draws a page or a window cannot be asked; None for any other."""
    if _ELECTRON.search(text):
        return _WINDOW
    found = _PYTHON_PAGE.search(text)
    if not found or _ROUTED.search(text):
        return None
    page = "a page in the terminal" if found[1] in _TERMINAL else "a page"
    return Refusal(
        f"draws {page} with {(found[1] or 'gradio').capitalize()}, which a person types into and "
        "nothing here does.",
        "Name a function or an object that answers, `gateval init FILE:OBJECT` "
        "(docs/guides/bridges.md); a file without the page is best. "
        "`gateval init --model PROVIDER/MODEL` writes an Agent that runs no program.",
    )


_IN_A_CHAT = re.compile(r"\bcl\.(?:Step|Message|user_session|AskUserMessage)\b")
_CHAINLIT = re.compile(r"^import chainlit as cl\b", re.M)
_OPEN_PAGE = Refusal(
    "writes to a page of Chainlit while it answers, which has to be open in a browser.", NAMED
)


@lru_cache(maxsize=4_096)  # many agents of one file
def talks_to_page(text: str) -> Refusal | None:
    """Return why an agent cannot be asked that writes to the page of Chainlit while it answers, for
    which that has to be open; None for any other.
    """
    return _OPEN_PAGE if _CHAINLIT.search(text) and _IN_A_CHAT.search(text) else None


@lru_cache(maxsize=4_096)  # many agents of one file
def template_of(path: str, text: str) -> Refusal | None:
    """Return why a Python file cannot be started that a generator fills in; None for any other."""
    if "{{" in path:
        return _TEMPLATE
    if not path.endswith(".py") or not _FILLED_IN.search(text):
        return None
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _TEMPLATE
    return None


_DATA_WORK = re.compile(
    r"(?:^|[/_.-])(?:ingest\w*|index(?:er|ing|_\w+)|seed\w*|upload\w*|migrat\w*|deploy\w*|train\w*)$"
)
"""How a graph is called that writes data, or is there to deploy or train."""


def names_other_work(name: str) -> bool:
    """Whether a path, or a function with a dot behind it, is called after such work."""
    return bool(_OTHER_WORK.search(name))


def is_aside(path: str) -> bool:
    """Whether a file is called as those are that try or keep what another one does."""
    return bool(_ASIDE.search(path))


def does_other_work(path: str, text: str) -> bool:
    """Whether a program is there to deploy, train, test, migrate, load or draw something, or to
    call an agent that is deployed.
    """
    if other_work_of(path, text):
        return True
    draws = bool(_PYTHON_PAGE.search(text)) and not _ROUTED.search(text)
    return draws or bool(_PAGE.search(text))


UNASKED = "asks a model and is not started unasked, for it"


def is_other_work(refused: Refusal | None) -> bool:
    """Whether a program is refused because it does other work than to answer."""
    return refused is not None and refused.why.startswith(UNASKED)


def other_work_of(path: str, text: str) -> Refusal | None:
    """Return why a program is not started that is there to deploy, train, test, migrate or load
    something, that serves tools, or calls an agent that is deployed; None for any other.
    """
    if named := _OTHER_WORK.search(path):
        word = named[0].strip("/_.-")
        return Refusal(f"{UNASKED} is called after other work than to answer (`{word}`).", NAMED)
    if training := trains(text):
        return training
    if _STORES.search(text) and not _ASKED.search(text):
        return Refusal(f"{UNASKED} fills a store, and reads no question.", NAMED)
    if call := _OTHER_CALLS.search(text):
        word = call[0].strip("(.")
        return Refusal(f"{UNASKED} serves tools, or deploys or calls an agent (`{word}`).", NAMED)
    return None


def trains(text: str) -> Refusal | None:
    """Return why a program is not started in whose text a model or a prompt is trained; None for
    any other.
    """
    found = _TRAINS.search(text)
    word = found[0].strip("( =") if found else ""
    why = f"trains what answers (`{word}`), and is not started unasked."
    return Refusal(why, NAMED) if found else None


_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KINDS = re.compile(r"[_-](?:flow|crew|agent|workflow|graph|pipeline)$")
_DATA_OBJECTS = re.compile(
    r"(?:^|_)(?:(?:ingest|upload|migrat|deploy)(?:ion|ing|er|ment)?|(?:index|embedd|seed|load)(?:er|ing))$"
)


def writes_data(name: str) -> bool:
    """Whether a graph, a class or a file without its ending is called after a job on data."""
    plain = _KINDS.sub("", _WORDS.sub("_", name).lower())
    return bool(_DATA_WORK.search(name) or _DATA_OBJECTS.search(plain))


_ACTS = re.compile(
    r"\bsubprocess\b|\bos\.(?:system|popen|exec\w*|spawn\w*)\(|\bcreate_subprocess|(?<![\w.])exec\("
    r"|^[ \t]*(?:import|from) (?:boto3|kubernetes|docker|paramiko|pulumi|fabric|ansible\w*"
    r"|psycopg\w*|sqlite3|sqlalchemy|pymongo|github|google\.cloud|azure\.(?:mgmt|storage)\w*)\b"
    r"|\.(?:deploy\w*|apply|create_\w*(?:table|collection|index|stack|release)|insert\w*|upsert\w*"
    r"|upload\w*|add_(?:documents|texts|nodes)|from_(?:documents|texts)|put_\w+|write\w*|to_sql|save\w*|commit"
    r"|execute\w*|persist|fit)\("
    r"|\bopen\([^)\n]*[\"'][wax]b?\+?[\"']|\b(?:requests|httpx|session|client)\.(?:post|put|patch|delete|request)\("
    r"|(?i:mcp|shell|bash|terminal|python_?repl|code_?(?:interpreter|execution)|use_aws|file_?(?:write|manage)|composio)",
    re.M,
)
"""What a file does, or gives its agent to do, that changes more than its answer; of tools that run
elsewhere nothing can be told.
"""


def acts(text: str) -> bool:
    """Whether a file, with those that it imports, may change more than what it answers."""
    return bool(_ACTS.search(text))
