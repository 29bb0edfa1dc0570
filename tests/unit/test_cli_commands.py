"""The commands: each has a file, each file is one."""

from __future__ import annotations

from pathlib import Path

import gateval.cli
from gateval.cli.main import COMMANDS, load


def test_every_command_has_a_file_and_every_file_is_a_command() -> None:
    folder = Path(gateval.cli.__file__).parent
    found = {path.stem.rstrip("_"): path.parent.name for path in folder.glob("*/*.py")}
    assert {name: room for name, room in found.items() if name != "__init"} == COMMANDS
    assert [load(name).name for name in COMMANDS] == list(COMMANDS)
