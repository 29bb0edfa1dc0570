"""What a program is given beside the question, by what its files say, and what its names mean."""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.other_work import MUTE, UNKNOWN
from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found

GUARD = "\nif __name__ == '__main__':\n    main()\n"
OBJECT = """import argparse, json, pathlib
from openai import OpenAI

def run_agent({parameter}) -> str:
    {body}
    return OpenAI().responses.create(model="gpt-5-mini", input=asked).output_text

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticket", type=pathlib.Path, default="a.json")
    print(run_agent(json.loads(parser.parse_args().ticket.read_text())))
"""


@pytest.mark.parametrize(
    ("parameter", "body", "inputs", "more"),
    [
        ("ticket: dict[str, Any]", "asked = json.dumps(ticket)", (), {}),
        (
            "ticket: dict",
            "asked = ticket['message'] + ticket['plan'] + ticket.get('tone', '')",
            ("message",),
            {"plan": "gateval"},
        ),
    ],
)
def test_a_function_that_takes_an_object_is_asked_with_what_it_reads_there(
    parameter: str, body: str, inputs: tuple[str, ...], more: dict[str, str]
) -> None:
    text = OBJECT.replace("{parameter}", parameter).replace("{body}", body)
    first, *_ = found({"main.py": text + GUARD})
    assert (first.told, first.inputs) == ("main.py:run_agent", inputs)
    assert {name: json.loads(value) for name, value in first.more} == more


@pytest.mark.parametrize("parameter", ["state: dict", "config: dict", "ticket: Ticket"])
def test_an_object_of_another_kind_is_no_question(parameter: str) -> None:
    text = OBJECT.replace("{parameter}", parameter).replace("{body}", "asked = str(1)")
    first, *_ = found({"main.py": text + GUARD})
    assert "`--ticket`" in (first.refused.why if first.refused else "")


def test_a_function_behind_an_agent_that_a_platform_asks_is_no_way_to_it() -> None:
    agent = "from uagents import Agent\nfrom desk import answer\nagent = Agent(name='desk')\ndef main():\n    agent.run()\n"
    desk = "import openai\ndef answer(question: str):\n    return openai.OpenAI().responses.create(input=question)\n"
    first, *_ = found({"agent.py": agent + GUARD, "desk.py": desk})
    assert first.refused
    assert first.refused != MUTE
    assert "uAgents" in first.refused.why


NAMED = """from crewai import Agent, Crew, Task
{imports}
planner = Agent(role="planner", goal="Answer {topic}", backstory="b", tools=[{tool}])
{name} = Crew(agents=[planner], tasks=[Task(description="On {topic}", agent=planner)])
"""


@pytest.mark.parametrize(
    ("imports", "tool", "asked"),
    [
        ("", "", True),
        ("from tools import look", "look", True),
        ("import subprocess", "run", False),
        ("from tools import apply", "apply", False),
        ("from crewai_tools import MCPServerAdapter", "tool", False),
    ],
)
def test_what_is_called_after_a_job_is_an_agent_where_its_files_only_answer(
    imports: str, tool: str, *, asked: bool
) -> None:
    text = NAMED.replace("{imports}", imports).replace("{tool}", tool)
    text = text.replace("{name}", "migration_crew")
    tools = "def look(name):\n    return open(name).read()\n"
    tools += "def apply(name):\n    client.create_table(name)\n" if "apply" in imports else ""
    programs = found({"crews.py": text, "tools.py": tools})
    assert any(one.target for one in programs) == asked


STATE = """from langgraph.graph import StateGraph
class Desk(TypedDict):
    question: str
    retries: int
    notes: list
def answer(state):
    return {"answer": ask(state["question"], state["notes"]), "retries": state["retries"] + 1}
builder = StateGraph(Desk)
builder.add_node("answer", answer)
graph = builder.compile()
"""


@pytest.mark.parametrize(
    "asked",
    [
        "print(graph.invoke({'question': q, 'retries': 0, 'notes': [], 'left': []}))",
        "given: Desk = {'question': q, 'retries': 0, 'notes': []}\nfor one in graph.stream(given): print(one)",
    ],
)
def test_a_graph_is_given_what_its_program_gives_it(asked: str) -> None:
    told = '{"graphs": {"agent": "./graph.py:graph"}}'
    for files in ({}, {"langgraph.json": told}):
        first, *_ = found(
            {"graph.py": STATE, "main.py": f"from graph import graph\n{asked}\n", **files}
        )
        assert dict(first.more) == {"retries": "0", "notes": "[]"}


STREAM = """import json, openai
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
app = FastAPI()
class Asked(BaseModel):
    question: str
@app.post("/ask")
async def ask(asked: Asked):
    return StreamingResponse(pieces(asked.question)MORE)
"""


@pytest.mark.parametrize(
    ("more", "words"),
    [("", "answers piece by piece"), ("", "under runtime.response")],
)
def test_a_stream_that_is_not_known_is_said_to_be_one(more: str, words: str) -> None:
    first, *_ = found({"main.py": STREAM.replace("MORE", more), "requirements.txt": "fastapi\n"})
    said = " ".join(said_of(first))
    assert words in said
    assert "all of it counts" not in said


@pytest.mark.parametrize(
    ("loop", "typed"),
    [
        ("first = input('Question: ')\n    go(first)\n    while True:\n        q = input('Follow-up (blank to quit): ')\n        if not q or q in {'exit', 'quit'}:\n            break\n        go(q)", "{{ prompt }}\nexit\n"),
        ("first = input('Question: ')\n    go(first)\n    while True:\n        q = input('Follow-up: ')\n        if not q:\n            break\n        go(q)", "{{ prompt }}\n"),
        ("while True:\n        q = input('You: ').strip()\n        if not q:\n            break\n        go(q)", "{{ prompt }}\n\n"),
        ("base = input(\n        'Address (press Enter for the usual): '\n    ).strip()\n    go(base, input('Question: '))\n", "\n{{ prompt }}"),
        ("name = input('Question (enter to quit): ')\n    go(name)\n", "{{ prompt }}"),
    ],
)  # fmt: skip
def test_a_line_after_the_first_answer_leaves(loop: str, typed: str) -> None:
    (program,) = found({"main.py": f"import openai\ndef main():\n    {loop}\n" + GUARD})
    assert program.invocation.stdin == typed


MENU = """import readline from "node:readline/promises";
import OpenAI from "openai";
async function main() {
  while (true) {
    console.log("1. Ask a question");
    console.log("2. Exit");
    const choice = await rl.question("Choose an option: ");
    BRANCH
  }
}
main();
"""


@pytest.mark.parametrize(
    "branch",
    [
        "if (choice === '1') {\n      const q = await rl.question('You: ');\n      const more = await rl.question('More: ');\n      go(q);\n    } else if (choice === '2') {\n      break;\n    }",
        "switch (choice) {\n      case '1':\n        go(await rl.question('You: '), await rl.question('More: '));\n        break;\n      case '2':\n        return;\n    }\n    if (choice === '1' || choice == '2') done();",
    ],
)
def test_the_branch_of_a_menu_of_node_is_read(branch: str) -> None:
    (program,) = found({"main.mjs": MENU.replace("BRANCH", branch), "package.json": "{}"})
    assert program.invocation.stdin == "1\n{{ prompt }}\n{{ prompt }}\n2\n"


ABOVE = "import openai\nfrom examples.auto import asked\nfrom .manager import go\nasync def main():\n    await go(asked())\nif __name__ == '__main__':\n    main()\n"
PART = "from agents import Agent\nsearcher = Agent(name='Searcher', tools=[look])\n"


@pytest.mark.parametrize(
    ("readme", "more", "refused"),
    [
        ("Run `python -m examples.research.main` and ask.", {}, True),
        ("Run `python -m examples.research.main` and ask.", {"examples/auto.py": "x = 1\n"}, False),
        ("Run `python -m examples.research.main`.", {"requirements.txt": "examples\n"}, False),
        ("Run `python main.py` and ask.", {}, False),
        ("Run `python -m examples.research.main`.", {"auto.py": "x = 1\n"}, False),
    ],
)
def test_a_folder_of_a_larger_package_is_refused_by_what_it_imports_from_there(
    readme: str, more: dict[str, str], *, refused: bool
) -> None:
    first, *_ = found({"main.py": ABOVE, "parts/searcher.py": PART, "README.md": readme, **more})
    assert bool(first.refused and "imports `examples.auto`" in first.refused.why) == refused


def test_a_program_that_alone_is_there_names_what_it_imports_from_above() -> None:
    text = "from langchain.llms import OpenAI\nfrom RAG.src.base import Base\nclass Chain(Base):\n    pass\n"
    readme = "```\ncd RAG/examples/basic/\ndocker compose up\n```\n"
    first, *_ = found({"chains.py": text, "README.md": readme})
    assert "imports `RAG.src` (chains.py)" in (first.refused.why if first.refused else "")


A2A = """from a2a.server.apps import A2AFastAPIApplication
from autogen.a2a import A2aAgentServer
from fastapi import FastAPI
server = A2aAgentServer(root_agent)
app: FastAPI = A2AFastAPIApplication(
    agent_card=server.card,
).build(
CARD
    rpc_url="/a2a/app/",
)
"""


def test_a_server_of_a2a_whose_card_is_elsewhere_is_asked_by_its_request() -> None:
    card = '    agent_card_url="/a2a/app/.well-known/agent-card.json",'
    first, *_ = found({"app/server.py": A2A.replace("CARD", card), "app/__init__.py": ""})
    assert first.command[-3:] == ("server:app", "--port", "{port}")
    assert (first.refused, first.invocation.route) == (None, "/a2a/app/")
    assert json.loads(first.invocation.body)["method"] == "message/send"
    first, *_ = found({"app/server.py": A2A.replace("CARD\n", ""), "app/__init__.py": ""})
    assert first.invocation.preset == "a2a"


def test_ollama_that_is_asked_by_its_path_is_a_model() -> None:
    client = "import requests\ndef ask(base, text):\n    # ollama\n    return requests.post(f'{base}/api/generate', json={'prompt': text}).json()['response']\n"
    server = "from fastapi import FastAPI\nfrom client import ask\napp = FastAPI()\n@app.post('/ask')\ndef asked(question: str):\n    return {'answer': ask('http://h', question)}\n"
    first, *_ = found({"client.py": client, "server.py": server})
    assert (first.path, first.framework) == ("server.py", "a model's HTTP API")


def test_variables_that_a_reader_of_their_own_reads_are_named() -> None:
    text = (
        "import openai\nkey = get_from_env('DESK_KEY')\nwhile True:\n    print(go(input('> ')))\n"
    )
    first, *_ = found({"main.py": text, "template.env": "DESK_SPACE=\n"})
    assert set(first.variables) == {"DESK_KEY", "DESK_SPACE"}


def test_an_agent_in_a_module_of_the_365_sdk_is_asked_by_its_channels() -> None:
    text = "from agent_framework import Agent\nfrom microsoft_agents.hosting.core import AgentApplication\nDESK = Agent(name='Desk', tools=[look])\n"
    first, *_ = found({"agent.py": text})
    assert "365 Agents SDK" in (first.refused.why if first.refused else "")


def test_programs_that_stand_aside_are_named_before_a_small_agent_is_written() -> None:
    path, why = not_read(["AGENTS.md", "agent.json", "test_memory.py"]) or ("", None)
    assert (path, why) == ("test_memory.py", UNKNOWN)


PROJECT = """[project]
name = "desk"
dependencies = ["requests>=2", "openai"]
[project.optional-dependencies]
server = ["fastapi>=0.100", "uvicorn[standard]"]
more-models = ["langchain-openai"]
dev = ["pytest", "requests"]
"""


@pytest.mark.parametrize(
    ("lock", "ends"),
    [
        ("", "-r pyproject.toml --extra server"),
        ("uv.lock", "--extra server"),
        ("poetry.lock", "--extras server"),
    ],
)
def test_the_optional_packages_that_a_program_imports_are_installed(lock: str, ends: str) -> None:
    server = "import requests, openai\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/ask')\ndef asked(question: str):\n    return {'answer': openai.ask(question)}\n"
    files = {"main.py": server, "pyproject.toml": PROJECT, **({lock: ""} if lock else {})}
    first, *_ = found(files)
    assert first.setup
    assert " ".join(first.setup.run).endswith(ends)
    plain = server.replace("from fastapi import FastAPI\n", "")
    first, *_ = found({**files, "main.py": plain})
    assert "--extra" not in " ".join(first.setup.run if first.setup else ())


SERVER = """from fastapi import FastAPI
from pydantic import BaseModel
import openai
app = FastAPI()
class Asked(BaseModel):
    model: str
    prompt: str
    depth: int
    place: str
@app.post("/api/ask")
def ask(asked: Asked):
    return {"answer": openai.ask(asked.prompt)}
"""


@pytest.mark.parametrize(
    "curl",
    [
        """curl http://localhost:8000/api/ask -d '{\n  "model": "tiny+cot", "prompt": "Why?",\n  "depth": 3, "place": "<your place>"}'""",
        """curl -X POST "$BASE/api/ask/" -H 'Content-Type: application/json' --data "{\\"model\\": \\"tiny+cot\\", \\"depth\\": 3}\"""",
    ],
)
def test_a_body_has_the_values_that_the_readme_shows(curl: str) -> None:
    more = 'curl http://localhost:8000/api/other -d \'{"model": "big"}\'\n'
    files = {"main.py": SERVER, "README.md": f"```\n{more}{curl}\n```\n", "docs/README.md": "x"}
    first, *_ = found(files)
    body = {"model": "tiny+cot", "prompt": "{{ prompt }}", "depth": 3, "place": "gateval"}
    assert json.loads(first.invocation.body) == body
    assert "by type alone: `place`." in " ".join(said_of(first))


@pytest.mark.parametrize("body", ["{", "[1]", '{"model": 5}', '{"model": {"name": "x"}}'])
def test_a_body_that_does_not_fit_is_not_taken(body: str) -> None:
    files = {"main.py": SERVER, "README.md": f"curl http://localhost/api/ask -d '{body}'\n"}
    first, *_ = found(files)
    assert json.loads(first.invocation.body)["model"] == "gateval"
