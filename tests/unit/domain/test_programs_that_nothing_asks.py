"""Programs that take something else than a question, and commands among several: a fourth draw."""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.libraries import models_in
from gateval.domain.setup.other_work import MUTE, SILENT, STREAMS
from gateval.domain.setup.platforms import AGENT_OS, FIELDS, FILE, PLATFORM, SERVERS, TEMPORAL
from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from gateval.render.starter import first_question
from tests.unit.domain.test_programs_of_strangers import MAIN, found

COMMANDS = """import dspy, typer
from core.parts import ask_all
app = typer.Typer()

@app.command()
def version() -> None:
    print(1)

@app.command("look")
def look({parameter}) -> None:
    print(ask_all(1))
"""
WORKFLOW = "from llama_index.core.workflow import Workflow\nclass Plan(Workflow):\n    ...\n"
PROJECT = "[project]\nname = 'desk'\n[project.scripts]\ndesk = 'desk.cli:app'\n"


def test_a_command_of_a_project_comes_before_a_class_and_is_asked_as_the_readme_shows() -> None:
    files = {
        "src/desk/cli.py": COMMANDS.format(parameter="question: str, db: str"),
        "src/desk/deep/plan.py": WORKFLOW,
        "pyproject.toml": PROJECT,
    }
    readme = 'Run:\n\n```sh\n$ uv run desk look "Who buys?" sqlite:///a.db --model fake\n```\n'
    first, second = found({**files, "README.md": readme})
    asked = ("look", "{{ prompt }}", "sqlite:///a.db", "--model", "fake")
    assert first.invocation.words == first.command[-5:] == asked
    assert second.target.endswith("plan.py:Plan")
    assert found(files)[0].path == "src/desk/cli.py"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (COMMANDS.format(parameter="file_path: str = typer.Argument(..., help='x')"), FILE),
        (
            COMMANDS.replace('"look"', '"config"').replace("dspy", "openai").format(parameter=""),
            MUTE,
        ),
    ],
    ids=["a file", "management alone"],
)
def test_a_command_that_takes_no_question_is_none(text: str, refused: object) -> None:
    (program,) = found({"desk.py": text + MAIN})
    assert program.refused == refused
    assert "version" not in program.command


def test_a_command_is_asked_with_the_file_that_its_readme_shows_if_there_is_one() -> None:
    text = "import dspy\nfrom parts import other\napp = typer.Typer()\napp.add_typer(other)\n@app.command()\ndef version(): ...\n"
    told = {"README.md": "    desk sum one notes.md --format json\n", "pyproject.toml": PROJECT}
    files = {"desk/cli.py": text + MAIN, **told}
    (program,) = found(files)
    assert program.refused == FILE
    (program,) = found({**files, "notes.md": ""})
    asked = program.invocation
    assert asked.words == ("sum", "one", "{{ prompt }}", "--format", "json")
    assert (asked.file, first_question(program), program.refused) == ("notes.md", "notes.md", None)
    assert any("notes.md at first" in one for one in said_of(program))
    sentence = {"README.md": "    desk sum notes.md\n    desk ask 'What now?'\n"}
    (program,) = found({**files, **sentence, "notes.md": ""})
    assert (program.invocation.words, program.invocation.file) == (("ask", "{{ prompt }}"), "")


@pytest.mark.parametrize(
    ("reads", "stdin"),
    [
        ("user = sys.argv[1] if len(sys.argv) > 1 else 'x'", "{{ prompt }}\nexit\n"),
        ("query = sys.argv[1] if len(sys.argv) > 1 else ''", ""),
    ],
)
def test_an_argument_with_another_meaning_is_not_the_question(reads: str, stdin: str) -> None:
    loop = "    while True:\n        said = input('> ')\n        if said in {'exit'}: break\n"
    (program,) = found({"main.py": f"import openai, sys\ndef main():\n    {reads}\n{loop}{MAIN}"})
    assert program.invocation.stdin == stdin
    assert program.refused is None


NEST_MAIN = "import { NestFactory } from '@nestjs/core';\nimport { AppModule } from './app.module';\nconst app = await NestFactory.create(AppModule);\nawait app.listen(3000);\n"
NEST_MODULE = "import { Talk } from './talk.gateway';\n@Module({ providers: [Talk] })\nexport class AppModule {}\n"
BEDROCK = "import { BedrockAgentRuntimeClient } from '@aws-sdk/client-bedrock-agent-runtime';\n"
OS = "from agno.agent import Agent\nfrom agno.os import AgentOS\nagent = Agent(name='x')\nagent_os = AgentOS(agents=[agent]{more})\napp = agent_os.get_app()\n"


@pytest.mark.parametrize(
    ("decorated", "refused"),
    [
        ("@WebSocketGateway()\nexport class Talk { @SubscribeMessage('send') send() {} }", STREAMS),
        ("@Controller('talk')\nexport class Talk {\n  @Post()\n  send() {}\n}", SILENT),
    ],
)
def test_a_server_of_nest_is_refused_by_what_it_is(decorated: str, refused: object) -> None:
    files = {"src/main.ts": NEST_MAIN, "src/app.module.ts": NEST_MODULE}
    (program,) = found({**files, "src/talk.gateway.ts": BEDROCK + decorated})
    assert (program.framework, program.refused) == ("Amazon Bedrock", refused)


def test_agno_is_asked_by_its_interface_or_refused_with_what_to_do() -> None:
    given = found({"main.py": OS.format(more="")})
    assert [(one.target, one.refused) for one in given] == [("main.py:agent", None), ("", AGENT_OS)]
    for prefix, route in (("", "/agui"), (", prefix='/desk'", "/desk/agui")):
        more = f", interfaces=[AGUI(agent=agent{prefix})]"
        program, _ = found({"main.py": OS.format(more=more), "README.md": "python main.py"})
        asked = program.invocation
        assert (asked.preset, asked.route, program.refused) == ("ag-ui", route, None)
        assert program.command[-3:] == ("main:app", "--port", "{port}")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("agents/chat/index.py", "async def handler(context):\n    url = f'{x}/chat/completions'\n"),
        ("answer.py", "import boto3\nrun = boto3.client('bedrock-agent-runtime')\ndef lambda_handler(event, context): ...\n"),
        ("supabase/functions/chat/index.ts", "import OpenAI from 'openai';\nDeno.serve(async (req) => {\n  const { messages } = await req.json();\n});\n"),
        ("src/worker.ts", "import OpenAI from 'openai';\nexport default {\n  async fetch(request, env) {} }\n"),
    ],
)  # fmt: skip
def test_the_handler_of_a_platform_is_named(path: str, text: str) -> None:
    other = {"agents/me.py": "async def handler(context): ...\n", "tools/setup.py": ""}
    assert [(one.path, one.refused) for one in found({path: text, **other})] == [(path, PLATFORM)]


def test_a_file_that_is_named_for_all_is_a_program() -> None:
    files = [".eslintrc.js", "infisical-setup.py", "z/main.go", "a/helper.py"]
    assert (not_read(files) or ("",))[0] == "z/main.go"


def test_a_readme_that_starts_a_file_that_is_not_there_says_so() -> None:
    path, why = not_read(["README.md", "db/notes.md"], "## Run\n\n    python db/desk.py\n") or (
        "",
        MUTE,
    )
    assert (path, why.why) == ("The README", "starts db/desk.py, which is not in this repository.")
    assert not_read(["README.md"], "Ask the desk.") is None
    assert not_read(["db/desk.tsx"], "bun db/desk.tsx") != ("The README", why)


ENTRY = "from crewai import Crew\nfrom bedrock_agentcore import BedrockAgentCoreApp\nfrom read import parsed\napp = BedrockAgentCoreApp()\n@app.entrypoint\ndef invoke(request):\n    return go(parsed(request))\n"
READ = "def parsed(raw):\n    body = raw.get('payload') if isinstance(raw.get('payload'), dict) else raw\n    {read}\n"


def test_a_payload_is_read_in_the_function_that_gets_it() -> None:
    read = "return body.get('question'), body['city']"
    first, *_ = found({"main.py": ENTRY, "read.py": READ.format(read=read)})
    sent = json.loads(first.invocation.body)
    assert (first.invocation.field, sent["question"], sent["city"]) == (
        "question",
        "{{ prompt }}",
        "text",
    )
    read = "inputs = body.get('inputs')\n    if not isinstance(inputs, dict): raise ValueError\n    return body.get('crew')"
    first, *_ = found({"main.py": ENTRY, "read.py": READ.format(read=read)})
    assert first.refused is not None
    assert first.refused.why == "reads `inputs`, `crew` of its payload, and no question."


GRAPH = "from langgraph.graph import StateGraph\nfrom state import Trip\ndef build_graph(emit=None):\n    graph = StateGraph(Trip)\n    return graph.compile()\n"


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("photos: list[str] = []", FIELDS),
        ("city: str\n    plan: str", FIELDS),
        ("model: str = 'm'\n    output_dir: str", FIELDS),
        ("city: str", None),
        ("query: str", None),
        ("messages: list", None),
    ],
)
def test_a_graph_whose_state_takes_no_question_is_refused(field: str, refused: object) -> None:
    state = (
        f"from pydantic import BaseModel\nclass Trip(BaseModel):\n    gpx_file: str\n    {field}\n"
    )
    (program,) = found({"graph.py": GRAPH, "state.py": state})
    assert program.refused == refused


def test_a_route_whose_model_has_no_question_is_no_question() -> None:
    text = "import openai\nfrom fastapi import FastAPI\nfrom pydantic import BaseModel\napp = FastAPI()\nclass Job(BaseModel):\n    model: str\n    {field}: str = ''\nclass Note(BaseModel):\n    text: str\n@app.post('/run')\nasync def run(body: Job):\n    return {{'run_id': 1}}\n"
    (program,) = found({"server.py": text.format(field="gpx_file")})
    assert program.refused is not None
    (program,) = found({"server.py": text.format(field="query")})
    assert program.refused is None


def test_a_body_with_a_model_comes_before_keys_and_settings_are_left_out() -> None:
    text = "import openai\nfrom fastapi import FastAPI, Request\nfrom pydantic import BaseModel\napp = FastAPI()\nclass Job(BaseModel):\n    text_content: str\n"
    raw = "@app.post('/meeting')\nasync def meet(request: Request):\n    body = await request.json()\n    return {'summary': go(body.get('content'), body.get('title'), body.get('temperature'))}\n"
    typed = "@app.post('/text')\nasync def read(body: Job):\n    return {'summary': go(body)}\n"
    (program,) = found({"server.py": text + raw + typed})
    assert (program.invocation.route, program.invocation.field) == ("/text", "text_content")
    (program,) = found({"server.py": text + raw})
    sent = json.loads(program.invocation.body)
    assert sent == {"content": "{{ prompt }}", "title": "gateval"}


@pytest.mark.parametrize(
    ("reads", "file", "refused"),
    [
        ("pdf = open(sys.argv[1])", "a.md", None),
        ("path = sys.argv[1]", "a.md", None),
        ("book = sys.argv[1]", "a.md", None),
        ("report_path = Path(sys.argv[1])", "b.md", FILE),
        ("query = sys.argv[1]", "", None),
        ("path = sys.argv[1] if sys.argv[1:] else ''\ninput('> ')", "", None),
        ("p.add_argument('--query')\np.add_argument('file')", "", None),
        ("p.add_argument('question')\np.add_argument('file')", "", None),
    ],
)
def test_an_argument_is_a_file_by_its_name_or_by_the_readme(
    reads: str, file: str, refused: object
) -> None:
    readme = f"    python desk.py {file or 'a.md'}\n"
    files = {"desk.py": f"import openai, sys\n{reads}\n{MAIN}", "README.md": readme, "a.md": ""}
    (program,) = found(files)
    assert (program.refused, program.invocation.file) == (refused, "" if refused else file)


GUARD = "if __name__ == '__main__':\n    main()\n"


@pytest.mark.parametrize(
    ("imports", "why"),
    [
        ("from zeta_agents import Runner", "imports zeta_agents, for which"),
        ("from zeta.core import DeskAgent", "imports zeta, for which"),
        ("import griptape.structures", "gets its answers from Griptape (imported in desk.py)"),
        ("from autogen_core import RoutedAgent", "gets its answers from AutoGen Core"),
    ],
)
def test_a_library_without_a_bridge_is_named(imports: str, why: str) -> None:
    (program,) = found({"desk.py": f"{imports}\ndef main(): answer('Say it.')\n{GUARD}"})
    assert program.refused is not None
    assert program.refused.why.startswith(why)
    assert "a-bridge-of-your-own" in program.refused.hint
    (program,) = found({"desk.py": f"{imports}\ndef main(): answer(input('> '))\n{GUARD}"})
    assert (program.refused, program.invocation.stdin) == (None, "{{ prompt }}")


@pytest.mark.parametrize(
    "text",
    [
        "from fake_useragent import UserAgent\n",
        "from desk.parts import DeskAgent\n",
        "from agentlog import trace\n",
        "from twisted.web.client import Agent\n",
        "from paramiko import Agent\n",
        "from rlcard.agents import RandomAgent\n",
        "from homeassistant.core import HomeAssistant\n",
    ],
)
def test_what_is_called_like_an_agent_is_not_always_a_library_of_agents(text: str) -> None:
    files = {"main.py": f"{text}def main(): print(input())\n{GUARD}", "desk/parts.py": ""}
    assert found(files) == ()


def test_a_package_that_is_only_called_like_an_agent_comes_after_what_is_known() -> None:
    aside = f"import sys\nfrom zeta import ZetaAgent\ndef main(): print(sys.argv[1])\n{GUARD}"
    first, *_ = found({"main.py": aside, "service.py": SERVED})
    assert (first.path, first.framework) == ("service.py", "OpenAI SDK")
    text = SERVED.replace("import openai", "from zeta_ai import count\nfrom core import go")
    (program,) = found({"server.py": text, "core.py": "import openai\ndef go(x): ...\n"})
    assert (program.framework, program.refused) == ("OpenAI SDK", None)
    mute = f"from zeta_ai import log\nfrom core import go\ndef main(): log(go('Say it.'))\n{GUARD}"
    (program,) = found({"main.py": mute, "core.py": "import openai\ndef go(x): ...\n"})
    assert program.refused == MUTE


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("from agents import Agent, run_demo_loop\nasync def main():\n    await run_demo_loop(made)\n", "quit"),
        ("import langroid as lr\ndef main():\n    desk_task = lr.Task(made)\n    desk_task.run()\n", "x"),
        ("from fast_agent import FastAgent\nasync def main():\n    await agent.interactive()\n", "STOP"),
    ],
)  # fmt: skip
def test_loops_of_libraries_are_typed_to_and_ended(text: str, end: str) -> None:
    (program,) = found({"desk.py": text + GUARD})
    assert (program.refused, program.invocation.stdin) == (None, f"{{{{ prompt }}}}\n{end}\n")


@pytest.mark.parametrize(
    ("imports", "why"),
    [
        (
            "import modal",
            "is a function of Modal, which `modal` runs on that platform, and nothing",
        ),
        ("from restack_ai.agent import agent", "of Restack"),
        ("from prefect import flow", "is a flow of Prefect, which is run and not asked."),
        ("import litserve as ls", "whose `decode_request` `init` does not read."),
        ("from rasa.core.agent import Agent", "is a part of a bot of Rasa"),
        ("from twilio.twiml.voice_response import VoiceResponse", "is a bot of Twilio"),
        ("from twilio.rest import Client", "takes no question"),
        ("import tweepy", "takes no question"),
        ("from slack_sdk import WebClient", "takes no question"),
        ("from slack_sdk.socket_mode import SocketModeClient", "is a bot of Slack"),
        ("import praw\nfor one in desk.stream.comments(): pass", "is a bot of Reddit"),
    ],
)
def test_what_a_host_starts_is_refused_by_its_name(imports: str, why: str) -> None:
    text = f"{imports}\nimport openai\ndef main(): ...\n{GUARD}"
    (program,) = found({"desk.py": text})
    assert program.refused is not None
    assert why in program.refused.why


SERVED = "from fastapi import FastAPI\nfrom pydantic import BaseModel\nimport openai\napp = FastAPI()\nclass Said(BaseModel):\n    messages: list\n    top: str\n@app.post('/desk')\nasync def answer(said: Said):\n    turns = said.messages\n    return {'response': go(said.top, [f\"{one['sender']}: {one['text']}\" for one in turns])}\n"


def test_a_list_is_filled_by_the_keys_that_its_handler_reads_of_each() -> None:
    (program,) = found({"server.py": SERVED})
    asked = program.invocation
    sent = json.loads(asked.body)
    assert sent == {"messages": [{"sender": "user", "text": "{{ prompt }}"}], "top": "gateval"}
    assert (asked.route, asked.answer) == ("/desk", "response")
    papers = SERVED.replace("messages", "documents").replace("sender", "source")
    (program,) = found({"server.py": papers})
    assert json.loads(program.invocation.body) == {"documents": [], "top": "{{ prompt }}"}
    alone = SERVED.replace("    top: str", "    top: str\n    question: str")
    (program,) = found({"server.py": alone})
    assert json.loads(program.invocation.body)["question"] == "{{ prompt }}"


RUNS = "import uvicorn\nimport openai\nfrom fastapi import FastAPI\ndef run({given}):\n    app = FastAPI()\n    @app.post('/ask')\n    def ask(question: str): ...\n    {end}\n"
SCRIPTS = "[project]\nname = 'desk'\n[project.scripts]\nserver = 'desk:run'\n"


def test_a_function_that_starts_its_server_is_no_factory() -> None:
    files = {"desk.py": RUNS.format(given="", end="uvicorn.run(app)"), "pyproject.toml": SCRIPTS}
    (program,) = found(files)
    assert "--factory" not in program.command
    assert program.command[-1].endswith("from desk import run; raise SystemExit(run())")
    (program,) = found({"desk.py": RUNS.format(given="", end="return app")})
    assert "--factory" in program.command
    made = RUNS.replace("def run(", "def create_app(")
    given = made.format(given="settings: Settings", end="return app")
    assert not any("--factory" in one.command for one in found({"desk.py": given}))
    for kind in ("Settings", "dict[str, list[int]] | None"):
        given = made.format(given=f"settings: {kind} = None", end="return app")
        assert "--factory" in found({"desk.py": given})[0].command


def test_a_client_of_temporal_is_refused_by_what_it_needs() -> None:
    text = "import sys, openai\nfrom temporalio.client import Client\nasync def main():\n    client = await Client.connect('x')\n    await client.execute_workflow(sys.argv[1])\n"
    (program,) = found({"start.py": text + GUARD})
    assert program.refused == TEMPORAL
    agent = {"desk.py": "from agents import Agent\ndesk = Agent(name='desk')\n"}
    assert found({"start.py": text + GUARD, **agent})[0].target == "desk.py:desk"


def test_a_program_that_starts_several_servers_is_none_to_ask() -> None:
    start = "import subprocess\nfrom desk.typed import talk\ndef main():\n    a = subprocess.Popen(['a-server'])\n    b = subprocess.Popen(['b-server'])\n"
    typed = (
        "import openai\ndef talk(): answer(input('> '))\nif __name__ == '__main__':\n    talk()\n"
    )
    known = {
        one.path: one.refused
        for one in found({"desk/main.py": start + GUARD, "desk/typed.py": typed})
    }
    assert known == {"desk/main.py": SERVERS, "desk/typed.py": None}
    threads = "import uvicorn, openai\nfrom threading import Thread\nfor make, port in ((one, 9001), (two, 9002)):\n    Thread(target=uvicorn.run).start()\n"
    (program,) = found({"main.py": threads + GUARD})
    assert program.refused == SERVERS


def test_a_server_that_starts_jobs_beside_is_asked() -> None:
    job = "from temporalio.client import Client\n@app.post('/sync')\nasync def sync():\n    await client.start_workflow('x')\n"
    (program,) = found({"server.py": SERVED + job})
    assert (program.invocation.route, program.refused) == ("/desk", None)
    beside = "import subprocess, uvicorn\nfrom threading import Thread\ndef main():\n    start_http_server(port=9090)\n    subprocess.Popen(['a-server'])\n    subprocess.Popen(['b'])\n    Thread(target=print).start()\n    uvicorn.run(app, port=8000)\n"
    (program,) = found({"server.py": SERVED + beside + GUARD})
    assert (program.invocation.route, program.refused) == ("/desk", None)
    tools = f"import subprocess, openai\ndef main():\n    # works on a server\n    subprocess.Popen(['sox'])\n    subprocess.Popen(['b'])\n    go(input())\n{GUARD}"
    (program,) = found({"desk.py": tools})
    assert program.refused is None


def test_a_workflow_that_writes_to_a_page_is_refused_by_the_page() -> None:
    head = "from llama_index.core.workflow import Workflow\nimport chainlit as cl\n"
    body = (
        "class Desk(Workflow):\n    async def go(self, ev):\n        with cl.Step(name='x'): ...\n"
    )
    (program,) = found({"flow.py": head + body})
    assert program.refused is not None
    assert "Chainlit" in program.refused.why


def test_a_stream_of_ag2_is_asked_by_ag_ui_below_its_path() -> None:
    text = "from autogen.ag_ui import AGUIStream\nfrom fastapi import FastAPI\nmade = 1\napp = FastAPI()\nstream = AGUIStream(made)\napp.mount('/chat', stream.build_asgi())\n"
    (program,) = found({"backend.py": text})
    assert (program.invocation.preset, program.invocation.route) == ("ag-ui", "/chat/")
    assert program.refused is None


def test_a_client_of_an_agent_elsewhere_and_a_wrapped_sdk_are_known() -> None:
    (program,) = found(
        {"ask.py": f"from a2a.client import ClientFactory\ndef main(): go(input())\n{GUARD}"}
    )
    assert program.refused is not None
    assert "speaks A2A and runs elsewhere" in program.refused.why
    (program,) = found(
        {"ask.py": f"from langfuse.openai import OpenAI\ndef main(): go(input())\n{GUARD}"}
    )
    assert (program.framework, program.refused) == ("OpenAI SDK", None)


@pytest.mark.parametrize(
    ("loop", "stdin"),
    [
        ("while True:\n        if input('Ask: ') == 'quit': break", "n\n{{ prompt }}\n{{ prompt }}\nquit\n"),
        ("input('Ask: ')", "n\n{{ prompt }}\n{{ prompt }}\n"),
    ],
)  # fmt: skip
def test_a_yes_or_no_before_the_question_is_answered_by_no(loop: str, stdin: str) -> None:
    text = f"import openai\ndef main():\n    if input('Load? (y/n): ') == 'y': load()\n    input('Name: ')\n    {loop}\n{GUARD}"
    (program,) = found({"main.py": text})
    assert (program.refused, program.invocation.stdin) == (None, stdin)


@pytest.mark.parametrize(
    ("made", "known"),
    [
        ("self, rag: RAG, key: str | None = None, **more: Any", False),
        ("self, *args, **kwargs", True),
        ("self, rag: dict[str, int] = {}", True),
    ],
)
def test_a_workflow_that_has_to_be_given_something_is_none(made: str, known: bool) -> None:
    text = f"from llama_index.core.workflow import Workflow\nclass Desk(Workflow):\n    def __init__({made}):\n        ...\n"
    assert [one.target for one in found({"flow.py": text}) if not one.refused] == (
        ["flow.py:Desk"] if known else []
    )


def test_a_server_that_handles_ag_ui_itself_comes_before_the_flow_that_it_starts() -> None:
    flow = "from crewai.flow.flow import Flow\nclass Desk(Flow):\n    ...\n"
    server = "import uvicorn\nfrom ag_ui.core import RunAgentInput\nfrom fastapi import FastAPI\nfrom flow import Desk\napp = FastAPI()\n@app.post('/desk')\nasync def go(given: RunAgentInput): ...\nif __name__ == '__main__':\n    uvicorn.run(app)\n"
    files = {"agent/main.py": server, "agent/flow.py": flow, "README.md": "python agent/main.py\n"}
    first, *_ = found(files)
    assert (first.path, first.invocation.preset) == ("agent/main.py", "ag-ui")


def test_a_graph_is_told_who_asks_where_its_nodes_read_that() -> None:
    text = "from typing import TypedDict\nfrom langgraph.graph import StateGraph\nclass Desk(TypedDict):\n    question: str\n    user_id: str\n    role: str\n    answer: str\ndef go(state):\n    return {'role': read(state['user_id']), 'answer': state['role']}\ngraph = StateGraph(Desk).compile()\n"
    (program,) = found({"graph.py": text})
    assert program.more == (("user_id", '"gateval"'),)


def test_a_yes_or_no_of_another_function_is_not_typed() -> None:
    text = f"import openai\ndef sure():\n    return input('Run? [y/N]: ') == 'y'\ndef main():\n    input('Ask: ')\n{GUARD}"
    (program,) = found({"main.py": text})
    assert program.invocation.stdin == "{{ prompt }}"


@pytest.mark.parametrize("asks", ["builtins.input('> ')", "Console().input('> ')"])
def test_a_line_is_asked_for_by_input_of_other_objects(asks: str) -> None:
    (program,) = found({"main.py": f"import openai\ndef main():\n    go({asks})\n{GUARD}"})
    assert (program.refused, program.invocation.stdin) == (None, "{{ prompt }}")


def test_a_yes_that_is_usual_is_typed() -> None:
    text = f"import openai\ndef main():\n    input('Go on? [Y/n] ')\n    input('Ask: ')\n{GUARD}"
    (program,) = found({"main.py": text})
    assert program.invocation.stdin == "y\n{{ prompt }}\n"


def test_a_server_that_encodes_events_of_ag_ui_speaks_it() -> None:
    text = "from ag_ui.encoder import EventEncoder\nfrom autogen import ConversableAgent\nfrom fastapi import FastAPI, Request\napp = FastAPI()\n@app.post('/desk/')\nasync def go(request: Request):\n    body = await request.json()\n    asked = body['messages'][-1]['content']\n    encoder = EventEncoder()\n"
    (program,) = found({"server.py": text})
    assert (program.invocation.preset, program.invocation.route) == ("ag-ui", "/desk/")


def test_a_server_of_databricks_is_asked_as_a_server_of_responses() -> None:
    text = "import agents\nfrom databricks_ai_bridge.long_running import LongRunningAgentServer\nagent_server = LongRunningAgentServer('ResponsesAgent')\ndef main():\n    agent_server.run(app_import_string='x:app')\n"
    (program,) = found({"start_server.py": text + GUARD})
    assert (program.invocation.route, program.command[-2:]) == ("/responses", ("--port", "{port}"))


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ("name: str\n    site: str = Field(\n        description='Where?',\n    )\n    tone: str = 'dry'", ["name", "site"]),
        ("name: str = Field(...)\n    site: str = Field(default='a')\n    tone: str = Field('dry')", []),
        ("question: str\n    site: str", ["site"]),
    ],
)  # fmt: skip
def test_texts_that_a_graph_demands_of_its_input_are_given(fields: str, more: list[str]) -> None:
    graph = "from langgraph.graph import StateGraph\nfrom state import Asked, Kept\ngraph = StateGraph(Kept, input=Asked, output=Told).compile()\n"
    state = f"from pydantic import BaseModel, Field\nclass Asked(BaseModel):\n    {fields}\n    more: list[str] = []\n\nclass Kept(Asked):\n    messages: list\n"
    told = '{"graphs": {"agent": "./graph.py:graph"}, "dependencies": ["."]}'
    first, *_ = found({"graph.py": graph, "state.py": state, "langgraph.json": told})
    assert (first.path, [name for name, _ in first.more]) == ("langgraph.json", more)


MENU = "import openai\ndef chat():\n    while True:\n        asked = input('You: ')\n        if asked == 'exit': break\ndef main():\n    print('1. chat - talk')\n    print('2. auto - go on alone')\n    CHOICE\n"


@pytest.mark.parametrize(
    ("choice", "typed"),
    [
        ("mode = input('Choose a mode: ').lower()\n    if mode in ['2', 'auto']: auto()\n    elif mode in ['1', 'chat']: chat()", "chat"),
        ("mode = input('Enter a number: ')\n    if mode == '1': chat()\n    elif mode == '2': auto()", "1"),
        ("name = input('Your name: ')\n    if name == 'Ann': chat()\n    if name == 'chat': chat()", "{{ prompt }}"),
    ],
)  # fmt: skip
def test_the_menu_before_a_loop_is_answered(choice: str, typed: str) -> None:
    (program,) = found({"main.py": MENU.replace("CHOICE", choice) + GUARD})
    assert (program.invocation.stdin or "").split("\n")[0] == typed


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ("a: float\n    b: int\n    by: By", {"a": 1, "b": 1, "by": "+"}),
        ("sure: bool\n    tone: Literal['dry', 'warm']", {"sure": False, "tone": "dry"}),
        ("a: float = 1.0\n    question: str", {}),
        ("a: float\n    question: str", {"a": 1}),
        ("question: str\n    tags: list[str]\n    near: 'By'", {"tags": [], "near": "+"}),
        ("tags: list\n    place: Place", {"tags": [], "place": {"town": "gateval"}}),
        ("question: str\n    tags: list[str] = field(default_factory=list)", {}),
        ("question: str\n    place: Place | None\n    more: NotRequired[int]", {}),
    ],
)
def test_numbers_and_choices_that_a_graph_demands_are_given(
    fields: str, more: dict[str, object]
) -> None:
    graph = f"from langgraph.graph import StateGraph\nclass By(Enum):\n    ADD = '+'\n    LESS = '-'\n\nclass Place(BaseModel):\n    town: str\n    zip: int = 1\n\n@dataclass\nclass Asked:\n    {fields}\n\ngraph = StateGraph(state_schema=Asked, input=Asked).compile()\n"
    told = '{"graphs": {"agent": "./graph.py:graph"}, "dependencies": ["."]}'
    first, *_ = found({"graph.py": graph, "langgraph.json": told})
    assert {name: json.loads(value) for name, value in first.more} == more


def test_a_file_that_a_told_command_names_and_nobody_has_is_named() -> None:
    text = "import openai, argparse\np = argparse.ArgumentParser()\np.add_argument('log_path')\np.add_argument('--question')\nprint(go(p.parse_args()))\n"
    readme = 'Run `python main.py path/to/your.log --question "What is wrong in this log?"`\n'
    (program,) = found({"main.py": text, "README.md": readme})
    assert program.absent == (("path/to/your.log", ""),)
    (program,) = found({"main.py": text, "README.md": readme, "path/to/your.log": "x"})
    assert program.absent == ()


LOOP = "import openai\ndef main():\n    while True:\n        print('1. Ask a question')\n        print('2. Record and ask a question')\n        print('3. 🚪 Exit')\n        choice = input('Enter your choice (1-3): ').strip()\n        if choice == '1':\n            said = input('Your question: ')\n            answer(said)\n        elif choice == '2':\n            record(int(input('Seconds: ')))\n        elif choice == '3':\n            break\n"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (LOOP, "1\n{{ prompt }}\n3\n"),
        (LOOP.replace("3. 🚪 Exit", "3. Go on"), "1\n{{ prompt }}\n{{ prompt }}\n"),
        (LOOP.replace("while True:", "if True:"), "1\n{{ prompt }}\n{{ prompt }}\n"),
    ],
    ids=["again and again", "no way out", "once"],
)
def test_a_menu_that_comes_again_is_left_by_its_own_answer(text: str, typed: str) -> None:
    (program,) = found({"main.py": text + GUARD})
    assert program.invocation.stdin == typed


def test_models_that_answer_come_before_those_of_embeddings_and_these_alone_are_none() -> None:
    text = (
        "import openai\nkept = embed('text-embedding-3-small')\ndef main():\n    input('Ask: ')\n"
    )
    (program,) = found({"main.py": text + GUARD})
    assert program.models == ()
    (program,) = found({"main.py": text + "    ask('gpt-5')\n" + GUARD})
    assert program.models == ("openai/gpt-5", "openai/text-embedding-3-small")


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("'text-embedding-005', 'gemini-2.5-flash'", ("gemini/text-embedding-005", "gemini/gemini-2.5-flash")),
        ("'text-multilingual-embedding-002', 'text-embedding-v3'", ("gemini/text-multilingual-embedding-002",)),
        ("name.startswith('gpt-') || name === 'gpt-5'", ("openai/gpt-5",)),
        ("'text-embedding-ada-002'", ("openai/text-embedding-ada-002",)),
        ("'openai/gpt-5'", ("openai/gpt-5",)),
        ("OpenAI(base_url='https://openrouter.ai/api/v1'); 'openai/gpt-5', 'gpt-5-mini'", ("openrouter/openai/gpt-5", "openai/gpt-5-mini")),
        ("completion('openrouter/google/gemini-2.5-pro')", ("openrouter/google/gemini-2.5-pro",)),
    ],
)  # fmt: skip
def test_models_are_of_who_makes_them_or_of_who_serves_them(
    text: str, models: tuple[str, ...]
) -> None:
    assert models_in(text) == models


def test_an_example_of_an_environment_may_have_its_name_before_the_ending() -> None:
    files = {
        "main.py": "import openai\ninput('Ask: ')\n",
        "template.env": "WATSON_URL=\nMODE=plain\n",
    }
    (program,) = found(files)
    assert (program.variables, program.examples) == (("WATSON_URL",), (("MODE", "plain"),))


@pytest.mark.parametrize(
    ("inputs", "more"),
    [
        ("'customer_domain': 'shop.example',\n        'project': about()", {"customer_domain": "shop.example"}),
        ("'topic': 'AI',\n        'current_year': str(now())", {"current_year": "2026"}),
        ("'job': 'cook'", {}),
    ],
)  # fmt: skip
def test_a_crew_is_given_what_the_program_beside_it_gives(
    inputs: str, more: dict[str, str]
) -> None:
    crew = "from crewai import Crew\nfrom crewai.project import CrewBase\n@CrewBase\nclass Plan:\n    def crew(self):\n        return Crew()\n"
    main = f"from desk.crew import Plan\ndef run():\n    inputs = {{\n        {inputs}\n    }}\n    Plan().crew().kickoff(inputs=inputs)\n"
    first, *_ = found({"src/desk/crew.py": crew, "src/desk/main.py": main})
    assert first.target.endswith("crew.py:Plan")
    assert {name: json.loads(value) for name, value in first.more} == more
