"""What people are told to do before the first question, and what a program asks before it."""

from __future__ import annotations

import pytest

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
