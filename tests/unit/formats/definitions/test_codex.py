"""Codex: its agents and its configuration."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, refusals, sample

OWN = {".codex/config.toml", ".codex/agents/explorer.toml", "AGENTS.md"}


def test_codex_and_its_agents_are_agents(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "codex", "codex", "explorer"))
    assert snapshot.problems == ()
    agents = found(snapshot)
    assert agents["explorer"].spec.models == ("openai/gpt-5-mini",)
    assert "Find the files that matter." in str(agents["explorer"].spec.system)
    assert closure(snapshot, "codex") == closure(snapshot, "explorer") == OWN
    runtime = agents["codex"].spec.runtime
    assert runtime is not None
    assert "model_providers.gateval" in runtime.command[2]
    assert runtime.command[-2:] == ("--model", "gpt-5-codex")


def test_instructions_of_a_folder_and_above_belong_to_it(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "codex")
    repo.write("services/api/.codex/config.toml", 'model = "gpt-5"\n')
    repo.commit()
    snapshot = read(repo)
    assert "Two definitions are called codex" in refusals(snapshot)["codex"]
    mapping = "agents: [{match: services/**, name: '{name}-api'}]\n"
    repo.write(".github/gateval.yml", mapping)
    repo.commit()
    snapshot = read(repo)
    assert closure(snapshot, "codex-api") == {
        "AGENTS.md", "services/api/AGENTS.md", "services/api/.codex/config.toml"
    }  # fmt: skip


def test_what_is_no_toml_is_told_where_an_eval_asks_for_it(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "codex")
    repo.write(".codex/agents/explorer.toml", "name = \n")
    repo.commit()
    assert read(repo).problems == ()
    asked = sample(tmp_path / "asked", "codex", "explorer")
    asked.write(".codex/agents/explorer.toml", "name = \n")
    asked.commit()
    (problem,) = read(asked).problems
    assert str(problem).startswith(".codex/agents/explorer.toml:1:1: This is no TOML")
