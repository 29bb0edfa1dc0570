"""Whose text it is, and which of two runs is newer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.forge.check_run import MarkedComment, Stamp, mark, read_mark
from gateval.domain.text import EMPTY, MARKER, markdown

NINE = "2026-11-20T09:00:00Z"
TEN = "2026-11-20T10:00:00Z"
HEAD = "d" * 40


def stamp(started: str = NINE, run: int = 7, attempt: int = 1, gate: str = "gateval") -> Stamp:
    return Stamp(gate=gate, started=started, run=run, attempt=attempt)


@pytest.mark.parametrize(
    ("one", "other", "newer"),
    [
        (stamp(TEN, 7), stamp(NINE, 6), True),
        (stamp(NINE, 7), stamp(TEN, 6), False),
        # a second attempt of a run with a lower id, begun later, has seen the newer world
        (stamp(TEN, 6, 2), stamp(NINE, 7), True),
        (stamp(NINE, 8), stamp(NINE, 7), True),
        (stamp(NINE, 7, 2), stamp(NINE, 7, 1), True),
        # steps of one attempt begin at different times and are the same run all the same
        (stamp(TEN, 7), stamp(NINE, 7), False),
        (stamp(), stamp(), False),
    ],
)
def test_order(one: Stamp, other: Stamp, *, newer: bool) -> None:
    assert one.newer_than(other) is newer


def test_a_stamp_reads_back() -> None:
    one = stamp(gate="agents.support-2")
    assert str(one) == "gateval/agents.support-2/2026-11-20T09:00:00Z/7.1"
    assert Stamp.parse(str(one)) == one


def test_a_stamp_keeps_a_comment_in_mind() -> None:
    for record in ("", "a" * 64):
        one = stamp().model_copy(update={"record": record, "comment": 4_294_967_296})
        assert str(one).endswith(f"{record}/c4294967296")
        assert Stamp.parse(str(one)) == one
        assert Stamp.parse(f"{one}.0123456789abcdef") == one, "as earlier versions wrote it"
        assert one.same_run(stamp())
    older = "gateval/gateval/2026-11-20T09:00:00Z/7.1"
    assert Stamp.parse(older) == stamp()
    for wrong in (f"{older}/c0", f"{older}/c0.0123456789abcdef", f"{older}/c7.xyz"):
        assert Stamp.parse(wrong) is None


def test_a_mark_reads_back_and_replaces_the_plain_marker() -> None:
    marked = MarkedComment(stamp=stamp(), head=HEAD)
    body = mark(markdown("{}\n### Title\n", MARKER), marked)

    assert body == f"<!-- gateval:comment v1 {stamp()} head={HEAD} -->\n### Title\n"
    assert read_mark(body) == marked
    assert read_mark(body.replace("\n", "\r\n")) == marked


@pytest.mark.parametrize(
    "body",
    [
        "",
        MARKER,
        f"text\n{mark(EMPTY, MarkedComment(stamp=stamp(), head=HEAD))}",
        f"<!-- gateval:comment v1 {stamp()} head={HEAD} --> text",
        f"<!-- gateval:comment v1 {stamp()} head=abc -->",
        f"<!-- gateval:comment v1 gateval/../{NINE}/7.1 head={HEAD} -->",
        f"<!-- gateval:comment v1 gateval/gateval/{NINE}/{'9' * 30}.1 head={HEAD} -->",
        f"<!-- gateval:comment v1 gateval/gateval/{'Z' * 20}/1.1 head={HEAD} -->",
    ],
)
def test_what_is_no_mark(body: str) -> None:
    assert read_mark(body) is None


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    assert Stamp.parse(text) is None
    assert read_mark(text) is None
