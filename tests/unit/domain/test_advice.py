"""What to write where nothing had installed what a program needs."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.planning.outside import missing_interpreters
from gateval.domain.problems import SourceLocation
from gateval.domain.setup.program_install import project_advice, set_up_advice

UV = "setup: {run: [uv, sync, --frozen, --no-install-project, --compile-bytecode], inputs: [pyproject.toml, uv.lock]"
NODE_SAYS = "Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@ai-sdk/openai' imported from /x"


@pytest.mark.parametrize(
    ("line", "cwd", "tracked", "said"),
    [
        (
            "ModuleNotFoundError: No module named 'openai.types'",
            "bot",
            {"bot/agent.py", "bot/uv.lock", "bot/pyproject.toml"},
            f"The module openai is not installed, and the Agent has no `setup`: write `{UV}, ",
        ),
        (
            "ModuleNotFoundError: No module named 'yaml'",
            "a/b",
            {"uv.lock", "pyproject.toml"},
            "write `cwd: ., setup: {run: [uv, sync, --frozen, --no-install-project, --compile-bytecode], inputs: [py",
        ),
        (NODE_SAYS, "", {"package-lock.json", "package.json"}, "The package @ai-sdk/openai is"),
        (NODE_SAYS, "", {"package-lock.json", "package.json"}, "{run: [npm, ci], inputs: [pack"),
        ("Error: Cannot find module 'openai/x.js'", "", {"yarn.lock"}, "The package openai is"),
        ("Error: Cannot find module 'x'", "", {"pnpm-lock.yaml"}, "[pnpm, install, --frozen-lock"),
        ("sh: 1: uvicorn: not found", "", {"requirements.txt"}, "The command uvicorn is"),
        ("run.sh: line 3: jq: command not found", "", set(), "docs/guides/dependencies.md has one"),
        ("Error: Cannot find module './lib/x.js'", "", {"yarn.lock"}, ""),
        ("Error: Cannot find module '/abs/x.js'", "", {"yarn.lock"}, ""),
        ("the answer was not found", "", {"uv.lock"}, ""),
        ("404: not found: page", "", {"uv.lock"}, ""),
    ],
)
def test_advice(line: str, cwd: str, tracked: set[str], said: str) -> None:
    found = set_up_advice(("$ python3 agent.py", line), cwd, tracked)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("importlib.metadata.PackageNotFoundError: No package metadata was found for helpdesk", "The package helpdesk is not installed"),
        ("PackageNotFoundError: helpdesk", ""),
    ],
)  # fmt: skip
def test_a_project_that_asks_for_its_own_version_is_installed_itself(line: str, said: str) -> None:
    found = project_advice(("$ python3 agent.py", line))
    assert said in found
    assert bool(said) == ("uv pip install --no-deps ." in found)


def agent(runtime: dict[str, object]) -> Agent:
    spec = {"runtime": {"type": "command", **runtime}}
    return Agent.model_validate(
        {
            "name": "bot",
            "path": "bot.yaml",
            "place": SourceLocation(file="bot.yaml", line=3),
            "spec": spec,
            "digest": "0" * 64,
        }
    )


@pytest.mark.parametrize(
    ("runtime", "lacks"),
    [
        ({"command": ["node", "agent.js"]}, ["spec.runtime.command[0]"]),
        ({"command": [".venv/bin/node"]}, []),
        ({"command": ["{{ prompt }}"]}, []),
        ({"command": ["python3", "a.py"], "setup": ["npm", "ci"]}, ["spec.runtime.setup[0]"]),
        (
            {
                "command": ["python3", "a.py"],
                "setup": {"run": ["npm", "ci"], "inputs": ["a"], "creates": ["b"]},
            },
            ["spec.runtime.setup.run[0]"],
        ),
        (
            {"command": ["python3"], "setup": ["env", "A=b", "poetry", "install"]},
            ["spec.runtime.setup[2]"],
        ),
        (
            {"command": ["python3"], "setup": ["sh", "-c", "pnpm install && pnpm add tsx"]},
            ["spec.runtime.setup[2]"],
        ),
        ({"command": ["python3"], "setup": ["sh", "-c", "export A=b; npm ci"]}, []),
        ({"command": ["python3"], "setup": ["sh", "-c", "python3 -m venv .venv"]}, []),
        ({"command": ["python3"], "setup": ["sh", "-c", " "]}, []),
    ],
)
def test_what_a_machine_lacks(runtime: dict[str, object], lacks: list[str]) -> None:
    catalogue = Catalogue(agents=(agent(runtime),))
    found = list(missing_interpreters(catalogue, {"python3": "/bin/python3", "sh": "/bin/sh"}.get))
    assert [one.path for one in found] == lacks
    assert all("gateval/gateval/runner" in one.message for one in found)
