from __future__ import annotations

import asyncio

import pytest

from gateval.candidates.once import Once


class Work:
    def __init__(self, *results: str | Exception) -> None:
        self.results = list(results)
        self.runs = 0

    async def __call__(self) -> str:
        self.runs += 1
        await asyncio.sleep(0)
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def test_many_who_wait_get_the_result_of_one() -> None:
    async def main() -> None:
        once: Once[str] = Once()
        work = Work("done", "again")
        assert await asyncio.gather(*(once.get("key", work) for _ in range(20))) == ["done"] * 20
        assert work.runs == 1
        assert await once.get("other", work) == "again"

    asyncio.run(main())


def test_none_is_a_result_too() -> None:
    async def main() -> None:
        once: Once[None] = Once()
        runs = []

        async def work() -> None:
            runs.append(1)

        await once.get("key", work)
        await once.get("key", work)
        assert runs == [1]

    asyncio.run(main())


def test_work_that_raises_or_is_cancelled_is_not_remembered() -> None:
    async def main() -> None:
        once: Once[str] = Once()
        work = Work(OSError("full"), "done")
        with pytest.raises(OSError, match="full"):
            await once.get("key", work)
        waiting = asyncio.create_task(once.get("slow", asyncio.Event().wait))  # type: ignore[arg-type]  # never ends
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await once.get("key", work) == "done"
        assert await asyncio.wait_for(once.get("slow", Work("now")), 5) == "now"

    asyncio.run(main())
