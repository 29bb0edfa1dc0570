"""`langgraph.json`, whose graphs its bridge starts."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import found, read, sample


def test_each_graph_is_an_agent(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "langgraph", "agent"))
    assert snapshot.problems == ()
    agents = found(snapshot)
    targets = {
        name: agent.spec.runtime.options["target"]
        for name, agent in agents.items()
        if agent.spec.runtime is not None
    }
    assert targets == {"agent": "langgraph.json:agent", "retrieval": "langgraph.json:retrieval"}


def test_a_graph_of_node_starts_in_node(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "langgraph")
    repo.write("js/langgraph.json", '{"node_version": "20", "graphs": {"js": "./src/a.ts:graph"}}')
    repo.commit()
    agent = found(read(repo))["js"]
    assert agent.runtime_type == "node"
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["target"] == "src/a.ts:graph"
    assert agent.spec.runtime.cwd == "/js"
