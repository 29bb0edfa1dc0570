"""The folder from which a check in Python imports `gateval.checks`, and nothing else of us."""

from __future__ import annotations

from pathlib import Path

import gateval.checks

LIBRARY = "{library}"
"""Stands in a word of a check's command for the folder that holds `gateval.checks`."""

RUNNER = "run_check.py"
"""The file in there that runs a function: it is told the file and the name."""

_RUNNER = "import sys\nfrom gateval.checks import main\nmain(*sys.argv[1:])\n"


def write_library(folder: Path) -> Path:
    """Write the folder from which a check imports `gateval.checks` and nothing else of us."""
    files = {
        RUNNER: _RUNNER,
        "gateval/__init__.py": "",
        "gateval/checks.py": Path(gateval.checks.__file__).read_text(encoding="utf-8"),
    }
    for one in (folder, folder / "gateval"):
        one.mkdir(mode=0o755)
        one.chmod(0o755)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o644)
    return folder
