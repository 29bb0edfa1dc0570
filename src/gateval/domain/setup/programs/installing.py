"""How a program's dependencies are installed: told by the lock file beside it or above it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from posixpath import dirname, join

from gateval.domain.setup.programs.found import SetUp
from gateval.domain.setup.programs.golang import go_set_up

_VENV, _MODULES = (".venv",), ("node_modules",)
_PIP = "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt"
_UV_PIP = "uv venv --quiet .venv && uv pip install --quiet --compile-bytecode -r pyproject.toml"

PYTHON = {
    "uv.lock": SetUp(
        ("uv", "sync", "--frozen", "--no-install-project", "--compile-bytecode"),
        ("pyproject.toml", "uv.lock"),
        _VENV,
    ),
    "poetry.lock": SetUp(
        (
            "env",
            "POETRY_VIRTUALENVS_IN_PROJECT=true",
            "poetry",
            "install",
            "--no-root",
            "--compile",
        ),
        ("pyproject.toml", "poetry.lock"),
        _VENV,
    ),
    "pdm.lock": SetUp(
        ("env", "PDM_CHECK_UPDATE=false", "pdm", "sync", "--no-self"),
        ("pyproject.toml", "pdm.lock"),
        _VENV,
    ),
    "Pipfile.lock": SetUp(
        ("env", "PIPENV_VENV_IN_PROJECT=1", "pipenv", "sync"), ("Pipfile", "Pipfile.lock"), _VENV
    ),
    "requirements.txt": SetUp(("sh", "-c", _PIP), ("requirements.txt",), _VENV),
}
"""What installs what these files name, in this order of preference; all work offline-locked."""

NODE = {
    "package-lock.json": SetUp(("npm", "ci"), ("package.json", "package-lock.json"), _MODULES),
    "pnpm-lock.yaml": SetUp(
        ("pnpm", "install", "--frozen-lockfile"),
        ("package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
        _MODULES,
    ),
    "yarn.lock": SetUp(
        ("yarn", "install", "--frozen-lockfile"), ("package.json", "yarn.lock"), _MODULES
    ),
    "bun.lock": SetUp(
        ("bun", "install", "--frozen-lockfile"), ("package.json", "bun.lock"), _MODULES
    ),
}

UNLOCKED = SetUp(("sh", "-c", _UV_PIP), ("pyproject.toml",), _VENV)
"""What installs the dependencies of a `pyproject.toml` without a lock file."""

_PROJECTS = ("pyproject.toml", "package.json", "setup.py", "go.mod")

PROJECT_TEXTS = ("pyproject.toml", "package.json", "requirements.txt")
"""Files whose text says more of a project than that it is there."""

PROJECT_FILES = frozenset(
    {*_PROJECTS, *PYTHON, *NODE, "Pipfile", "pnpm-workspace.yaml", ".yarnrc.yml"}
)
"""Files that say what a project is made of and what it depends on."""


def project_of(path: str, files: Container[str]) -> tuple[str, SetUp | None]:
    """Return the folder that a program works in, and how its dependencies are installed.

    That is the nearest folder above it with a lock file, else with a project file, else its own.
    `files` are all tracked paths.
    """
    if path.endswith(".go"):
        root = next((one for one in folders_above(path) if join(one, "go.mod") in files), None)
        return dirname(path) if root is None else root, go_set_up(path, root or "", files)
    known = PYTHON if path.endswith(".py") else NODE
    for folder in folders_above(path):
        for lock, setup in known.items():
            if join(folder, lock) in files:
                inputs = tuple(one for one in setup.inputs if join(folder, one) in files)
                return folder, setup._replace(inputs=inputs)
    for folder in folders_above(path):
        if any(join(folder, one) in files for one in _PROJECTS):
            return folder, None
    return dirname(path), None


def folders_above(path: str) -> Iterator[str]:
    """Yield the folder of a file and those around it, the nearest first; "" is the root."""
    folder = dirname(path)
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""
