"""What the graphs of LangGraph keep as their state, and whether a bare question has a place there.

What a program says is read, never run. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from gateval.domain.setup.answering import names_a_file
from gateval.domain.setup.openapi import IDENTITY, SOME_TEXT
from gateval.domain.setup.python_text import statement

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
_DEMANDED = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[ \t]*(str|int|float|bool|Literal\[[^\]\n]{1,200}\]|[A-Z]\w*)[ \t]*"
    r"(?:(?=[\n#]|$)|=[ \t]*(?:\w+\.)?Field\(([^()]{0,2000}))",
    re.M,
)
_PLAIN = r"^@[\w.]*dataclass\b[^\n]*\n(?=class {}\b[^\n]*:)"
_SOME: dict[str, str | float] = {"str": SOME_TEXT, "int": 1, "float": 1, "bool": True}
_MEMBER = r"^class {}\([^)\n]*Enum\):[^\n]*\n(?:[ \t]*\n)*[ \t]+\w+\s*=\s*([\"'][^\"'\n]*[\"']|\d+)"


def demanded(text: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts, numbers and choices, with values as JSON, that a graph of a class for its
    input demands, unless one of them is the question: a bare question fills none of several.
    """
    named = _INPUT.search(text)
    own = [one for one in texts.values() if named and re.search(rf"\bclass {named[1]}\b", one)]
    if not named or len(own) != 1:
        return
    kept = re.search(_KEPT.format(named[1]), own[0], re.M)
    plain = re.search(_PLAIN.format(named[1]), own[0], re.M)
    begins = kept.start() if kept else plain.end() if plain else None
    body = "" if begins is None else statement(own[0], begins)
    fields = {
        one[1]: _some_of(one[2], own[0])
        for one in _DEMANDED.finditer(body)
        if not one[3]
        or not re.match(r"\s*(?:None\b|[^\s.\w])|.*\bdefault(?:_factory)?\s*=", one[3], re.S)
    }
    known = {name: value for name, value in fields.items() if value is not None}
    if (len(known) > 1 or SOME_TEXT not in known.values()) and not _QUESTION.search(body):
        yield from ((name, json.dumps(known[name])) for name in sorted(known))


def _some_of(kind: str, text: str) -> str | float | None:
    """Return a value of a type that a text uses, None where none is known."""
    member = re.search(_MEMBER.format(kind), text, re.M) if kind.isidentifier() else None
    told = re.search(r"[\"']([^\"']*)[\"']", member[1] if member else kind)
    if told:
        return told[1]
    return float(member[1]) if member else _SOME.get(kind)
