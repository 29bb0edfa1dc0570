"""How texts and figures of strangers stand in our sentences and records: short, whole, on one
line.

A record has to be written even if somebody gave a reason of a megabyte; refusing it would be a way
to leave no trace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from pydantic import BeforeValidator, JsonValue, StringConstraints

from gateval.domain.base import JsonObject, canonical_json, json_text
from gateval.domain.verdicts import Partly, Score, ends

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

SHORT = 200
"""Characters of a name, login, label or URL."""

LONG = 1_000
"""Characters of a reason or a sentence."""


class Screen(NamedTuple):
    """The columns that lines may have, and whether colours may be used."""

    width: int = 100
    color: bool = False


PAPER = Screen()
"""What stored summaries are made for, so that the bytes in a file or a log never vary."""


def cut_to(limit: int) -> BeforeValidator:
    """Return what makes a text at most `limit` characters long; the cut says how much went."""

    def cut(value: object) -> object:
        if not isinstance(value, str):
            return value
        start = value[:limit]
        if not start.isascii():
            start = start.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        mark = f"\N{HORIZONTAL ELLIPSIS} ({len(value):,} characters)"
        return start if len(value) <= limit else start[: limit - len(mark)] + mark

    return BeforeValidator(cut)


def first_of(limit: int) -> BeforeValidator:
    """Return what keeps the first `limit` items of a list."""
    return BeforeValidator(
        lambda value: value[:limit] if isinstance(value, list | tuple) else value
    )


ShortText = Annotated[str, cut_to(SHORT), StringConstraints(max_length=SHORT)]
LongText = Annotated[str, cut_to(LONG), StringConstraints(max_length=LONG)]


Item = TypeVar("Item", bound=JsonValue)

EXCERPT = 160
"""Characters kept of a value before and after."""


def excerpts(before: JsonValue, after: JsonValue) -> tuple[str, str]:
    """Return both values as short texts: the lines that differ, the items, the keys."""
    before, after = _differing(before, after)
    return _show(before), _show(after)


def same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are equal as JSON; in Python `1 == True`."""
    if type(one) is type(other) is str:
        return one == other
    return one is other or canonical_json(one) == canonical_json(other)


def _differing(before: JsonValue, after: JsonValue) -> tuple[JsonValue, JsonValue]:
    """Leave out what both have, as long as they are of one kind."""
    if isinstance(before, str) and isinstance(after, str):
        old, new = _apart(before.splitlines(), after.splitlines())
        return " ".join(old), " ".join(new)
    if isinstance(before, dict) and isinstance(after, dict):
        return _keys(before, after)
    if isinstance(before, list) and isinstance(after, list):
        less, more = _apart([*before], [*after])
        if len(less) == len(more) == 1 and isinstance(less[0], dict) and isinstance(more[0], dict):
            return _named(less[0], more[0])
        return less, more
    return before, after


def _apart(old: list[Item], new: list[Item]) -> tuple[list[Item], list[Item]]:
    """Drop what both have at the start and at the end."""
    start = _shared(old, new)
    old, new = old[start:], new[start:]
    end = _shared(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _shared(old: list[Item], new: list[Item]) -> int:
    """How many items both begin with."""
    return sum(1 for _ in takewhile(lambda pair: same(*pair), zip(old, new, strict=False)))


def _keys(old: JsonObject, new: JsonObject) -> tuple[JsonValue, JsonValue]:
    keys = [k for k in {**old, **new} if k not in old or k not in new or not same(old[k], new[k])]
    return {k: old[k] for k in keys if k in old}, {k: new[k] for k in keys if k in new}


def _named(old: JsonObject, new: JsonObject) -> tuple[JsonValue, JsonValue]:
    """One item that changed: what differs in it, and its name, so that a reader knows which."""
    less, more = _keys(old, new)
    if not isinstance(less, dict) or not isinstance(more, dict):
        return less, more
    named: JsonObject = {
        k: old[k] for k in ("name", "type") if k in old and k not in less and k not in more
    }
    return {**named, **less}, {**named, **more}


def _show(value: JsonValue) -> str:
    if value is None:
        return ""
    text = json_text(value)
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


_MOST = 9
"""Digits after the point; what is closer together counts as equal."""


NOT_MEASURED = "not measured"
"""What stands in place of a score that there is none of."""

DASH = "\N{EN DASH}"
"""What stands in the cell of a table for what was not measured."""


def show_score(score: Score, threshold: float | None = None) -> str:
    """Return a score to two digits, or `0.40-0.60` where it was measured in part; no figure for
    what was not.

    Beside a threshold it gets as many digits as show on which side of it the score is.
    """
    if (found := ends(score)) is None:
        return NOT_MEASURED
    low, high = found
    first, last = show_figure(low, threshold), show_figure(high, threshold)
    return first if abs(high - low) < 1e-9 else f"{first}\N{EN DASH}{last}"


def show_score_in_full(score: Score, threshold: float | None = None) -> str:
    """Return the same, and of how many runs it is where it was measured in part."""
    shown = show_score(score, threshold)
    if isinstance(score, Partly) and score.of:
        return f"{shown} ({score.measured:,} of {score.of:,} runs)"
    return shown


def least_score(scores: Sequence[Score]) -> str:
    """Return the least of these scores; nothing where one is unknown: it may be less."""
    known = [found[0] for one in scores if (found := ends(one))]
    return f"{min(known):.4f}" if known and len(known) == len(scores) else ""


def show_threshold(threshold: float | None) -> str:
    """Return a threshold to two digits, or to as many as it has: 0.996 is not 1.00."""
    if threshold is None:
        return "none"
    shown = f"{threshold:.2f}"
    return shown if float(shown) == threshold else repr(threshold)


def show_percent(rate: float) -> str:
    """Return a rate in whole per cent."""
    return f"{100 * rate:.0f} %"


def show_usd(amount: float, beside: float | None = None) -> str:
    """Return US dollars, right to half a per cent: `$12.30`, `$0.0042`; only nothing is `$0`.

    Beside a limit it gets as many digits as show on which side of it the amount is.
    """
    if amount == 0:
        return "$0"
    for digits in range(2, _MOST):
        number = round(amount, digits)
        near = abs(number - amount) <= amount / 200
        if near and (beside is None or _side(number, beside) == _side(amount, beside)):
            return f"${number:,.{digits}f}"
    return f"${amount:.{_MOST}f}"


def show_ratio(ratio: float) -> str:
    """Return a multiple with three digits that count: `1.31`, `0.0052`, `120`."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def show_bytes(size: int) -> str:
    """Return a size as people read it: `512 B`, `1.5 KiB`, `20 MiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 10 else f"{amount:,.0f} {unit}"


def show_figure(score: float, threshold: float | None = None) -> str:
    """Return what `show_score` does of a score that was measured."""
    for digits in range(2, _MOST):
        shown = _rounded(score, digits)
        if threshold is None or _side(float(shown), threshold) == _side(score, threshold):
            return shown
    return _rounded(score, _MOST)


def _side(score: float, threshold: float) -> int:
    """Whether a score is below a threshold, equal to it, or above."""
    apart = score - threshold
    return 0 if abs(apart) < 10**-_MOST else 1 if apart > 0 else -1


def _rounded(score: float, digits: int) -> str:
    """Only a full score is 1.00, and only none is 0.00."""
    least = 10**-digits
    if 0 < score < 1:
        score = min(max(score, least), 1 - least)
    return f"{score:.{digits}f}"


SHOWN = 60
"""Characters shown of someone else's text."""


_WORD = re.compile(r"""[^\s,;{}\[\]"']*\Z""")


def beginning(text: str, limit: int = SHOWN) -> str:
    """Return how a text of a candidate begins. It is cut between words, for half of a secret would
    not be found where secrets are taken out.
    """
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut if text[limit - 1].isspace() else _WORD.sub("", cut)) + "…"


def quote(text: str) -> str:
    """Return `text` in double quotes, cut to `SHOWN` characters, unprintable ones escaped."""
    cut = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return '"' + "".join(char if char.isprintable() else _escape(char) for char in cut) + '"'


def _escape(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{ord(char):04x}")


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: spaces, control characters, marks without a width."""
    return all(one.isspace() or unicodedata.category(one) in _UNSEEN for one in text)


_UNSEEN = frozenset({"Cc", "Cf"})


class _Escaped(str):
    """Text for one sink with nothing of others in it that was not escaped for that sink.

    A sink takes nothing else, and what a `str` has a part in is one, so mypy refuses a text that
    nobody escaped. Only `safe/sanitize.py` makes it of what came from outside.
    """

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
        from pydantic_core import core_schema

        read = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        return core_schema.json_or_python_schema(read, core_schema.is_instance_schema(cls))


class Label(_Escaped):
    """What GitHub shows as text in a field of its own: a title, a path, a message."""

    __slots__ = ()


class Safe(_Escaped):
    """Markdown. What is put together of it by `joined` and `markdown` is so again."""

    __slots__ = ()

    def joined(self, parts: Iterable[Safe]) -> Safe:
        """Return the parts with this text between them."""
        return Safe(self.join(parts))

    def before(self, mark: Safe, text: Safe) -> Safe:
        """Return this with a text in front of the first `mark`."""
        return Safe(self.replace(mark, f"{text}{mark}", 1))


def markdown(pattern: str, *parts: Safe | int) -> Safe:
    """Return markdown of our own, a literal in the source, with the parts in place of its `{}`."""
    return Safe(pattern.format(*parts))


def table_line(cells: Iterable[Safe]) -> Safe:
    """Return one line of a table."""
    return markdown("| {} |", markdown(" | ").joined(cells))


EMPTY = markdown("")
LINES = markdown("\n")
PARAGRAPHS = markdown("\n\n")

MARKER = markdown("<!-- gateval:comment v1 -->")
"""The first line of a rendered comment; publishing replaces it by one with a stamp."""


BORDER = markdown("<!-- gateval:evals -->")
"""The line of a comment below which stands what the evals found, and nothing about labels."""

END = markdown("<!-- gateval:end -->")
"""The line below which stands what changes with labels, again."""


def listing(names: Sequence[str], most: int = 5) -> str:
    """Return the first `most` names and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown
