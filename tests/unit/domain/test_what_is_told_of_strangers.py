"""What is said of a program beside its question, and why another one is refused, in shapes of
public samples.
"""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.libraries import models_in
from gateval.domain.setup.other_work import NOTEBOOKS, UNKNOWN
from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from gateval.domain.setup.variables import told_variables, variables_of
from tests.unit.domain.test_programs_of_strangers import MAIN, found

AGENT = 'from strands import Agent\nagent = Agent(tools=[x])\nif __name__ == "__main__":\n    agent("What is new?")\n'


def test_variables_that_a_readme_says_to_set_are_told() -> None:
    readme = "```bash\nexport DESK_API_KEY=x\nexport DESK_MODE=fast\nOPENAI_API_KEY=x\n```\n"
    readme += "export DESK_URL=http://x\\n- `ROOM_TOKEN`: of the room\n- `HALL_TOKEN`: optional\n1. export DOOR_SECRET=y\n"
    names = ("DESK_API_KEY", "DESK_URL", "ROOM_TOKEN", "DOOR_SECRET")
    assert told_variables(readme) == names
    reads = f"{AGENT}url = os.getenv('DESK_URL', 'x')\n"
    first, *_ = found({"agent.py": reads, "README.md": readme})
    assert first.variables == names
    first, *_ = found({"agent.py": AGENT, "README.md": readme})
    assert first.variables == ("DESK_API_KEY", "ROOM_TOKEN", "DOOR_SECRET")
    first, *_ = found({"agent.py": AGENT, "other/README.md": readme})
    assert first.variables == ()


def test_a_token_of_a_forge_is_read_though_its_other_variables_say_nothing() -> None:
    text = "os.environ['GITHUB_TOKEN'], os.environ['GITHUB_SHA'], os.getenv('GITHUB_PAT')"
    assert variables_of(text) == ("GITHUB_TOKEN", "GITHUB_PAT")


LED = """import asyncio
from contextlib import AsyncExitStack
from pydantic_ai import Agent
search_agent = Agent("openai:gpt-5-mini", mcp_servers=[server])
primary_agent = Agent("openai:gpt-5-mini")

@primary_agent.tool_plain
async def search(query: str) -> str:
    return (await search_agent.run(query)).data

async def main():
    async with AsyncExitStack() as stack:
        await stack.enter_async_context({opened}.run_mcp_servers())
        while True:
            asked = input("> ")
            if asked == "exit":
                break
            print(await primary_agent.run(asked))

asyncio.run(main())
"""


def test_a_program_that_opens_what_parts_of_its_agent_need_comes_before_the_agent() -> None:
    files = {"README.md": "`python army.py`\n", "army.py": LED.format(opened="search_agent")}
    first, *_ = found(files)
    assert (first.told, first.invocation.stdin) == ("army.py", "{{ prompt }}\nexit\n")
    first, *_ = found(files | {"army.py": LED.format(opened="primary_agent")})
    assert first.told == "army.py:primary_agent"


GRAPH = """from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
{imports}
class State(BaseModel):
    message: str
def work(state):
    return {{"message": state["message"] + interrupt({waits})}}
graph = StateGraph(State).add_node("work", work).add_edge(START, "work").compile()
"""
OF_UIPATH = "from uipath.platform.common import InvokeProcess, WaitUntil"
SPOKEN = """from google.adk import Agent
root_agent = Agent(model="{model}", name="desk", tools=[roll])
"""
SERVES = """import argparse, http.server, openai
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", type=str)
    made = openai.OpenAI().chat.completions.create(messages=[parser.parse_args().task])
    http.server.HTTPServer(("", 80), http.server.SimpleHTTPRequestHandler).serve_forever()
if __name__ == "__main__":
    main()
"""
STORES = """from langchain_openai import OpenAIEmbeddings
from langchain_community.vectorstores import {store}
docs = {store}.from_documents(load(), OpenAIEmbeddings())
if __name__ == "__main__":
    print(docs.search("What is new?"))
"""
CLAIMS = """import argparse
from pathlib import Path
from langchain_openai import ChatOpenAI
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--claim", type=Path)
    seen = parser.parse_args().claim
    if input("Go on? [Y/n] ") == "n":
        return
    ChatOpenAI().invoke([seen, input("Anything to add? (optional) ")])
if __name__ == "__main__":
    main()
"""
APART = """from langchain_openai import ChatOpenAI
from DESK.src.server.base import Example
class Chain(Example):
    def chain(self, query):
        return ChatOpenAI().invoke(query)
"""


@pytest.mark.parametrize(
    ("files", "path", "why"),
    [
        ({"a.py": GRAPH.format(imports=OF_UIPATH, waits="WaitUntil(at)")}, "a.py", "of UiPath"),
        ({"a.py": GRAPH.format(imports=OF_UIPATH, waits="[InvokeProcess(x)]")}, "a.py", "of UiPath"),
        (
            {
                "langgraph.json": '{"graphs": {"a": "./a.py:graph"}}',
                "a.py": GRAPH.format(imports=OF_UIPATH, waits="WaitUntil(at)"),
            },
            "a.py",
            "of UiPath",
        ),
        ({"agent.py": SPOKEN.format(model="gemini-2.0-flash-live-001")}, "agent.py", "is spoken to"),
        ({"game.py": SERVES}, "game.py", "serves what it made as a page, without end"),
        ({"bot.py": STORES.format(store="Chroma")}, "bot.py", "fills a store, and reads no question"),
        ({"bot.py": STORES.format(store="FAISS")}, "bot.py", "takes no question"),
        ({"claims.py": CLAIMS}, "claims.py", "reads a file that its argument names (`--claim`)"),
        ({"main.py": "from stagehand import Stagehand\n" + MAIN}, "main.py", "from Stagehand"),
        ({"chains.py": APART}, "chains.py", "`DESK.src.server.base`, which chains.py imports, is not"),
    ],
)  # fmt: skip
def test_a_program_is_refused_by_its_own_cause(files: dict[str, str], path: str, why: str) -> None:
    first, *_ = found(files)
    assert first.refused, first
    assert first.path == path
    assert why in first.refused.why


def test_a_graph_that_interrupts_for_a_person_and_an_agent_that_writes_are_asked() -> None:
    first, *_ = found({"a.py": GRAPH.format(imports="", waits="'Is that right?'")})
    assert first.refused is None
    first, *_ = found({"agent.py": SPOKEN.format(model="gemini-2.5-flash")})
    assert first.refused is None


CREW = """from crewai import Agent, Crew, Task
from crewai.project import CrewBase, agent, crew, task
@CrewBase
class DeskCrew:
    @crew
    def crew(self):
        return Crew(agents=self.agents, tasks=self.tasks)
"""
KICKS = """import sys
from desk.crew import DeskCrew
def run():
    inputs = {{{inputs}}}
    DeskCrew().crew().kickoff(inputs=inputs)
if __name__ == "__main__":
    run()
"""


def test_a_crew_that_reads_a_file_is_refused_and_its_program_wants_one() -> None:
    files = {
        "desk/config/tasks.yaml": "review:\n  description: Review {filename}.\n",
        "desk/crew.py": CREW,
        "desk/main.py": KICKS.format(inputs="\n        'filename': sys.argv[1],\n    "),
    }
    causes = {one.path: one.refused.why for one in found(files) if one.refused}
    assert "reads a file that its input names (`filename`)" in causes["desk/crew.py"]
    assert "takes a file" in causes["desk/main.py"]


def test_a_crew_is_given_values_with_commas_and_numbers_and_they_are_told() -> None:
    files = {
        "desk/config/tasks.yaml": "plan:\n  description: From {origin} to {place} at {age}.\n",
        "desk/crew.py": CREW,
        "desk/main.py": KICKS.format(inputs="'origin': 'Rome, FCO', 'place': name, 'age': 31"),
    }
    first, *_ = found(files)
    assert dict(first.more) == {"origin": '"Rome, FCO"', "place": '"gateval"', "age": '"31"'}
    assert "gives `origin`, `place`, `age` too" in " ".join(said_of(first))


SERVER = """from fastapi import FastAPI
from openai import OpenAI
from pydantic import BaseModel
app = FastAPI()
class Asked(BaseModel):
    query: str
    files: list[dict] | None = None
class Told(BaseModel):
    success: bool
    markdown: str = ""
    error: str = ""
@app.post("/api/desk", response_model=Told)
async def desk(asked: Asked):
    made = OpenAI().chat.completions.create(model="m", messages=[asked.query])
    return Told(success=True, markdown=made)
"""


def test_files_that_a_request_may_have_are_told_and_the_only_text_is_the_answer() -> None:
    first, *_ = found({"main.py": SERVER})
    assert first.invocation.answer == "markdown"
    assert first.invocation.left == ("files",)
    assert "may have `files` too" in " ".join(said_of(first))


ENTERED = """from bedrock_agentcore.runtime import BedrockAgentCoreApp
from strands import Agent
app = BedrockAgentCoreApp()
agent = Agent()
@app.entrypoint
def invoke(payload, context):
    if "prompt" not in payload:
        return {"error": "No prompt"}
    asked = payload.get("prompt")
    %s
if __name__ == "__main__":
    app.run()
"""


@pytest.mark.parametrize(
    ("ends", "answer"),
    [
        ('return {"result": agent(asked).message}', "result"),
        ('yield {"result": agent(asked).message}', ""),
        ("return agent(asked).message", ""),
        ('return {"a": 1} if asked else {"b": 2}', ""),
    ],
)
def test_the_only_key_that_an_entrypoint_returns_is_its_answer(ends: str, answer: str) -> None:
    served = [one for one in found({"desk.py": ENTERED % ends}) if one.invocation.route]
    assert [one.invocation.answer for one in served] == [answer]


def test_values_of_a_body_stay_json() -> None:
    first, *_ = found({"main.py": SERVER.replace("query: str", "query: str\n    user_id: str")})
    assert json.loads(first.invocation.body) == {"query": "{{ prompt }}", "user_id": "gateval"}


CLASS = """from llama_index.core.workflow import Workflow, StartEvent, StopEvent, step
class DeskAgent(Workflow):
    def __init__(self, *args, llm=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.llm = {kept}

    @step
    async def ask(self, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await self.llm.acomplete(ev.prompt))
"""


@pytest.mark.parametrize(("kept", "known"), [("llm", False), ("llm or OpenAI()", True)])
def test_a_workflow_whose_model_is_none_until_it_is_given_is_no_target(
    kept: str, known: bool
) -> None:
    targets = [one.target for one in found({"desk.py": CLASS.format(kept=kept)}) if one.target]
    assert bool(targets) is known


KEPT = """from fastapi import FastAPI
from openai import OpenAI
from pydantic import BaseModel
app = FastAPI()
class Asked(BaseModel):
    query: str
class Told(BaseModel):
    success: bool
@app.post("/api/desk", response_model=Told)
async def desk(asked: Asked):
    made = OpenAI().chat.completions.create(model="m", messages=[asked.query])
    {keeps}
    return Told(success=True)
"""


def test_a_server_that_stores_its_answer_and_says_only_how_it_went_is_refused() -> None:
    first, *_ = found({"main.py": KEPT.format(keeps="store_message(made)")})
    assert first.refused
    assert (
        "answers only whether it went well: what its agent says goes elsewhere" in first.refused.why
    )
    first, *_ = found({"main.py": KEPT.format(keeps="print(made)")})
    assert first.refused
    assert "went well: what its agent says goes elsewhere" in first.refused.why


LOADED = """import os
from pathlib import Path
from openai import OpenAI
file = Path.cwd() / ".env"
if not file.is_file():
    raise FileNotFoundError
if __name__ == "__main__":
    print(OpenAI().chat.completions.create(messages=[input("> ")]))
"""


def test_an_environment_file_that_is_looked_for_and_its_example_are_told() -> None:
    first, *_ = found({"main.py": LOADED, "template.env": "DESK_KEY=\nDESK_URL=\n"})
    assert first.variables == ("DESK_KEY", "DESK_URL")
    assert first.absent == ((".env", "template.env"),)


def test_a_notebook_that_a_readme_names_is_the_cause_where_no_program_starts() -> None:
    tool = "from strands import tool\n@tool\ndef look(word: str) -> str:\n    return word\n"
    files = {"look.py": tool, "desk.ipynb": "{}", "README.md": "Run `desk.ipynb`."}
    first, *_ = found(files)
    assert first.path == "desk.ipynb"
    assert first.refused == NOTEBOOKS
    first, *_ = found(files | {"README.md": "A desk.", "room.ipynb": "{}"})
    assert first.path == "look.py"


OF_TEMPORAL = """from temporalio import activity
from strands import Agent
{name}_agent = Agent(tools=[x])
@activity.defn
async def ask_{name}(asked: str) -> str:
    return str({name}_agent(asked))
"""
WORKER = """import asyncio
from temporalio.worker import Worker
from plan import ask_plan
from sums import ask_sums
async def main():
    await Worker(client, task_queue="desk", activities=[ask_plan, ask_sums]).run()
if __name__ == "__main__":
    asyncio.run(main())
"""


def test_equal_agents_that_a_worker_of_a_platform_asks_are_its_parts() -> None:
    files = {f"{name}.py": OF_TEMPORAL.format(name=name) for name in ("plan", "sums")}
    first, *_ = found(files | {"worker.py": WORKER})
    assert first.path == "worker.py"
    assert first.refused
    assert "is a worker of Temporal" in first.refused.why
    assert found(files)[0].target


def test_embeddings_of_google_are_known_by_their_numbers() -> None:
    text = "'text-embedding-004', 'text-embedding-3-small', 'text-embedding-ada-002'"
    openai = ("openai/text-embedding-3-small", "openai/text-embedding-ada-002")
    assert models_in(text) == ("gemini/text-embedding-004", *openai)


RUNS = """import asyncio, uuid
from fastapi import FastAPI, HTTPException, Request
from openai import OpenAI
app = FastAPI()
@app.post("/threads")
async def begin():
    return {"thread_id": str(uuid.uuid4())}
@app.post("/threads/{thread_id}/runs")
async def run(thread_id: str, request: Request):
    if thread_id not in kept:
        raise HTTPException(status_code=404)
    asked = (await request.json()).get("input")
    asyncio.ensure_future(answer(thread_id, asked))
    return {"run_id": "1", "thread_id": thread_id, "status": "pending"}
async def answer(thread_id, asked):
    kept[thread_id] = OpenAI().chat.completions.create(messages=[asked])
"""


def test_a_run_of_a_conversation_that_goes_on_in_the_background_is_no_answer() -> None:
    first, *_ = found({"main.py": RUNS})
    assert first.refused
    assert "answers only that it began" in first.refused.why


def test_a_loop_of_a_library_is_ended_though_a_yes_or_no_comes_after_it() -> None:
    text = "from langroid import Task\nfrom rich.prompt import Prompt\ndef main():\n    task.run()\n    Prompt.ask('Delete it? (y/n)')\nif __name__ == '__main__':\n    main()\n"
    first, *_ = found({"main.py": text})
    assert first.invocation.stdin == "{{ prompt }}\nx\n"


def test_nothing_is_said_of_routes_where_no_library_is_known() -> None:
    path, why = not_read(["main.py"]) or ("", UNKNOWN)
    assert (path, "POST" in why.why) == ("main.py", False)
