"""What people are told to do before the first question, and what a program asks before it."""

from __future__ import annotations

import subprocess

import pytest

from gateval.domain.setup.repository_files import is_read
from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found

FILLED = "import openai\nwhile True:\n    line = input('You: ')\n    if line == 'exit':\n        break\n    print(openai.OpenAI().responses.create(input=line))\n"


def test_what_people_fill_first_and_servers_that_a_client_names_are_told() -> None:
    readme = "```\npip install -r requirements.txt\n$ python load_data.py --all\nuv run flask create-index\npython gone_ingest.py\npython main.py\n```\n"
    client = "from falkordb import FalkorDB\ndb = FalkorDB(host='localhost', port=6379)\n"
    files = {"README.md": readme, "load_data.py": "", "main.py": client + FILLED}
    first, *_ = found(files)
    assert first.path == "main.py"
    assert first.asks == ("localhost:6379",)
    assert first.fills == ("python load_data.py --all", "uv run flask create-index")
    assert sum("`uv run flask create-index`" in one for one in said_of(first)) == 1
    served = {"main.py": "Server(host='localhost', port=6379)\n" + FILLED}
    assert found(served)[0].asks == ("localhost:6379",)
    own = {"main.py": "app.run(host='localhost', port=6379)\n" + FILLED}
    assert not found(own)[0].asks


AGNO = """import sys
from agno.agent import Agent
def main():
    print("Enter your page ID:")
    page = input("> ")
    agent = Agent(instructions=page)
    agent.cli_app(stream=True{ends})
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("ends", "word"), [("", "exit"), (", exit_on=['bye', 'exit']", "bye")])
def test_what_is_asked_before_the_loop_of_a_library_is_no_question(ends: str, word: str) -> None:
    first, *_ = found({"main.py": AGNO.replace("{ends}", ends)})
    assert first.invocation.stdin == f"gateval\n{{{{ prompt }}}}\n{word}\n"
    assert any("something before the question" in one for one in said_of(first))


def test_prose_of_a_docstring_imports_nothing() -> None:
    asks = "import httpx\nURL = 'http://localhost:7777'\nhttpx.get(URL)\n"
    text = '"""Try this:\n\nRun other from this folder.\n"""\nfrom agno.agent import Agent\nagent = Agent()\n'
    first, *_ = found({"main.py": text, "other.py": asks})
    assert (first.told, first.asks) == ("main.py:agent", ())


def test_keys_that_libraries_read_themselves_are_named() -> None:
    text = "from langchain.agents import create_agent\nfrom langchain_tavily import TavilySearch\nagent = create_agent('together_ai/a/b', tools=[TavilySearch()])\nrequired_keys = ['SAMBANOVA_API_KEY', 'OTHER']\n"
    first, *_ = found({"agent.py": text})
    assert first.variables == ("SAMBANOVA_API_KEY", "TAVILY_API_KEY", "TOGETHER_API_KEY")
    told = {"agent.py": text, "README.md": "Set `TAVILY_KEY`, `TOGETHERAI_KEY`.\n"}
    assert not {"TAVILY_API_KEY", "TOGETHER_API_KEY"} & {*found(told)[0].variables}


FLOW = """from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel
class Leads(BaseModel):
    rows: list[str] = []
    feedback: str = ""
class LeadFlow(Flow[Leads]):
    @start()
    def load(self):
        {begins}
    @listen(load)
    def review(self):
        if input("Go on? (1/2) ") == "2":
            self.state.feedback = input("What is wrong? ")
        return self.state.feedback
if __name__ == "__main__":
    LeadFlow().kickoff()
"""


def test_a_flow_that_asks_a_person_in_a_later_step_reads_no_question() -> None:
    first, *_ = found({"main.py": FLOW.replace("{begins}", "self.state.rows = open('a').read()")})
    assert first.refused
    assert "is a flow of which no step reads a text" in first.refused.why
    begins = FLOW.replace("{begins}", "self.state.rows = [input('Whom? ')]")
    assert not found({"main.py": begins})[0].refused


def test_a_program_with_an_import_by_dots_inside_is_started_as_a_module() -> None:
    cli = "import asyncio\ndef main():\n    from .work import main as other\n    asyncio.run(other())\nif __name__ == '__main__':\n    main()\n"
    work = "import argparse\nfrom openai import OpenAI\nasync def main():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--prompt')\n    OpenAI().responses.create(input=parser.parse_args().prompt)\n"
    project = "[project]\nname = 'desk'\n[project.scripts]\ndesk = 'desk.cli:main'\n"
    files = {"desk/__init__.py": "", "desk/cli.py": cli, "desk/work.py": work}
    readme = '```\ndesk --prompt "Why is it?"\n```\n'
    first, *_ = found(files | {"pyproject.toml": project, "README.md": readme})
    assert first.command[1:4] == ("-m", "desk.cli", "--prompt")


def test_a_server_that_is_only_shown_in_comments_starts_nothing() -> None:
    text = "import openai\nfrom fastapi import APIRouter\nrouter = APIRouter()\n@router.post('/ask')\ndef ask(question: str):\n    return openai.OpenAI().responses.create(input=question)\nif __name__ == '__main__':\n    pass\n    # uvicorn.run(app)\n"
    first, *_ = found({"server.py": text})
    assert first.refused


def test_a_notebook_in_the_folder_of_notebooks_is_told() -> None:
    files = {"README.md": "Open `notebooks/talk.ipynb`.\n", "notebooks/talk.ipynb": "{}"}
    first, *_ = found(files | {"talk/llm.py": "import openai\nclass A:\n    pass\n"})
    assert (first.path, first.refused is not None) == ("notebooks/talk.ipynb", True)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("main.py", "import os, openai\nTASK = os.getenv('TASK', 'Say hello')\ndef main():\n    print(openai.OpenAI().responses.create(input=TASK))\nif __name__ == '__main__':\n    main()\n"),
        ("index.ts", "import OpenAI from 'openai'\nconst TASK = process.env.TASK || 'Say hello'\nasync function main() {\n  console.log(await new OpenAI().responses.create({ input: TASK }))\n}\nmain()\n"),
    ],
)  # fmt: skip
def test_a_question_in_a_variable_is_set_by_the_command(file: str, text: str) -> None:
    first, *_ = found({file: text})
    assert (first.command[:2], first.command[-1]) == (("sh", "-c"), file)
    told = subprocess.run(
        [*first.command[:4], "printenv", "TASK"], input=b"Why?\nAnd $HOME?", stdout=-1, check=True
    )
    assert told.stdout == b"Why?\nAnd $HOME?\n"
    assert (first.invocation.stdin, "TASK" in first.variables) == ("{{ prompt }}", False)
    assert any("from the variable TASK" in one for one in said_of(first))


def test_a_program_in_scripts_is_read_where_there_is_no_other() -> None:
    assert is_read("scripts/main.py", examples=True)
    assert not is_read("scripts/main.py")


def test_a_server_that_people_start_apart_is_told_by_its_port() -> None:
    readme = "```\npython shop.py\n```\nThen:\n```\npython main.py\n```\n"
    asks = (
        "import os\nPORT = int(os.getenv('PORT', 4021))\nBASE = f'http://localhost:{PORT}'\n"
        + FILLED
    )
    serves = "import uvicorn\nPORT = 4021\nuvicorn.run('shop:app', port=PORT)\n"
    files = {"README.md": readme, "main.py": asks, "shop.py": serves}
    first, *_ = found(files)
    assert first.asks == ("port 4021, which shop.py serves",)
    for other in ("8000", "8000  # from shop import x, 4021"):
        assert not found({**files, "shop.py": serves.replace("4021", other)})[0].asks


def test_a_database_that_a_client_asks_is_told_where_no_variable_names_it() -> None:
    client = "from langgraph.checkpoint.postgres import PostgresSaver\nwith PostgresSaver.from_conn_string(URL) as kept:\n    kept.setup()\n"
    assert found({"main.py": client + FILLED})[0].asks == (
        "PostgreSQL's address (`PostgresSaver`)",
    )
    named = client.replace("URL", "os.environ['DATABASE_URL']")
    assert not found({"main.py": "import os\n" + named + FILLED})[0].asks


def test_groups_of_packages_that_a_readme_says_to_install_are_installed() -> None:
    project = "[tool.poetry.dependencies]\nopenai = '*'\n[tool.poetry.group.dev.dependencies]\npytest = '*'\n"
    files = {"main.py": FILLED, "pyproject.toml": project, "poetry.lock": ""}
    told = {"README.md": "```\npoetry install --with dev\n```\n"}
    for more, words in ((told, ("--with", "dev")), ({}, ("--no-root", "--compile"))):
        setup = found({**files, **more})[0].setup
        assert setup
        assert setup.run[-2:] == words


@pytest.mark.parametrize(
    "line",
    ['GIVEN = {"skills_dir": "skills"}', 'PLACE = Path("skills")', 'ALL = glob("./skills/*.md")'],
)
def test_folders_that_a_program_in_the_root_names_are_given_to_it(line: str) -> None:
    files = {"main.py": f"{line}\n{FILLED}", "skills/ask.md": "", "other/ask.md": ""}
    assert found(files)[0].reads == ("skills/ask.md",)
    (first, *_) = found({"main.py": f"X = {{'kind': 'skills'}}\n{FILLED}", "skills/ask.md": ""})
    assert first.reads == ()


def test_packages_by_path_are_seen_by_the_set_up() -> None:
    project = "[project]\nname = 'x'\ndependencies = ['a']\n[tool.uv.sources]\na = { path = 'servers/a' }\nb = { path = '../b' }\nc = { path = 'gone' }\n"
    setup = found({"main.py": FILLED, "pyproject.toml": project, "servers/a/pyproject.toml": ""})[
        0
    ].setup
    assert setup
    assert setup.inputs == ("pyproject.toml", "servers/a/**")


def test_a_store_that_it_fills_and_docker_are_told_and_examples_in_docstrings_are_not() -> None:
    stores = "index.upsert(vectors=[])\n"
    doc = '"""Ask it.\n\n    url="http://localhost:6969"\n"""\n'
    first, *_ = found({"main.py": doc + "from keep import kept\n" + FILLED, "keep.py": stores})
    assert first.asks == ()
    assert any("It fills a store (`index.upsert` in keep.py)" in one for one in said_of(first))
    docker = "from fast_agent import DockerMountedEnvironment\nWORK = DockerMountedEnvironment()\n"
    assert found({"main.py": docker + FILLED})[0].asks == (
        "Docker's address (`DockerMountedEnvironment`)",
    )


def test_keys_that_are_only_called_like_the_gates_are_told_and_models_in_comments_are_none() -> (
    None
):
    reads = "import os\nos.environ['OPENROUTER_API_API_KEY']\nos.environ['OPENAI_KEY']\nos.environ['OPENAI_API_KEY']\n"
    models = "# MODEL = 'gemini-2.5-pro'\nMODEL = 'gpt-5-mini'\n"
    first, *_ = found({"main.py": reads + models + FILLED})
    assert first.variables == ("OPENROUTER_API_API_KEY", "OPENAI_KEY")
    assert first.models == ("openai/gpt-5-mini",)
