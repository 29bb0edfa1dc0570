"""What crews and flows of CrewAI are given: their inputs, and whether a question is among them.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import basename, commonpath, dirname
from typing import NamedTuple

from gateval.domain.setup.answering import names_a_file
from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.openapi import SOME_TEXT, is_identity, takes_question
from gateval.domain.setup.other_work import Refusal
from gateval.domain.setup.python_text import statement
from gateval.domain.setup.server_modules import name_of, text_of

CREW_FILES = ("agents.yaml", "tasks.yaml")
"""Files in which a crew's agents and tasks stand, with the names of its inputs in brackets."""

NOT_GIVEN = Refusal(
    "is a flow of which no step reads a text that it is given as it begins, so nothing in it reads "
    "a question.",
    "Name what answers, `gateval init FILE:OBJECT`: a crew or an agent of the flow, or a function "
    "that takes the question (docs/guides/bridges.md).",
)


class Given(NamedTuple):
    """What a bridge gives beside the prompt: fields that take the question too, and others with
    values as JSON. `refused` says why no question goes in.
    """

    inputs: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    refused: Refusal | None = None


_INPUTS = re.compile(r"\binputs\s*(?::[^=\n]{1,80})?[=:]\s*\{([^{}]{0,4000})\}")
_INPUT_OF_CREW = re.compile(
    r"(?:^|,)\s*[\"'](\w+)[\"']\s*:\s*"
    r"(?:(?:\"([^\"\n]{0,400})\"|'([^'\n]{0,400})'|(\d{1,9}))(?=\s*(?:,|$)))?",
    re.M,
)
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_FREE = re.compile(
    r"descri|topic|subject|request|goal|idea|requirement|project|detail|problem|theme"
)
"""How inputs are called that hold what somebody wants, in words of their own."""


def given_to_crew(
    name: str, file: str, texts: Mapping[str, str], configs: Mapping[str, str]
) -> Given:
    """Return what the crew of a class in a file is given: the names in its own files, with the
    values of the program that starts it, or what that gives where no file is beside the class.
    """
    own = [text for path, text in configs.items() if _is_beside(path, file)]
    places = dict.fromkeys(one for text in own for one in _PLACE.findall(text))
    return _of_names(dict(_kicked_off(rf"\b{name}\(", file, texts)), list(places), known=bool(own))


def given_to_object(
    name: str, file: str, texts: Mapping[str, str], configs: Mapping[str, str]
) -> Given:
    """Return the same of a crew that a file makes of agents and tasks with texts of their own, or
    with those of crew files that it reads.
    """
    text = texts[file]
    near = [one for path, one in texts.items() if dirname(path) == dirname(file)]
    read = [
        one for path, one in configs.items() if _is_beside(path, file) and basename(path) in text
    ]
    places = dict.fromkeys(one for each in near for one in _places_in(each))
    places |= dict.fromkeys(one for each in read for one in _FILLED.findall(each))
    if not places and (refused := _written_in(name, text, read=bool(read))):
        return Given(refused=refused)
    plain = re.escape(name.removesuffix("()"))
    said = dict(_kicked_off(rf"\b{plain}\b", file, texts))
    given = _of_names(said, list(places), known=True)
    if _runs_at_import(name, python_tree(text)):  # which fills the places that a bridge looks for
        asked = _asked(places) or next(iter(places), "")
        return given._replace(inputs=(asked,) if asked else ())
    return given


_FILLED = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
_READS = re.compile(r"\binput\(|\bargv\b|\bparse_args\(|\bstdin\b|\bPrompt\.ask\(")
_INPUT_HINT = (
    'Give a text of a task a place, such as "{question}", start the crew below '
    '`if __name__ == "__main__":`, and call `gateval init` again; or name a function that takes '
    "the question, `gateval init FILE:FUNCTION` (docs/guides/bridges.md)."
)


def _written_in(name: str, text: str, *, read: bool) -> Refusal | None:
    """Return why no question goes into a crew whose texts have no place for one; None where a
    question may, or where the file does not tell. `read` says that its crew files are known.
    """
    tree = python_tree(text)
    if tree is None or _READS.search(text):
        return None
    set_to = {
        name_of(one.targets[0]): one.value for one in tree.body if isinstance(one, ast.Assign)
    }
    crew = set_to.get(name)
    listed = (
        next((one.value for one in crew.keywords if one.arg == "tasks"), None)
        if isinstance(crew, ast.Call)
        else None
    )
    tasks = [_meant(one, set_to) for one in getattr(listed, "elts", ())]
    if not tasks or not all(_is_worded(one, set_to, read=read) for one in tasks):
        return None
    begun = _runs_at_import(name, tree)
    runs = "runs its crew while it is imported, and its" if begun else "has a crew whose"
    return Refusal(
        f"{runs} question is written into it: no text of its tasks has a place for another.",
        _INPUT_HINT,
    )


def _runs_at_import(name: str, tree: ast.Module | None) -> bool:
    """Whether a module kicks off the crew of this name at its top."""
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"{name}.kickoff")
        for one in (tree.body if tree else ())
        if isinstance(one, ast.Assign | ast.Expr)
        for node in ast.walk(one)
    )


def _meant(node: ast.expr, set_to: Mapping[str, ast.expr]) -> ast.expr:
    """Return what a name at a module's top is set to, else the expression itself."""
    return set_to.get(node.id, node) if isinstance(node, ast.Name) else node


def _is_worded(task: ast.expr, set_to: Mapping[str, ast.expr], *, read: bool) -> bool:
    """Whether an expression is a task all of whose text is known: in the file, or in one that it
    `read`s.
    """
    if not isinstance(task, ast.Call) or name_of(task.func) != "Task":
        return False
    told = {one.arg: one.value for one in task.keywords}
    text = told.get("description") or told.get("config")
    text = _meant(text, set_to) if text else None
    if isinstance(text, ast.Constant):
        return isinstance(text.value, str) and not _PLACE.search(text.value)
    if isinstance(text, ast.JoinedStr):
        return not any(_PLACE.search(text_of(one)) for one in text.values)
    return read and isinstance(text, ast.Subscript)


_TOLD = frozenset({"description", "expected_output", "goal", "backstory", "role"})


def _places_in(text: str) -> Iterator[str]:
    """Yield the names in brackets in what tasks and agents of a file are told."""
    tree = python_tree(text) if "Task(" in text else None
    for call in ast.walk(tree) if tree else ():
        if isinstance(call, ast.Call) and name_of(call.func) in {"Task", "Agent"}:
            for one in call.keywords:
                if one.arg in _TOLD and not any(
                    isinstance(each, ast.JoinedStr) for each in ast.walk(one.value)
                ):
                    yield from _PLACE.findall(ast.unparse(one.value))


def _of_names(said: Mapping[str, str], places: list[str], *, known: bool) -> Given:
    """Return what is given for these places, if all are `known`, else for what is said."""
    named = {one: said.get(one, "") for one in places} if known else dict(said)
    files = [one for one in named if names_a_file(one)]
    if files and len(files) == len(named):
        return Given(refused=_of_file(files[0]))
    if len(named) < 2:  # one input alone is the question, whatever it is called
        return Given()
    asked = _asked(named)
    more = {one: said or _some(one) for one, said in named.items() if one != asked}
    return Given(more=tuple((one, json.dumps(said)) for one, said in more.items()))


def _some(name: str) -> str:
    """Return some value of an input: a day or a year where it is called so."""
    words = name.lower().split("_")
    return "2026" if "year" in words else "2026-01-31" if "date" in words else SOME_TEXT


def _of_file(name: str) -> Refusal:
    return Refusal(
        f"reads a file that its input names (`{name}`), and takes no question as text.",
        "Name a function that takes the question, `gateval init FILE:FUNCTION` "
        "(docs/guides/bridges.md); or one that gives the crew a file of the repository.",
    )


def _asked(names: Iterable[str]) -> str:
    """Return the input that takes the question, "" for none."""
    some = [one for one in names if takes_question(one) or one in {"topic", "task"}]
    free = [one for one in names if _FREE.search(one.lower()) and not is_identity(one)]
    return next(iter([*some, *free]), "")


def _is_beside(path: str, file: str) -> bool:
    """Whether a file of a crew's agents or tasks is that of the class in another one."""
    folder = dirname(file)
    return dirname(path) in {folder, f"{folder}/config".lstrip("/")}


def _kicked_off(starts: str, file: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the inputs that the nearest program that starts a crew, by this pattern, gives it."""
    using = [one for one, text in texts.items() if re.search(starts, text) and ".kickoff" in text]
    for path in sorted(using, key=lambda one: (_far(one, file), one)):
        text = texts[path]
        begun = re.search(rf"{starts}[^;]{{0,200}}?\.kickoff\w*\(", text)
        inline = _INPUTS.match(text, _blanks(text, begun.end())) if begun else None
        if found := [inline[1]] if inline else _INPUTS.findall(text)[:1]:
            for name, *said in _INPUT_OF_CREW.findall(found[0]):
                yield name, "".join(said)
            return


def _blanks(text: str, start: int) -> int:
    return start + len(text[start:]) - len(text[start:].lstrip())


def _far(path: str, file: str) -> tuple[int, int]:
    """Return how far a file is from another: folders up to the one of both, then those down."""
    here, there = dirname(file), dirname(path)
    both = commonpath([f"/{here}", f"/{there}"]).strip("/")
    steps = [len(one.split("/")) if one else 0 for one in (here, there, both)]
    return steps[0] - steps[2], steps[1] - steps[2]


_KEPT = re.compile(r"^class \w+\((?:\w+\.)?Flow\[(\w+)\]", re.M)
_MODEL = r"^class {}\((?:\w+\.)?BaseModel\b[^\n]*\):"
_FIELD = re.compile(r"^[ \t]+(\w+)[ \t]*:[ \t]*([\w\[\]|. ]+)(?:=[ \t]*([^\n#]+))?", re.M)
_USE = re.compile(
    r"\bself\.state(?:\.(\w+)\b|\[[\"'](\w+)[\"']\]|\.get\(\s*[\"'](\w+)[\"'])(\s*[+|]?=(?!=))?"
)
_OTHERWISE = re.compile(
    r"\bself\.state\s*[,)]|\*\*self\.state|\bself\.state\.(?:model_dump|dict|copy|items)\("
    r"|^[ \t]+@start\((?:(?!^[ \t]+@)[\s\S]){0,3000}?\binput\("
    r"|trigger_payload|\bself\.(?:inputs|input_state|_inputs)\b|\bdef __init__\(\s*self\s*,",
    re.M,
)
_IS_TEXT = re.compile(r"(?:Optional\[\s*)?str\b")
_USUAL = ("prompt", "question", "query", "message", "user_input", "input", "topic", "task")


def given_to_flow(text: str, start: int, texts: Mapping[str, str]) -> Given:
    """Return what the flow that begins at a place of a text is given, as far as its steps tell."""
    body = _class_at(text, start)
    kept = _KEPT.match(body)
    if _OTHERWISE.search(body) or (not kept and "Flow[" in body[:200]):
        return Given()
    fields: dict[str, tuple[str, str]] = {}
    if kept:
        own = [one for one in texts.values() if re.search(_MODEL.format(kept[1]), one, re.M)]
        made = re.search(_MODEL.format(kept[1]), own[0], re.M) if len(own) == 1 else None
        if not made:
            return Given()
        model = statement(own[0], made.start())
        fields = {name: (kind.strip(), said) for name, kind, said in _FIELD.findall(model)}
    used = [(one[1] or one[2] or one[3], bool(one[4])) for one in _USE.finditer(body)]
    made_here = {name for name, sets in used if sets}
    read = [name for name in dict.fromkeys(name for name, _ in used) if name not in made_here]
    read = [one for one in read if one != "id" and (not kept or one in fields)]
    texts_read = [one for one in read if not kept or _IS_TEXT.match(fields[one][0])]
    if not read or (kept and not texts_read):
        return Given(refused=NOT_GIVEN)
    plain = [one for one in texts_read if not is_identity(one)] or texts_read
    asked = next((one for one in _USUAL if one in plain), plain[0])
    left = [one for one in texts_read if one != asked]
    more = tuple((one, json.dumps(SOME_TEXT)) for one in left if _is_empty(fields.get(one)))
    inputs = () if asked == "prompt" and not more else (asked,)
    return Given(inputs=inputs, more=more)


def _class_at(text: str, start: int) -> str:
    """Return the text of the class that begins at a place, with prompts that stand at the left."""
    tree, line = python_tree(text), text.count("\n", 0, start) + 1
    own = (one for one in (tree.body if tree else ()) if isinstance(one, ast.ClassDef))
    found = next((one for one in own if one.lineno == line), None)
    if found is None:
        return statement(text, start)
    return "\n".join(text.splitlines()[line - 1 : found.end_lineno])


def _is_empty(field: tuple[str, str] | None) -> bool:
    """Whether a field has no value of its own."""
    return field is None or field[1].strip() in {"", '""', "''", "None"}


def is_crew_file(path: str) -> bool:
    """Whether a file has agents or tasks of a crew by its name."""
    return basename(path) in CREW_FILES
