"""What the graphs of LangGraph keep as their state, and whether a bare question has a place there.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from gateval.domain.setup.answering import names_a_file
from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.model_values import Values, needed
from gateval.domain.setup.openapi import IDENTITY, SOME_TEXT
from gateval.domain.setup.other_work import NAMED, UNASKED, Refusal
from gateval.domain.setup.python_text import statement
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Modules,
    called_by,
    name_of,
    text_of,
)

_QUESTION = re.compile(
    r"^[ \t]+(messages(?=[ \t]*:)"
    r"|\w*(?:question|query|prompt|input|topic|task|message|text)(?=[ \t]*:"
    r"[ \t]*(?:str\b|Optional\[str|NotRequired\[str|Annotated|[Ll]ist\b|Sequence)))",
    re.M,
)
_STATE = re.compile(r"\bStateGraph\(\s*(?:state_schema\s*=\s*)?(\w+)")
_TEXT = re.compile(r"^[ \t]+(\w+)[ \t]*:[ \t]*str\b", re.M)
_KEPT = r"^class {}\((?:\w+\.)?(?:TypedDict|BaseModel)\b.*\):"


def states_of(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the classes of what graphs keep by their names, but those that say it otherwise or of
    which there are several.
    """
    names = {one for text in texts.values() for one in _STATE.findall(text)}
    found: dict[str, str] = {}
    for name in sorted(names):
        own = [text for text in texts.values() if f"class {name}(" in text]
        kept = re.search(_KEPT.format(name), own[0], re.M) if len(own) == 1 else None
        if kept:
            found[name] = statement(own[0], kept.start())
    return found


def other_texts(
    body: str, text: str, states: Mapping[str, str], texts: Mapping[str, str]
) -> int | None:
    """Return how many texts could be the question of a graph whose state has no place for a bare
    one that its nodes read; None where it has, or where its state is not known.
    """
    state = state_of(body, text, states)
    if not state:
        return None
    asked = _QUESTION.findall(state)
    read = _reading(body, text, texts)
    if asked and (read is None or any(_is_read(one, read) for one in asked)):
        return None
    some = [one for one in _TEXT.findall(state) if not (names_a_file(one) or IDENTITY.search(one))]
    if asked:  # and none of them read
        whole = read or ""
        return sum(_is_read(one, whole) and not _is_set(one, whole) for one in some)
    return len(some)


_ADDED = re.compile(r"\.add_node\(")
_NODE = re.compile(r"\.add_node\(\s*(?:[\"'][^\"'\n]*[\"']\s*,\s*)?(\w+)\s*[,)]")
_WHOLE = re.compile(
    r"(?<!StateGraph)(?<!def )\((?:\*\*)?state\b\s*[,)]|\*\*state\b"
    r"|\bstate\.(?:values|items|model_dump|dict)\("
    r"|\b(?:create_(?:react_)?agent|ToolNode|AgentExecutor)\("
)


def _reading(body: str, text: str, texts: Mapping[str, str]) -> str | None:
    """Return the texts in which the nodes of a graph read its state; None where it is not told
    where they do, or one hands its state on as a whole.
    """
    named = _STATE.search(body)
    near = [one for one in texts.values() if named and re.search(rf"\b{named[1]}\b", one)]
    whole = "\n".join(dict.fromkeys([text, *near]))
    nodes = _NODE.findall(body) or _NODE.findall(text)
    own = all(re.search(rf"^(?:async )?def {one}\(", whole, re.M) for one in nodes)
    every = len(_ADDED.findall(text)) == len(_NODE.findall(text))
    if not nodes or not own or not every:
        return None
    handed = (
        one
        for one in _WHOLE.finditer(whole)
        if not re.search(r"\bdef \w+$", whole[max(0, one.start() - 80) : one.start()])
    )
    return None if next(handed, None) else whole


def _is_read(name: str, text: str) -> bool:
    """Whether a text reads a key or an attribute of this name."""
    set_to = r"(?!\s*=[^=]|\s+import\b)"
    return bool(
        re.search(
            rf"\[[\"']{name}[\"']\]{set_to}|\.get\(\s*[\"']{name}[\"']|(?<=\w)\.{name}\b{set_to}",
            text,
        )
    )


def _is_set(name: str, text: str) -> bool:
    """Whether a text gives a key or an attribute of a state by this name."""
    given = rf"\breturn\s*\{{[^}}]{{0,2000}}[\"']{name}[\"']\s*:"
    return bool(re.search(rf"\bstate(?:\.{name}|\[[\"']{name}[\"']\])\s*=[^=]|{given}", text))


def state_of(body: str, text: str, states: Mapping[str, str]) -> str:
    """Return a graph's state, the class of it, "" where that is not known."""
    named = _STATE.search(body)
    own = re.search(_KEPT.format(named[1]), text, re.M) if named else None
    return statement(text, own.start()) if own else states.get(named[1], "") if named else ""


def who_asks(state: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a graph's state, with values, that say who asks: its nodes read them, and
    none of them gives them.
    """
    for name in _TEXT.findall(state):
        read = re.search(rf"\bstate\[[\"']{name}[\"']\](?!\s*=[^=])", text)
        given = re.search(rf"\breturn\s*\{{[^}}]{{0,2000}}[\"']{name}[\"']\s*:", text)
        if IDENTITY.search(name) and read and not given:
            yield name, json.dumps("gateval")


_INPUT = re.compile(r"\bStateGraph\([^()]{0,300}\binput(?:_schema)?\s*=\s*(\w+)")
_ASKED_AS = re.compile(
    r"messages|\w*(?:question|query|prompt|input|topic|task|message|text)", re.IGNORECASE
)
_OPTIONAL = frozenset({"NotRequired", "Optional"})


def demanded(text: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a graph of a class for its input demands beside the question, with values as JSON:
    texts, numbers, choices, lists, models. A text alone may be the question itself.
    """
    named = _INPUT.search(text)
    own = [
        path for path, one in texts.items() if named and re.search(rf"\bclass {named[1]}\b", one)
    ]
    own = [path for path in own if texts[path] == text] or own
    if not named or len(own) != 1:
        return
    values = Values(Modules.of(texts))
    model = values.model(own[0], named[1])
    kinds = _kinds_of(model[1]) if model else {}
    known = values.fields(model, MOST_STEPS) if model else {}
    asked = [one for one in kinds if _ASKED_AS.fullmatch(one)]
    left = {
        name: value
        for name, value in known.items()
        if name in kinds and name not in asked and _is_demanded(*kinds[name])
    }
    if asked or len(left) > 1 or SOME_TEXT not in left.values():
        yield from ((name, json.dumps(left[name])) for name in sorted(left))


_SENDS = re.compile(
    r"\.(?:add_to_index|ingest_data|upsert|upload\w*|put_object|insert_many|insert_rows\w*)"
    r"(?:_async)?(?=\()"
)


def stores_in_node(text: str) -> Refusal | None:
    """Return why a graph is not started unasked, a node of which writes to a store that is not its
    own, whatever it is asked; None for any other.
    """
    sends = _SENDS.search(text)
    for name in dict.fromkeys(_NODE.findall(text)) if sends else ():
        begins = re.search(rf"^(?:async )?def {name}\b", text, re.M)
        body = statement(text, begins.start()) if begins else ""
        if found := _SENDS.search(body):
            return Refusal(
                f"{UNASKED} writes to a store in its node `{name}` (`{found[0][1:]}`).", NAMED
            )
    return None


def _kinds_of(node: ast.ClassDef) -> dict[str, tuple[ast.expr, ast.expr | None]]:
    """Return the types of a class's fields with what they are set to."""
    return {
        one.target.id: (one.annotation, one.value)
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }


def _is_demanded(kind: ast.expr, made: ast.expr | None) -> bool:
    empty = any(isinstance(one, ast.Constant) and one.value is None for one in ast.walk(kind))
    return needed(made) and name_of(kind) not in _OPTIONAL and not empty


_ASKS = frozenset({"invoke", "ainvoke", "stream", "astream", "astream_events"})


def given_beside(body: str, text: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the keys, with their values as JSON, that a program gives a graph beside the question
    where it asks it, as far as its nodes cannot do without them: `{"question": ..., "retries": 0}`.
    """
    named = _STATE.search(body)
    near = [one for one in texts.values() if named and re.search(rf"\b{named[1]}\b", one)]
    near = list(dict.fromkeys([text, *near]))
    whole = "\n".join(near)
    given = dict(_literals_given(one for one in [*near, *texts.values()] if one))
    state = next(filter(None, (state_of(body, one, {}) for one in near)), "")
    kinds = dict(_TYPED.findall(state))
    known = {**(dict.fromkeys(kinds) if any(map(_ASKED_AS.fullmatch, kinds)) else {}), **given}
    for key, value in known.items():
        read = rf"(?:\bstate\[[\"']{key}[\"']\]|\bstate\.{key}\b)(?!\s*=[^=])"
        if _ASKED_AS.fullmatch(key) or not re.search(read, whole):
            continue
        if value is not None:
            yield key, json.dumps(value)
        elif kinds.get(key, "").lower() in _SOME_OF and not _is_set(key, whole):
            yield key, json.dumps(_SOME_OF[kinds[key].lower()])


_TYPED = re.compile(r"^[ \t]+(\w+)[ \t]*:[ \t]*(?:typing\.)?(\w+)", re.M)
_SOME_OF: Mapping[str, object] = {"str": SOME_TEXT, "list": [], "dict": {}, "int": 1, "bool": False}
"""Some value of a type by its name."""


def _literals_given(texts: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Yield the keys of the object that a graph is asked with, in the first file that does, with
    their values, None for those that do not stand there.
    """
    for tree in filter(None, map(python_tree, dict.fromkeys(texts))):
        kept = {
            name_of(one.targets[0] if isinstance(one, ast.Assign) else one.target): one.value
            for one in ast.walk(tree)
            if isinstance(one, ast.Assign | ast.AnnAssign) and isinstance(one.value, ast.Dict)
        }
        for call in (one for one in ast.walk(tree) if called_by(one) in _ASKS):
            given = call.args[0] if isinstance(call, ast.Call) and call.args else None
            held = kept.get(given.id) if isinstance(given, ast.Name) else given
            keys = list(map(text_of, held.keys)) if isinstance(held, ast.Dict) else []
            if not isinstance(held, ast.Dict) or not any(map(_ASKED_AS.fullmatch, keys)):
                continue
            for key, one in zip(keys, held.values, strict=True):
                value = None
                with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    literal = ast.literal_eval(one)
                    json.dumps(literal)
                    value = literal
                yield key, value
            return
