"""Write a check of your own in Python: one decorated function.

    from gateval.checks import Trial, check

    @check
    def is_polite(trial: Trial) -> bool:
        return "please" in trial.output.lower()

A fixture names it: `{type: python, function: checks/polite.py::is_polite}`. The function takes the
trial and returns one of: `True` or `False`; a score from 0 to 1; a `Result`.

This file is the only one of Gateval that a check can import. It runs in the check's own interpreter
(Python 3.8 or newer) without anything installed there, so it needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar, cast  # noqa: UP035

__all__ = ["Result", "Trial", "check"]

_MARK = "__gateval_check__"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Trial:
    """What one run of the agent was asked and what it did.

    `input` has `type` and `payload`, `prompt` is the prompt's text. `output` is the final message.
    `steps` are the trace's, each with `number` (from 1), `kind` (`user`, `assistant`, `tool_call`,
    `tool_result`, `error`), and as it has them `text`, `tool`, `arguments`, `refused`. `trace` says
    who saw them: `gate`, `gateway`, `candidate` (only the agent's word) or `none`; without
    `complete`, there may have been more. `vars` is what the fixture says under `vars`, `reference`
    what it says of a good answer.
    """

    output: str
    prompt: str = ""
    input: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    steps: Sequence[Dict[str, Any]] = ()  # noqa: UP006
    trace: str = "none"
    usage: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    seconds: float = 0.0
    fixture: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    vars: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    complete: bool = False
    reference: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006

    @property
    def expected(self) -> Any:
        """The expected answer of the case, None if it says none."""
        return self.reference.get("answer")

    @property
    def context(self) -> Any:
        """What a good answer rests on (the `reference` of a row), None if the case says none."""
        return self.reference.get("context")

    def calls(self, tool: str) -> List[Dict[str, Any]]:  # noqa: UP006
        """Return the steps that call this tool and were not refused, in order."""
        return [
            step
            for step in self.steps
            if step["kind"] == "tool_call" and step.get("tool") == tool and not step.get("refused")
        ]


@dataclass(frozen=True)
class Result:
    """What a check found. `score` from 0 to 1; `passed`, if given, counts instead of `minScore`.

    `reason` is one sentence for people, `steps` are the numbers of the steps it rests on.
    """

    score: float
    passed: Optional[bool] = None  # noqa: UP045
    reason: str = ""
    steps: Sequence[int] = ()


def check(function: Function) -> Function:
    """Mark a function as a check; nothing else is called. It stays what it is, for tests."""
    setattr(function, _MARK, True)
    return function


def main(file: str, name: str) -> None:
    """Run the check `name` of `file` on the trial from standard input, and print what it found."""
    told = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    told.pop("version", None)
    sys.path[:1] = [str(Path(file).resolve().parent), str(Path.cwd())]
    with contextlib.redirect_stdout(sys.stderr):
        found = _load(file, name)(Trial(**told))
    sys.stdout.write(json.dumps(_answer(found)))


def _load(file: str, name: str) -> Callable[[Trial], Any]:
    inside = f"gateval_check_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(inside, file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[inside] = module
    spec.loader.exec_module(module)
    function: Any = getattr(module, name, None)
    if not getattr(function, _MARK, False):
        raise SystemExit(f"{file} has no function `{name}` with @check above it")
    return cast("Callable[[Trial], Any]", function)


def _answer(found: Any) -> Dict[str, Any]:  # noqa: UP006
    if isinstance(found, bool):
        return {"score": float(found), "passed": found}
    if isinstance(found, (int, float)):
        return {"score": found}
    if not isinstance(found, Result):
        raise SystemExit(f"a check returns True, False, a score or a Result, not {found!r:.100}")
    answer = {"score": found.score, "reason": found.reason, "steps": list(found.steps)}
    return answer if found.passed is None else {**answer, "passed": found.passed}
