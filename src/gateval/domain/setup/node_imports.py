"""Which files and packages a file of Node imports, by where they stand. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from posixpath import basename, dirname, join, normpath
from typing import Any, NamedTuple

_PACKAGE = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([@\w][\w./@-]*)["']""")
_MODULE = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*(?:/\*[^*]{0,200}\*/\s*)?["'`]([\w@~#$./-][^"'`\n]{0,200})["'`]"""
)
_TYPE = r"type\s+\w+"
_TYPES = re.compile(
    rf"""^import\s+(?:type\b[^"';]*|\{{\s*{_TYPE}(?:\s*,\s*{_TYPE})*\s*,?\s*\}}\s*from\s*)["'][^"'\n]*["']""",
    re.M,
)
_REMARK = re.compile(r"^[ \t]*(?://[^\n]*|\*[^\n]*|/\*[^\n]*?(?:\*/|$))", re.M)
"""A comment with a line of its own; what stands behind code may be a part of a string."""

_ENDING = re.compile(r"\.(?:[cm]?[jt]s|[jt]sx)$")
_ALIAS = re.compile(r"(?:[@~]|#|\$\w+|@?src|@?app)/(.+)|#(\w.*)")
"""A module of the project's own, as `@/lib/agent`, by its usual names."""

_UTILS = re.compile(r"^(.*\bserver)/utils/[^/]+$")
_EXPORTED = re.compile(r"^export\s+(?:async\s+)?(?:function|const)\s+(\w+)", re.M)
_USED = re.compile(r"\b(\w+)\s*\(")
_AUTOLOADS = re.compile(r"[\"'](?:@fastify/|fastify-)autoload[\"']")
_LOADED = re.compile(
    r"\bdir\s*:\s*(?:\w+\.)?(?:join|resolve)\(\s*[\w.]+\s*,\s*[\"'`]([\w./-]+)[\"'`]\s*\)"
)
_BUILT = ("/dist/", "/build/", "/out/")
_PROJECT = "package.json"


def node_packages(text: str) -> set[str]:
    """Return the packages that a JavaScript or TypeScript file imports, but for types alone."""
    return set(_PACKAGE.findall(_counted(text)))


def _counted(text: str) -> str:
    """Return the text without imports of types alone and without comments."""
    return _TYPES.sub("", _REMARK.sub("", text))


def loaded_folders(path: str, text: str) -> list[str]:
    """Return the folders whose plugins a server of Fastify loads by itself."""
    loads = _AUTOLOADS.search(text)
    return [normpath(join(dirname(path), one)) for one in _LOADED.findall(text)] if loads else []


class _Package(NamedTuple):
    """A package of the repository: its folder, what starts it, what it depends on."""

    folder: str
    entries: tuple[str, ...]
    needs: frozenset[str]


def _package(path: str, text: str) -> tuple[str, _Package]:
    """Return the name of a package, "" for none, and what its `package.json` tells."""
    folder = dirname(path)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = {}
    told = told if isinstance(told, dict) else {}
    given = (told.get(one) for one in ("source", "module", "main", "types"))
    entries = [one for one in given if isinstance(one, str)]
    exports = told.get("exports")
    exports = exports.get(".", exports) if isinstance(exports, dict) else exports
    entries += [one for one in _values(exports) if isinstance(one, str)]
    named = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
    needs = frozenset(one for key in named if isinstance(told.get(key), dict) for one in told[key])
    places = [re.sub(r"\.d$", "", _ENDING.sub("", normpath(one))) for one in entries]
    places += [
        f"src/{one.partition('/')[2]}" for one in places if f"/{one}".startswith((*_BUILT, "/lib/"))
    ]
    places += ["index", "src/index"]
    name = told.get("name")
    return name if isinstance(name, str) else "", _Package(folder, tuple(places), needs)


def _values(told: Any) -> tuple[Any, ...]:
    return tuple(told.values()) if isinstance(told, dict) else (told,)


class NodeImports:
    """The files of Node in a repository, by what others import them as."""

    def __init__(self, texts: Mapping[str, str], projects: Mapping[str, str] | None = None) -> None:
        self._texts = texts
        told = [one for one in sorted(projects or {}) if basename(one) == _PROJECT]
        packages = [_package(path, (projects or {})[path]) for path in told]
        self._projects = {package.folder: package for _, package in packages}
        self._packages: dict[str, list[_Package]] = {}
        for name, package in packages:
            self._packages.setdefault(name, []).append(package)
        self._by_place: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        self._granted: dict[str, dict[str, str]] = {}
        for path in sorted(one for one in texts if _ENDING.search(one)):
            place = _ENDING.sub("", path)
            folder, name = dirname(place), basename(place)
            places = [place, folder] if name == "index" else [place]
            if name == "index" and basename(folder) == "src":  # of a package of the repository
                places.append(dirname(folder))
            for one in places:
                self._by_place.setdefault(one, []).append(path)
                self._by_name.setdefault(basename(one), []).append(one)
            if utils := _UTILS.match(path):
                names = self._granted.setdefault(utils[1], {})
                names |= dict.fromkeys(_EXPORTED.findall(texts[path]), path)

    def of(self, path: str) -> list[str]:
        """Return the files that a file imports, but for types alone."""
        text = _counted(self._texts[path])
        modules = dict.fromkeys(_MODULE.findall(text))
        found = [one for module in modules for one in self._files(path, module)]
        found += self._taken_for_granted(path, text)
        found += [one for folder in loaded_folders(path, text) for one in self._below(folder)]
        return [one for one in dict.fromkeys(found) if one != path]

    def _below(self, folder: str) -> list[str]:
        """Return the files of a folder."""
        return [one for one in self._texts if one.startswith(f"{folder}/") and _ENDING.search(one)]

    def _files(self, path: str, module: str) -> list[str]:
        plain = _ENDING.sub("", module)
        if module.startswith("."):
            place = normpath(join(dirname(path), module))
            ends = [_ENDING.sub("", place), place, join(place, "index")]
            here = next((self._by_place[one] for one in ends if one in self._by_place), None)
            built = here is None and any(one in f"/{module}/" for one in _BUILT)
            return self._named(path, basename(plain)) if built else here or []
        alias = _ALIAS.fullmatch(plain)
        if alias:
            return self._named(path, alias[1] or alias[2])
        if own := self._of_package(path, module):
            return own
        first, _, rest = plain.partition("/")
        if not first.startswith("@") and not rest:  # a package, of the repository's own if at all
            return [one for one in self._named(path, plain) if f"/{plain}/src/index." in f"/{one}"]
        return self._named(path, plain.removeprefix("@")) or [
            one
            for one in self._named(path, rest if first.startswith("@") else plain)
            if f"/{basename(rest)}/src/index." in f"/{one}"
        ]

    def _of_package(self, path: str, module: str) -> list[str]:
        """Return the files of a package of the repository, or of a module that stands at the top of
        the project, which is no package that it depends on.
        """
        scoped = re.fullmatch(r"(@[^/]+/[^/]+|[^@/][^/]*)(?:/(.+))?", module)
        name, rest = (scoped[1], _ENDING.sub("", scoped[2] or "")) if scoped else (module, "")
        known = self._packages.get(name, [])
        for one in sorted(known, key=lambda one: -_shared(path, f"{one.folder}/")):
            inner = (rest, f"src/{rest}") if rest else one.entries
            for place in (normpath(join(one.folder, other)) for other in inner):
                if place in self._by_place:
                    return self._by_place[place]
        folder = self._project(path)
        if known or rest or folder is None or name in self._projects[folder].needs:
            return []
        places = (join(folder, name), join(folder, "src", name))
        return [file for place in places for file in self._by_place.get(place, ())]

    def _named(self, path: str, end: str) -> list[str]:
        """Return the files whose places end so, the nearest in the repository."""
        end = normpath(end)
        ends = (f"/{end}", f"/{end}/index")
        places = [one for one in self._by_name.get(basename(end), ()) if f"/{one}".endswith(ends)]
        top, project = path.partition("/")[0], self._project(path)
        near = [one for one in places if one.partition("/")[0] == top] or places
        near = [one for one in near if self._project(one) == project] or near
        return [file for one in near for file in self._by_place[one]]

    def _project(self, path: str) -> str | None:
        """Return the folder of the project that a file belongs to, if there is one."""
        return next((one for one in _above(path) if one in self._projects), None)

    def _taken_for_granted(self, path: str, text: str) -> Iterator[str]:
        """Yield the files whose functions Nuxt and Nitro give to each other without an import."""
        for folder, names in self._granted.items():
            if path.startswith(f"{folder}/"):
                used = {one for one in _USED.findall(text) if one in names}
                yield from sorted({names[one] for one in used})


def _shared(path: str, other: str) -> int:
    """Return how many folders two files have in common, from the top."""
    both = zip(path.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _above(path: str) -> Iterator[str]:
    folder = dirname(path)
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""
