"""The meaning of a plain word in YAML: the core schema of YAML 1.2, narrowed to JSON's values.

Source: YAML 1.2.2, section 10.3.2 (https://yaml.org/spec/1.2.2/#1032-tag-resolution). So `yes`,
`1:30` and dates are text, `012` is twelve, and a number is a number however it is spelled.
"""

from __future__ import annotations

import math
import re

from pydantic import JsonValue

from gateval.domain.text.quoting import quote

LENGTH_LIMIT = 300
"""Characters of a number. More cannot be meant, and long ones are slow to convert."""

_CONSTANTS: dict[str, JsonValue] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_JSON_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_TAGS: dict[str, tuple[str, tuple[type, ...]]] = {
    "tag:yaml.org,2002:null": ("nothing", (type(None),)),
    "tag:yaml.org,2002:bool": ("true or false", (bool,)),
    "tag:yaml.org,2002:int": ("a whole number", (int,)),
    "tag:yaml.org,2002:float": ("a number", (int, float)),
}
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


class UnusableScalar(ValueError):
    """A scalar that has no meaning here; its text is a sentence for a person."""


def plain_value(text: str) -> JsonValue:
    """Return the value of an unquoted scalar without a tag. Raises `UnusableScalar`."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    return _number(text)


def tagged_value(tag: str, text: str) -> JsonValue:
    """Return the value of a scalar with an explicit tag. Raises `UnusableScalar`."""
    if tag in _TEXT_TAGS:
        return text
    if tag not in _TAGS:
        raise UnusableScalar(f"The tag {quote(short_tag(tag))} is not known here. Remove it.")
    noun, types = _TAGS[tag]
    value = plain_value(text)
    if type(value) not in types:
        raise UnusableScalar(f"The tag {quote(short_tag(tag))} asks for {noun}.")
    return float(value) if tag.endswith(":float") and isinstance(value, int) else value


def short_tag(tag: str) -> str:
    """Return a tag as people write it: `!!int` for `tag:yaml.org,2002:int`."""
    return tag.replace("tag:yaml.org,2002:", "!!", 1)


def _number(text: str) -> JsonValue:
    if _NO_JSON_NUMBER.fullmatch(text):
        raise UnusableScalar(
            f"{text} is no number that JSON can hold. Write a finite number, or put it in quotes."
        )
    whole = _DECIMAL.fullmatch(text)
    based = None if whole else _BASED.fullmatch(text)
    if not (whole or based or _FLOAT.fullmatch(text)):
        return text
    if len(text) > LENGTH_LIMIT:
        raise UnusableScalar(
            f"This number has more than {LENGTH_LIMIT} characters. Put it in quotes if it is text."
        )
    if whole:
        return int(text)
    if based:
        return int(text[2:], 8 if text[1] == "o" else 16)
    number = float(text)
    if math.isinf(number):
        raise UnusableScalar(
            f"{quote(text)} is too large for a number. Put it in quotes if it is text."
        )
    return number
