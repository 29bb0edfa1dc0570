"""The runtimes `python` and `node`: an object of the agent's own program, asked by a bridge.

The bridge (`gateval/bridges/`) is run by the agent's interpreter and speaks the contract of
`candidates/contract.py`, a line for each question. It may answer `{"problem": …}` too, a sentence
on why there is no answer. All of that is a claim: the target runs in the same process.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from gateval.bridges import bridge_digest, bridge_files
from gateval.candidates.base import RuntimeContext
from gateval.candidates.command import CommandRuntime, ProcessInvocation
from gateval.candidates.contract import write_question
from gateval.candidates.failures import command_line, no_start, told
from gateval.candidates.options import CommandOptions, NodeOptions, PythonOptions
from gateval.candidates.program import Ran
from gateval.candidates.redirect import DIGITS, lay_out
from gateval.candidates.server import Launch
from gateval.candidates.services import CommandContext
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.text import is_blank
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.safe.legible import shorten

SENTENCE = 800
"""Characters kept of a sentence that a bridge tells."""


class BridgedRuntime(CommandRuntime):
    """Starts the bridge in the agent's interpreter: for each trial, or for each conversation."""

    language: ClassVar[str]
    main: ClassVar[str]
    options_type: ClassVar[type[PythonOptions | NodeOptions]]

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._files = Path()
        name = f"bridge-{self.language}-{bridge_digest(self.language)[:DIGITS]}"
        self._bridge = context.scratch / name

    @functools.cached_property
    def given(self) -> PythonOptions | NodeOptions:
        """The options as the manifest has them."""
        return self.options_type.model_validate(self.agent.runtime.options)

    @functools.cached_property
    def options_given(self) -> CommandOptions:
        """A bridge has none of the options of `command`."""
        return CommandOptions()

    @property
    def line(self) -> tuple[str, ...]:
        """What a person knows it by: the interpreter, the bridge, the target."""
        return *self.interpreter(), self.main, self.given.target

    def interpreter(self) -> tuple[str, ...]:
        """Return the command that starts the interpreter; its files are those of the agent."""
        if not self.given.interpreter:
            return (self.usual(self._files),)
        first, *rest = self.given.interpreter
        own = self.agent.runtime.in_playground and "/" in first
        return str(self._files / first) if own else first, *rest

    @abstractmethod
    def usual(self, files: Path) -> str:
        """Return the interpreter of an agent with these files whose manifest names none."""

    def words(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line of the bridge with these arguments."""
        return *self.interpreter(), str(self._bridge / self.main), *arguments

    async def launch(self) -> Launch | NoAnswer:
        """Prepare where the program works, and put the bridge where candidates can read it."""
        if self.agent.runtime.bridge != bridge_digest(self.language):
            reason = "The plan was made with other bridges. Plan and run with one Gateval."
            return NoAnswer(cause=Cause.GATE, reason=reason)
        launch = await super().launch()
        if isinstance(launch, NoAnswer):
            return launch
        self._files = launch.place.folder
        await lay_out(self.context, self._bridge, bridge_files(self.language))
        place = replace(launch.place, reads=(*launch.place.reads, self._bridge))
        return self._missing() or replace(launch, place=place)

    def _missing(self) -> NoAnswer | None:
        """Return that the interpreter is not there, if it is looked for on PATH and is not."""
        word = self.interpreter()[0]
        path = {**self.context.environ, **self.agent.runtime.env}.get("PATH", os.defpath)
        if "/" in word or shutil.which(word, path=path) is not None:
            return None
        reason = (
            f"`{word}` was not found. Install it where the gate runs, or name another in "
            "runtime.interpreter."
        )
        return no_start(reason, command_line(self.line))

    def asking(
        self, asked: FixtureInput, commands: CommandContext, *, turns: bool = False
    ) -> ProcessInvocation:
        """See `CommandRuntime`."""
        files = commands.place.folder if commands.place else self._files
        mode = "turns" if turns else "once"
        arguments = (str(files), self.given.target, self.given.framework, mode)
        return ProcessInvocation(self.words(arguments), write_question(asked))

    def may_refuse(self, printed: bytes) -> bool:
        """See `CommandRuntime`."""
        return _problem(printed) is not None

    def refused(self, ran: Ran) -> NoAnswer | None:
        """See `CommandRuntime`; what is wrong with the target itself is wrong in each trial."""
        problem = _problem(ran.stdout)
        if problem is None:
            return None
        silence = told(problem.sentence, replace(ran, stdout=b""), command_line(self.line))
        return silence.model_copy(update={"repeats": not problem.asked})


class BridgeProblem(NamedTuple):
    """Why a bridge gives no answer, and whether the target was asked at all."""

    sentence: str
    asked: bool


def _problem(printed: bytes) -> BridgeProblem | None:
    """Return what the last line of a bridge says is wrong, if it does."""
    line = printed.strip().rpartition(b"\n")[2]
    if not line.startswith(b'{"problem":'):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    said = found["problem"]
    if not isinstance(said, str) or is_blank(said):
        return None
    return BridgeProblem(shorten(said, SENTENCE), asked=found.get("asked") is not False)


class PythonRuntime(BridgedRuntime):
    """Starts `bridges/python/bridge.py` in the Python of the agent."""

    language = "python"
    main = "bridge.py"
    options_type = PythonOptions

    def usual(self, files: Path) -> str:
        """See `BridgedRuntime`: a virtual environment, else what is on PATH."""
        for folder in (".venv", "venv"):
            if (files / folder / "bin" / "python").exists():
                return str(files / folder / "bin" / "python")
        return "python3"


_APART = 'exec 3>&1 4<&0 >&2 </dev/null && exec "$@"'
"""Questions come by file 4 and answers go by file 3; what the program and its children print is
for people, which Node cannot see to by itself.
"""


class NodeRuntime(BridgedRuntime):
    """Starts `bridges/node/bridge.mjs` in the Node of the agent."""

    language = "node"
    main = "bridge.mjs"
    options_type = NodeOptions

    def usual(self, files: Path) -> str:
        """See `BridgedRuntime`."""
        del files
        return "node"

    def words(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """See `BridgedRuntime`."""
        return "/bin/sh", "-c", _APART, "sh", *super().words(arguments)
