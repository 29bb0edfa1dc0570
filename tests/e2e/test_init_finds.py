"""`gateval init` finds agents by what their frameworks declare, in shapes that people have."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

MAIN = "\nif __name__ == '__main__':\n    main()\n"
ADK = "from google.adk.agents import Agent\nfrom .tools import lookup\n\n{name} = Agent(\n    name='{called}', model='gemini-2.0-flash', tools=[lookup],\n)\n"
DEPLOY = "import vertexai\nfrom desk.agent import root_agent\nfrom vertexai.preview.reasoning_engines import AdkApp\nimport google.adk\n"
CREW = "from crewai import Agent, Crew\nfrom crewai.project import CrewBase, crew\n\n\n@CrewBase\nclass {name}:\n    @crew\n    def crew(self) -> Crew:\n        return Crew()\n"
RUN = "import sys\nfrom game.crew import GameBuilder\n\ndef run():\n    GameBuilder().crew().kickoff(inputs={'game': 'x'})\n\ndef train():\n    GameBuilder().crew().train(int(sys.argv[1]))\n"
TEAM = "from agents import Agent, handoff\n\nfaq = Agent(name='FAQ', instructions='x', tools=[])\nguard = Agent(name='Guard', output_type=bool)\nseats = Agent[Trip](\n    name='Seats', tools=[],\n)\nfirst_contact = Agent[Trip](\n    name='Front desk',\n    handoffs=[faq, handoff(agent=seats)],\n)\nfaq.handoffs.append(first_contact)\n"
SERVER = "from fastapi import FastAPI\nfrom airline.agents import first_contact\napp = FastAPI()\n@app.post('/chatkit')\nasync def chat(request): ...\n"
ROUTE = "import { openai } from '@ai-sdk/openai';\nimport { streamText } from 'ai';\nexport async function POST(req: Request) {\n  const { messages } = await req.json();\n  return streamText({ model: openai('gpt-4o'), messages }).toUIMessageStreamResponse();\n}\n"
PAGE = "'use client';\nimport { useChat } from 'ai/react';\nexport default function Page() { return null; }\n"
MIGRATE = "import { openai } from '@ai-sdk/openai';\nconst db = process.argv[2];\n"
MASTRA = "import { Mastra } from '@mastra/core';\nimport { weather } from './agents/weather';\nexport const mastra = new Mastra({\n  agents: { weather },\n});\n"
WEATHER = "import { Agent } from '@mastra/core/agent';\nexport const weather = new Agent({\n  name: 'Weather', model: 'openai/gpt-4o',\n});\n"
GRAPH = "from langgraph.graph import StateGraph\nimport re\nWORDS = re.compile('x')\nbuilder = StateGraph(dict)\ngraph = builder.compile()\n"

FOUND = [
    pytest.param(
        {"langgraph.json": '{"dependencies": ["."], "graphs": {"agent": "./src/react_agent/graph.py:graph"}, "env": ".env"}', "src/react_agent/graph.py": GRAPH, "src/react_agent/__init__.py": "", "src/react_agent/tools.py": "import langgraph\n", "pyproject.toml": "[project]\nname = 'react-agent'\ndependencies = ['langgraph']\n"},
        ("python", "langgraph.json", "react-agent"), id="langgraph.json",
    ),
    pytest.param(
        {"app/langgraph.json": '{"graphs": {"helper": {"path": "./desk.ts:graph"}}}', "app/desk.ts": "import { StateGraph } from '@langchain/langgraph';\n", "app/package.json": "{}", "app/package-lock.json": "{}"},
        ("node", "langgraph.json", "helper"), id="langgraph.json of node",
    ),
    pytest.param(
        {"desk/__init__.py": "from . import agent\n", "desk/agent.py": ADK.format(name="root_agent", called="order_desk"), "desk/tools.py": "def lookup(): ...\n", "desk/sub_agents/mail/agent.py": ADK.format(name="root_agent", called="mail"), "deployment/deploy.py": DEPLOY + MAIN, "desk/data/load_rows.py": "from google.cloud import bigquery\nimport google.adk\nclient.insert_rows_json()\n" + MAIN, "pyproject.toml": ""},
        ("python", "desk/agent.py:root_agent", "order-desk"), id="adk beside deploy.py",
    ),
    pytest.param(
        {"desk/root_agent.yaml": "name: clerk\nmodel: gemini-2.0-flash\n", "desk/__init__.py": ""},
        ("python", "desk/root_agent.yaml", "clerk"), id="adk in yaml",
    ),
    pytest.param(
        {"src/game/crew.py": CREW.format(name="GameBuilder"), "src/game/main.py": RUN, "src/game/__init__.py": "", "pyproject.toml": "[project]\nname = 'game'\ndependencies = ['crewai']\n[project.scripts]\ngame = 'game.main:run'\ntrain = 'game.main:train'\n"},
        ("python", "src/game/crew.py:GameBuilder", "game-builder"), id="crew",
    ),
    pytest.param(
        {"src/book/main.py": "from crewai.flow.flow import Flow\nfrom book.crews.outline import Outline\n\nclass BookFlow(Flow[State]):\n    pass\n" + MAIN, "src/book/crews/outline.py": CREW.format(name="Outline"), "src/book/crews/chapter.py": CREW.format(name="Chapter"), "pyproject.toml": ""},
        ("python", "src/book/main.py:BookFlow", "book-flow"), id="flow over crews",
    ),
    pytest.param(
        {"backend/airline/agents.py": TEAM, "backend/airline/__init__.py": "", "backend/main.py": SERVER, "backend/requirements.txt": "openai-agents\n", "ui/app/page.tsx": PAGE, "ui/package.json": "{}"},
        ("python", "airline/agents.py:first_contact", "front-desk"), id="handoffs",
    ),
    pytest.param(
        {"app/(chat)/api/chat/route.ts": ROUTE, "app/page.tsx": PAGE, "lib/db/migrate.ts": MIGRATE, "package.json": '{"name": "rag-desk", "scripts": {"build": "tsx lib/db/migrate.ts"}}', "pnpm-lock.yaml": ""},
        ("node", "app/(chat)/api/chat/route.ts", "chat"), id="route",
    ),
    pytest.param(
        {"src/mastra/index.ts": MASTRA, "src/mastra/agents/weather.ts": WEATHER, "package.json": "{}"},
        ("node", "src/mastra/index.ts:mastra", "weather"), id="mastra",
    ),
    pytest.param(
        {"desk.py": "from pydantic_ai import Agent\n\ndef build_agent():\n    return Agent('openai:gpt-5-mini')\n", "requirements.txt": ""},
        ("python", "desk.py:build_agent()", "desk"), id="a function that makes one",
    ),
]  # fmt: skip


def written(repo: Repo) -> dict[str, Any]:
    (file,) = repo.path.glob("agents/*/agent.yaml")
    manifest: dict[str, Any] = yaml.safe_load(file.read_text())
    return manifest


@pytest.mark.parametrize(("files", "expected"), FOUND)
def test_what_a_framework_declares_is_the_agent(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, str, str]
) -> None:
    repo = Repo(tmp_path / "new")
    for path, text in files.items():
        repo.write(path, text)
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    manifest = written(repo)
    runtime = manifest["spec"]["runtime"]
    named = (runtime["type"], runtime["target"], manifest["metadata"]["name"])
    assert named == expected
    assert not {"deploy", "train", "load_rows", "migrate"} & {
        *done.stdout.replace("/", ".").split(".")
    }
    assert gateval(repo, "validate").returncode == 0


def test_a_person_names_an_object_of_a_file(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("airline/agents.py", TEAM)
    repo.write("airline/__init__.py", "")
    assert gateval(repo, "init", "airline/agents.py:seats").returncode == 0
    assert written(repo)["spec"]["runtime"]["target"] == "airline/agents.py:seats"
    assert written(repo)["metadata"]["name"] == "seats"


def test_the_first_model_is_asked_and_the_others_used(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    agent = "from agents import Agent\nfrom checks import guard\nagent = Agent(name='Desk', model='gpt-5-mini')\n"
    repo.write("desk.py", agent)
    repo.write(
        "checks.py", "MODEL = 'gpt-4.1-nano'\nEMBED = 'text-embedding-3-small'\nguard = MODEL\n"
    )
    assert gateval(repo, "init", "--yes").returncode == 0
    spec = written(repo)["spec"]
    assert spec["models"] == ["openai/gpt-5-mini"]
    assert spec["uses"] == ["openai/gpt-4.1-nano", "openai/text-embedding-3-small"]


SOCKET = "import { query } from '@anthropic-ai/claude-agent-sdk';\nconst server = Bun.serve({ websocket: { message(ws, said) { query(said); } }, fetch(req) { server.upgrade(req); } });\nif (url.pathname === '/api/chat') { answer('Please use WebSocket'); }\nserver.listen(3000);\n"


def test_an_agent_that_is_asked_over_websocket_alone_is_refused_aloud(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("server/server.ts", SOCKET)
    repo.write("package.json", "{}")
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 2
    assert "server/server.ts takes questions over WebSocket alone" in done.stderr
    assert "docs/guides/bridges.md" in done.stderr
    assert not (repo.path / "agents").exists()


PLANNER = "from agents import Agent, RunContextWrapper, function_tool\nfrom chatkit.agents import AgentContext\n\n@function_tool\nasync def lines(ctx: RunContextWrapper[AgentContext]):\n    return ctx.context.map\n\nplanner = Agent[AgentContext](\n    name='Planner', model='gpt-5-mini', tools=[lines],\n)\n"
CHATKIT = "from chatkit.server import ChatKitServer\nfrom app.planner import planner\n\nclass Desk(ChatKitServer):\n    pass\n"
SERVES = "from fastapi import FastAPI\nfrom pydantic import BaseModel\nfrom app.desk import Desk\n\napp = FastAPI()\n\n@app.post('/map')\nasync def write(request): ...\n\n@app.post('/chatkit')\nasync def chat(request):\n    return await Desk().process(await request.body(), {})\n"


def test_an_agent_whose_tools_need_a_chatkit_server_is_asked_through_it(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    for path, text in {"__init__": "", "planner": PLANNER, "desk": CHATKIT, "main": SERVES}.items():
        repo.write(f"app/{path}.py", text)
    repo.write("requirements.txt", "openai-chatkit\n")
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    runtime = written(repo)["spec"]["runtime"]
    assert runtime["command"][1:4] == ["-m", "uvicorn", "app.main:app"]
    assert runtime["request"] == {"preset": "chatkit", "path": "/chatkit"}
    assert "response" not in runtime
    assert "is not clear" not in done.stdout
    assert gateval(repo, "validate").returncode == 0


STREAMLIT = "import streamlit as st\nfrom agno.agent import Agent\nif st.button('Ask'):\n    st.write(Agent().run(st.text_input('What?')).content)\n"


def test_an_agent_that_is_a_page_alone_is_refused_aloud(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk.py", STREAMLIT)
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 2
    assert "desk.py draws a page with Streamlit, which a person types into" in done.stderr
    assert not (repo.path / "agents").exists()
    assert gateval(repo, "init", "--model", "openai/gpt-5-mini").returncode == 0


COMPOSE = "services:\n  db:\n    image: postgres:16\n  mail:\n    image: axllent/mailpit\n"


@pytest.mark.parametrize("composed", [True, False])
def test_a_database_that_it_reads_the_address_of_is_served_or_to_be_filled_in(
    tmp_path: Path, *, composed: bool
) -> None:
    repo = Repo(tmp_path / "shop")
    asks = "import os\nfrom openai import OpenAI\nprint(os.environ['DATABASE_URL'], input())"
    repo.write("desk.py", asks + MAIN)
    repo.write("docker-compose.yml", COMPOSE if composed else COMPOSE.replace("postgres", "x"))
    repo.commit()
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "has lines for a server of each run's own for DATABASE_URL" in done.stdout
    assert "mailpit too" in done.stdout
    on_path = composed and shutil.which("initdb") and shutil.which("postgres")
    assert ("services" in written(repo)["spec"]["runtime"]) == bool(on_path)
    (file,) = repo.path.glob("agents/*/agent.yaml")
    file.write_text(re.sub(r"(?m)^    # (?! A)(?=services|  - |env)", "    ", file.read_text()))
    runtime = written(repo)["spec"]["runtime"]
    assert [one["name"] for one in runtime["services"]] == ["db"]
    assert runtime["env"] == {"DATABASE_URL": "postgresql://app@{services.db}/postgres"}
    assert gateval(repo, "validate").returncode == 0


FILLED = """\
services:
  db:
    image: pgvector/pgvector:pg16
    volumes:
      - pgdata:/var/lib/postgresql/data
      - ./db:/docker-entrypoint-initdb.d:ro
"""
COUNTS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: two-orders}}
spec:
  input: {{type: prompt, payload: {{prompt: How many?}}}}
  assertions: [{{type: contains, value: "2"}}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: counts}}
spec: {{targetAgent: {name}, fixtures: [two-orders], execution: {{repsPerFixture: 3}}}}
"""
HAS_POSTGRES = all(map(shutil.which, ("initdb", "postgres", "psql")))


@pytest.mark.skipif(not HAS_POSTGRES, reason="PostgreSQL is not installed")
@pytest.mark.parametrize("root", ["", "services/desk/"])
def test_a_database_that_sql_fills_is_filled_anew_before_each_trial(
    tmp_path: Path, root: str
) -> None:
    repo = Repo(tmp_path / "shop")
    asks = (
        "import os, subprocess\nfrom openai import OpenAI\ninput()\n"
        "sql = 'insert into orders values (1043); select count(*) from orders'\n"
        "print(subprocess.run(['psql', '-tq', os.environ['DATABASE_URL'], '-c', sql],"
        " capture_output=True, text=True, check=True).stdout)\n"
    )
    repo.write(f"{root}desk.py", asks + MAIN)
    repo.write("docker-compose.yml", FILLED)
    repo.write("db/02-rows.sql", "insert into orders values (1042);\n")
    repo.write("db/01-tables.sql", "create table orders (id int primary key);\n")
    repo.write("db/03-extra.sh", "echo\n")
    repo.commit()
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "fills the database by db/03-extra.sh too" in done.stdout
    assert "Not set" not in done.stdout
    assert "It reads DATABASE_URL" not in done.stdout
    config = (repo.path / ".github/gateval.yml").read_text()
    assert "DATABASE_URL" not in config
    runtime = written(repo)["spec"]["runtime"]
    assert runtime["env"]["DATABASE_URL"] == "postgresql://app@{services.db}/postgres"
    up = "../../" if root else ""
    assert runtime["before"][-4:] == ["-f", f"{up}db/01-tables.sql", "-f", f"{up}db/02-rows.sql"]
    name = written(repo)["metadata"]["name"]
    repo.write("evals/counts.yaml", COUNTS.format(name=name))
    assert gateval(repo, "validate").returncode == 0
    files = gateval(repo, "closure", name).stdout
    assert "db/01-tables.sql" in files
    assert "db/02-rows.sql" in files
    if os.geteuid():  # PostgreSQL starts for no root
        done = gateval(repo, "run", "counts")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("env", "file"),
    [
        ('"conf/keys.env"', "conf/keys.env"),
        ('"./conf/keys.env"', "conf/keys.env.example"),
        ('{"DESK_URL": "https://desk", "TAVILY_API_KEY": "", "OPENAI_API_KEY": ""}', ""),
    ],
    ids=["a file", "an example of the file", "an object"],
)
def test_variables_that_langgraph_json_has_set_are_proposed(
    tmp_path: Path, env: str, file: str
) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("langgraph.json", f'{{"graphs": {{"desk": "./desk.py:graph"}}, "env": {env}}}')
    repo.write("desk.py", GRAPH)
    if file:
        repo.write(file, "DESK_URL=https://desk\nTAVILY_API_KEY=tvly-secret\nOPENAI_API_KEY=\n")
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "It reads DESK_URL, TAVILY_API_KEY. " in done.stdout
    config = (repo.path / ".github/gateval.yml").read_text()
    assert "  # candidateEnv: [DESK_URL, TAVILY_API_KEY]" in config
    assert "tvly-secret" not in done.stdout + config


def test_a_server_of_a2a_is_asked_by_its_preset_at_the_port_of_the_trial(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("app/__init__.py", "")
    repo.write("app/agent.py", "from langgraph.prebuilt import create_react_agent\n")
    repo.write(
        "app/__main__.py",
        "import uvicorn\nfrom a2a.server.apps import A2AStarletteApplication\nfrom app.agent import x\n\ndef main():\n    uvicorn.run(A2AStarletteApplication().build(), port=10000)\n"
        + MAIN,
    )
    repo.write("pyproject.toml", "[project]\nname = 'rates'\ndependencies = ['a2a-sdk']\n")
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    runtime = written(repo)["spec"]["runtime"]
    assert (runtime["type"], runtime["request"]) == ("http", {"preset": "a2a"})
    assert "port={port}" in runtime["command"][2]
    assert 'run_module("app", run_name="__main__"' in runtime["command"][2]
    assert gateval(repo, "validate").returncode == 0


def test_files_that_lead_out_of_the_repository_are_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"scripts": {"db:migrate": "true"}}')
    repo = Repo(tmp_path / "repo")
    repo.write(
        "main.py",
        "import os, sys\nfrom openai import OpenAI\nDB = os.environ['DATABASE_URL']\nprint(OpenAI().x(sys.argv[1]))\n",
    )
    (repo.path / "package.json").symlink_to(outside)
    repo.commit()
    done = gateval(repo, "init", "--yes")
    assert "package.json does not hold a relative path" in done.stderr
    written = [path.read_text() for path in repo.path.rglob("*.yaml")]
    assert any("DATABASE_URL" in text for text in written)
    assert not any("db:migrate" in text for text in written)
