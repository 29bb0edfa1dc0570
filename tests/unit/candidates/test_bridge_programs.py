"""Bridges run in other people's interpreters: what they may be written in, and what they import."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateval.bridges import FOLDER, HOOK, bridge_digest, bridge_files
from gateval.candidates.options import NODE_FRAMEWORKS, PYTHON_FRAMEWORKS
from gateval.domain.manifests.agent import AgentSpec, RuntimeSpec
from gateval.formats.native.written import OpenMetadata, canonical, meaning

PYTHON = sorted((FOLDER / "python").glob("*.py"))
NODE = sorted((FOLDER / "node").glob("*.mjs"))
OF_NODE = [*NODE, FOLDER / HOOK / "redirect.mjs"]
OLDEST = (3, 9)


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.stem)
def test_python_bridges_are_of_an_old_python_and_import_nothing_of_the_gate(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=OLDEST)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        assert not [name for name in names if name.split(".")[0] == "gateval"]
        assert not isinstance(node, ast.Match)
    assert "from __future__ import annotations" in path.read_text()


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.stem)
def test_what_a_python_bridge_imports_at_once_is_of_the_library(path: Path) -> None:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names


def test_the_hook_is_of_an_old_python_and_takes_only_what_is_loaded_before_it() -> None:
    text = (FOLDER / HOOK / "sitecustomize.py").read_text()
    loaded = "import sys; print(*sys.modules)"
    before = subprocess.run(
        [sys.executable, "-I", "-c", loaded], capture_output=True, text=True, check=True
    ).stdout.split()
    for node in ast.parse(text, feature_version=OLDEST).body:
        assert not isinstance(node, ast.ImportFrom)
        if isinstance(node, ast.Import):
            assert {one.name for one in node.names} <= set(before)


@pytest.mark.parametrize("path", OF_NODE, ids=lambda path: path.stem)
def test_node_bridges_import_what_is_of_node_or_beside_them(path: Path) -> None:
    text = path.read_text()
    found = re.findall(r'(?:from|import\()\s*["`]([^"`]+)["`]', text)
    for name in found:
        beside = name.startswith("./")
        assert name.startswith("node:") or beside
    node = shutil.which("node")
    if node is not None:
        subprocess.run([node, "--check", str(path)], check=True, capture_output=True)


def test_the_frameworks_of_manifests_are_those_of_the_bridges() -> None:
    tree = ast.parse((FOLDER / "python" / "loading.py").read_text())
    named = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "FRAMEWORKS"
    ]
    (table,) = named
    assert isinstance(table, ast.Dict)
    keys = [key.value for key in table.keys if isinstance(key, ast.Constant)]
    assert tuple(keys) == PYTHON_FRAMEWORKS
    for value in table.values:
        assert isinstance(value, ast.Call)
        assert (FOLDER / "python" / f"{ast.literal_eval(value.args[0])}.py").is_file()
    script = (FOLDER / "node" / "bridge.mjs").read_text()
    block = script.partition("const FRAMEWORKS = {")[2].partition("\n};")[0]
    assert tuple(re.findall(r"^  \"?([a-z-]+)\"?: \{", block, re.MULTILINE)) == NODE_FRAMEWORKS
    for name in re.findall(r'file: "([a-z_]+\.mjs)"', block):
        assert (FOLDER / "node" / name).is_file()


def test_the_digest_is_that_of_all_files() -> None:
    assert set(bridge_files("python")) == {path.name for path in PYTHON}
    assert set(bridge_files("node")) == {path.name for path in NODE}
    assert len({bridge_digest("python"), bridge_digest("node")}) == 2


def test_an_agent_that_another_bridge_asks_is_another() -> None:
    def told(bridge: str) -> str:
        spec = AgentSpec(
            runtime=RuntimeSpec(type="python", options={"target": "a:b"}, bridge=bridge)
        )
        return meaning("Agent", OpenMetadata(name="desk"), canonical(spec))

    assert told(bridge_digest("python")) == told(bridge_digest("python"))
    assert told(bridge_digest("python")) != told("0" * 64)
