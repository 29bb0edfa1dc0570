"""YAML that is written into people's files: one entry more, and not another byte changed."""

from __future__ import annotations

import pytest
import yaml

from gateval.domain.base import JsonObject
from gateval.formats.native.writing import manifest_text, with_example

EXAMPLE: JsonObject = {
    "traceRef": "run/e/f#1",
    "input": {"prompt": "Say: #hi"},
    "candidateOutput": "Line one\n# two: 'x'\n",
    "humanScore": 0.0,
}

BLOCK = """\
# how we judge
kind: JudgeCalibration   # ours
spec:
    rubric: >-
      Is it
      kind?
    examples:
      # the first
      - candidateOutput: 'Go away.'
        humanScore: 0.0   # rude

      - {candidateOutput: "Hi", humanScore: 1}
      # the end
    judgeModels: [ a/b ]

# after
"""
SAME_COLUMN = "spec:\n  examples:\n  - candidateOutput: a\n    humanScore: 1\n  rubric: x\n"
ENDS_IN_A_BLOCK = (
    "spec:\n  examples:\n  - humanScore: 1\n    candidateOutput: |\n      a\n      # b\n\n"
)
KEEPS_LINES = (
    "spec:\n  examples:\n  - humanScore: 1\n    candidateOutput: |+\n      a\n\n\n  rubric: x\n"
)
NO_LINE_END = "spec:\n  rubric: x\n  examples:\n  - candidateOutput: a\n    humanScore: 1"
SEVERAL = f"---\na: 1\n---\n{SAME_COLUMN}---\n# last\nb: 2\n"


@pytest.mark.parametrize(
    ("text", "document"),
    [
        (BLOCK, 0),
        (SAME_COLUMN, 0),
        (ENDS_IN_A_BLOCK, 0),
        (KEEPS_LINES, 0),
        (NO_LINE_END, 0),
        (SEVERAL, 1),
        (BLOCK.replace("\n", "\r\n"), 0),
    ],
    ids=["comments", "same column", "block", "kept lines", "no line end", "several", "crlf"],
)
def test_one_example_more_and_nothing_else(text: str, document: int) -> None:
    grown = with_example(text, document, EXAMPLE)
    old, new = (list(yaml.safe_load_all(one)) for one in (text, grown))
    assert new[document]["spec"]["examples"] == [*old[document]["spec"]["examples"], EXAMPLE]
    old[document]["spec"]["examples"] = new[document]["spec"]["examples"]
    assert new == old
    before = text if text.endswith("\n") else text + "\n"
    left = iter(grown.splitlines(keepends=True))
    assert all(line in left for line in before.splitlines(keepends=True))
    assert ("\r\n" in grown) is ("\r\n" in text)
    assert "\n" not in grown.replace("\r\n", "") or "\r\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        '{"spec": {"examples": [{"candidateOutput": "a", "humanScore": 1}], "rubric": "x"}}',
        "# mine\nspec:\n  rubric: 'x'  # kept\n  examples: [{candidateOutput: a, humanScore: 1}]\n",
        "spec:\n  rubric: x\n  examples: []\n",
        "spec:\n  rubric: x\n",
    ],
)
def test_a_list_in_brackets_is_written_anew_and_comments_stay(text: str) -> None:
    grown = with_example(text, 0, EXAMPLE)
    old, new = yaml.safe_load(text), yaml.safe_load(grown)
    assert new["spec"]["examples"] == [*old["spec"].get("examples", []), EXAMPLE]
    assert new["spec"].get("rubric") == old["spec"].get("rubric")
    assert [line for line in text.splitlines() if "#" in line][1:] == [
        line for line in grown.splitlines() if "# kept" in line
    ]


@pytest.mark.parametrize(
    "said",
    ["yes", "012", "a: b", "# x", "\u200b", "a\tb", "{{ x }}", "- x", "  lead", "trail ", "x\n", "\n", "!tag", "&a *b", "\U0001f600", "a\u2028b", "\x07", "a\u202eb", "x\n::error::y\n", "word " * 40 + "\n::set-output", "long " * 30 + "::error::z", "##[group]x"],
)  # fmt: skip
def test_whatever_was_said_is_read_back(said: str) -> None:
    document: JsonObject = {"kind": "EvalFixture", "spec": {"input": {"payload": {"prompt": said}}}}
    text = manifest_text([document, document])
    assert list(yaml.safe_load_all(text)) == [document, document]
    assert not any(line.lstrip().startswith(("::", "##[")) for line in text.splitlines())
    assert all(char.isprintable() or char == "\n" for char in text)
