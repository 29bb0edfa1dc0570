"""What a function gives back and what a program reads, in shapes of public samples."""

from __future__ import annotations

import pytest

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
