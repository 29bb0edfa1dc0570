"""GitHub Copilot's agents, chat modes, prompts and instructions."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, refusals, sample

SHARED = {
    ".github/copilot-instructions.md",
    ".github/instructions/python.instructions.md",
    "AGENTS.md",
    "docs/testing.md",
}


def test_agents_chat_modes_and_prompts_are_agents(tmp_path: Path) -> None:
    agents = found(read(sample(tmp_path / "repo", "copilot")))
    assert agents.keys() == {"docs-writer", "reviewer", "planner", "copilot", "release-notes"}
    assert agents["docs-writer"].spec.models == ("openai/gpt-5",)
    assert agents["reviewer"].spec.models == ("anthropic/claude-sonnet-4-5",)
    runtime = agents["reviewer"].spec.runtime
    assert runtime is not None
    assert runtime.command[-2:] == ("--agent", "reviewer")
    assert runtime.env == {"COPILOT_MODEL": "anthropic/claude-sonnet-4-5"}


def test_all_are_told_the_instructions(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "copilot"))
    agents = ".github/agents"
    assert closure(snapshot, "planner") == SHARED | {".github/chatmodes/planner.chatmode.md"}
    assert closure(snapshot, "docs-writer") == SHARED | {
        f"{agents}/docs-writer.agent.md",
        f"{agents}/reviewer.agent.md",
    }
    assert closure(snapshot, "release-notes") == SHARED | {
        ".github/prompts/release-notes.prompt.md",
        f"{agents}/reviewer.agent.md",
    }


def test_without_a_model_it_is_not_started(tmp_path: Path) -> None:
    """Copilot's command line asks no model of GitHub's where another address is named."""
    snapshot = read(sample(tmp_path / "repo", "copilot", "copilot"))
    assert "this file names none" in refusals(snapshot)["copilot"]
    assert any("cannot be started" in str(one) for one in snapshot.problems)
