"""A run over the shards of a matrix, some of them killed, beside what one process takes at least.

Each job is a process, as on a runner of its own. Their model answers so slowly that a machine waits
for it, not for its processor, so several shards take turns on one. The matrix's wall is what its
jobs wait for one another: the plan, the slowest shard with what it was killed at and run again, the
join, and the job that ends the run. One process at a shard's `parallel` cannot take less than all
latencies divided by it, whatever it costs itself.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure
from benchmarks.manifests import agent_manifest, agent_name
from benchmarks.many_cases import files
from benchmarks.processes import GATEVAL, BenchmarkError, Sample, environment, sample
from benchmarks.repository import BASE, HEAD, repository
from benchmarks.run_http import model_calls, model_server
from benchmarks.scale import Scale

NAME = "shards"
BAR = 1.3
MEMORY_MB_BAR = 262.0
SIDE_BY_SIDE = 5
SIDES, REPETITIONS = 2, 5


class _Walked(NamedTuple):
    """How long the jobs took that wait for one another, and the most memory of a join."""

    plan: float
    slowest: float
    join: float
    finish: float
    memory: int

    @property
    def wall(self) -> float:
        """How long the matrix takes."""
        return self.plan + self.slowest + self.join + self.finish


def measure(scale: Scale) -> list[Figure]:
    """Walk a run in shards and return the figures."""
    trials, shards, parallel, kills = scale.spread
    latency = scale.latency * 10
    with model_server(latency) as address, tempfile.TemporaryDirectory() as kept:
        env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "benchmark"}
        repository = _repository(scale.cache, trials, parallel * shards)
        place = _Place(repository, Path(kept) / "spread", env)
        each = trials * latency / parallel / shards
        walked = _walk(place, shards, kills, each)
        place.see_each_once(trials)
        again = model_calls(address) - trials
    if again > kills * parallel:
        raise BenchmarkError(f"{again} calls were made again after {kills} kills at {parallel}")
    what = f"{trials} in {shards} shards, {kills} killed"
    return [
        Figure(NAME, f"{what}: wall / (least of one process / n)", walked.wall / each, "×", BAR),
        Figure(NAME, "a join: memory", walked.memory / 1e6, "MB", MEMORY_MB_BAR),
        Figure(NAME, "calls made again", again, ""),
        Figure(NAME, "least of one process / n", each, "s"),
        Figure(NAME, "the job that plans", walked.plan, "s"),
        Figure(NAME, "the slowest shard", walked.slowest, "s"),
        Figure(NAME, "the join of the round", walked.join, "s"),
        Figure(NAME, "the job that ends the run", walked.finish, "s"),
    ]


class _Place:
    """A planned run: its jobs leave their results in folders of `results`, the last one last."""

    def __init__(self, repository: Path, results: Path, env: Mapping[str, str]) -> None:
        self._repository, self._results, self._env = repository, results, env
        self._numbers = count(1)
        results.mkdir()
        self._plan = results.with_suffix(".json")
        command = (*GATEVAL, "plan", "--base", BASE, "--head", HEAD, "--json")
        with self._plan.open("wb") as out:
            subprocess.run(command, cwd=repository, env=environment(), stdout=out, check=True)

    def command(self, *words: str) -> tuple[str, ...]:
        """The command of the next job."""
        self._last = self._results / f"job-{next(self._numbers):03}"
        parts = () if "plan" in words else ("--parts", str(self._results))
        places = (*parts, "--results", str(self._last))
        return (*GATEVAL, "run", "--plan", str(self._plan), *words, *places)

    def ended(self, command: tuple[str, ...], killed: float | None = None) -> Sample:
        """Run a job to its end. With `killed` it is killed after so many seconds, and run again;
        the wall is that of both.
        """
        begun = time.perf_counter()
        if killed is not None:
            with subprocess.Popen(
                command,
                cwd=self._repository,
                env=environment(self._env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as run:
                try:
                    run.wait(killed)
                    raise BenchmarkError(f"a shard ended before it was killed at {killed:.1f} s")
                except subprocess.TimeoutExpired:
                    run.kill()
        found = sample(command, self._repository, env=self._env)
        return replace(found, wall=time.perf_counter() - begun)

    def see_each_once(self, trials: int) -> None:
        """Raise `BenchmarkError` where results lack a trial, or have one twice."""
        found = json.loads((self._last / "results.v1.json").read_bytes())["trials"]
        keys = {json.dumps(one["key"]) for one in found}
        if {len(found), len(keys)} != {trials}:
            raise BenchmarkError(f"{len(found)} trials, {len(keys)} different ones, of {trials}")


def _walk(place: _Place, shards: int, kills: int, each: float) -> _Walked:
    """Walk the jobs. Of the shards some are killed at a random moment of the time that `each` takes
    at least.
    """
    draw = random.Random(31)
    doomed = {number: draw.uniform(0, each) for number in draw.sample(range(shards), kills)}
    plan = place.ended(place.command("--step", "plan", "--shards", str(shards)))
    names = (f"{number}/{shards}" for number in range(1, shards + 1))
    jobs = [place.command("--shard", name, "--round", "1") for name in names]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = list(pool.map(place.ended, jobs, map(doomed.get, range(shards))))
    join = place.ended(place.command("--step", "next", "--shards", str(shards)))
    finish = place.ended(place.command("--step", "finish"))
    slowest, memory = max(one.wall for one in found), max(join.memory, finish.memory)
    return _Walked(plan.wall, slowest, join.wall, finish.wall, memory)


def _repository(cache: Path, trials: int, parallel: int) -> Path:
    """A repository with an Agent whose change asks so many trials, one model call each."""
    texts = files(trials // SIDES // REPETITIONS)
    texts["orders.yaml"] = texts["orders.yaml"].replace('"{{ case.expected }}"', "reason")
    texts["eval.yaml"] = f"""\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: spread-eval}}
spec:
  targetAgent: {agent_name(0)}
  fixtures: [orders]
  execution: {{parallel: {parallel}, repsPerFixture: {REPETITIONS}}}
"""
    changed = agent_manifest(0).replace("three sentences", "two sentences")
    return repository(cache, texts, {"agent.yaml": changed})
