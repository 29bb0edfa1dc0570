"""The example of the article: `UppercaseAgent`."""

from __future__ import annotations

from pathlib import Path

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import TASK, lab, manifest, means, newest, ran


@states("`runEval` with the golden set hello/world, the task `toUpperCase` and the scorers "
        "`exactMatch` and `dummyRelevance` gives 1 for each")  # fmt: skip
@states("The first set has no previous one, and shows ⚪")
@states("`evals/run.ts NAME` runs one experiment", differs="`gateval run NAME`")
def test_the_article_own_numbers(tmp_path: Path) -> None:
    results, shown = ran(lab(tmp_path / "repo"))
    assert means(results) == {"exactMatch": 1.0, "dummyRelevance": 1.0}
    assert {one.key.fixture: one.output for one in results.trials} == {
        "uppercase-agent.hello": "HELLO",
        "uppercase-agent.world": "WORLD",
    }
    assert "Experiment uppercase-agent (the first set that is known here)" in shown
    assert "→ exactMatch: 100.00% (⚪)" in shown


@states("The next set shows the difference of each scorer's average to the previous one, 🟢 up, 🔴 "
        "down, ⚪ equal: `→ exactMatch: 50.00% (🔴-0.50)`")  # fmt: skip
@states("A set is stored with its timestamp, and the history grows by each run")
@states("Results are stored in `./results/NAME.json`",
        differs="in `.gateval/results/RUN/`, a folder for each run, and by CI in the ref "
        "`refs/gateval/runs`: a record of averages; inputs, outputs and scores stay in the results")  # fmt: skip
def test_the_difference_to_the_previous_set(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    repo.write("lab/task.py", TASK.replace("text.upper()", "text.upper() + '!' * (text < 'j')"))
    results, shown = ran(repo)
    assert means(results) == {"exactMatch": 0.5, "dummyRelevance": (5 / 6 + 1) / 2}
    assert "(against the set of " in shown
    assert "→ exactMatch: 50.00% (🔴-0.50)" in shown
    comment = (newest(repo) / "comment.md").read_text()
    assert "| exactMatch | 50.00% | 🔴-0.50 | 2 |  |" in comment
    assert "→ dummyRelevance: 91.67% (🔴-0.08)" in shown
    repo.write("lab/task.py", TASK)
    _, shown = ran(repo)
    assert "→ exactMatch: 100.00% (🟢+0.50)" in shown
    _, shown = ran(repo)
    assert "→ exactMatch: 100.00% (⚪0.00)" in shown
    (first,) = results.earlier
    assert (first.eval, first.same, first.at[:2]) == ("uppercase-agent", True, "20")


def test_a_set_of_other_rows_is_said_to_be_one(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    written = manifest().replace("{input: world, expected: WORLD}", "{input: moon, expected: SUN}")
    repo.write("lab/experiment.yaml", written)
    results, shown = ran(repo)
    assert "which had other rows or scorers" in " ".join(shown.split())
    assert means(results)["exactMatch"] == 0.5


@states("An experiment without a name runs all experiments",
        differs="`gateval run` lists what there is; a change runs what it concerns, the clock what "
        "is due")  # fmt: skip
def test_without_a_name_it_lists_what_there_is(tmp_path: Path) -> None:
    done = gateval(lab(tmp_path / "repo"), "run")
    assert done.returncode == 2
    assert "gateval run uppercase-agent" in done.stderr
