"""Which jobs of a workflow use the gate, whatever the file holds."""

from __future__ import annotations

import pytest

from gateval.domain.setup.diagnosis import about_time
from gateval.domain.setup.gate_job import lacking
from gateval.formats.github.workflow import gate_jobs, is_workflow
from tests.helpers.command import ROOT

PATH = ".github/workflows/x.yml"


def test_a_job_that_calls_the_gates_workflow_is_one_by_the_files_name() -> None:
    sample = (ROOT / "examples/workflows/caller.yml").read_bytes()
    (job,) = gate_jobs(PATH, sample)
    assert job.called.startswith("acme/workflows/.github/workflows/gateval.yml@")
    assert job.publishes
    assert lacking(job) == ()
    poor = sample.replace(b"checks: write", b"checks: read")
    assert [lacking(one) for one in gate_jobs(PATH, poor)] == [("checks: write",)]
    assert about_time([job]) == []
    assert gate_jobs(PATH, sample.replace(b"/gateval.yml@", b"/release.yml@")) == ()


def test_the_samples_are_understood() -> None:
    (job,) = gate_jobs(PATH, (ROOT / "examples/workflows/gate.yml").read_bytes())
    assert (job.check, job.step, job.events) == ("evals", "all", frozenset({"pull_request"}))
    assert job.variables == {"ANTHROPIC_API_KEY", "GATEVAL_LAYERS", "GATEVAL_LAYERS_KEY"}
    wanted = {"contents": "write", "pull-requests": "write", "checks": "write"}
    assert job.permissions == {**wanted, "actions": "read"}
    (run,) = gate_jobs(PATH, (ROOT / "examples/workflows/untrusted-run.yml").read_bytes())
    assert (run.step, run.publishes, run.permissions) == ("run", False, {"contents": "read"})
    (own,) = gate_jobs(PATH, (ROOT / ".github/workflows/evals.yml").read_bytes())
    assert own.events == {"pull_request", "merge_group"}


@pytest.mark.parametrize(
    ("token", "own"),
    [("steps.app.outputs.token", True), ("github.token", False), ("secrets.GITHUB_TOKEN", False)],
)
def test_whose_token_a_step_has(token: str, *, own: bool) -> None:
    text = f"jobs: {{a: {{steps: [{{uses: gateval/gateval@v1, with: {{token: '${{{{ {token} }}}}'}}}}]}}}}"
    (job,) = gate_jobs(PATH, text.encode())
    assert job.own_token is own


def test_names_events_and_permissions_in_other_forms() -> None:
    text = b"""
on: [push, pull_request]
permissions: read-all
env: {A_API_KEY: x}
jobs:
  one: {name: Evals, env: {B: x}, steps: [{uses: docker://ghcr.io/gateval/gateval:v1}]}
  two: {permissions: {}, steps: [{uses: gateval/gateval@abc}]}
  three: {steps: [{uses: other/gateval@v1}, {run: gateval/gateval@v1}]}
  four: {steps: [{uses: gateval/gateval/runner@v1}, {uses: gateval/gateval/runners@v1}]}
  five: {steps: [{uses: ./.github/actions/gateval}]}
"""
    one, two, four, five = gate_jobs(PATH, text)
    assert (four.check, five.check) == ("four", "five")
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


@pytest.mark.parametrize(
    ("given", "minutes"),
    [
        ("", (360, 50)),
        ("timeout-minutes: 30,", (30, 50)),
        ("timeout-minutes: '${{ vars.MINUTES }}',", (None, 50)),
    ],
)
def test_how_long_a_job_may_take(given: str, minutes: tuple[float | None, float]) -> None:
    text = f"on: push\njobs:\n  a: {{{given} steps: [{{uses: gateval/gateval@v1}}]}}\n"
    (job,) = gate_jobs(PATH, text.encode())
    assert job.minutes == minutes
    shorter = text.replace("@v1", "@v1, with: {max-minutes: 7}")
    (job,) = gate_jobs(PATH, shorter.encode())
    assert job.minutes == (minutes[0], 7)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", []),
        ("{run: date}", ["date"]),
        ("{uses: actions/checkout@v6}, {uses: actions/cache/restore@v5}", []),
        ("{uses: actions/checkout@v6}, {uses: x/actions/checkout@v6}", ["x/actions/checkout@v6"]),
        ("{uses: actions/checkout@v6}, {run: make all}", ["make all"]),
        ("{uses: Actions/Cache@v5}, {uses: actions/create-github-app-token@v2}", []),
        ("{uses: actions/github-script@v8}", ["actions/github-script@v8"]),
        ("{uses: actions/setup-node@v6}", ["actions/setup-node@v6"]),
        ("{uses: actions/download-artifact@v6}", ["actions/download-artifact@v6"]),
        ("{uses: actions/checkout/../x@v6}", ["actions/checkout/../x@v6"]),
        ("{run: git clone x .}, {uses: ./actions/a@b}", ["git clone x .", "./actions/a@b"]),
    ],
)
def test_what_may_run_a_changes_code_before_the_gate(before: str, found: list[str]) -> None:
    steps = f"{before}, " if before else ""
    text = f"jobs: {{a: {{steps: [{steps}{{uses: gateval/gateval@v1}}, {{run: make}}]}}}}"
    (job,) = gate_jobs(PATH, text.encode())
    assert [line.text for line in job.ran_before] == found
