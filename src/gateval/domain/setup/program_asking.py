"""How a program is asked by all that its files tell, or why it cannot be. Pure."""

from __future__ import annotations

import re
from posixpath import relpath

from gateval.domain.setup.aiohttp_routes import SENT, aiohttp_route
from gateval.domain.setup.answering import names_a_file
from gateval.domain.setup.asked_by_words import (
    arguments_of,
    asked_by_words,
    reads_arguments,
    reads_input,
    subcommand_of,
    variable_asked,
)
from gateval.domain.setup.channels import channel_of
from gateval.domain.setup.express import with_mounts
from gateval.domain.setup.framework_routes import of_framework
from gateval.domain.setup.invocation import PROMPT, QUESTION, Invocation
from gateval.domain.setup.nest import is_nest, nest_asked
from gateval.domain.setup.node_hosts import host_of
from gateval.domain.setup.node_protocols import managed_in, queued_in
from gateval.domain.setup.node_servers import asked_as_handled
from gateval.domain.setup.node_text import without_comments
from gateval.domain.setup.openapi import is_looked_after
from gateval.domain.setup.other_work import SILENT, STREAMS, Refusal, template_of
from gateval.domain.setup.platforms import (
    DIALOG,
    FILE,
    FILLS,
    LOGIN,
    answers_later,
    begun_by,
    demands,
    served_otherwise,
    without_question,
)
from gateval.domain.setup.program import (
    invocation_of,
    is_asked,
    is_flask,
    streams_only,
    takes_otherwise,
)
from gateval.domain.setup.program_surroundings import folder_and_set_up
from gateval.domain.setup.protocols import hosted
from gateval.domain.setup.repository_files import RepositoryFiles
from gateval.domain.setup.request_models import asked_as_written
from gateval.domain.setup.typed_choices import demanded_of, steered

_PLACE = re.compile(r"/(?::\w|<\w)")
"""Where a path of Node or Flask has the number of what an earlier request made."""


_POSTS = re.compile(r"\bPOST\b|\.post\(")
_CHOSEN = re.compile(r"\bConfirm\.ask\(|\bPrompt\.ask\([^()]{0,300}\bchoices\s*=")
_MOST_CHOSEN = 3
"""What a person chooses at a terminal, and how often at most before what is asked is not known."""

_FILLS = re.compile(r"^\s{0,4}await\s+(?:ingest|seed|populate)(?:[A-Z]\w*)?\(", re.M)
"""How a command of Node fills its store before it asks anything."""


_OF_MLFLOW = re.compile(r"^from mlflow\.genai\.agent_server import [^#]*?\binvoke\b", re.M)
_OF_RESPONSES = re.compile(r"\bResponses(?:Agent|AgentRequest)\b")
"""What takes a conversation as MLflow's server of agents does."""


def how_asked(path: str, around: RepositoryFiles) -> tuple[Invocation, Refusal | None]:
    """Return how a program is asked, and why it cannot be, if so."""
    text, behind = around.texts[path], around.reach.behind(path)
    python = path.endswith((".py", ".go"))
    asked, silent = (invocation_of(path, text, behind), None) if python else _of_node(path, around)
    if asked.login and not path.endswith(".py"):
        return asked, LOGIN
    if " " in asked.begun:
        return asked, begun_by(*reversed(asked.begun.split(" ", 1)))
    place = None if path.endswith(".py") else _PLACE.search(asked.begun or asked.route)
    if place:
        return asked, begun_by((asked.begun or asked.route)[: place.start()])
    if not (is_nest(text) and asked.route) and streams_only(path, text, behind):
        return asked, STREAMS
    refused = template_of(path, text) or served_otherwise(path, text, behind) or silent
    if not asked.route and not path.endswith(".py") and _FILLS.search(text):
        return asked, FILLS
    if not asked.route:
        asked, why = (asked, None) if refused else _by_words(path, asked, around)
        return asked, refused or why
    spoken = bool(asked.preset) or asked.body == SENT
    if spoken or hosted(path, text) or not path.endswith(".py"):
        return _hosted(path, asked, around), refused
    if aiohttp_route(f"{text}\n{behind}"):
        return asked, refused or (None if asked.sure else SILENT)
    if asked.route == "/invocations":
        return asked, refused or (None if asked.field else without_question(asked.body))
    return _as_written(path, asked, refused, around)


def _hosted(path: str, asked: Invocation, around: RepositoryFiles) -> Invocation:
    """Return how a server with a way of its own is asked; one of MLflow by the model that its
    handler makes of what it gets, if that is no conversation.
    """
    near = {one: around.texts[one] for one in around.reach.from_(path)}
    if not any(map(_OF_MLFLOW.search, near.values())):
        return asked
    turns = any(map(_OF_RESPONSES.search, near.values()))
    return asked if turns else asked_as_written(near) or asked


def _of_node(path: str, around: RepositoryFiles) -> tuple[Invocation, Refusal | None]:
    """Return the same of a program of Node, a server by its handlers; refused is one of NestJS that
    takes no question.
    """
    near = with_mounts({one: around.texts[one] for one in around.reach.from_(path)})
    text, behind = near[path], "\n".join(near[one] for one in near if one != path)
    asked = invocation_of(path, text, behind)
    asking = around.asking(near)
    if is_nest(text):
        known = nest_asked(near, asking)
        return known or asked, None if known else SILENT
    own = without_comments(around.texts[path])
    if asked.route and len(_POSTS.findall(own)) == 1 and (why := queued_in(own)):
        return asked, why  # the only handler
    if asked.route and not asked.preset:
        known = of_framework(text, behind) or asked_as_handled(near, asking)
        return known or asked, None if known else SILENT
    return asked, None


def _as_written(
    path: str, asked: Invocation, refused: Refusal | None, around: RepositoryFiles
) -> tuple[Invocation, Refusal | None]:
    """Return the same of a server of Python, as its handlers and their models say."""
    text, behind = around.texts[path], around.reach.behind(path)
    reached = around.reach.from_(path)
    asking = around.asking(reached)
    written = asked_as_written({one: around.texts[one] for one in reached}, asking)
    otherwise = is_looked_after(asked.route) or takes_otherwise(f"{text}\n{behind}", asked.route)
    asks = is_asked(asked.route) and not otherwise
    silent = written is None and ("{" in asked.route or not (is_flask(text) or asks))
    if written is None and (place := _PLACE.search(asked.route)):
        return asked, begun_by(asked.route[: place.start()])
    if written and written.later:
        refused = refused or answers_later(written.later, written.route)
    if written and (written.login or written.begun):
        refused = refused or (LOGIN if written.login else begun_by(written.begun))
    return written or asked, refused or (SILENT if silent else None)


def _demanded(path: str, asked: Invocation, around: RepositoryFiles) -> str:
    """Return an option that a program of one command demands beside what it is asked by; "" for
    none.
    """
    if not path.endswith(".py") or subcommand_of(path, around.texts[path]):
        return ""
    named = [one.partition("=")[0] for one in asked.words]
    options = (one for one in demanded_of(around.texts[path]) if one not in named)
    return next((one for one in options if not re.fullmatch(QUESTION, one.strip("-"))), "")


def _otherwise(path: str, asked: Invocation, around: RepositoryFiles) -> Invocation:
    """Return how a command is asked by a line that files which it imports read, or by a variable of
    its environment, where no platform asks it.
    """
    texts = [around.texts[one] for one in around.reach.from_(path)]
    if not reads_arguments(around.texts[path]):
        asked = next((asked_by_words("", one) for one in texts if reads_input(one)), asked)
    near = "\n".join(texts)
    name = "" if asked.sure or asked.words else variable_asked(near)
    elsewhere = name and (channel_of(near) or host_of(near))
    return Invocation(stdin=PROMPT, variable=name) if name and not elsewhere else asked


def _by_words(
    path: str, asked: Invocation, around: RepositoryFiles
) -> tuple[Invocation, Refusal | None]:
    """Return how a command is asked: as people are shown it, by a sentence or, where the program
    takes none, by a file that is there; and why it cannot be, if so.
    """
    if not path.endswith((".py", ".go")):
        plain = without_comments(around.texts[path])
        if why := queued_in(plain) or managed_in(around.reach.behind(path)):
            return asked, why
    told = around.told.get(path)
    words, file = (told.words, told.file) if told else ((), "")
    if words and not file:
        return Invocation(words=words, stdin=""), None
    if (asked.sure or asked.words) and (wanted := _demanded(path, asked, around)):
        return asked, demands(wanted)
    if asked.sure and not asked.words and (why := steered(around.texts[path])):
        return asked, why
    near = f"{around.texts[path]}\n{around.reach.behind(path)}"
    if not asked.words and len(_CHOSEN.findall(near)) >= _MOST_CHOSEN:
        return asked, DIALOG
    asked = asked if asked.sure or asked.words else _otherwise(path, asked, around)
    names = arguments_of(path, around.texts[path])
    files = [one for one in names if names_a_file(one)]
    meant = any(re.search(QUESTION, one) for one in names if one not in files)
    placed = asked.words and not any(one.startswith("-") for one in asked.words)
    if meant or not (files or file) or (asked.sure and not (placed and names)):
        return asked, None
    shown = relpath(file, folder_and_set_up(path, around)[0] or ".") if words else ".."
    if shown.startswith(".."):
        return asked, FILE
    return Invocation(words=words, stdin="", file=shown), None
