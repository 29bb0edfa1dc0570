"""The line that answers a question, told from one that the program printed before it read that.

A program that greets first has its answers shifted by one, each of them plausible in its place. The
pipe tells: what is printed while the question still lies in it unread is no answer to it.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from gateval.candidates.process.running import Running

SAMPLE_SECONDS = 0.005
"""How often it is looked whether the question was read, and how long a line may be on its way."""

UNREAD_SECONDS = 0.3
"""A program that waits for a question reads it sooner, on a busy machine too."""

LONGEST_SECONDS = 3.0
"""How much longer at most a line is waited for that may still come."""


class AnswerLine(NamedTuple):
    """A line, with its break unless the program ended. `in_step`: it was printed after the question
    was read, and nothing before; `early`: before. A program that answers at once is neither. From
    the second question on, one may have been read together with the one before.
    """

    text: bytes
    in_step: bool
    early: bool


async def answer_line(running: Running, since: int) -> AnswerLine:
    """Wait for the line behind the first `since` printed bytes, once the question was told."""
    loop = asyncio.get_running_loop()
    began, line = loop.time(), asyncio.ensure_future(running.line(since))
    try:
        while not (line.done() or running.heard):
            await asyncio.wait({line}, timeout=SAMPLE_SECONDS)
        unread = loop.time() - began >= UNREAD_SECONDS and not running.ended.done()
        if not line.done():
            await asyncio.sleep(SAMPLE_SECONDS)
        printed = running.stdout.total > since
        return AnswerLine(await line, in_step=not printed, early=printed and unread)
    finally:
        line.cancel()


async def linger(running: Running, slowest: float) -> None:
    """Wait until it prints more, but no longer than one that still owes an answer needs for that;
    `slowest` are the seconds that it took for one.
    """
    more = running.stdout.more()
    seconds = UNREAD_SECONDS + min(2 * slowest, LONGEST_SECONDS)
    await asyncio.wait({more, running.ended}, timeout=seconds)
