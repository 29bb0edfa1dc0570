"""What a body has to hold, by the classes, interfaces and types of TypeScript. Pure.

A class may be a DTO whose decorators (class-validator) say which values fit. What a program says is
read, never run; a body made of it is a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateval.domain.setup.invocation import PROMPT
from gateval.domain.setup.node_text import braced, parts, without_comments
from gateval.domain.setup.openapi import SOME_TEXT, SOME_UUID, takes_question
from gateval.domain.setup.zod import schema_fields, schemas_of

_MOST_DEEP = 4
_DECLARED = (
    r"\b(?:class|interface)\s+{0}\b(?:<[^>{{]*>)?(?:\s+extends\s+([^{{]+?))?"
    r"(?:\s+implements\s[^{{]+)?\s*\{{|\btype\s+{0}\b\s*(?:<[^>=]*>)?\s*=\s*"
)
_ENUM = r"\benum\s+{0}\s*\{{\s*\w+\s*=\s*[\"']?([^\"',}}\s]+)"
_MEMBER = re.compile(
    r"(?:(?:public|private|protected|readonly|declare)\s+)*[\"']?(\w+)[\"']?\s*([?!]?)\s*:\s*"
)
_NOTHING = re.compile(r"\s*\|\s*(?:null|undefined)\b|\b(?:null|undefined)\s*\|\s*")
_LIST = re.compile(r"(?:Array|ReadonlyArray|Set)<(.*)>", re.S)
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]*)[\"'`]")
_EXAMPLE = re.compile(r"\bexample\s*:\s*(?:[\"']([^\"'{}\n]{1,200})[\"']|(\d+)\b)")
_IN = re.compile(r"@IsIn\(\s*\[\s*[\"']([^\"'\n]+)")
_OF_ENUM = re.compile(r"@IsEnum\(\s*(\w+)")
_TIME = "2026-01-01T00:00:00Z"
_SHAPED = {
    "IsUUID": SOME_UUID, "IsEmail": "someone@example.com", "IsUrl": "https://example.com",
    "IsURL": "https://example.com", "IsDateString": _TIME, "IsISO8601": _TIME, "IsDate": _TIME,
    "IsMongoId": "0" * 24, "IsNumberString": "1", "IsLocale": "en", "IsISO31661Alpha2": "US",
}  # fmt: skip
"""What fits where a decorator demands a shape of a text."""

_KINDS = {"string": SOME_TEXT, "number": 1, "boolean": False, "Date": _TIME, "String": SOME_TEXT}
_PART = re.compile(r"\b(Partial|Omit|Pick|Intersection|PartialType|OmitType|PickType)\b")
_OF_SCHEMA = re.compile(
    r"(?:z\.infer|z\.input|Static|v\.InferInput)<\s*typeof\s+(\w+)|createZodDto\(\s*(\w+)"
)


_PLAIN_MESSAGES = frozenset(
    {
        "ChatCompletionMessageParam",
        "ChatCompletionUserMessageParam",
        "CoreMessage",
        "CoreUserMessage",
        "ModelMessage",
        "UserModelMessage",
        "MessageParam",
    }
)
"""What libraries of models call a message that has its text as `content`."""

_UI_MESSAGE: dict[str, Any] = {"id": SOME_TEXT, "role": "user", "parts": []}
_OF_PARTS = re.compile(r"\bconvertTo(?:Model|Core)Messages\(|\bvalidateUIMessages\(|\bUIMessage\b")


def asked_message(value: Any) -> dict[str, Any] | None:
    """Return a message with the question in it; None where a value is none."""
    if not isinstance(value, dict) or "role" not in value or not {"content", "parts"} & {*value}:
        return None
    if "parts" in value:
        return {**value, "role": "user", "parts": [{"type": "text", "text": PROMPT}]}
    return {**value, "role": "user", "content": PROMPT}


def message_in(key: str, text: str) -> dict[str, Any] | None:
    """Return the message that a variable has to hold by how a text uses it; None for none."""
    own = rf"(?<![.\w]){key}"
    appended = rf"\[\s*\.\.\.[^\[\]]{{1,200}},\s*{key}!?\s*,?\s*\]"
    if re.search(rf"{own}\??\.parts\b", text) or (
        re.search(appended, text) and _OF_PARTS.search(text)
    ):
        return asked_message(_UI_MESSAGE)
    plain = re.search(rf"{own}\??\.content\b", text)
    return asked_message({"role": "user", "content": ""}) if plain else None


class Member(NamedTuple):
    """A field of a type: its name, whether it may be left out, its type, its decorators."""

    name: str
    optional: bool
    kind: str
    decorators: str


@dataclass
class NodeTypes:
    """The types and schemas that a program declares, by name."""

    text: str
    schemas: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> NodeTypes:
        """Read those of the texts of a program."""
        plain = without_comments(text)
        return NodeTypes(plain, schemas_of(plain))

    def fields(self, kind: str, left: int = _MOST_DEEP) -> dict[str, Any]:
        """Return the fields that a type has to have, with values, and those that may take a
        question; none for a type that is not known. `kind` is a name, or an object as it is
        written.
        """
        kind = kind.strip().rstrip(";").strip()
        if not left or not kind:
            return {}
        if kind in self.schemas:
            return schema_fields(self.schemas[kind], self.schemas, left)
        bare = kind.rpartition(".")[2].partition("<")[0]
        if bare in _PLAIN_MESSAGES:
            return {"role": "user", "content": SOME_TEXT}
        if bare == "UIMessage":
            return dict(_UI_MESSAGE)
        if kind.startswith("{"):
            return self._of(braced(kind, 1), left)
        if of := _OF_SCHEMA.search(kind):
            return self.fields(of[1] or of[2], left - 1)
        if part := _PART.match(kind):
            inner = kind[part.end() :].strip("<>() \n")
            bases = [one.strip() for one in parts(inner) if re.fullmatch(r"\s*\w+\s*", one)]
            whole = {k: v for one in bases for k, v in self.fields(one, left - 1).items()}
            keys = _QUOTED.findall(inner)
            return {
                one: value
                for one, value in whole.items()
                if (takes_question(one) or not part[1].startswith("Partial"))
                and not (part[1].startswith("Omit") and one in keys)
                and not (part[1].startswith("Pick") and one not in keys)
            }
        return self._named(kind, left)

    def _named(self, name: str, left: int) -> dict[str, Any]:
        name = name.partition("<")[0].strip()
        found = re.search(_DECLARED.format(re.escape(name)), self.text) if name else None
        if not re.fullmatch(r"\w+", name) or found is None:
            return {}
        if found[0].endswith("{"):
            more: dict[str, Any] = {}
            for base in parts(found[1] or ""):
                more |= self.fields(base, left - 1)
            return more | self._of(braced(self.text, found.end()), left)
        written = next(parts(self.text[found.end() : found.end() + 5_000], ";\n"), "")
        whole: dict[str, Any] = {}
        for one in written.split("&"):
            whole |= self.fields(one, left - 1)
        return whole

    def _of(self, body: str, left: int) -> dict[str, Any]:
        return {
            one.name: self.value(one.kind, one.decorators, left)
            for one in members(body)
            if not one.optional or takes_question(one.name)
        }

    def value(self, kind: str, decorators: str = "", left: int = _MOST_DEEP) -> Any:
        """Return a value that fits a type."""
        shaped = next((_SHAPED[one] for one in _SHAPED if f"@{one}(" in decorators), None)
        example, first = _EXAMPLE.search(decorators), _IN.search(decorators)
        enum = _OF_ENUM.search(decorators)
        kind = _NOTHING.sub("", kind).strip().removeprefix("|").strip()
        if shaped is not None or first:
            return first[1] if first else shaped
        if kind.endswith("[]") or _LIST.fullmatch(kind):
            return []
        if example and kind in {"string", "number"}:
            return int(example[2]) if example[2] else example[1]
        if quoted := _QUOTED.match(kind):
            return quoted[1]
        if kind in _KINDS:
            return _KINDS[kind]
        if re.fullmatch(r"\d+", one := kind.partition("|")[0].strip()):
            return int(one)
        if one in _KINDS:
            return _KINDS[one]
        named = re.search(_ENUM.format(re.escape(enum[1] if enum else kind)), self.text)
        if named:
            return int(named[1]) if named[1].isdigit() else named[1]
        if fields := self.fields(kind, left - 1):
            return fields
        return self._alias(kind) or ({} if left > 1 else SOME_TEXT)

    def _alias(self, kind: str) -> Any:
        """Return the first text of a type that is one of several, of a list or of the keys of an
        object; a value of one that is plain.
        """
        name = re.escape(kind)
        if plain := re.search(rf"\btype\s+{name}\s*=\s*(string|number|boolean)\s*[;\n]", self.text):
            return _KINDS[plain[1]]
        one = re.search(rf"\btype\s+{name}\s*=\s*\|?\s*[\"']([^\"'\n]+)", self.text)
        of = re.search(rf"\btype\s+{name}\s*=\s*\(typeof\s+(\w+)\)\[number\]", self.text)
        listed = rf"\b{of[1]}\s*(?::[^=]+)?=\s*\[\s*[\"']([^\"'\n]+)" if of else r"(?!)"
        keys = re.search(rf"\btype\s+{name}\s*=\s*keyof\s+typeof\s+(\w+)", self.text)
        if keys:
            listed = rf"\b{keys[1]}\s*(?::[^=]+)?=\s*\{{\s*[\"']?([\w./-]+)[\"']?\s*:"
        found = one or re.search(listed, self.text)
        return found[1] if found else ""


def _kind(text: str) -> str:
    """Return the type at the begin of a text, with a default behind it."""
    deep = 0
    for place, letter in enumerate(text):
        deep += {"{": 1, "}": -1, "(": 1, ")": -1, "[": 1, "]": -1, "<": 1}.get(letter, 0)
        deep -= letter == ">" and text[place - 1 : place] != "="
        goes_on = text[:place].rstrip()[-1:] in {"|", "&", "", "="} or text[place:].lstrip()[
            :1
        ] in {
            "|",
            "&",
        }
        if deep < 0 or (not deep and letter in ";,\n" and not (letter == "\n" and goes_on)):
            return text[:place]
    return text


def members(body: str) -> Iterator[Member]:
    """Yield the fields of a class or interface, by what stands in its braces."""
    place, decorators = 0, ""
    while place < len(body):
        if body[place] in " \t\r\n;,":
            place += 1
        elif body[place] == "@":
            name = re.compile(r"@[\w.]+\s*(\(?)").match(body, place)
            inner = braced(body, name.end()) + ")" if name and name[1] else ""
            end = (name.end() if name else place + 1) + len(inner)
            decorators += body[place:end]
            place = end
        elif found := _MEMBER.match(body, place):
            kind = _kind(body[found.end() :])
            place = found.end() + len(kind)
            written, default, _ = kind.partition(" = ")
            left_out = found[2] == "?" or bool(default) or "@IsOptional(" in decorators
            left_out = left_out or "@ApiPropertyOptional(" in decorators
            yield Member(found[1], left_out, written.strip(), decorators)
            decorators = ""
        else:  # a method, or what no type has
            place += len(next(parts(body[place:], ";\n"), "")) + 1
            decorators = ""
