"""Programs in shapes that a draw of public repositories showed: which is asked, and how."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

import pytest

from gateval.domain.setup.no_edits import address_advice
from gateval.domain.setup.other_work import AZURE
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.program_search import find_programs
from gateval.domain.setup.repository_files import tells_of_project, worth_reading

MAIN = "\nif __name__ == '__main__':\n    main()\n"


def found(files: Mapping[str, str]) -> tuple[FoundProgram, ...]:
    texts = {
        path: text for path, text in files.items() if worth_reading(path) or tells_of_project(path)
    }
    return find_programs(texts, files)


GRAPH = """from langgraph.graph import StateGraph
from bedrock_agentcore.runtime import BedrockAgentCoreApp
app = BedrockAgentCoreApp()

class Told(TypedDict):
    session: str
    {field}

def create_graph():
    graph = StateGraph(Told)
    return graph.compile()

@app.entrypoint
async def invoke(payload):
    return work(payload.get("input_data"), payload["locale"])

if __name__ == "__main__":
    app.run()
"""


def test_a_graph_that_takes_no_question_does_not_beat_the_server_that_fills_it() -> None:
    first, *_ = found({"adviser.py": GRAPH.format(field="given: dict")})
    asked = first.invocation
    assert (first.target, asked.route, asked.field) == ("", "/invocations", "input_data")
    assert first.refused is None
    assert json.loads(asked.body) == {"input_data": "{{ prompt }}", "locale": "text"}
    assert first.command[-4:] == ("uvicorn", "adviser:app", "--port", "{port}")
    other, *_ = found({"adviser.py": GRAPH.format(field="messages: list")})
    assert other.invocation.route == "/invocations"  # which words what it asks


@pytest.mark.parametrize(
    "function",
    [
        "def query_report(file_path: str):\n    return engine.query(file_path)",
        "def analyze(report: str):\n    return llm.ask(open(report).read())",
        "def get_query_engine(topic: str):\n    return index.as_query_engine(topic)",
    ],
    ids=["by its name", "by its use", "a factory"],
)
def test_a_function_that_takes_a_file_or_makes_what_answers_is_asked_nothing(function: str) -> None:
    (program,) = found({"desk.py": f"import openai\n{function}\n{MAIN}"})
    assert program.target == ""
    assert program.refused is not None


def test_a_command_line_that_words_the_question_comes_before_the_agent_it_makes() -> None:
    text = "import argparse\nfrom smolagents import CodeAgent\ndef create_agent():\n    return CodeAgent(tools=[])\ndef main():\n    p = argparse.ArgumentParser()\n    p.add_argument('question')\n    create_agent().run(f'''Review this: {p.parse_args().question}''')\n"
    first, second = found({"review.py": text + MAIN})
    assert (first.target, first.command[-1]) == ("", "{{ prompt }}")
    assert second.target == "review.py:create_agent()"


def test_a_form_is_filled_in_and_a_login_is_no_question() -> None:
    pages = "from flask import Flask, request\nimport openai\napp = Flask(__name__)\n@app.post('/login')\ndef login():\n    return enter(request.json['user'])\n"
    form = "@app.post('/')\ndef query():\n    return ask(request.form.get('query'))\n"
    for text, is_form in (
        (form, True),
        (form.replace("form.get('query')", "json['query']"), False),
    ):
        (program,) = found({"app.py": pages + text})
        asked = program.invocation
        assert (asked.route, asked.field, asked.form) == ("/", "query", is_form)
        assert program.refused is None


EXPRESS = {
    "src/app.ts": "import express from 'express';\nimport cors from 'cors';\nimport chatRoutes from './chat/chat.routes';\nconst app = express();\napp.use(cors());\napp.use('/api/chat', limit(10), chatRoutes);\napp.listen(process.env.PORT);\n",
    "src/chat/chat.routes.ts": "import { Chat } from './chat.controller';\nconst router = Router();\nrouter.post('/message/:id', keep, (req, res) => chat.send(req, res));\nrouter.post('/message', keep, upload.single('pdf'), (req, res) => chat.send(req, res));\nexport default router;\n",
    "src/chat/chat.controller.ts": "import OpenAI from 'openai';\nexport class Chat {\n  async send(req, res) {\n    const { message } = req.body;\n    res.json({ success: true, data: await ask(message) });\n  }\n}\n",
    "package.json": "{}",
}


def test_the_routers_of_express_stand_in_files_of_their_own() -> None:
    first, *_ = found(EXPRESS)
    asked = first.invocation
    assert (first.path, first.refused) == ("src/app.ts", None)
    assert (asked.route, asked.field, asked.answer) == ("/api/chat/message", "message", "")


def test_handlers_of_azure_functions_are_refused_by_their_name() -> None:
    text = "import { app } from '@azure/functions';\nimport { ChatOpenAI } from '@langchain/openai';\napp.http('chats', { route: 'chats', methods: ['POST'], handler: post });\n"
    assert [one.refused for one in found({"src/functions/chats.ts": text})] == [AZURE]
    lone = text.replace(
        "import { ChatOpenAI } from '@langchain/openai'", "import { ask } from './ask.js'"
    )
    files = {
        "src/functions/chats.ts": lone,
        "src/functions/ask.ts": "import OpenAI from 'openai';\n",
    }
    assert {one.refused for one in found(files)} == {AZURE}


def test_a_page_in_the_terminal_is_named() -> None:
    (program,) = found({"desk/app.py": "from textual.app import App\nimport openai\n" + MAIN})
    assert program.refused is not None
    assert program.refused.why.startswith("draws a page in the terminal with Textual,")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tools.py", "from mcp.server.fastmcp import FastMCP\nimport openai\nmcp = FastMCP('x')\n"),
        ("files.py", "import openai\nclient.vector_stores.create(name='x')\n"),
        ("files.ts", "import OpenAI from 'openai';\nawait client.files.create({ file });\n"),
        ("mcp_server.py", "import openai\n"),
    ],
)
def test_what_makes_stores_or_serves_tools_is_never_tried(path: str, text: str) -> None:
    desk = {"desk.py": "import openai\ninput()" + MAIN}
    assert [one.path for one in found({**desk, path: text + MAIN * path.endswith(".py")})] == [
        "desk.py"
    ]


def test_requirements_may_be_called_otherwise() -> None:
    desk = {"desk.py": "import openai\ninput()" + MAIN, "requirements-dev.txt": ""}
    (program,) = found({**desk, "requirements-new.txt": "openai"})
    assert program.setup is not None
    assert program.setup.inputs == ("requirements-new.txt",)
    assert program.setup.run[-1].endswith("-r requirements-new.txt")
    assert [one.setup for one in found(desk)] == [None]


def test_routes_that_keep_files_are_no_agents() -> None:
    route = "import OpenAI from 'openai';\nexport async function POST(request) {}\n"
    places = ("turn_response", "vector_stores/add_file", "upload")
    told = [one.path for one in found({f"app/api/{one}/route.ts": route for one in places})]
    assert told == ["app/api/turn_response/route.ts"]


def test_a_python_that_uv_had_to_download_is_named() -> None:
    lines = [
        "error: Failed to install cpython-3.13.1-linux-x86_64-gnu",
        "  Caused by: client error (Connect): Temporary failure in name resolution",
    ]
    advice = address_advice(lines, redirected=False, calls=0)
    assert advice.startswith("uv wanted to download the Python")
    assert "redirect" not in advice


def test_an_application_may_be_of_an_own_class_that_takes_its_routers_in() -> None:
    kind = "import fastapi\nfrom .chat import router\nclass Desk(fastapi.FastAPI):\n    def __init__(self):\n        super().__init__()\n        self.include_router(router, prefix='/support')\n"
    chat = "import openai\nfrom fastapi import APIRouter\nrouter = APIRouter()\n@router.post('/ask')\ndef ask(question: str): ...\n"
    main = "from .desk import Desk\napp = Desk()\n"
    first, *_ = found({"api/main.py": main, "api/desk.py": kind, "api/chat.py": chat})
    assert (first.path, first.refused) == ("api/main.py", None)
    assert first.invocation.route.startswith("/support/ask?question=")


LOOP = "from graph import {made}\nwhile True:\n    said = input('> ')\n    print(run({made}(), said))\n"
PART = "from langgraph.prebuilt import create_react_agent\nhelper = create_react_agent('m', tools=[])\ndef make(): ...\n"


def test_what_the_readme_starts_comes_before_a_part_of_it() -> None:
    files = {
        "main.py": LOOP.format(made="make"),
        "graph.py": PART,
        "requirements.txt": "langgraph\n",
        "README.md": "# Use\n\n```bash\npip install -r requirements.txt\npython main.py\n```\n",
    }
    first, *_ = found(files)
    assert (first.path, first.target) == ("main.py", "")
    named, *_ = found({**files, "graph.py": PART.replace("helper", "agent")})
    assert named.target == "graph.py:agent"  # a leader by its name answers as well, and sooner
    untold, *_ = found({**files, "README.md": "# Use\n"})
    assert untold.target == "graph.py:helper"


def test_a_readme_says_which_of_two_programs_is_started() -> None:
    text = "import openai, sys\nprint(openai.ask(sys.argv[1]))\n" + MAIN
    files = {"desk/agent.py": text, "desk/talk.py": text}
    first, *_ = found(files)
    assert first.path == "desk/agent.py"
    for name, told in (
        ("README.md", "Run `uv run python desk/talk.py`."),
        ("README.md", "python3 -m desk.talk"),
        ("desk/Dockerfile", 'CMD ["python", "-u", "talk.py"]'),
    ):
        first, *_ = found({**files, name: told})
        assert first.path == "desk/talk.py", told


def test_a_server_is_asked_itself_and_not_what_starts_it() -> None:
    server = "import openai\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/ask')\ndef ask(question: str): ...\n"
    starter = "import typer, uvicorn\nfrom .server import app\ncli = typer.Typer()\n@cli.command()\ndef serve(port: int = typer.Option(8000, '--port')):\n    uvicorn.run('desk.server:app', port=port)\n@cli.command()\ndef other(): ...\n"
    project = "[project]\nname = 'desk'\n[project.scripts]\ndesk = 'desk.cli:cli'\n"
    files = {"desk/server.py": server, "desk/cli.py": starter, "pyproject.toml": project}
    first, *_ = found({**files, "desk/__init__.py": ""})
    assert first.path == "desk/server.py"
    assert first.command[-4:] == ("uvicorn", "desk.server:app", "--port", "{port}")


def test_its_own_imports_say_where_a_program_is_imported_from() -> None:
    server = "import openai\nfrom fastapi import FastAPI\nfrom src.ai.tools import x\napp = FastAPI()\n@app.post('/ask')\ndef ask(question: str): ...\n"
    files = {
        "back/src/main.py": server,
        "back/src/ai/tools.py": "from ai.loop import go\nx = 1\n",  # a package beside `back`
        "back/requirements.txt": "fastapi\n",
    }
    first, *_ = found(files)
    assert (first.root, first.modules_in) == ("back", "")
    assert "src.main:app" in first.command


def test_a_class_that_others_are_made_of_is_no_agent() -> None:
    base = "from llama_index.core.workflow import Workflow\nclass Base(Workflow):\n    ...\n"
    own = "from llama_index.core.workflow import Workflow\nfrom base import Base\nclass Desk(Base):\n    ...\nclass Talk(Workflow):\n    ...\n"
    assert {one.target for one in found({"base.py": base, "own.py": own})} == {"own.py:Talk"}


def test_the_readme_shows_the_words_of_a_command() -> None:
    text = "import openai, sys\nmode, *rest = sys.argv[1:]\n" + MAIN
    told = 'Run\n\n    python desk.py ask notes.md \\\n        "What is new?" --top 3  # answers\n'
    first, *_ = found({"desk.py": text, "README.md": told})
    assert first.command == ("python3", "desk.py", "ask", "notes.md", "{{ prompt }}", "--top", "3")
    assert first.invocation.sure
    for other in ("python desk.py [options]", "python desk.py ask $X 'a b'", "python desk.py 'a"):
        plain, *_ = found({"desk.py": text, "README.md": other})
        assert plain.command == ("python3", "desk.py", "{{ prompt }}")


ROUTE = "import { streamText } from 'ai';\nexport async function POST(req: Request) {\n  %s\n}\n"


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("const { messages, tools } = await req.json();", ()),
        ("const { prompt, n = 1 }: { prompt: string } = await req.json();", ()),
        ("const { userQuestion, thread } = await req.json();", ("userQuestion",)),
        ("const body = (await req.json()) as Body;\n  go(body.query, body.topK);", ("query",)),
        ("return handle(req);", ()),
        ("const { imageUrl } = await req.json();", None),
    ],
)
def test_a_route_is_given_the_fields_that_it_reads(
    body: str, inputs: tuple[str, ...] | None
) -> None:
    every = found({"app/api/chat/route.ts": ROUTE % body, "package.json": "{}"})
    told = [one.inputs for one in every if one.target]
    assert told == ([] if inputs is None else [inputs])


def test_a_server_at_a_port_of_its_own_is_given_the_one_of_the_trial() -> None:
    server = "import express from 'express';\nimport OpenAI from 'openai';\nconst app = express();\napp.post('/chat', async (req, res) => { res.json({ reply: await go(req.body.message) }) });\napp.listen(%s);\n"
    fixed, *_ = found({"server.js": server % "3000"})
    assert (fixed.command[:2], fixed.command[-1]) == (("node", "--import"), "server.js")
    free, *_ = found({"server.js": server % "process.env.PORT || 3000"})
    assert free.command == ("node", "server.js")
    port = "57123"
    program = "import net from 'node:net'; net.createServer().listen({ port: 1 }, function () { console.log(this.address().port); this.close(); });"
    words = [one.replace("{port}", port) for one in fixed.command[:3]]
    run = subprocess.run(
        [*words, "--input-type=module", "-e", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == port


def test_models_that_are_asked_over_plain_http_are_models() -> None:
    text = "import requests, sys\nprint(requests.post('https://api.openai.com/v1/chat/completions', json=sys.argv[1]))\n"
    first, *_ = found({"ask.py": text})
    assert (first.path, first.framework) == ("ask.py", "a model's HTTP API")
    assert not found({"ask.py": text.replace("requests", "os")})


def test_the_whole_graph_comes_before_its_nodes_and_files_that_try_it_last() -> None:
    whole = "from langgraph.graph import StateGraph, MessagesState\nfrom parts import planner\ngraph = StateGraph(MessagesState)\ngraph.add_node('plan', planner)\ngraph = graph.compile()\n"
    part = "from langgraph.prebuilt import create_react_agent\nplanner = create_react_agent('m', tools=[], agents=[x])\n"
    assert found({"whole.py": whole, "parts.py": part})[0].target == "whole.py:graph"
    one = "from langgraph.prebuilt import create_react_agent\nagent = create_react_agent('m', [])\n"
    assert found({"dev_try.py": one, "real.py": one})[0].target == "real.py:agent"


def test_of_several_in_a_mastra_the_first_leads() -> None:
    agent = "import { Agent } from '@mastra/core/agent';\nexport const %s = new Agent({ name: 'x', tools });\n"
    names = "import { Mastra } from '@mastra/core';\nexport const mastra = new Mastra({ agents: { desk: zebra, 'b': ape } });\n"
    files = {"src/mastra/agents/a.ts": agent % "ape", "src/mastra/agents/z.ts": agent % "zebra"}
    first, *_ = found({**files, "src/mastra/index.ts": names})
    assert first.target.endswith("z.ts:zebra")
    tool = "export const t = createTool({ execute: async ({ mastra }) => mastra?.getAgent('zebra') });\n"
    first, *_ = found({**files, "src/mastra/index.ts": names, "src/mastra/tools/t.ts": tool})
    assert first.target.endswith("index.ts:mastra.b")  # through its Mastra, which the tool asks
    server = "export const ask = () => mastra.getAgent('zebra').generate('x');\n"
    first, *_ = found({**files, "src/mastra/index.ts": names, "src/ask.ts": server})
    assert first.target.endswith("z.ts:zebra")


def test_lines_of_a_long_string_are_its_agents_wherever_they_begin() -> None:
    asks = "from pydantic_ai import Agent\nclass Deps: ...\ndesk = Agent(\n    'm',\n    system_prompt='''\nYou help.\n''',\n    deps_type=Deps,\n)\nother = 1\n"
    assert all(one.refused for one in found({"desk.py": asks}))
    node = "import { Agent } from '@openai/agents';\nexport const %s = new Agent({ name: 'x', instructions: `\nYou help.\n`, %s });\n"
    files = {"a.ts": node % ("one", "handoffs: []"), "b.ts": node % ("two", "handoffs: [one]")}
    first, *_ = found(files)
    assert first.target == "b.ts:two"


def test_agents_of_a_mastra_that_keeps_what_they_need_are_asked_through_it() -> None:
    agent = "import { Agent } from '@mastra/core/agent';\nexport const %s = new Agent({ name: 'x', memory });\n"
    made = "import { Mastra } from '@mastra/core';\nexport const mastra = new Mastra({\n  agents: { desk, [other]: ape, }, // by their keys\n  storage: new LibSQLStore({ url: ':memory:' }),\n});\n"
    files = {"a.ts": agent % "ape", "z.ts": agent % "desk", "src/mastra/index.ts": made}
    targets = [one.target for one in found(files)]
    assert targets == ["src/mastra/index.ts:mastra.desk", "a.ts:ape"]


def test_a_function_that_gives_back_something_of_its_own_makes_no_agent() -> None:
    made = "from pydantic_ai import Agent\nclass Runner: ...\ndef create_agent_runner(kind=None):\n    agent = Agent('m', instructions='x')\n    return %s\n"
    assert not any(one.target for one in found({"a.py": made % "Runner(agent=agent)"}))
    for given in ("agent", "Agent('m')"):
        assert found({"a.py": made % given})[0].target == "a.py:create_agent_runner()"


MODEL = "from openai import OpenAI\nclient = OpenAI()\n"
BOT = "import { App } from '@slack/bolt'\nimport OpenAI from 'openai'\nconst app = new App({})\n"
SLACK = f"""from fastapi import FastAPI, Request
from slack_bolt import App
{MODEL}
app = FastAPI()

@app.post("/slack/events")
async def events(given: Request):
    return await handler.handle(given)
"""
CHAT = """import { respond } from '@shop/core'
export async function POST(request: Request) {
  const { question } = await request.json()
  return Response.json(await respond(question))
}
"""
CORE = "import OpenAI from 'openai'\nexport const respond = async (said: string) => said\n"


def test_a_bot_beside_a_site_that_can_be_asked_does_not_refuse_for_both() -> None:
    bot = {"apps/desk/src/index.ts": BOT, "apps/desk/package.json": '{"main": "src/index.ts"}'}
    alone, *_ = found(bot)
    assert "Slack" in str(alone.refused)
    site = {
        "apps/site/app/api/chat/route.ts": CHAT,
        "apps/site/package.json": "{}",
        "packages/core/src/index.ts": CORE,
        "packages/core/package.json": '{"name": "@shop/core"}',
    }
    first, *_ = found({**bot, **site})
    assert (first.path, first.refused) == ("apps/site/app/api/chat/route.ts", None)


def test_a_bot_comes_after_a_program_of_another_folder() -> None:
    bot = {
        "agent_bot/main.py": SLACK,
        "agent_bot/requirements.txt": "slack_bolt",
        "README.md": "python agent_bot/main.py",
    }
    typed = {"tell/it.py": f"{MODEL}def main():\n    print(input())\n{MAIN}"}
    first, last = found({**bot, **typed})
    assert (first.path, first.refused) == ("tell/it.py", None)
    assert "Slack" in str(last.refused)


INSIDE = """from aiohttp import web
{model}
def serve():
    app = web.Application()

    async def health(request):
        return web.json_response({{"status": "ok"}})

    async def told(request):
        given = await request.json()
{body}
        return web.json_response({{"reply": "said"}})

    app.router.add_get("/health", health)
    {added}
    web.run_app(app, port=8123)

if __name__ == "__main__":
    serve()
"""


@pytest.mark.parametrize(
    "added", ['app.router.add_post("/tell", told)', 'app.add_routes([web.post("/tell", told)])']
)
def test_a_server_of_aiohttp_is_asked_at_the_routes_that_are_added_to_it(added: str) -> None:
    body = '        text = given["question"]'
    (one,) = found({"main.py": INSIDE.format(model=MODEL, body=body, added=added)})
    asked = one.invocation
    assert (asked.route, asked.field, asked.answer) == ("/tell", "question", "reply")
    assert one.refused is None
    assert "aiohttp.web.run_app = lambda app, *a, **more: was(app, *a" in one.command[-1]
    body = '        if given.get("method") == "message/send":\n            pass'
    (one,) = found({"main.py": INSIDE.format(model=MODEL, body=body, added=added)})
    assert json.loads(one.invocation.body)["method"] == "message/send"
    (one,) = found({"main.py": INSIDE.format(model=MODEL, body="", added=added)})
    assert one.refused is not None


def test_a_route_without_a_path_of_its_own_lies_where_its_router_says() -> None:
    router = """from fastapi import APIRouter
from pydantic import BaseModel
from work.flow import make_flow
desk = APIRouter(prefix="/chat")

class Said(BaseModel):
    text: str
    shop_id: str

@desk.post("")
async def told(said: Said):
    return {"reply": await make_flow().ainvoke(said.text)}
"""
    flow = """from langgraph.graph import StateGraph
from work.kept import Kept

def make_flow():
    graph = StateGraph(Kept)
    return graph.compile()
"""
    main = """from fastapi import FastAPI
from work.desk import desk

def create_app():
    app = FastAPI()
    app.include_router(desk)
    return app

app = create_app()
"""
    kept = "class Kept(TypedDict):\n    messages: list\n    shop_id: str\n"
    packages = {"work/main.py": main, "work/desk.py": router, "work/flow.py": flow}
    first, *_ = found({**packages, "work/kept.py": kept, "work/__init__.py": ""})
    assert (first.path, first.invocation.route) == ("work/main.py", "/chat")
    assert json.loads(first.invocation.body) == {"text": "{{ prompt }}", "shop_id": "gateval"}


def test_the_program_of_the_readme_comes_before_the_graph_that_it_fills() -> None:
    graph = (
        "from langgraph.graph import StateGraph\ngraph = StateGraph(dict)\napp = graph.compile()\n"
    )
    typed = "from flow import app\nwhile True:\n    print(app.invoke({'said': input()}))\n"
    files = {"flow.py": graph, "talk.py": typed}
    assert found(files)[0].path == "flow.py"
    assert found({**files, "README.md": "python talk.py"})[0].path == "talk.py"


def test_the_server_of_the_readme_comes_before_a_loop_that_it_imports() -> None:
    loop = f"{MODEL}def main():\n    print(input())\n{MAIN}"
    server = """from fastapi import FastAPI
from agent import main
app = FastAPI()

@app.post("/chat")
async def told(question: str):
    return {"reply": question}
"""
    files = {"desk/agent.py": loop, "desk/front.py": server}
    assert found({**files, "README.md": "uv run -m desk.front"})[0].path == "desk/front.py"
