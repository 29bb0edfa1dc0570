"""What samples of public collections had that was read wrongly: docstrings, parts, pages, flows."""

from __future__ import annotations

import pytest

from gateval.domain.setup.asked_by_words import asked_by_words
from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from gateval.domain.setup.told_starts import told_fillings
from gateval.domain.setup.variables import example_values, variables_of
from tests.unit.domain.test_handlers import ASK
from tests.unit.domain.test_programs_of_strangers import MAIN, found
from tests.unit.domain.test_request_models import TOP

AGENT = 'from agents import Agent, Runner\ndesk = Agent(name="desk", tools=[])\n'


def test_an_agent_that_a_docstring_shows_is_none() -> None:
    shown = f'"""Tools.\n\n{AGENT}"""\nimport json\n'
    assert not [one for one in found({"tools.py": shown, "main.py": AGENT}) if "tools" in one.path]
    assert found({"main.py": AGENT})[0].told == "main.py:desk"


def test_an_agent_that_imports_a_package_two_folders_above_is_a_part() -> None:
    files = {
        "README.md": "```\nuv run python examples/sandbox/desk/main.py\n```\n",
        "desk.py": f"from examples.sandbox.desk.models import Reply\n{AGENT}",
        "models.py": "class Reply: ...\n",
    }
    first, *_ = found(files)
    assert first.refused
    assert "imports `examples.sandbox` (desk.py)" in first.refused.why


def test_a_page_that_makes_its_agents_itself_is_refused_as_the_page() -> None:
    page = f"import streamlit as st\n{AGENT}asked = st.text_input('?')\n"
    first, *_ = found({"desk.py": page, "README.md": "streamlit run desk.py\n"})
    assert first.refused
    assert "draws a page with Streamlit" in first.refused.why
    apart = {"desk.py": AGENT, "page.py": "import streamlit as st\nfrom desk import desk\n"}
    assert found({**apart, "README.md": "streamlit run page.py\n"})[0].told == "desk.py:desk"


@pytest.mark.parametrize(
    ("readme", "told"),
    [
        ("**Platform:** Voiceflow (import the .vf file into your own)", "Voiceflow"),
        ("You can import the .json file into your own n8n instance.", "n8n"),
        ("The Desk is a specialized n8n AI agent.", "n8n"),
        ("Ask the desk.", ""),
    ],
)
def test_a_flow_of_a_platform_is_refused_by_its_file(readme: str, told: str) -> None:
    path, why = not_read(["package.json", "flows/Desk.vf", "README.md"], readme) or ("", None)
    assert (path, bool(why)) == (("flows/Desk.vf", True) if told else ("", False))
    assert (
        why is None
        or why.why == f"is a flow of {told}, which that platform runs, and nothing here."
    )


def test_a_word_that_only_picks_what_a_program_does_is_no_question() -> None:
    text = "import { query } from '@anthropic-ai/claude-agent-sdk';\nconst example = process.argv[2] || 'basic';\nswitch (example) { case 'basic': await basic(); }\n"
    first, *_ = found({"examples.ts": text, "README.md": "npx tsx examples.ts basic\n"})
    assert first.refused
    assert "what it reads of its command (`process.argv`) is none" in first.refused.why


def test_a_line_that_is_read_as_a_number_gets_one() -> None:
    text = "question = input('Your question ')\ndepth = input('What depth? ')\nask(question, int(depth))\n"
    assert asked_by_words("desk.py", text).stdin == "{{ prompt }}\n1"
    text = "count = int(input('How many? '))\nask(input('Your question '), count)\n"
    assert asked_by_words("desk.py", text).stdin == "1\n{{ prompt }}"


def test_a_session_that_a_library_demands_is_a_login() -> None:
    text = f"import openai\n{TOP}{ASK}@app.post('/ask')\ndef f(ask: Ask, session=Depends(auth.require_session)):\n    return {{'answer': go(ask.question)}}\n"
    (program,) = found({"main.py": text + MAIN})
    assert program.refused
    assert program.refused.why.startswith("answers who has logged in")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('os.getenv("SEARCH_API_KEY", "")', ("SEARCH_API_KEY",)),
        ("os.environ.get('SEARCH_API_KEY', None)", ("SEARCH_API_KEY",)),
        ("process.env.SEARCH_API_KEY ?? ''; process.env.PLACE || 'here'", ("SEARCH_API_KEY",)),
        ("os.getenv('OPENAI_API_KEY1'); os.getenv('OPENAI_API_KEY')", ("OPENAI_API_KEY1",)),
        ("os.environ['MODEL']", ("MODEL",)),
    ],
)
def test_an_empty_default_is_none(text: str, names: tuple[str, ...]) -> None:
    assert variables_of(text) == names


def test_a_model_that_an_example_names_is_set() -> None:
    assert example_values("MODEL='openhermes'\n").plain == {"MODEL": "openhermes"}


@pytest.mark.parametrize(
    ("files", "readme", "told"),
    [
        (["team.yaml"], "kubectl apply -f team.yaml", "team.yaml describes what a cluster runs"),
        (["Dockerfile"], "docker compose up", "Dockerfile starts a program of an image"),
        (["Dockerfile", "desk.py"], "docker compose up", "desk.py is a program, but none here"),
    ],
)
def test_what_a_cluster_or_an_image_runs_is_refused(
    files: list[str], readme: str, told: str
) -> None:
    path, why = not_read([*files, "README.md"], readme) or ("", None)
    assert why
    assert f"{path} {why.why}".startswith(told)


def test_a_graph_behind_an_agent_of_uagents_is_refused_as_that() -> None:
    text = "from uagents import Agent as Messenger\nfrom langgraph.graph import StateGraph\nclass Kept(TypedDict):\n    messages: list\ndef build_graph():\n    return StateGraph(Kept).compile()\nMessenger(name='desk').run()\n"
    first, *_ = found({"desk.py": text})
    assert first.refused
    assert first.refused.why.startswith("is an agent of uAgents")


def test_a_route_that_gives_its_question_to_temporal_is_refused_in_a_package_too() -> None:
    text = f"{TOP}from temporalio.client import Client\nfrom workflows.desk import Desk\n@app.post('/send-prompt')\nasync def send(prompt: str):\n    await client.start_workflow(Desk.run, id='desk', start_signal_args=[prompt])\n    return {{'message': 'sent'}}\n"
    flow = "import litellm\nfrom temporalio import workflow\n@workflow.defn\nclass Desk: ...\n"
    files = {"api/main.py": text, "workflows/desk.py": flow, "workflows/__init__.py": ""}
    first, *_ = found({**files, "__init__.py": "", "README.md": "uvicorn api.main:app\n"})
    assert first.refused
    assert first.refused.why.startswith("gives work to a server of Temporal")


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("UiPathChat(model='m')", "UIPATH_URL and UIPATH_ACCESS_TOKEN"),
        ("AsyncDatabricksOpenAI()", "DATABRICKS_HOST and DATABRICKS_TOKEN"),
    ],
)
def test_a_login_of_a_platform_is_told(made: str, named: str) -> None:
    first, *_ = found({"main.py": f"{AGENT}model = {made}\n"})
    assert f"a trial has no such login: {named}" in str(said_of(first))


def test_what_windows_alone_has_and_what_a_readme_says_to_make_are_told() -> None:
    text = f"from uiautomation import Control\n{AGENT}"
    first, *_ = found({"main.py": text})
    assert first.refused
    assert "works on the windows of Windows (it imports `uiautomation` in main.py)" in (
        first.refused.why
    )
    files = {"main.py": AGENT, "README.md": "Fill in `keys.yaml`, and `.env`.\n"}
    first, *_ = found({**files, "keys.yaml.example": "a: b\n", ".env.example": "A_KEY=\n"})
    assert first.absent == (("keys.yaml", "keys.yaml.example"),)


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("LiteLlm(model='ollama_chat/mistral-small3.1')", "ollama_chat/mistral-small3.1"),
        ("ChatOllama(model='llama3')", "ChatOllama"),
    ],
)
def test_ollama_has_to_run_beside_what_asks_it_by_its_own_api(made: str, named: str) -> None:
    first, *_ = found({"main.py": f"{AGENT}model = {made}\n"})
    assert f"It asks a server at Ollama's address (`{named}`)" in str(said_of(first))
    first, *_ = found({"main.py": f"{AGENT}model = OpenAI(base_url='http://localhost:11434/v1')\n"})
    assert not first.asks


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("fetch('http://localhost:8000/Persona', { method: 'POST', body })", True),
        ("fetch(AGENT_ENDPOINT_URL, { method: 'POST', body })", True),
        ("axios.post(process.env.REACT_APP_URL, body)", True),
        ("fetch('/data.json')", False),
        ("fetch('http://localhost:8000/prices')", False),
    ],
)
def test_a_page_that_sends_its_questions_elsewhere_says_where(sent: str, told: bool) -> None:
    page = f"import React, {{ useState }} from 'react';\nconst send = () => {sent};\n"
    refused = [one.refused.why for one in found({"src/App.js": page}) if one.refused]
    assert any("is a page that sends what a person types to" in one for one in refused) == told


def test_programs_that_load_data_are_what_people_begin_with() -> None:
    readme = "```\npython work/data_loader.py\nnode addEmbeddings.js\npython desk.py\n```\n"
    files = {"work/data_loader.py", "addEmbeddings.js", "desk.py"}
    told = ("python work/data_loader.py", "node addEmbeddings.js")
    assert told_fillings(readme, files, "") == told


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("Runner.run_sync(desk, 'Say hello.')\n", "Runner.run_sync(desk,…"),
        ("said = desk.run_sync(\n    f'What of {city}?'\n)\n", "desk.run_sync(…"),
        (f"def main():\n    Runner.run_sync(desk, 'Say hello.')\n{MAIN}", ""),
    ],
)
def test_that_a_module_asks_its_agent_while_it_is_imported_is_told(end: str, told: str) -> None:
    first, *_ = found({"main.py": f"{AGENT}city = 'York'\n{end}"})
    assert (first.told, first.begun) == ("main.py:desk", told)
    assert ("while it is imported" in str(said_of(first))) == bool(told)


def test_a_choice_is_one_by_its_choices() -> None:
    text = f"{AGENT}def hook():\n    if Prompt.ask('Go on?', choices=['y', 'n']) == 'n':\n        raise StopAgentRun()\nRunner.run_sync(desk, 'Hello.')\n"
    assert found({"main.py": text})[-1].told == "main.py:desk"


def test_a_server_in_a_text_is_none_and_an_option_is_read_by_any_function() -> None:
    sample = "const APP = `\nhttp.createServer((q, r) => {\n  if (url.pathname === '/health') r.end();\n}).listen(3000);\n`;\n"
    text = f"import {{ Agent, run }} from '@openai/agents';\n{sample}const question = getStringArg('--question', 'Go.');\nawait run(new Agent({{ name: 'a' }}), question);\n"
    first, *_ = found({"go.ts": text, "package.json": '{"scripts": {"start": "tsx go.ts"}}'})
    assert first.command[-2:] == ("--question", "{{ prompt }}")


def test_agents_in_a_workflow_of_temporal_are_its_parts_and_marimo_draws_a_page() -> None:
    flow = f"from temporalio import workflow\n{AGENT}@workflow.defn\nclass Flow: ...\n"
    client = "from temporalio.client import Client\nfrom flow import Flow\ndef main():\n    client.execute_workflow(Flow.run)\n"
    assert all(one.refused for one in found({"flow.py": flow, "start.py": client + MAIN}))
    text = f"import marimo as mo\n{AGENT}mo.ui.chat(desk)\n"
    first, *_ = found({"notebook.py": text, "README.md": "python notebook.py\n"})
    assert first.refused
    assert first.refused.why.startswith("draws a page with Marimo")


def test_a_number_that_a_program_of_node_asks_for_first_is_typed_before_the_question() -> None:
    text = "const rl = createInterface({ input: process.stdin });\nconst kind = await ask('Select option (1-3): ', '2');\nconst asked = await ask('Ask a question: ', 'Hi');\n"
    assert asked_by_words("desk.ts", text).stdin == "1\n{{ prompt }}"
    assert asked_by_words(
        "desk.ts", text.replace("Select option (1-3)", "Your question")
    ).stdin == ("{{ prompt }}")


@pytest.mark.parametrize("name", ["--tool-use", "--question"])
def test_options_of_other_names_are_no_question_and_a_script_of_a_name_is_started(
    name: str,
) -> None:
    text = f"import {{ Agent, run }} from '@openai/agents';\nconst args = process.argv.slice(2);\nconst at = args.indexOf('{name}');\nconst value = args[at + 1];\nawait run(new Agent({{ name: 'a' }}), 'Go.');\n"
    project = '{"scripts": {"start:forcing": "tsx forcing.ts -t default"}}'
    files = {"forcing.ts": text, "package.json": project}
    first, *_ = found({**files, "README.md": "```\npnpm -F desk start:forcing\n```\n"})
    assert bool(first.refused) == (name == "--tool-use")
    assert first.hinted
