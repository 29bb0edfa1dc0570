"""`gateval action` where no Eval runs: nothing to evaluate, and a label on a verdict that is known.

Both are waited for: the first by every pull request that has nothing to do with agents, the second
by somebody in an emergency. GitHub is a server in another process, with git over HTTP and 100
comments on each pull request; the clone is what actions/checkout leaves. Compared with the same
least as `plan_unchanged`, of which the plan alone may take four times as much.
"""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import manifests
from benchmarks.action_world import LABEL, REPOSITORY, WISHES
from benchmarks.figures import Figure, median
from benchmarks.plan_unchanged import CHANGE
from benchmarks.plan_unchanged import RATIO_BAR as PLAN_BAR
from benchmarks.processes import (
    GATEVAL,
    IMPORT_PYDANTIC,
    BenchmarkError,
    Sample,
    interleaved,
    sample,
    start,
)
from benchmarks.repository import BASE, HEAD, Files, large_files, repository
from benchmarks.run_http import model_calls, model_server
from benchmarks.scale import Scale
from tests.helpers import payloads
from tests.helpers.runner import Job, read_entries

NAME = "action_entry"
RATIO_BAR = 2.5 * PLAN_BAR
LABEL_BAR = 3 * PLAN_BAR
"""A label's run asks GitHub three times as often, and writes records to git."""
REQUESTS_BAR = 6
COMMENTS = 100
_RUNS = count(1)

Pull = dict[str, Any]
"""A pull request as `action_world` tells of it."""


def failing_change(scale: Scale) -> Files:
    """A change to one Agent after which its fixtures ask for what it never says."""
    name = manifests.agent_name(0)
    agent = manifests.agent_manifest(0).replace("three sentences", "two sentences")
    files = {f"agents/{name}/agent.yaml": agent}
    for case in range(scale.fixtures // scale.agents):
        fixture = manifests.fixture_manifest(0, case).replace("value: reason", "value: receipt")
        files[f"agents/{name}/fixtures/case-{case:04d}.yaml"] = fixture
    return files


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures."""
    files = large_files(scale.files, scale.agents, scale.fixtures)
    sources = {
        "readme": repository(scale.cache, files, CHANGE),
        "failing": repository(scale.cache, files, failing_change(scale)),
    }
    with (
        tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as temporary,
        model_server(scale.latency / 10) as models,
    ):
        folder = Path(temporary)
        asked: Counter[str] = Counter()
        with github(folder, sources, scale.entry_rounds + 1, asked) as told:
            jobs = _Jobs(folder, told, models)
            nothing, label, diff, imported = interleaved(
                scale.entry_rounds,
                jobs.nothing,
                jobs.label,
                lambda: sample(("git", "diff", "--name-only", BASE, HEAD), sources["readme"]),
                lambda: sample(IMPORT_PYDANTIC, sources["readme"]),
            )
    least = median(one.wall + other.wall for one, other in zip(diff, imported, strict=True))
    figures = []
    for what, taken, limit, tokens, bar in (
        ("nothing to evaluate", nothing, RATIO_BAR, jobs.tokens["nothing"], REQUESTS_BAR),
        ("verdict restated", label, LABEL_BAR, jobs.tokens["label"], None),
    ):
        wall = median(one.wall for one in taken)
        ratio = f"{what} / (git diff + pydantic)"
        requests = max(asked[token] for token in tokens)
        figures += [
            Figure(NAME, ratio, wall / least, "×", limit),
            Figure(NAME, what, wall * 1000, "ms"),
            Figure(NAME, f"{what}: API requests", requests, "", bar),
        ]
    return [*figures, Figure(NAME, "model calls of a label", jobs.calls, "", 0)]


class _Jobs:
    """Runs one job after another, each for a pull request of its own and in a clone of its own.

    All clones are made, and all failures brought about, before anything is measured: files that
    were just written keep the disk busy. `tokens` says whose requests are those of which jobs;
    `calls` is how many calls of a model followed a label.
    """

    def __init__(self, folder: Path, told: dict[str, Any], models: str) -> None:
        self.calls = 0
        self._folder = folder
        self._told = told
        self._models = models
        self._keys = {"OPENAI_BASE_URL": f"{models}/v1", "OPENAI_API_KEY": "benchmark"}
        opened, failed = told["pulls"]["readme"], told["pulls"]["failing"]
        self.tokens = {
            "nothing": [pull["tokens"][0] for pull in opened],
            "label": [pull["tokens"][1] for pull in failed],
        }
        self._opened = [self._job(pull, pull["tokens"][0], "opened") for pull in opened]
        self._labelled = [self._failed(pull) for pull in failed]

    def nothing(self) -> Sample:
        """The job of a pull request that touches the README."""
        one = self._run(self._opened.pop())
        if "Nothing to evaluate" not in one.output:
            raise BenchmarkError(f"something was evaluated:\n{one.output[-2000:]}")
        return one

    def label(self) -> Sample:
        """The job of the label, after one that failed."""
        job = self._labelled.pop()
        before = model_calls(self._models)
        one = self._run(job)
        self.calls += model_calls(self._models) - before
        verdict = read_entries(job.folder / "file_commands/output")["verdict"]
        if verdict != "bypassed" or not before:
            raise BenchmarkError(f"the label led to {verdict}:\n{one.output[-2000:]}")
        return one

    def _failed(self, pull: Pull) -> Job:
        """Let the gate fail a pull request, put the label on it, and return the label's job."""
        self._run(self._job(pull, pull["tokens"][0], "opened"), ends_with=1)
        self._put_label(pull)
        return self._job(pull, pull["tokens"][1], "labeled", label={"name": LABEL})

    def _job(self, pull: Pull, token: str, action: str, **more: Any) -> Job:
        """A job with its clone, as actions/checkout leaves it. `more` goes into the event."""
        ref = f"refs/pull/{pull['number']}/merge"
        number, head, base = pull["number"], pull["head"], pull["base"]
        payload = payloads.pull_request(action, number=number, head=head, base=base)
        run = next(_RUNS)
        job = Job(
            self._folder / f"job-{run}",
            self._told["url"],
            self._told["api_url"],
            "pull_request",
            {**payload, **more},
            token,
            ref=ref,
            sha=pull["merged"],
            repository=REPOSITORY,
            run=run,
        )
        job.check_out(self._folder / "shop.git", ref)
        return job

    def _run(self, job: Job, *, ends_with: int = 0) -> Sample:
        env = job.environ({}, self._keys)
        return sample((*GATEVAL, "action"), job.workspace, env=env, ends_with=ends_with)

    def _put_label(self, pull: Pull) -> None:
        url = f"{self._told['api_url']}/repos/{REPOSITORY}/issues/{pull['number']}/labels"
        headers = {
            "Authorization": f"Bearer {self._told['ada']}",
            "Content-Type": "application/json",
        }
        body = json.dumps({"labels": [LABEL]}).encode()
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - loopback
            pass


@contextmanager
def github(
    folder: Path, sources: dict[str, Path], pulls: int, asked: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Serve the world of `action_world`, with `pulls` pull requests of each kind.

    Gives what that told. `asked` holds the API requests of each token after the block. Raises
    `BenchmarkError` when GitHub was not used as it may be.
    """
    wishes = {
        "git": str(folder / "shop.git"),
        "sources": {kind: str(source) for kind, source in sources.items()},
        "count": pulls,
        "comments": COMMENTS,
    }
    env = {WISHES: json.dumps(wishes)}
    process = start("tests.servers.github", "benchmarks.action_world:open_pulls", env=env)
    with process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
            ended = json.loads(process.communicate(timeout=60)[0])
        finally:
            process.kill()
    if ended["broken"]:
        raise BenchmarkError("\n".join(ended["broken"]))
    asked.update(entry["token"] for entry in ended["requests"])
