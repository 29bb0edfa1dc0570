"""Files of Node that are routes by where they stand, of Next.js, SvelteKit, Nuxt, Remix and others.

A bridge asks each as its framework would (`bridges/node/server_routes.mjs`). What a program says is
read, never run. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import dirname, splitext
from typing import Any, NamedTuple

from gateval.domain.setup.invocation import MESSAGES
from gateval.domain.setup.libraries import spelled_models
from gateval.domain.setup.node_protocols import AG_UI_KEYS, asked_elsewhere, speaks_ag_ui
from gateval.domain.setup.node_routes import SETTING, body_of
from gateval.domain.setup.node_text import braced, parts, without_comments
from gateval.domain.setup.node_types import NodeTypes, asked_message, message_in
from gateval.domain.setup.openapi import SOME_TEXT, is_identity, takes_question
from gateval.domain.setup.other_work import NAMED, Refusal
from gateval.domain.setup.platforms import LOGIN, begun_by

_EXPORTS_POST = r"^export\s+(?:(?:async\s+function|function|const|let)\s+POST\b|\{[^}]*\bPOST\b)"
_KINDS = (
    (r"(?:^|/)app/(?:.*/)?route\.(?:ts|tsx|js|mjs)$", _EXPORTS_POST),
    (r"(?:^|/)\+server\.[jt]s$", _EXPORTS_POST),
    (r"(?:^|/)pages/api/.*\.[jt]sx?$", rf"^export default\b|^module\.exports\s*=|{_EXPORTS_POST}"),
    (
        r"(?:^|/)server/(?:api|routes)/(?!.*\.(?:get|put|patch|delete)\.).*\.[jt]s$",
        r"^export default\s+(?:(?:define\w*|cached)?[eE]vent|defineLazyEvent)Handler\(",
    ),
    (
        r"(?:^|/)app/routes/.*\.[jt]sx?$",
        r"^export\s+(?:async\s+function|function|const|let)\s+action\b",
    ),
)
"""How the path of each kind of route ends, and how its file exports one that takes a POST."""

_STORES = re.compile(
    r"/(?:[\w-]*(?:upload|store|webhook|login|auth|health|feedback)[\w-]*|add_\w+|create_\w+)/",
    re.I,
)
"""How routes are called that keep files, let people in or look after the server."""

_READS = r"\.json\(\)|\breadBody\b|\breadValidatedBody\(|\breq\.body\b|\brequest\.body\b"
_KEYS = re.compile(
    r"\b(?:const|let|var)\s*\{([^;]{0,600}?)\}\s*(?::\s*(?:\{[^{}=]{0,500}\}|[^=;]{1,200}))?=\s*\(?\s*((?:await\s+)?[\w.]+(?:<[^()]{0,500}?>)?(?:\([^)]{0,500}\))?)"
)
_BODY = re.compile(
    rf"\b(?:const|let|var)\s+(\w+)\s*(?::[^=;]{{1,200}})?=\s*\(?\s*(?:await\s+)?(?:JSON\.parse\(\s*)?[\w.]*?(?:{_READS})"
)
_FETCHED = re.compile(r"\b(\w+)\s*=\s*await\s+(?:fetch|\$fetch|axios(?:\.\w+)?)\(")
"""How what another server answered is kept, whose JSON is no body of a request."""

_DIRECT = re.compile(r"\b(?:req|request)\.body\??\.(\w+)\b(?!\()")
_TAKES_NOTHING = re.compile(
    r"^export\s+(?:async\s+function\s+POST\s*\(\s*\)|const\s+POST\b[^=]*=\s*async\s*\(\s*\)\s*=>)",
    re.M,
)
_FORM = re.compile(r"\.formData\(\)")
_ASKED = re.compile(r"chat|agent|ask|assist|complet|messag|generat|answer|query")
_OF_PAGE = frozenset({MESSAGES, "prompt", "id", "trigger", "data", "messageId"})
"""What the bridge sends by itself, or no route needs."""


class RouteFile(NamedTuple):
    """A route: what it is called, how much speaks for it, the fields that it reads the question
    from, and with values as JSON those that it demands beside. `refused` says why it cannot be
    asked.
    """

    names: tuple[str, ...]
    score: int
    inputs: tuple[str, ...]
    more: tuple[tuple[str, str], ...] = ()
    refused: Refusal | None = None


_OF_A_PAGE = Refusal("takes the form of a page, which no bridge sends to a route.", NAMED)
_BARE = Refusal("takes a bare list as its body, and a bridge sends an object to a route.", NAMED)
_FILES = Refusal("takes a file, and no question.", NAMED)
_FILE = re.compile(r"(?:\w+_)?(?:file|image|pdf|audio|attachment|document)s?(?:Data|Base64)?", re.I)
_LIST = r"\.concat\(\s*{0}\s*\)|\b{0}\.(?:map|forEach|filter|at|length)\b|\.\.\.{0}\b"
LOWEST = 1
_PARAMETER = re.compile(r"/\[(?!\.\.\.|\[|lang\b|locale\b)\w+\](?=[/.])")
"""Where the path of a file has the number of what an earlier request made."""


_LOGGED_IN = re.compile(
    r"=\s*(?:await\s+)?(?:\w+\.)*(?:auth|getServerSession|getServerAuthSession|getAuth|getSession|getToken"
    r"|currentUser|getCurrentUser|getUser|requireAuth|requireUser)\s*\("
)
"""How a route asks who has logged in: NextAuth, Clerk, Supabase, better-auth and the like."""

_REJECTS = re.compile(r"\b401\b|\b[Uu]nauth(?:ori[sz]ed|enticated)\b")


def is_route_file(path: str, text: str) -> bool:
    """Whether a file is a route that takes a POST, by its path and what it exports."""
    return any(re.search(place, path) and re.search(own, text, re.M) for place, own in _KINDS)


def route_file(path: str, text: str, texts: Mapping[str, str]) -> RouteFile | None:
    """Return the route that a file is; None where it is none, or what it reads is no question.

    `texts` are all files by path, of which those in its folder may hold its schema.
    """
    place = f"{splitext(path)[0].replace('.', '/')}/"
    if not is_route_file(path, text) or _STORES.search(place):
        return None
    plain = without_comments(text)
    for answer in set(_FETCHED.findall(plain)):
        plain = re.sub(rf"\b{answer}\.json\(\)", "undefined", plain)
    if _TAKES_NOTHING.search(plain):
        return None
    read = list(dict.fromkeys(_keys_read(plain)))
    if speaks_ag_ui(plain) and _refusal(path, plain, texts) is None:
        more = tuple((name, json.dumps(value)) for name, value in AG_UI_KEYS.items())
        return RouteFile(_names(path), _score(path), (), more)
    demanded = body_of(plain, NodeTypes.of(_near(path, plain, read, texts)))
    refused = _refusal(path, plain, texts) or _of_body(plain, read, [*demanded])
    if refused:
        return RouteFile((), LOWEST, (), refused=refused)
    read = read or list(demanded)
    objects = _messages_of(read, demanded, plain)
    demanded |= objects
    known = {"prompt", MESSAGES, *objects}
    inputs = tuple(one for one in read if takes_question(one) and one not in known)
    if read and not inputs and not known & {*read}:
        if len(read) > 1 or is_identity(read[0]):
            return None
        inputs = (read[0],)  # it reads nothing else
    demanded = _sent_beside(read, path, plain, texts) | demanded  # what a type says of a key stands
    demanded |= _model_of(read, plain, texts)
    more = tuple(
        (name, json.dumps(value))
        for name, value in demanded.items()
        if name in objects
        or (
            name not in _OF_PAGE | {*inputs}
            and not (SETTING.fullmatch(name) and value in (SOME_TEXT, 1, False))
        )
    )
    fields = () if MESSAGES in read else inputs
    return RouteFile(_names(path), _score(path), fields, more)


def _names(path: str) -> tuple[str, ...]:
    """Return what a route is called by its path, the last of it first."""
    words = re.split(r"[/.]", re.sub(r"/(?:route|\+server|index)\.\w+$", "", splitext(path)[0]))
    return tuple(one for one in reversed(words) if one.isidentifier())


def _score(path: str) -> int:
    """Return how much speaks for a route by its path."""
    bare = re.sub(r"\([^)]*\)/", "", path)
    told = 2 * bool(_ASKED.search(bare)) + bool(re.search(r"/(?:chat|agent)(?:/|\.)[^/]*$", bare))
    return 32 + told


def _messages_of(
    read: Sequence[str], demanded: Mapping[str, Any], plain: str
) -> dict[str, dict[str, Any]]:
    """Return the keys that take the question as a message, with such a message."""
    asked = [one for one in read if takes_question(one) and one != MESSAGES]
    held = {one: asked_message(demanded.get(one)) or message_in(one, plain) for one in asked}
    return {one: value for one, value in held.items() if value}


_CHATS = re.compile(r"\b(?:useChat|useCompletion|sendMessage|append|handleSubmit)\b")
_BESIDE = re.compile(r"\bbody\s*:\s*\{")
_NAMES_A_ROUTE = re.compile(r"[\"'`]/api/[\w/-]+[\"'`?]")


def _address(path: str) -> str:
    """Return the path at which a route of a file is asked."""
    place = re.sub(r"^(?:.*/)?(?:app/routes|app|pages|routes|server)/", "/", f"/{path}")
    place = re.sub(r"(?:/(?:route|\+server|index))?(?:\.post)?\.\w+$", "", place)
    return re.sub(r"/\([^)]*\)", "", place)


def _sent_beside(
    read: Sequence[str], path: str, plain: str, texts: Mapping[str, str]
) -> dict[str, str]:
    """Return the keys that a page of the AI SDK sends beside its messages, and that a route reads
    and does not make up for. A page that names other routes alone calls none of this path.
    """
    own = re.compile(rf"[\"'`]{re.escape(_address(path))}[\"'`?]")
    pages = [
        one
        for one in texts.values()
        if _CHATS.search(one) and (own.search(one) or not _NAMES_A_ROUTE.search(one))
    ]
    sent = {
        key.partition(":")[0].strip()
        for page in pages
        for one in _BESIDE.finditer(page)
        for key in parts(braced(page, one.end()))
    }
    taken = " ".join(one[1] for one in _KEYS.finditer(plain))
    made_up = r"\b{0}\s*(?:\?(?!\.)|\|\|)|\bif\s*\(\s*!\s*{0}\s*\)\s*\{{?\s*{0}\s*="
    return {
        key: SOME_TEXT
        for key in read
        if key in sent
        and not re.search(made_up.format(key), plain)
        and not re.search(rf"\b{key}\s*=", taken)
    }


_MODEL_KEY = re.compile(r"(?:selected|chat)?_?model(?:_?(?:id|name))?", re.I)


def _model_of(read: Sequence[str], plain: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the key of a model that a route asks as it is told, with one that a page names."""
    told = _KEYS.sub("", plain)
    for key in filter(_MODEL_KEY.fullmatch, read):
        asked = rf"\bmodel\s*:\s*(?:\w+\(\s*)?{key}\s*[,)}}\n]"
        asked += r"|[{,]\s*model\s*," if key == "model" else ""
        given = rf"!\s*{key}\b|\b{key}\s*(?:\?|\|\||&&|=[^=>])"  # or another, if there is none
        named = (one for text in texts.values() for one in spelled_models(text))
        if re.search(asked, told) and not re.search(given, told) and (first := next(named, "")):
            return {key: first}
    return {}


_KIND = re.compile(r"(?::|\bas)\s*([A-Z]\w*|[a-z]\w*(?:ID|Id|Type|Name))\b")
_DEFINED = re.compile(r"\b(?:function|const|type|interface)\s+(\w+)")


def _near(path: str, plain: str, read: Sequence[str], texts: Mapping[str, str]) -> str:
    """Return the texts beside a route, and those that have its types or what it hands keys of its
    body to.
    """
    keys = "|".join(read) or r"\0"
    wanted = {*re.findall(rf"\b(\w+)\([^()]*\b(?:{keys})\b", plain), *_KIND.findall(plain)}
    folder = dirname(path)
    return "\n".join(
        other for one, other in texts.items() if dirname(one) == folder or wanted & _defined(other)
    )


@lru_cache(maxsize=4_096)
def _defined(text: str) -> frozenset[str]:
    """Return the functions, types and schemas that a file defines."""
    return frozenset(_DEFINED.findall(text))


def _refusal(path: str, plain: str, texts: Mapping[str, str]) -> Refusal | None:
    """Return why a route cannot be asked for where it stands, or for whom it answers."""
    if elsewhere := asked_elsewhere(plain):
        return elsewhere
    made = _PARAMETER.search(path)
    begins = made and any(
        one.startswith(path[: made.start()])
        and re.match(r"(?:/(?:route|index|\+server))?(?:\.post)?\.\w+$", one[made.start() :])
        and is_route_file(one, other)
        for one, other in texts.items()
    )
    if made and begins and re.search(r"\b(?:get\w*Params?|params)\b", plain):
        begun = re.sub(
            r"^(?:.*/)?(?=(?:app|pages|server|routes)/)|/route$", "", path[: made.start()]
        )
        return begun_by(f"/{begun.partition('/')[2]}")
    return LOGIN if _LOGGED_IN.search(plain) and _REJECTS.search(plain) else None


def _of_body(plain: str, read: Sequence[str], demanded: Sequence[str]) -> Refusal | None:
    """Return why a route cannot be asked for the body that it reads."""
    if _FORM.search(plain) and not read:
        return _OF_A_PAGE
    keys = read or demanded
    if keys and all(map(_FILE.fullmatch, keys)):
        return _FILES
    bare = any(re.search(_LIST.format(one), plain) for one in set(_BODY.findall(plain)))
    return _BARE if not keys and bare else None


def _keys_read(text: str) -> Iterator[str]:
    """Yield the keys that a route reads of the JSON of its request."""
    bodies = set(_BODY.findall(text))
    for keys in _KEYS.finditer(text):
        if keys[2] in bodies or re.search(_READS, keys[2]):
            for one in parts(keys[1]):
                name = re.match(r"\s*(\w+)", one)
                yield from [name[1]] if name else []
    for name in bodies:
        yield from re.findall(rf"\b{name}\??\.(\w+)\b(?!\()", text)
    yield from _DIRECT.findall(text)
