"""Which files a file imports, by names alone, and from which folders Python finds them. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from posixpath import basename, dirname, join, splitext

from gateval.domain.setup.node_imports import NodeImports
from gateval.domain.setup.python_text import in_older_words

_PLAIN_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.M)
_FROM_IMPORT = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\(?[ \t]*([\w, \t]*)", re.M)
_IMPORTING_LINE = re.compile(
    r"""^[ \t]*(?:from|import)\b.*$|^.*(?:\bfrom\s*["']|\brequire\().*$"""
    r"""|^\s*(?:\w+ )?"[\w./-]+"$""",
    re.M,
)
_IN_BRACKETS = re.compile(r"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]*\(([^()]*)\)", re.M)
_NAME = re.compile(r"[\w-]+")
_KINDS = {".py": "py", ".go": "go"}

MOST_REACHED = 150
"""How many files are followed from one program."""


@lru_cache(maxsize=512)
def python_tree(text: str) -> ast.Module | None:
    """Return a Python file as parsed, which is kept; None where it cannot be. One that is written
    for a newer Python than this is read, too.
    """
    return _parsed(text) or _parsed(in_older_words(text))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=512)
def explained_lines(text: str) -> frozenset[int]:
    """Return the lines of a Python file that stand in docstrings: what they show is no code."""
    tree = python_tree(text) if '"""' in text or "'''" in text else None
    return frozenset(
        line
        for one in (ast.walk(tree) if tree else ())
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    )


def python_modules(text: str) -> set[str]:
    """Return the modules that a Python file imports, `a.b` for `from a import b` as well as `a`."""
    found = {
        one.split()[0]
        for names in _PLAIN_IMPORT.findall(text)
        for one in names.split(",")
        if one.strip()
    }
    for module, names in _FROM_IMPORT.findall(text):
        found |= {
            module,
            *(f"{module}.{one.split()[0]}" for one in names.split(",") if one.strip()),
        }
    return found


def importing_names(text: str) -> frozenset[str]:
    """Return every name on the lines with which a file imports."""
    lines = _IMPORTING_LINE.findall(text) + _IN_BRACKETS.findall(text)
    return frozenset(name for line in lines for name in _NAME.findall(line))


class ImportGraph:
    """Which files a file imports, and which these import: of Node by their places, else by their
    names alone.
    """

    def __init__(self, texts: Mapping[str, str], projects: Mapping[str, str]) -> None:
        self._node = NodeImports(texts, projects)
        self._names = {
            path: importing_names(text) for path, text in texts.items() if _kind(path) != "node"
        }
        self._by_stem: dict[tuple[str, str], list[str]] = {}
        for path in sorted(texts):
            self._by_stem.setdefault((_kind(path), _stem(path)), []).append(path)
        self._texts = texts
        self._reached: dict[str, tuple[str, ...]] = {}
        self._behind: dict[str, str] = {}
        self._next: dict[str, list[str]] = {}

    def from_(self, path: str) -> tuple[str, ...]:
        """Return `path` and the files behind it, the nearer ones first."""
        if path not in self._reached:
            self._reached[path] = tuple(self.followed(path))
        return self._reached[path]

    def behind(self, path: str) -> str:
        """Return the texts of the files that a file imports, and which these import."""
        if path not in self._behind:
            others = (one for one in self.from_(path) if one != path)
            self._behind[path] = "\n".join(self._texts[one] for one in others)
        return self._behind[path]

    def followed(self, path: str) -> Iterator[str]:
        """Give the same one by one, for who needs but the first."""
        seen, waiting = {path}, [path]
        for _ in range(MOST_REACHED):
            if not waiting:
                return
            here = waiting.pop(0)
            yield here
            new = [other for other in self._imported(here) if other not in seen]
            seen.update(new)
            waiting += new

    def _imported(self, path: str) -> list[str]:
        """Return the files that a file imports itself."""
        if path not in self._next:
            kind = _kind(path)
            if kind == "node":
                self._next[path] = self._node.of(path)
                return self._next[path]
            found = (self._by_stem.get((kind, name), []) for name in sorted(self._names[path]))
            near = (other for others in found for other in _nearest(path, others))
            self._next[path] = list(dict.fromkeys(near))
        return self._next[path]


def folders_above(path: str) -> Iterator[str]:
    """Yield the folder of a file and those around it, the nearest first; "" is the root."""
    folder = dirname(path)
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""


def roots_of(module: str, files: Iterable[str]) -> frozenset[str]:
    """Return the folders that hold a Python module or package of this name."""
    found = set()
    for path in files:
        if path.endswith(".py"):
            folder = ""
            for part in path.split("/"):
                if part in {module, f"{module}.py"}:
                    found.add(folder)
                folder = f"{folder}/{part}" if folder else part
    return frozenset(found)


def sees(path: str, roots: Collection[str], files: Container[str]) -> bool:
    """Whether one of these folders is where Python looks for what the file at `path` imports.

    That is its own folder, and those above it, as far as they are no packages; programs are started
    in the repository's root, even if that is one.
    """
    return any(
        folder in roots and not (folder and join(folder, "__init__.py") in files)
        for folder in folders_above(path)
    )


def shared_packages(
    root: str, imported: Collection[str], files: Collection[str]
) -> tuple[str, ...]:
    """Return patterns of the repository's own packages outside `root` that are imported."""
    if not root:
        return ()
    folders = set()
    for path in files:
        folder = dirname(path)
        outside = not f"{folder}/".startswith(f"{root}/")
        if outside and basename(path) == "__init__.py" and basename(folder) in imported:
            folders.add(_project_folder(folder, files))
    return tuple(f"/{folder}/**" for folder in sorted(folders))


def _project_folder(folder: str, files: Collection[str]) -> str:
    """Return the project that a package belongs to: the folder with a project file, else itself."""
    above = folder
    while above:
        if f"{above}/pyproject.toml" in files or f"{above}/setup.py" in files:
            return above
        above = dirname(above)
    return folder


def _nearest(path: str, others: Collection[str]) -> Collection[str]:
    """Return those in the same folder of the repository's root, if any, else all."""
    top = path.partition("/")[0]
    return [one for one in others if one.partition("/")[0] == top] or others


def _stem(path: str) -> str:
    if path.endswith(".go"):
        return basename(dirname(path))
    stem = splitext(basename(path))[0]
    return basename(dirname(path)) if stem == "__init__" else stem


def _kind(path: str) -> str:
    return _KINDS.get(splitext(path)[1], "node")
