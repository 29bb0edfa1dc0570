"""Signals around a run: what listened before it listens after it."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType

from gateval.app.guard import ENDING, handlers_kept


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def test_a_loop_that_listened_takes_no_handler_away() -> None:
    async def listen() -> None:
        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, print)

    before = {number: signal.signal(number, _stop) for number in ENDING}
    try:
        with handlers_kept():
            asyncio.run(listen())
        assert [signal.getsignal(number) for number in ENDING] == [_stop] * len(ENDING)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
