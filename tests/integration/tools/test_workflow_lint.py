"""Each linter is really there and really finds what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.workflow_lint import Linter, Verdict, lint, lint_all, linters, project_files

HEAD = "name: x\non: {push: {branches: [main]}}\npermissions: {}\njobs:\n  one:\n    runs-on: ubuntu-24.04\n    steps:\n"
GOOD = HEAD + "      - run: echo hello\n"
MISTAKES = {
    "actionlint": HEAD.replace("push: {branches: [main]}", "pull_request: {types: [labelled]}")
    + "      - run: echo\n",
    "zizmor": HEAD + "      - run: echo ${{ github.event.head_commit.message }}\n",
    "check-jsonschema": HEAD + "      - {run: echo, shel: bash}\n",
}
"""For each linter of workflows, one that it alone is asked about here."""


def verdicts(folder: Path, text: str) -> dict[str, Verdict]:
    path = folder / "workflow.yml"
    path.write_text(text)
    found = {one.program: one for one in lint_all(linters([path], [], []))}
    for one in found.values():
        if one.missing:
            pytest.skip(f"{one.program} is not installed: no wheel for this machine")
    return found


def test_a_good_workflow_passes(tmp_path: Path) -> None:
    assert {one.complaint for one in verdicts(tmp_path, GOOD).values()} == {None}


@pytest.mark.parametrize("program", MISTAKES)
def test_a_mistake_is_found(tmp_path: Path, program: str) -> None:
    assert verdicts(tmp_path, MISTAKES[program])[program].complaint


def test_a_bad_action_and_a_bad_dockerfile_are_found(tmp_path: Path) -> None:
    action, dockerfile = tmp_path / "action.yml", tmp_path / "Dockerfile"
    action.write_text("name: x\nruns: {using: docker, image: Dockerfile}\n")
    dockerfile.write_text("FROM debian:latest\nRUN cd /tmp\n")
    found = {one.program: one for one in lint_all(linters([], [action], [dockerfile]))}
    if any(one.missing for one in found.values()):
        pytest.skip("a linter is not installed: no wheel for this machine")
    assert "description" in (found["check-jsonschema"].complaint or "")
    assert "DL3007" in (found["hadolint"].complaint or "")


def test_a_missing_linter_is_named() -> None:
    assert lint(Linter("no-such-linter", (), ())) == Verdict("no-such-linter", missing=True)


def test_the_projects_files_are_found() -> None:
    workflows, actions, dockerfiles = project_files()
    assert {path.name for path in workflows} >= {"ci.yml", "gate.yml", "untrusted-run.yml"}
    assert len(actions) == 4
    assert len(dockerfiles) >= 2
