"""What a reader of one format gives, and what all of them ask of the files around.

A definition is a file that says what an agent is, in the words of the tool that runs it. It comes
from a pull request: what it refers to outside the repository is not followed, and what of it cannot
be read is told only where an Eval targets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import AgentTool
from gateval.domain.paths import has_wildcard, resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.tree import folders_of
from gateval.formats.base import TEXT_LIMIT, GatheringContext
from gateval.formats.yaml_document import Document
from gateval.formats.yaml_reader import read_documents

REFERENCES_LIMIT = 200
"""Files that one definition may lead to; what else it names is left out of its closure."""

HOPS = 5
"""Files on the way from a definition to one that it leads to."""


class DefinitionUnreadable(ValueError):
    """A definition that cannot be read; `problem` says why, with its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class CommandLine(NamedTuple):
    """A coding agent's own program, by its name, with further words; `asked` is what it reads."""

    program: str
    arguments: tuple[str, ...] = ()
    asked: str = "{{ prompt }}"


class Definition(NamedTuple):
    """An agent as its file says it.

    `name` is as written. `models` are those of `provider/model-id` that it names for certain.
    `files` are what it depends on beside its own file, from the root; folders mean all in them.
    `root` is the folder that its tool works in, `closed` says that it depends on nothing there but
    `files`. `runtime` starts it, as a manifest would say, or
    `line` does, a command line of `coding_agents.py`; where the gate knows neither, `refusal` says
    why and what to do. `model` is how that line names its model. `means` is what else of the file
    counts, whatever the order of its keys.
    """

    name: str
    place: SourceLocation
    models: tuple[str, ...] = ()
    system: str = ""
    tools: tuple[AgentTool, ...] = ()
    files: tuple[str, ...] = ()
    root: str = ""
    closed: bool = False
    runtime: JsonObject | None = None
    line: CommandLine | None = None
    model: str = ""
    refusal: str = ""
    means: JsonObject = {}


@dataclass(frozen=True)
class Files:
    """The files of a revision as readers see them. `others` are all definitions, by their kind.

    What many definitions lead to is read once.
    """

    around: GatheringContext
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _texts: dict[str, str | None] = field(default_factory=dict)
    _named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _documents: dict[str, tuple[Document, ...]] = field(default_factory=dict)
    _entries: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def has(self, path: str) -> bool:
        """Whether a file or a link is tracked at this path."""
        entry = self.around.tree.get(path)
        return entry is not None and not entry.is_submodule

    def text(self, path: str) -> str | None:
        """Return the text of a file; None where there is none, or it is too long or no UTF-8."""
        if path not in self._texts:
            self._texts[path] = self._text(path)
        return self._texts[path]

    def documents(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file of YAML; none of one that cannot be read."""
        if path not in self._documents:
            documents, problems = read_documents(path, (self.text(path) or "").encode())
            self._documents[path] = () if problems else documents
        return self._documents[path]

    def _links(self, path: str) -> tuple[str, ...]:
        if path not in self._named:
            self._named[path] = references(self.text(path) or "", path.rpartition("/")[0])
        return self._named[path]

    def _text(self, path: str) -> str | None:
        entry = self.around.tree.get(path)
        if entry is None or not entry.is_file:
            return None
        data = self.around.content(path)
        if data is None or len(data) > TEXT_LIMIT:
            return None
        try:
            return data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            return None

    def above(self, folder: str, *names: str) -> Iterator[str]:
        """Yield the tracked files of these names in a folder and in every one above it."""
        for one in (*reversed(tuple(folders_of(f"{folder}/x" if folder else "x"))), ""):
            for name in names:
                path = f"{one}/{name}" if one else name
                if self.has(path):
                    yield path

    def entries(self, folder: str) -> Mapping[str, Sequence[str]]:
        """Return the tracked files of a folder by the name of the entry in it that has them."""
        if folder not in self._entries:
            start = f"{folder}/" if folder else ""
            found: dict[str, list[str]] = {}
            for path in self.around.tree:
                if path.startswith(start):
                    found.setdefault(path[len(start) :].partition("/")[0], []).append(path)
            self._entries[folder] = found
        return self._entries[folder]

    def skills(self, root: str, *places: str) -> list[str]:
        """Return the folders of the skills that lie in these folders of `root`."""
        within = tuple(f"{root}/{place}/".lstrip("/") for place in places)
        known = self.others.get("skills", ())
        return [path.removesuffix("/SKILL.md") for path in known if path.startswith(within)]

    def reached(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return these files and all that they lead to by `@path` and by links of Markdown."""
        found: dict[str, None] = {}
        todo = [(path, 0) for path in paths]
        while todo and len(found) < REFERENCES_LIMIT:
            path, hops = todo.pop(0)
            if path in found or not self.has(path):
                continue
            found[path] = None
            if hops < HOPS and path.endswith((".md", ".mdc", ".markdown", ".txt")):
                todo += [(one, hops + 1) for one in self._links(path)]
        return tuple(found)


@dataclass(frozen=True)
class DefinitionSource:
    """One file to read: its path, its text, and the files around it."""

    path: str
    text: str
    files: Files

    @property
    def folder(self) -> str:
        """The folder of the file; "" is the root."""
        return self.path.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The name of the file without its endings."""
        return self.path.rpartition("/")[2].partition(".")[0]

    @property
    def place(self) -> SourceLocation:
        """Where the file begins."""
        return SourceLocation(file=show_path(self.path))

    def refused(self, message: str) -> DefinitionUnreadable:
        """Return what to raise where the file as a whole cannot be used."""
        return DefinitionUnreadable(Problem(place=self.place, message=message))

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """What the file holds as YAML. Raises `DefinitionUnreadable`."""
        documents, problems = read_documents(self.path, self.text.encode())
        if problems:
            raise DefinitionUnreadable(problems[0])
        return documents

    @cached_property
    def mapping(self) -> JsonObject:
        """The mapping that is the file's only document. Raises `DefinitionUnreadable`."""
        data = self.documents[0].data if len(self.documents) == 1 else None
        if not isinstance(data, dict):
            raise self.refused("This file holds no mapping of keys, so it says of no agent.")
        return data

    def key_place(self, *path: str | int) -> SourceLocation:
        """Where a key of the first document stands."""
        return self.documents[0].key_place(path) if self.documents else self.place


Read: TypeAlias = Callable[[DefinitionSource], Iterable[Definition]]


class Markdown(NamedTuple):
    """A file of Markdown: what stands in its front matter, and the text below."""

    keys: JsonObject
    body: str


_FENCE = re.compile(r"\A---[ \t]*\n(.*?)(?<=\n)---[ \t]*(?:\n|\Z)", re.DOTALL)


def markdown(source: DefinitionSource, *, lenient: bool = False) -> Markdown:
    """Return a file of Markdown. Raises `DefinitionUnreadable` for front matter that is no mapping.

    With `lenient`, a value that YAML does not take plain (`globs: *.py`) is the rest of its line,
    as the tools have it whose files are written so.
    """
    found = _FENCE.match(source.text)
    if found is None:
        return Markdown({}, source.text)
    body = source.text[found.end() :]
    header = found[1]
    if lenient:
        header = re.sub(r"^(\w[\w-]*:[ \t]+)([*&!%@`{\[].*?)[ \t]*$", _quoted, header, flags=re.M)
    # one line more above, so that places count from the file's first line
    documents, problems = read_documents(source.path, f"\n{header}\n".encode())
    if problems:
        raise DefinitionUnreadable(problems[0])
    data = documents[0].data if documents else {}
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise source.refused("The front matter between the lines `---` is no mapping of keys.")
    return Markdown(data, body)


def _quoted(found: re.Match[str]) -> str:
    text = found[2]
    if text.startswith("[") and text.endswith("]") and "*" not in text:
        return found[0]
    return found[1] + "'" + text.replace("'", "''") + "'"


_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_AT = re.compile(r"(?:^|(?<=[\s(\[,:]))@([^\s@`\"'<>()\[\],;]{1,300})")
_LINK = re.compile(r"\]\(<?([^)\s<>#?]{1,300})")
_FILE = re.compile(r"#file:[\"']?([^\s\"'`<>()]{1,300})")


def references(text: str, folder: str) -> tuple[str, ...]:
    """Return the paths that a text of `folder` refers to, inside the repository, each once.

    They are not looked for: what is no file of it leads nowhere. What stands as code is no
    reference.
    """
    plain = _CODE.sub(" ", text)
    found: dict[str, None] = {}
    for written in (*_AT.findall(plain), *_LINK.findall(plain), *_FILE.findall(plain)):
        if "://" in written or written.startswith(("~", "mailto:")):
            continue
        for one in (written, written.rstrip(".:!?")):
            for start in (folder, ""):
                path = resolve_path(start, one)
                if path and "\0" not in path and not has_wildcard(path):
                    found[path] = None
    return tuple(found)


def words(value: JsonValue) -> tuple[str, ...]:
    """Return the entries of a list, or of a text with commas between them."""
    if isinstance(value, str):
        parts = re.split(r",(?![^(]*\))", value)
        return tuple(part.strip() for part in parts if part.strip())
    return tuple(str(one).strip() for one in value) if isinstance(value, list) else ()


def tools_of(names: Iterable[str]) -> tuple[AgentTool, ...]:
    """Return tools by their names, each once."""
    return tuple(AgentTool(name=name) for name in dict.fromkeys(names) if name)


def without(keys: JsonObject, *named: str) -> JsonObject:
    """Return a mapping without these keys."""
    return {key: value for key, value in keys.items() if key not in named}


PUBLISHERS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "google": "gemini",
    "ollama": "ollama",
    "azureopenai": "azure",
    "azure": "azure",
    "openrouter": "openrouter",
}
"""What formats call a provider, in small letters without `_`, `-` and blanks."""

_FAMILIES = (
    (re.compile(r"^(?:gpt-|o[1-9](?:-|$)|chatgpt-)"), "openai"),
    (re.compile(r"^claude-"), "anthropic"),
    (re.compile(r"^gemini-"), "gemini"),
)


def model_name(model: str, provider: str = "") -> str:
    """Return a model as `provider/model-id`; empty where its provider is not to be told."""
    if not model or any(map(str.isspace, model)) or model.startswith(("=", "$", "{")):
        return ""
    known = PUBLISHERS.get(re.sub(r"[\s_-]", "", provider.lower()), "")
    if provider:
        return f"{known}/{model}" if known else ""
    first, _, rest = model.partition("/")
    if rest:
        known = PUBLISHERS.get(first.lower(), "")
        return f"{known}/{rest}" if known else ""
    return next((f"{name}/{model}" for told, name in _FAMILIES if told.match(model)), "")


def models_of(*names: str, provider: str = "") -> tuple[str, ...]:
    """Return those of these models whose provider is to be told, each once."""
    return tuple(dict.fromkeys(filter(None, (model_name(one, provider) for one in names))))
