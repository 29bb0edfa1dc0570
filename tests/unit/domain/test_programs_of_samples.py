"""Shapes of public samples: hosts of frameworks, platforms, pages, agents of Agno and Strands."""

from __future__ import annotations

import pytest

from tests.unit.domain.test_handlers import asked
from tests.unit.domain.test_programs_of_strangers import MAIN, found

FOUNDRY = "from agent_framework import Agent\nfrom agent_framework.foundry import {host}\n\ndef main():\n    {host}(Agent()).run()\n"
MLFLOW = "import langchain\nfrom mlflow.genai.agent_server import AgentServer\nserver = AgentServer('ResponsesAgent')\napp = server.app\n\ndef main():\n    server.run(app_import_string='start:app')\n"
SAID = "output[*].content[*].text"


@pytest.mark.parametrize(
    ("text", "path", "field", "answer", "command"),
    [
        (FOUNDRY.format(host="ResponsesHostServer"), "/responses", "input", SAID, ("start.py",)),
        (FOUNDRY.format(host="InvocationsHostServer"), "/invocations", "message", "response", ("start.py",)),
        (MLFLOW, "/invocations", "input", SAID, ("start.py", "--port", "{port}")),
    ],
)  # fmt: skip
def test_a_server_that_a_framework_has_is_asked_at_its_path(
    text: str, path: str, field: str, answer: str, command: tuple[str, ...]
) -> None:
    (program,) = found({"start.py": text + MAIN})
    way = program.invocation
    assert (way.route, way.field, way.answer) == (path, field, answer)
    assert (program.refused, program.command[1:]) == (None, command)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("from uagents import Agent\nagent = Agent()\n", "an agent of uAgents"),
        ("import openai\nimport restate\nx = restate.Service('X')\n", "a service of Restate"),
        ("from agents import Agent\nfrom temporalio import workflow\n", "a worker of Temporal"),
        ("from apify import Actor\nfrom smolagents import CodeAgent\n", "an Actor of Apify"),
        ("from dapr_agents import DurableAgent\n", "a program of Dapr Agents"),
        ("from nat.cli.register_workflow import x\nfrom langchain.x import y\n", "NeMo Agent"),
        ("import openai\nfrom acp_sdk.server import Server\n", "a server of ACP"),
        ("import openai\nimport azure.functions as func\n", "a handler of Azure Functions"),
        ("import streamlit as st\nfrom unknown_library import ask\n", "draws a page with Streamlit"),
        ("import mesop as me\nfrom unknown_library import ask\n", "draws a page with Mesop"),
        ("import websockets\nstarted = websockets.serve(1)\n", "over WebSocket alone"),
    ],
)  # fmt: skip
def test_what_a_platform_asks_is_refused_by_its_name(text: str, why: str) -> None:
    (program,) = found({"main.py": text + "def main(): ...\n" + MAIN})
    assert program.refused
    assert why in program.refused.why


@pytest.mark.parametrize(
    ("imports", "dapr"),
    [
        ("from dapr_agents.llm import HFHubChatClient\nfrom dapr_agents.types import UserMessage", False),
        ("from dapr_agents import OpenAIChatClient, UserMessage", False),
        ("from dapr_agents.llm import DaprChatClient", True),
        ("from dapr_agents import OpenAIChatClient, DurableAgent", True),
        ("from dapr_agents import DaprChatClient", True),
    ],
)  # fmt: skip
def test_clients_of_models_that_dapr_agents_bring_need_no_dapr(imports: str, dapr: bool) -> None:
    (program,) = found({"main.py": f"{imports}\nprint('x')\n{MAIN}"})
    assert program.refused
    assert ("which `dapr run` starts" in program.refused.why) == dapr


ASKING = "from openai import OpenAI\nclient = OpenAI()\n"
ROUTER = "from fastapi import APIRouter\nfrom app.llm import answer\nrouter = APIRouter()\n@router.websocket('/ws')\nasync def ws(sock):\n    await sock.send_text(answer(await sock.receive_text()))\n"


@pytest.mark.parametrize(
    "files",
    [
        {"ws.py": ASKING + "app = FastAPI()\n@app.websocket('/ws')\nasync def ws(sock): ...\n"},
        {"app/llm.py": ASKING + "def answer(q): ...\n", "app/ws.py": ROUTER},
        {"ws.py": ASKING + "class Chat(tornado.websocket.WebSocketHandler): ...\n" + MAIN},
        {"ws.py": ASKING + "class Chat(AsyncWebsocketConsumer): ...\n"},
    ],
)  # fmt: skip
def test_a_server_of_sockets_is_refused_as_one_however_it_is_started(files: dict[str, str]) -> None:
    program, *_ = found(files)
    assert program.path.endswith("ws.py")
    assert program.refused
    assert "over WebSocket alone" in program.refused.why


CREW = "from crewai.project import CrewBase\n@CrewBase\nclass Desk:\n    ...\n"
PAGE = "import streamlit as st\n{imports}\nst.title('Desk')\n"
START = {"README.md": "Run `streamlit run samples/desk/page.py`."}


def test_the_page_that_the_readme_starts_is_named_where_it_asks_none_of_the_agents() -> None:
    files = {"desk/crew.py": CREW, "page.py": PAGE.format(imports=""), **START}
    (page,) = found(files)
    assert page.refused
    assert page.path == "page.py"
    first, *_ = found({**files, "page.py": PAGE.format(imports="from desk.crew import Desk")})
    assert (first.target, first.refused) == ("crew.py:Desk", None)
    asking = PAGE.format(imports="import openai, requests\nrequests.get(URL)")
    (page,) = found({**files, "page.py": asking})
    assert (page.path, bool(page.refused)) == ("page.py", True), "it asks a model, and more"
    told = {"README.md": "Run `python scripts/begin.py`.", "scripts/begin.py": "import os"}
    assert found({**files, **told})[0].target == "crew.py:Desk"
    client = PAGE.format(imports="import requests\nrequests.post(URL)")
    assert [one.target for one in found({**files, "page.py": client})][:1] == ["crew.py:Desk"]
    first, *_ = found({**files, "README.md": "Nothing."})
    assert first.target == "crew.py:Desk"


AGNO = "from agno.agent import Agent\nfrom agno.team import Team\nfrom agno.workflow import Step, Workflow\nwriter = Agent(name='Writer', model=OpenAIChat(id='gpt-5'), tools=[x])\nreader = Agent(tools=[x])\n"


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ("", "desk.py:writer"),
        ("both = Team(members=[writer, reader])\n", "desk.py:both"),
        ("s = Step(name='s', agent=writer)\nt = Step(agent=reader)\nguardrails = Workflow(name='f', steps=[s, t])\n", "desk.py:guardrails"),
    ],
)  # fmt: skip
def test_of_agno_who_hands_on_is_the_agent(more: str, target: str) -> None:
    first, *_ = found({"desk.py": AGNO + more})
    assert (first.target, first.refused) == (target, None)
    named = next(one for one in found({"desk.py": AGNO + more}) if one.target == "desk.py:writer")
    assert named.names[0] == "Writer"


def test_an_agent_of_strands_is_one_and_a_server_of_agentcore_around_it_comes_first() -> None:
    made = "from strands import Agent\nagent = Agent(tools=[x])\n"
    first, *_ = found({"desk.py": made + "agent('What is new?')\n"})
    assert first.target == "desk.py:agent"
    entry = "from bedrock_agentcore.runtime import BedrockAgentCoreApp\napp = BedrockAgentCoreApp()\n@app.entrypoint\ndef invoke(payload):\n    return str(agent(payload['prompt']))\n"
    root = made.replace("agent = Agent(", "root_agent = Agent(").replace(
        "strands", "google.adk.agents"
    )
    (rooted, _) = found({"desk.py": root + entry})
    assert rooted.invocation.route == "/invocations"
    first, second = found({"desk.py": made + entry})
    assert (first.invocation.route, first.invocation.field) == ("/invocations", "prompt")
    assert second.target == "desk.py:agent"


LISTED = "from smolagents import CodeAgent\nfrom starlette.applications import Starlette\nfrom starlette.routing import Route\ndef get_agent():\n    return CodeAgent()\nasync def work(request: Request):\n    data = await request.json()\n    return JSONResponse({'result': get_agent().run(data.get('task'))})\napp = Starlette(routes=[Route('/work', work, methods=['POST'])])\n"


def test_routes_may_stand_in_a_list_and_the_readme_may_name_a_folder_above() -> None:
    told = {"README.md": "    uvicorn samples.desk.main:app --reload\n"}
    first, second = found({"main.py": LISTED, **told})
    assert (first.invocation.route, first.invocation.field) == ("/work", "task")
    assert (first.invocation.answer, second.target) == ("result", "main.py:get_agent()")
    added = "def f(ask: Ask): ...\napp.add_api_route('/added', f, methods=['POST'])\n"
    ask = "class Ask(BaseModel):\n    question: str\n"
    assert asked(ask + added).route == "/added"


def test_a_bearer_key_that_is_compared_with_a_variable_can_be_chosen() -> None:
    text = "class Ask(BaseModel):\n    question: str\ndef verify_token(given = Security(HTTPBearer())):\n    expected_token = os.getenv('API_TOKEN')\n    if given.credentials != expected_token:\n        raise HTTPException(401)\n@app.post('/ask')\ndef f(ask: Ask, ok: bool = Depends(verify_token)): ...\n"
    way = asked(text)
    assert (way.login, dict(way.headers)["Authorization"]) == (False, "Bearer gateval")
    assert dict(way.env) == {"API_TOKEN": "gateval"}


def test_a_loop_may_stand_in_a_class_of_another_file_and_a_confirmation_is_no_question() -> None:
    loop = "class Talk:\n    def run(self):\n        while True:\n            said = input('Ask: ')\n            if said == 'quit': break\n            ok = input('Sure? [y/N]')\n"
    files = {"talk.py": loop, "main.py": "import openai\nfrom talk import Talk\nTalk().run()\n"}
    first = found({**files, "README.md": "python main.py"})[0]
    assert (first.path, first.invocation.stdin, first.refused) == (
        "main.py", "{{ prompt }}\nquit\n", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ("    pip install -U agno 'openai>=1' \n```\nuv pip install httpx[socks]\n", "agno 'openai>=1' 'httpx[socks]'"),
        ("$ python3 -m pip install agno openai  # both\n", "agno openai"),
        ("uv add agno\npip install --upgrade pip\n", "agno"),
        ("pip install -r other.txt\npip install -e .\npip install git+https://x/y\n", ""),
        ("pip install $(cat names)\npip install '; rm -rf x'\n", ""),
        ("Do not pip install agno\n", ""),
    ],
)  # fmt: skip
def test_what_the_readme_says_to_install_is_the_set_up_where_no_file_names_it(
    told: str, names: str
) -> None:
    desk, readme = "desk.py", {"README.md": told}
    for text in (AGNO, f"import openai, sys\nprint(openai.ask(sys.argv[1]))\n{MAIN}"):
        setup = found({desk: text, **readme})[0].setup
        assert (setup.run[-1].partition("--quiet ")[2] if setup else "") == names
        assert not setup or (setup.inputs, setup.locked) == (("README.md",), False)
        own = found({desk: text, **readme, "requirements.txt": "agno==2\n"})[0].setup
        assert own
        assert own.inputs == ("requirements.txt",)
    first = found({desk: text, **readme})[0]
    assert first.command[0] == (".venv/bin/python" if names else "python3")


def test_the_python_that_uv_takes_is_an_input() -> None:
    lock, version = {"pyproject.toml": "[project]\ndependencies = ['agno']\n"}, ".python-version"
    for more in ({}, {"uv.lock": ""}):
        setup = found({"desk.py": AGNO, **lock, **more, version: "3.12"})[0].setup
        assert setup
        assert version in setup.inputs
        bare = found({"desk.py": AGNO, **lock, **more})[0].setup
        assert bare
        assert version not in bare.inputs


def test_of_many_equals_the_first_of_the_readme_is_it() -> None:
    one = "from agno.agent import Agent\nagent = Agent({more})\n"
    files = {f"{name}.py": one.format(more="tools=[x]") for name in ("image", "search")}
    told = "    python samples/agno/plain.py\n    python samples/agno/search.py\n"
    files = {**files, "plain.py": one.format(more=""), "README.md": told}
    assert [each.path for each in found(files)] == ["plain.py", "search.py", "image.py"]


def test_a_server_of_a2a_that_is_started_comes_before_the_root_agent_that_it_serves() -> None:
    agent = "from google.adk.agents import Agent\nroot_agent = Agent(name='desk')\n"
    server = "import uvicorn\nfrom a2a.server.apps import A2AStarletteApplication\nfrom agent import root_agent\ndef main(port: int):\n    app = A2AStarletteApplication(root_agent)\n    uvicorn.run(app.build(), port=port)\n"
    files = {"agent.py": agent, "__main__.py": server + MAIN}
    first, second = found({**files, "README.md": "python __main__.py"})
    assert (first.invocation.preset, second.target) == ("a2a", "agent.py:root_agent")
    assert found(files)[0].target == "agent.py:root_agent"


def test_a_path_of_openai_with_fields_of_its_own_is_asked_by_them() -> None:
    own = "@app.post('/chat/completions')\nasync def f(request: Request):\n    data = await request.json()\n    return data.get('{key}')\n"
    assert (asked(own.format(key="message")).field, asked(own.format(key="message")).preset) == (
        "message", "",
    )  # fmt: skip
    assert asked(own.format(key="messages")).preset == "openai"


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("ai_service.py", "def deployable_ai_service(context):\n    from langchain_ibm import x\n", "a platform calls"),
        ("{{cookiecutter.name}}/agent.py", "import openai\nx = 1\n", "is a template"),
        ("main.py", "import openai\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/answer/{number}')\ndef f(number: int): ...\n", "no POST route"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_as_it_stands_is_refused(path: str, text: str, why: str) -> None:
    (program,) = found({path: text})
    assert program.refused
    assert why in program.refused.why


def test_another_version_in_a_folder_comes_after_what_the_readme_starts() -> None:
    agent = "from pydantic_ai import Agent\nagent = Agent('m', deps_type=Deps)\n"
    server = "from fastapi import FastAPI\nfrom agent import agent\napp = FastAPI()\n@app.post('/ask')\ndef f(question: str): return agent.run_sync(question)\n"
    files = {"agent.py": agent, "other/agent.py": agent, "other/server.py": server}
    docker = {"other/Dockerfile": 'CMD ["python", "server.py"]'}
    first = found({**files, **docker, "README.md": "    python agent.py\n"})[0]
    assert first.target == "agent.py:agent"
    for told in ("Nothing.", "    python agent.py\n    python other/server.py\n"):
        assert found({**files, **docker, "README.md": told})[0].path == "other/server.py"


def test_a_switch_of_a_command_is_no_argument() -> None:
    text = "import openai, typer\napp = typer.Typer()\n@app.command()\ndef main({first}):\n    print(openai.ask(input('You: ')))\n"
    switch = found({"main.py": text.format(first="debug: bool = typer.Option(False)") + MAIN})[0]
    assert (switch.invocation.words, switch.invocation.stdin) == ((), "{{ prompt }}")
    taken = found({"main.py": text.format(first="question: str") + MAIN})[0]
    assert taken.invocation.words == ("{{ prompt }}",)


STRANDS = "from strands import Agent\n{imports}\n{name} = Agent(tools=[{tools}])\n"


def test_who_has_functions_of_other_agents_files_as_tools_leads() -> None:
    part = STRANDS.format(imports="def ask_{0}(q): ...", name="agent", tools="clock")
    leads = "from days import ask_days\nfrom code import ask_code"
    files = {
        "days.py": part.format("days"),
        "code.py": part.format("code"),
        "person.py": STRANDS.format(imports=leads, name="helper", tools="ask_days, ask_code"),
    }
    assert next(one.told for one in found(files)) == "person.py:helper"
    own = "def ask_days(q): ...\ndef ask_code(q): ..."
    files["person.py"] = STRANDS.format(imports=own, name="helper", tools="ask_days, ask_code")
    assert next(one.told for one in found(files)) != "person.py:helper", "functions of its own"
    files["person.py"] = STRANDS.format(imports="", name="helper", tools="clock")
    assert next(one.told for one in found(files)) != "person.py:helper"


@pytest.mark.parametrize(
    ("listed", "at"),
    [
        ("async def run(request):\n", "/desk"),
        ("@app.post('/ask')\nasync def run(request):\n", "/ask"),
        ("async def other(request):\n    ...\n", None),
    ],
)
def test_what_pydantic_ai_answers_by_ag_ui_is_asked_so(listed: str, at: str | None) -> None:
    text = (
        "from pydantic_ai.ui.ag_ui import AGUIAdapter\nfrom starlette.applications import Starlette\n"
        f"import uvicorn\n{listed}    return await AGUIAdapter.dispatch_request(request, agent=agent)\n"
        "app = Starlette(routes=[Route('/desk', run, methods=['POST'])])\n"
        "if __name__ == '__main__':\n    uvicorn.run(app)\n"
    )
    asked = [one.invocation for one in found({"main.py": text}) if one.invocation.preset]
    assert [one.route for one in asked if one.preset == "ag-ui"] == ([at] if at else [])
