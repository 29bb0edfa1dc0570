"""Gemini's command line and its agents."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.definitions import closure, found, read, sample

OWN = {"GEMINI.md", "docs/rules.md", ".gemini/agents/auditor.md"}


def test_gemini_and_its_agents_are_agents(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "gemini", "gemini", "auditor"))
    assert snapshot.problems == ()
    assert closure(snapshot, "gemini") == closure(snapshot, "auditor") == OWN
    runtime = found(snapshot)["auditor"].spec.runtime
    assert runtime is not None
    assert runtime.options["stdin"] == "@auditor {{ prompt }}"
    assert runtime.command[-2:] == ("--model", "gemini-2.5-flash")
