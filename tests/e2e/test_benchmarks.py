"""The benchmarks run and print their ratios. What the ratios are is no business of a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.frameworks import need_frameworks
from tests.helpers.tiers import some_always

ROOT = Path(__file__).parents[2]
IN_MS = ("gateway", "closure_export", "owner_checks", "playgrounds", "bridges")
UNITS = {**dict.fromkeys(IN_MS, "ms"), "memory": "MiB"}


def _bench(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "--tiny", "--cache", str(cache), *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.drawn("name", "ratio")
@pytest.mark.parametrize(
    ("name", "ratio"),
    some_always(
        [
            ("plan_unchanged", "plan / (git diff + pydantic)"),
            ("many_cases", "validate / pydantic"),
            ("second_set_up", "second check / check without set-up"),
            ("alternating", "4 at 2: alternating / together"),
            ("closure_export", "40 files of 100"),
            ("action_entry", "nothing to evaluate / (git diff + pydantic)"),
            ("run_http", "4 at 2: wall / ideal"),
            ("validate_all", "validate / pydantic"),
            ("gateway", "CPU per call"),
            ("phoning_home", "with switches / without"),
            ("owner_checks", "same user, 1000 sockets"),
            ("playgrounds", "3 tasks, 50 files each: a task without one"),
            ("bridges", "Python: a turn"),
            ("replay", "4 at 2: wall / live"),
            ("kills", "2 kills of 6 at 2: paid again / under way"),
            ("memory", "8 trials of 4 cases"),
            ("shards", "40 in 2 shards, 1 killed: wall / (least of one process / n)"),
            ("report_page", "write / results.v1.json"),
        ],
        6,
        spread=True,
    ),
)
def test_a_benchmark_runs_and_prints_its_ratio(tmp_path: Path, name: str, ratio: str) -> None:
    if name == "phoning_home":
        need_frameworks()
    done = _bench(tmp_path, name, "--json")
    assert done.returncode == 0, done.stderr
    figures = {figure["name"]: figure for figure in json.loads(done.stdout)}
    assert figures[ratio]["value"] > 0
    assert figures[ratio]["unit"] == UNITS.get(name, "×")
    assert {figure["benchmark"] for figure in figures.values()} == {name}


def test_an_unknown_benchmark_is_named(tmp_path: Path) -> None:
    done = _bench(tmp_path, "plan_unchange")
    assert done.returncode == 2
    assert "no benchmark is called plan_unchange" in done.stderr
