"""The history of an experiment."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import TASK, lab, newest, ran

WORSE = TASK.replace("text.upper()", "text.upper() + '!' * (text < 'j')")


@states("An experiment has a name and a history of sets", differs="`gateval history NAME`, as a table, "
        "JSON or a plot (`--plot`)")  # fmt: skip
@states("A set has a timestamp, its runs and the average of each scorer")
@states("The history tracks performance over time, and shows whether changes improve or degrade it")
def test_sets_over_time(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    repo.write("lab/task.py", WORSE)
    ran(repo)
    said = gateval(repo, "history", "uppercase-agent", "--json")
    (points,) = json.loads(said.stdout).values()
    averages = [
        {one["scorer"]: (one["mean"], one["rows"], one["measured"]) for one in point["averages"]}
        for point in points
    ]
    assert averages[0] == {"exactMatch": (1, 2, 2), "dummyRelevance": (1, 2, 2)}
    assert averages[1]["exactMatch"] == (0.5, 2, 2)
    assert all(len(point["at"]) == len("2026-01-01T00:00:00Z") for point in points)
    table = gateval(repo, "history", "uppercase-agent").stdout
    lines = [line.split() for line in table.splitlines() if line.startswith(("exact", "dummy"))]
    assert lines == [
        ["exactMatch", "█▅", "50.00%", "🔴-0.50"],
        ["dummyRelevance", "██", "91.67%", "🔴-0.08"],
    ]


def test_the_plot_has_a_line_for_each_scorer(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    repo.write("lab/task.py", WORSE)
    ran(repo)
    file = tmp_path / "scores.svg"
    done = gateval(repo, "history", "uppercase-agent", "--plot", str(file))
    assert done.returncode == 0, done.stderr
    drawn = ET.fromstring(file.read_text())  # noqa: S314 - what we drew ourselves
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "exactMatch: 50.00%" in texts
    assert "dummyRelevance: 91.67%" in texts
    lines = [*drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(lines) == 2
    first = [place.split(",")[1] for place in (lines[0].get("points") or "").split()]
    assert first == ["44.0", "174.0"]  # from 1 at the top to the middle


def test_a_stored_run_makes_the_same_views_again(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    repo.write("lab/task.py", WORSE)
    _, shown = ran(repo)
    folders = sorted(
        (repo.path / ".gateval/results").iterdir(), key=lambda one: one.stat().st_mtime_ns
    )
    again = gateval(repo, "report", str(folders[-1])).stdout
    assert "→ exactMatch: 50.00% (🔴-0.50)" in again
    assert again == shown
    suite = ET.parse(folders[-1] / "junit.xml").getroot().find("testsuite")  # noqa: S314 - ours
    assert suite is not None
    said = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert said["experiment"] == "uppercase-agent"
    assert said["scorer exactMatch"] == "50.00% (🔴-0.50)"


def test_a_newest_run_without_a_score_is_not_hidden_by_an_older_one(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    written = (repo.path / "lab/scorers/all.py").read_text()
    repo.write("lab/scorers/all.py", written.replace("return min", "return 2 + min"))
    ran(repo)
    (row,) = json.loads(gateval(repo, "compare", "--table", "--json").stdout)
    (cell,) = row["benchmarks"].values()
    assert ("score" in cell, cell["low"], cell["high"]) == (False, None, None)
    assert "not measured" in gateval(repo, "compare", "--table").stdout


def test_the_table_holds_what_is_not_what_a_pull_request_proposes(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    ran(repo)
    repo.write("lab/task.py", WORSE)
    ran(repo)
    newest_run = newest(repo) / "run.v1.json"
    record = json.loads(newest_run.read_text())
    newest_run.write_text(json.dumps(record | {"event": "pull_request"}))
    (row,) = json.loads(gateval(repo, "compare", "--table", "--json").stdout)
    assert [cell["score"] for cell in row["benchmarks"].values()] == [1.0]
    named = gateval(repo, "compare", record["id"], "--table", "--json").stdout
    assert json.loads(named)[0]["benchmarks"]["uppercase-agent"]["score"] < 1


def test_a_set_that_lacks_rows_says_so_in_the_next(tmp_path: Path) -> None:
    repo = lab(tmp_path / "repo")
    written = (repo.path / "lab/scorers/all.py").read_text()
    repo.write(
        "lab/scorers/all.py",
        written.replace("return min", "return 2 * ('w' in trial.prompt) or min"),
    )
    ran(repo)
    _, shown = ran(repo)
    assert ", which did not measure every row)" in " ".join(shown.split())
    repo.write("lab/scorers/all.py", written)
    ran(repo)
    _, shown = ran(repo)
    assert ", which did" not in " ".join(shown.split())
