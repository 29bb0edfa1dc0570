"""The golden set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import lab, means, ran, refused

ROWS = [
    {"input": "hello", "expected": "HELLO", "reference": "Letters only"},
    {"id": "Second One", "input": "world", "expected": "world", "reference": "Letters only"},
]
FILES = {
    "golden.json": json.dumps(ROWS),
    "golden.jsonl": "\n".join(map(json.dumps, ROWS)),
    "golden.csv": "id,input,expected,reference\n,hello,HELLO,Letters only\n"
    "Second One,world,world,Letters only\n",
    "golden.yaml": "".join(f"- {json.dumps(row)}\n" for row in ROWS),
}
BY_FILE = """\
task: {{python: task.py:shout}}
data: {file}
scorers: [exactMatch, levenshtein]
"""


@pytest.mark.parametrize("file", ["golden.json", "golden.jsonl", "golden.yaml"])
@states("The golden set has rows with `input`, `expected` and, optional, `reference`")
@states("The golden set is an array in the code", differs="rows in the manifest, or a file beside "
        "it: JSON, JSON lines, CSV or YAML")  # fmt: skip
def test_rows_of_a_file(tmp_path: Path, file: str) -> None:
    repo = lab(tmp_path / "repo", BY_FILE.format(file=file), **{file: FILES[file]})
    results, _ = ran(repo)
    assert means(results) == {"exactMatch": 0.5, "levenshtein": 0.5}
    (planned,) = results.plan.evals
    assert [one.name for one in planned.fixtures] == [
        "uppercase-agent.hello",
        "uppercase-agent.second-one",
    ]
    first = planned.fixtures[0]
    assert first.reference is not None
    assert (first.reference.answer, first.reference.context) == ("HELLO", "Letters only")
    assert first.place.file == f"lab/{file}"


def test_rows_of_a_table(tmp_path: Path) -> None:
    table = FILES["golden.csv"].replace(",hello", "first,hello")
    repo = lab(tmp_path / "repo", BY_FILE.format(file="golden.csv"), **{"golden.csv": table})
    results, _ = ran(repo)
    assert means(results) == {"exactMatch": 0.5, "levenshtein": 0.5}


@states("`expected` may be a text, an object that stands for a tool call, or any other data")
@states("An `input` is a text", differs="or any other data: an object is the payload that the "
        "agent gets")  # fmt: skip
def test_data_of_any_kind(tmp_path: Path) -> None:
    spec = """\
    task: {python: task.py:turn}
    data:
      - {id: object, input: {a: 1}, expected: {b: 2}}
      - {id: list, input: [1, 2], expected: "[1, 2]"}
      - {id: number, input: 3, expected: 3}
    scorers: [exactMatch]
    """
    task = (
        "def turn(given):\n    return {'b': given['a'] + 1} if isinstance(given, dict) else given\n"
    )
    results, _ = ran(lab(tmp_path / "repo", spec, **{"task.py": task}))
    assert {one.key.fixture.rpartition(".")[2]: one.score for one in results.trials} == {
        "object": 1,
        "list": 0,  # the text "[1,2]" without white space is another one
        "number": 1,
    }


SECRET = """\
import os

def shout(text):
    found = [name for _, _, names in os.walk("/" if os.path.exists("/proc/1") and 0 else ".") for name in names]
    return " ".join(sorted(found))
"""


def test_the_task_sees_neither_what_is_expected_nor_the_scorers(tmp_path: Path) -> None:
    files = {"golden.jsonl": FILES["golden.jsonl"], "task.py": SECRET}
    spec = BY_FILE.format(file="golden.jsonl").replace(
        "levenshtein]", "{type: python, name: mine, function: scorers/all.py::dummy_relevance}]"
    )
    results, _ = ran(lab(tmp_path / "repo", spec, **files))
    assert {one.output for one in results.trials} == {"task.py"}


FROM_CSV = "task: {python: task.py:shout}\ndata: golden.csv\nscorers: [exactMatch]\n"


@pytest.mark.parametrize(
    ("spec", "files", "said"),
    [
        ("data: no.json", {}, "There is no file lab/no.json in this revision."),
        ("data: ../../x.json", {}, "leads out of the repository"),
        ("data: task.py", {}, 'The name of "task.py" must end in one of .json, .jsonl, .csv'),
        ("data: g.json", {"g.json": "{}"}, "lab/g.json:1"),
        ("data: g.jsonl", {"g.jsonl": '{"expected": "A"}'}, "This row has no `input`"),
        (
            "data: g.jsonl",
            {"g.jsonl": '{"input": "a", "expeced": "A"}'},
            (
                'A row has no "expeced", but `id`, `input`, `expected`, `reference`. Did you mean '
                '"expected"?'
            ),
        ),
        (
            "data: [{input: a, expected: A}, {input: a, expected: B}]",
            {},
            "The row at lab/experiment.yaml:6:1 has the same input. Remove one, or give each an `id`",
        ),
        (
            "data: [{input: a}]",
            {},
            "`exactMatch` compares with the expected answer, and there is none",
        ),
        (
            "data: g.csv",
            {"g.csv": "input,expected\na,A\nb,\n"},
            "lab/g.csv:3:1: `exactMatch` compares with the expected answer, and there is none",
        ),
        ("data: g.csv", {"g.csv": "input;expected\na;A\n"}, "lab/g.csv:1:1: Columns are separated"),
        ("data: g.json", {"g.json": '[\n  {"input": NaN}]'}, "lab/g.json:2:3: Of the value that"),
        ("data: []", {}, "at least 1"),
    ],
)
@states("A row without `expected` has `undefined` as its expected output, and scores 0",
        refused="compares with the expected answer, and there is none")  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, spec: str, files: dict[str, str], said: str
) -> None:
    text = f"task: {{python: task.py:shout}}\n{spec}\nscorers: [exactMatch]\n"
    assert said in " ".join(refused(tmp_path / "repo", text, **files).split())


def test_an_empty_field_of_csv_is_no_value(tmp_path: Path) -> None:
    table = "id,input,expected,reference\n,hello,HELLO,\nlast,world,WORLD,Letters\n"
    repo = lab(tmp_path / "repo", FROM_CSV, **{"golden.csv": table})
    done = gateval(repo, "validate")
    assert (done.returncode, "warning" in done.stdout) == (0, False), done.stdout
    results, _ = ran(repo)
    rows = {one.name: one.reference for one in results.plan.evals[0].fixtures}
    assert list(rows) == ["uppercase-agent.hello", "uppercase-agent.last"]
    hello, last = (one for one in rows.values() if one is not None)
    assert (hello.context, last.context, last.case) == (None, "Letters", "last")
