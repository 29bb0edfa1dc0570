"""`agents.yaml` and `tasks.yaml` of CrewAI, which its bridge starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.definitions import closure, found, read, refusals, sample


def test_the_bridge_starts_the_crew_of_the_files(tmp_path: Path) -> None:
    snapshot = read(sample(tmp_path / "repo", "crewai", "research"))
    assert snapshot.problems == ()
    agent = found(snapshot)["research"]
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["target"] == "src/research/crew.py:Research"
    assert {"pyproject.toml", "src/research/config/tasks.yaml"} <= closure(snapshot, "research")


def test_a_task_is_a_part_of_it(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "crewai")
    before = found(read(repo))["research"]
    text = (repo.path / "src/research/config/tasks.yaml").read_text()
    repo.write("src/research/config/tasks.yaml", text.replace("ten points", "five points"))
    repo.commit()
    assert found(read(repo))["research"].digest != before.digest


def test_without_a_crew_it_is_refused(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "crewai")
    repo.delete("src/research/crew.py")
    repo.commit()
    assert "@CrewBase" in refusals(read(repo))["research"]


@pytest.mark.parametrize("packages", ["requirements.txt", None])
def test_its_project_ends_where_its_packages_or_sources_do(
    tmp_path: Path, packages: str | None
) -> None:
    repo = sample(tmp_path / "repo", "crewai", "research")
    repo.delete("pyproject.toml")
    for path in sorted((repo.path / "src").rglob("*.*")):
        inner = path.relative_to(repo.path).as_posix()
        repo.write(f"desk/{inner}", path.read_text())
        repo.delete(inner)
    if packages:
        repo.write(f"desk/{packages}", "crewai\n")
    repo.write("elsewhere/notes.md", "Of another program.\n")
    repo.commit()
    snapshot = read(repo)
    files = closure(snapshot, "research")
    assert "desk/src/research/config/tasks.yaml" in files
    assert "elsewhere/notes.md" not in files
