"""The runtime `agentv`: one line for the shell per trial, with the placeholders of AgentV."""

from __future__ import annotations

import functools
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.command import AskedProcess, CommandRuntime
from gateval.candidates.contract import agentv as contract
from gateval.candidates.contract.agentv_answer import read_output
from gateval.candidates.contract.options import AgentvOptions

if TYPE_CHECKING:
    from gateval.candidates.beside.commands import Ground
    from gateval.candidates.contract.question import ProgramAnswer
    from gateval.domain.manifests.fixture import FixtureInput

_SHELL = "/bin/sh"
_ANSWER = "answer.json"


class AgentvRuntime(CommandRuntime):
    """Runs `runtime.line` in the export for each trial. Speaks `contract/agentv.py`."""

    @functools.cached_property
    def given(self) -> AgentvOptions:
        """The options as the manifest has them."""
        return AgentvOptions.model_validate(self.agent.runtime.options)

    @property
    def line(self) -> tuple[str, ...]:
        """See `CommandRuntime`."""
        return _SHELL, "-c", self.given.line

    def asking(self, asked: FixtureInput, ground: Ground) -> AskedProcess:
        """Write prompt and files into a folder that no program has seen before: what an earlier
        turn left in HOME may lead anywhere.
        """
        folder = Path(tempfile.mkdtemp(prefix="asked-", dir=ground.private.home.parent))
        prompt, files = contract.prompt_of(asked), contract.files_of(asked)
        _write(folder / "prompt.txt", prompt.encode("utf-8", "replace"))
        places = [folder / "files" / one.name for one in files]
        for place, one in zip(places, files, strict=True):
            _write(place, one.data)
        names = [str(place) for place in places]
        values = {
            "PROMPT": shlex.quote(prompt),
            "PROMPT_FILE": shlex.quote(str(folder / "prompt.txt")),
            "FILES": contract.listed_files(names, self.given.files_format),
            "OUTPUT_FILE": shlex.quote(str(folder / _ANSWER)),
            "EVAL_ID": shlex.quote(contract.case_id(asked)),
            "ATTEMPT": "0",
            "GUIDELINES": "''",
        }
        line = contract.filled_line(self.given.line, values, self.context.environ)
        answer = (folder, _ANSWER) if "{OUTPUT_FILE}" in self.given.line else None
        return AskedProcess((_SHELL, "-c", line), writes=(folder,), answer=answer)

    def said(self, answered: bytes, asked: FixtureInput) -> ProgramAnswer:
        """See `CommandRuntime`."""
        return read_output(answered, asked.prompt)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
