"""What an agent demands beside its question, and causes that name what a person would, in shapes of
public samples.
"""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.program_search import not_read
from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("import boto3\nfrom openai import OpenAI\ntable = boto3.resource('dynamodb')\nprint(OpenAI().responses.create(input=input()))\n", "AWS by boto3.resource"),
        ("import google.auth\nfrom google.adk.agents import Agent\n_, project = google.auth.default()\nroot_agent = Agent(name='a', model='gemini-2.5-pro')\n", "Google Cloud by google.auth.default"),
    ],
)  # fmt: skip
def test_a_login_that_a_library_of_a_cloud_makes_is_told(made: str, said: str) -> None:
    first, *_ = found({"agent.py": made})
    assert f"It logs in to {said}, and" in " ".join(said_of(first))


LOOP = """import argparse
from strands import Agent
parser = argparse.ArgumentParser()
parser.add_argument("--gateway_id"OPTIONS)
if __name__ == "__main__":
    args = parser.parse_args()
    CHECK
    agent = Agent(tools=tools_of(args.gateway_id))
    while True:
        asked = input("You: ")
        if asked == "exit":
            break
        print(agent(asked))
"""


@pytest.mark.parametrize(
    ("options", "check", "demands"),
    [
        ("", "if args.gateway_id is None: raise ValueError", True),
        ("", "if not args.gateway_id: parser.error('which?')", True),
        (", required=True", "", True),
        (', default="x"', "if not args.gateway_id: raise ValueError", False),
        ("", "if args.gateway_id is None: print('all')", False),
        ("", "", False),
    ],
)
def test_an_option_whose_value_nothing_tells_is_demanded(
    options: str, check: str, demands: bool
) -> None:
    text = LOOP.replace("OPTIONS", options).replace("CHECK", check)
    first, *_ = found({"chat.py": text})
    why = "demands `--gateway_id` beside what it is asked, and nothing here tells its value."
    assert (first.refused.why if first.refused else "") == (why if demands else "")


SERVER = """from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from atomic_agents import AtomicAgent
app = FastAPI()
class Asked(BaseModel):
    message: str
    user_id: str
    session_id: str | None = None
    style: str | None = None
@app.post("/chat")
async def chat(request: Asked):
    if TEST:
        raise HTTPException(status_code=400, detail="session_id is required")
    return {"response": AtomicAgent().run(request.message).text}
"""


@pytest.mark.parametrize(
    ("test", "more"),
    [
        ("not request.session_id", ["session_id"]),
        ("not request.session_id.strip()", ["session_id"]),
        ("request.session_id is None or not request.style", ["session_id", "style"]),
        ("not request.session_id and not request.style", []),
        ("request.session_id not in known", []),
    ],
)
def test_a_field_without_which_a_handler_fails_is_sent(test: str, more: list[str]) -> None:
    first, *_ = found({"main.py": SERVER.replace("TEST", test)})
    assert first.refused is None
    assert [*json.loads(first.invocation.body)] == ["message", "user_id", *more]


def test_the_notebook_that_a_readme_names_is_told() -> None:
    books = ["0-prerequisites.ipynb", "1-corrective-agent.ipynb"]
    path, _ = not_read(books, "Run the **1-corrective-agent.ipynb** notebook.") or ("", None)
    assert path == "1-corrective-agent.ipynb"


def test_programs_that_a_readme_names_and_that_are_not_there_are_told() -> None:
    readme = "steps/\n|-- chat-api.step.ts  # endpoint\n|-- ai.step.ts"
    path, why = not_read(["types.d.ts", "package.json", "README.md"], readme) or ("", None)
    assert (path, why and why.why) == (
        "The README",
        "names chat-api.step.ts, which is not in this repository.",
    )


def test_a_readme_that_deploys_its_agent_is_the_cause_where_no_program_is_known() -> None:
    readme = "## Deploy\n```bash\ndeepagents deploy\n```"
    path, why = not_read(["skills/review/lint_check.py", "agent.json"], readme) or ("", None)
    assert path == "The README"
    assert why
    assert why.why.startswith("deploys its agent (`deepagents deploy`)")
    path, _ = not_read(["lint_check.py"], "It was deployed.") or ("", None)
    assert path == "lint_check.py"


def test_a_handler_without_a_model_is_the_cause_where_nothing_else_is() -> None:
    handler = "import boto3\ndef lambda_handler(event, context):\n    return {}\n"
    first, *_ = found({"lambda_function.py": handler, "target.py": "import boto3\nprint(1)\n"})
    assert first.path == "lambda_function.py"
    assert first.refused
    assert first.refused.why.startswith("has a handler that a platform calls")


def test_a_page_of_copilot_studio_is_a_client() -> None:
    text = "import React from 'react';\nimport { CopilotStudioClient } from '@microsoft/agents-copilotstudio-client';\nexport default () => <div className='x'/>;\n"
    first, *_ = found({"src/Chat.tsx": text})
    assert first.refused
    assert first.refused.why.startswith("is a client of an agent of Copilot Studio")
