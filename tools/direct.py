"""Writes `requirements/run.in` and `dev.in` from `pyproject.toml`, for `make lock`.

pip-compile, uv and Dependabot can all compile a file of requirements; Dependabot does not compile a
`pyproject.toml`. People edit `pyproject.toml` alone; a test compares.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOTE = "# Generated from pyproject.toml by `make lock`.\n"


def files(project: Path = ROOT / "pyproject.toml") -> dict[str, str]:
    """Return what each generated file holds, by its name."""
    content = tomllib.loads(project.read_text("utf-8"))
    run = content["project"]["dependencies"]
    dev = group(content["dependency-groups"], "dev")
    return {"run.in": NOTE + lines(run), "dev.in": f"{NOTE}-r run.in\n{lines(dev)}"}


def group(groups: dict[str, list[str | dict[str, str]]], name: str) -> Iterator[str]:
    """Yield the requirements of a group, those of included groups in their place."""
    for one in groups[name]:
        if isinstance(one, str):
            yield one
        else:
            yield from group(groups, one["include-group"])


def lines(requirements: Iterator[str] | list[str]) -> str:
    """Return requirements sorted, one on each line."""
    return "".join(f"{one}\n" for one in sorted(requirements))


if __name__ == "__main__":
    for file, text in files().items():
        (ROOT / "requirements" / file).write_text(text, encoding="utf-8")
