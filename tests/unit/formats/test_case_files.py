"""Files of cases: what they hold, and what is wrong with them, with its line."""

from __future__ import annotations

import json

import pytest

from gateval.formats.native.cases import CASES_LIMIT, read_cases

READ = [
    ("c.jsonl", b'{"id": "A b", "n": 1}\n\n{"id": 7}\n', {"a-b": 1, "7": 3}),
    ("c.jsonl", b'\xef\xbb\xbf{"id": "x"}\r\n{"id": "y"}', {"x": 1, "y": 2}),
    ("c.jsonl", '{"id": "x", "t": "a\u2028b"}\n{"id": "y"}\n'.encode(), {"x": 1, "y": 2}),
    ("c.csv", b'\xef\xbb\xbfid,text\r\nx,"a,\r\nb"\r\n\r\ny,c\r\n', {"x": 2, "y": 5}),
    ("c.yaml", b"# cases\n- {id: x}\n-\n  id: y\n", {"x": 2, "y": 4}),
    ("c.json", b'[\n  {"id": "x", "t": "\\ud83d\\ude00"},\n\n  {"id": "y"}\n]\n', {"x": 2, "y": 4}),
    ("c.jsonl", '{"id": "Größe"}\n'.encode(), {"groe-dc469e": 1}),
    ("c.jsonl", '{"id": "退款一"}\n{"id": "退款二"}\n'.encode(), {"866a49": 1, "903e03": 2}),
]


@pytest.mark.parametrize(("path", "data", "lines"), READ, ids=range(len(READ)))
def test_each_case_has_a_word_and_its_line(path: str, data: bytes, lines: dict[str, int]) -> None:
    cases, problems = read_cases(path, data)
    assert problems == ()
    assert {case.word: case.line for case in cases} == lines


def test_a_case_without_an_id_keeps_its_name_wherever_it_stands() -> None:
    one, two = b'{"text": "a"}\n', b'{"text": "b"}\n'
    words = [case.word for case in read_cases("c.jsonl", one + two).cases]
    assert [case.word for case in read_cases("c.jsonl", two + one).cases] == words[::-1]
    assert all(len(word) == 12 for word in words)


def test_values_keep_their_type_and_csv_gives_text() -> None:
    assert read_cases("c.jsonl", b'{"n": 1, "l": [true]}').cases[0].values == {"n": 1, "l": [True]}
    assert read_cases("c.csv", b"n,text\n1,NaN\n").cases[0].values == {"n": "1", "text": "NaN"}


WRONG = [
    ("c.jsonl", b'{"id": "a"}\n{"id": }\n', "c.jsonl:2:8: This line is not JSON: expecting value."),
    ("c.jsonl", b'{"a": 1, "a": 2}\n', 'c.jsonl:1:1: This line is not JSON: the key "a" stands'),
    ("c.jsonl", b'{"a": NaN}\n', "c.jsonl:1:1: This line is not JSON: NaN is no JSON number."),
    ("c.jsonl", b"[1]\n", "c.jsonl:1:1: A case is a mapping"),
    ("c.jsonl", b"{}\n", "c.jsonl:1:1: This case is empty."),
    ("c.jsonl", b'{"id": "a"}\n\xff\n', "c.jsonl:2:1: This line is not UTF-8."),
    ("c.jsonl", b"", "c.jsonl:1:1: There are no cases in this file."),
    ("c.csv", b"id,text\n", "c.csv:1:1: There are no cases in this file."),
    ("c.yaml", b"# nothing\n", "c.yaml:1:1: There are no cases in this file."),
    ("c.json", b"[]", "c.json:1:1: There are no cases in this file."),
    ("c.jsonl", b'{"id": true}\n', "c.jsonl:1:1: The `id` of a case is text or a whole number."),
    ("c.csv", b"id,t\na,1\n,2\n", "c.csv:3:1: The `id` of this case is empty."),
    (
        "c.jsonl",
        b'{"id": "a", "n": 1}\n{"id": "a", "n": 2}\n',
        'c.jsonl:2:1: The id "a" stands at c.jsonl:1 already.',
    ),
    (
        "c.jsonl",
        b'{"id": "A-1"}\n{"id": "a_1"}\n',
        'c.jsonl:2:1: The id "a_1" makes the same name as "A-1" at c.jsonl:1',
    ),
    (
        "c.jsonl",
        b'{"t": 1}\n{"t": 1}\n',
        "c.jsonl:2:1: This case is the same as the one at c.jsonl:1.",
    ),
    ("c.csv", b"id,text\na,b,c\n", "c.csv:2:1: This row has 3 fields, but the header has 2."),
    ("c.csv", b"id,id\na,b\n", 'c.csv:1:1: Two columns are called "id".'),
    ("c.csv", b"id,\na,b\n", "c.csv:1:1: A column has no name."),
    ("c.csv", b'id\n"a\n', "c.csv:2:1: This is not CSV: unexpected end of data."),
    ("c.json", b'[\n{"id": "a"},\n]', "c.json:3:1: This is no list in JSON: Expecting value."),
    ("c.json", b'{"id": "a"}', "c.json:1:1: This is no list in JSON: expected `[`."),
    ("c.json", b'[{"id": "a"}] x', "c.json:1:14: This is no list in JSON: there is more after"),
    (
        "c.json",
        b"[" + b"9" * 5000 + b"]",
        "c.json:1:2: Of the value that begins here: a number has",
    ),
    (
        "c.json",
        b"[" * 9000,
        "c.json:1:2: Of the value that begins here: it is nested more than 100",
    ),
    (
        "c.json",
        b'[{"a": 1},\n  {"a": NaN}]',
        "c.json:2:3: Of the value that begins here: NaN is no",
    ),
    (
        "c.csv",
        b"id;text\na;b\n",
        "c.csv:1:1: Columns are separated by semicolons here. Use commas.",
    ),
    ("c.csv", b"id\ttext\na\tb\n", "c.csv:1:1: Columns are separated by tabs here. Use commas."),
    ("c.yaml", b"id: a\n", "c.yaml:1:1: This file holds one list of cases"),
    ("c.yaml", b"- {id: a}\n---\n- {id: b}\n", "c.yaml:3:1: This file holds one list of cases"),
]


@pytest.mark.parametrize(("path", "data", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_line(path: str, data: bytes, said: str) -> None:
    (problem,) = read_cases(path, data).problems
    assert str(problem).startswith(said)


@pytest.mark.parametrize("path", ["c.jsonl", "c.json", "c.csv", "c.yaml"])
def test_a_file_has_10_000_cases_at_most(path: str) -> None:
    rows = [{"id": f"a{number}"} for number in range(CASES_LIMIT + 1)]
    written = {
        "c.jsonl": "\n".join(map(json.dumps, rows)),
        "c.json": json.dumps(rows),
        "c.csv": "id\n" + "".join(f"{row['id']}\n" for row in rows),
        "c.yaml": "".join(f"- id: {row['id']}\n" for row in rows),
    }[path]
    (problem,) = read_cases(path, written.encode()).problems
    assert "A file may have 10,000 cases." in problem.message
