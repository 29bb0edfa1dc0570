"""What GitHub, bots and CI runners react to is broken without being removed."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.safe.sanitize import _ANY, _STEPS, BREAK, defuse, defuse_log


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("/merge", "/|merge"),
        ("  /lgtm cancel", "  /|lgtm cancel"),
        ("fine\n/approve", "fine\n/|approve"),
        ("> /merge", "> /|merge"),
        ("/usr/lib/python3", "/usr/lib/python3"),
        ("either/or", "either/or"),
        ("@octocat", "@|octocat"),
        ("@org/team", "@|org/team"),
        ("me@example.com", "me@|example.com"),
        ("at @ noon", "at @ noon"),
        ("<!-- gateval:comment v1 -->", "<|!-- gateval:comment v1 -->"),
        ("https://evil.example", "https:|//evil.example"),
        ("JAVASCRIPT:alert(1)", "JAVASCRIPT:|alert(1)"),
        ("data:text/html", "data:|text/html"),
        ('{"data":"x"}', '{"data":"x"}'),
        ("www.evil.example", "www|.evil.example"),
        ("#1", "#|1"),
        ("#one", "#one"),
        ("org/repo#12", "org/repo#|12"),
        ("gh-7", "gh-|7"),
        ("Fixes #1", "F|ixes #|1"),
        ("closed: GH-2", "c|losed: GH-|2"),
        ("resolve https://github.com/o/r/issues/4", "r|esolve https:|//github.com/o/r/issues/4"),
        ("it fixes the refund", "it fixes the refund"),
        ("bors r+", "b|ors r+"),
        ("ok to test", "o|k to test"),
        ("Please retest this please.", "Please r|etest this please."),
        ("recheck", "r|echeck"),
        ("we checked it", "we checked it"),
    ],
)
def test_broken_but_not_removed(text: str, broken: str) -> None:
    assert defuse(text) == broken.replace("|", BREAK)
    assert defuse(text).replace(BREAK, "") == text


def test_harmless_text_stays_as_it_is() -> None:
    text = "Expected refund_order at step 4; it was called 2 times (evals/refund.yaml:14)."
    assert defuse(text) == text


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        ("::error::boom", ": :error::boom"),
        ("  ::set-output name=x::y", "  : :set-output name=x::y"),
        ("ok\n::stop-commands::x", "ok\n: :stop-commands::x"),
        ("std::vector and a::b", "std::vector and a::b"),
        ("##[error]boom", "# #[error]boom"),
        ("in the middle ##vso[task.complete]", "in the middle # #vso[task.complete]"),
        ("##teamcity[testFailed]", "# #teamcity[testFailed]"),
        ("## heading", "## heading"),
    ],
)
def test_no_runner_command_survives(text: str, logged: str) -> None:
    assert defuse_log(text) == logged
    assert not re.search(r"(?m)^\s*::|##\w*\[", defuse_log(text))


@pytest.mark.parametrize(
    "piece", [" ", "/", "fixes ", "fix-", "@", "://", "\n", "> ", "ok to ", "#", ":"]
)
def test_patterns_take_linear_time(piece: str) -> None:
    start = time.process_time()
    defuse(piece * 20_000)
    defuse_log(piece * 20_000)
    assert time.process_time() - start < 1


@given(
    st.text(alphabet=st.sampled_from(" \n#12@/:.<-!abcdefghijklmnopqrstuvwxyzGHTW"), max_size=30)
)
def test_what_is_let_through_unseen_holds_no_trigger(text: str) -> None:
    if _ANY.search(text) is None:
        assert all(pattern.search(text) is None for pattern, _ in _STEPS)
