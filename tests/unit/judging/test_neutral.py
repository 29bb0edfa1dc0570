from __future__ import annotations

import json
import unicodedata

import pytest
from pydantic import JsonValue

from gateval.safe.legible import fold, is_angle, is_hidden, neutral_json, shorten, visible

HIDDEN = {
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "line separator": "\u2028",
    "escape": "\x1b",
    "null": "\x00",
    "delete": "\x7f",
    "next line": "\x85",
    "tag letter": "\U000e0041",
    "variation selector": "\ufe0f",
    "variation selector 256": "\U000e01ef",
    "Hangul filler": "\u3164",
    "Braille blank": "\u2800",
    "combining grapheme joiner": "\u034f",
    "private use": "\ue000",
    "unassigned": "\U000e0fff",
    "surrogate": "\ud800",
}
ANGLES = "<>\uff1c\uff1e\u2039\u203a\u00ab\u00bb\u3008\u300b\u27e8\u276f\u226e\ufe64\u1438"


@pytest.mark.parametrize("char", HIDDEN.values(), ids=HIDDEN)
def test_hidden_characters_become_escapes_that_read_back(char: str) -> None:
    assert is_hidden(char)
    value: JsonValue = {f"k{char}": [f"a{char}b"]}
    shown = neutral_json(value)
    assert char not in shown
    assert json.loads(shown) == value
    assert char not in visible(f"a{char}b")
    assert "\\" in visible(char)


@pytest.mark.parametrize("char", ANGLES)
def test_angle_brackets_and_their_doubles_become_escapes_that_read_back(char: str) -> None:
    assert is_angle(char)
    assert char not in neutral_json(f"a{char}b")
    assert json.loads(neutral_json(f"a{char}b")) == f"a{char}b"
    assert char in visible(f"a{char}b"), "in a sentence for people, a bracket does no harm"


@pytest.mark.parametrize("text", ["Grüße, 世界! نعم", "a\u00a0b", "x = [1] {2} (3)", "é + ❤"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert neutral_json(text) == f'"{text}"'
    assert visible(text) == text


def test_every_character_reads_back_and_none_that_deceives_is_left() -> None:
    planes = (range(0x20000), range(0xE0000, 0xE0200))  # the others hold ideographs and nothing
    everything = "".join(
        chr(code) for plane in planes for code in plane if not 0xD800 <= code <= 0xDFFF
    )
    shown = neutral_json(everything)
    assert json.loads(shown) == everything
    left = set(shown)
    assert not [char for char in left if is_hidden(char) or is_angle(char)]
    assert not [c for c in left if "<" in unicodedata.normalize("NFKC", c)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a  b\n\tc", "a b c"),
        ("re\u200bfund", "refund"),
        ("re\u200bfund", r"re\u200bfund"),
        ("a <b> c", r"a \u003cb\u003e c"),
        ('say "hi"', r"say \"hi\""),
        ("line\nbreak", r"line\nbreak"),
        ("tag\U000e0041s", r"tag\udb40\udc41s"),
        ("a\u00a0b", "a b"),
    ],
)
def test_fold_makes_spellings_of_the_same_text_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("Refund", "refund"), ("a b", "ab"), ("a.", "a")])
def test_fold_keeps_what_differs(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("a\n b", 200, "a b"),
        ("abcdef", 4, "abc…"),
        ("abcd", 4, "abcd"),
        ("a" * 100, 4, "aaa…"),
        (" " * 100 + "a", 4, "…"),
        ("\u202eab", 20, "\\u202eab"),
    ],
)
def test_shorten(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short
