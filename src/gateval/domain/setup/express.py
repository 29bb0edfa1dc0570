"""Where the routers of a Node server stand: `app.use("/api", router)` names the path before theirs.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath, splitext

_QUOTED = r"[\"'`]([^\"'`\n]+)[\"'`]"
_MOUNT = re.compile(
    rf"\.(?:use|route)\(\s*[\"'`](/[^\"'`\n]*)[\"'`]\s*,[^;\n]*?"
    rf"(?:\brequire\(\s*{_QUOTED}\s*\)(?:\.\w+)?|\b(\w+))\s*,?\s*\)\s*(?:;|$)",
    re.M,
)
_ROUTE = re.compile(r"(\.(?:get|post|put|patch|delete)\(\s*[\"'`])(/[^\"'`\n]*)")
_ENDING = re.compile(r"\.[cm]?[jt]sx?$")
_DEEPEST = 4


def with_mounts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a server by path, each route with the path that its router is mounted at.

    `texts` are the program's own and those of the files that it imports.
    """
    mounts = [one for path in texts for one in _mounts(path, texts)]
    before: dict[str, str] = {}
    for _ in range(_DEEPEST):  # a router may be mounted in a router
        before = {inner: before.get(outer, "") + place for outer, place, inner in reversed(mounts)}
    return {path: _moved(before.get(path, ""), text) for path, text in texts.items()}


def _moved(before: str, text: str) -> str:
    return _ROUTE.sub(lambda one: one[1] + _joined(before, one[2]), text) if before else text


def _joined(before: str, place: str) -> str:
    return before + place if place != "/" or not before else before


def _mounts(path: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the file that mounts, the path, and the file of the router."""
    text = texts[path]
    for one in _MOUNT.finditer(text):
        module = one[2] or _imported(one[3], text)
        inner = _file(path, module, texts) if module.startswith(".") else ""
        if inner and inner != path:
            yield path, one[1].rstrip("/"), inner


def _imported(name: str, text: str) -> str:
    """Return the module that a name is imported from, "" for none."""
    found = re.search(
        rf"\bimport\s+(?:{name}\b|\*\s+as\s+{name}\b|(?:\w+\s*,\s*)?\{{[^}}]*\b{name}\b[^}}]*\}})[^;\"']*{_QUOTED}"
        rf"|\b(?:const|let|var)\s+(?:{name}|\{{[^}}]*\b{name}\b[^}}]*\}})\s*=\s*require\(\s*{_QUOTED}",
        text,
    )
    return (found[1] or found[2]) if found else ""


def _file(path: str, module: str, texts: Mapping[str, str]) -> str:
    place = normpath(join(dirname(path), module))
    stems = {place, _ENDING.sub("", place), join(place, "index")}
    return next((one for one in texts if splitext(one)[0] in stems), "")
