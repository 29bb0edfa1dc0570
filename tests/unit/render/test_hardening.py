"""After hardening, every character is what it looks like."""

from __future__ import annotations

import time

import pytest

from gateval.safe.sanitize import HIDDEN, harden


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ascii, ümläut, 漢字, 😀", "plain ascii, ümläut, 漢字, 😀"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x1bPdevice control\x1b\\text", "text"),
        ("\x1b(Btext\x1b", "text"),
        ("cut short\x1b[", "cut short"),
        ("bell\x07 back\x08space null\x00", "bell backspace null"),
        ("one\r\ntwo\rthree\x0bfour\x85five\u2028six", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("tab\tstop", "tab    stop"),
        ("no\u00a0break\u3000wide", "no break wide"),
        ("zero\u200bwidth\u200cjoin\u200der\ufeff\u00ad\u2060", "zerowidthjoiner"),
        ("safe\u202egnp.exe\u202c", f"safe{HIDDEN}gnp.exe{HIDDEN}"),
        ("a\u2066b\u2069\u200ec", f"a{HIDDEN}b{HIDDEN}c"),
        ("hidden \U000e0049\U000e0047\U000e004e order", f"hidden {HIDDEN} order"),
        ("selector\ufe0f\U000e0100, filler\u3164\u115f\u2800\u034f", "selector, filler"),
        ("half \ud83d pair, private \ue000, none \ufffe", f"half {HIDDEN} pair, private {HIDDEN}, none {HIDDEN}"),
        ("cafe\u0301", "café"),
        ("\u1fef\u037e\u212a", "`;K"),
        ("z" + "\u0351" * 50, "z" + "\u0351" * 3),
    ],
)  # fmt: skip
def test_what_is_left(text: str, shown: str) -> None:
    assert harden(text, 1000) == (shown, 0)


@pytest.mark.parametrize(
    ("text", "limit", "shown", "left"),
    [
        ("12345", 5, "12345", 0),
        ("123456", 5, "12345", 1),
        ("x" * 1000, 10, "x" * 10, 990),
        ("\u200b" * 1000 + "x", 10, "", 981),
    ],
)
def test_length(text: str, limit: int, shown: str, left: int) -> None:
    assert harden(text, limit) == (shown, left)


@pytest.mark.parametrize("piece", ["\x1b]", "\x1b[", "a\u0301\u0327\u05ae", " \n", "\u202e", "/"])
def test_hostile_length_costs_nothing(piece: str) -> None:
    start = time.process_time()
    harden(piece * 2_000_000, 500)
    assert time.process_time() - start < 1
