"""Progress in a plain log and in a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import termios
from itertools import pairwise

import pytest

from gateval.adapters.progress import PlainProgress, show_progress
from gateval.domain.trials.trial import Outcome, Side, Trial, TrialKey
from gateval.events import (
    CandidatePreparing,
    CandidateWarned,
    Event,
    RunFinished,
    RunStarted,
    RunWarned,
    TrialFinished,
    TrialsAdded,
    TrialStarted,
)
from tests.helpers.shop import build_shop, plan_of


@pytest.fixture(scope="module")
def some_events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """A run of two trials, one of which could not be measured."""
    shop = build_shop(tmp_path_factory.mktemp("progress") / "shop")
    shop.write("agents/support.yaml", (shop.path / "agents/support.yaml").read_text() + "  x: 1\n")
    plan = plan_of(shop)
    keys = [TrialKey(eval="e", fixture="f", side=side, repetition=1) for side in Side]
    return [
        RunStarted(plan=plan),
        CandidatePreparing(agent="support", side="head", what="export"),
        TrialFinished(trial=Trial(key=keys[0], outcome=Outcome.PASS)),
        TrialFinished(trial=Trial(key=keys[1], outcome=Outcome.ERROR)),
        RunFinished(finished=2, planned=4),
    ]


def read_all(terminal: int) -> str:
    """What was written to the other end of a terminal so far."""
    os.set_blocking(terminal, False)
    pieces = []
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(terminal, 100_000):
            pieces.append(piece)
    return b"".join(pieces).decode()


def test_plain_lines(some_events: list[Event]) -> None:
    stream = io.StringIO()
    with show_progress(stream, plain=True) as listen:
        for event in some_events:
            listen(event)
    assert stream.getvalue() == (
        "Running 4 trials.\n"
        "Preparing support (head): export\n"
        "1/4 trials: 1 pass\n"
        "2/4 trials: 1 pass, 1 error\n"
    )


def test_plain_lines_stay_few_however_often_something_is_looked_at_again(
    some_events: list[Event],
) -> None:
    stream = io.StringIO()
    with show_progress(stream, plain=True) as listen:
        listen(some_events[0])
        for number in range(2, 202):
            keys = [TrialKey(eval="e", fixture="f", side=side, repetition=number) for side in Side]
            listen(TrialsAdded(keys=tuple(keys)))
            for key in keys:
                listen(TrialFinished(trial=Trial(key=key, outcome=Outcome.PASS)))
        listen(RunFinished(finished=400, planned=404))
    lines = stream.getvalue().splitlines()
    assert len(lines) < 80
    assert lines[-1] == "400/404 trials: 400 pass", "the last is told in any case"
    assert any(line.endswith(" more, where something looks worse or is close.") for line in lines)


def test_a_long_run_says_about_when_it_ends_and_is_not_silent(some_events: list[Event]) -> None:
    """Two thousand trials of two minutes, four side by side, of which few end in a tenth."""
    stream, now = io.StringIO(), [1_000.0]
    listen = PlainProgress(stream, lambda: now[0])
    started = some_events[0]
    assert isinstance(started, RunStarted)
    listen(started._replace(trials=2_000))
    keys = [TrialKey(eval="e", fixture=str(n), side=Side.HEAD, repetition=1) for n in range(2_000)]
    for number, key in enumerate(keys):
        listen(TrialStarted(key=key))
        if number % 4 == 3:
            now[0] += 120
            for each in keys[number - 3 : number + 1]:
                listen(TrialFinished(trial=Trial(key=each, outcome=Outcome.PASS)))
    listen(RunFinished(finished=2_000, planned=2_000))
    lines = stream.getvalue().splitlines()
    assert lines[:2] == [
        "Running 2,000 trials.",
        "1/2,000 trials: 1 pass, about 26.6 h left",
    ]
    assert len(lines) < 60
    half = next(line for line in lines if line.startswith("1,"))
    assert re.search(r", about [78]\.\d h left$", half)
    assert lines[-1] == "2,000/2,000 trials: 2,000 pass"
    seconds = [int(line.split("/")[0].replace(",", "")) * 30 for line in lines[1:]]
    apart = [after - before for before, after in pairwise([0, *seconds])]
    assert max(apart) <= 60_000 / 10 + 120


def test_a_terminal_gets_a_moving_line(some_events: list[Event]) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        with show_progress(terminal, plain=False) as listen:
            for event in some_events:
                listen(event)
        shown = read_all(ours)
    os.close(ours)
    assert "2/4" in shown
    assert "1 pass, 1 error" in shown


def test_a_broken_stream_does_not_end_the_run(some_events: list[Event]) -> None:
    stream = io.StringIO()
    with show_progress(stream, plain=True) as listen:
        stream.close()
        for event in some_events:
            listen(event)


WARNED = CandidateWarned(
    agent="support", side="head", message="said\r\n::error::x \x1b[31mred :fire:"
)


def test_a_warning_is_one_clean_line_in_a_plain_log() -> None:
    stream = io.StringIO()
    with show_progress(stream, plain=True) as listen:
        listen(WARNED)
    said = stream.getvalue()
    assert said.startswith("Warning: support (head): said ")
    assert said.count("\n") == 1
    assert not {"\r", "\x1b"} & set(said)


@pytest.mark.parametrize("plain", [False, True])
def test_a_long_warning_is_wrapped_for_a_terminal(*, plain: bool) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with os.fdopen(theirs, "w") as terminal:
        with show_progress(terminal, plain=plain) as listen:
            listen(RunWarned(message="word " * 70))
        lines = [re.sub(r"\x1b\[[\d;?]*\w", "", line) for line in read_all(ours).splitlines()]
    os.close(ours)
    said = [line for line in lines if "word" in line]
    assert len(said) == 5
    assert all(len(line) <= 80 and line.rstrip().endswith("word") for line in said)


def test_a_warning_stays_above_the_moving_line(some_events: list[Event]) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        with show_progress(terminal, plain=False) as listen:
            listen(some_events[0])
            listen(WARNED)
        written = read_all(ours)
    os.close(ours)
    assert "Warning: support (head): said " in written
    assert "\x1b[31mred" not in written
    assert ":fire:" in written
