"""Where the routers of a Node server stand: `app.use("/api", router)` names the path before theirs.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath, splitext

from gateval.domain.setup.node_imports import loaded_folders

_QUOTED = r"[\"'`]([^\"'`\n]+)[\"'`]"
_MOUNT = re.compile(
    rf"\.(?:use|route)\(\s*[\"'`](/[^\"'`\n]*)[\"'`]\s*,[^;\n]{{0,500}}?"
    rf"(?:\brequire\(\s*{_QUOTED}\s*\)(?:\.\w+)?(?:\([^()\n]{{0,200}}\))?"
    r"|\b(\w+)(?:\.\w+)?(?:\((?:[^()\n]|\([^()\n]*\)){0,300}\))?)\s*,?\s*\)\s*(?:;|$)",
    re.M,
)
_ROUTE = re.compile(
    r"(\.(?:get|post|put|patch|delete|all|route)(?:<(?:[^()]|\(\)){0,500}?>)?\(\s*[\"'`])(/[^\"'`\n]*|)(?=[\"'`])"
)
_REGISTERED = re.compile(
    rf"\.register\(\s*(?:(\w+)|(?:await\s+)?import\(\s*{_QUOTED}\s*\)|require\(\s*{_QUOTED}\s*\))\s*,\s*"
    r"\{[^}]{0,500}\bprefix\s*:\s*[\"'`](/[^\"'`\n]*)"
)
_PREFIXED = re.compile(
    r"\b(?:Router|Elysia|Hono)\(\s*\{[^}]{0,500}\bprefix\s*:\s*[\"'`](/[^\"'`\n]*)"
    r"|\.basePath\(\s*[\"'`](/[^\"'`\n]*)|\b\w*[rR]outer\.prefix\(\s*[\"'`](/[^\"'`\n]*)"
)
_CONSTANT = re.compile(
    r"(?:\b(?:const|let|var|readonly)\s+|^[ \t]*)(\w+)\s*(?::\s*string\s*)?[=:]"
    r"\s*([^;\n]{0,500}[\"'`]/[\w./-]*[\"'`])",
    re.M,
)
_NAMED_PLACE = re.compile(
    r"(\.(?:use|route|post|all|get|group|basePath)\(\s*)(`/?[^`\n]*`|[A-Za-z_]\w*(?:\.\w+)*)(\s*,)"
)
_NAMED_PREFIX = re.compile(r"(\bprefix\s*:\s*)(`/?[^`\n]*`|[A-Za-z_]\w*(?:\.\w+)*)(\s*[,}\n])")
_ENDING = re.compile(r"\.[cm]?[jt]sx?$")
_ALIAS = re.compile(r"(?:@|~|#|src)/(.+)")
_PREFIX_OF_ALL = re.compile(r"\broutes[\"'`]\s*\)[^()]{0,200}?\bprefix\s*:\s*[\"'`](/[^\"'`\n]*)")
"""Where a server of Fastify that loads a folder of routes says what all begin with."""

_DEEPEST = 4


def with_mounts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a server by path, each route with the path that its router is mounted at.

    `texts` are the program's own and those of the files that it imports.
    """
    known = {name: place for text in texts.values() for name, place in _constants(text)}
    texts = {path: _plain(text, known) for path, text in texts.items()}
    mounts = [one for path in texts for one in _mounts(path, texts)]
    own = {path: _own(text) for path, text in texts.items()}
    before: dict[str, str] = {}
    for _ in range(_DEEPEST):  # a router may be mounted in a router
        before = {
            inner: before.get(outer, "") + own[outer] * (outer in before) + place
            for outer, place, inner in reversed(mounts)
        }
    return {path: _moved(before.get(path, "") + own[path], text) for path, text in texts.items()}


def _constants(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names that hold a path, as it is unless a setting says another."""
    for one in _CONSTANT.finditer(text):
        places = re.findall(r"[\"'`](/[\w./-]*)[\"'`]", one[2])
        if places:
            yield one[1], places[-1]


def _plain(text: str, known: Mapping[str, str]) -> str:
    """Return the text with paths in place of the names that hold them."""

    def written(found: re.Match[str]) -> str:
        given = found[2]
        if given.startswith("`"):
            inner = re.sub(
                r"\$\{\s*(?:\w+\.)*(\w+)\s*\}", lambda one: known.get(one[1], one[0]), given
            )
            return f"{found[1]}{inner}{found[3]}"
        place = known.get(given.rpartition(".")[2])
        return f'{found[1]}"{place}"{found[3]}' if place else found[0]

    return _NAMED_PREFIX.sub(written, _NAMED_PLACE.sub(written, text))


def _own(text: str) -> str:
    """Return the path that a file's one router begins its routes with."""
    found = {next(filter(None, one.groups())) for one in _PREFIXED.finditer(text)}
    return found.pop().rstrip("/") if len(found) == 1 else ""


def _moved(before: str, text: str) -> str:
    return _ROUTE.sub(lambda one: one[1] + _joined(before, one[2]), text) if before else text


def _joined(before: str, place: str) -> str:
    return before + place if place not in {"/", ""} or not before else before


def _mounts(path: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the file that mounts, the path, and the file of the router."""
    text = texts[path]
    for one in _MOUNT.finditer(text):
        inner = _file(path, one[2] or _imported(one[3], text), texts)
        if inner and inner != path:
            yield path, one[1].rstrip("/"), inner
    for one in _REGISTERED.finditer(text):
        inner = _file(path, one[2] or one[3] or _imported(one[1], text), texts)
        if inner and inner != path:
            yield path, one[4].rstrip("/"), inner
    for folder in loaded_folders(path, text):
        before = _PREFIX_OF_ALL.search(text)
        for inner in (one for one in texts if one.startswith(f"{folder}/")):
            below = dirname(inner).removeprefix(folder)
            yield path, (before[1].rstrip("/") if before else "") + below, inner


def _imported(name: str, text: str) -> str:
    """Return the module that a name, or what makes it, is imported from, "" for none."""
    found = re.search(
        rf"\bimport\s+(?:{name}\b|\*\s+as\s+{name}\b|(?:\w+\s*,\s*)?\{{[^}}]*\b{name}\b[^}}]*\}})[^;\"']*{_QUOTED}"
        rf"|\b(?:const|let|var)\s+(?:{name}|\{{[^}}]*\b{name}\b[^}}]*\}})\s*=\s*require\(\s*{_QUOTED}",
        text,
    )
    if found:
        return found[1] or found[2]
    made = re.search(rf"\bconst\s+{name}\s*=\s*(?:await\s+)?(?!{name}\b)(\w+)\(", text)
    return _imported(made[1], text) if made else ""


def _file(path: str, module: str, texts: Mapping[str, str]) -> str:
    """Return the file of a module of the program's own, which may begin with a folder's alias."""
    if not module.startswith("."):
        named = _ALIAS.match(module)
        end = f"/{_ENDING.sub('', named[1])}" if named else "\n"
        ends = (end, f"{end}/index")
        return next((one for one in texts if f"/{splitext(one)[0]}".endswith(ends)), "")
    place = normpath(join(dirname(path), module))
    stems = {place, _ENDING.sub("", place), join(place, "index")}
    return next((one for one in texts if splitext(one)[0] in stems), "")
