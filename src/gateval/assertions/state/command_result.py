"""`commandResult`: what a command makes of the playground."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from gateval.assertions.matching.final_message import quoted
from gateval.assertions.state.base import Pattern, StateAssertion
from gateval.assertions.state.file_matches import searched
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.neutral import shorten

if TYPE_CHECKING:
    from gateval.candidates.playground.state import EndState
    from gateval.candidates.process.program import Ran


class CommandResult(StateAssertion):
    """A command ends with this exit code in the playground, and prints this, when the agent is
    done.

    It is a program of this machine, and works in a copy of the playground, as a user of its own,
    without keys and ports; `{playground}` in a word is the copy's path. What a candidate could
    write, it may have changed: bring tests of your own along by a `script`. A command that does
    not start or is late is an error. In a sealed Eval it works in an empty folder beside the copy.
    """

    type: ClassVar[str] = "commandResult"
    starts_program: ClassVar[bool] = True

    command: tuple[str, ...] = Field(
        min_length=1, description="The program and its arguments; no shell reads them."
    )
    stdin: str = Field(default="", description="What it reads on standard input.")
    exit_code: int | None = Field(
        default=0, ge=0, le=255, description="How it has to end; `null` for any way."
    )
    stdout: str | None = Field(
        default=None, description="All that it prints, without white space around it."
    )
    stdout_contains: str | None = Field(default=None, description="A text that it prints.")
    stdout_matches: Pattern | None = Field(
        default=None, description="A pattern (of RE2) that matches in what it prints."
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="How long it may take.")

    async def look(self, state: EndState) -> Assessment:
        """See the class."""
        from gateval.candidates.playground.state import NotLookedAt
        from gateval.candidates.process.program import End

        ran = await state.run(self.command, self.stdin.encode(), self.timeout_seconds)
        line = f"`{shorten(shlex.join(self.command), 120)}`"
        if ran.end is End.TIMED_OUT:
            raise NotLookedAt(Cause.CHECK, f"{line} took over {self.timeout_seconds:g} s")
        if ran.end is not End.EXITED:
            raise NotLookedAt(Cause.CHECK, f"{line} was ended, for {ran.end}")
        printed = ran.stdout.decode("utf-8", "replace")
        met = await self._met(ran, printed, line)
        saw = f"exit code {ran.code} and {quoted(printed.strip())}"
        complaint = ran.stderr.decode("utf-8", "replace").strip()
        saw += f", on standard error {quoted(complaint)}" if complaint and not met else ""
        return self.result(met=met, expected=f"{line} to {self._asked()}", saw=saw)

    async def _met(self, ran: Ran, printed: str, line: str) -> bool:
        if self.exit_code is not None and ran.code != self.exit_code:
            return False
        if self.stdout is not None and printed.strip() != self.stdout.strip():
            return False
        if self.stdout_contains is not None and self.stdout_contains not in printed:
            return False
        if self.stdout_matches is None:
            return True
        return await searched(self.stdout_matches, printed, f"what {line} prints") is not None

    def _asked(self) -> str:
        asked = [] if self.exit_code is None else [f"end with {self.exit_code}"]
        asked += [] if self.stdout is None else [f"print {quoted(self.stdout)}"]
        if self.stdout_contains is not None:
            asked.append(f"print something with {quoted(self.stdout_contains)}")
        if self.stdout_matches is not None:
            asked.append(f"print what matches /{self.stdout_matches}/")
        return " and ".join(asked) or "end"
