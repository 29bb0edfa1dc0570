"""The processes that answer for a tree, and what is compared between two of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]

Json = dict[str, Any]


class Side:
    """A process that imports one tree, and is asked."""

    _made = 0

    def __init__(self, tree: Path) -> None:
        self.tree = tree.resolve()
        Side._made += 1
        seed = {"PYTHONHASHSEED": str(Side._made)}  # what rests on the order of a set differs
        words = [sys.executable, "-P", "-W", "ignore", str(ROOT / "tests/oracle/side.py")]
        self._process = subprocess.Popen(
            [*words, str(self.tree), str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **seed},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if error is not None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, question: Json) -> Iterator[Json]:
        """Yield what it answers to a question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            answer: Json = json.loads(line)
            if answer.get("done"):
                return
            yield answer
        raise RuntimeError(f"the side of {self.tree} ended with {self._process.wait()}")

    def one(self, question: Json) -> Json:
        """Return its only answer."""
        (answer,) = self.ask(question)
        return answer


def both(sides: Sequence[Side], question: Json) -> list[list[Json]]:
    """Return what each side answers to the same question, asked at once."""
    with ThreadPoolExecutor(len(sides)) as pool:
        return list(pool.map(lambda side: list(side.ask(question)), sides))


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield where two values of JSON differ, with both values."""
    if type(old) is type(new) and isinstance(old, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{where}.{key}")
    elif type(old) is type(new) and isinstance(old, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif (type(old), old) != (type(new), new):
        yield f"{where or '.'}\n    old {old!r:.400}\n    new {new!r:.400}"
