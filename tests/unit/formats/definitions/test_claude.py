"""Claude Code's sub-agents and skills: what they are, what they rest on, how they start."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, sample

MEMORY = {"CLAUDE.md", "AGENTS.md", "docs/conventions.md", "docs/glossary.md"}
SETTINGS = {".claude/settings.json"}
SKILL = {
    ".claude/skills/changelog/SKILL.md",
    ".claude/skills/changelog/reference/form.md",
    ".claude/skills/changelog/scripts/entries.py",
}


def test_a_sub_agent_is_an_agent(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "claude", "code-reviewer"))
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("code-reviewer")
    assert agent is not None
    assert agent.spec.runtime is not None
    assert str(agent.spec.system).startswith("You are a senior reviewer.")
    assert [one.tool_name for one in agent.spec.tools] == ["Read", "Grep", "Glob", "Bash", "Agent"]
    assert agent.spec.runtime.command == ("claude", "-p", "--agent", "code-reviewer")
    assert agent.spec.runtime.cwd == "/"
    definition = (agent.spec.model_extra or {})["definition"]
    assert isinstance(definition, dict)
    assert definition["model"] == "sonnet"


def test_its_closure_is_what_claude_code_reads(tmp_path: Path) -> None:
    """Imports of CLAUDE.md and theirs, the skills it preloads, the sub-agent that it may start."""
    snapshot = read(sample(tmp_path / "repo", "claude"))
    both = {f".claude/agents/{name}.md" for name in ("code-reviewer", "test-runner")}
    assert closure(snapshot, "code-reviewer") == both | SKILL | MEMORY | SETTINGS
    assert closure(snapshot, "test-runner") == {
        ".claude/agents/test-runner.md", *MEMORY, *SETTINGS
    }  # fmt: skip


def test_a_skill_is_its_whole_folder(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "claude"))
    agent = found(snapshot)["changelog"]
    assert closure(snapshot, "changelog") == SKILL | MEMORY | SETTINGS
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["stdin"] == "/changelog {{ prompt }}"


def test_a_full_name_of_a_model_is_the_agents_model(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude")
    repo.write(".claude/agents/one.md", "---\nname: one\nmodel: claude-opus-4-5\n---\nHi.\n")
    repo.commit()
    agent = found(read(repo))["one"]
    assert agent.spec.models == ("anthropic/claude-opus-4-5",)
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.env["ANTHROPIC_MODEL"] == "claude-opus-4-5"


def test_a_package_has_its_own_agents(tmp_path: Path) -> None:
    """What lies in a folder of a monorepo works there, and is told what stands above."""
    repo = sample(tmp_path / "repo", "claude")
    repo.write("packages/web/.claude/agents/web.md", "---\nname: web\n---\nHi.\n")
    repo.write("packages/web/CLAUDE.md", "Web.\n")
    repo.commit()
    snapshot = read(repo)
    agent = found(snapshot)["web"]
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.cwd == "/packages/web"
    own = {"packages/web/.claude/agents/web.md", "packages/web/CLAUDE.md"}
    assert closure(snapshot, "web") == own | MEMORY


def test_without_tools_it_may_use_all_that_there_is(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude")
    repo.write(".claude/agents/lead.md", "---\nname: lead\n---\nLead.\n")
    repo.write(".claude/agents/narrow.md", "---\nname: narrow\ntools: Read, Agent\n---\nHi.\n")
    repo.commit()
    snapshot = read(repo)
    names = ("lead", "narrow", "code-reviewer", "test-runner")
    agents = {f".claude/agents/{name}.md" for name in names}
    assert closure(snapshot, "lead") == agents | SKILL | MEMORY | SETTINGS
    assert closure(snapshot, "narrow") == agents | MEMORY | SETTINGS
