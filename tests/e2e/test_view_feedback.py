"""Labels of an experiment's answers: lines of its feedback file, as people write them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.experiments import UPPER, lab, newest, ran
from tests.helpers.repo import Repo
from tests.helpers.viewing import Reply, viewing

CSV = 'input,output,thumbs,note,who,when\nhello,HELLO,up,"loud, fine",ada,2026-11-20\n'


def experiment(path: Path, file: str, text: str, spec: str = UPPER) -> Repo:
    repo = lab(path / "lab", spec + f"feedback: {{file: {file}}}\n", **{file: text})
    repo.git("config", "user.email", "jane@example.com")
    ran(repo)
    return repo


def label(repo: Repo, word: str, score: int = 0, **more: Any) -> Reply:
    told = {
        "run": newest(repo).name, "fixture": f"uppercase-agent/uppercase-agent.{word}",
        "repetition": 1, "score": score, "reason": "judgeWrong", "note": 'too "loud", =1', **more,
    }  # fmt: skip
    with viewing(repo) as viewed:
        return viewed.ask("/label", told)


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_label_is_a_line_more(tmp_path: Path, end: str) -> None:
    text = CSV.replace("\n", end) if end else CSV.rstrip("\n")
    repo = experiment(tmp_path, "said.csv", text)
    answer = label(repo, "world")
    assert answer.text == "lab/said.csv: thumbs down for the answer to uppercase-agent.world."
    written = (repo.path / "lab/said.csv").read_bytes().decode()
    assert written.startswith(text)
    *_, last = csv.DictReader(written.splitlines())
    assert last.pop("when") >= "2026"
    assert last == {
        "input": "world", "output": "WORLD", "thumbs": "down", "note": 'too "loud", =1',
        "who": "jane@example.com",
    }  # fmt: skip
    assert ("\r\n" in written) == (end == "\r\n")
    results, _ = ran(repo)
    (planned,) = results.plan.evals
    assert [one.score for one in planned.feedback] == [1.0, 0.0]


def test_lines_of_json_and_scores(tmp_path: Path) -> None:
    repo = experiment(tmp_path / "a", "said.jsonl", '{"input": "hello", "thumbs": "up"}\n')
    assert label(repo, "hello", 1).status == 200
    last = json.loads((repo.path / "lab/said.jsonl").read_text().splitlines()[-1])
    assert (last["input"], last["thumbs"], last["output"]) == ("hello", "up", "HELLO")
    repo = experiment(tmp_path / "b", "said.csv", "input,output,score,note\n")
    assert label(repo, "hello", 1).status == 200
    assert (repo.path / "lab/said.csv").read_text().endswith('hello,HELLO,1,"too ""loud"", =1"\n')


@pytest.mark.parametrize(
    ("text", "fixture", "said"),
    [
        ("input,thumbs\nhello,up\n", {}, "has no column for output, note"),
        (CSV, {"repetition": 9}, "There is no whole answer of repetition 9"),
        (CSV, {"fixture": "uppercase-agent/nope"}, "There is no whole answer"),
    ],
)
def test_what_cannot_be_written_changes_nothing(
    tmp_path: Path, text: str, fixture: dict[str, Any], said: str
) -> None:
    repo = experiment(tmp_path, "said.csv", text)
    answer = label(repo, "hello", **fixture)
    assert (answer.status, said in answer.text) == (422, True), answer.text
    assert (repo.path / "lab/said.csv").read_text() == text
