"""A program that looks like an agent: how it is asked, how it serves, and what it imports.

A set-up builds the program, so that trials start a file and need neither compiler nor network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.setup.aiohttp_routes import SENT, aiohttp_route
from gateval.domain.setup.asked_by_words import asked_by_words, reads_arguments
from gateval.domain.setup.beside import Beside
from gateval.domain.setup.dev_servers import dev_server
from gateval.domain.setup.invocation import ANSWERED, ASKED, PROMPT, QUESTION, Invocation
from gateval.domain.setup.node_text import without_comments
from gateval.domain.setup.other_work import Refusal
from gateval.domain.setup.protocols import a2a_elsewhere, hosted, protocol_of, starts_itself

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


class Login(NamedTuple):
    """How a program logs in to a `cloud` with what its machine has: what it calls for that."""

    cloud: str
    by: str


class FoundProgram(NamedTuple):
    """A program: its path, the framework that it imports, and what its manifest would say.

    `root` is the folder that it works in ("" is the repository's root); `command` is relative to
    that. `modules_in` is the folder there from which Python imports its modules, `a:b` for two, ""
    for the root itself. `reads` are files whose names its text has, where it works in the
    repository's root. `models` are those named in its text, as `provider/model-id`. `score` grows
    with how much speaks for it. `started` is False where nothing tells that the file is a program
    by itself. `target` is what a bridge asks instead of a command, `language` that of the bridge.
    `names` are what it is called, the best first. `refused` says why nothing here can ask it.
    `variables` are those of the environment that it reads, `examples` values that its repository
    gives of others, `addresses` those that it gives of servers on one's machine, `beside` what
    serves it. `writes` says that it writes where it works, `redirect` that it calls a provider at
    its own address, `proved` that it was asked and answered. `inputs` are fields of its own that
    take the question too, `more` others that it demands. `hinted` says that people are told to
    start it. `asks` are addresses of servers on its machine, `absent` files that it reads and that
    are not here, with an example or "". `logs_in` is how it logs in to a cloud, `fills` are
    commands that people are told to begin with, `wants` what else its README has them do and have,
    `stores` how it fills a store elsewhere, `begun` the call by which its module asks its agent a
    question of its own as it is imported, `drops` the call by which it asks and whose answer it
    does nothing with.
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
    examples: tuple[tuple[str, str], ...] = ()
    addresses: tuple[tuple[str, str], ...] = ()
    writes: bool = False
    redirect: bool = False
    proved: bool = False
    beside: Beside = Beside()
    inputs: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    hinted: bool = False
    asks: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    logs_in: Login | None = None
    drops: str = ""
    fills: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()
    stores: str = ""
    begun: str = ""

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


_MAKERS = r"(?:FastAPI|Starlette|Flask|BedrockAgentCoreApp|create_app|make_app|build_app|get_app)"
_APPLICATION = re.compile(rf"^(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?{_MAKERS}\(", re.M)
_KIND = re.compile(r"^class (\w+)\((?:\w+\.)?FastAPI\b", re.M)
_OF_A_CLASS = re.compile(r"^\w+\s*(?::[^=\n]+)?=\s*[A-Z]\w*\(", re.M)
_FACTORY = re.compile(
    r"^def (create_app|make_app|build_app|get_app)\("
    r"(?=\s*\)|\s*\*|\s*\w+\s*(?::(?:[^=,()\[\]]|\[(?:[^=()\[\]]|\[[^=()\[\]]{0,100}\]){0,100}\]){0,200})?=)",
    re.M,
)
"""A function that makes an application and has to be given nothing, as far as its first parameter
says.
"""
_MAKES = re.compile(rf"^[ \t]+\w+\s*=\s*(?:\w+\.)?{_MAKERS}\(", re.M)
_PYTHON_ROUTE = re.compile(
    r"(?:@\w+\.(?:post|route)|(?:\bRoute|\.add_api_route|\.add_url_rule)(?=\([^)]{0,200}?\bPOST\b))"
    r"\(\s*(?:path\s*=\s*)?[\"'](/[^\"']*|)[\"']"
)
_GET_ROUTE = re.compile(
    r"@\w+\.get\(\s*(?:path\s*=\s*)?[\"']/[^\n]*\n(?:async )?def \w+\([^)]{0,300}?"
    rf"\b(?:{QUESTION}|q|msg)\s*:\s*(?:str|Annotated)\b"
)
"""A handler that takes a question in its query."""

_ENTRYPOINT = re.compile(
    r"^@\w+\.entrypoint\b[^\n]*\n(?:async )?def \w+\(\s*(\w+)(.*?)(?=^[^\s)]|\Z)", re.M | re.S
)
"""The handler of a `BedrockAgentCoreApp`, which is asked at `/invocations`."""

BESIDE = re.compile(
    r"log-?(?:in|out)|sign-?(?:in|up|out)|auth|regist|upload|webhook|health|callback|token|feedback"
    r"|/sessions?$|histor|/(?:clear|reset|title|cancel|stop|folder|file)|_folder|_file"
)
_PREFIX = re.compile(
    r"(?:APIRouter|include_router|Blueprint|register_blueprint)\([^)]*prefix\s*=\s*[\"'](/[^\"']*)"
)
_PYTHON_MODEL = re.compile(r"class (\w+)\((?:\w+\.)?BaseModel\):(.*?)(?=^\S|\Z)", re.S | re.M)
_PYTHON_TAKES = re.compile(r"def \w+\(\s*\w+:\s*(\w+)")
_PYTHON_FIELD = re.compile(r"^\s+(\w+): (?:str|Optional\[str|Annotated\[str|[Ll]ist\[)", re.M)
_PYTHON_KEY = re.compile(r"\b(?:json|data|body|payload|get_json\([^)]*\))(?:\[|\.get\()[\"'](\w+)")
_CLIENTS = "".join(
    rf"(?<!{one})"
    for one in ("axios", "client", "http", "Client", "ky", "got", "fetcher", "instance")
)
NODE_ROUTE = re.compile(
    rf"(?:{_CLIENTS}\.(?:post|all)|\bmiddlewares\.use)\s*(?:<(?:[^()]|\(\)){{0,500}}?>)?\(\s*(?:[\"'`](?P<place>/[^\"'`\n]*|)[\"'`]|(?P<name>[A-Z]\w*(?:\.\w+)*))\s*,"
    r"|\.route\(\s*[\"'`](?P<routed>/[^\"'`\n]*)[\"'`]\s*\)\s*(?:\.(?!post\()[^;]{0,2000}?\)\s*)?\.post\("
    r"|\b(?:url|pathname|path)\s*===?\s*[\"'`](?P<plain>/[^\"'`\n]+)[\"'`]"
    r"|\bmethod\s*:\s*[\"']POST[\"']\s*,\s*(?:url|path)\s*:\s*[\"'`](?P<listed>/[^\"'`\n]+)[\"'`]"
    r"|[\"'`](?P<served>/[^\"'`\n]*)[\"'`]\s*:\s*\{[^{}]{0,200}?\bPOST\s*(?:\(|:)"
)
"""A route of Express, Hono, Fastify, Koa, Elysia or Bun, or a path that a server compares."""

BY_ADDRESS = rf"{QUESTION}|q|content"
ASKED_BY_GET = re.compile(
    rf"\.get\(\s*[\"'`](?P<place>/[^\"'`\n]*)[\"'`]\s*,(?=[^;]{{0,800}}?\b(?:req|request|ctx)\.query\.(?:{BY_ADDRESS})\b"
    rf"|[^;]{{0,800}}?\b(?:c\.)?req\.query\([\"'`](?:{BY_ADDRESS})[\"'`]"
    rf"|.{{0,400}}?\{{\s*(?:{BY_ADDRESS})\b[^}}]{{0,200}}\}}\s*=\s*(?:req|request|ctx)\.query\b)",
    re.S,
)
"""A route of Node that takes its question in the address."""

_FETCHED = re.compile(
    r"^export default (?:\w*[aA]pp|server|api)\b\s*;?\s*$|^export default \{[^}]{0,2000}\bfetch\b"
    r"|^export default [^\n]*\.toCloudflareWorker\(\)",
    re.M,
)
_NODE_LISTENS = re.compile(
    r"\.listen\(|\bserve\(\s*[{\w]|\b(?:hono|elysia)Server\(|\bstartFlowServer\("
)
_STARTS_OTHER = re.compile(
    r"^(?:void |await )?(?:start|run|launch|listen)(?:Server|App|Api|Http)\(", re.M
)
"""How a file of Node starts the server that a file which it imports makes."""

_OF_FRAMEWORK = re.compile(
    r"\bnew VoltAgent\(|\bstartFlowServer\(|\bexpressHandler\(|\bfetchHandlers\("
)
_ANSWERS = re.compile(
    r"return\s*\{\s*[\"'](\w+)[\"']|jsonify\(\s*\{?\s*[\"']?(\w+)|return \w+\((\w+)="
)


def server_of(path: str, text: str, behind: str = "") -> str:
    """Return the application that a file serves, `name()` for one that a function makes.

    `behind` are the texts of the files that it imports, where its routes may be. It is "" for a
    file that serves nothing.
    """
    if not path.endswith(".py"):
        own = _listens(text) or exports_fetch(text) or dev_server(path, "", text)
        listens = own or (_STARTS_OTHER.search(text) and _NODE_LISTENS.search(behind))
        return "app" if listens and _is_asked_at(path, text, behind) else ""
    made = _FACTORY.search(text)
    found = _APPLICATION.search(text) or _of_own_class(text, behind)
    application = found[1] if found else f"{made[1]}()" if made else _factory(path, text)
    spoken = protocol_of(path, text, behind if application else "")
    if spoken and spoken.application:
        return spoken.application
    return application if application and _is_asked_at(path, text, behind) else ""


_BACKTICK = re.compile(r"(?<![\\`])`(?!`)")


def _listens(text: str) -> bool:
    """Whether a file of Node listens, and not only a text of several lines that it holds."""
    plain = without_comments(text) if _NODE_LISTENS.search(text) else ""
    return any(
        len(_BACKTICK.findall(plain, 0, one.start())) % 2 == 0
        for one in _NODE_LISTENS.finditer(plain)
    )


def exports_fetch(text: str) -> bool:
    """Whether a file of Node exports an application whose `fetch` Bun or a platform calls."""
    of_web = re.search(
        r"[\"'](?:hono|elysia|itty-router|@voltagent/[\w-]+)(?:/[\w/-]+)?[\"']", text
    )
    listens = _NODE_LISTENS.search(without_comments(text))
    return bool(of_web and _FETCHED.search(text) and not listens)


def _factory(path: str, text: str) -> str:
    """Return the function of any name that takes nothing and makes an application, as a call; one
    that starts its server as well makes none.
    """
    if not re.search(rf"\b{_MAKERS}\(", text):
        return ""
    parts = re.split(r"^(?=(?:async )?def \w)", text, flags=re.M)
    making = (one for one in parts if _MAKES.search(one) and not starts_itself(path, one))
    made = (re.match(r"def (\w+)\([ \t]*\)", one) for one in making)
    return next((f"{one[1]}()" for one in made if one), "")


def _of_own_class(text: str, behind: str) -> re.Match[str] | None:
    """Return the application at a module's top that is of the program's own kind of FastAPI."""
    if not _OF_A_CLASS.search(text):
        return None
    own = "|".join(_KIND.findall(f"{text}\n{behind}"))
    return re.search(rf"^(\w+)\s*(?::[^=\n]+)?=\s*(?:{own})\(", text, re.M) if own else None


def serves(path: str, text: str, behind: str = "") -> bool:
    """Whether a program is asked over HTTP: a file serves an application, or starts a server."""
    if server_of(path, text, behind) or hosted(path, text):
        return True
    return starts_itself(path, text) and _is_asked_at(path, text, behind)


def _is_asked_at(path: str, text: str, behind: str) -> bool:
    routes = _PYTHON_ROUTE if path.endswith(".py") else NODE_ROUTE
    whole = f"{text}\n{behind}"
    own = path.endswith(".py") and (
        _ENTRYPOINT.search(text) or aiohttp_route(whole) or _GET_ROUTE.search(whole)
    )
    if not path.endswith(".py"):
        own = ASKED_BY_GET.search(whole) or _OF_FRAMEWORK.search(text)
    return bool(routes.search(whole) or protocol_of(path, text, behind) or own)


_STREAMS = re.compile(
    r"WebSocketServer|\bnew WebSocket|\bwebsocket\s*:|\.upgrade\(|@\w+\.websocket\("
    r"|websockets?\.serve|socketio|socket\.io|SocketIO\(",
)


_ROUTED = re.compile(r"\.(?:get|post|put|patch|delete|websocket)\(\s*[\"'`]/")
_KEYS = re.compile(r"\b(?:messages?|prompt|question|query|input|content|text)\b")
_FIELD_OF_A_FORM = re.compile(rf"\b(?:\w+_)?(?:{QUESTION})\s*:[^\n]*\bForm\b")


def streams_only(path: str, text: str, behind: str) -> bool:
    """Whether a server takes messages over WebSocket, and no questions elsewhere."""
    whole = text + behind
    own = text if not server_of(path, text, behind) else whole
    if not _STREAMS.search(own) or reads_arguments(text):
        return False
    python = path.endswith(".py")
    for one in (_PYTHON_ROUTE if python else NODE_ROUTE).finditer(whole):
        handler = _ROUTED.split(whole[one.end() :][:600], maxsplit=1)[0]
        asks = python or _KEYS.search(handler)
        filled = python and _FIELD_OF_A_FORM.search(handler)
        if asks and "websocket" not in handler[:300].lower() and (filled or is_asked(_group(one))):
            return False
    return True


def is_flask(text: str) -> bool:
    """Whether the application is one of Flask."""
    return "Flask(" in text


_CHATKIT = re.compile(r"^class \w+\((?:\w+\.)?ChatKitServer\b", re.M)


def served(path: str, text: str) -> Invocation:
    """Return how a server is asked, from its text and that of the files it imports; of one of Node
    its handlers tell (`node_routes`).
    """
    if not path.endswith(".py"):
        return Invocation(route="/", field="message", sure=False)
    if entry := _ENTRYPOINT.search(text):
        return _entered(entry, text)
    if found := aiohttp_route(text):
        if found.a2a:
            return Invocation(route=found.path, field="text", body=SENT)
        field, answer = _likeliest(found.keys, ASKED), _likeliest(found.answers, ANSWERED)
        return Invocation(
            route=found.path, field=field or "message", answer=answer, sure=bool(field)
        )
    routes = list(_PYTHON_ROUTE.finditer(text))
    if not routes:  # but such as take a question in their query
        return Invocation(route="/", sure=False)
    route = max(routes, key=_likelihood)
    prefix = _PREFIX.search(text)
    path = (prefix[1].rstrip("/") if prefix else "") + _group(route) or "/"
    if _CHATKIT.search(text) and ".process(" in text[route.end() :]:
        return Invocation(route=path, preset="chatkit")
    field = _likeliest(_asked(text, route.end()), ASKED)
    after = (one.start() for one in routes if one.start() > route.start())
    end = min(after, default=len(text))
    return Invocation(
        route=path,
        field=field or "message",
        answer=_likeliest(map(_group, _ANSWERS.finditer(text, route.end(), end)), ANSWERED),
        sure=bool(field),
    )


def _likelihood(route: re.Match[str]) -> tuple[bool, bool, bool, int]:
    """Return how likely a route takes questions; it never is one to log in, if another is there."""
    place = _group(route)
    return not BESIDE.search(place.lower()), is_asked(place), ":" not in place, -route.start()


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
        answer=_returned(entry[2]),
        sure=bool(field),
        body=json.dumps(more) if len(more) > 1 else "",
    )


_RETURNS = re.compile(
    r"^[ \t]+return\b[ \t]*(\{\s*[\"'](\w+)[\"'][^{}]{0,400}\}[ \t]*$|[^\n]*)", re.M
)


def _returned(body: str) -> str:
    """Return the only key of all objects that a handler returns but of errors, "" for none."""
    inner = re.split(r"^[ \t]+(?:async )?def ", body, maxsplit=1, flags=re.M)[0]
    found = {key for _, key in _RETURNS.findall(inner) if key not in {"error", "status"}}
    alone = len(found) == 1 and not re.search(r"\byield\b", inner)
    return next(iter(found)) if alone else ""


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


def _asked(text: str, start: int) -> Iterator[str]:
    taken = _PYTHON_TAKES.search(text, start)
    models = sorted(_PYTHON_MODEL.findall(text), key=lambda one: not taken or one[0] != taken[1])
    for _, fields in models:
        yield from _PYTHON_FIELD.findall(fields)
    yield from _PYTHON_KEY.findall(text, start)


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


def invocation_of(path: str, text: str, behind: str = "") -> Invocation:
    """Return how the program is asked, as far as its text and that of what it imports tell."""
    if path.endswith(".go"):
        return go_invocation(text, PROMPT)
    if serves(path, text, behind):
        if asked := hosted(path, text):
            return asked
        if spoken := protocol_of(path, text, behind):
            place = a2a_elsewhere(f"{text}\n{behind}") if spoken.preset == "a2a" else ""
            if place and path.endswith(".py"):
                return Invocation(route=place, field="text", body=SENT)
            return Invocation(route=spoken.path, preset=spoken.preset)
        return served(path, f"{text}\n{behind}")
    return asked_by_words(path, text)
