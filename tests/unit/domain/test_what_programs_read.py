"""What a function gives back and what a program reads, in shapes of public samples."""

from __future__ import annotations

import pytest

from gateval.domain.setup.program_surroundings import login_of
from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found

FACTORY = """import settings
from pydantic_ai import Agent

async def get_agent():
    store = settings.Store("store.json")
{body}

async def main():
    asked = await get_agent()
    while True:
        line = input("> ")
        if line == "exit":
            break
        print(asked.run_sync(line))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    "body",
    [
        "    return store, Agent('openai:gpt-5-mini')",
        "    agent = Agent('openai:gpt-5-mini')\n    return {'agent': agent, 'store': store}",
        "    agent = Agent('openai:gpt-5-mini')\n    return settings.Session(agent)",
        "    session = settings.Session(Agent('openai:gpt-5-mini'))\n    return session",
        "    agent = Agent('openai:gpt-5-mini')\n    return store",
        "    agent = Agent('openai:gpt-5-mini')\n    print(agent.run_sync('Hello'))",
    ],
)
def test_a_function_that_gives_back_something_else_than_its_agent_is_none(body: str) -> None:
    first, *_ = found({"desk.py": FACTORY.replace("{body}", body)})
    assert (first.told, first.target) == ("desk.py", "")
    assert first.invocation.stdin == "{{ prompt }}\nexit\n"


@pytest.mark.parametrize(
    "body",
    [
        "    return Agent[None, str]('openai:gpt-5-mini')",
        "    global kept\n    kept = kept or Agent('openai:gpt-5-mini')\n    return kept",
        "    if (agent := Agent('openai:gpt-5-mini')):\n        return agent",
        "    self = settings\n    self.agent = Agent('openai:gpt-5-mini')\n    return self.agent",
        "    agent = Agent('openai:gpt-5-mini')\n    named = agent.named('x')\n    return named",
        "    async with Agent('openai:gpt-5-mini') as agent:\n        return agent",
    ],
)
def test_a_function_that_gives_back_the_agent_that_it_makes_is_asked(body: str) -> None:
    first, *_ = found({"desk.py": FACTORY.replace("{body}", body)})
    assert first.told == "desk.py:get_agent()"


def test_what_people_start_comes_before_agents_apart_and_what_it_reads_is_lacking() -> None:
    body = '    store.load("servers.json")\n    return store, Agent("openai:gpt-5-mini")'
    extra = 'from pydantic_ai import Agent\ndef make_agent():\n    return Agent("m")\n'
    files = {
        "README.md": "# Desk\n\n```\npython desk.py\n```\n",
        "desk.py": FACTORY.replace("{body}", body),
        "extras/page.py": extra,
        "servers_example.json": "{}",
    }
    first, second = found(files)[:2]
    assert (first.told, second.told) == ("desk.py", "extras/page.py:make_agent()")
    assert first.absent == (("servers.json", "servers_example.json"),)
    assert "It reads servers.json, of which the repository has an example" in str(said_of(first))
    first, *_ = found(files | {"README.md": "# Desk\n"})
    assert first.told == "extras/page.py:make_agent()"


ASKING = """import argparse, json, pathlib
from openai import OpenAI

def run_agent(ticket) -> str:
    return OpenAI().responses.create(model="gpt-5-mini", input=json.dumps(ticket)).output_text

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-v", "--verbose", action="store_true")
{argument}
    print(run_agent(json.loads("{}")))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ('"--ticket", type=pathlib.Path, default="a.json"', "a file that its argument names"),
        ('"--ticket", type=argparse.FileType("r")', "a file that its argument names (`--ticket`)"),
        ('"-i", "--input-file", required=True', "argument names (`--input-file`), and takes no"),
        (
            '"crew", choices=["a", "b"]',
            "the arguments that it reads (`--verbose`, `crew`) is called",
        ),
        ('"--city"', "none of the arguments that it reads (`--verbose`, `--city`) is called like"),
        ('"--out-file", type=pathlib.Path', "arguments that it reads (`--verbose`, `--out-file`)"),
    ],
)
def test_a_program_whose_arguments_are_no_question_is_refused_by_them(
    argument: str, why: str
) -> None:
    text = ASKING.replace("{argument}", f"    parser.add_argument({argument})")
    first, *_ = found({"main.py": text})
    assert first.refused
    assert why in first.refused.why
    assert "nothing in it reads its arguments" not in first.refused.why


CHOOSING = """{imports}

def greet():
    print(Agent().run("Say hello."))

def count():
    print(Agent().run("Count to three."))

EXAMPLES = {"1": greet, "2": count}
LISTED = [greet, count]

def main():
{body}

if __name__ == "__main__":
    main()
"""
PLAIN, UNBRIDGED = "from litellm import Agent", "from mcp_agent.agents.agent import Agent"


@pytest.mark.parametrize(
    "body",
    [
        'chosen = input("Choose an example (1-2): ").strip()\nif chosen == "1":\n    greet()',
        'while True:\n    c = input("Your choice? ")\n    if c == "q":\n        break\n    EXAMPLES[c]()',
        'c = input("Example 1 or 2: ")\nif c.isdigit():\n    LISTED[int(c) - 1]()',
        'n = int(input("Enter a number: "))\nLISTED[n - 1]()',
        'if input("Which one? ") == "1":\n    greet()\ninput("Press Enter to end")',
        'c = input("Select: ") or "1"\nrun = EXAMPLES.get(c.lower())\nprint(f"No {c}")\nrun()',
        'c = input("Pick one: ")\nmatch c:\n    case "1":\n        greet()\n    case _:\n        count()',
    ],
)
def test_a_program_that_reads_a_choice_alone_is_not_asked(body: str) -> None:
    lines = "\n".join(f"    {one}" for one in body.splitlines())
    text = CHOOSING.replace("{body}", lines)
    first, *_ = found({"main.py": text.replace("{imports}", PLAIN)})
    assert first.refused
    assert first.refused.why.startswith("reads a choice (`")
    assert "no question: nothing that a person types goes on" in first.refused.why
    first, *_ = found({"main.py": text.replace("{imports}", UNBRIDGED)})
    assert first.refused
    assert first.refused.why.endswith("which its files hold; mcp-agent has no bridge.")


@pytest.mark.parametrize(
    "body",
    [
        'c = input("Choose 1-2 or ask: ")\nasked = {"1": "Hello"}.get(c, c)\nprint(Agent().run(asked))',
        'c = input("Choose 1-2: ")\nasked = input("Question: ")\nprint(Agent().run(asked))',
        'c = input("Choose 1-2, or ask: ")\nif c != "1":\n    print(Agent().run(f"Answer {c}"))',
        'import asyncio\nprint(Agent().run(asyncio.to_thread(input, "Which question? ")))',
    ],
)
def test_a_line_that_goes_on_is_a_question(body: str) -> None:
    lines = "\n".join(f"    {one}" for one in body.splitlines())
    text = CHOOSING.replace("{body}", lines).replace("{imports}", PLAIN)
    if "to_thread" in body:
        text = text.replace("import Agent", "import Agent\nimport sys\nsys.stdin.reconfigure()")
    first, *_ = found({"main.py": text})
    assert first.refused is None
    assert "{{ prompt }}" in str(first.invocation.stdin)


def test_names_without_end_and_deep_expressions_are_read_in_time() -> None:
    names = [f"n{one}" for one in range(30)]
    pairs = "\n".join(f"    {one} = {other}" for one in names for other in names)
    body = f'    n0 = input("Choose 1-2: ")\n{pairs}\n    if n9 == "1":\n        greet()'
    text = CHOOSING.replace("{body}", body).replace("{imports}", PLAIN)
    first, *_ = found({"main.py": text})
    assert first.refused
    assert first.refused.why.startswith("reads a choice (`Choose 1-2`)")
    for deep in ("1" + "+1" * 900, "a" + ".b" * 900, "a" + ".b()" * 900, "a" + "[0]()" * 400):
        body = f"    agent = Agent('m')\n    x = {deep}\n    return agent"
        assert found({"desk.py": FACTORY.replace("{body}", body)})
        again = text.replace("n0 = input", f"x = {deep}\n    n0 = input")
        assert found({"main.py": again})


@pytest.mark.parametrize(
    ("text", "cloud", "by"),
    [
        ("from strands import Agent\nagent = Agent(system_prompt='x')\n", "AWS", "the model that"),
        ("import strands\nagent = strands.Agent(tools=[])\n", "AWS", "the model that Strands takes"),
        ("from strands import Agent\nm = BedrockModel(model_id='x')\nagent = Agent(model=m)\n", "AWS", "BedrockModel"),
        ("import boto3\nc = boto3.client('bedrock-runtime')\n", "AWS", "bedrock-runtime"),
        ("agent = LlmAgent(model=LiteLlm(model='bedrock/anthropic.claude-sonnet-5'))\n", "AWS", "bedrock"),
        ("from google import genai\nc = genai.Client(vertexai=True)\n", "Google Cloud", "vertexai"),
        ("from azure.identity import DefaultAzureCredential as D\nc = D()\n", None, ""),
        ("from strands import Agent\nagent = Agent(OpenAIModel('x'), tools=[])\n", None, ""),
        ("from strands import Agent\nagent = Agent(**settings)\n", None, ""),
        ("from strands import Agent\ndef made() -> Agent:\n    return kept\n", None, ""),
        ("from agents import Agent\nagent = Agent(name='x')\n", None, ""),
    ],
)  # fmt: skip
def test_a_login_that_only_a_machine_has_is_told(text: str, cloud: str | None, by: str) -> None:
    login = login_of(text)
    assert (login and login.cloud) == cloud
    assert login is None or login.by.startswith(by)


def test_what_a_login_to_aws_needs_is_named() -> None:
    text = "from strands import Agent\n\nagent = Agent(tools=[])\n"
    said = " ".join(said_of(found({"desk.py": text, "requirements.txt": "strands-agents\n"})[0]))
    assert "It logs in to AWS by the model that Strands takes unless it is told" in said
    assert "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION that policy.candidate" in said


@pytest.mark.parametrize(
    ("imports", "modules_in"),
    [("from desk.asked import ask", "src"), ("from helper import ask", ""), ("import json", "")],
)
def test_a_package_below_src_is_found_by_a_program_beside_it(imports: str, modules_in: str) -> None:
    files = {
        "talk/run.py": f"{imports}\nimport openai\n\nprint(openai.OpenAI(), input('> '))\n",
        "talk/helper.py": "ask = print\n",
        "src/desk/__init__.py": "",
        "src/desk/asked.py": "ask = print\n",
        "pyproject.toml": "[tool.poetry.dependencies]\nopenai = '*'\n",
        "poetry.lock": "",
    }
    (first,) = (one for one in found(files) if one.path == "talk/run.py")
    assert first.modules_in == modules_in


def test_a_service_in_the_root_finds_itself_and_its_package_below_src() -> None:
    files = {
        "talk/run.py": "from service import ask\nimport openai\n\nprint(openai.OpenAI(), input('> '))\n",
        "service.py": "from desk.asked import ask\n",
        "src/desk/asked.py": "ask = print\n",
        "poetry.lock": "",
        "pyproject.toml": "[tool.poetry.dependencies]\nopenai = '*'\n",
    }
    (first,) = (one for one in found(files) if one.path == "talk/run.py")
    assert (first.command[1:], first.modules_in) == (("-m", "talk.run"), "src")


def test_a_graph_that_langgraph_json_names_is_offered_once() -> None:
    graph = "from langgraph.graph import StateGraph\ngraph = StateGraph(dict).compile()\n"
    told = '{"graphs": {"desk": "./graph.py:graph"}}'
    files = {"langgraph.json": told, "graph.py": graph, "src/other.py": graph}
    assert [one.told for one in found(files)] == ["langgraph.json", "src/other.py:graph"]
