"""Servers that other people's packages make, asked by the protocol that they speak."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.test_streams import AGENT
from tests.frameworks.test_bridges import made
from tests.helpers.command import gateval
from tests.helpers.frameworks import FRAMEWORKS, PROGRAMS, ROOT, need_frameworks
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL

HERE = Path(__file__).parent / "served"
UV = ROOT / ".venv" / "bin" / "uv"
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: "Where is order 7?"}}
  assertions: [{type: equals, value: Order 7 is in transit.}]
"""
SERVED = {
    "a2a": "{preset: a2a}",
    "a2a-plain": "{preset: a2a}",
    "a2a-0.3": "{preset: a2a}",
    "ag-ui": "{preset: ag-ui}",
    "chatkit": "{preset: chatkit}",
    "langserve": "{preset: langserve, path: /desk/stream}",
}


def asked(tmp_path: Path, command: list[str], request: str, *tools: Path) -> None:
    """Have a server answer; where `tools` lie, it finds programs."""
    repo = Repo(tmp_path / "desk")
    shutil.copytree(HERE, repo.path / "agents", dirs_exist_ok=True)
    runtime = f"type: http, ready: {{timeoutSeconds: 120}}, command: {command}, request: {request}"
    repo.write("agents/support.yaml", AGENT.format(runtime=runtime))
    repo.write("evals/asks.yaml", FIXTURE)
    repo.write("evals/support-eval.yaml", EVAL)
    repo.commit("A desk that is served")
    path = os.pathsep.join([*map(str, tools), repo.env["PATH"]])
    done = gateval(repo, "run", "support-eval", PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.frameworks
@pytest.mark.parametrize("kind", SERVED)
def test_a_server_of_their_own_package_answers(kind: str, tmp_path: Path) -> None:
    lock = HERE / "requirements.txt"
    venv = [str(UV), "venv", "--quiet", "--python", sys.executable, "{folder}/venv"]
    pip = [str(UV), "pip", "install", "--quiet", "--python", "{folder}/venv/bin/python", "-r"]
    python = made("served", lock, venv, [*pip, str(lock)]) / "venv" / "bin" / "python"
    asked(tmp_path, [str(python), "serve.py", kind, "{port}"], SERVED[kind])


@pytest.mark.parametrize("more", [[], ["plain"]], ids=["messages", "text"])
def test_a_route_of_the_ai_sdk_answers(tmp_path: Path, more: list[str]) -> None:
    need_frameworks()
    modules = FRAMEWORKS / "vercel-ai"
    tools = (PROGRAMS, modules / "node_modules")  # seen, also where the clone lies in /tmp
    command = ["node", "aisdk.mjs", "{port}", str(modules), *more]
    asked(tmp_path, command, "{preset: aisdk}", *tools)
