"""A repository with an experiment, and short ways to run it and to look at what it wrote."""

from __future__ import annotations

import textwrap
from pathlib import Path

from gateval.domain.results.averages import ScorerAverage, averages, group_trials
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

UPPER = """\
task: {python: task.py:shout}
data:
  - {input: hello, expected: HELLO}
  - {input: world, expected: WORLD}
scorers:
  - exactMatch
  - {type: python, name: dummyRelevance, function: scorers/all.py::dummy_relevance}
"""

SCORERS = """\
from gateval.checks import Trial, check


@check
def dummy_relevance(trial: Trial) -> float:
    return min(len(trial.prompt) / len(trial.output), 1) if trial.output else 0.0
"""

TASK = """\
def shout(text):
    return text.upper()
"""


def manifest(spec: str = UPPER, name: str = "uppercase-agent") -> str:
    """Return an experiment with these keys of its spec."""
    head = f"apiVersion: gateval/v1\nkind: Experiment\nmetadata: {{name: {name}}}\nspec:\n"
    return head + textwrap.indent(textwrap.dedent(spec), "  ")


def lab(path: Path, spec: str = UPPER, **files: str) -> Repo:
    """Return a repository with the experiment, its task and scorers, and `files`, committed."""
    repo = Repo(path)
    written = {"task.py": TASK, "scorers/all.py": SCORERS} | files
    for name, text in written.items():
        repo.write(f"lab/{name}", text)
    repo.write("lab/experiment.yaml", manifest(spec))
    repo.commit("An experiment")
    return repo


def ran(repo: Repo, name: str = "uppercase-agent") -> tuple[Results, str]:
    """Run the experiment; return its results and the summary."""
    done = gateval(repo, "run", name)
    assert done.returncode in {0, 1, 3}, done.stdout + done.stderr
    return Results.model_validate_json((newest(repo) / "results.v1.json").read_bytes()), done.stdout


def newest(repo: Repo) -> Path:
    """Return the folder of the newest run."""
    return max(
        (repo.path / ".gateval" / "results").iterdir(), key=lambda one: one.stat().st_mtime_ns
    )


def means(results: Results, side: Side = Side.HEAD) -> dict[str, float | None]:
    """Return the averages of the one experiment by scorer."""
    return {one.scorer: one.mean for one in sets(results, side)}


def sets(results: Results, side: Side = Side.HEAD) -> tuple[ScorerAverage, ...]:
    """Return the averages of the one experiment."""
    (planned,) = results.plan.evals
    return averages(planned, side, group_trials(results.trials))


def refused(path: Path, spec: str, **files: str) -> str:
    """Return what `validate` says of an experiment that cannot be used."""
    done = gateval(lab(path, spec, **files), "validate")
    assert done.returncode == 2, done.stdout
    return done.stdout
