"""How texts, numbers and JSON values of answers are compared.

Linear is not enough: the factor is the size of the compiled pattern. With RE2's default of 8 MB a
pattern of 600 characters takes a minute for 200,000 characters of text; with the limit here and
`TEXT_LIMIT`, the worst one found takes about 4 seconds, and usual ones less than a millisecond.

Levenshtein and the longest common subsequence are rapidfuzz's. BLEU is its published formula: the
libraries that have it bring 90 MB along (docs/adr/0027-own-checks.md).
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, JsonValue

from gateval.assertions.evidence import CannotEvaluate, Evidence
from gateval.domain.base import JsonObject, json_text
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Cause
from gateval.safe.legible import shorten

TEXT_LIMIT = 100_000
"""Characters that are searched or compared at most."""

FieldPath = Annotated[
    str | None,
    Field(
        pattern=r"^[^.]+(\.[^.]+)*$",
        max_length=500,
        description="A field to look at instead of the whole message, which is then read as JSON: "
        "`order.items.0.sku` (a number is a place in a list, from 0).",
    ),
]


class NoText(Exception):
    """The text to look at is not there. The message tells what stands there instead."""


def message(evidence: Evidence) -> str:
    """The final message, with what no UTF-8 can hold replaced."""
    return evidence.answer.output.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def quoted(text: str) -> str:
    """Return a stranger's text in quotes, short and on one line."""
    return f'"{shorten(text)}"'


def where(field: str | None) -> str:
    """Return what is looked at, for a sentence."""
    return "the final message" if field is None else f"`{field}` of the final message"


def refuse_longer(text: str, field: str | None, looks: str) -> None:
    """Raise `CannotEvaluate` for a text that is too long for what looks at it.

    `looks` says what that does, say "`regex` searches".
    """
    if len(text) > TEXT_LIMIT:
        said = f"{where(field)} has {len(text):,} characters; {looks} at most {TEXT_LIMIT:,}"
        raise CannotEvaluate(Cause.GATE, said)


def json_at(evidence: Evidence, field: str | None) -> JsonValue:
    """The final message as JSON, or its field. Raises `NoText`."""
    text = message(evidence)
    try:
        value = read_json(text)
    except NotStrictJson as error:
        raise NoText(f"a final message that is no JSON ({error}): {quoted(text)}") from None
    for name in field.split(".") if field else ():
        is_place = name.isascii() and name.isdigit() and len(name) < 10
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and is_place and int(name) < len(value):
            value = value[int(name)]
        else:
            raise NoText(f"no field `{field}` in {quoted(text)}")
    return value


def text_at(evidence: Evidence, field: str | None) -> str:
    """The final message, or the text of a field of it; a field that is no text as its JSON.

    Raises `NoText`.
    """
    if field is None:
        return message(evidence)
    value = json_at(evidence, field)
    return json_text(value)


def json_equal(expected: JsonValue, actual: JsonValue) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but not true and not "1"."""
    return matches(expected, actual, subset=False)


def matches(expected: JsonValue, actual: JsonValue, *, subset: bool) -> bool:
    """Whether `actual` is `expected`, or with `subset` holds it.

    With `subset`, an object may have further keys, at every level. Lists must have the same length
    and match place by place either way.
    """
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or not expected.keys() <= actual.keys():
            return False
        if not subset and len(expected) != len(actual):
            return False
        return all(matches(value, actual[key], subset=subset) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) != len(actual):
            return False
        pairs = zip(expected, actual, strict=True)
        return all(matches(one, other, subset=subset) for one, other in pairs)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return expected == actual


def without(value: JsonObject, path: str) -> JsonObject:
    """Return `value` without the key `path`: a key as it stands, or a dotted path to one."""
    if path in value:
        return {key: item for key, item in value.items() if key != path}
    head, dot, rest = path.partition(".")
    inner = value.get(head)
    if dot and isinstance(inner, dict):
        return {**value, head: without(inner, rest)}
    return value


_MEMORY_LIMIT = 512 * 1024


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Return re2's pattern object (re2 has no types). Raises ValueError with a sentence."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_LIMIT
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        shown = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise ValueError(
            f"the pattern cannot be used: {shown}; patterns are RE2's, which has no look-around "
            "and no backreferences, so that none can hang the gate"
        ) from None


_LONGEST = 120
_NUMBER = re.compile(
    r"(?<![\w.,/:\u2212-])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?"
    r"(?!\w|[.,/:\u2212-]\d)",
    re.ASCII,
)
"""A sign, digits with or without thousands commas, a decimal point, an exponent; no part of a word,
a date, a time or a version."""


def exact(number: float) -> Decimal:
    """Return a number as it was written: the shortest decimal that stands for it."""
    return Decimal(repr(number))


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers in a text, in order. `1,299.50` is one; `2026-11-24` and `v1.2.3` none."""
    return [_decimal(found.group()) for found in _NUMBER.finditer(text)]


def only_number(text: str) -> Decimal | None:
    """Return the number that the text is, white space around it ignored; None if it is none."""
    stripped = text.strip()
    found = _NUMBER.fullmatch(stripped) if len(stripped) <= _LONGEST else None
    return _decimal(found.group()) if found else None


def _decimal(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace("\u2212", "-"))


_WORD = re.compile(r"\w+|[^\w\s]")
_ROUGE_WORD = re.compile(r"\w+")
_LONGEST_TEXT = 4


def levenshtein(text: str, reference: str) -> float:
    """1 - distance / length of the longer text; insertions, deletions and substitutions cost 1."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(text, reference))


def rouge_l(text: str, reference: str) -> float:
    """ROUGE-L (Lin 2004): the F1 of the longest common subsequence of words, in small letters."""
    from rapidfuzz.distance import LCSseq

    ours, theirs = (_ROUGE_WORD.findall(one.lower()) for one in (text, reference))
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * float(LCSseq.similarity(ours, theirs)) / (len(ours) + len(theirs))


def bleu(text: str, reference: str) -> float:
    """BLEU (Papineni et al. 2002) of one sentence against one reference.

    The geometric mean of the precisions of 1- to 4-grams, times the brevity penalty. A precision of
    0 is smoothed to 1 / (2^k * n-grams) for the k-th such n (NIST's mteval, Chen & Cherry 2014);
    lengths of n-gram that the text is too short for are left out.
    """
    ours, theirs = _WORD.findall(text), _WORD.findall(reference)
    if not ours or not theirs:
        return float(ours == theirs)
    logs, zeros = 0.0, 0
    orders = range(1, min(_LONGEST_TEXT, len(ours)) + 1)
    for order in orders:
        mine, known = _grams(ours, order), _grams(theirs, order)
        common, total = (mine & known).total(), mine.total()
        if order == 1 and not common:
            return 0.0
        if not common:
            zeros += 1
        logs += math.log((common or 0.5**zeros) / total)
    brevity = min(0.0, 1 - len(theirs) / len(ours))
    return math.exp(logs / len(orders) + brevity)


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))
