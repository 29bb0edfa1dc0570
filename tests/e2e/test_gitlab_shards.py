"""The sample for GitLab, walked job by job as its runners do, with the real command line: stages,
`parallel`, artifacts of the stages before, caches, and jobs that are lost and run again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.command import ROOT, environment
from tests.helpers.github_shop import SAME, WORSE
from tests.helpers.main_branch import SHAKY
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop
from tools.workflow_lint import PROGRAMS

SAMPLE = ROOT / "examples/gitlab/shards.gitlab-ci.yml"
KEYS = {
    "extends",
    "stage",
    "rules",
    "script",
    "image",
    "variables",
    "parallel",
    "cache",
    "artifacts",
}


class Pipeline:
    """One pipeline of a merge request; `ended` are the statuses of its jobs by name and index."""

    def __init__(self, origin: Repo, folder: Path, lost: Callable[[str, int], bool]) -> None:
        self.origin, self.folder, self.lost = origin, folder, lost
        content: dict[str, Any] = yaml.safe_load(SAMPLE.read_text())
        self.stages: list[str] = content.pop("stages")
        hidden = {name: content.pop(name) for name in [*content] if name.startswith(".")}
        self.jobs = {name: {**hidden[job["extends"]], **job} for name, job in content.items()}
        assert all(set(job) <= KEYS for job in self.jobs.values())
        self.artifacts: dict[tuple[str, int], Path] = {}
        self.caches: dict[str, Path] = {}
        self.ended: dict[tuple[str, int], subprocess.CompletedProcess[str] | None] = {}
        self.count = 100

    def walk(self) -> None:
        """Run the stages in their order; after a failure only what says `when: always`."""
        for stage in self.stages:
            failed = any(one is None or one.returncode for one in self.ended.values())
            for name, job in self.jobs.items():
                always = job["rules"][0].get("when") == "always"
                if job["stage"] == stage and (always or not failed):
                    for index in range(1, job.get("parallel", 1) + 1):
                        self.run(name, index)

    def run(self, name: str, index: int = 1) -> subprocess.CompletedProcess[str] | None:
        """Run one job as a machine does that has nothing yet; None where it was lost."""
        job, self.count = self.jobs[name], self.count + 1
        if self.lost(name, index):
            self.ended[name, index] = None
            return None
        place = self.folder / f"builds-{self.count}"
        clone = Repo.clone(self.origin.path, place)
        clone.git("checkout", "--quiet", "--detach", "origin/proposal")
        known = {
            "CI": "true",
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_PIPELINE_ID": "7",
            "CI_JOB_ID": str(self.count),
            "CI_NODE_INDEX": str(index),
            "CI_NODE_TOTAL": str(job.get("parallel", 1)),
            **job["variables"],
        }
        cache = job.get("cache")
        key = cache["key"].replace("$CI_PIPELINE_ID", "7") if cache else ""
        key = key.replace("$CI_NODE_INDEX", str(index))
        before = [at for (of, _), at in self.artifacts.items() if self._earlier(of, job["stage"])]
        for source in [*before, *filter(None, [self.caches.get(key)])]:
            shutil.copytree(source, place, dirs_exist_ok=True)
        env = environment(clone, **known)
        env["PATH"] = f"{PROGRAMS}:{env['PATH']}"
        script = "\n".join(job["script"])
        done = subprocess.run(
            ["sh", "-euc", script], cwd=place, env=env, capture_output=True, text=True, check=False
        )
        self.ended[name, index] = done
        kept = job["artifacts"]
        if done.returncode == 0 or kept.get("when") == "always":
            self.artifacts[name, index] = self._kept(
                place, kept["paths"], f"artifacts-{self.count}"
            )
        if cache and (done.returncode == 0 or cache["when"] == "always"):
            self.caches[key] = self._kept(place, cache["paths"], f"cache-{self.count}")
        return done

    def _earlier(self, name: str, stage: str) -> bool:
        return self.stages.index(self.jobs[name]["stage"]) < self.stages.index(stage)

    def _kept(self, place: Path, patterns: list[str], name: str) -> Path:
        target = self.folder / name
        target.mkdir()
        for found in (each for pattern in patterns for each in place.glob(pattern)):
            to = target / found.relative_to(place)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(found, to) if found.is_dir() else shutil.copy(found, to)
        return target

    def results(self) -> Any:
        """The results of the job that decided."""
        (found,) = self.artifacts["agent-evals", 1].glob("gateval-results/results.v1.json")
        return json.loads(found.read_text())


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """The shop, whose agent may answer otherwise each time, with a branch `proposal`."""
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write(".gateval/scripted/support.yaml", SHAKY)
    repo.commit("Answer otherwise now and then")
    repo.branch("proposal")
    return repo


def propose(shop: Repo, path: str, content: str) -> None:
    shop.write(path, content)
    shop.commit("Proposal")


def test_the_sample_decides_as_one_machine_and_goes_on_from_lost_jobs(
    shop: Repo, tmp_path: Path
) -> None:
    propose(shop, "agents/prompts/support.md", WORSE)
    lost = {("agent-evals-measure", 2)}
    pipeline = Pipeline(shop, tmp_path, lambda *at: at in lost)
    pipeline.walk()
    ended = pipeline.ended["agent-evals", 1]
    assert ended is not None
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert "Nothing came back from shard 2 of 2 in round 1" in " ".join(ended.stdout.split())
    lost.clear()
    for index in (1, 2):
        again = pipeline.run("agent-evals-measure", index)
        assert again is not None
        assert again.returncode == 0, again.stderr
        assert ("of them at an earlier try" in again.stderr) == (index == 1)
    ended = pipeline.run("agent-evals")
    assert ended is not None
    assert ended.returncode == 1, ended.stdout + ended.stderr
    keys = [json.dumps(one["key"]) for one in pipeline.results()["trials"]]
    assert len(keys) == len(set(keys)) >= 4


@pytest.mark.drawn("path", "content")
@pytest.mark.parametrize(
    ("path", "content"),
    [("agents/prompts/support.md", SAME), ("README.md", "Better.\n")],
    ids=["of an agent", "of nothing that an agent has"],
)
def test_the_sample_passes_a_change_that_is_no_worse(
    shop: Repo, tmp_path: Path, path: str, content: str
) -> None:
    propose(shop, path, content)
    pipeline = Pipeline(shop, tmp_path, lambda *_: False)
    pipeline.walk()
    codes = [one and (one.returncode, one.stderr) for one in pipeline.ended.values()]
    assert [code and code[0] for code in codes] == [0] * 6, codes


def test_the_sample_is_what_gitlab_accepts() -> None:
    command = [
        str(PROGRAMS / "check-jsonschema"),
        "--builtin-schema",
        "vendor.gitlab-ci",
        str(SAMPLE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    jobs = yaml.safe_load(SAMPLE.read_text())
    assert f"--shards {jobs['agent-evals-measure']['parallel']} " in " ".join(
        jobs["agent-evals-plan"]["script"]
    )
