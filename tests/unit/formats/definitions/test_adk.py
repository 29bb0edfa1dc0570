"""`root_agent.yaml` of Google's ADK, which its bridge starts."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, sample


def test_the_bridge_starts_it_with_its_folder_and_its_team(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "adk", "weather"))
    assert snapshot.problems == ()
    agent = found(snapshot)["weather"]
    assert agent.runtime_type == "python"
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["target"] == "weather/root_agent.yaml"
    assert closure(snapshot, "weather") == {
        "weather/root_agent.yaml", "weather/roll_agent.yaml", "weather/tools.py",
        "weather/__init__.py", "shared/prime_agent.yaml",
    }  # fmt: skip


def test_a_mapping_adds_the_set_up(tmp_path: Path) -> None:
    """Keys that a mapping does not name are as the format has them."""
    config = "agents: [{match: weather/*, runtime: {cwd: weather, setup: [make, deps]}}]\n"
    agent = found(read(sample(tmp_path / "repo", "adk", config=config)))["weather"]
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.setup == ("make", "deps")
    assert agent.spec.runtime.cwd == "/weather"
    assert agent.runtime_type == "python"
