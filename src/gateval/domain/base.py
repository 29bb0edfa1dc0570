"""The base classes of all values: frozen, strict about unknown fields, cheap to import."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, wraps
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

JsonObject = dict[str, JsonValue]

Asked = TypeVar("Asked")
Found = TypeVar("Found")

SHA_PATTERN = r"^[0-9a-f]{40,64}$"
"""The id of a git object, for fields of values."""

DIGEST_PATTERN = r"^[0-9a-f]{64}$"
"""A SHA-256 in hex."""

TIME_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
"""A moment in UTC, to the second."""

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Sha = Annotated[str, Field(pattern=SHA_PATTERN)]
MaybeSha = Annotated[str, Field(pattern=rf"{SHA_PATTERN}|^$")]
Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]
MaybeDigest = Annotated[str, Field(pattern=rf"{DIGEST_PATTERN}|^$")]
UtcTime = Annotated[str, Field(pattern=TIME_PATTERN)]

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=253)]
"""A Kubernetes name (DNS-1123 subdomain): lower-case letters, digits, `-` and `.`."""

MODEL_NAME_PATTERN = r"^[^/\s]+/\S+$"
ModelName = Annotated[str, StringConstraints(pattern=MODEL_NAME_PATTERN)]
"""A model as people name it: `provider/model-id`; the id may hold further slashes."""


class Word(StrEnum):
    """A word of a closed list, for values that are written by the thousand: pydantic asks for its
    `value` each time, which takes longer with the one of `StrEnum` than all else of it.
    """


Word.value = property(attrgetter("_value_"))  # type: ignore[method-assign, assignment]


def empty() -> Any:
    """Return an empty mapping as a field's default, which is made anew: of a `{}` as it stands
    pydantic has Python's `copy` make each, at ten times the cost.
    """
    return Field(default_factory=dict, json_schema_extra={"default": {}})


class Value(BaseModel):
    """A frozen value that refuses unknown fields. Stage files hold its fields by their own name."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def replace(self, **changes: object) -> Self:
        """Return the same with other values in these fields, which are taken as they are."""
        if self.__pydantic_extra__ is not None:
            return self.model_copy(update=changes)
        named = self.__pydantic_fields_set__
        if not named.issuperset(changes):
            named = _one_set(frozenset(named.union(changes)))
        return self.of_valid(self.__dict__ | changes, named)

    def lean(self) -> Self:
        """Return the same in less memory (`of_kept`)."""
        if self.__pydantic_extra__ is not None or self.__pydantic_private__ is not None:
            return self
        named = _one_set(frozenset(self.__pydantic_fields_set__))
        return self.of_kept(self.__dict__, named)

    @classmethod
    def of_kept(cls, fields: Mapping[str, object], named: set[str]) -> Self:
        """Return the same as `of_valid`, for what there is by the ten thousand (`plentiful`): the
        names of fields stand in one table for all, which takes half the memory.
        """
        made = _new(cls)
        for name, value in fields.items():
            _set_one(made, name, value)
        _set_named(made, named)
        _set_extra(made, None)
        _set_private(made, None)
        return made

    @classmethod
    def of_valid(cls, fields: dict[str, object], named: set[str]) -> Self:
        """Return the value of all its fields, in their order, which are valid and not looked at.

        `named` are those that were given; values may share it, as none changes it. It takes a
        twentieth of the time of `model_construct`.
        """
        made = _new(cls)
        _set_fields(made, fields)
        _set_named(made, named)
        _set_extra(made, None)
        _set_private(made, None)
        return made

    @classmethod
    def of_known(cls, **fields: object) -> Self:
        """Return the value of these fields, which are valid and not looked at; the others are as
        they are by default.
        """
        return cls.of_valid(_defaults(cls) | fields, _one_set(frozenset(fields)))


_new, _set_one = object.__new__, object.__setattr__
_set_fields, _set_named, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)


Kept = TypeVar("Kept", bound=Value)


def plentiful(kind: type[Kept]) -> type[Kept]:
    """Have the values of a class share one table of its fields' names (`of_kept`), which Python
    makes of those that its first objects have.
    """
    first = _new(kind)
    for name in kind.model_fields:
        _set_one(first, name, None)
    return kind


@cache
def _one_set(names: frozenset[str]) -> set[str]:
    """Return the one set of these names: a set of its own for each value takes as much memory as
    its fields.
    """
    return set(names)


@cache
def _defaults(kind: type[Value]) -> dict[str, object]:
    """Return what the fields of a class are by default, in their order."""
    fields = kind.model_fields.items()
    return {name: one.get_default(call_default_factory=True) for name, one in fields}


class Spec(Value):
    """A value that people write in YAML: its keys are camelCase there.

    The text under a field says in JSON Schemas what the key is for; nothing else reads it.
    """

    model_config = ConfigDict(alias_generator=to_camel)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema with what the source says of each field."""
        written = handler(schema)
        properties = handler.resolve_ref_schema(written).get("properties", {})
        for name, text in cls.described().items():
            for key in {name, cls.model_fields[name].alias} & properties.keys():
                properties[key] = dict(sorted({**properties[key], "description": text}.items()))
        return written

    @classmethod
    def described(cls) -> dict[str, str]:
        """Return the text under each field that has one, by the field's name."""
        found: dict[str, str] = {}
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Spec):
                found |= _field_texts(kind.__module__).get(kind.__name__, {})
        return found


@cache
def _field_texts(module: str) -> dict[str, dict[str, str]]:
    """Return the texts under the fields of a module's classes."""
    import ast
    import inspect

    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.ClassDef):
            texts = found.setdefault(node.name, {})
            for field, text in pairwise(node.body):
                match field, text:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(said))),
                    ):
                        texts[name] = " ".join(said.split())
    return found


def known_of_last(find: Callable[[Asked], Found]) -> Callable[[Asked], Found]:
    """Have a pure function keep what it said of the value that it was asked about last.

    The very object counts, not one that is equal: a report is too large to be compared.
    """
    last: tuple[Asked, Found] | None = None

    @wraps(find)
    def known(asked: Asked) -> Found:
        nonlocal last
        kept = last
        if kept is None or kept[0] is not asked:
            last = kept = (asked, find(asked))
        return kept[1]

    return known


def is_sha(text: str) -> bool:
    """Whether a text is the whole id of a git object: SHA-1 or SHA-256 in hex."""
    return re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", text) is not None


def plain_message(message: str) -> str:
    """Return a message of pydantic's without what it puts before a validator's own words."""
    return message.removeprefix("Value error, ")


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return JSON in which `leaf` has changed all that is neither an object nor a list."""
    if isinstance(value, dict):
        return {key: mapped(one, leaf) for key, one in value.items()}
    return [mapped(one, leaf) for one in value] if isinstance(value, list) else leaf(value)


def plain_numbers(value: Any) -> Any:
    """Return `value` with 2.0 as 2: JSON does not tell them apart, and models write both."""
    return mapped(
        value, lambda one: int(one) if isinstance(one, float) and one.is_integer() else one
    )


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: JsonValue) -> str:
    """Return `value` as JSON with sorted keys and no white space: equal values, equal text."""
    return _CANONICAL.encode(value)


def json_text(value: JsonValue) -> str:
    """Return a string as it is, and any other value as canonical JSON."""
    return value if isinstance(value, str) else canonical_json(value)


def ascii_json(value: JsonValue) -> str:
    """Return `value` as canonical JSON in printable ASCII: a line that does nothing to a terminal.

    Python's `json.dumps` with sorted keys, no white space and `ensure_ascii`.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: JsonValue) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in hex (64 characters)."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
