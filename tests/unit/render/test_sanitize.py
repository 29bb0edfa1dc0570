"""One function per sink, and one way to make text safe."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.text import Safe
from gateval.safe.sanitize import block, code, inline, plain, plain_line, xml_text
from tests.helpers.hostile import ATTACK


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a plain sentence, refund_order(1.5).", "a plain sentence, refund_order(1.5)."),
        ("two\n  lines\t here ", "two lines here"),
        ("a|b", "a&#124;b"),
        ("a\\|b\\", "a&#92;&#124;b&#92;"),
        ("call `refund_order`, `a|b`", "call <code>refund_order</code>, <code>a&#124;b</code>"),
        ("``two`` ` alone", "&#96;&#96;two&#96;&#96; &#96; alone"),
        ("`a` b` `c`", "<code>a</code> b<code> </code>c&#96;"),
        ("**bold** ~~gone~~", "&#42;&#42;bold&#42;&#42; &#126;&#126;gone&#126;&#126;"),
        ("snake_case __init__ _em_", "snake_case &#95;&#95;init&#95;&#95; &#95;em&#95;"),
        ("[text](url) ![i](u) [^1]", "&#91;text&#93;(url) !&#91;i&#93;(u) &#91;^1&#93;"),
        ("<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"),
        ("$x$", "<span>$</span>x<span>$</span>"),
        (":shipit: at 12:30:45", ":\u200bshipit: at 12:30:45"),
        ("@user", "@\u200buser"),
        ("# title", "&#35; title"),
        ("###", "###\u200b"),
        ("#hashtag", "#hashtag"),
        ("- item", "&#45; item"),
        ("-0.5", "-0.5"),
        ("+ item", "&#43; item"),
        ("12. item", "12&#46; item"),
        ("3) item", "3&#41; item"),
        ("0.38", "0.38"),
        ("===", "&#61;=="),
        ("---", "&#45;--"),
        (":--", "&#58;--"),
        ("> quote", "&gt; quote"),
        ("", ""),
    ],
)
def test_inline(text: str, markdown: str) -> None:
    assert inline(text, 200) == markdown


def test_inline_cuts_visibly() -> None:
    assert inline("abcdef" * 1000, 6) == "abcdef… (5,994 more characters)"


def test_code_is_escaped_like_text_so_that_it_holds_in_tables_and_summaries() -> None:
    assert code("a|`b`", 20) == "<code>a&#124;&#96;b&#96;</code>"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("one\n  two", "```text\none\n  two\n```"),
        ("a ``` b", "````text\na ``` b\n````"),
        ("``````\nout", "```````text\n``````\nout\n```````"),
        ("\n\nends\n\n", "```text\nends\n```"),
        ("| a | <b> & *c*", "```text\n| a | <b> & *c*\n```"),
        ("/merge", "```text\n/\u200bmerge\n```"),
        ("", "```text\n\n```"),
    ],
)
def test_block(text: str, markdown: str) -> None:
    assert block(text, 200) == markdown


def test_block_cuts_inside_its_fence() -> None:
    assert block("x" * 50, 10) == f"```text\n{'x' * 10}… (40 more characters)\n```"


def test_plain_keeps_lines_and_plain_line_folds_them() -> None:
    text = "\x1b[1mone\x1b[0m\n::error::two"
    assert plain(text, 100) == "one\n: :error::two"
    assert plain_line(text, 100) == "one ::error::two"
    assert plain_line("::error::two", 100) == ": :error::two"


@pytest.mark.parametrize("text", [ATTACK, "".join(map(chr, range(0x3000))), "\ud800\ufffe\uffff"])
def test_xml_text_is_what_xml_can_hold(text: str) -> None:
    element = ET.Element("failure")
    element.text = xml_text(text, 100_000)

    assert ET.fromstring(ET.tostring(element)).text == element.text  # noqa: S314 - ours


@given(st.text())
def test_every_sink_takes_every_text(text: str) -> None:
    assert "\n" not in inline(text, 50)
    assert plain_line(text, 50) == plain_line(plain_line(text, 50), 500)
    for sink in (inline, code, block, plain, xml_text):
        shown = sink(text, 50)
        shown.encode()
        assert not set(shown) & set("\x00\x07\x08\x1b\x7f\x9b\u202e\ufeff")


def test_operations_on_safe_text_give_unsafe_text() -> None:
    safe = inline("a", 10)
    assert type(safe) is Safe
    assert all(type(text) is str for text in (safe + "b", safe.upper(), safe[:1], f"{safe}"))
