"""The commands: each has a file, each file is one, and none loads the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gateval.cli
from gateval.cli.main import COMMANDS, load


def test_every_command_has_a_file_and_every_file_is_a_command() -> None:
    folder = Path(gateval.cli.__file__).parent
    found = {path.stem.rstrip("_"): path.parent.name for path in folder.glob("*/*.py")}
    assert {name: room for name, room in found.items() if name != "__init"} == COMMANDS
    assert [load(name).name for name in COMMANDS] == list(COMMANDS)


def test_a_command_loads_no_other() -> None:
    code = (
        "import sys; from gateval.cli.main import run; run(['schema']); "
        f"print([n for n in {list(COMMANDS)} if any(m.startswith('gateval.cli.') and m.endswith(f'.{{n}}') for m in sys.modules)], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['schema']"
