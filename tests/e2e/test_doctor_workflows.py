"""`gateval doctor` and workflows with which pull requests hang, or are merged unmeasured.

The shapes are those of eval workflows in public repositories, with the gate's step in them.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import pytest

from tests.helpers.command import ROOT, gateval
from tests.helpers.repo import Repo

WORKFLOW = ".github/workflows/gateval.yml"
TYPES = "types: [opened, synchronize, reopened, labeled, unlabeled]"
RIGHTS = "{contents: write, pull-requests: write, checks: write}"
CHECKOUT = "- uses: actions/checkout@v6\n  with: {fetch-depth: 0}\n"
STEP = "- uses: gateval/gateval@v0.1.0\n"
KEPT = "  env:\n    GATEVAL_LAYERS: .gateval/layers\n"
UPLOAD = "- uses: actions/upload-artifact@v6\n  with:\n    name: gate\n    path: out\n"
SEALS = "  env: {GATEVAL_IDENTITY: '${{ secrets.GATEVAL_IDENTITY }}'}\n"
KEY = "    GATEVAL_LAYERS_KEY: ${{ secrets.GATEVAL_LAYERS_KEY }}\n"
OWN = "group: 'evals-${{ github.event.pull_request.number }}'"


def workflow(
    on: str = f"pull_request: {{{TYPES}}}",
    job: str = "",
    steps: str = CHECKOUT + STEP,
    top: str = f"concurrency: {{{OWN}}}",
    rights: str = f"permissions: {RIGHTS}",
) -> str:
    """A workflow with one job, part by part."""
    return (
        f"name: Evals\non:\n{indent(on, '  ')}\n{top}\njobs:\n  evals:\n    runs-on: ubuntu-24.04\n"
        f"    timeout-minutes: 60\n    {rights}\n{indent(job, '    ')}\n    steps:\n"
        f"{indent(steps, '      ')}"
    )


class Row(NamedTuple):
    """What is written, how that is called, and what is said of it; no sentence for nothing."""

    text: str
    health: str = "ok"
    said: str = ""


FILTERED = "pull_request:\n  paths: ['prompts/**', 'evals/**']"
ROWS = {
    "in order": Row(workflow()),
    "by the usual types": Row(workflow("pull_request:")),
    "as a list": Row(workflow("[pull_request, workflow_dispatch]")),
    "a filter of paths": Row(
        workflow(FILTERED), "problem", "a change that touches nothing of `paths` starts no run"
    ),
    "paths ignored": Row(
        workflow("pull_request: {paths-ignore: ['**.md', docs/**]}"),
        "problem",
        "touches nothing of `paths-ignore`",
    ),
    "branches of releases only": Row(
        workflow("pull_request: {branches: ['releases/**', '!releases/old']}"),
        "problem",
        "no run starts for pull requests into main",
    ),
    "main alone": Row(
        workflow("pull_request: {branches: [main]}"),
        "warning",
        "any branch but those that its filter of branches names",
    ),
    "everything but main": Row(
        workflow("pull_request: {branches-ignore: [ma*]}"), "problem", "into main"
    ),
    "only opened": Row(
        workflow("pull_request: {types: [opened, reopened]}"),
        "problem",
        "no run starts on synchronize",
    ),
    "only when labeled": Row(
        workflow("pull_request: {types: [labeled]}", "if: github.event.label.name == 'run-eval'"),
        "problem",
        "no run starts on opened and synchronize",
    ),
    "only with a label": Row(
        workflow(job="if: contains(github.event.pull_request.labels.*.name, 'ai-evals')"),
        "problem",
        "its `if` does not hold: contains(",
    ),
    "never": Row(workflow(job="if: false"), "problem", "its `if` does not hold: false"),
    "of pushes only": Row(
        workflow(job="if: ${{ github.event_name == 'push' }}"), "problem", "somebody's push starts"
    ),
    "for one person": Row(
        workflow(job="if: github.actor == 'octocat'"), "problem", "somebody's push starts"
    ),
    "where the step is skipped": Row(
        workflow(steps=f"{CHECKOUT}{STEP}  if: github.ref == 'refs/heads/main' && false\n"),
        "problem",
        "its `if` does not hold",
    ),
    "by a variable": Row(
        workflow(job="if: vars.RUN_EVALS == 'true'"), "unknown", "is not seen from here"
    ),
    "of own branches that are no drafts": Row(
        workflow(
            job="if: ${{ !github.event.pull_request.draft && github.event.pull_request.head.repo."
            "full_name == github.repository && !contains(github.event.pull_request.labels.*.name, "
            "'skip') && always() }}"
        )
    ),
    "a job that may fail": Row(
        workflow(job="continue-on-error: true"), "problem", "lets the job pass whatever"
    ),
    "a step that may fail": Row(
        workflow(steps=f"{CHECKOUT}{STEP}  continue-on-error: true\n"),
        "problem",
        "lets the job pass whatever",
    ),
    "a step that perhaps may fail": Row(
        workflow(steps=f"{CHECKOUT}{STEP}  continue-on-error: ${{{{ vars.SOFT == '1' }}}}\n"),
        "warning",
        "lets the job pass whatever",
    ),
    "nothing checked out": Row(workflow(steps=STEP), "problem", "no step before the gate's checks"),
    "checked out too late": Row(
        workflow(steps=STEP + CHECKOUT), "problem", "no step before the gate's checks"
    ),
    "checked out elsewhere": Row(
        workflow(
            steps="- uses: actions/checkout@v4\n  with: {ref: '${{ github.head_ref }}', path: head}\n"
            + STEP
        ),
        "problem",
        "checked out into head, and the gate looks in the workspace",
    ),
    "shallow": Row(workflow(steps="- uses: actions/checkout@v4\n" + STEP)),
    "cloned by hand": Row(workflow(steps="- run: git clone --depth 9 $URL .\n" + STEP)),
    "one group for all": Row(
        workflow(top="concurrency: {group: '${{ github.workflow }}', cancel-in-progress: true}"),
        "problem",
        "all pull requests share the concurrency group ${{ github.workflow }}",
    ),
    "one group by its name": Row(
        workflow(top="", job="concurrency: evals"), "problem", "share the concurrency group evals"
    ),
    "a group for each target": Row(
        workflow(top="concurrency: {group: 'e-${{ github.base_ref }}'}"), "problem", "share"
    ),
    "a group for each ref": Row(
        workflow(top="concurrency: {group: '${{ github.workflow }}-${{ github.ref }}'}")
    ),
    "all in one line": Row(workflow(top="concurrency: {group: evals, queue: max}")),
    "no permissions": Row(workflow(rights=""), "problem", "no check run is written"),
    "all permissions": Row(workflow(rights="permissions: write-all")),
    "only to read": Row(workflow(rights="permissions: read-all"), "problem", "contents: write"),
    "nothing recorded": Row(
        workflow(rights=f"permissions: {RIGHTS.replace('contents: write', 'contents: read')}"),
        "problem",
        "what was found is recorded nowhere but in the check run",
    ),
    "anchors": Row(
        workflow(
            "pull_request: &types {types: [opened]}\nmerge_group:", job="continue-on-error: false"
        ).replace("jobs:", "x: *types\njobs:"),
        "problem",
        "no run starts on synchronize",
    ),
    "the key of what is sealed, in an environment": Row(
        workflow(job="environment: evals", steps=CHECKOUT + STEP + SEALS)
    ),
    "the key of what is sealed, for every branch": Row(
        workflow(steps=CHECKOUT + STEP + SEALS), "warning", "whoever may push can print the key"
    ),
    "an artifact of one name": Row(
        workflow(steps=CHECKOUT + STEP + UPLOAD), "warning", "fails there with 409"
    ),
    "an artifact of each attempt": Row(
        workflow(
            steps=CHECKOUT + STEP + UPLOAD.replace("gate\n", "gate-${{ github.run_attempt }}\n")
        )
    ),
    "layers with a key": Row(workflow(steps=CHECKOUT + STEP + KEPT + KEY)),
    "layers without a key": Row(
        workflow(steps=CHECKOUT + STEP + KEPT), "warning", "none is kept or used"
    ),
    "a script before layers without a key": Row(
        workflow(
            "workflow_dispatch:", steps=f"{CHECKOUT}- run: make prepare\n{STEP}{KEPT}", top=""
        ),
        "problem",
        "`make prepare` may run the change's code before the gate",
    ),
    "a key of layers that every step has": Row(
        workflow(
            job=f"env:\n{KEY[2:]}",
            steps=f"{CHECKOUT}- run: make prepare\n{STEP}{KEPT}",
        ),
        "warning",
        "`make prepare` has GATEVAL_LAYERS_KEY, too",
    ),
    "a key of what is sealed that every step has": Row(
        workflow(
            job="environment: evals",
            top="env: {GATEVAL_IDENTITY: '${{ secrets.GATEVAL_IDENTITY }}'}",
            steps=f"{CHECKOUT}{STEP}- uses: actions/github-script@v8\n",
        ),
        "warning",
        "`actions/github-script@v8` has GATEVAL_IDENTITY, too",
    ),
    "keys of a job without scripts": Row(
        workflow(job=f"env:\n{KEY[2:]}", steps=CHECKOUT + STEP + KEPT)
    ),
    "the image as a step": Row(
        workflow(FILTERED, steps=f"{CHECKOUT}- uses: docker://ghcr.io/gateval/gateval:v0.1.0\n"),
        "problem",
        "touches nothing of `paths`",
    ),
    "by its commit": Row(
        workflow(FILTERED, steps=f"{CHECKOUT}- uses: Gateval/gateval@{'a' * 40} # v0.1.0\n"),
        "problem",
        "touches nothing of `paths`",
    ),
    "the image as a container": Row(
        workflow(
            FILTERED,
            job="container: {image: 'ghcr.io/gateval/gateval:v0.1.0'}",
            steps=f"{CHECKOUT}- run: |\n    echo begin\n    gateval action\n",
        ),
        "problem",
        "touches nothing of `paths`",
    ),
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository that `init` has set up, without its workflow."""
    made = Repo(tmp_path / "new")
    assert gateval(made, "init").returncode == 0
    (made.path / WORKFLOW).unlink()
    made.commit()
    return made


def said(output: str) -> list[tuple[str, str]]:
    """Health and words of each line that is not fine, with the next step."""
    found = re.split(r"^(?=(?:ok|problem|warning|unknown) )", output, flags=re.M)
    kept = (" ".join(one.split()) for one in found)
    parts = (one.partition(" ") for one in kept if not one.startswith("ok ") and one)
    return [
        (health, rest) for health, _, rest in parts if health in {"problem", "warning", "unknown"}
    ]


@pytest.mark.parametrize("row", ROWS)
def test_each_shape_is_told_with_its_line_and_the_edit(repo: Repo, row: str) -> None:
    text, health, sentence = ROWS[row]
    repo.write(WORKFLOW, text)
    repo.commit()
    done = gateval(repo, "doctor", "--repository", "acme/shop")
    found = [one for one in said(done.stdout) if not one[1].startswith("GitHub ")]
    assert done.returncode == (health == "problem"), done.stdout
    if not sentence:
        assert found == []
        return
    told = [words for kind, words in found if kind == health and sentence in words]
    assert told, done.stdout
    assert re.search(rf"{re.escape(WORKFLOW)}:\d+, job evals", told[0])


def test_a_shard_that_may_not_read_what_earlier_attempts_left(repo: Repo) -> None:
    sample = (ROOT / "examples/workflows/shards.yml").read_text("utf-8")
    before, job = sample.split("  next-1:\n")
    job = "".join(one for one in job.splitlines(True) if "actions: read" not in one)
    repo.write(".github/workflows/shards.yml", f"{before}  next-1:\n{job}")
    repo.commit()
    done = gateval(repo, "doctor", "--repository", "acme/shop")
    assert done.returncode == 1, done.stdout
    words = " ".join(done.stdout.split())
    assert "job next-1: too few, so what earlier attempts left is not found" in words
    assert "Add to the job's `permissions`: actions: read." in words
    assert "job measure-1: too few" not in words


def test_a_line_is_the_one_to_edit(repo: Repo) -> None:
    repo.write(WORKFLOW, workflow(FILTERED, job="continue-on-error: true"))
    repo.commit()
    done = gateval(repo, "doctor")
    lines = (repo.path / WORKFLOW).read_text().splitlines()
    for words, written in (
        ("`paths` starts no run", "pull_request:"),
        ("lets the job", "continue-on"),
    ):
        (found,) = [one for _, one in said(done.stdout) if words in one]
        number = re.search(r":(\d+), job", found)
        assert number
        assert written in lines[int(number[1]) - 1]


def test_another_workflow_may_do_what_one_does_not(repo: Repo) -> None:
    repo.write(WORKFLOW, workflow(FILTERED))
    repo.write(".github/workflows/all.yml", workflow(job="name: all"))
    repo.commit()
    done = gateval(repo, "doctor")
    assert done.returncode == 0, done.stdout


def test_a_called_workflow_is_read_with_its_callers_filters_and_permissions(repo: Repo) -> None:
    inner = workflow("workflow_call:", job="continue-on-error: true")
    repo.write(".github/workflows/inner.yml", inner)
    caller = "on: {pull_request: {paths: [a/**]}}\njobs:\n  call:\n    uses: ./.github/workflows/inner.yml\n"
    repo.write(WORKFLOW, f"{caller}    permissions: {{contents: read, checks: write}}\n")
    repo.commit()
    done = gateval(repo, "doctor")
    words = " ".join(one for _, one in said(done.stdout))
    assert done.returncode == 1
    assert f"{WORKFLOW}:1, job call / evals: a change that touches nothing of `paths`" in words
    assert "Add to the job's `permissions`: contents: write, pull-requests: write." in words
    assert "job call / evals: `continue-on-error`" in words
