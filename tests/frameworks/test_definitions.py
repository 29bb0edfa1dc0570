"""Agents that frameworks' own files define, started by bridges without a manifest of ours."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.frameworks.test_bridges import CANARY, SAMPLES, Bridged, installed, serve
from tests.helpers.command import gateval
from tests.helpers.frameworks import need_frameworks
from tests.helpers.repo import Repo
from tests.servers.model_server import ModelServer

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: orders}}
spec: {{targetAgent: {name}, fixtures: [where]}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: where}}
spec:
  input: {{type: prompt, payload: {{prompt: Where is order 7?, shop: ours}}}}
  assertions:
    - {{type: contains, value: in transit}}
    - {{type: toolCalled, tool: order_status}}
"""


class Defined(NamedTuple):
    """An agent of a sample, by the name that its file gives it, and what it needs."""

    name: str
    folder: str
    requirements: str = ""


@pytest.fixture(autouse=True, scope="module")
def tools() -> None:
    need_frameworks()


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "one",
    [
        Defined("desk", "langgraph", "repositories/langgraph"),
        Defined("described", "google-adk", "repositories/google-adk"),
        Defined("desk", "crewai", "repositories/crewai"),
    ],
    ids=lambda one: one.folder,
)
def test_what_a_file_of_a_framework_defines_answers(tmp_path: Path, one: Defined) -> None:
    repo = Repo(tmp_path / "repo")
    shutil.copytree(SAMPLES / one.folder, repo.path, dirs_exist_ok=True)
    (python,) = installed(Bridged(one.folder, "", requirements=one.requirements), repo.path)
    repo.write("evals.yaml", EVAL.format(name=one.name))
    mapping = f"agents: [{{match: '**', runtime: {{interpreter: [{python}]}}}}]\n"
    repo.write(".github/gateval.yml", mapping)
    repo.commit()

    async def run() -> None:
        async with ModelServer(serve) as provider:
            ran = await asyncio.to_thread(
                gateval,
                repo,
                "run",
                "orders",
                OPENAI_BASE_URL=provider.openai_url,
                OPENAI_API_KEY=CANARY,
                GEMINI_BASE_URL=f"{provider.url}/v1beta/openai",
                GEMINI_API_KEY=CANARY,
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            assert len(provider.calls) >= 2

    asyncio.run(run())
