"""Ways to an agent, in shapes that 75 public repositories showed: which is asked, which refused."""

from __future__ import annotations

import json

import pytest
import yaml

from gateval.app.proof import with_key
from gateval.domain.setup.invocation import Begin
from gateval.domain.setup.request_models import asked_as_written
from gateval.render.starter import program_manifest
from tests.unit.domain.test_handlers import ASK
from tests.unit.domain.test_programs_of_strangers import MAIN, found
from tests.unit.domain.test_request_models import TOP

BOT = "import openai\nfrom telegram.ext import Application\n\ndef main():\n    openai.x(); Application.builder()\n"
DESK = "import {{ OpenAI }} from 'openai';\nimport {{ {name} }} from '{package}';\nnew OpenAI();\n"


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("main.py", BOT + MAIN, "is a bot of Telegram"),
        ("bot.py", "import openai, discord\nx = openai.chat\n" + MAIN, "takes no question"),
        ("bot.py", "import openai\nimport discord\nx = openai.chat\n" + MAIN, "a bot of Discord"),
        ("index.ts", DESK.format(name="App", package="@slack/bolt"), "is a bot of Slack"),
        ("keep.py", "import argparse, openai\nfrom atproto_client import Client\ndef main():\n    Client().list_notifications()\n    parser = argparse.ArgumentParser()\n    some = parser.add_subparsers(dest='what')\n    some_parser = some.add_parser('recover')\n    some_parser.add_argument('--hours', type=int)\n" + MAIN, "is a bot of Bluesky"),
        ("talk.py", "import openai\nfrom fastrtc import Stream\n" + MAIN, "is spoken to"),
        ("token.ts", DESK.format(name="RealtimeAgent", package="@openai/agents/realtime"), "is spoken to"),
        ("shop/views.py", "import openai\nfrom django.http import HttpResponse\n", "Django"),
        ("app.py", "from transformers import pipeline\nrun = pipeline('x')\n", "own process"),
        ("bot.py", "from chatterbot import ChatBot\ndef main(): ChatBot('x').go(input())\n" + MAIN, "own process"),
        ("src/main.ts", "import { query } from '@anthropic-ai/claude-agent-sdk';\nimport { app, BrowserWindow } from 'electron';\nipcMain.handle('ask', (e, told) => query(told));\n", "opens a window with Electron"),
        ("src/index.ts", "import { Think } from '@cloudflare/think';\nexport class Desk extends Think {}\nexport default {\n  async fetch(request, env) {}\n};\n", "is an agent of Cloudflare"),
        ("app.ts", "import { Hono } from 'hono';\nimport OpenAI from 'openai';\nconst app = new Hono();\napp.post('chat', c => new OpenAI());\nexport default { fetch: app.fetch };\n", "a platform calls"),
    ],
)  # fmt: skip
def test_what_is_asked_elsewhere_is_refused_by_where(path: str, text: str, why: str) -> None:
    program = found({path: text})[0]
    assert program.refused
    assert why in program.refused.why


def test_a_graph_of_an_older_module_system_is_one_and_an_expression_is_none() -> None:
    graph = "const { StateGraph } = require('@langchain/langgraph');\nconst desk = new StateGraph(S);\nconst app = desk.compile();\nmodule.exports = { app };\n"
    (program,) = found({"desk.js": graph})
    assert program.target == "desk.js:app"
    words = "import re\nfrom langchain_core import x\nfrom langchain.agents import y\nWORDS = re.compile('x')\n\n\n\ndef f(): ...\n"
    assert not any("WORDS" in one.target for one in found({"guard.py": words}))


FACTORY = "from smolagents import CodeAgent\n\ndef build_{name}_agent():\n    return CodeAgent(tools=[])\n"
SERVER = "from fastapi import FastAPI, Request\nfrom agents.writer import build_writer_agent\nfrom agents.reader import build_reader_agent\n{made}@{app}.post('/api/chat')\nasync def chat(request: Request):\n    data = await request.json()\n    return build_writer_agent().run(data['message'])\n"


def test_a_server_comes_before_the_functions_that_make_its_agents() -> None:
    parts = {f"agents/{one}.py": FACTORY.format(name=one) for one in ("writer", "reader")}
    server = SERVER.format(made="app = FastAPI()\n\n", app="app")
    first = found({"app.py": server, "agents/__init__.py": "", **parts})[0]
    assert (first.path, first.invocation.route, first.invocation.field) == (
        "app.py", "/api/chat", "message",
    )  # fmt: skip


def test_an_application_is_made_by_a_function_of_any_name() -> None:
    routes = "import openai\nfrom fastapi import APIRouter\nrouter = APIRouter()\n\n@router.post('/ask')\ndef ask(question: str):\n    return openai.x(question)\n"
    made = "from fastapi import FastAPI\nfrom routes import router\n\ndef build_service_app() -> FastAPI:\n    app = FastAPI()\n    app.include_router(router)\n    return app\n"
    first = found({"service.py": made, "routes.py": routes})[0]
    assert "service:build_service_app" in first.command
    assert "--factory" in first.command


SAYS = "class Said(BaseModel):\n    message: str\nclass New(BaseModel):\n    kind: int\n\n@app.post('/conversations')\n%s\n\n@app.post('/conversations/{number}/messages')\ndef say(number: str, said: Said): return openai.x\n"


@pytest.mark.parametrize(
    ("begin", "key"),
    [
        ("def begin(new: New): ...", "number"),
        ("def begin(new: New): return {'id': 1, 'kind': new.kind}", "id"),
        ("def begin(new: New): return {'number': 1, 'id': 2}", "number"),
    ],
)
def test_a_request_begins_the_conversation_that_another_goes_on_with(begin: str, key: str) -> None:
    (program,) = found({"main.py": f"import openai\n{TOP}{SAYS % begin}"})
    asked = program.invocation
    assert program.refused is None
    assert asked.begin == Begin("/conversations", '{"kind": 1}')
    assert asked.route == f"/conversations/{{{{ begun.chat.{key} }}}}/messages"
    manifest = yaml.safe_load(program_manifest("desk", program, (), ""))
    request = manifest["spec"]["runtime"]["request"]
    assert request["begin"] == {"chat": {"path": "/conversations", "body": {"kind": 1}}}
    assert with_key(program, key, "`mode`, `chat_id`").invocation.route.endswith(
        "{{ begun.chat.chat_id }}/messages"
    )


def test_what_a_conversation_is_named_by_may_stand_in_the_body() -> None:
    text = "class Said(BaseModel):\n    session_id: str\n    message: str\n\n@app.post('/sessions')\ndef begin(): return {'session_id': 1}\n\n@app.post('/chat')\ndef say(said: Said):\n    raise HTTPException(404)\n    return openai.x\n"
    (program,) = found({"main.py": f"import openai\n{TOP}{text}"})
    assert program.refused is None
    assert json.loads(program.invocation.body) == {
        "session_id": "{{ begun.chat.session_id }}",
        "message": "{{ prompt }}",
    }
    assert program.invocation.begin == Begin("/sessions", "{}")


def test_a_conversation_that_another_request_begins_is_refused_aloud() -> None:
    text = SAYS % "def begin(new: New): return {'kind': new.kind}"
    (program,) = found({"main.py": f"import openai\n{TOP}{text}"})
    assert program.refused
    assert "`POST /conversations`" in program.refused.why
    node = "import express from 'express';\nimport OpenAI from 'openai';\nconst app = express();\napp.post('/chats/:id/messages', (req, res) => res.json({ answer: req.body.message }));\napp.listen(3000);\n"
    (program,) = found({"server.ts": node})
    assert program.refused
    assert "`POST /chats`" in program.refused.why


def test_a_handler_may_take_its_question_by_get_and_demand_a_header() -> None:
    got = asked_as_written({"main.py": TOP + "@app.get('/ask')\ndef ask(question: str): return {'answer': 1}\n"})  # fmt: skip
    assert got
    assert (got.method, got.route, got.answer) == ("GET", "/ask?question={{ prompt }}", "answer")
    listed = TOP + "@app.get('/users')\ndef users(name: str): return {'answer': 1}\n"
    assert asked_as_written({"main.py": listed}) is None
    tenant = "@app.post('/chat')\ndef f(question: str, tenant: str = Header(..., alias='x-tenant-id'), agent: str = Header(None)): ...\n"
    got = asked_as_written({"main.py": TOP + tenant})
    assert got
    assert got.headers == (("x-tenant-id", "gateval"),)


def test_an_answer_is_that_of_the_handler_and_a_number_is_no_question() -> None:
    flask = "import openai\nfrom flask import Flask, request, jsonify\napp = Flask(__name__)\n\n@app.route('/chat', methods=['POST'])\ndef chat():\n    return stream(request.get_json()['message'])\n\n@app.route('/models', methods=['POST'])\ndef models():\n    return jsonify({'models': []})\n"
    (program,) = found({"app.py": flask})
    assert (program.invocation.route, program.invocation.answer) == ("/chat", "")
    node = "import express from 'express';\nimport OpenAI from 'openai';\nconst app = express();\napp.post('/chat/session', (req, res) => res.json({}));\napp.post('/chat/review', async (req, res) => {\n  const body = await req.json();\n  const { session_id, code } = body;\n  res.json({ review: new OpenAI(code) });\n});\napp.listen(3000);\n"
    (program,) = found({"server.ts": node})
    assert (program.invocation.route, program.invocation.field) == ("/chat/review", "code")


def test_what_hands_on_to_others_comes_first_and_a_window_beside_a_server_is_no_page() -> None:
    asks = "from strands import Agent\n\ndef main():\n    Agent()(input('> '))\n" + MAIN
    programs = found({"sushi_agent.py": asks, "coordinator.py": asks})
    assert programs[0].path == "coordinator.py"
    server = "import tkinter\nimport openai\nfrom flask import Flask, request\napp = Flask(__name__)\n\n@app.route('/chat', methods=['POST'])\ndef chat():\n    return {'answer': request.get_json()['message']}\n"
    (program,) = found({"app.py": server})
    assert program.refused is None


def test_of_several_words_of_a_command_the_first_is_the_question() -> None:
    text = "import sys, openai\nprint(openai.x(sys.argv[1], sys.argv[2]))\n" + MAIN
    readme = 'Run `python main.py "Nvidia" "last 3 months"`.\n'
    (program,) = found({"main.py": text, "README.md": readme})
    assert program.invocation.words == ("{{ prompt }}", "last 3 months")


def test_a_program_of_node_may_start_a_loop_that_another_file_has() -> None:
    files = {
        "package.json": '{"module": "index.ts"}',
        "index.ts": "import App from './src/app';\nconst app = new App();\n\napp.run();\n",
        "src/app.ts": "import OpenAI from 'openai';\nimport ask from './io';\nexport default class App { async run() { await ask(); new OpenAI(); } }\n",
        "src/io.ts": "import readline from 'readline';\nexport default () => readline.createInterface({ input: process.stdin });\n",
    }
    (program,) = found(files)
    assert (program.path, program.refused, program.invocation.stdin) == (
        "index.ts",
        None,
        "{{ prompt }}",
    )
    files["index.ts"] = "import App from './src/app';\nexport const app = new App();\n"
    assert all(one.path != "index.ts" for one in found(files))


def test_a_client_of_a_deployed_agent_is_not_the_agent() -> None:
    client = "import argparse, boto3\n\ndef ask(arn, prompt):\n    return boto3.client('bedrock-agentcore').invoke_agent_runtime(agentRuntimeArn=arn, payload=prompt)\n\nif __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--prompt')\n    ask('x', parser.parse_args().prompt)\n"
    agent = "import argparse\nfrom strands import Agent\nif __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--prompt')\n    Agent()(parser.parse_args().prompt)\n"
    files = {"invoke_runtime.py": client, "deep/research/main.py": agent}
    assert found(files)[0].path == "deep/research/main.py"


def test_a_program_that_is_a_package_is_called_as_its_folder() -> None:
    text = f"import openai\n{TOP}{ASK}@app.post('/ask')\ndef f(ask: Ask): ...\n"
    (program,) = found({"src/helpdesk/__init__.py": text, "src/requirements.txt": "openai\n"})
    assert "helpdesk" in program.names
    assert "__init__" not in program.names
