"""Programs that need something beside the question, in shapes of public samples: what is said."""

from __future__ import annotations

import pytest

from gateval.domain.setup.starter import said_of
from gateval.domain.setup.told_starts import told_starts
from tests.unit.domain.test_programs_of_strangers import MAIN, found

ENTERED = """from bedrock_agentcore.runtime import BedrockAgentCoreApp
from google.adk.agents import Agent
app = BedrockAgentCoreApp()
root_agent = Agent(model="m", name="desk")

@app.entrypoint
def invoke(payload):
    return ask(payload.get("prompt"))

{ends}
"""


def test_a_module_that_serves_while_it_is_imported_is_started_itself() -> None:
    first, *_ = found({"my-agent.py": ENTERED.format(ends="app.run()")})
    assert first.invocation.route == "/invocations"
    assert first.command[:2] == ("python3", "-c")
    assert "port={port}" in first.command[2]
    assert 'runpy.run_path("my-agent.py", run_name="__main__")' in first.command[2]
    guarded = "if __name__ == '__main__':\n    app.run()"
    first, *_ = found({"my-agent.py": ENTERED.format(ends=guarded)})
    assert "uvicorn" in first.command


RESTATE = """import restate
from agents import Agent
from restate.ext.openai import DurableRunner
desk_agent = Agent(name="Desk", tools=[x])
desk = restate.Service("Desk")

@desk.handler()
async def run(ctx, asked):
    return await DurableRunner.run(desk_agent, asked)
"""
COPILOT = """import asyncio, sys
from microsoft_agents.copilotstudio.client import ConnectionSettings, CopilotClient
def main():
    client = CopilotClient(ConnectionSettings(), "token")
    client.ask_question(input("> "), "id")
"""
NEEDING = """from dataclasses import dataclass
from pydantic_ai import Agent, RunContext

@dataclass
class Store:
    rows: list

expert = Agent("openai:gpt-5-mini", deps_type=Store)

@expert.tool
async def look(ctx: RunContext[Store], word: str) -> str:
    return ctx.deps.rows[0]
"""


@pytest.mark.parametrize(
    ("files", "path", "why"),
    [
        ({"agent.py": RESTATE}, "agent.py", "is a service of Restate"),
        ({"src/main.py": COPILOT + MAIN}, "src/main.py", "runs in Copilot Studio"),
        ({"expert.py": NEEDING}, "expert.py", "is given its dependencies (`deps_type`)"),
    ],
)
def test_an_agent_that_what_asks_it_has_to_furnish_is_refused_by_that(
    files: dict[str, str], path: str, why: str
) -> None:
    first, *_ = found(files)
    assert first.refused
    assert first.path == path
    assert why in first.refused.why


def test_a_program_that_furnishes_its_agent_is_asked() -> None:
    program = "from expert import Store, expert\ndef main():\n    print(expert.run_sync(input('> '), deps=Store([])))\n"
    first, *_ = found({"expert.py": NEEDING, "chat.py": program + MAIN})
    assert (first.path, first.refused) == ("chat.py", None)


TYPED = """import tomllib
from langgraph.prebuilt import create_react_agent
from mcp.client.sse import sse_client
CONFIG = tomllib.load(open("config.toml", "rb"))
async def main():
    async with sse_client(url="http://127.0.0.1:8000/sse") as (read, write):
        print(create_react_agent(m, t).invoke(input("> ")))
"""


def test_servers_and_files_that_have_to_be_there_are_said() -> None:
    said = "\n".join(said_of(found({"chat.py": TYPED + MAIN, "config.toml.example": ""})[0]))
    assert "It asks a server at http://127.0.0.1:8000/sse" in said
    assert "It reads config.toml, of which the repository has an example alone" in said
    said = "\n".join(said_of(found({"chat.py": TYPED + MAIN, "config.toml": ""})[0]))
    assert "It reads config.toml" not in said


SERVING = """import uvicorn, httpx
from fastapi import FastAPI
from openai import OpenAI
URL = "http://localhost:8010/"
MODELS = OpenAI(base_url="http://localhost:11434/v1")
app = FastAPI()
@app.post("/chat")
def chat(told: dict): return told["message"]
if __name__ == "__main__":
    uvicorn.run(app, port=8010)
"""


def test_a_program_s_own_address_and_that_of_local_models_are_no_servers_beside_it() -> None:
    first, *_ = found({"main.py": SERVING})
    assert first.asks == ()


TEAM = "from agno.agent import Agent\nfrom agno.team import Team\none = Agent(name='one')\n{name} = Team(members=[one], name='{name}')\n"
ALONE = "from agno.agent import Agent\ndesk = Agent(name='desk')\n"


def test_an_agent_whose_file_people_are_told_to_start_comes_before_others_apart() -> None:
    files = {
        "first.py": ALONE,
        "later.py": TEAM.format(name="crowd"),
        "README.md": "python first.py\n",
    }
    assert found(files)[0].target == "first.py:desk"
    files["first.py"] = f"from later import crowd\n{ALONE}"
    assert found(files)[0].target == "later.py:crowd"


def test_a_database_on_one_s_machine_is_said_without_its_password() -> None:
    kept = 'from agno.agent import Agent\ndb_url = "postgresql+psycopg://ai:hidden@localhost:5532/ai"\ndesk = Agent(name="desk")\n'
    assert found({"desk.py": kept})[0].asks == ("postgresql+psycopg://localhost:5532/ai",)


CHOSEN = """from langroid import Task
from rich.prompt import Confirm, Prompt
def main():
    Confirm.ask("One model for all?")
    Prompt.ask("Which side?", choices=["pro", "con"])
    Confirm.ask("Go on by itself?")
    Task(x).run(Prompt.ask("What do you say?"))
"""
CALLED = """import uvicorn
from fastapi import FastAPI
from google import genai
from vision_agents.core import Agent
app = FastAPI()
@app.websocket("/media")
async def media(websocket): Agent(x)
if __name__ == "__main__":
    uvicorn.run(app)
"""
JOINED = """from uagents_adapter import MultiA2AAdapter
from openai import OpenAI
def main():
    MultiA2AAdapter(OpenAI()).run()
"""
DRAWN = """import chainlit as cl
from llama_index.core.workflow import Workflow, step
class Desk(Workflow):
    @cl.step(type="llm")
    @step
    async def answer(self, event):
        await cl.Message(content="").send()
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CHOSEN + MAIN, "asks for several things in turn"),
        (CALLED, "is spoken to"),
        (JOINED + MAIN, "is an agent of uAgents"),
        (DRAWN, "writes to a page of Chainlit while it answers"),
    ],
)
def test_what_a_person_answers_or_hears_is_refused(text: str, why: str) -> None:
    first, *_ = found({"desk.py": text})
    assert first.refused
    assert why in first.refused.why


def test_a_package_below_src_is_told_to_be_started_by_its_name() -> None:
    files = {"src/desk/__main__.py", "src/desk/__init__.py"}
    assert [*told_starts({"README.md": "python -m desk\n"}, {}, files)] == ["src/desk/__main__.py"]
