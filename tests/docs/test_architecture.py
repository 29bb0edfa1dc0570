"""The page about the architecture names only files and folders that are there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.helpers.command import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
FOLDERS = (ROOT / "src/gateval", ROOT, ROOT / "docs")
"""What a path on the page is relative to."""


def paths(text: str) -> list[str]:
    """Everything in backticks that is a path: with a slash, or with the ending of a source file.

    A name after a colon is no part of it; `gateval/v1` is no path.
    """
    marked = (name.partition(":")[0] for name in re.findall(r"`([^`\s]+)`", text))
    return [
        name
        for name in marked
        if re.search(r"/|\.(?:py|toml|yml|sh)$", name) and not re.search(r"/v\d+$", name)
    ]


def missing(text: str) -> list[str]:
    """The paths in a text that lead nowhere. `wire/NAME.py` stands for any file in its folder."""
    return [
        name
        for name in paths(text)
        if not any((folder / re.sub(r"[^/]*NAME.*", "", name)).exists() for folder in FOLDERS)
    ]


def test_every_path_exists() -> None:
    assert len(paths(PAGE)) > 30
    assert missing(PAGE) == []


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("`settings.py` and `render/`", []),
        ("`wire/NAME_stream.py`", []),
        ("`docs/adr/`, `adr/README.md`, `action.yml`, `gateval/v1`", []),
        ("`settings.py:Settings`", []),
        ("`no_such_file.py`", ["no_such_file.py"]),
        ("`render/nothing/deep.py`", ["render/nothing/deep.py"]),
        ("`nowhere/NAME.py`", ["nowhere/NAME.py"]),
        ("`nowhere/deep/` and `settings.py`", ["nowhere/deep/"]),
        ("`nowhere/a.py:f`", ["nowhere/a.py"]),
    ],
)
def test_a_path_that_leads_nowhere_is_seen(text: str, lost: list[str]) -> None:
    assert missing(text) == lost


MOST_LINES = {"file": 600, "function": 60}


def test_files_and_functions_can_be_read_at_once() -> None:
    """A file is a concept and a function fits on a screen; what grows beyond is cut first."""
    too_long = []
    for path in sorted((ROOT / "src/gateval").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > MOST_LINES["file"]:
            too_long.append(f"{path.relative_to(ROOT)} has {text.count(chr(10))} lines")
        too_long += [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES["function"]
        ]
    assert too_long == []


def named_twice(text: str) -> list[str]:
    """The names that a module sets twice at its top: the later one is what all its functions see."""
    names: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            names += [one.id for one in node.targets if isinstance(one, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
    return sorted({name for name in names if names.count(name) > 1})


def test_a_module_sets_a_name_once() -> None:
    modules = sorted((ROOT / "src/gateval").rglob("*.py"))
    twice = {path.name: named_twice(path.read_text(encoding="utf-8")) for path in modules}
    assert {path: names for path, names in twice.items() if names} == {}
    assert named_twice("_TOOL = 1\n_OTHER = 2\n_TOOL: int = 3\n") == ["_TOOL"]
