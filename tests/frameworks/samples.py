"""The sample repositories, what a person writes about each, and how each can break."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.helpers.repo import Repo

HERE = Path(__file__).parent / "repositories"
ROOT = Path(__file__).parents[2]
UV = ROOT / ".venv" / "bin" / "uv"
KINDS = ("user", "tool_call", "tool_result", "assistant")
TOOL, RENAMED = "order_status", "find_order"
INSTRUCTION = " Look the order up first."


class Change(NamedTuple):
    """A change of a repository: wherever `old` is in its files, `new` takes its place.

    `passes` says that the agent is as good as before. `only` is the one file that changes.
    """

    name: str
    old: str
    new: str
    passes: bool = False
    only: str = ""

    def make(self, repo: Repo, agent: str) -> None:
        """Change the files, but for those of the gate; `agent` is the one that it asks."""
        own = (f"agents/{agent}/", ".gateval/", ".github/")
        word = re.compile(rf"(?<!\w){re.escape(self.old)}(?!\w)")
        for path in repo.git("ls-files", "-z").decode().split("\0")[:-1]:
            if path.startswith(own) or (self.only and path != self.only):
                continue
            file = repo.path / path
            file.write_text(word.sub(self.new, file.read_text()))


RENAMES = Change("a renamed tool", TOOL, RENAMED)
FORGETS = Change("a broken prompt", INSTRUCTION, "")
REFACTORS = Change("a harmless refactoring", "ORDERS", "KNOWN_ORDERS", passes=True)


def _loses(path: str) -> Change:
    return Change("what it knows is wrong", "in transit", "lost", only=path)


class Sample(NamedTuple):
    """A repository of somebody who has never heard of Gateval.

    `framework`, `program` and `agent` are what `init` has to say. `also` are changes beside those
    that each sample sees. `kinds` are the steps that its wire shows. `lock` is the folder whose
    uv.lock is made when the repository is; `locks` are files that lock versions, each with where it
    goes. What is `slow` is for nights alone.
    """

    name: str
    framework: str
    program: str
    agent: str
    also: tuple[Change, ...] = ()
    lock: str | None = None
    locks: tuple[tuple[str, str], ...] = ()
    kinds: tuple[str, ...] = KINDS
    refactors: Change = REFACTORS
    slow: bool = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """What happens to it, the harmless one first."""
        return (self.refactors, RENAMES, FORGETS, *self.also)

    def make(self, path: Path, cache: Path) -> Repo:
        """Make the repository at `path`, with its first commit; `cache` is that of uv."""
        repo = Repo(path)
        shutil.copytree(HERE / self.name, path, dirs_exist_ok=True, ignore=_LEFT_BY_TOOLS)
        for source, place in self.locks:
            shutil.copy(HERE.parent / source, path / place)
        if self.lock is not None:
            lock = [str(UV), "lock", "--quiet", "--cache-dir", str(cache)]
            subprocess.run(lock, cwd=path / self.lock, check=True, timeout=300)
        repo.commit("The agent as it is")
        return repo


_LEFT_BY_TOOLS = shutil.ignore_patterns("__pycache__", "node_modules", ".venv", ".*_cache")
_OF_NODE = tuple(
    (f"repositories/mastra/{name}", name) for name in ("package.json", "package-lock.json")
)
_OF_VERCEL = tuple(
    (f"repositories/vercel-ai/{name}", name) for name in ("package.json", "package-lock.json")
)

SAMPLES = (
    Sample("openai-sdk", "OpenAI SDK", "main.py", "order-desk", lock="."),
    Sample("vercel-ai", "Vercel AI SDK", "src/agent.ts", "order-desk"),
    Sample(
        "database",
        "Anthropic SDK",
        "shop/server.py",
        "shop",
        (_loses("schema.sql"),),
        ".",
        refactors=Change("a harmless refactoring", "DATABASE", "PLACE", passes=True),
    ),
    Sample("openai-agents", "OpenAI Agents", "bot.py:agent", "order-desk"),
    Sample(
        "pydantic-ai",
        "Pydantic AI",
        "src/order_desk/__main__.py",
        "order-desk",
        lock=".",
        refactors=Change("a harmless refactoring", "Shop", "Store", passes=True),
    ),
    Sample("langgraph", "LangGraph", "app/graph.py:graph", "assistant"),
    Sample(
        "smolagents",
        "smolagents",
        "run.py:agent",
        "assistant",
        kinds=("user", "tool_call", "assistant", "user", "tool_call", "assistant"),
        # It sends calls and results again as text, an observation of the user, and ends by a tool.
    ),
    Sample(
        "crewai",
        "CrewAI",
        "src/order_crew/crew.py:OrderCrew",
        "order-crew",
        (_loses("src/order_crew/tools/orders.py"),),
        slow=True,
    ),
    Sample("google-genai", "Google GenAI", "agent.py", "assistant"),
    Sample(
        "monorepo",
        "OpenAI SDK",
        "services/desk/desk/__main__.py",
        "desk",
        (_loses("libs/orders/src/orders/__init__.py"),),
        "services/desk",
    ),
    Sample("google-adk", "Google ADK", "order_desk/agent.py:root_agent", "order-desk"),
    Sample("llama-index", "LlamaIndex", "app/workflow.py:create_workflow()", "assistant"),
    Sample(
        "handoffs",
        "OpenAI Agents",
        "backend/airline/agents.py:triage_agent",
        "triage-agent",
        locks=(("repositories/openai-agents/requirements.txt", "backend/requirements.txt"),),
        kinds=("user", "tool_call", "tool_result", *KINDS[1:]),
    ),
    Sample(
        "vercel-route",
        "Vercel AI SDK",
        "app/(preview)/api/chat/route.ts",
        "chat",
        locks=_OF_VERCEL,
    ),
    Sample("mastra", "Mastra", "src/mastra/index.ts:mastra", "order-agent", locks=_OF_NODE),
    Sample("langgraph-js", "LangGraph", "langgraph.json", "desk", locks=_OF_NODE),
)
