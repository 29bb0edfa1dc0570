from __future__ import annotations

from gateval.candidates.processes import LINE_WIDTH, Capture, last_lines


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
    assert last_lines(data, 20, polls="GET /up") == ("listening", "[0:00] not found", "no database")
    assert len(last_lines(data, 99)) == 62
