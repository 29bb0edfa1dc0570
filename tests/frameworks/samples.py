"""The ten sample repositories, what a person writes about each, and how each can break."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.helpers.repo import Repo

HERE = Path(__file__).parent / "repositories"
ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv" / "bin" / "uv"
KINDS = ("user", "tool_call", "tool_result", "assistant")


class Break(NamedTuple):
    """A change that makes the agent worse: in this file, `old` becomes `new`."""

    path: str
    old: str
    new: str


class Sample(NamedTuple):
    """A repository of somebody who has never heard of Gateval.

    `framework`, `program` and `agent` are what `init` has to say. `kinds` are the steps that its
    wire shows. `lock` is the folder whose uv.lock is made when the repository is.
    """

    name: str
    framework: str
    program: str
    agent: str
    broken: Break
    lock: str | None = None
    kinds: tuple[str, ...] = KINDS

    def make(self, path: Path, cache: Path) -> Repo:
        """Make the repository at `path`, with its first commit; `cache` is that of uv."""
        repo = Repo(path)
        shutil.copytree(HERE / self.name, path, dirs_exist_ok=True, ignore=_LEFT_BY_TOOLS)
        if self.lock is not None:
            lock = [str(UV), "lock", "--quiet", "--cache-dir", str(cache)]
            subprocess.run(lock, cwd=path / self.lock, check=True, timeout=300)
        repo.commit("The agent as it is")
        return repo


_LEFT_BY_TOOLS = shutil.ignore_patterns("__pycache__", "node_modules", ".venv", ".*_cache")
_WORDS = "Look the order up first."


def _forgets(path: str) -> Break:
    return Break(path, f" {_WORDS}", "")


def _loses(path: str) -> Break:
    return Break(path, "in transit", "lost")


SAMPLES = (
    Sample("openai-sdk", "OpenAI SDK", "main.py", "order-desk", _forgets("prompts/system.md"), "."),
    Sample("vercel-ai", "Vercel AI SDK", "src/agent.ts", "order-desk", _loses("src/orders.ts")),
    Sample("database", "Anthropic SDK", "shop/server.py", "shop", _loses("schema.sql"), "."),
    Sample(
        "openai-agents",
        "OpenAI Agents",
        "bot.py:agent",
        "order-desk",
        _loses("order_tools.py"),
    ),
    Sample(
        "pydantic-ai",
        "Pydantic AI",
        "src/order_desk/__main__.py",
        "order-desk",
        _forgets("src/order_desk/agent.py"),
        ".",
    ),
    Sample(
        "langgraph",
        "LangGraph",
        "app/graph.py:graph",
        "assistant",
        _forgets("app/system_prompt.txt"),
    ),
    Sample(
        "smolagents",
        "smolagents",
        "run.py:agent",
        "assistant",
        _loses("run.py"),
        kinds=("user", "tool_call", "assistant", "user", "tool_call", "assistant"),
        # It sends calls and results again as text, an observation of the user, and ends by a tool.
    ),
    Sample(
        "crewai",
        "CrewAI",
        "src/order_crew/crew.py:OrderCrew",
        "order-crew",
        _loses("src/order_crew/tools/orders.py"),
    ),
    Sample("google-genai", "Google GenAI", "agent.py", "assistant", _forgets("agent.py")),
    Sample(
        "monorepo",
        "OpenAI SDK",
        "services/desk/desk/__main__.py",
        "desk",
        _loses("libs/orders/src/orders/__init__.py"),
        "services/desk",
    ),
)
ALWAYS = 3
"""So many of them, the lightest, run in each CI run."""
