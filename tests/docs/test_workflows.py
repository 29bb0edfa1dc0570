"""What the linters do not know of our workflows, actions and samples."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateval.app.run.views import PART_FILE, TRIGGER_FILE
from gateval.formats.github.event import COMMAND
from tests.helpers.command import ROOT
from tools.workflow_lint import PROGRAMS

SAMPLES = sorted((ROOT / "examples/workflows").glob("*.yml"))
OWN = sorted((ROOT / ".github/workflows").glob("*.yml"))
NAMES = {
    "app.yml",
    "baseline.yml",
    "caller.yml",
    "comments.yml",
    "gate.yml",
    "labels.yml",
    "long-runs.yml",
    "maintainers.yml",
    "merge-queue.yml",
    "required.yml",
    "reusable.yml",
    "scheduled.yml",
    "shards-caller.yml",
    "shards.yml",
    "untrusted-publish.yml",
    "untrusted-run.yml",
}
MANY_GATES = {"caller.yml": 0, "shards-caller.yml": 0, "long-runs.yml": 2, "shards.yml": 7}
LONG = {"long-runs.yml", "shards.yml"}
WRITES_NOTHING = {"untrusted-run.yml", "app.yml"}
"""With the job's own token; the App of `app.yml` has one of its own."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VERSION = "v" + PROJECT["project"]["version"]
SHA = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def test_the_samples_are_these() -> None:
    assert {path.name for path in SAMPLES} == NAMES


def load(path: Path) -> dict[str, Any]:
    """Read a workflow; YAML 1.1 reads its key `on` as true."""
    content = yaml.safe_load(path.read_text("utf-8"))
    content["on"] = content.pop(True, content.get("on"))
    return dict(content)


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text("utf-8")))


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in load(path)["jobs"].values() for step in job.get("steps", ())]


def gate_steps(path: Path) -> list[dict[str, Any]]:
    return [step for step in steps(path) if step.get("uses", "").startswith("gateval/gateval@")]


@pytest.mark.parametrize("path", SAMPLES + OWN, ids=lambda path: path.name)
def test_permissions_are_given_to_jobs_only_and_each_with_a_limit_of_time(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert set(job["permissions"].values()) <= {"read", "write"}
        if "uses" not in job:  # of a job that calls, the called one says it
            assert job["timeout-minutes"] <= (355 if path.name in LONG else 60)
    assert "pull_request_target" not in workflow["on"]


@pytest.mark.parametrize("path", SAMPLES + OWN, ids=lambda path: path.name)
def test_actions_of_others_are_pinned_by_commit_with_their_version(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        uses = re.search(r"uses: (\S+)(?: # (\S+))?", line)
        if uses and not uses[1].startswith(("./", "gateval/gateval@")):
            assert SHA.fullmatch(uses[1]), line
            assert re.fullmatch(r"v\d+\.\d+\.\d+", uses[2] or ""), line


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_uses_the_action_as_it_is(path: Path) -> None:
    known = action()["inputs"]
    gates = gate_steps(path)
    assert len(gates) == MANY_GATES.get(path.name, 1)
    for gate in gates:
        assert gate["uses"] == f"gateval/gateval@{VERSION}"
        assert set(gate.get("with", {})) <= set(known)
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"fetch-depth": 0, "persist-credentials": False}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_who_may_write_nothing_and_that_untrusted_runs_have_no_keys_to_lose(
    path: Path,
) -> None:
    text = path.read_text("utf-8")
    writes = [value for job in load(path)["jobs"].values() for value in job["permissions"].values()]
    assert ("write" not in writes) == (path.name in WRITES_NOTHING)
    if path.name.startswith("untrusted"):
        assert "secrets." not in text


def test_a_run_that_a_label_started_is_never_cancelled() -> None:
    """Its concurrency group is its own: the run's id is in it."""
    labelled = [
        (path.name, grouped(path)["concurrency"]["group"])
        for path in SAMPLES + OWN
        if "labeled" in (load(path)["on"].get("pull_request") or {}).get("types", ())
    ]
    assert [name for name, _ in labelled] == ["caller.yml", "gate.yml", "labels.yml", "evals.yml"]
    for name, group in labelled:
        assert "github.event.label && github.run_id" in group, name


def grouped(path: Path) -> dict[str, Any]:
    """The workflow whose concurrency counts: of a caller, the one that it calls."""
    return load(path.with_name("reusable.yml") if path.name == "caller.yml" else path)


def condition(path: str, job: str) -> str:
    """The `if` of a job on one line."""
    return " ".join(str(load(ROOT / path)["jobs"][job]["if"]).split())


def test_no_pull_request_is_measured_by_two_of_the_samples() -> None:
    own = condition("examples/workflows/gate.yml", "evals")
    others = condition("examples/workflows/untrusted-run.yml", "run")
    inside = "github.event.pull_request.head.repo.full_name == github.repository"
    assert own.startswith(f"{inside} && github.actor != 'dependabot[bot]' && (")
    assert others == f"{inside.replace('==', '!=')} || github.actor == 'dependabot[bot]'"
    assert own.startswith(condition("examples/workflows/shards.yml", "plan"))
    called = condition("examples/workflows/reusable.yml", "measure")
    assert called == f"github.event_name != 'pull_request' || ({own})"
    assert own.startswith(condition("examples/workflows/long-runs.yml", "measure"))


@pytest.mark.parametrize(
    ("called", "caller", "writing"),
    [("reusable.yml", "caller.yml", "measure"), ("shards.yml", "shards-caller.yml", "publish")],
)
def test_a_caller_gives_what_the_called_workflow_asks_for(
    called: str, caller: str, writing: str
) -> None:
    jobs = load(ROOT / f"examples/workflows/{called}")["jobs"]
    (calling,) = load(ROOT / f"examples/workflows/{caller}")["jobs"].values()
    assert calling["permissions"] == jobs[writing]["permissions"]
    others = [job["permissions"] for name, job in jobs.items() if name != writing]
    assert all(set(one.values()) == {"read"} for one in others)
    asked = load(ROOT / f"examples/workflows/{called}")["on"]["workflow_call"]["secrets"]
    assert set(calling["secrets"]) <= set(asked)
    text = (ROOT / f"examples/workflows/{called}").read_text("utf-8")
    assert set(re.findall(r"^ +\w+: \$\{\{ secrets\.([\w-]+) \}\}$", text, re.M)) <= set(asked)
    if called == "reusable.yml":
        guide = (ROOT / "docs/guides/many-repositories.md").read_text("utf-8")
        assert all(f"{name}:" in guide for name in calling["secrets"])


def test_the_publishing_job_reads_what_the_measuring_job_left() -> None:
    jobs = load(ROOT / "examples/workflows/long-runs.yml")["jobs"]
    uploads = [one["with"] for one in jobs["measure"]["steps"] if "upload" in one["uses"]]
    (download,) = [one for one in jobs["publish"]["steps"] if "download" in one["uses"]]
    told = download["with"]["name"].replace("needs.measure.outputs.attempt", "github.run_attempt")
    assert jobs["measure"]["outputs"] == {"attempt": "${{ github.run_attempt }}"}
    (part,) = [one for one in uploads if one["name"] == told]
    assert part["path"] == f"{download['with']['path']}/{PART_FILE}"
    assert jobs["publish"]["needs"] == "measure"
    assert jobs["publish"]["if"].startswith("${{ !cancelled()"), "a red first job is published"
    assert "write" not in jobs["measure"]["permissions"].values()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_second_attempt_uploads_by_a_name_of_its_own(path: Path) -> None:
    uploads = [one for one in steps(path) if "upload-artifact" in one.get("uses", "")]
    assert all("github.run_attempt" in one["with"]["name"] + one.get("if", "") for one in uploads)


def test_comments_that_are_no_commands_start_no_job_and_nothing_of_a_head_is_checked_out() -> None:
    workflow = load(ROOT / "examples/workflows/comments.yml")
    assert workflow["on"] == {"issue_comment": {"types": ["created"]}}
    assert "github.event.comment.id" in workflow["concurrency"]["group"]
    assert condition("examples/workflows/comments.yml", "answer") == (
        f"github.event.issue.pull_request && startsWith(github.event.comment.body, '{COMMAND} ')"
    )
    assert not any("ref" in step.get("with", {}) for step in workflow["jobs"]["answer"]["steps"])


def test_manual_runs_are_held_to_the_head_that_was_read() -> None:
    for name in ("maintainers.yml", "app.yml"):
        path = ROOT / "examples/workflows" / name
        assert load(path)["on"]["workflow_dispatch"]["inputs"]["head-sha"]["required"] is True
        (gate,) = gate_steps(path)
        assert gate["with"]["head-sha"] == "${{ inputs.head-sha }}"


def test_a_label_on_a_forks_pull_request_starts_no_run_that_could_not_record_it() -> None:
    inside = "github.event.pull_request.head.repo.full_name == github.repository"
    known = """contains(fromJSON('["force-eval-bypass", "accept-bar-change"]')"""
    assert condition("examples/workflows/labels.yml", "label") == (
        f"{inside} && {known}, github.event.label.name)"
    )


def test_the_publishing_half_listens_to_the_running_half() -> None:
    run, publish = (
        load(ROOT / f"examples/workflows/untrusted-{it}.yml") for it in ("run", "publish")
    )
    assert publish["on"]["workflow_run"]["workflows"] == [run["name"]]
    uploads = [one["with"] for one in run["jobs"]["run"]["steps"] if "upload" in one["uses"]]
    (download,) = [one for one in publish["jobs"]["publish"]["steps"] if "download" in one["uses"]]
    told = download["with"]["name"].replace("github.event.workflow_run.", "github.")
    (part,) = [one for one in uploads if one["name"] == told]
    folder = download["with"]["path"]
    assert part["path"].split() == [f"{folder}/{PART_FILE}", f"{folder}/{TRIGGER_FILE}"]


def test_the_image_is_of_this_version() -> None:
    image = action()["runs"]["image"]
    assert image.startswith(f"docker://ghcr.io/gateval/gateval:{VERSION}")
    samples = sorted((ROOT / "examples/images").glob("*/Dockerfile"))
    assert [sample.parent.name for sample in samples] == ["node", "python"]
    for sample in samples:
        assert f"ARG GATE=ghcr.io/gateval/gateval:{VERSION}\n" in sample.read_text("utf-8")


def test_what_a_runner_starts_is_in_the_image() -> None:
    runs = action()["runs"]
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert f" {runs['post-entrypoint']}\n" in dockerfile
    assert runs["post-if"] == "always()"
    assert not re.search(r"^(USER|WORKDIR)", dockerfile.split("\nFROM ")[-1], re.MULTILINE)
    assert 'ENTRYPOINT ["' in dockerfile


def test_the_program_for_the_end_of_the_job_ignores_what_a_runner_adds(tmp_path: Path) -> None:
    """It starts `gateval action post`, whatever arguments stand in its command line."""
    gateval = tmp_path / "gateval"
    gateval.write_text('#!/bin/sh\necho "$@"\n')
    gateval.chmod(0o755)
    text = (ROOT / "docker/gateval-post").read_text("utf-8")
    assert text.count("/usr/local/bin/gateval ") == 1
    script = text.replace("/usr/local/bin/gateval ", f"{gateval} ")
    done = subprocess.run(
        ["/bin/sh", "-c", script, "gateval-post", "action"], capture_output=True, check=True
    )
    assert done.stdout == b"action post\n"


def test_ci_begins_with_the_lowest_python() -> None:
    jobs = load(ROOT / ".github/workflows/ci.yml")["jobs"]
    lowest, *newer = jobs["test"]["strategy"]["matrix"]["python"]
    assert PROJECT["project"]["requires-python"] == f">={lowest}"
    assert PROJECT["tool"]["mypy"]["python_version"] == lowest
    assert newer
    (setup,) = [one for one in jobs["lowest"]["steps"] if "setup-python" in one.get("uses", "")]
    assert setup["with"]["python-version"] == lowest


CONFIGURATIONS = {
    "dependabot.yml": "vendor.dependabot",
    "ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    "ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_github_can_read_its_configuration(name: str) -> None:
    schema, path = CONFIGURATIONS[name], str(ROOT / ".github" / name)
    command = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema", schema, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_dependabot_watches_every_kind_of_pin() -> None:
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf-8"))["updates"]
    assert {one["package-ecosystem"] for one in updates} == {"github-actions", "docker", "uv"}
