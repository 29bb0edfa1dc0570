"""What files of AgentV refer to: other files, variables, guidelines; and what they are called.

Only variables that `policy.candidateEnv` names are filled in: everything else in the environment of
the gate is none of a pull request's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.paths import match_any, resolve_path, show_path
from gateval.domain.problems import Problem
from gateval.domain.strict_json import value_at
from gateval.domain.text import quote
from gateval.domain.tree import folders_of, is_lfs_pointer
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.recognition import read_yaml
from gateval.formats.base import TEXT_LIMIT, GatheringContext
from gateval.formats.native.cases import name_part
from gateval.formats.yaml_document import Document


class NoFile(ValueError):
    """A file cannot be used; the message is a sentence."""


def roots(folder: str) -> Iterator[str]:
    """Yield the folders in which a file is looked for: that of the suite, then those around it."""
    if folder:
        yield folder
        yield from reversed(tuple(folders_of(folder)))
    yield ""


def find(written: str, folder: str, around: GatheringContext) -> str:
    """Return the path of the file that a suite names; `/` begins at the root. Raises `NoFile`."""
    tried = ["", *roots(folder)] if written.startswith("/") else [*roots(folder)]
    for root in tried:
        path = resolve_path(root, written.lstrip("/"))
        if path and path in around.tree:
            if not around.tree[path].is_file:
                shown = show_path(path)
                raise NoFile(
                    f"{shown} is a symbolic link or a submodule. Put the file itself there."
                )
            return path
    places = "the root" if not folder else f"{show_path(folder)}/ or a folder around it"
    raise NoFile(
        f"There is no file {quote(written)} in {places} in this revision. Add it, or track it with "
        "git."
    )


def text_at(path: str, around: GatheringContext) -> str | None:
    """Return the text of a tracked file with line feeds, None if it is no text. Raises `NoFile`."""
    data, shown = around.content(path), show_path(path)
    if data is None:
        raise NoFile(f"{shown} is too large to be read.")
    return _text(data, shown)


def is_foreign(written: str) -> bool:
    """Whether a file of another repository is named."""
    return "://" in written


def foreign_text(url: str, around: GatheringContext) -> str:
    """Return the text of a file of another repository with line feeds. Raises `NoFile`."""
    try:
        text = _text(around.foreign(url), url)
    except ValueError as error:
        raise NoFile(str(error)) from None
    if text is None:
        raise NoFile(f"{quote(url)} is no text. Copy the file into this repository.")
    return text


def _text(data: bytes, shown: str) -> str | None:
    if is_lfs_pointer(data):
        raise NoFile(f"{shown} is a Git LFS pointer. Store the file itself in git.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    if len(data) > TEXT_LIMIT:
        raise NoFile(f"{shown} has more than {TEXT_LIMIT:,} bytes of text. Name a part of it.")
    return text.replace("\r\n", "\n")


@dataclass
class ReferenceFindings:
    """What is wrong in the revision `around`, and which files were read.

    `own` say what is asked, so no candidate gets them; `shown` are told to candidates, too.
    `told` are files of which it is said that nothing names them, `passed_over` those that look like
    some of AgentV and are not read. `filled` counts the characters that were filled into texts.
    `wrong` and `read` have, by the file of a suite, what of `problems` is wrong with it alone, and
    which files it was read from.
    """

    around: GatheringContext
    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    filled: int = 0
    told: set[str] = field(default_factory=set)
    passed_over: list[Problem] = field(default_factory=list)
    wrong: dict[str, list[Problem]] = field(default_factory=dict)
    read: dict[str, set[str]] = field(default_factory=dict)

    def node(self, document: Document) -> Node:
        """Return the whole of a document; what is wrong with it is told here."""
        return Node(document, (), document.data, self.problems)

    @contextmanager
    def of(self, path: str) -> Iterator[None]:
        """Put what is found meanwhile down to the suite in this file."""
        before, own, shown = len(self.problems), self.own, self.shown
        self.own, self.shown = set(), set()
        try:
            yield
        finally:
            self.blame(path, *self.problems[before:])
            self.read[path] |= self.own | self.shown
            self.own, self.shown = own | self.own, shown | self.shown

    def tell(self, path: str, *problems: Problem) -> None:
        """Tell what is wrong with the suite in this file."""
        self.problems += problems
        self.blame(path, *problems)

    def blame(self, path: str, *problems: Problem) -> None:
        """Put down what is told to the suite in this file."""
        self.wrong.setdefault(path, []).extend(problems)
        self.read.setdefault(path, {path})


_CONFIG = ".agentv/config.yaml"
_KEY = "guideline_patterns"


def guidelines_for(folder: str, found: ReferenceFindings) -> Callable[[str], bool]:
    """Return whether a tracked file is a guideline to suites in `folder`, by the next config."""
    tree = found.around.tree
    paths = (f"{root}/{_CONFIG}".lstrip("/") for root in roots(folder))
    path = next((one for one in paths if one in tree and tree[one].is_file), None)
    if path is None:
        return lambda _path: False
    documents, problems = read_yaml(path, found.around.content(path) or b"")
    found.own.add(path)
    found.problems += problems
    if problems or not documents:
        return lambda _path: False
    listed = found.node(documents[0]).at(_KEY)
    if listed.value is not None and not isinstance(listed.value, list):
        listed.tell_sort("a list of patterns")
    return match_any([one.value for one in listed.items() if isinstance(one.value, str)])


VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_TEMPLATE = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
FILLED_LIMIT = 128 * 1024 * 1024
"""Characters of all values and files that are filled in, in the suites of a revision."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def with_variables(node: Node, found: ReferenceFindings) -> Node:
    """Return the value with all `${{ NAME }}` filled in; what cannot be is told.

    A text that is nothing but one variable becomes a number or truth value if it reads like one.
    """
    variables = found.around.variables

    def fill(one: Node, text: str) -> JsonValue:
        for name in VARIABLE.findall(text):
            if name not in variables:
                one.tell(
                    f"The variable {name} is not filled in: name it in policy.candidateEnv of "
                    ".github/gateval.yml, and set it in the environment of the gate."
                )
                return text
        if whole := VARIABLE.fullmatch(text.strip()):
            plain = variables[whole[1]]
            is_json = plain in {"true", "false"} or _NUMBER.fullmatch(plain)
            return json.loads(plain) if is_json else plain
        return _replaced(one, text, VARIABLE, lambda name, _: variables[name], found)

    return _each(node, fill) if "${{" in json.dumps(node.value) else node


def with_vars(node: Node, values: JsonObject, found: ReferenceFindings) -> Node:
    """Return the value with each `{{ name }}` that `values` has filled in; others stay."""
    if not values or "{{" not in json.dumps(node.value):
        return node

    def value_of(dotted: str) -> JsonValue:
        value: JsonValue = values
        for step in dotted.split("."):
            value = value_at(value, step)
        return value

    def shown(name: str, hole: str) -> str:
        value = hole if (known := value_of(name)) is None else known
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def fill(one: Node, text: str) -> JsonValue:
        whole = _TEMPLATE.fullmatch(text.strip())
        if whole and not isinstance(value := value_of(whole[1]), str | None):
            return value
        return _replaced(one, text, _TEMPLATE, shown, found)

    return _each(node, fill)


def _replaced(
    one: Node,
    text: str,
    holes: re.Pattern[str],
    value: Callable[[str, str], str],
    found: ReferenceFindings,
) -> str:
    """Return a text with its holes filled, as long as all such texts stay within the limit."""
    parts: list[str] = []
    end = 0
    for hole in holes.finditer(text):
        parts += (text[end : hole.start()], value(hole[1], hole[0]))
        end = hole.end()
        if not counted(one, len(parts[-1]), found):
            return text
    return "".join((*parts, text[end:]))


def counted(node: Node, characters: int, found: ReferenceFindings) -> bool:
    """Count what is put in the place of something short; whether it stays within the limit."""
    found.filled += characters
    if found.filled > FILLED_LIMIT:
        node.tell(f"All that is filled in has more than {FILLED_LIMIT:,} characters. Write less.")
    return found.filled <= FILLED_LIMIT


def _each(node: Node, fill: Callable[[Node, str], JsonValue]) -> Node:
    """Return the value with every text in it replaced."""
    value = node.value
    if isinstance(value, str):
        return node.having(fill(node, value))
    if isinstance(value, dict):
        return node.having({key: _each(node.at(key), fill).value for key in value})
    if isinstance(value, list):
        return node.having([_each(one, fill).value for one in node.items()])
    return node


_ENDING = re.compile(r"(?:\.eval)?\.(?:ya?ml|jsonl)$", re.IGNORECASE)
_LONGEST = 120
_DIGITS = 6


def suite_name(path: str) -> str:
    """Return the name of the Eval of a suite: `evals/support.eval.yaml` is `evals.support`."""
    return _dotted(without_ending(path)) or "evals"


def without_ending(path: str) -> str:
    """Return a path without what tells that it is a suite: `.yaml`, `.eval.yaml`, `.jsonl`."""
    return _ENDING.sub("", path)


def agent_name(target: str, home: str, cwd: str) -> str:
    """Return the name of the Agent that a target is.

    `home` is the folder that its targets file is for, `cwd` where it works; both are part of the
    name where they are not the root, and the same.
    """
    parts = [_dotted(home), slug(target)]
    if cwd != home:
        parts.append(f"in-{_dotted(cwd)}" if cwd else "in-root")
    return ".".join(part for part in parts if part)


def slug(text: str) -> str:
    """Return `text` as a part of a name of a suite."""
    return name_part(text, _LONGEST)


def _dotted(path: str) -> str:
    whole = ".".join(slug(part) for part in path.split("/") if part.strip("."))
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}-{digest(path)[:_DIGITS]}"
