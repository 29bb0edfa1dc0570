"""A program that looks like an agent: how it is asked, how it serves, and what it imports.

A set-up builds the program, so that trials start a file and need neither compiler nor network.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gateval.domain.setup.aiohttp_routes import SENT, aiohttp_route
from gateval.domain.setup.beside import Beside
from gateval.domain.setup.other_work import Refusal
from gateval.domain.setup.protocols import protocol_of, starts_itself

_LOCKS = (".lock", "-lock.json", "-lock.yaml", "requirements.txt", "go.mod")


class SetUp(NamedTuple):
    """An installation of dependencies: the command, the files it reads, the folders it makes."""

    run: tuple[str, ...]
    inputs: tuple[str, ...]
    creates: tuple[str, ...]

    @property
    def locked(self) -> bool:
        """Whether a lock file says which versions it installs."""
        return any(one.endswith(_LOCKS) for one in self.inputs)


class Invocation(NamedTuple):
    """How a question reaches a program.

    `words` follow the program's name. `stdin` is a template, None for the gate's JSON. A server has
    `route`, `field` and `answer`: the path it is asked at, the key of the question in the body, and
    that of the answer in the response ("" for the whole); `body` is all of the body as JSON, where
    it holds more. `preset` is the protocol that it speaks, which says all but the path. `file` is
    one that it can be asked about, where its question is the path of one. `sure` is False where the
    text of the program did not tell. `method` is "" for POST, `headers` are those that it demands.
    `begun` is the path of another request that has to come before.
    """

    words: tuple[str, ...] = ()
    stdin: str | None = None
    route: str = ""
    field: str = ""
    answer: str = ""
    sure: bool = True
    body: str = ""
    preset: str = ""
    file: str = ""
    method: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    begun: str = ""


class FoundProgram(NamedTuple):
    """A program: its path, the framework that it imports, and what its manifest would say.

    `root` is the folder that it works in ("" is the repository's root); `command` is relative to
    that. `modules_in` is the folder there from which Python imports its modules, "" for the root
    itself. `reads` are files whose names its text has, where it works in the repository's root.
    `models` are those named in its text, as `provider/model-id`. `score` grows with how much speaks
    for it. `started` is False where nothing tells that the file is a program by itself. `target` is
    what a bridge asks instead of a command, `language` that of the bridge. `names` are what it is
    called, the best first. `refused` says why nothing here can ask it. `variables` are those of the
    environment that it reads, `beside` what serves it. `writes` says that it writes where it works,
    `redirect` that it calls a provider at its own address, `proved` that it was asked and answered.
    `inputs` are fields of its own that take the question too. `hinted` says that people are told to
    start it.
    """

    path: str
    framework: str
    root: str
    command: tuple[str, ...]
    invocation: Invocation
    setup: SetUp | None
    include: tuple[str, ...]
    models: tuple[str, ...]
    score: int
    modules_in: str = ""
    reads: tuple[str, ...] = ()
    started: bool = True
    target: str = ""
    language: str = ""
    names: tuple[str, ...] = ()
    refused: Refusal | None = None
    variables: tuple[str, ...] = ()
    writes: bool = False
    redirect: bool = False
    proved: bool = False
    beside: Beside = Beside()
    inputs: tuple[str, ...] = ()
    hinted: bool = False

    @property
    def runtime(self) -> str:
        """The type of its runtime."""
        return self.language or ("http" if self.invocation.route else "command")

    @property
    def told(self) -> str:
        """What a person knows it by."""
        return f"{self.root}/{self.target}".lstrip("/") if self.target else self.path


BUILT = ".build/agent"

_ROUTE = re.compile(r'\.HandleFunc\(\s*"(?:POST )?(/[^"]*)"')
_FIELD = re.compile(r'\bstring\s+`json:"(\w+)')
_ANSWER = re.compile(r'map\[string\](?:string|any|interface\{\})\{\s*"(\w+)"')
QUESTION = "prompt|question|message|query|input|text|ask|task"
_OPTION = re.compile(rf'flag\.String(?:Var)?\((?:&\w+,\s*)?"({QUESTION})"')
_POSITIONAL = re.compile(r"os\.Args\[1|flag\.Arg\(0\)")
_JSON_KEY = re.compile(rf'`json:"({QUESTION})\b')


def go_invocation(text: str, prompt: str) -> Invocation:
    """Return how the program is asked, as far as its text tells; `prompt` is the template."""
    if (route := _ROUTE.search(text)) and "ListenAndServe" in text:
        field, answer = _FIELD.search(text), _ANSWER.search(text)
        return Invocation(
            route=route[1],
            field=field[1] if field else "message",
            answer=answer[1] if answer else "",
            sure=field is not None,
        )
    if option := _OPTION.search(text):
        return Invocation(words=(f"-{option[1]}", prompt), stdin="")
    if _POSITIONAL.search(text):
        return Invocation(words=(prompt,), stdin="")
    if "json.NewDecoder(os.Stdin)" in text:
        key = _JSON_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    return Invocation(stdin=prompt, sure="os.Stdin" in text)


MESSAGES = "messages"
"""The key of a whole conversation, a list of roles and texts."""

ASKED = (*QUESTION.split("|"), "content", "user_input", "user_message", MESSAGES)
ANSWERED = ("answer", "reply", "response", "output", "text", "message", "result", "content")

_MAKERS = r"(?:FastAPI|Starlette|Flask|BedrockAgentCoreApp|create_app|make_app|build_app|get_app)"
_APPLICATION = re.compile(rf"^(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?{_MAKERS}\(", re.M)
_KIND = re.compile(r"^class (\w+)\((?:\w+\.)?FastAPI\b", re.M)
_OF_A_CLASS = re.compile(r"^\w+\s*(?::[^=\n]+)?=\s*[A-Z]\w*\(", re.M)
_FACTORY = re.compile(r"^def (create_app|make_app|build_app|get_app)\(", re.M)
_MAKES = re.compile(rf"^[ \t]+\w+\s*=\s*(?:\w+\.)?{_MAKERS}\(", re.M)
_PYTHON_ROUTE = re.compile(r"@\w+\.(?:post|route)\(\s*[\"'](/[^\"']*|)[\"']")
_ENTRYPOINT = re.compile(
    r"^@\w+\.entrypoint\b[^\n]*\n(?:async )?def \w+\(\s*(\w+)(.*?)(?=^[^\s)]|\Z)", re.M | re.S
)
"""The handler of a `BedrockAgentCoreApp`, which is asked at `/invocations`."""

_BESIDE = re.compile(
    r"log-?(?:in|out)|sign-?(?:in|up|out)|auth|regist|upload|webhook|health|callback|token|feedback"
    r"|/sessions?$|histor|/(?:clear|reset|title|cancel|stop|folder|file)|_folder|_file"
)
_FORM = re.compile(r"\brequest\.form\b|await request\.form\(")
_PREFIX = re.compile(
    r"(?:APIRouter|include_router|Blueprint|register_blueprint)\([^)]*prefix\s*=\s*[\"'](/[^\"']*)"
)
_PYTHON_MODEL = re.compile(r"class (\w+)\((?:\w+\.)?BaseModel\):(.*?)(?=^\S|\Z)", re.S | re.M)
_PYTHON_TAKES = re.compile(r"def \w+\(\s*\w+:\s*(\w+)")
_PYTHON_FIELD = re.compile(r"^\s+(\w+): (?:str|Optional\[str|Annotated\[str|[Ll]ist\[)", re.M)
_PYTHON_KEY = re.compile(r"\b(?:json|data|body|payload|get_json\([^)]*\))(?:\[|\.get\()[\"'](\w+)")
_NODE_ROUTE = re.compile(
    r"\.post\(\s*[\"'`](/[^\"'`]*)[\"'`]|\b(?:url|pathname)\s*===?\s*[\"'`](/[^\"'`]+)[\"'`]"
)
_NODE_LISTENS = re.compile(r"\.listen\(|\bserve\(\s*[{\w]")
_NODE_KEY = re.compile(r"\b(?:req|request)\.body\.(\w+)|(\w+):\s*z\.string\(")
_NODE_KEYS = re.compile(
    r"\{([\w\s,:]+)\}\s*(?::[^=]+)?=\s*(?:await\s+)?(?:req|request|c\.req|JSON)\.(?:body|json\(|parse\()"
    r"|\{([\w\s,:]+)\}\s*=\s*(?:body|payload|data|json)\b"
)
_ANSWERS = re.compile(
    r"return\s*\{\s*[\"'](\w+)[\"']|(?:res|c|Response|reply)\.(?:json|send)\(\s*\{\s*[\"']?(\w+)"
    r"|jsonify\(\s*\{?\s*[\"']?(\w+)|return \w+\((\w+)="
)


def server_of(path: str, text: str, behind: str = "") -> str:
    """Return the application that a file serves, `name()` for one that a function makes.

    `behind` are the texts of the files that it imports, where its routes may be. It is "" for a
    file that serves nothing.
    """
    if not path.endswith(".py"):
        return "app" if _NODE_LISTENS.search(text) and _is_asked_at(path, text, behind) else ""
    made = _FACTORY.search(text)
    found = _APPLICATION.search(text) or _of_own_class(text, behind)
    application = found[1] if found else f"{made[1]}()" if made else _factory(text)
    spoken = protocol_of(path, text, behind if application else "")
    if spoken and spoken.application:
        return spoken.application
    return application if application and _is_asked_at(path, text, behind) else ""


def _factory(text: str) -> str:
    """Return the function of any name that takes nothing and makes an application, as a call."""
    if not re.search(rf"\b{_MAKERS}\(", text):
        return ""
    parts = re.split(r"^(?=(?:async )?def \w)", text, flags=re.M)
    made = (re.match(r"def (\w+)\([ \t]*\)", one) for one in parts if _MAKES.search(one))
    return next((f"{one[1]}()" for one in made if one), "")


def _of_own_class(text: str, behind: str) -> re.Match[str] | None:
    """Return the application at a module's top that is of the program's own kind of FastAPI."""
    if not _OF_A_CLASS.search(text):
        return None
    own = "|".join(_KIND.findall(f"{text}\n{behind}"))
    return re.search(rf"^(\w+)\s*(?::[^=\n]+)?=\s*(?:{own})\(", text, re.M) if own else None


def serves(path: str, text: str, behind: str = "") -> bool:
    """Whether a program is asked over HTTP: a file serves an application, or starts a server."""
    if server_of(path, text, behind):
        return True
    return starts_itself(path, text) and _is_asked_at(path, text, behind)


def _is_asked_at(path: str, text: str, behind: str) -> bool:
    routes = _PYTHON_ROUTE if path.endswith(".py") else _NODE_ROUTE
    whole = f"{text}\n{behind}"
    own = path.endswith(".py") and (_ENTRYPOINT.search(text) or aiohttp_route(whole))
    return bool(routes.search(whole) or protocol_of(path, text, behind) or own)


_STREAMS = re.compile(
    r"WebSocketServer|\bnew WebSocket|\bwebsocket\s*:|\.upgrade\(|@\w+\.websocket\("
    r"|websockets?\.serve|socketio|socket\.io|SocketIO\(",
)


_ROUTED = re.compile(r"\.(?:get|post|put|patch|delete)\(\s*[\"'`]/")
_KEYS = re.compile(r"\b(?:messages?|prompt|question|query|input|content|text)\b")


def streams_only(path: str, text: str, behind: str) -> bool:
    """Whether a server takes messages over WebSocket, and no questions elsewhere."""
    whole = text + behind
    own = text if not server_of(path, text, behind) else whole
    if not _STREAMS.search(own) or reads_arguments(text):
        return False
    python = path.endswith(".py")
    for one in (_PYTHON_ROUTE if python else _NODE_ROUTE).finditer(whole):
        handler = _ROUTED.split(whole[one.end() :][:600], maxsplit=1)[0]
        asks = python or _KEYS.search(handler)
        if asks and "websocket" not in handler[:300].lower() and is_asked(_group(one)):
            return False
    return True


def is_flask(text: str) -> bool:
    """Whether the application is one of Flask."""
    return "Flask(" in text


_CHATKIT = re.compile(r"^class \w+\((?:\w+\.)?ChatKitServer\b", re.M)


def served(path: str, text: str) -> Invocation:
    """Return how a server is asked, from its text and that of the files it imports."""
    python = path.endswith(".py")
    if python and (entry := _ENTRYPOINT.search(text)):
        return _entered(entry, text)
    if python and (found := aiohttp_route(text)):
        if found.a2a:
            return Invocation(route=found.path, field="text", body=SENT)
        field, answer = _likeliest(found.keys, ASKED), _likeliest(found.answers, ANSWERED)
        return Invocation(
            route=found.path, field=field or "message", answer=answer, sure=bool(field)
        )
    routes = list((_PYTHON_ROUTE if python else _NODE_ROUTE).finditer(text))
    route = max(routes, key=_likelihood)
    prefix = _PREFIX.search(text) if python else None
    path = (prefix[1].rstrip("/") if prefix else "") + _group(route) or "/"
    if python and _CHATKIT.search(text) and ".process(" in text[route.end() :]:
        return Invocation(route=path, preset="chatkit")
    field = _likeliest(_asked(text, route.end(), python=python), ASKED)
    after = (one.start() for one in routes if one.start() > route.start())
    end = (
        min(after, default=len(text)) if python else len(text)
    )  # a handler of Node may be anywhere
    return Invocation(
        route=path,
        field=field or "message",
        answer=_likeliest(map(_group, _ANSWERS.finditer(text, route.end(), end)), ANSWERED),
        sure=bool(field),
    )


def _likelihood(route: re.Match[str]) -> tuple[bool, bool, bool, int]:
    """Return how likely a route takes questions; it never is one to log in, if another is there."""
    place = _group(route)
    return not _BESIDE.search(place.lower()), is_asked(place), ":" not in place, -route.start()


def _entered(entry: re.Match[str], text: str) -> Invocation:
    """Return how a handler is asked at `/invocations`, by the keys that it reads, or a function
    which it hands its payload on to.
    """
    keys, objects = _keys_of(entry[1], entry[2])
    for called in re.findall(rf"\b(\w+)\(\s*{entry[1]}\s*[,)]", entry[2]) if not keys else ():
        body = re.search(
            rf"^(?:async )?def {called}\(\s*(\w+)(.*?)(?=^[^\s)]|\Z)", text, re.M | re.S
        )
        if body and (found := _keys_of(body[1], body[2]))[0]:
            keys, objects = found
            break
    named = [one for one in keys if re.search(QUESTION, one) and one not in objects]
    if objects and not named:
        wanted = {one: {} if one in objects else "text" for one in keys}
        return Invocation(route="/invocations", sure=False, body=json.dumps(wanted))
    field = next(iter([*(one for one in named if one in ASKED), *named, *keys]), "")
    more = {one: PROMPT if one == field else "text" for one in dict.fromkeys(keys)}
    return Invocation(
        route="/invocations",
        field=field or "prompt",
        sure=bool(field),
        body=json.dumps(more) if len(more) > 1 else "",
    )


def _keys_of(name: str, body: str) -> tuple[list[str], set[str]]:
    """Return the keys that a function reads of its parameter or what it makes of that, and those
    of them that have to hold objects.
    """
    made = rf"^[ \t]+(\w+)(?::[^=\n]+)?[ \t]*=[^=\n]*\b{name}[ \t]*(?:or\b[^\n]*)?$"
    names = [name, *re.findall(made, body, re.M)]
    body = re.sub(made, "", body, flags=re.M)  # what it unwraps there is all of what it reads
    own = "|".join(dict.fromkeys(names))
    read = rf"\b(?:{own})(?:\.get\(\s*|\[)[\"'](\w+)[\"']"
    kept = re.findall(rf"(\w+)[ \t]*=[ \t]*{read}", body)
    asked = re.findall(rf"isinstance\(\s*(?:(\w+)|{read}\)?)\s*,\s*dict\b", body)
    held = {one for one, _ in asked if one} - {*names}
    objects = {key for variable, key in kept if variable in held} | {key for _, key in asked if key}
    return re.findall(rf"{read}\s*[\]),]", body), objects


def takes_otherwise(text: str, route: str) -> bool:
    """Whether the handler of a route takes a model of which no field is called as questions are."""
    for one in _PYTHON_ROUTE.finditer(text):
        taken = _PYTHON_TAKES.match(text, text.find("def ", one.end()))
        if taken and route.endswith(one[1]):
            own = [fields for name, fields in _PYTHON_MODEL.findall(text) if name == taken[1]]
            named = [field for fields in own for field in re.findall(r"^\s+(\w+):", fields, re.M)]
            return bool(named) and not any(set(one.split("_")) & {*ASKED} for one in named)
    return False


def takes_form(path: str, text: str, route: str) -> bool:
    """Whether the handler of a route reads a form, which nothing here sends."""
    if not path.endswith(".py"):
        return False
    starts = list(_PYTHON_ROUTE.finditer(text))
    ends = [*(one.start() for one in starts[1:]), len(text)]
    own = (text[one.end() : end] for one, end in zip(starts, ends, strict=True) if one[1] == route)
    return any(_FORM.search(one) for one in own)


def _asked(text: str, start: int, *, python: bool) -> Iterator[str]:
    if python:
        taken = _PYTHON_TAKES.search(text, start)
        models = sorted(
            _PYTHON_MODEL.findall(text), key=lambda one: not taken or one[0] != taken[1]
        )
        for _, fields in models:
            yield from _PYTHON_FIELD.findall(fields)
        yield from _PYTHON_KEY.findall(text, start)
        return
    for keys in _NODE_KEYS.finditer(text, start):
        yield from (one.partition(":")[0].strip() for one in _group(keys).split(","))
    yield from map(_group, _NODE_KEY.finditer(text))


def is_asked(route: str) -> bool:
    """Whether a route is called as those are that take questions."""
    return bool(
        re.search(r"chat|(?<![a-z])ask|agent|message|quer|complet|invoke|run|prompt|answer", route)
    )


_STATUS = frozenset({"success", "ok", "status", "error"})
"""Keys that say how it went, and hold no text of anybody."""


_NUMBER = re.compile(r"(?:_id|Id)$")
"""How a key is called that holds the number of something."""


def _likeliest(names: Iterable[str], wanted: Sequence[str]) -> str:
    """Return the first name that is wanted, else the first of all; "" if there is none."""
    named = (one for one in names if one and one not in _STATUS and not _NUMBER.search(one))
    return min(named, key=lambda one: one not in wanted, default="")


def _group(found: re.Match[str]) -> str:
    return next((one for one in found.groups() if one), "")


_DECORATED = re.compile(r"^@(\w+)\.command\(\s*(?:name=)?(?:[\"']([\w-]+)[\"'])?", re.M)
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.M)
_PARSER = re.compile(r"(?:^|\s)(\w+)\s*=\s*\w+\.add_parser\(\s*[\"']([\w-]+)[\"']")
_OF_NODE = re.compile(r"\.command\(\s*[\"'`]([a-z][\w-]*)((?:\s+[<\[][\w.]+[>\]])*)[\"'`]")
_ASKING = re.compile(r"ask|chat|answer|query|prompt|question|talk|run")
_MANAGES = re.compile(
    r"(?i)version|config\w*|init|setup|doctor|serve|server|start|list|ls|show|info|status|health|login"
    r"|logout|auth|install|update|upgrade|clean|clear|reset|delete|remove|add|set|get|export|import"
    r"|migrate|ingest|index|seed|inspect|validate|test|models|tools|plugins|completion|help|demo|\w+-picker"
)
"""How commands are called that look after a program, and are no question to it."""

_TAKES = re.compile(
    rf"\b(?:{QUESTION})\b\s*:|[\"'](?:--)?(?:{QUESTION})[\"']|[<\[](?:{QUESTION})[>\]]"
)


class Subcommand(NamedTuple):
    """A command by the word that calls it, "" where none of them takes a question; `text` is its
    own part of the program. `sure` is False where nothing says that it takes a question.
    """

    name: str
    text: str
    sure: bool = True


def subcommand_of(path: str, text: str) -> Subcommand | None:
    """Return the command that takes a question; None where the program has just one, unnamed."""
    python = path.endswith(".py")
    every = [*_of_decorators(text), *_of_argparse(text)] if python else [*_of_node(text)]
    found = [one for one in every if not _MANAGES.fullmatch(one.name) or _TAKES.search(one.text)]
    named = [one for one in found if _ASKING.fullmatch(one.name)]
    taking = [one for one in found if _TAKES.search(one.text)]
    if not found:
        return Subcommand("", "", sure=False) if every else None
    return [*named, *taking, found[0]._replace(sure=False)][0]


def _of_decorators(text: str) -> Iterator[Subcommand]:
    """Those of Typer and Click, whose words matter where there are several, or a group."""
    starts = list(_DECORATED.finditer(text))
    counts = Counter(one[1] for one in starts)
    places = [*(one.start() for one in starts), len(text)]
    for start, (begin, end) in zip(starts, pairwise(places), strict=True):
        owner, part = start[1], text[begin:end]
        group = f"@{owner}.callback(" in text or (f"def {owner}(" in text and ".group(" in text)
        function = _FUNCTION.search(part)
        if owner != "click" and function and (counts[owner] > 1 or group):
            yield Subcommand(start[2] or function[1].replace("_", "-"), part)


def _of_node(text: str) -> Iterator[Subcommand]:
    """Those of commander and yargs, whose arguments may stand behind the name."""
    starts = list(_OF_NODE.finditer(text))
    places = [*(one.start() for one in starts), len(text)]
    for start, (_, end) in zip(starts, pairwise(places), strict=True):
        inline = f".argument('{start[2].strip()}')" if start[2] else ""
        yield Subcommand(start[1], inline + text[start.end() : end])


def _of_argparse(text: str) -> Iterator[Subcommand]:
    for variable, name in _PARSER.findall(text):
        own = (line for line in text.splitlines() if f"{variable}.add_argument(" in line)
        yield Subcommand(name, "\n".join(own))


PROMPT = "{{ prompt }}"

_ASKED_OPTION = re.compile(
    rf"(?:add_argument|@click\.option|typer\.Option|\.(?:requiredOption|option))\([^)]*?"
    rf"[\"'`\s](--(?:{QUESTION}))\b"
)
_PARSED = re.compile(rf"\b({QUESTION}):\s*\{{\s*type:\s*[\"']string")
_NAMED = re.compile(
    r"add_argument\(\s*[\"']([a-z]\w*)[\"'](?![^)]{0,400}\bchoices\s*=)|@click\.argument\(\s*[\"'](\w+)"
    r"|@\w+\.command\([^)]*\)\s*(?:async )?def \w+\(\s*(\w+):|\.argument\(\s*[\"'`][<\[](\w+)"
)
_PLACED = re.compile(
    r"typer\.Argument\(|sys\.argv\[1|process\.argv\[2\]|process\.argv\.slice\(2\)|\.argv\._\["
)
_ARGUMENT = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[^=\n]{0,200}(?:=[ \t]*|\bAnnotated\[[^\n]{0,200})typer\.Argument\(", re.M
)


_KEPT_AS = re.compile(
    r"^[ \t]*(?:const |let )?(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(?:[\w.]+\()?"
    r"(?:sys\.argv\[1\]|process\.argv\[2\])",
    re.M,
)
"""The name under which the first argument is kept."""


def arguments_of(path: str, text: str) -> list[str]:
    """Return the names of the arguments of a program, or of the command of it that is asked."""
    chosen = subcommand_of(path, text)
    part = chosen.text if chosen else text
    named = [one[one.lastindex or 0] for one in _NAMED.finditer(part)]
    return [*_ARGUMENT.findall(part), *named, *_KEPT_AS.findall(part)]


_READS_JSON = re.compile(
    r"json\.loads?\(\s*(?:sys\.)?(?:stdin|input\(|raw\b|line\b)|\.(?:model_)?validate_json\("
    r"|JSON\.parse\(\s*(?:(?:fs\.)?readFileSync\(\s*(?:0|[\"']/dev/stdin)"
    r"|(?:await )?\w*(?:stdin|input|raw|chunks|line|body)\b)",
    re.IGNORECASE,
)
_READS = re.compile(
    r"\binput\((?![^)\n]*(?i:y/n|yes/no))|\.a?cli_app\(|\.to_cli(?:_sync)?\(|\bPrompt\.ask\(|\bPromptSession\(|(?:click|typer)\.prompt\(|sys\.stdin|readFileSync\(\s*(?:0|[\"']/dev/stdin)|process\.stdin"
    r"|[\"'](?:node:)?readline(?:/promises)?[\"']|[\"'](?:@?inquirer(?:/\w+)?|@clack/prompts)[\"']|\bfileinput\b"
)
_ASKED_KEY = re.compile(rf"[\[.][\"']?({QUESTION})\b(?![\"']?\]?[.\[][\"']?content\b)")
"""A key of what is read; `.message.content` is that of a reply."""


def reads_arguments(text: str) -> bool:
    """Whether a file's text reads the arguments or the standard input of its program."""
    wanted = (_PLACED, _NAMED, _PARSED, _ASKED_OPTION, _READS)
    return any(pattern.search(text) for pattern in wanted)


def reads_input(text: str) -> bool:
    """Whether a file's text reads standard input or asks for a line."""
    return bool(_READS.search(text))


def invocation_of(path: str, text: str, behind: str = "") -> Invocation:
    """Return how the program is asked, as far as its text and that of what it imports tell."""
    if path.endswith(".go"):
        return go_invocation(text, PROMPT)
    if serves(path, text, behind):
        if spoken := protocol_of(path, text, behind):
            return Invocation(route=spoken.path, preset=spoken.preset)
        return served(path, f"{text}\n{behind}")
    chosen = subcommand_of(path, text)
    if chosen is None:
        return _asked_in(text)
    asked = _asked_in(chosen.text)
    sure = chosen.sure and (asked.sure or bool(_READS.search(text)))
    words = (*filter(None, [chosen.name]), *asked.words)
    return asked._replace(words=words, sure=sure and bool(chosen.name))


def _asked_in(text: str) -> Invocation:
    for pattern in (_ASKED_OPTION, _PARSED):
        if option := pattern.search(text):
            return Invocation(words=(f"--{option[1].lstrip('-')}", PROMPT), stdin="")
    named = list(_NAMED.finditer(text))
    names = [one[one.lastindex or 0] for one in named]
    if named and not (_ASKS.search(text) and not any(re.search(QUESTION, one) for one in names)):
        sure = len(named) == 1 and bool(re.fullmatch(QUESTION, names[0]))
        return Invocation(words=(PROMPT,), stdin="", sure=sure)
    otherwise = [one for one in _KEPT_AS.findall(text) if not re.search(QUESTION, one)]
    if _PLACED.search(text) and not (otherwise and _ASKS.search(text)):
        return Invocation(words=(PROMPT,), stdin="")
    if _READS_JSON.search(text) and _READS.search(text):
        key = _ASKED_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    return Invocation(stdin=_typed(text), sure=bool(_READS.search(text)) and not named)


_ASKS = re.compile(
    r"(?<![\w.])input\(|\bconsole\.input\(|\bPrompt\.ask\(|(?:click|typer)\.prompt\("
)
_GOES_ON = re.compile(r"^[ \t]+while\b|^while\b", re.M)
_QUITS = re.compile(r"[\"'](exit|quit|bye|/exit|/quit)[\"']")
_MOST_LINES = 6


def _typed(text: str) -> str:
    """Return what is typed for a program: a line for each that it asks for, and its word to end."""
    asks = len(_ASKS.findall(text))
    end = _QUITS.search(text)
    if asks == 1 and end and _GOES_ON.search(text):
        return f"{PROMPT}\n{end[1]}\n"
    return "\n".join([PROMPT] * asks) if 1 < asks <= _MOST_LINES else PROMPT
