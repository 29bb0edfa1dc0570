"""Runs of `gateval check`: what each said, and how many trials it took."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import GATEVAL, BenchmarkError, sample
from benchmarks.repository import BASE, HEAD
from gateval.errors import EXIT_FAILED, EXIT_PASS


class Ran(NamedTuple):
    """One run: whether it blocked, what it called regressed, and the trials of each side."""

    blocked: bool
    regressed: frozenset[str]
    base_trials: int
    head_trials: int


def check(folder: Path) -> Ran:
    """Check the change of a repository once. Raises `BenchmarkError` if it was not measured."""
    command = (*GATEVAL, "check", "--base", BASE, "--head", HEAD)
    with tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as results:
        ended = sample((*command, "--results", f"{results}/run"), folder, ends_with=None)
        if ended.code not in {EXIT_PASS, EXIT_FAILED}:
            raise BenchmarkError(f"A run ended with {ended.code}:\n{ended.output[-2000:]}")
        written = Path(results, "run")
        trials = json.loads((written / "results.v1.json").read_text())["trials"]
        decision = json.loads((written / "decision.v1.json").read_text())
    sides = [trial["key"]["side"] for trial in trials]
    return Ran(
        blocked=ended.code == EXIT_FAILED,
        regressed=frozenset(
            reason["fixture"] for reason in decision["reasons"] if reason["code"] == "regression"
        )
        - {""},
        base_trials=sides.count("base"),
        head_trials=sides.count("head"),
    )
