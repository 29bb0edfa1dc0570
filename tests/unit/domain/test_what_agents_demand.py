"""What an agent demands beside its question, and causes that name what a person would, in shapes of
public samples.
"""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.libraries import models_in
from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from gateval.domain.setup.variables import example_values, variables_of
from tests.unit.domain.test_programs_of_strangers import found


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("import boto3\nfrom openai import OpenAI\ntable = boto3.resource('dynamodb')\nprint(OpenAI().responses.create(input=input()))\n", "AWS by boto3.resource"),
        ("import google.auth\nfrom google.adk.agents import Agent\n_, project = google.auth.default()\nroot_agent = Agent(name='a', model='gemini-2.5-pro')\n", "Google Cloud by google.auth.default"),
    ],
)  # fmt: skip
def test_a_login_that_a_library_of_a_cloud_makes_is_told(made: str, said: str) -> None:
    first, *_ = found({"agent.py": made})
    assert f"It logs in to {said}, and" in " ".join(said_of(first))


LOOP = """import argparse
from strands import Agent
parser = argparse.ArgumentParser()
parser.add_argument("--gateway_id"OPTIONS)
if __name__ == "__main__":
    args = parser.parse_args()
    CHECK
    agent = Agent(tools=tools_of(args.gateway_id))
    while True:
        asked = input("You: ")
        if asked == "exit":
            break
        print(agent(asked))
"""


@pytest.mark.parametrize(
    ("options", "check", "demands"),
    [
        ("", "if args.gateway_id is None: raise ValueError", True),
        ("", "if not args.gateway_id: parser.error('which?')", True),
        (", required=True", "", True),
        (', default="x"', "if not args.gateway_id: raise ValueError", False),
        ("", "if args.gateway_id is None: print('all')", False),
        ("", "", False),
    ],
)
def test_an_option_whose_value_nothing_tells_is_demanded(
    options: str, check: str, demands: bool
) -> None:
    text = LOOP.replace("OPTIONS", options).replace("CHECK", check)
    first, *_ = found({"chat.py": text})
    why = "demands `--gateway_id` beside what it is asked, and nothing here tells its value."
    assert (first.refused.why if first.refused else "") == (why if demands else "")


SERVER = """from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from atomic_agents import AtomicAgent
app = FastAPI()
class Asked(BaseModel):
    message: str
    user_id: str
    session_id: str | None = None
    style: str | None = None
@app.post("/chat")
async def chat(request: Asked):
    if TEST:
        raise HTTPException(status_code=400, detail="session_id is required")
    return {"response": AtomicAgent().run(request.message).text}
"""


@pytest.mark.parametrize(
    ("test", "more"),
    [
        ("not request.session_id", ["session_id"]),
        ("not request.session_id.strip()", ["session_id"]),
        ("request.session_id is None or not request.style", ["session_id", "style"]),
        ("not request.session_id and not request.style", []),
        ("request.session_id not in known", []),
    ],
)
def test_a_field_without_which_a_handler_fails_is_sent(test: str, more: list[str]) -> None:
    first, *_ = found({"main.py": SERVER.replace("TEST", test)})
    assert first.refused is None
    assert [*json.loads(first.invocation.body)] == ["message", "user_id", *more]


def test_the_notebook_that_a_readme_names_is_told() -> None:
    books = ["0-prerequisites.ipynb", "1-corrective-agent.ipynb"]
    path, _ = not_read(books, "Run the **1-corrective-agent.ipynb** notebook.") or ("", None)
    assert path == "1-corrective-agent.ipynb"


def test_programs_that_a_readme_names_and_that_are_not_there_are_told() -> None:
    readme = "steps/\n|-- chat-api.step.ts  # endpoint\n|-- ai.step.ts"
    path, why = not_read(["types.d.ts", "package.json", "README.md"], readme) or ("", None)
    assert (path, why and why.why) == (
        "The README",
        "names chat-api.step.ts, which is not in this repository.",
    )


def test_a_readme_that_deploys_its_agent_is_the_cause_where_no_program_is_known() -> None:
    readme = "## Deploy\n```bash\ndeepagents deploy\n```"
    path, why = not_read(["skills/review/lint_check.py", "agent.json"], readme) or ("", None)
    assert path == "The README"
    assert why
    assert why.why.startswith("deploys its agent (`deepagents deploy`)")
    path, _ = not_read(["lint_check.py"], "It was deployed.") or ("", None)
    assert path == "lint_check.py"


def test_a_handler_without_a_model_is_the_cause_where_nothing_else_is() -> None:
    handler = "import boto3\ndef lambda_handler(event, context):\n    return {}\n"
    first, *_ = found({"lambda_function.py": handler, "target.py": "import boto3\nprint(1)\n"})
    assert first.path == "lambda_function.py"
    assert first.refused
    assert first.refused.why.startswith("has a handler that a platform calls")


def test_a_page_of_copilot_studio_is_a_client() -> None:
    text = "import React from 'react';\nimport { CopilotStudioClient } from '@microsoft/agents-copilotstudio-client';\nexport default () => <div className='x'/>;\n"
    first, *_ = found({"src/Chat.tsx": text})
    assert first.refused
    assert first.refused.why.startswith("is a client of an agent of Copilot Studio")


BOT = "import { Chat } from 'chat';\nimport { createSlackAdapter } from '@chat-adapter/slack';\nimport { agent } from './agent';\nexport const bot = new Chat({ adapters: { slack: createSlackAdapter() } });\n"


def test_the_file_that_hears_of_questions_is_told() -> None:
    agent = "import { Agent } from '@voltagent/core';\nconst agent = new Agent({ name: 'a', model: 'openai/gpt-4o' });\nexport { agent };\n"
    first, *_ = found({"lib/agent.ts": agent, "lib/bot.ts": BOT, "package.json": "{}"})
    assert first.refused
    assert (first.path, first.refused.why.partition(":")[0]) == ("lib/bot.ts", "is a bot of Slack")


def test_clients_of_agents_that_run_elsewhere_are_told() -> None:
    text = "import mindsdb_sdk\nserver = mindsdb_sdk.connect('http://127.0.0.1:47334')\nprint(server.agents.get('a').completion([]))\n"
    first, *_ = found({"main.py": text})
    assert first.refused
    assert first.refused.why == "is a client of an agent of MindsDB, which its server runs."
    text = "import { Activity } from '@microsoft/agents-activity';\nimport { CopilotStudioClient } from '@microsoft/agents-copilotstudio-client';\nimport readline from 'readline';\nvoid main();\n"
    first, *_ = found({"src/index.ts": text, "package.json": "{}"})
    assert first.refused
    assert first.refused.why.startswith("is a client of an agent of Copilot Studio")


def test_models_of_files_beside_are_not_those_of_an_agent_of_a_cloud() -> None:
    own = "from strands import Agent\nagent = Agent(tools=[x])\n"
    other = "from strands import Agent\nfrom strands.models.openai import OpenAIModel\nagent = Agent(model=OpenAIModel(model_id='gpt-4o'))\n"
    models = {one.path: one.models for one in found({"a.py": own, "b.py": other})}
    assert models == {"a.py": (), "b.py": ("openai/gpt-4o",)}


PAGE = "import streamlit as st\nfrom agent import build\nif asked := st.chat_input():\n    st.write(build().invoke(asked))\n"
BUILD = "from langchain.agents import create_agent\ndef build(model=None):\n    return create_agent(model=model, tools=[])\n"
CLI = 'import sys\nfrom agent import build\nif __name__ == "__main__":\n    print(build().invoke({"messages": [("human", " ".join(sys.argv[1:]))]}))\n'


@pytest.mark.parametrize(
    ("readme", "path"),
    [
        ("Run `streamlit run app.py`.\n- `main.py` - optional command\n", "main.py"),
        ("Run `streamlit run app.py`.\n", "app.py"),
    ],
)
def test_a_command_that_a_readme_names_asks_the_agent_of_its_page(readme: str, path: str) -> None:
    texts = {"app.py": PAGE, "agent.py": BUILD, "main.py": CLI, "README.md": readme}
    first, *_ = found(texts)
    assert (first.path, first.refused is None) == (path, path == "main.py")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("const key = getRequiredEnv('DESK_KEY');", ("DESK_KEY",)),
        ("const key = requireEnv(`DESK_KEY`), id = mustGetEnvVar('DESK_ID');", ("DESK_KEY", "DESK_ID")),
        ("key = _require_env('DESK_KEY')", ("DESK_KEY",)),
        ("const key = getEnv('DESK_KEY', 'x');", ()),
        ("setEnv('DESK_KEY'); forget_env('DESK_KEY')", ()),
    ],
)  # fmt: skip
def test_variables_that_a_function_of_its_own_reads_are_told(text: str, names: object) -> None:
    assert variables_of(text) == names


def test_a_server_without_a_scheme_is_an_address_too() -> None:
    told = example_values("ORA_DSN=localhost:1521/FREEPDB1\nDESK_MODE=fast\n")
    assert (told.plain, told.addresses) == (
        {"DESK_MODE": "fast"},
        {"ORA_DSN": "localhost:1521/FREEPDB1"},
    )


EVENTS = """from fastapi import FastAPI
from anthropic import Anthropic
from pydantic import BaseModel
from events import sent
app = FastAPI()
class Asked(BaseModel):
    prompt: str
async def run_agent(prompt):
    yield {"type": "tools", "tools": []}
    answer = Anthropic().messages.create(model="claude-sonnet-4-6", messages=[])
    yield {"type": "delta", "text": answer.content[0].text}
@app.post("/api/agent/run")
async def run(asked: Asked):
    return sent(run_agent(asked.prompt))
"""
SENT = """import json
from sse_starlette.sse import EventSourceResponse
def sent(events):
    async def stream():
        async for event in events:
            yield {"data": json.dumps(event)}
    return EventSourceResponse(stream())
"""


def test_a_stream_that_a_function_of_its_own_sends_is_told() -> None:
    first, *_ = found({"main.py": EVENTS, "events.py": SENT})
    asked = first.invocation
    assert (asked.route, asked.stream, asked.answer) == ("/api/agent/run", "sse", "text")


def test_a_server_of_mcp_on_workers_is_no_agent() -> None:
    text = "import { createMcpHandler } from 'agents/mcp';\nimport { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';\nexport default { async fetch(request) { return createMcpHandler(new McpServer({}))(request); } };\n"
    first, *_ = found({"src/server.ts": text, "package.json": "{}"})
    assert first.refused
    assert first.refused.why.startswith("is a server of MCP")


def test_models_of_openrouter_are_told_by_the_provider() -> None:
    text = "model = OpenAIChatModel(model_name='anthropic/claude-haiku-4.5', provider='openrouter')"
    assert models_in(text) == ("openrouter/anthropic/claude-haiku-4.5",)


def test_a_token_of_hugging_face_is_told() -> None:
    text = "from smolagents import CodeAgent, InferenceClientModel\nagent = CodeAgent(model=InferenceClientModel(), tools=[])\n"
    first, *_ = found({"agent.py": text})
    assert "It logs in to Hugging Face by InferenceClientModel" in " ".join(said_of(first))
    assert "HF_TOKEN" in " ".join(said_of(first))


SEVERAL = """from agno.agent import Agent
from agno.team import Team
from agno.workflow import Workflow
from tools import WorkflowTools
team = Team(members=[a, b])
flow = Workflow(steps=[team])
agent = Agent(tools=[WorkflowTools(workflow=flow)])
if __name__ == "__main__":
    ASKED
"""


@pytest.mark.parametrize(
    ("asked", "first"),
    [("agent.print_response('x')", "agent"), ("team.run(); agent.run()", "team")],
)
def test_the_agent_that_a_file_asks_as_it_is_started_leads(asked: str, first: str) -> None:
    one, *_ = found({"tools.py": "", "desk.py": SEVERAL.replace("ASKED", asked)})
    assert one.told == f"desk.py:{first}"


STEERED = """from smolagents import CodeAgent, OpenAIModel
def review(step, agent):
    if input("Approve? (1/2): ") == "2":
        step.plan = input("New plan: ")
task = "What is new?"
agent = CodeAgent(model=OpenAIModel("gpt-4o"), tools=[], step_callbacks={Plan: review})
if __name__ == "__main__":
    agent.run(ASKED)
"""


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ("task", True),
        ("'What is new?', reset=False", True),
        ("{'messages': [HumanMessage(content=task)]}", True),
        ("input('You: ')", False),
        ("task + more", False),
    ],
)
def test_a_program_that_a_person_only_steers_takes_no_question(asked: str, refused: bool) -> None:
    programs = found({"plan.py": STEERED.replace("ASKED", asked)})
    why = next((one.refused.why for one in programs if one.refused and not one.target), "")
    assert ("only steers that" in why) == refused
