"""Cursor's rules and agents: found, and refused aloud where somebody wants them to run."""

from __future__ import annotations

from pathlib import Path

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
