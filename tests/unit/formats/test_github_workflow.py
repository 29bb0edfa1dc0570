"""Which jobs of a workflow use the gate, whatever the file holds."""

from __future__ import annotations

import pytest

from gateval.formats.github.workflow import gate_jobs, is_workflow
from tests.helpers.command import ROOT

PATH = ".github/workflows/x.yml"


def test_the_samples_are_understood() -> None:
    (job,) = gate_jobs(PATH, (ROOT / "examples/workflows/gate.yml").read_bytes())
    assert (job.check, job.step, job.events) == ("evals", "all", frozenset({"pull_request"}))
    assert job.variables == {"ANTHROPIC_API_KEY"}
    wanted = {"contents": "write", "pull-requests": "write", "checks": "write"}
    assert job.permissions == wanted
    (run,) = gate_jobs(PATH, (ROOT / "examples/workflows/untrusted-run.yml").read_bytes())
    assert (run.step, run.publishes, run.permissions) == ("run", False, {"contents": "read"})
    (own,) = gate_jobs(PATH, (ROOT / ".github/workflows/evals.yml").read_bytes())
    assert own.events == {"pull_request", "merge_group"}


def test_names_events_and_permissions_in_other_forms() -> None:
    text = b"""
on: [push, pull_request]
permissions: read-all
env: {A_API_KEY: x}
jobs:
  one: {name: Evals, env: {B: x}, steps: [{uses: docker://ghcr.io/gateval/gateval:v1}]}
  two: {permissions: {}, steps: [{uses: gateval/gateval@abc}]}
  three: {steps: [{uses: other/gateval@v1}, {run: gateval/gateval@v1}]}
"""
    one, two = gate_jobs(PATH, text)
    assert (one.check, one.permissions) == ("Evals", "read-all")
    assert one.variables == {"A_API_KEY", "B"}
    assert (two.check, two.permissions) == ("two", {})
    assert one.events == {"push", "pull_request"}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"jobs: 3", b"jobs: {a: 1}", b"jobs: {a: {steps: {}}}", b"a: [", b"\xff"],
)
def test_what_is_no_workflow_has_no_jobs(data: bytes) -> None:
    assert gate_jobs(PATH, data) == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [(PATH, True), (".github/workflows/x.yaml", True), (".github/workflows/a/x.yml", False)],
)
def test_where_workflows_are(path: str, *, expected: bool) -> None:
    assert is_workflow(path) is expected
