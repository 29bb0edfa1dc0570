"""Which tracked file a failed program asked for, from what it printed last."""

from __future__ import annotations

import pytest

from gateval.domain.plan.absent import (
    AbsentFile,
    Surroundings,
    absent_files,
    find_absent,
    missed_sentence,
)

AROUND = Surroundings(
    given=["bots/desk/agent.py", "bots/desk/money.json"],
    outside=[
        "libs/common/money.py",
        "libs/common/__init__.py",
        "bots/other/agent.py",
        "bots/other/util.js",
        "web/lib/util.js",
        "web/package.json",
        "data/with space/prices.csv",
        "uv.lock",
        "pyproject.toml",
        "Gemfile",
        "Pipfile",
        "bots/__init__.py",
    ],
)

ASKED = {
    "python module": ("ModuleNotFoundError: No module named 'money'", "libs/common/money.py"),
    "python package": ("No module named 'common.money'", "libs/common/money.py"),
    "part of a package": ("No module named 'common.rates'", "libs/common/__init__.py"),
    "python -m": ("/usr/bin/python3: No module named common", "libs/common/__init__.py"),
    "node": ("Error: Cannot find module '../../web/lib/util'", "web/lib/util.js"),
    "node, nearest": ("Error: Cannot find module './util.js'", "bots/other/util.js"),
    "node esm": (
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'web/lib/util.js' imported from x",
        "web/lib/util.js",
    ),
    "enoent": (
        "Error: ENOENT: no such file or directory, open '../../web/package.json'",
        "web/package.json",
    ),
    "python open": (
        "FileNotFoundError: [Errno 2] No such file or directory: '../../data/with space/prices.csv'",
        "data/with space/prices.csv",
    ),
    "shell": ("sh: 1: cannot open ../../uv.lock: No such file", "uv.lock"),
    "option": ("pip: could not open -r../../uv.lock: not found", "uv.lock"),
    "uv, upward": (
        "error: No `pyproject.toml` found in current directory or any parent directory",
        "pyproject.toml",
    ),
    "pnpm, upward": ("ERR_PNPM_NO_PKG_MANIFEST  No package.json found in /x", "web/package.json"),
    "bundler, upward": ("Could not locate Gemfile or .bundle/ directory", "Gemfile"),
    "pipenv, upward": ("No Pipfile found! Aborting.", "Pipfile"),
    "a parent package": (
        "ImportError: attempted relative import with no known parent package",
        "bots/__init__.py",
    ),
    "a parent package, further up": (
        "ImportError: attempted relative import beyond top-level package",
        "bots/__init__.py",
    ),
    "go": ("open ../../uv.lock: no such file or directory", "uv.lock"),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_was_asked_for_is_found(case: str) -> None:
    line, path = ASKED[case]
    found = find_absent(["starting", line], "bots/desk", AROUND)
    assert found is not None
    assert found.path == path
    folder = path.rpartition("/")[0]
    assert found == AbsentFile(path, f"/{folder}/**" if folder else f"/{path}")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ValueError: uv.lock is odd",
        "No problems found in uv.lock",
        "0 errors found: uv.lock is fine",
        'File "agent.py", line 3: no such file',
        "No such file or directory: 'money.json'",
        "No module named 'requests'",
        "FileNotFoundError: '/etc/gateval/uv.toml'",
        "not found: ../../../../../../etc/passwd",
        "not found: " + "a/" * 5000,
        "not found " + "x.y " * 5000,
    ],
)
def test_nothing_is_made_up(line: str) -> None:
    assert find_absent([line], "bots/desk", AROUND) is None


def test_all_that_was_asked_for_is_found_the_likeliest_first_and_with_a_bound() -> None:
    lines = ["cannot find uv.lock", "fine: Gemfile", "no such file: Gemfile or money.py"]
    found = [one.path for one in absent_files(lines, "bots/desk", AROUND)]
    assert found == ["uv.lock", "Gemfile", "libs/common/money.py"]
    many = [f"not found: {number}.txt" for number in range(1_000)]
    assert list(absent_files([*many, "not found: uv.lock"], "bots/desk", AROUND)) == []


def test_a_sentence_names_some_of_many_files_and_their_patterns_once() -> None:
    files = [AbsentFile(f"lib/{number:03}\n.py", "/lib/**") for number in range(40)]
    said = missed_sentence(files)
    assert "40 files of the repository" in said
    assert '"lib/007\\n.py" and 32 more.' in said
    assert said.endswith("if it needs them, add `/lib/**` to spec.include.")
    assert said.isprintable()
