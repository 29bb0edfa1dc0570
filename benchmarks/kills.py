"""Runs that are killed at a random moment, again and again, and gone on from each time.

SIGKILL lets nobody say anything. The run that ends has to have each trial once, the report of a run
that nobody killed, and no more calls paid twice than the trials have that were under way.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import Figure
from benchmarks.manifests import agent_name
from benchmarks.processes import GATEVAL, BenchmarkError, environment, sample
from benchmarks.repository import repository, single_agent_files
from benchmarks.run_http import CALLS_PER_FIXTURE, model_calls, model_server
from benchmarks.scale import Scale
from gateval.adapters.run_notes import read_begun
from gateval.adapters.store import stored_trials
from gateval.app.run.views import TRIALS_FILE

NAME = "kills"
MOST_IN_A_ROW = 4
"""So often is one run killed before it may end."""

_VOLATILE = {"seconds", "started_at", "run", "resumed", "started", "waited", "recorded_at", "at"}
_TOOK = re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|min)\b")


class _Place(NamedTuple):
    """What is run, where its model is asked, how many trials it has and how many at once."""

    folder: Path
    address: str
    fixtures: int
    parallel: int

    def command(self, results: Path, before: Path | None) -> tuple[str, ...]:
        """The command of one run, which goes on from the one `before` it."""
        again = ("--from", str(before)) if before else ()
        return (*GATEVAL, "run", f"{agent_name(0)}-eval", *again, "--results", str(results))

    @property
    def env(self) -> dict[str, str]:
        """What the run has in its environment."""
        return {"OPENAI_BASE_URL": f"{self.address}/v1", "OPENAI_API_KEY": "benchmark"}


class _Ended(NamedTuple):
    """A run that ended: what it says, without what differs each time, and the digest of results."""

    digest: str
    report: str


def measure(scale: Scale) -> list[Figure]:
    """Kill as many runs as the scale says, go on from each, and return the figures."""
    fixtures, parallel = scale.killed
    folder = repository(scale.cache, single_agent_files(fixtures, parallel), {})
    draw, kills, worst = random.Random(31), 0, 0.0
    with model_server(scale.latency / 10) as address, tempfile.TemporaryDirectory() as kept:
        place = _Place(folder, address, fixtures, parallel)
        begun = time.perf_counter()
        wanted = _finish(place, Path(kept) / "run-whole", None)
        whole = time.perf_counter() - begun
        while kills < scale.kills:
            many = min(draw.randint(1, MOST_IN_A_ROW), scale.kills - kills)
            home = Path(kept) / f"after-{kills}"
            worst = max(worst, _killed_and_finished(place, home, many, whole, draw, wanted))
            kills += many
    what = f"{kills} kills of {fixtures} at {parallel}"
    return [Figure(NAME, f"{what}: paid again / under way", worst, "×", 1.0)]


def _killed_and_finished(
    place: _Place, home: Path, kills: int, whole: float, draw: random.Random, wanted: _Ended
) -> float:
    """Kill a run so often, let it end, see that nothing is lost, and return what was paid again as
    a part of what was under way.
    """
    home.mkdir()
    before, under_way, calls = None, 0, model_calls(place.address)
    for number in range(kills):
        results = home / f"run-{number}"
        _kill(place, results, before, draw.uniform(0.0, whole))
        if results.exists():
            there = {one.key for one in stored_trials(results, TRIALS_FILE)}
            under_way += len(read_begun(results) - there)
            before = results if there else before
    found = _finish(place, home / "run-last", before)
    made = model_calls(place.address) - calls
    if found != wanted:
        raise BenchmarkError(
            f"the run that was killed {kills} times says something else:\n{wanted}\n{found}"
        )
    again = made - place.fixtures * CALLS_PER_FIXTURE
    return again / (under_way * CALLS_PER_FIXTURE) if under_way else float(again)


def _kill(place: _Place, results: Path, before: Path | None, seconds: float) -> None:
    """Start a run and kill it after so many seconds, if it has not ended before."""
    with subprocess.Popen(
        place.command(results, before),
        cwd=place.folder,
        env=environment(place.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.kill()


def _finish(place: _Place, results: Path, before: Path | None) -> _Ended:
    """Run to the end; raises `BenchmarkError` where a trial is missing or there twice."""
    output = sample(place.command(results, before), place.folder, env=place.env).output
    whole = json.loads((results / "results.v1.json").read_bytes())
    keys = [json.dumps(one["key"]) for one in whole["trials"]]
    stored = len(stored_trials(results, TRIALS_FILE))
    if {len(keys), len(set(keys)), stored} != {place.fixtures}:
        raise BenchmarkError(f"{len(keys)} trials of {place.fixtures}:\n{output[-2000:]}")
    told = " ".join((results / "summary.txt").read_text().split())
    kept = whole["info"].get("resumed", "")
    return _Ended(digest_of(whole), _TOOK.sub("", told.replace(f"{kept} ", "") if kept else told))


def digest_of(value: Any) -> str:
    """Return the SHA-256 of results without what differs between two runs that measured alike."""
    return hashlib.sha256(json.dumps(_steady(value), sort_keys=True).encode()).hexdigest()


def _steady(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _steady(each) for key, each in value.items() if key not in _VOLATILE}
    return [_steady(each) for each in value] if isinstance(value, list) else value
