"""Programs that look like agents, in ten kinds of repositories."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.libraries import framework_of, models_in
from gateval.domain.setup.other_work import STREAMS
from gateval.domain.setup.program import FoundProgram, invocation_of
from gateval.domain.setup.program_search import find_programs
from gateval.domain.setup.repository_files import tells_of_project, worth_reading
from gateval.domain.setup.starter import said_of, sketch

MAIN = "\nif __name__ == '__main__':\n    main()\n"


def found(files: Mapping[str, str]) -> tuple[FoundProgram, ...]:
    texts = {
        path: text for path, text in files.items() if worth_reading(path) or tells_of_project(path)
    }
    return find_programs(texts, files)


REPOSITORIES = [
    pytest.param(
        {"main.py": "import sys\nfrom openai import OpenAI\nprint(sys.argv[1], 'gpt-4o')" + MAIN, "uv.lock": "", "pyproject.toml": ""},
        "OpenAI SDK", (".venv/bin/python", "main.py", "{{ prompt }}"), "", id="openai sdk",
    ),
    pytest.param(
        {"src/bot.py": "import json, sys\nfrom agents import Agent\njson.load(sys.stdin)['prompt']" + MAIN, "requirements.txt": "openai-agents"},
        "OpenAI Agents", (".venv/bin/python", "src/bot.py"), "", id="openai agents",
    ),
    pytest.param(
        {"desk/__init__.py": "", "desk/__main__.py": "from desk.agent import main\n" + MAIN, "desk/agent.py": "from pydantic_ai import Agent\ninput()\n", "pyproject.toml": ""},
        "Pydantic AI", ("python3", "-m", "desk"), "", id="pydantic ai",
    ),
    pytest.param(
        {"app/graph.py": "from langgraph.graph import StateGraph\n", "app/main.py": "from app.graph import graph\nimport argparse\nargparse.ArgumentParser().add_argument('--question')" + MAIN, "poetry.lock": "", "pyproject.toml": ""},
        "LangGraph", (".venv/bin/python", "-m", "app.main", "--question", "{{ prompt }}"), "", id="langgraph",
    ),
    pytest.param(
        {"run.py": "from smolagents import CodeAgent\nq = input()" + MAIN, "requirements.txt": ""},
        "smolagents", (".venv/bin/python", "run.py"), "", id="smolagents",
    ),
    pytest.param(
        {"src/crew/main.py": "from crew.crew import Desk\ninput()\n" + MAIN, "src/crew/crew.py": "from crewai import Crew\n", "src/crew/__init__.py": "", "uv.lock": "", "pyproject.toml": ""},
        "CrewAI", (".venv/bin/python", "-m", "crew.main"), "", id="crewai",
    ),
    pytest.param(
        {"src/agent.ts": "import { generateText } from 'ai';\nimport { anthropic } from '@ai-sdk/anthropic';\nconst q = process.argv[2];", "package.json": "{}", "package-lock.json": "{}"},
        "Vercel AI SDK", ("node", "--import", "tsx", "src/agent.ts", "{{ prompt }}"), "", id="vercel",
    ),
    pytest.param(
        {"agent.py": "from google import genai\nimport sys\nsys.stdin.read()" + MAIN},
        "Google GenAI", ("python3", "agent.py"), "", id="google genai",
    ),
    pytest.param(
        {"services/desk/desk/server.py": "from fastapi import FastAPI\nfrom openai import OpenAI\nfrom common import money\napp = FastAPI()\n@app.post('/chat')\ndef chat(): ...\n", "services/desk/uv.lock": "", "services/desk/pyproject.toml": "", "libs/common/common/__init__.py": "", "libs/common/pyproject.toml": ""},
        "OpenAI SDK", (".venv/bin/python", "-m", "uvicorn", "desk.server:app", "--port", "{port}"), "services/desk", id="monorepo",
    ),
    pytest.param(
        {"desk/cmd/bot/main.go": 'package main\nimport (\n\t"os"\n\toai "github.com/openai/openai-go/v2"\n)\nfunc main() { ask(os.Args[1], "gpt-4o") }\n', "desk/ask.go": "package desk\n", "desk/go.mod": "", "desk/go.sum": ""},
        "OpenAI SDK", (".build/agent", "{{ prompt }}"), "desk", id="go",
    ),
    pytest.param(
        {"server.js": "const Anthropic = require('@anthropic-ai/sdk');\napp.post('/ask', (req, res) => res.json({ answer: req.body.question }));\napp.listen(process.env.PORT);", "package.json": "{}", "pnpm-lock.yaml": ""},
        "Anthropic SDK", ("node", "server.js"), "", id="node server",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "framework", "command", "root"), REPOSITORIES)
def test_it_finds_the_program(
    files: dict[str, str], framework: str, command: tuple[str, ...], root: str
) -> None:
    first, *_ = found(files)

    assert (first.framework, first.command, first.root) == (framework, command, root)
    assert first.refused is None


def test_a_shared_package_outside_its_folder_is_included() -> None:
    (program,) = found(REPOSITORIES[8].values[0])  # type: ignore[arg-type]
    assert program.include == ("/libs/common/**",)


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "import openai"},
        {"main.py": "print('hello')" + MAIN},
        {"tests/test_agent.py": "import openai" + MAIN},
        {"examples/x.py": "import openai" + MAIN},
        {"main.py": "# import openai\nx = 'from openai import'" + MAIN},
        {"src/Chat.tsx": "'use client';\nimport { streamText } from 'ai';\nfetch(process.argv[2])"},
        {
            "src/types.ts": "import type {\n  Message\n} from 'ai'\nimport { type A, type B } from 'openai';"
        },
    ],
)
def test_what_is_no_agent(files: dict[str, str]) -> None:
    assert found(files) == ()


PAGES = [
    ({"app.py": "import openai\nfrom smolagents.gradio_ui import GradioUI\nGradioUI(agent)" + MAIN}, "Gradio"),
    ({"ui.py": "import streamlit as st\nimport openai\ninput()"}, "Streamlit"),
    ({"app.py": "import streamlit as st\nfrom desk.asks import ask\n", "desk/asks.py": "import agno.agent\nimport tkinter\n"}, "Streamlit"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name"), PAGES, ids=["gradio", "streamlit", "behind it"])
def test_a_page_is_refused_by_what_draws_it(files: dict[str, str], name: str) -> None:
    first, *_ = found(files)
    assert first.refused is not None
    assert first.refused.why.startswith(f"draws a page with {name},")


def test_a_page_is_nothing_beside_an_agent() -> None:
    (program,) = found({**PAGES[1][0], "desk.py": "import openai\ninput()"})
    assert (program.path, program.refused) == ("desk.py", None)


def test_a_template_of_a_program_is_none() -> None:
    text = "from google.adk.agents import Agent\n{%- if x %}\nimport os\n{%- endif %}\nroot_agent = Agent(name='x')\n"
    (program,) = found({"app/agent.py": text})
    assert program.refused is not None
    assert "is a template" in program.refused.why
    prompt = 'from google.adk.agents import Agent\nroot_agent = Agent(name="x", instruction="""\n{% if x %}""")\n'
    assert [one.refused for one in found({"app/agent.py": prompt})] == [None]


def test_an_agent_that_serves_itself_comes_before_the_program_that_imports_it() -> None:
    agent = "from pydantic_ai import Agent\nfrom pydantic_ai.ag_ui import StateDeps\ndesk = Agent('x', deps_type=StateDeps[S])\napp = desk.to_ag_ui(deps=StateDeps(S()))\n"
    files = {"agent.py": agent, "cli.py": "from agent import desk\ninput()" + MAIN}
    first, *_ = found(files)
    assert (first.path, first.invocation) == ("agent.py", Invocation(route="/", preset="ag-ui"))
    assert first.command[1:4] == ("-m", "uvicorn", "agent:app")


A2A = "from a2a.server.apps import A2AStarletteApplication\nimport langchain, click, uvicorn\n"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("@click.command()\n@click.option('--port', default=10000)\ndef main(port):\n    app = build()\n    uvicorn.run(app, host='localhost', port=port)\n" + MAIN, ("-m", "desk", "--port", "{port}")),
        ("def main():\n    uvicorn.run(build(), port=int(os.getenv('PORT', '8000')))\n" + MAIN, ("-m", "desk")),
        ("def main():\n    uvicorn.run(server.build(), host='0.0.0.0', port=10001)\n" + MAIN, ("-c", "port={port}")),
    ],
    ids=["an option", "the variable", "a port of its own"],
)  # fmt: skip
def test_a_server_that_starts_itself_speaks_a2a_at_the_port_of_the_trial(
    text: str, command: tuple[str, ...]
) -> None:
    (program,) = found(
        {"desk/__main__.py": A2A + text, "desk/__init__.py": "", "pyproject.toml": ""}
    )
    assert (program.refused, program.invocation) == (None, Invocation(route="/", preset="a2a"))
    assert program.command[1] == command[0]
    assert all(word in " ".join(program.command) for word in command)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("server.py", A2A + "server = A2AStarletteApplication(card, handler)\napp = server.build()\n", ("a2a", "/")),
        ("index.ts", "import { A2AExpressApp } from '@a2a-js/sdk/server/express';\nconst app = new A2AExpressApp(handler).setupRoutes(express());\napp.listen(process.env.PORT || 41241);", ("a2a", "/")),
        ("server.py", "import langchain\napp = FastAPI()\nadd_langgraph_fastapi_endpoint(\n    app=app, agent=desk, path='/desk')\n", ("ag-ui", "/desk")),
        ("main.py", "import strands\napp = create_strands_app(desk, '/')\n", ("ag-ui", "/")),
        ("serve.py", "import langchain\napp = FastAPI()\nadd_routes(app, chain, path='/joke')\n", ("langserve", "/joke/stream")),
    ],
)  # fmt: skip
def test_a_server_is_asked_in_the_protocol_that_it_speaks(
    path: str, text: str, expected: tuple[str, str]
) -> None:
    (program,) = found({path: text})
    assert (program.invocation.preset, program.invocation.route) == expected
    assert program.runtime == "http"


QUIET = "from openai import OpenAI\nclient = OpenAI()\n\n{more}def {name}({given}):\n    return client.responses.create(input={arg})\n"


@pytest.mark.parametrize(
    ("name", "given", "more", "target"),
    [
        ("ask", "question: str", "", "desk.py:ask"),
        ("run_agent", "user_input", "", "desk.py:run_agent"),
        ("ask", "question: str, loud: bool = False", "", "desk.py:ask"),
        ("ask", "question: str, history: list", "", ""),
        ("ask", "question: str", "@tool\n", ""),
        ("deploy_agent", "prompt: str", "", ""),
        ("load_rows", "text: str", "", ""),
    ],
)
def test_a_program_that_takes_no_question_is_asked_by_its_function_or_refused(
    name: str, given: str, more: str, target: str
) -> None:
    text = QUIET.format(
        name=name,
        given=given,
        more=more,
        arg=given.split(":", maxsplit=1)[0].split(",", maxsplit=1)[0],
    )
    (program,) = found({"desk.py": text + MAIN})
    assert program.target == target
    assert (program.refused is None) == bool(target)
    if program.refused:
        assert program.refused.why.startswith("takes no question: nothing in it reads")


@pytest.mark.parametrize("asks", ["while True:\n    said = input('You: ')", "if True:\n    main()"])
def test_a_loop_at_the_top_of_a_module_is_a_program(asks: str) -> None:
    (program,) = found({"chat.py": f"import openai\ndef main(): input()\n{asks}\n"})
    assert (program.path, program.started, program.refused) == ("chat.py", True, None)


def test_what_reads_the_question_may_lie_behind_the_program() -> None:
    files = {"main.ts": "import { Chat } from './chat.js';\nimport OpenAI from 'openai';\nnew Chat(process.argv.length).start();", "chat.ts": "import readline from 'node:readline';\nimport OpenAI from 'openai';"}  # fmt: skip
    assert all(one.refused is None for one in found(files))


def test_the_command_line_of_deep_agents_is_a_framework() -> None:
    text = "import argparse\nfrom deepagents_cli.agent import run\np = argparse.ArgumentParser()\np.add_argument('task')"
    (program,) = found({"ralph.py": text + MAIN})
    assert (program.framework, program.command[-1]) == ("LangChain", "{{ prompt }}")


def test_the_agent_whose_tools_run_others_comes_first() -> None:
    text = "from pydantic_ai import Agent\nmail = Agent('x', tools=[send])\nchief = Agent('x')\n\n@chief.tool_plain\nasync def post(what):\n    return await mail.run(what)\n"
    assert [one.told for one in found({"desk.py": text})] == ["desk.py:chief", "desk.py:mail"]


def test_a_method_of_an_own_class_takes_the_question() -> None:
    text = "from agents import Agent\n\nclass Desk:\n    def __init__(self): ...\n\n    async def query(\n        self,\n        question: str,\n    ): ...\n\n\ndesk = Desk()\n"
    assert [one.told for one in found({"desk.py": text})] == ["desk.py:desk.query"]


TEAM = {
    "main.py": "from team.manager import work\ninput()" + MAIN,
    "team/manager.py": "from team.planner import planner\nfrom team.writer import writer\n",
    "team/planner.py": "from agents import Agent\nplanner = Agent(name='P')\n",
    "team/writer.py": "from agents import Agent\nwriter = Agent(name='W', tools=[a])\n",
}


def test_a_program_that_runs_agents_of_which_none_leads_is_the_agent() -> None:
    assert found(TEAM)[0].told == "main.py"
    led = {**TEAM, "team/planner.py": "from agents import Agent\ntriage = Agent(name='P')\n"}
    assert found(led)[0].told == "team/planner.py:triage"


def test_a_chat_that_http_only_creates_is_asked_over_websocket() -> None:
    text = "import { query } from '@anthropic-ai/claude-agent-sdk';\napp.post('/api/chats', (req, res) => {\n  res.json(make(req.body?.title));\n});\napp.get('/api/chats/:id/messages', all);\napp.listen(1);\nnew WebSocketServer({ server });\n"
    assert [one.refused for one in found({"server.ts": text})] == [STREAMS]
    asked = text.replace("title", "message")
    assert [one.refused for one in found({"server.ts": asked})] == [None]


def test_a_server_of_several_agents_is_not_asked_before_them() -> None:
    main = "from fastapi import FastAPI\nfrom team.manager import work\napp = FastAPI()\n@app.post('/chat')\ndef chat(): ...\n"
    assert found({**TEAM, "main.py": main})[0].told == "team/writer.py:writer"


def test_an_agent_that_looks_after_others_comes_last() -> None:
    helper = "from agents import Agent\ntitle_agent = Agent(name='T', tools=[a])\n"
    desk = "from agents import Agent\nfrom title import title_agent\ndesk = Agent(name='D')\n"
    assert [one.told for one in found({"title.py": helper, "x.py": desk})] == [
        "x.py:desk",
        "title.py:title_agent",
    ]


def test_the_body_of_a_node_server_has_what_its_schema_demands() -> None:
    schema = "import { z } from 'zod';\nexport const Ask = z.object({\n  message: z.string().min(1), // the question\n  sessionId: z.string().uuid(),\n  mode: z.enum(['fast', 'deep']),\n  user: z.object({ age: z.number(), city: z.string().optional() }),\n  loud: z.boolean().default(false),\n});\n"
    server = "import OpenAI from 'openai';\nimport { Ask } from './schema';\napp.post('/chat', (req, res) => {\n  const asked = Ask.parse(req.body);\n  res.json({ reply: 1 });\n});\napp.listen(process.env.PORT);\n"
    first, *_ = found({"server.ts": server, "schema.ts": schema})
    assert (first.invocation.route, first.invocation.answer) == ("/chat", "reply")
    assert json.loads(first.invocation.body) == {
        "message": "{{ prompt }}",
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "mode": "fast",
        "user": {"age": 1},
    }


def test_a_program_that_imports_others_comes_before_them() -> None:
    helper = "import openai\ninput()" + MAIN
    chief = "import openai\nfrom a_mail import send\ninput()" + MAIN
    assert [one.told for one in found({"a_mail.py": helper, "chief.py": chief})] == [
        "chief.py",
        "a_mail.py",
    ]


@pytest.mark.parametrize(
    ("parameters", "target"),
    [("request: Any = None", "desk.py:create_workflow()"), ("request", "")],
)
def test_what_makes_an_agent_may_take_what_has_a_default(parameters: str, target: str) -> None:
    text = f"from llama_index.core import x\ndef create_workflow({parameters}) -> AgentWorkflow:\n    return AgentWorkflow.from_tools([])\n"
    assert found({"desk.py": text})[0].target == target


def test_a_graph_is_named_by_a_module_of_a_package_anywhere_below() -> None:
    declaring = '{"graphs": {"lead": "deer.agents:make"}}'
    files = {
        "api/langgraph.json": declaring,
        "api/packages/core/deer/agents/__init__.py": "import langgraph",
    }
    assert found(files)[0].told == "api/langgraph.json"


def test_a_workflow_is_found_where_it_is_built() -> None:
    text = "from agent_framework import WorkflowBuilder\n\nworkflow = (\n    WorkflowBuilder(name='Mail', start=a)\n    .add_edge(a, b)\n    .build()\n)\n"
    (program,) = found({"flow.py": text})
    assert (program.told, program.names[0]) == ("flow.py:workflow", "Mail")


def test_types_hide_no_package_behind_them() -> None:
    text = "import type { A } from 'ai'\nimport { Agent } from '@openai/agents'\n"
    assert framework_of("a.ts", text) == "OpenAI Agents"


@pytest.mark.parametrize("asks", ["topic = input('What? ')", "args = parser.parse_args()"])
def test_a_module_that_asks_while_it_is_imported_is_a_program(asks: str) -> None:
    (program,) = found({"main.py": f"from crewai import Crew\n{asks}\ncrew = Crew(agents=[])\n"})
    assert (program.target, program.told) == ("", "main.py")


@pytest.mark.parametrize("name", ["indexer", "ingest_docs", "deploy", "upload_post"])
def test_a_graph_that_loads_or_deploys_is_no_agent(name: str) -> None:
    graphs = f'{{"graphs": {{"{name}": "./src/load.py:graph", "desk": "./src/desk.py:graph"}}}}'
    files = {"langgraph.json": graphs, "src/load.py": "import langgraph", "src/desk.py": ""}
    assert [one.told for one in found(files)] == ["langgraph.json:desk"]


def test_a_library_that_nothing_starts_is_no_agent() -> None:
    (program,) = found({"lib/agent.py": "import openai\n", "lib/tools.py": "import openai\n"})
    assert program.refused is not None
    assert program.refused.why.startswith("asks a model, but no agent was found: no langgraph.json")
    (named,) = find_programs({"lib/agent.py": "import openai\n"}, ["lib/agent.py"], "lib/agent.py")
    assert (named.command, named.refused) == (("python3", "agent.py"), None)
    assert "Nothing tells how it is started, so `command` is a guess: mend it first." in said_of(
        named
    )


def test_two_that_are_as_likely_both_come_first() -> None:
    text = "from pydantic_ai import Agent\nimport sys; sys.argv[1]" + MAIN
    one, other = found({"a/bot.py": text, "b/bot.py": text})
    assert one.score == other.score


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "json.loads(sys.stdin.read())['question']", Invocation(stdin='{"question": {{ prompt | tojson }}}')),
        ("a.py", "json.load(sys.stdin)['prompt']", Invocation()),
        ("a.py", "json.load(sys.stdin)", Invocation(sure=False)),
        ("a.py", "nothing to see", Invocation(stdin="{{ prompt }}", sure=False)),
        ("a.py", "@click.option('-q', '--query')", Invocation(("--query", "{{ prompt }}"), "")),
        ("a.py", "p.add_argument('question')", Invocation(("{{ prompt }}",), "")),
        ("a.mjs", "readFileSync(0, 'utf8')", Invocation(stdin="{{ prompt }}")),
        ("a.py", "app = Flask(__name__)\n@app.post('/ask')\ndef ask():\n    return jsonify(answer=go(request.json['text']))", Invocation(route="/ask", field="text", answer="answer")),
        ("a.py", "app = FastAPI()\n@app.post('/x')\ndef x(b): return b", Invocation(route="/x", field="message", sure=False)),
    ],
)  # fmt: skip
def test_how_it_is_asked(path: str, text: str, expected: Invocation) -> None:
    assert invocation_of(path, text) == expected


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("model='gpt-4o-mini'", ("openai/gpt-4o-mini",)),
        ('Agent("anthropic:claude-sonnet-4-5")', ("anthropic/claude-sonnet-4-5",)),
        ('"gemini-2.5-flash" "gemini-2.5-flash"', ("gemini/gemini-2.5-flash",)),
        ('"openrouter/gpt-5"', ("openrouter/gpt-5",)),
        ('"o3-mini" "openly" "gpt" "claude"', ("openai/o3-mini",)),
    ],
)
def test_the_models_that_it_names(text: str, models: tuple[str, ...]) -> None:
    assert models_in(text) == models


def test_the_most_telling_library_counts() -> None:
    assert framework_of("a.py", "import openai\nfrom pydantic_ai.models import x") == "Pydantic AI"
    assert (
        framework_of("a.ts", "import x from 'ai/rsc'; import OpenAI from 'openai'")
        == "Vercel AI SDK"
    )
    assert (
        framework_of("a.py", "import aiohttp")
        == framework_of("a.ts", "import a from 'airtable'")
        == ""
    )


def test_what_could_not_be_known_is_said() -> None:
    (program,) = found({"agent.py": "import anthropic" + MAIN})
    assert said_of(program) == (
        "No Agent here. agent.py uses Anthropic SDK, so it is the first Agent.",
        "How it takes a question is not clear from its text: it gets it on its input.",
        "There is no lock file, so nothing is installed: add runtime.setup if need be.",
        "It names no model known here, so it may ask any; name them in spec.models.",
    )


def test_models_of_a_neighbour_with_a_longer_name_are_not_its_own() -> None:
    agent = "import sys\nfrom openai import OpenAI\nprint(sys.argv[1], '{}')" + MAIN
    files = {
        "services/desk/main.py": agent.format("gpt-4o"),
        "services/desk/uv.lock": "",
        "services/desk2/main.py": agent.format("gpt-5"),
        "services/desk2/uv.lock": "",
    }
    models = {one.root: one.models for one in found(files)}
    assert models == {
        "services/desk": ("openai/gpt-4o",),
        "services/desk2": ("openai/gpt-5",),
    }


@pytest.mark.parametrize(
    ("path", "text", "others", "command", "modules_in"),
    [
        ("src/bot.py", "import tools\nsys.argv[1]", ("src/tools.py",), ("python3", "src/bot.py"), ""),
        ("src/bot.py", "from agents import x\nsys.argv[1]", ("agents/bot/agent.yaml",), ("python3", "src/bot.py"), ""),
        ("app/bot.py", "from app import x\nsys.argv[1]", ("app/x.py",), ("python3", "-m", "app.bot"), ""),
        ("app/bot.py", "from .x import y\nsys.argv[1]", ("app/x.py",), ("python3", "-m", "app.bot"), ""),
        ("src/desk/bot.py", "from desk.desk import y\nsys.argv[1]", ("src/desk/desk.py",), ("python3", "-m", "desk.bot"), "src"),
        ("src/desk/__main__.py", "sys.argv[1]", ("src/desk/__init__.py",), ("python3", "-m", "desk"), "src"),
        ("src/web.py", "app = FastAPI()\n@app.post('/x')", (), ("python3", "-m", "uvicorn", "web:app", "--port", "{port}"), "src"),
        ("web/main.py", "import store\napp = FastAPI()\n@app.post('/x')", ("web/store.py",), ("python3", "-m", "uvicorn", "main:app", "--port", "{port}"), "web"),
        ("web/main.py", "import web.store\napp = FastAPI()\n@app.post('/x')", ("web/store.py",), ("python3", "-m", "uvicorn", "web.main:app", "--port", "{port}"), ""),
    ],
)  # fmt: skip
def test_python_finds_the_modules_of_the_program(
    path: str, text: str, others: tuple[str, ...], command: tuple[str, ...], modules_in: str
) -> None:
    (program,) = found(
        {path: f"import openai\n{text}{MAIN}", "setup.py": "", **dict.fromkeys(others, "")}
    )
    words = program.command[: len(command)]
    assert (words, program.modules_in) == (command, modules_in)


def test_a_set_up_sees_the_shared_package_that_its_lock_file_may_name() -> None:
    (program,) = found(REPOSITORIES[8].values[0])  # type: ignore[arg-type]
    assert program.setup is not None
    assert program.setup.inputs == ("pyproject.toml", "uv.lock", "/libs/common/**")


def test_the_files_that_a_program_in_the_root_reads_are_its_own() -> None:
    text = "import openai, json\njson.load(open('data/orders.json')); open('schema.sql')" + MAIN
    others = ("schema.sql", "data/orders.json", "notes.txt", "tests/schema.sql")
    (program,) = found({"bot.py": text, **dict.fromkeys(others, "")})
    assert program.reads == ("data/orders.json", "schema.sql")
    chosen = sketch(Catalogue(), ("bot.py", *others), "scripted/first", program)
    assert chosen is not None
    assert chosen.watch == ("/bot.py", "/data/**", "/schema.sql")
    files = {"bot.py": f"from scripts.read import it\n{text}", "scripts/read.py": "it = 1"}
    (program,) = found({**files, "build/make.py": ""})
    chosen = sketch(Catalogue(), tuple(files), "scripted/first", program)
    assert chosen is not None
    assert chosen.watch == ("/bot.py", "/scripts/**"), "a folder of another's name, but imported"
    beside = ("mcp_agent.config.yaml", "compose.yaml", "mkdocs.yml", "fly.toml", ".x.yaml")
    chosen = sketch(Catalogue(), ("bot.py", *beside), "scripted/first", program)
    assert chosen is not None
    assert chosen.watch == ("/bot.py", "/mcp_agent.config.yaml"), "a library looks for it"


SCRIPT = {
    "src/desk/cli.py": "from desk.agent import answer\ndef main():\n    p.add_argument('question')\n",
    "src/desk/agent.py": "import os, openai as ai\n",
    "src/desk/__init__.py": "",
}
CALLED = "from desk.cli import main; raise SystemExit(main())"
ROUTER = "from fastapi import APIRouter\nfrom openai import OpenAI\nrouter = APIRouter(prefix='/v1')\nclass Ask(BaseModel):\n    session: str\n    question: str\n@router.get('/health')\ndef health():\n    return {'ok': 1}\n@router.post('/ask')\ndef ask(a: Ask):\n    return {'answer': 1}\n"
SHARED = {
    "package.json": '{"workspaces": ["*/*"]}',
    "apps/bot/package.json": "{}",
    "apps/bot/main.ts": "import 'ai'; import '@acme/tools'; process.argv[2]",
    "packages/tools/package.json": '{"name": "@acme/tools"}',
    "packages/other/package.json": '{"name": "@acme/other"}',
}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({**SCRIPT, "pyproject.toml": "[project.scripts]\ndesk = 'desk.cli:main'", "uv.lock": ""}, (".venv/bin/python", "-c", CALLED, "{{ prompt }}")),
        ({**SCRIPT, "pyproject.toml": "[tool.poetry.scripts]\ndesk = 'desk.cli:main'"}, ("python3", "-c", CALLED, "{{ prompt }}")),
        ({"agent.py": "import sys, openai\nprint(sys.argv[1])\n"}, ("python3", "agent.py", "{{ prompt }}")),
        ({"dist.js": "", "src/index.ts": "import OpenAI from 'openai';\nrun();", "package.json": '{"bin": {"desk": "dist/index.js"}}', "bun.lock": ""}, ("bun", "src/index.ts")),
        ({"bot.js": "import 'openai'; run()", "package.json": '{"scripts": {"start": "node ./bot.js --quiet"}}'}, ("node", "bot.js")),
        ({"app/main.py": "from app.routes import router\napp = FastAPI()\n", "app/routes.py": ROUTER, "app/__init__.py": ""}, ("python3", "-m", "uvicorn", "app.main:app", "--port", "{port}")),
        ({"app/main.py": "from app.routes import router\ndef create_app():\n    app = FastAPI()\n", "app/routes.py": ROUTER, "app/__init__.py": ""}, ("python3", "-m", "uvicorn", "app.main:create_app", "--factory", "--port", "{port}")),
        ({"bot.py": "import strands, sys; sys.argv[1]" + MAIN}, ("python3", "bot.py", "{{ prompt }}")),
    ],
)  # fmt: skip
def test_how_odd_programs_are_started(files: dict[str, str], command: tuple[str, ...]) -> None:
    assert found(files)[0].command == command


def test_a_route_lies_where_its_router_says() -> None:
    main = "from app.routes import router\napp = FastAPI()\n"
    program, *_ = found({"app/main.py": main, "app/routes.py": ROUTER})
    assert program.invocation == Invocation(
        route="/v1/ask",
        field="question",
        answer="answer",
        body='{"session": "gateval", "question": "{{ prompt }}"}',
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const raw = readFileSync(0, 'utf8'); JSON.parse(call.arguments).text", Invocation(stdin="{{ prompt }}")),
        ("const raw = readFileSync(0, 'utf8'); const { question } = JSON.parse(raw); x.question", Invocation(stdin='{"question": {{ prompt | tojson }}}')),
        ("program.option('-q, --question <text>')", Invocation(("--question", "{{ prompt }}"), "")),
        ("parseArgs({ options: { task: { type: 'string' } } })", Invocation(("--task", "{{ prompt }}"), "")),
        ("program.argument('<name>')", Invocation(("{{ prompt }}",), "", sure=False)),
        ("program.command('models').action(f);\nprogram.command('ask').argument('<question>').action(g)", Invocation(("ask", "{{ prompt }}"), "")),
        ("yargs.command('serve', '').command('try <message> [loud]', '')", Invocation(("try", "{{ prompt }}"), "")),
        ("program.command('go').action(() => readFileSync(0))", Invocation(("go",), "{{ prompt }}", sure=False)),
    ],
)  # fmt: skip
def test_how_node_is_asked(text: str, expected: Invocation) -> None:
    assert invocation_of("a.ts", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@app.command()\ndef ask(question: str, loud: bool = False):\n", Invocation(("{{ prompt }}",), "")),
        ("p.add_argument('file')", Invocation(("{{ prompt }}",), "", sure=False)),
        ("who = input('Who? ')\nwhat = input('What? ')", Invocation(stdin="{{ prompt }}\n{{ prompt }}")),
        ("while True:\n    said = input('You: ')\n    if said in {'quit', 'q'}:\n        break", Invocation(stdin="{{ prompt }}\nquit\n")),
        ("while True:\n    said = input('You: ')", Invocation(stdin="{{ prompt }}")),
        ("p.add_argument('--model')\nsys.stdin.read()", Invocation(stdin="{{ prompt }}")),
        ("@click.argument('question')", Invocation(("{{ prompt }}",), "")),
        ("Ticket.model_validate_json(sys.stdin.read())\nr.choices[0].message.content", Invocation(sure=False)),
        ("json.load(sys.stdin)['text']\nr['message']['content']", Invocation(stdin='{"text": {{ prompt | tojson }}}')),
        ("@app.command()\ndef about() -> None: ...\n@app.command()\ndef ask(question: str):\n", Invocation(("ask", "{{ prompt }}"), "")),
        ("@app.command('say-it')\ndef x(text: str = typer.Argument(None)): ...\n@app.command()\ndef y(): ...", Invocation(("say-it", "{{ prompt }}"), "")),
        ("@app.callback()\ndef main(): ...\n@app.command()\ndef run(prompt: str): ...", Invocation(("run", "{{ prompt }}"), "")),
        ("@click.group()\ndef cli(): ...\n@cli.command()\n@click.option('--query')\ndef ask_it(query): ...", Invocation(("ask-it", "--query", "{{ prompt }}"), "")),
        ("@click.command()\n@click.option('--query')\ndef ask(query): ...", Invocation(("--query", "{{ prompt }}"), "")),
        ("s = p.add_subparsers()\nv = s.add_parser('version')\nc = s.add_parser('chat')\nc.add_argument('message')", Invocation(("chat", "{{ prompt }}"), "")),
        ("@app.command()\ndef serve(): ...\n@app.command()\ndef index(folder: str): ...", Invocation((), "{{ prompt }}", sure=False)),
        ("@app.command()\ndef about(): ...\n@app.command()\ndef chat():\n    sys.stdin.read()", Invocation(("chat",), "{{ prompt }}")),
    ],
)  # fmt: skip
def test_how_python_is_asked(text: str, expected: Invocation) -> None:
    assert invocation_of("a.py", text) == expected


@pytest.mark.parametrize(
    ("files", "run", "inputs"),
    [
        ({"a.py": "", "pdm.lock": "", "pyproject.toml": ""}, "pdm sync", ("pyproject.toml", "pdm.lock")),
        ({"a.py": "", "Pipfile.lock": "", "Pipfile": ""}, "pipenv sync", ("Pipfile", "Pipfile.lock")),
        ({"a.py": "", "requirements.txt": "-r base.txt\n-c gone.txt\nx==1", "base.txt": ""}, "pip install", ("requirements.txt", "base.txt")),
        ({"a.py": "", "pyproject.toml": "[project]\ndependencies = [\n]"}, "uv pip install", ("pyproject.toml",)),
        ({"a.js": "", "yarn.lock": "", "package.json": "{}", ".yarnrc.yml": "", ".yarn/releases/yarn.cjs": ""}, "NODE_LINKER=node-modules && yarn install --immutable", ("package.json", "yarn.lock", ".yarnrc.yml", ".yarn/**")),
        ({"a.ts": "", "package-lock.json": "", "package.json": "{}"}, "npm ci && npm install --no-save tsx", ("package.json", "package-lock.json")),
        ({"a.ts": "", "package-lock.json": "", "package.json": '{"devDependencies": {"tsx": "4"}}'}, "npm ci", ("package.json", "package-lock.json")),
        ({**SHARED, "a.js": "", "package-lock.json": ""}, "npm ci", ("package.json", "package-lock.json", "**/package.json", "/packages/tools/**")),
    ],
)  # fmt: skip
def test_what_installs_it(files: dict[str, str], run: str, inputs: tuple[str, ...]) -> None:
    (name,) = (path for path in files if path.startswith("a."))
    texts = {
        path: text for path, text in files.items() if worth_reading(path) or tells_of_project(path)
    }
    (program,) = find_programs(texts, files, name)
    assert program.setup is not None
    assert " ".join(program.setup.run).endswith(
        (run, f"{run} --no-self", "requirements.txt", "pyproject.toml")
    )
    assert program.setup.inputs == inputs


ITSELF = '[project]\nname = "desk"\nreadme = "README.md"\ndependencies = []\n[project.scripts]\ndesk = "desk.main:main"\n'
BUILT = ITSELF + '[build-system]\nrequires = ["hatchling"]\n'
VERSION = "from importlib.metadata import version\n__version__ = version('desk')\n"


@pytest.mark.parametrize(
    ("folder", "asks", "project", "lock", "run", "more"),
    [
        ("src/desk", VERSION, BUILT, "", "--compile-bytecode .", ("src/**", "README.md")),
        ("desk", VERSION, BUILT, "", "--compile-bytecode .", ("desk/**", "README.md")),
        ("desk", VERSION, BUILT, "uv.lock", "uv sync --frozen --no-editable --compile-bytecode", ("uv.lock", "desk/**", "README.md")),
        ("desk", VERSION, BUILT, "poetry.lock", "poetry install --compile", ("poetry.lock", "desk/**", "README.md")),
        ("desk", "", BUILT, "", "--compile-bytecode -r pyproject.toml", ()),
        ("desk", VERSION, ITSELF, "uv.lock", "uv sync --frozen --no-install-project --compile-bytecode", ("uv.lock",)),
        ("desk", VERSION, BUILT, "requirements.txt", "requirements.txt", None),
    ],
)  # fmt: skip
def test_a_project_that_asks_for_its_version_is_installed_itself(
    folder: str, asks: str, project: str, lock: str, run: str, more: tuple[str, ...] | None
) -> None:
    main = "import openai\ndef main(): input()"
    files = {f"{folder}/__init__.py": asks, f"{folder}/main.py": main, "README.md": ""}
    (program,) = found({**files, "pyproject.toml": project, **({lock: ""} if lock else {})})
    assert program.setup is not None
    assert " ".join(program.setup.run).endswith(run)
    assert more is None or program.setup.inputs == ("pyproject.toml", *more)
    assert program.setup.locked == bool(lock)


def test_pnpm_has_packages_beside_each_package() -> None:
    (program,) = found({**SHARED, "pnpm-workspace.yaml": "", "pnpm-lock.yaml": ""})
    assert program.setup is not None
    assert program.setup.creates == ("node_modules", "apps/bot/node_modules")
    assert program.setup.run[-1].endswith("pnpm add tsx --workspace-root")


@pytest.mark.parametrize(
    ("own", "framework"),
    [
        ("agents/desk.py", "OpenAI SDK"),
        ("agents.py", "OpenAI SDK"),
        ("agents/bot/agent.yaml", "OpenAI Agents"),
        ("pkg/agents/desk.py", "OpenAI Agents"),
    ],
)
def test_a_package_of_the_repository_is_no_library(own: str, framework: str) -> None:
    text = "from agents import Agent\nimport openai" + MAIN
    assert next(one for one in found({"bot.py": text, own: ""})).framework == framework


def test_project_files_of_strangers_break_nothing() -> None:
    for name in ("pyproject.toml", "package.json", "requirements.txt"):
        for text in (
            "[",
            "[" * 100_000,
            "null",
            "[project]\nscripts = 1",
            '{"bin": [1, {}], "scripts": 7}',
        ):
            assert len(found({"bot.py": "import openai" + MAIN, name: text})) == 1


def test_a_server_of_which_no_route_takes_a_question_is_refused() -> None:
    text = "import openai\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/rows')\ndef add(n: int): ...\n"
    (program,) = found({"main.py": text})
    assert program.refused is not None
    assert program.refused.why.startswith("serves no POST route that takes a question")


def test_a_place_in_the_path_that_nobody_knows_comes_after_a_command() -> None:
    api = "import openai\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/sessions/{session_id}/query')\ndef ask(session_id: str, query: str): ...\n"
    first, *_ = found({"api.py": api, "ask.py": "import sys\nimport openai\nsys.argv[1]" + MAIN})
    assert first.path == "ask.py"


def test_what_bin_names_comes_before_the_library_of_a_package() -> None:
    own = "import OpenAI from 'openai';\nimport readline from 'node:readline';\n"
    project = '{"main": "dist/index.js", "bin": {"desk": "./dist/bin.js"}}'
    first, *_ = found({"src/index.ts": own, "src/bin.ts": own, "package.json": project})
    assert first.path == "src/bin.ts"


def test_a_package_called_workflows_may_be_the_repositorys_own() -> None:
    text = "from workflows import Workflow\n\nclass Desk(Workflow):\n    pass\n"
    assert [one.told for one in found({"desk.py": text})] == ["desk.py:Desk"]
    assert found({"desk.py": text, "workflows/__init__.py": ""}) == ()
