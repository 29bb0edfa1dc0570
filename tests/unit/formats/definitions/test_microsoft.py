"""Declarative agents of Microsoft's Agent Framework and Foundry."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import found, read, refusals, sample


def test_a_prompt_agent_runs_by_its_model_and_prompt(tmp_path: Path) -> None:
    agents = found(read(sample(tmp_path / "repo", "microsoft")))
    agent = agents["weatherassistant"]
    assert agent.runtime_type == "model"
    assert agent.spec.models == ("openai/gpt-4.1-mini",)
    weather, search = agent.spec.tools
    assert weather.input_schema is not None
    assert weather.input_schema["required"] == ["location"]
    assert (weather.tool_name, search.tool_name) == ("GetWeather", "search")


def test_a_model_of_the_environment_is_refused(tmp_path: Path) -> None:
    said = refusals(read(sample(tmp_path / "repo", "microsoft")))
    assert "stands in the environment" in said["persistent"]


def test_a_mapping_names_the_model(tmp_path: Path) -> None:
    config = "agents: [{match: agents/Persistent.yaml, models: [openai/gpt-5-mini]}]\n"
    snapshot = read(sample(tmp_path / "repo", "microsoft", "persistent", config=config))
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("persistent")
    assert agent is not None
    assert agent.spec.models == ("openai/gpt-5-mini",)
    assert agent.runtime_type == "model"
