"""What a Python program reads that is no question: a choice from its menu, the name of a file.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from functools import lru_cache

from gateval.domain.setup.answering import names_a_file
from gateval.domain.setup.asked_by_words import loop_of
from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.invocation import ASKED
from gateval.domain.setup.other_work import NAMED, Refusal
from gateval.domain.setup.python_text import dotted

_OPTION = re.compile(r"(?:\w*\.)*(?:add_argument|option|argument|Option|Argument)")
_OF_FILES = re.compile(r"\b(?:Path|PurePath|FileType|File)\b")
_NOT_ITS_INPUT = re.compile(
    r"(?:^|_)(?:out\w*|logs?|sav\w+|results?|env|conf\w*|cache|export|report|dest\w*|db|settings)(?:_|$)"
)
"""How an argument is called that names a file which a program writes, or is set up by."""

_READS_WORDS = re.compile(r"\b(?:sys|process)\.argv\b")
_MOST_NAMED = 3


def why_unread(text: str) -> Refusal | None:
    """Return why a program cannot be asked that reads something, and no question: the file that an
    argument names, other arguments, a choice; None where it reads nothing.
    """
    options = _options_of(text)
    if files := [name for name, is_file in options.items() if is_file]:
        named = "its argument" if len(files) == 1 else "one of its arguments"
        return Refusal(
            f"reads a file that {named} names ({_listed(files)}), and takes no question as text.",
            "Write the Agent by hand, `runtime: {type: command, command: [...]}`, with a file of "
            "its folder among the words. " + NAMED,
        )
    if options:
        return Refusal(
            f"takes no question: none of the arguments that it reads ({_listed([*options])}) is "
            "called like one.",
            "Write the Agent by hand, `runtime: {type: command, command: [...]}`, with "
            "`{{ prompt }}` where the question goes, if it goes into one of them. " + NAMED,
        )
    if (said := choice_of(text)) is not None:
        shown = f" (`{said}`)" if said else ""
        return Refusal(
            f"reads a choice{shown}, and no question: nothing that a person types goes on to what "
            "it asks, which its files hold.",
            NAMED,
        )
    if read := _READS_WORDS.search(text):
        return Refusal(
            f"takes no question: what it reads of its command (`{read[0]}`) is none.", NAMED
        )
    return None


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{one}`" for one in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown


def _options_of(text: str) -> dict[str, bool]:
    """Return the names of the arguments that a program declares, and whether each is a file's."""
    tree = python_tree(text)
    found: dict[str, bool] = {}
    for one in ast.walk(tree) if tree else ():
        if not isinstance(one, ast.Call) or not _OPTION.fullmatch(dotted(one.func)):
            continue
        if name := _name_of(one):
            kinds = [key.value for key in one.keywords if key.arg == "type"]
            typed = any(_OF_FILES.search(_kind(kind)) for kind in kinds)
            plain = name.strip("-").replace("-", "_").lower()
            found[name] = (typed or names_a_file(plain)) and not _NOT_ITS_INPUT.search(plain)
    return found


_FAILS = re.compile(r"(?:\w+\.)*(?:error|exit|_exit|usage|print_help|print_usage)")


@lru_cache(maxsize=4_096)
def demanded_of(text: str) -> tuple[str, ...]:
    """Return the options without which a program does not go on: it says so where it declares
    them, or fails where one is missing.
    """
    tree = python_tree(text) if "--" in text else None
    nodes = [*ast.walk(tree)] if tree else []
    without = {name for node in nodes if isinstance(node, ast.If) for name in _missed(node)}
    found = []
    for one in nodes:
        if not isinstance(one, ast.Call) or not _OPTION.fullmatch(dotted(one.func)):
            continue
        name, keys = _name_of(one), {key.arg: key.value for key in one.keywords}
        required = keys.get("required")
        says = isinstance(required, ast.Constant) and required.value is True
        given = not says and "default" in keys and ast.unparse(keys["default"]) != "None"
        plain = name.lstrip("-").replace("-", "_")
        if name.startswith("--") and not given and (says or plain in without):
            found.append(name)
    return tuple(dict.fromkeys(found))


def _missed(node: ast.If) -> Iterator[str]:
    """Yield the arguments without which the branch of a condition ends the program."""
    last = node.body[-1]
    called = last.value if isinstance(last, ast.Expr) else None
    fails = isinstance(called, ast.Call) and _FAILS.fullmatch(dotted(called.func))
    if not (isinstance(last, ast.Raise) or fails):
        return
    tested = re.fullmatch(r"not \w+\.(\w+)|\w+\.(\w+) is None", ast.unparse(node.test))
    yield from filter(None, tested.groups() if tested else ())


def _kind(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node)


def _name_of(call: ast.Call) -> str:
    """Return the name of an argument that a call declares; "" for none."""
    texts = [one.value for one in call.args if isinstance(one, ast.Constant)]
    names = [one for one in texts if isinstance(one, str) and re.fullmatch(r"[\w-]+", one)]
    dashed = [one for one in names if one.startswith("-")]
    plain = names[:1] if dotted(call.func).endswith("argument") else []
    return max(dashed or plain, key=len, default="")


_GIVES = frozenset({"generate", "generate_str", "generate_structured"})
_KEPT = re.compile(r"\b(?:output|report)_(?:path|file)\b")


@lru_cache(maxsize=4_096)
def dropped(text: str) -> str:
    """Return by what a program asks its agent and does nothing with what that says, where it names
    a file for it; "" for any other.
    """
    tree = python_tree(text) if _KEPT.search(text) else None
    nodes = [*ast.walk(tree)] if tree else []
    waited = [getattr(one.value, "value", None) for one in nodes if isinstance(one, ast.Expr)]
    calls = [
        one
        for one in nodes
        if isinstance(one, ast.Call) and dotted(one.func).rpartition(".")[2] in _GIVES
    ]
    return dotted(calls[0].func) if calls and all(one in waited for one in calls) else ""


_STEERS = Refusal(
    "takes no question: it asks its agent what is written into it, and what a person types only "
    "steers that.",
    NAMED,
)
_RUNS = frozenset(
    {"run", "arun", "run_sync", "invoke", "ainvoke", "stream", "astream", "kickoff"}
    | {"print_response", "aprint_response", "generate_str", "initiate_chat"}
)
_OTHERS = frozenset({"asyncio", "anyio", "uvicorn", "subprocess", "trio", "app", "mcp", "loop"})


@lru_cache(maxsize=4_096)
def steered(text: str) -> Refusal | None:
    """Return why a program takes no question that reads what a person types, if all that it asks
    its agents is written into it; None for any other.
    """
    tree = python_tree(text)
    nodes = [*ast.walk(tree)] if tree else []
    kept: dict[str, list[ast.expr]] = {}
    for one in (each for each in nodes if isinstance(each, ast.Assign)):
        for name in _names(one):
            kept.setdefault(name, []).append(one.value)
    written = {name for name, values in kept.items() if all(map(_is_written, values))}
    asked = [one for node in nodes if isinstance(node, ast.Call) for one in _given_to_agent(node)]
    return _STEERS if asked and all(_is_written(one, written) for one in asked) else None


def _given_to_agent(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call asks an agent, but for what it goes on with after an interrupt."""
    held, _, name = dotted(call.func).rpartition(".")
    if name not in _RUNS or not held or held in _OTHERS:
        return
    named = [key.value for key in call.keywords if key.arg in ASKED]
    for one in [*call.args[:1], *named]:
        if not (isinstance(one, ast.Call) and dotted(one.func) == "Command"):
            yield one


def _is_written(node: ast.expr, names: Container[str] = (), left: int = 8) -> bool:
    """Whether a value is a text of the program's own, or holds nothing else."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        made = dotted(node.func).rpartition(".")[2][:1].isupper()
        parts = [*node.args, *(key.value for key in node.keywords)]
        return (
            made
            and bool(parts)
            and left > 0
            and all(_is_written(one, names, left - 1) for one in parts)
        )
    if isinstance(node, ast.Dict | ast.List | ast.Tuple):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return bool(parts) and left > 0 and all(_is_written(one, names, left - 1) for one in parts)
    return isinstance(node, ast.Constant)


_READERS = frozenset({"click.prompt", "typer.prompt"})
_ASKS = re.compile(r"(?:\w*\.)*(?:\w*Prompt\.ask|input)")
_OTHERWISE = re.compile(
    r"\ba?cli_app\(|\.to_cli(?:_sync)?\(|\bPromptSession\(|\bsys\.stdin\b|\bfileinput\b"
    r"|\bquestionary\b|\bInquirer"
)
_CHOOSES = re.compile(
    r"(?i)\b(?:choose|choice|select|option|number|menu|mode|which|pick)\b"
    r"|\b\d ?(?:-|to|/|or) ?\d\b"
)
_OF_TEXTS = frozenset({"strip", "lower", "upper", "casefold", "rstrip", "lstrip", "title"})
_TELLS = frozenset({"isdigit", "isnumeric", "isdecimal", "startswith"})
_SHOWS = re.compile(r"(?:\w*\.)*(?:print|info|debug|warning|error|echo|secho)")


@lru_cache(maxsize=4_096)
def choice_of(text: str) -> str | None:
    """Return what a program says where a person types a choice, if that is all that it reads: each
    line is compared or looked up, and none goes on. None for any other program.
    """
    tree = python_tree(text)
    if tree is None or _OTHERWISE.search(text) or loop_of(text):
        return None
    flow = _Flow(tree)
    reads = [one for one in flow.above if isinstance(one, ast.Call) and _is_read(one)]
    called = {one.func for one in reads}
    if any(one not in called for one in flow.uses.get("input", ())):
        return None
    if any(map(flow.goes_on, reads)):
        return None
    said = ((_said(one), "choices" in {key.arg for key in one.keywords}) for one in reads)
    return next((words for words, listed in said if listed or _CHOOSES.search(words)), None)


def _is_read(node: ast.Call) -> bool:
    name = dotted(node.func)
    return name in _READERS or bool(_ASKS.fullmatch(name))


def _said(node: ast.Call) -> str:
    """Return the words of a prompt, on one line."""
    parts = [
        one.value for arg in node.args for one in ast.walk(arg) if isinstance(one, ast.Constant)
    ]
    words = " ".join(" ".join(one for one in parts if isinstance(one, str)).split())
    return words.replace("`", "'").strip(" :>?")[:80]


class _Flow:
    """Where what a program reads goes: each expression below its own, each name where it is used.

    Each name is followed once, and no deeper than a loop is: files are hostile.
    """

    def __init__(self, tree: ast.Module) -> None:
        """Read a parsed file."""
        self.above: dict[ast.AST, ast.AST] = {}
        self.uses: dict[str, list[ast.expr]] = {}
        self.known: set[str] = set()
        for node in ast.walk(tree):
            self.above |= dict.fromkeys(ast.iter_child_nodes(node), node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.uses.setdefault(node.id, []).append(node)

    def goes_on(self, read: ast.expr) -> bool:
        """Whether a text that is read goes on to more than comparisons, look-ups and what is
        shown.
        """
        waiting: list[ast.expr] = [read]
        while waiting:
            end, here = self._end_of(waiting.pop())
            if isinstance(end, ast.Assign | ast.NamedExpr):
                names = [*_names(end)]
                if not names:
                    return True
                new = {*names} - self.known
                self.known |= new
                waiting += (one for name in new for one in self.uses.get(name, ()))
            elif not _stays(end, here):
                return True
        return False

    def _end_of(self, here: ast.AST) -> tuple[ast.AST | None, ast.AST]:
        """Return what takes a text, through methods of texts and what puts it in another."""
        while (up := self.above.get(here)) is not None:
            call = self.above.get(up)
            if isinstance(up, ast.Attribute) and isinstance(call, ast.Call) and call.func is up:
                if up.attr not in _OF_TEXTS:
                    return up, here
                here = call
            elif isinstance(up, ast.BoolOp | ast.FormattedValue | ast.JoinedStr | ast.Await):
                here = up
            else:
                return up, here
        return None, here


def _stays(up: ast.AST | None, here: ast.AST) -> bool:
    """Whether a text ends there: it is compared, looked up, taken as a number, shown or let go."""
    if isinstance(up, ast.Attribute):
        return up.attr in _TELLS
    if isinstance(up, ast.Subscript):
        return up.slice is here
    if isinstance(up, ast.Call):
        name = dotted(up.func)
        looked_up = name.endswith(".get") and bool(up.args) and up.args[0] is here
        return name == "int" or looked_up or bool(_SHOWS.fullmatch(name))
    return isinstance(up, ast.Compare | ast.Expr | ast.If | ast.While | ast.UnaryOp | ast.Match)


def _names(kept: ast.Assign | ast.NamedExpr) -> Iterator[str]:
    targets = kept.targets if isinstance(kept, ast.Assign) else [kept.target]
    if all(isinstance(one, ast.Name) for one in targets):
        yield from (one.id for one in targets if isinstance(one, ast.Name))
