"""Cursor's rules and agents: found, and refused aloud where somebody wants them to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.definitions import closure, read, refusals, sample

RULES = {
    ".cursor/rules/python.mdc", ".cursor/rules/frontend/react.mdc", ".cursorrules", "docs/style.md"
}  # fmt: skip
MAPPED = """\
agents:
  - match: .cursor/agents/*.md
    runtime: {type: command, command: [python3, tools/run.py, '{{ agent.file }}']}
"""


def test_rules_together_are_one_agent_and_are_not_started(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "cursor", "cursor", "verifier"))
    assert refusals(snapshot).keys() == {"cursor", "verifier"}
    told = [str(one) for one in snapshot.problems]
    assert len(told) == 2
    assert all("takes no address for its models" in one for one in told), told


def test_a_mapping_starts_what_cursor_defines(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "cursor", "verifier", config=MAPPED)
    repo.write("tools/run.py", "print('hello')\n")
    repo.write("tools/helper.py", "")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    own = {".cursor/agents/verifier.md", "tools/run.py", "tools/helper.py"}
    assert closure(snapshot, "verifier") == RULES | own


@pytest.mark.parametrize("match", [".cursor/rules/python.mdc", ".cursorrules", "docs/**"])
def test_a_mapping_may_name_any_of_the_rules(tmp_path: Path, match: str) -> None:
    """They are one agent together, whichever is read first."""
    config = f"agents: [{{match: {match}, runtime: {{command: [python3, run.py]}}}}]\n"
    repo = sample(tmp_path / "repo", "cursor", "cursor", config=config)
    repo.write("run.py", "print('hello')\n")
    repo.commit()
    assert ("cursor" in refusals(read(repo))) == match.startswith("docs")


def test_many_rules_are_no_prompt_of_a_model(tmp_path: Path) -> None:
    """It would be asked with nothing, and a worse rule would pass."""
    config = "agents: [{match: .cursor/**, models: [openai/gpt-5], runtime: {type: model}}]\n"
    snapshot = read(sample(tmp_path / "repo", "cursor", "cursor", "verifier", config=config))
    assert refusals(snapshot).keys() == {"cursor"}
    (problem,) = snapshot.problems
    assert "agents[0].runtime of .github/gateval.yml: `type: model` asks with the prompt" in str(
        problem
    )
    assert '"cursor" has none in one file' in str(problem)
