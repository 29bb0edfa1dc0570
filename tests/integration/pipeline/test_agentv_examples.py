"""Suites after the public examples of AgentV: each gives what it says, or is refused so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries
from gateval.domain.planning.snapshot import Snapshot
from gateval.pipeline.read import survey
from gateval.render.report.wording import count
from tests.helpers.repo import Repo

DATA = Path(__file__).parents[2] / "data" / "agentv"
EXAMPLES = sorted(f"{one.parent.name}/{one.name}" for one in DATA.glob("v*/[a-z]*"))
WITHOUT_COMMENT = {"v4/lines-alone": "gives: 1 Agent, 1 Eval, 1 fixture"}


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= 40


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(name: str, tmp_path: Path) -> None:
    snapshot = _read(tmp_path, name)
    said = [str(problem) for problem in snapshot.problems]
    kind, _, wanted = expected(name).partition(": ")
    if kind == "refused":
        assert any(wanted in one for one in said), said
        assert all(not one.startswith(":") for one in said), "each has a place"
    else:
        assert said == []
        assert _counts(snapshot) == wanted


@pytest.mark.parametrize("version", ["v2", "v4"])
def test_all_of_a_version_in_one_repository(version: str, tmp_path: Path) -> None:
    names = [
        one
        for one in EXAMPLES
        if one.startswith(version) and expected(one).startswith("gives") and "templates" not in one
    ]
    snapshot = _read(tmp_path, *names)
    assert [str(problem) for problem in snapshot.problems] == []
    assert len(snapshot.catalogue.evals) >= len(names)


def _read(tmp_path: Path, *names: str) -> Snapshot:
    repo = Repo(tmp_path / "repo")
    for name in names:
        version, folder = name.split("/")
        for source, target in ((".agentv", ".agentv"), (folder, folder)):
            shutil.copytree(DATA / version / source, repo.path / target, dirs_exist_ok=True)
    repo.commit()
    repository = open_repository(repo.path, environ=repo.env)
    return survey(repository, registries(), repository.resolve("HEAD"))


def expected(name: str) -> str:
    for path in sorted((DATA / name).rglob("*.yaml")):
        first = path.read_text("utf-8").partition("\n")[0]
        if first.startswith(("# gives: ", "# refused: ")):
            return first.removeprefix("# ")
    return WITHOUT_COMMENT[name]


def _counts(snapshot: Snapshot) -> str:
    found = snapshot.catalogue
    counted = ((found.agents, "Agent"), (found.evals, "Eval"), (found.fixtures, "fixture"))
    return ", ".join(count(len(ones), noun) for ones, noun in counted)
