"""The commands: each has a file, each file is one, and none loads the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gateval.cli
from gateval.cli.main import COMMANDS, load


def test_every_command_has_a_file_and_every_file_is_a_command() -> None:
    stems = {path.stem for path in Path(gateval.cli.__file__).parent.glob("*.py")}
    files = {"import" if stem == "import_" else stem for stem in stems}
    assert files == {*COMMANDS, "__init__", "main", "options"}
    assert [load(name).name for name in COMMANDS] == list(COMMANDS)


def test_a_command_loads_no_other() -> None:
    code = (
        "import sys; from gateval.cli.main import run; run(['schema']); "
        f"print([n for n in {COMMANDS} if f'gateval.cli.{{n}}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['schema']"
