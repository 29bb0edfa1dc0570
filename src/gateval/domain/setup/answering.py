"""What a Python program does as it is started, and its functions that take a question. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.other_work import names_other_work

_VERBS = re.compile(
    r"(?:\w+_)?(?:ask|chat|answer|query|run|invoke|respond|response|reply|process|handle|generate"
    r"|solve|classify|research|plan|call|analy[sz]e|summari[sz]e|translate|execute|main|agent|bot"
    r"|assistant)(?:_\w+)?"
)
_ASKING = re.compile(
    r"agent|runner|client|llm|model|chain|graph|crew|openai|anthropic|completion|kickoff|invoke"
    r"|engine|pipeline|kernel|chat|litellm|predict"
)
_TAKES = re.compile(
    r"(?:\w+_)?(?:prompt|question|message|messages|query|input|text|ask|task|topic|request|goal"
    r"|instructions?|content|user_input|problem)"
)
_FILE = re.compile(
    r"(?:\w+_)?(?:path|paths|file|files|filename|filepath|dir|directory|folder|pdf|csv|docs?|document)"
)
"""How a parameter is called that is a file's place: no question is one."""

_SETTING = re.compile(
    r"(?:\w+_)?(?:key|token|secret|password|credentials?|model|model_(?:name|id)|(?:user|session"
    r"|thread|chat|conversation)_?id)"
)
"""How a parameter is called that is no question, though it is a text."""

_MAKES = re.compile(
    r"(?:get|create|build|make|load|init|setup)_(?:\w+_)?"
    r"(?:engine|agent|chain|tools?|client|llm|model|graph|retriever|index|runner|crew)s?"
)
"""How a function is called that makes what answers, and answers nothing."""

_OPENS = frozenset({"open", "Path", "listdir", "SimpleDirectoryReader", "isfile", "exists"})


def answering_functions(text: str) -> Iterator[str]:
    """Yield the functions at a module's top that take one thing, a question, and ask a model, the
    likeliest first. What is decorated, a tool of a model or a helper by its name is none.
    """
    tree = python_tree(text)
    if tree is None:
        return
    found = [
        (bool(_TAKES.fullmatch(needed[0].arg)), -place, node.name)
        for place, node in enumerate(tree.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (needed := _needed(node.args))
        and _is_one(node, needed[0], text)
    ]
    yield from (name for _, _, name in sorted(found, reverse=True))


_NO_BODY = re.compile(
    r"(?:\w+_)?(?:state|config|configuration|settings|options|context|ctx|env|kwargs|event|results?|tools?)"
)
"""How a parameter is called that takes an object, and no question with what stands beside it."""


def answering_bodies(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the functions at a module's top that take an object with the question and ask a model,
    each with the keys that it reads; the module itself calls each.
    """
    tree = python_tree(text)
    for node in tree.body if tree else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        needed = _needed(node.args)
        if not needed or _NO_BODY.fullmatch(needed[0].arg) or not _is_object(needed[0].annotation):
            continue
        called = len(re.findall(rf"(?<!def )\b{node.name}\(", text))
        if called and _asks_itself(node, text):
            yield node.name, tuple(dict.fromkeys(_keys_read(node, needed[0].arg)))


def _is_object(kind: ast.expr | None) -> bool:
    named = kind.value if isinstance(kind, ast.Subscript) else kind
    return isinstance(named, ast.Name) and named.id in {"dict", "Dict", "Mapping"}


def _keys_read(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[str]:
    """Yield the keys that a function reads of its parameter and cannot do without."""
    for one in ast.walk(node):
        held = isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
        if held and isinstance(one, ast.Subscript) and getattr(one.value, "id", "") == name:
            key = one.slice.value if isinstance(one.slice, ast.Constant) else None
            if isinstance(key, str) and isinstance(one.ctx, ast.Load):
                yield key


def names_a_file(name: str) -> bool:
    """Whether a parameter or an argument is called as those are that name a file."""
    return bool(_FILE.fullmatch(name))


def _needed(given: ast.arguments) -> list[ast.arg]:
    """Return the parameter that has to be given, where it is one; else none."""
    places = [*given.posonlyargs, *given.args]
    needed = places[: len(places) - len(given.defaults)]
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    needed += [one for one, default in pairs if default is None]
    return needed if len(needed) == 1 else []


def _is_one(node: ast.FunctionDef | ast.AsyncFunctionDef, one: ast.arg, text: str) -> bool:
    kind = one.annotation.id if isinstance(one.annotation, ast.Name) else None
    takes = _TAKES.fullmatch(one.arg) if one.annotation is None else kind == "str"
    other = names_a_file(one.arg) or _SETTING.fullmatch(one.arg.lower())
    if not takes or other or _is_opened(node, one.arg):
        return False
    return _asks_itself(node, text)


def _asks_itself(node: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> bool:
    """Whether a function asks a model, and is no tool or helper of one by its name."""
    if node.decorator_list or node.name.startswith("_") or _MAKES.fullmatch(node.name):
        return False
    if not _VERBS.fullmatch(node.name) or names_other_work(f"{node.name}."):
        return False
    if re.search(rf"\btools\s*[=:]\s*\[[^\]]*\b{node.name}\b", text):
        return False
    called = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    return any(_ASKING.search(ast.unparse(one).lower()) for one in called)


def _is_opened(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Whether a function opens what its parameter names."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and one.args:
            named, first = one.func, one.args[0]
            called = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
            if called in _OPENS and isinstance(first, ast.Name) and first.id == name:
                return True
    return False


_STARTING = frozenset({"input", "main", "cli", "app", "parse_args", "cli_app", "to_cli_sync"})
"""What a program calls at its top that asks, or does all that it does."""


def acts_at_top(text: str) -> bool:
    """Whether a module without a guard asks, reads its arguments or calls its `main` at its top,
    in a loop or a condition too.
    """
    tree = python_tree(text)
    waiting: list[ast.AST] = list(tree.body) if tree else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            named = node.func
            name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
            if name in _STARTING:
                return True
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.argv", "sys.stdin"}:
            return True
        waiting += ast.iter_child_nodes(node)
    return False


_GUARD = re.compile(r"^if __name__ == [\"']__main__[\"']", re.M)


def has_guard(text: str) -> bool:
    """Whether a Python file does something only where it is started."""
    return bool(_GUARD.search(text))


_ASKED_AT_TOP = re.compile(
    r"^(?:\w+[ \t]*=[ \t]*)?(?:await |asyncio\.run\()?"
    r"(?P<call>Runner\.run(?:_sync)?\([ \t]*(?P<given>\w+)[ \t]*,"
    r"|(?P<name>\w+)(?:\.(?:a?print_response|run|run_sync|invoke))?\()"
    r"\s*(?:\w+[ \t]*=[ \t]*)?f?[\"']",
    re.M,
)


@lru_cache(maxsize=4_096)  # many agents of one file
def asked_at_import(text: str) -> Mapping[str, str]:
    """Return the calls by which a module asks agents, by their names, questions of its own while it
    is imported.
    """
    return {
        one["given"] or one["name"]: f"{' '.join(one['call'].split())}…"
        for one in _ASKED_AT_TOP.finditer(text)
    }
