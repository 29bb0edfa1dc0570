"""Human feedback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import lab, ran, refused
from tests.helpers.repo import Repo

SPEC = """\
task: {python: task.py:shout}
data:
  - {input: hello, expected: HELLO, reference: Letters}
  - {id: second, input: world, expected: WORLD, reference: Letters}
  - {input: moon, expected: MOON, reference: Letters}
scorers: [exactMatch, faithfulness]
judge: {model: scripted/judge}
feedback: {file: feedback.csv}
"""
TABLE = """\
id,input,output,thumbs,score,note,who,when
,hello,HELLO,up,,Loud enough,ada,2026-11-20
,hello,HELLO,👎,,Too loud,bob,2026-11-20
second,,,,0.75,,,
,moon,Another answer,down,,Not this one,,
,Do I need a ticket?,Yes.,up,,,,
"""
GOOD = {"score": 1, "confidence": 1, "summary": "So.", "what_would_raise_score": ""}
JUDGE = json.dumps({"rules": [{"reply": json.dumps({**GOOD, "violations": []})}]})


def rated(path: Path, table: str = TABLE, spec: str = SPEC) -> Repo:
    repo = lab(path, spec, **{"feedback.csv": table})
    repo.write(".gateval/scripted/judge.yaml", JUDGE)
    repo.commit("A judge")
    return repo


@states("Users give feedback on answers, in a structured way", differs="a CSV or JSON lines file: "
        "thumbs or a score, a note, who and when; it stands beside the scores as `people`")  # fmt: skip
def test_feedback_is_a_column(tmp_path: Path) -> None:
    repo = rated(tmp_path / "repo")
    results, shown = ran(repo)
    # (1 + 0) / 2 for hello, 0.75 for the second; what is said of another answer is not of this one
    assert "→ people: 62.50% (⚪), measured in 2 of 3 rows" in shown
    (planned,) = results.plan.evals
    assert [(one.who, one.score) for one in planned.feedback] == [
        ("ada", 1), ("bob", 0), ("", 0.75), ("", 0),
    ]  # fmt: skip
    assert results.trials[0].score == 1  # it is no scorer
    page = gateval(repo, "show", "uppercase-agent.hello").stdout
    assert "1 by ada 2026-11-20: Loud enough" in page
    page = gateval(repo, "show", "uppercase-agent.moon").stdout
    assert "0, of another answer: Not this one" in page


@states("Feedback of users improves the system, round by round",
        differs="as labels, too: they calibrate the judged scorers (`gateval calibrate`)")  # fmt: skip
def test_feedback_is_a_calibration(tmp_path: Path) -> None:
    repo = rated(tmp_path / "repo")
    done = gateval(repo, "calibrate", "uppercase-agent-feedback", "--json")
    assert done.returncode in {0, 1}, done.stderr
    (judge,) = json.loads(done.stdout)["judges"]
    said = [(one["number"], one["human"], one["label"]) for one in judge["replay"]["examples"]]
    assert said == [
        (1, 1, "Loud enough"), (2, 0, "Too loud"), (3, 0, "Not this one"), (4, 1, ""),
    ]  # fmt: skip
    spec = SPEC.replace("scripted/judge}", "scripted/judge, calibration: uppercase-agent-feedback}")
    repo.write("lab/experiment.yaml", (repo.path / "lab/experiment.yaml").read_text())
    valid = gateval(rated(tmp_path / "bound", spec=spec), "validate")
    assert "1 calibration: valid" in valid.stdout


def test_the_last_word_of_a_person_on_an_answer_counts(tmp_path: Path) -> None:
    lines = [
        "hello,HELLO,down,,At first,ada,2026-11-20",
        "hello,HELLO,up,,Later,Ada ,2026-11-21T09:00Z",
        "hello,HELLO,down,,Written down late,ada,2026-11-19",
        "hello,HELLO,down,,Once,bob,",
        "hello,Hello!,down,,Of another answer,ada,2026-11-22",
        "moon,,down,,Nobody,,",
        "moon,,up,,Somebody else,,",
    ]
    table = "input,output,thumbs,score,note,who,when\n" + "\n".join(lines)
    repo = rated(tmp_path / "repo", table)
    results, shown = ran(repo)
    (planned,) = results.plan.evals
    assert [one.note for one in planned.feedback] == [
        "Later", "Once", "Of another answer", "Nobody", "Somebody else",
    ]  # fmt: skip
    assert "→ people: 50.00% (⚪), measured in 2 of 3 rows" in shown
    done = gateval(repo, "calibrate", "uppercase-agent-feedback", "--json")
    (judge,) = json.loads(done.stdout)["judges"]
    assert [one["label"] for one in judge["replay"]["examples"]] == [
        "Later", "Once", "Of another answer",
    ]  # fmt: skip


def test_json_lines_say_the_same(tmp_path: Path) -> None:
    lines = [
        {"input": "hello", "thumbs": True},
        {"input": "moon", "score": 0.5, "when": 20261120},
    ]
    spec = SPEC.replace("feedback.csv", "feedback.jsonl")
    text = "\n".join(map(json.dumps, lines))
    repo = lab(tmp_path / "repo", spec, **{"feedback.jsonl": text})
    repo.write(".gateval/scripted/judge.yaml", JUDGE)
    _, shown = ran(repo)
    assert "→ people: 75.00% (⚪), measured in 2 of 3 rows" in shown


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("input,thumb\nhello,up\n", 'Feedback has no "thumb", but `id`'),
        ("input,thumbs\nhello,perhaps\n", '"perhaps" is no thumb: write `up` or `down`.'),
        ("input,score\nhello,1.5\n", "The `score` is a number from 0 to 1."),
        ("input,score\nhello,nan\n", "The `score` is a number from 0 to 1."),
        ("input,score,thumbs\nhello,1,up\n", "Write `thumbs` (up or down) or `score` (0 to 1)"),
        ("id,input,score\nsecond,hello,1\n", "are those of two rows. Leave one out."),
        ("input,score\nhallo,1\n", "lab/feedback.csv:2:1: No row has this `id` or `input`"),
    ],
)
def test_what_is_no_feedback_is_refused(tmp_path: Path, table: str, said: str) -> None:
    told = refused(tmp_path / "repo", SPEC, **{"feedback.csv": table})
    assert said in " ".join(told.split())


def test_the_scorer_that_it_speaks_of_has_to_be_judged(tmp_path: Path) -> None:
    spec = SPEC.replace("feedback.csv}", "feedback.csv, scorer: exactMatch}")
    told = " ".join(refused(tmp_path / "repo", spec, **{"feedback.csv": TABLE}).split())
    assert "No judged scorer is called" in told
