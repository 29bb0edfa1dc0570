"""Where a program's answer goes, and what stands in for programs that nothing starts, in shapes of
public samples.
"""

from __future__ import annotations

import pytest

from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found

REPORT = """import asyncio, sys
from mcp_agent.app import MCPApp
COMPANY = sys.argv[1] if len(sys.argv) > 1 else "Apple"
async def main():
    output_path = "reports/x.md"
    ASKS
    return True
if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ("await orchestrator.generate_str(message=COMPANY)", True),
        ("print(await orchestrator.generate_str(message=COMPANY))", False),
        ("await llm.generate_str(message=COMPANY); x = await llm.generate_str('y')", False),
    ],
)
def test_an_answer_that_a_program_drops_is_told(asks: str, told: bool) -> None:
    first, *_ = found({"main.py": REPORT.replace("ASKS", asks)})
    assert first.refused is None
    said = [one for one in said_of(first) if one.startswith("It does nothing with what")]
    assert bool(said) == told


LIBRARY = "from openai import OpenAI\nclass Memory:\n    def compact(self, text):\n        return OpenAI().responses.create(input=text)\n"


@pytest.mark.parametrize(
    ("books", "readme", "path"),
    [
        (["memory.ipynb"], "", "memory.ipynb"),
        (["a.ipynb", "b.ipynb"], "The notebooks show it.", "a.ipynb"),
        (["a.ipynb", "b.ipynb"], "It shows it.", "memory/compact.py"),
    ],
)
def test_a_notebook_stands_for_a_library_that_nothing_starts(
    books: list[str], readme: str, path: str
) -> None:
    texts = {"memory/compact.py": LIBRARY, "README.md": readme}
    first, *_ = found({**texts, **dict.fromkeys(books, "")})
    assert first.path == path


def test_a_server_whose_only_handler_begins_a_job_is_refused() -> None:
    text = "import { inngest } from './client';\nBun.serve({ port: 3000, routes: { '/api/agent': { async POST(req) { const { prompt } = await req.json();\n const { ids } = await inngest.send({ name: 'run', data: { prompt } });\n return Response.json({ eventId: ids[0] }); } } } });\n"
    agent = "import Anthropic from '@anthropic-ai/sdk';\nimport { Inngest } from 'inngest';\nexport const inngest = new Inngest({ id: 'x' });\nexport const run = () => new Anthropic().messages.create({ model: 'claude-opus-4-8' });\n"
    first, *_ = found({"src/index.ts": text, "src/client.ts": agent, "package.json": "{}"})
    assert first.refused
    assert first.refused.why.startswith("hands the question to a job (`inngest.send`)")


GRAPH = """from typing import Any, Dict, List, TypedDict
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    user_input: str
    airlines: List[str]
    budget: str
    details: Dict[str, Any]
    plan: str
def gather(state: State):
    return {"details": ask(state["user_input"])}
def plan(state: State):
    return {"plan": make(state["details"], state["airlines"], state["budget"])}
graph = StateGraph(State)
graph.add_node("gather", gather)
graph.add_node("plan", plan)
graph.add_edge(START, "gather")
graph.add_edge("gather", "plan")
graph.add_edge("plan", END)
app = graph.compile()
"""


def test_keys_that_nodes_cannot_do_without_are_given_by_type() -> None:
    first, *_ = found({"graph.py": GRAPH})
    assert first.more == (("airlines", "[]"), ("budget", '"gateval"'))


@pytest.mark.parametrize(
    ("path", "text", "module"),
    [
        ("main.py", "import argparse\nfrom src.utils.bedrock_agent import Agent\nif __name__ == '__main__':\n    Agent().invoke(argparse.ArgumentParser().parse_args())\n", "src.utils.bedrock_agent"),
        ("bee.ts", "import { ReActAgent } from 'beeai-framework/agents/react/agent';\nimport { createConsoleReader } from 'examples/helpers/io.js';\nconst agent = new ReActAgent({});\nconst reader = createConsoleReader();\n", "examples/helpers/io.js"),
    ],
)  # fmt: skip
def test_what_is_imported_of_a_larger_repository_is_told(path: str, text: str, module: str) -> None:
    first, *_ = found({path: text})
    assert first.refused
    assert first.refused.why.startswith(f"is a part of a larger repository: `{module}`")
    here = "src/utils/bedrock_agent.py" if path == "main.py" else "examples/helpers/io.ts"
    assert not any(
        "larger" in one.refused.why for one in found({path: text, here: ""}) if one.refused
    )


STARLETTE = """from smolagents import CodeAgent, OpenAIModel
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
def made():
    return CodeAgent(model=OpenAIModel("gpt-4o"), tools=[])
async def chat(request):
    data = await request.json()
    return JSONResponse({"reply": str(made().run(data.get("message", "").strip()))})
app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
"""


def test_a_request_without_a_type_is_read() -> None:
    asked = found({"main.py": STARLETTE})[0].invocation
    assert (asked.route, asked.field, asked.answer) == ("/chat", "message", "reply")
