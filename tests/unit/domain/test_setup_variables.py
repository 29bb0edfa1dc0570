"""Which variables a program reads, and which package managers stand in for others."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateval.domain.setup.program import SetUp
from gateval.domain.setup.program_install import mended_set_up, with_tools
from gateval.domain.setup.variables import example_values, variables_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("os.environ['TAVILY_API_KEY']", ("TAVILY_API_KEY",)),
        ("os.environ['TAVILY_API_KEY'] = key", ()),
        ("os.getenv('RAG_CORPUS'), os.environ.get(\"RAG_CORPUS\")", ("RAG_CORPUS",)),
        ("os.getenv('PLACE', 'here')", ()),
        ("process.env.DATABASE_URL; process.env.PORT", ("DATABASE_URL",)),
        ("process.env.PLACE ?? 'x'; process.env.AREA || 'y'", ()),
        ("process.env.GITHUB_TOKEN; process.env.GITHUB_REPOSITORY", ("GITHUB_TOKEN",)),
        ("os.environ['OPENAI_API_KEY']; os.environ['LANGSMITH_PROJECT']", ()),
    ],
)
def test_what_a_program_reads_without_a_default(text: str, names: tuple[str, ...]) -> None:
    assert variables_of(text) == names


def test_an_example_lists_them() -> None:
    text = "# keys\nTAVILY_API_KEY=\nexport DESK_URL = https://x\nOPENAI_API_KEY=\nnot this=\n"
    assert variables_of(text, example=True) == ("TAVILY_API_KEY", "DESK_URL")


def test_an_example_gives_values_but_no_secrets_gaps_or_places() -> None:
    text = """
ALGORITHM=HS256 # of tokens
export DB_TYPE = "sqlite"
MINUTES='30'
WORKERS: 3
DB_PATH=./desk.db
DESK_URL=postgresql+asyncpg://desk:desk@localhost:5432/desk
CACHE=redis://127.0.0.1:6379
DESK_API_URL=https://desk.invalid
HOOK=https://hooks.invalid/desk
SECRET_KEY=0123456789
DB_PASS=hunter2
DESK_MODEL=your-llm-model
DESK_NAME=<name>
DESK_HOME=/Users/somebody/desk
DESK_PORT=8000
USE_TEST_MODEL=true
LLM_PROVIDER=mock
GREETING="Hello {name}, {services.db}"
EMPTY=
OPENAI_API_KEY=sk-0123
LINE="a\x07b"
"""
    for ends in ("\n", "\r\n"):
        found = example_values(text.replace("\n", ends))
        assert found.plain == {
            "ALGORITHM": "HS256",
            "DB_TYPE": "sqlite",
            "MINUTES": "30",
            "DB_PATH": "./desk.db",
        }
        assert found.addresses == {
            "DESK_URL": "postgresql+asyncpg://desk:desk@localhost:5432/desk",
            "CACHE": "redis://127.0.0.1:6379",
        }


def test_of_two_examples_the_nearest_counts_whatever_the_order_of_sets() -> None:
    text = "import os\nimport openai\nMODE = os.environ['MODE']\nif __name__ == '__main__':\n    openai.x(input())\n"
    files = {
        "desk/pyproject.toml": "[project]\nname = 'desk'\n",
        "desk/main.py": text,
        ".env.example": "MODE=root\nPLACE=root\n",
        "desk/.env.example": "MODE=near\n",
    }
    code = f"from gateval.domain.setup.program_search import find_programs; f = {files!r}; print(find_programs(f, f)[0].examples)"
    for seed in "01234567":
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert dict(ast.literal_eval(done.stdout)) == {"MODE": "near", "PLACE": "root"}


PNPM = SetUp(("pnpm", "install", "--frozen-lockfile"), ("package.json", "pnpm-lock.yaml"), ())
YARN = SetUp(("sh", "-c", "yarn install --frozen-lockfile && yarn add tsx"), ("yarn.lock",), ())
UV = SetUp(("uv", "sync", "--frozen"), ("uv.lock",), ())
POETRY = SetUp(
    ("env", "POETRY_VIRTUALENVS_IN_PROJECT=true", "poetry", "install"), ("poetry.lock",), ()
)


@pytest.mark.parametrize(
    ("setup", "here", "line"),
    [
        (PNPM, "npx", "npx --yes pnpm@10.2.1 install --frozen-lockfile"),
        (YARN, "npx", "npx --yes yarn install --frozen-lockfile && npx --yes yarn add tsx"),
        (POETRY, "uv", "POETRY_VIRTUALENVS_IN_PROJECT=true uvx poetry install"),
        (UV, "", ".tools/bin/pip install --quiet uv && .tools/bin/uv sync --frozen"),
    ],
)
def test_a_package_manager_that_is_not_here_is_replaced(setup: SetUp, here: str, line: str) -> None:
    project = '{"packageManager": "pnpm@10.2.1"}'
    found = with_tools(setup, lambda name: name == here, project)
    assert found.run[:2] == ("sh", "-c")
    assert found.run[2].endswith(line)
    assert found.inputs == setup.inputs
    assert with_tools(setup, lambda _: True, project) == setup


def test_pnpm_is_the_one_that_wrote_the_lock_file() -> None:
    found = with_tools(PNPM, lambda name: name == "npx", "{}\nlockfileVersion: '6.0'\n")
    assert found.run[2] == "npx --yes pnpm@8 install --frozen-lockfile"


def test_where_nothing_stands_in_it_stays_as_it_is() -> None:
    assert with_tools(PNPM, lambda _: False) == PNPM


NPM_CI = "npm error code EUSAGE\nnpm error `npm ci` can only install packages when in sync"
CONFLICT = "npm error code ERESOLVE\nnpm error ERESOLVE could not resolve"
OUTDATED = " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with frozen-lockfile"
UPDATE = "error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`."
HAD = "error: lockfile had changes, but lockfile is frozen"
AGED = (
    "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock`"
)


@pytest.mark.parametrize(
    ("run", "said", "mended"),
    [
        ("npm ci", NPM_CI, "npm install"),
        ("npm ci && npm install --no-save tsx", NPM_CI, "npm install && npm install --no-save tsx"),
        ("npm install", NPM_CI, None),
        ("npm install", CONFLICT, "npm install --legacy-peer-deps"),
        ("npm install --legacy-peer-deps", CONFLICT, None),
        ("pnpm install --frozen-lockfile", OUTDATED, "pnpm install --no-frozen-lockfile"),
        ("pnpm install --no-frozen-lockfile", OUTDATED, None),
        ("yarn install --frozen-lockfile", UPDATE, "yarn install"),
        ("bun install --frozen-lockfile", HAD, "bun install"),
        ("yarn install --immutable", "The lockfile would have been modified", "yarn install --no-immutable"),
        (
            "env A=true uvx poetry install --no-root",
            AGED,
            "env A=true uvx poetry lock -q && env A=true uvx poetry install --no-root",
        ),
        ("env A=true poetry lock -q && env A=true poetry install", AGED, None),
        ("npm ci", "npm error 404 Not Found", None),
    ],
)  # fmt: skip
def test_a_set_up_goes_on_as_its_package_manager_says(
    run: str, said: str, mended: str | None
) -> None:
    for words in (("sh", "-c", run), *[tuple(run.split())] * ("&&" not in run)):
        found = mended_set_up(SetUp(words, ("package.json",), ("node_modules",)), said.split("\n"))
        line = found and (found.run[-1] if found.run[0] == "sh" else " ".join(found.run))
        assert line == mended
