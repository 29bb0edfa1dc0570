"""Agents of kagent, with the ModelConfig that they name."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import found, read, refusals, sample


def test_a_declarative_agent_runs_by_its_model_and_prompt(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "kagent", "orders-agent"))
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("orders-agent")
    assert agent is not None
    assert agent.runtime_type == "model"
    assert agent.spec.models == ("openai/gpt-4.1-mini",)
    assert str(agent.spec.system).startswith("You answer questions about orders.")
    names = [one.tool_name for one in agent.spec.tools]
    assert names == ["order_status", "refund", "math_agent"]


def test_what_cannot_be_told_is_refused(tmp_path: Path) -> None:
    said = refusals(read(sample(tmp_path / "repo", "kagent")))
    assert "no ModelConfig of this name" in said["math-agent"]
    assert "container image" in said["image-agent"]


def test_another_model_in_its_config_is_a_change(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "kagent")
    before = found(read(repo))["orders-agent"]
    text = (repo.path / "models/default.yaml").read_text()
    repo.write("models/default.yaml", f"# a comment\n{text}")
    repo.commit()
    assert found(read(repo))["orders-agent"].digest == before.digest
    repo.write("models/default.yaml", text.replace('"0.2"', '"0.9"'))
    repo.commit()
    assert found(read(repo))["orders-agent"].digest != before.digest
