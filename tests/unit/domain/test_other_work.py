"""Programs that train, deploy or belong to a platform, which no guess starts."""

from __future__ import annotations

from gateval.domain.setup.other_work import is_other_work
from gateval.domain.setup.program_search import not_read
from tests.unit.domain.test_programs_of_strangers import found


def test_what_trains_is_not_started_wherever_that_stands() -> None:
    stage = "import dspy\ndef stage(key):\n    dspy.BootstrapFewShot(metric=m).compile(dspy.Predict('a -> b'), trainset=data)\n"
    main = "from stage import stage\nimport dspy\ndef run_all(api_key: str) -> None:\n    stage(api_key)\n    dspy.LM('m')('x')\nif __name__ == '__main__':\n    run_all('x')\n"
    first, *_ = found({"main.py": main, "stage.py": stage})
    assert first.refused
    assert first.refused.why.startswith("trains what answers (`BootstrapFewShot`), and is not")
    assert not is_other_work(first.refused)  # so no Agent is made of a prompt beside it
    first, *_ = found({"main.py": main, "stage.py": "import dspy\nstage = print\n"})
    assert first.refused  # a key is no question


def test_a_task_of_a_platform_is_none_that_is_spoken_to() -> None:
    task = "import { task } from '@trigger.dev/sdk';\nimport { generateText } from 'ai';\nexport const sum = task({ id: 'x', run: async (payload: { content: string }) => ({ s: await generateText({ model: 'openai/gpt-5-mini', prompt: payload.content }) }) });\n"
    voice = "import { task } from '@trigger.dev/sdk';\nimport { ElevenLabsClient } from 'elevenlabs';\nexport const say = task({ id: 'y' });\n"
    first, *_ = found(
        {"src/trigger/sum.ts": task, "src/trigger/say.ts": voice, "package.json": "{}"}
    )
    assert first.refused
    assert first.refused.why.startswith("is a task of Trigger.dev")


def test_a_repository_without_programs_whose_readme_deploys_its_agent_is_refused() -> None:
    path, why = not_read(["agent.json", "AGENTS.md"], "```bash\ndeepagents deploy\n```") or (
        "",
        None,
    )
    assert (path, bool(why)) == ("The README", True)


GRAPH = """from langchain_openai import ChatOpenAI
from langgraph.graph import StateGraph
from pydantic import BaseModel
class Asked(BaseModel):
    search: str
    index_name: str
class Kept(BaseModel):
    search: str
def look(state: Kept):
    return {"search": ChatOpenAI().invoke(state.search)}
async def keep(state: Kept):
    await store.add_to_index_async(name=state.index_name, content=state.search)
graph = StateGraph(Kept, input=Asked)
graph.add_node("look", look)
graph.add_node("keep", NODE)
app = graph.compile()
"""


def test_a_graph_that_writes_to_a_store_whatever_it_is_asked_is_not_started() -> None:
    told = '{"graphs": {"one": "./one.py:app", "two": "./two.py:app"}}'
    files = {"one.py": GRAPH.replace("NODE", "keep"), "two.py": GRAPH.replace("NODE", "look")}
    first, second = found({**files, "langgraph.json": told})
    assert (first.told, first.refused) == ("langgraph.json:two", None)
    assert [name for name, _ in first.more] == ["index_name", "search"]
    assert second.refused
    assert "writes to a store in its node `keep` (`add_to_index_async`)" in second.refused.why
