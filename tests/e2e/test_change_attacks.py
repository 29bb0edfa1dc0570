"""The ways of `tests/integration/pipeline/test_change_attacks.py` on the command that people run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always
from tests.integration.pipeline.test_change_attacks import HARMLESS, REFACTORINGS, SEEN, build


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return build(tmp_path / "repo")


@pytest.mark.parametrize("case", some_always(SEEN, 6))
def test_what_changes_is_measured(repo: Repo, case: str, tmp_path: Path) -> None:
    SEEN[case](repo)
    if "submodule" not in case:
        repo.commit()
    results = tmp_path / "results"
    done = gateval(repo, "check", "--base", "main", "--results", str(results))
    assert done.returncode in {1, 3}, "its program says nothing, which is no pass"
    assert "Nothing to evaluate" not in done.stdout
    if "submodule" in case:
        assert done.returncode == 3, "its content is not here"
        return
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    assert {one["key"]["side"] for one in trials} == {"base", "head"}


@pytest.mark.parametrize("case", some_always([*HARMLESS, *REFACTORINGS], 6))
def test_what_changes_nothing_is_left_alone(repo: Repo, case: str) -> None:
    before = repo.id("HEAD")
    {**HARMLESS, **REFACTORINGS}[case](repo)
    base = repo.id("HEAD") if repo.id("HEAD") != before and "submodule" not in case else before
    if "submodule" not in case:
        repo.commit()
    done = gateval(repo, "check", "--base", base)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing to evaluate" in done.stdout
