"""Teams of Docker's cagent."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, refusals, sample


def test_a_team_of_one_runs_by_its_prompt(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "cagent", "desk"))
    assert snapshot.problems == ()
    agent = found(snapshot)["desk"]
    assert agent.spec.models == ("openai/gpt-5-mini",)
    assert agent.runtime_type == "model"
    assert agent.spec.system == "You answer questions about orders.\n\n\nBe short."
    assert [one.tool_name for one in agent.spec.tools] == ["think", "search"]
    assert closure(snapshot, "desk") == {"team/rules.md"}


def test_a_team_of_several_needs_a_mapping(tmp_path: Path) -> None:
    assert "other agents" in refusals(read(sample(tmp_path / "repo", "cagent")))["writers"]
    line = "[cagent, run, --exec, '{{ agent.file }}', '{{ prompt }}']"
    config = f"agents: [{{match: team/*, runtime: {{command: {line}}}}}]\n"
    snapshot = read(sample(tmp_path / "mapped", "cagent", "writers", config=config))
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("writers")
    assert agent is not None
    assert agent.runtime_type == "command"


def test_other_files_with_agents_are_none(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "cagent")
    repo.write("other.yaml", "agents:\n  - name: one\n    instruction: Hi\n")
    repo.write("chart.yaml", "kind: X\nagents:\n  one:\n    instruction: Hi\n")
    repo.commit()
    assert found(read(repo)).keys() == {"desk", "writers"}
