"""Which files and packages a file of Node imports, by where they stand. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname, join, normpath

_PACKAGE = re.compile(r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([@\w][\w./@-]*)["']""")
_MODULE = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["'`]([\w@~#$./-][^"'`\n]{0,200})["'`]"""
)
_TYPE = r"type\s+\w+"
_TYPES = re.compile(
    rf"""^import\s+(?:type\b[^"';]*|\{{\s*{_TYPE}(?:\s*,\s*{_TYPE})*\s*,?\s*\}}\s*from\s*)["'][^"'\n]*["']""",
    re.M,
)
_ENDING = re.compile(r"\.(?:[cm]?[jt]s|[jt]sx)$")
_ALIAS = re.compile(r"(?:[@~]|#|\$\w+|@?src|@?app)/(.+)|#(\w.*)")
"""A module of the project's own, as `@/lib/agent`, by its usual names."""

_UTILS = re.compile(r"^(.*\bserver)/utils/[^/]+$")
_EXPORTED = re.compile(r"^export\s+(?:async\s+)?(?:function|const)\s+(\w+)", re.M)
_USED = re.compile(r"\b(\w+)\s*\(")
_BUILT = ("/dist/", "/build/", "/out/")


def node_packages(text: str) -> set[str]:
    """Return the packages that a JavaScript or TypeScript file imports, but for types alone."""
    return set(_PACKAGE.findall(_TYPES.sub("", text)))


class NodeImports:
    """The files of Node in a repository, by what others import them as."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
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
        text = _TYPES.sub("", self._texts[path])
        modules = dict.fromkeys(_MODULE.findall(text))
        found = [one for module in modules for one in self._files(path, module)]
        found += self._taken_for_granted(path, text)
        return [one for one in dict.fromkeys(found) if one != path]

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
        first, _, rest = plain.partition("/")
        if not first.startswith("@") and not rest:  # a package, of the repository's own if at all
            return [one for one in self._named(path, plain) if f"/{plain}/src/index." in f"/{one}"]
        return self._named(path, plain.removeprefix("@")) or [
            one
            for one in self._named(path, rest if first.startswith("@") else plain)
            if f"/{basename(rest)}/src/index." in f"/{one}"
        ]

    def _named(self, path: str, end: str) -> list[str]:
        """Return the files whose places end so, the nearest in the repository."""
        end = normpath(end)
        ends = (f"/{end}", f"/{end}/index")
        places = [one for one in self._by_name.get(basename(end), ()) if f"/{one}".endswith(ends)]
        top = path.partition("/")[0]
        near = [one for one in places if one.partition("/")[0] == top] or places
        return [file for one in near for file in self._by_place[one]]

    def _taken_for_granted(self, path: str, text: str) -> Iterator[str]:
        """Yield the files whose functions Nuxt and Nitro give to each other without an import."""
        for folder, names in self._granted.items():
            if path.startswith(f"{folder}/"):
                used = {one for one in _USED.findall(text) if one in names}
                yield from sorted({names[one] for one in used})
