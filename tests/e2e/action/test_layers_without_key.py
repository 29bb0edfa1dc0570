"""A job without the key of kept layers reads those of the default branch, where nobody can forge."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from tests.e2e.test_kept_layers import INSTALL, MANIFESTS
from tests.helpers.github_shop import GitHubShop
from tests.helpers.runner import Ended

RUNS = count(9_001)
FLOW = ".github/workflows/evals.yml"
STEPS = """\
on: workflow_dispatch
jobs:
  evals:
    steps:
      - uses: actions/checkout@v6
      {before}- uses: gateval/gateval@v0.1.0
"""
HOSTED = {"RUNNER_ENVIRONMENT": "github-hosted", "GITHUB_JOB": "evals"}
AGENT = 'print("version", open(".venv/made").read())\n'


def run(shop: GitHubShop, folder: Path, **extra: str) -> Ended:
    sha = shop.repo.branches["main"]
    payload = {**shop.push_payload(), "schedule": "23 * * * *"}
    job = shop.job("schedule", payload, sha=sha, run=next(RUNS))
    job.check_out(shop.bare, "refs/heads/main")
    folder.mkdir(exist_ok=True)
    settings = {
        "GATEVAL_LAYERS": str(folder / "kept"),
        "TMPDIR": str(folder),
        "GITHUB_WORKFLOW_REF": f"{job.repository}/{FLOW}@refs/heads/main",
        "GITHUB_WORKFLOW_SHA": sha,
    }
    return job.run_action(inputs={"evals": "bot-eval"}, **{**settings, **extra})


def ready(ended: Ended) -> bool:
    """Whether the set-up was there."""
    assert ended.code == 0, ended.errors
    return "kept set-up" in ended.log + ended.errors


@pytest.mark.parametrize(
    ("before", "extra", "used"),
    [
        ("", HOSTED, True),
        ("", {}, False),
        ("", {**HOSTED, "GITHUB_REF": "refs/heads/other"}, False),
        ("", {**HOSTED, "GITHUB_WORKFLOW_SHA": ""}, False),
        ("- run: make\n      ", HOSTED, False),
        ("- uses: actions/github-script@v8\n      ", HOSTED, False),
        ("", {**HOSTED, "GITHUB_JOB": "others"}, False),
    ],
    ids=[
        "hosted",
        "own machine",
        "another branch",
        "unknown workflow",
        "a script before",
        "a script of an action before",
        "a job that is not the one looked at",
    ],
)
def test_what_a_job_without_the_key_reads(
    shop: GitHubShop, tmp_path: Path, before: str, extra: dict[str, str], used: bool
) -> None:
    files = {"bot.yaml": MANIFESTS, "install.py": INSTALL, "agent.py": AGENT, "uv.lock": "1"}
    flow = {FLOW: STEPS.format(before=before)}
    shop.push_main(**{name.replace("/", "__"): text for name, text in {**files, **flow}.items()})
    folder = tmp_path / "shared"
    assert not ready(run(shop, folder, GATEVAL_LAYERS_KEY="6b" * 32))
    (entry,) = (folder / "kept").glob("*.layer")
    before_bytes = entry.read_bytes()
    shop.push_main(README="Another commit\n")
    ended = run(shop, folder, **extra)
    assert ready(ended) is used
    assert ("GATEVAL_LAYERS_KEY is not set" in ended.log + ended.errors) is not used
    assert entry.read_bytes() == before_bytes
    entry.unlink()
    shop.push_main(README="A third\n")
    assert not ready(run(shop, folder, **extra))
    assert not list((folder / "kept").glob("*.layer")), "nothing is written without the key"
