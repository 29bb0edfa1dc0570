from __future__ import annotations

import pytest

from gateval.candidates.processes import LINE_WIDTH, Capture, last_lines, lines_of, telling_lines


def test_the_end_is_kept_and_everything_is_counted() -> None:
    capture = Capture(keep=4, limit=100)
    for chunk in (b"abc", b"defghij", b"", b"kl"):
        capture.add(chunk)
    assert capture.data == b"ijkl"
    assert capture.total == 12
    assert not capture.over


def test_a_stream_may_be_as_long_as_its_limit_and_no_longer() -> None:
    full, over = Capture(keep=10, limit=10), Capture(keep=10, limit=10)
    full.add(b"x" * 10)
    assert not full.over
    over.add(b"x" * 10)
    over.add(b"y")
    assert over.over
    assert over.data == b"x" * 9 + b"y"


def test_last_lines_are_text_a_person_can_read() -> None:
    data = b"first\n\n  \nsecond \xff\r\nthird\x1b[31m\n" + b"z" * 2000
    lines = last_lines(data, 3)
    assert lines[:2] == ("second \ufffd", "third\x1b[31m")
    assert lines[2] == "z" * LINE_WIDTH
    assert last_lines(data, 0) == ()
    assert last_lines(b"", 5) == ()


def test_what_a_log_says_of_polls_is_left_out() -> None:
    polls = "".join(f'[{n}:00] not found\n[{n}:00] "GET /up" 404 -\n' for n in range(30))
    data = f"listening\n{polls}no database\n".encode()
    assert lines_of(data, polls="GET /up") == ["listening", "[0:00] not found", "no database"]
    assert len(lines_of(data)) == 62


USAGE = [f"npm error   --option-{n}" for n in range(30)]
EUSAGE = ["npm error code EUSAGE", "npm error", "npm error Missing: is-odd@3.0.1 from lock file"]
LOG = "npm error A complete log of this run can be found in: /home/me/.npm/_logs/1.log"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["one", "two"], ("one", "two")),
        ([*"abcdefgh"], tuple("cdefgh")),
        ([*EUSAGE, *USAGE, LOG], (EUSAGE[0], EUSAGE[2], USAGE[0], "…", *USAGE[-2:])),
        ([*"abc", "fatal: no such branch", *"defgh"], ("fatal: no such branch", *"defgh")),
        (["npm notice new version", "a"], ("a",)),
        ([*"abc", "see error.log", "0errors", *"defgh"], ("0errors", *"defgh")),
    ],
)
def test_the_first_error_is_told_beside_the_last_lines(
    lines: list[str], told: tuple[str, ...]
) -> None:
    assert telling_lines(lines, 6) == told
    assert telling_lines(lines, 0) == ()
