"""What is read without a parser is what the parser reads, places included."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.problems import Problem
from gateval.formats.plain_yaml import DEEPEST, LONGEST, Read, read_plain
from gateval.formats.yaml_document import Branching
from gateval.formats.yaml_reader import parsed, read_documents
from tests.helpers.tiers import examples

ROOT = Path(__file__).parents[3]
MANIFESTS = sorted(
    file.read_text(encoding="utf-8")
    for folder in ("examples", "tests/data/pai", "tests/data/agentv")
    for file in (ROOT / folder).glob("**/*.y*ml")
)
SHORT = [text for text in MANIFESTS if len(text) < 3_000]
SNIPPETS = (
    "[]", "{}", "null", "~", "true", "-1", ".5", ".inf", "1e999", '"', "'", "&a ", "*a", "!x ",
    "<<: 1", "? ", "- ", "-", ": ", ":", "\n", "\n\n", "\n---\n", "|\n", "|-\n", ">\n", " #", "#",
    "{", "}", "[", "]", ", ", ",", " ", "  ", "   \n", "\n  ", "\n    ", "...\n", "%", "@", "é",
    "key:\n", "key: |\n  x\n", "\n- a\n", "a: b", "{a: b}", "[a, b]", '"a: b"', "'#'",
)  # fmt: skip


@st.composite
def written(draw: st.DrawFn) -> str:
    """Some lines of a manifest, moved to the left, with strange things here and there."""
    lines = draw(st.sampled_from(SHORT)).splitlines(keepends=True)
    start = draw(st.integers(0, len(lines)))
    lines = lines[start : start + draw(st.integers(1, 20))]
    margin = min((len(one) - len(one.lstrip(" ")) for one in lines if one.strip()), default=0)
    text = "".join(one[margin:] or "\n" for one in lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 4)))
        text = text[:at] + draw(st.sampled_from(SNIPPETS)) + text[end:]
    return text


def places(marks: Branching | int) -> object:
    """All places, with the order of their keys."""
    if isinstance(marks, int):
        return marks
    inner = [(step, places(entry)) for step, entry in marks.entries.items()]
    return (marks.mark, [*marks.keys.items()], inner)


def by_parser(text: str) -> tuple[list[tuple[str, object]], tuple[Problem, ...]]:
    documents, problems = parsed("a.yaml", text.encode())
    return [(repr(one.data), places(one.marks)) for one in documents], problems


def plainly(text: str) -> list[Read] | None:
    return read_plain(text, text.encode())


def agrees(text: str) -> bool:
    """Whether it is plain; if so, the parser must read the same and find nothing wrong."""
    found = plainly(text)
    if found is None:
        return False
    documents, problems = by_parser(text)
    assert problems == ()
    assert [(repr(data), places(marks)) for data, marks in found] == documents
    return True


@settings(max_examples=examples(1_000), deadline=None)
@given(written())
def test_whatever_is_read_plainly_is_what_the_parser_reads(text: str) -> None:
    agrees(text)


def test_most_manifests_are_plain() -> None:
    assert sum(map(agrees, MANIFESTS)) > 0.75 * len(MANIFESTS)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n",
        "---\na: 1\n",
        "# c\n\na: b # c\n---\n- 1\n- b\n",
        "- a: 1\n  b: [x, {y: z}]\n-   c: d\n    e: f\n",
        "a:\n- b\n- c: |-\n    d\n\n    # e\n\n    f\n  g: ''\nh: \"\"\n",
        "a: |\n  b\n\n\nc: true\n",
        "a: # c\n  b: {}\n  c: []\n  d: { e: 1 , f: 2 }\n",
        'url: http://a.b/c#d\nsaid: it\'s {so}, "or" so:no\n',
    ],
)
def test_plain_documents(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "a: 1",
        "a:\n",
        "a: 1\na: 2\n",
        "{a: 1, a: 2}\n",
        "a: b: c\n",
        "a: b\n  c\n",
        "a: b\n c: d\n",
        "a: &x 1\nb: *x\n",
        "a: !!int 1\n",
        "true: 1\n",
        ".5: 1\n",
        "a: .inf\n",
        "a: {b: 1,}\n",
        "a: [b\n  ]\n",
        'a: "\\x41"\n',
        "a: 'it''s'\n",
        "a: >\n  b\n",
        "a: |2\n   b\n",
        "a: |\n\n  b\n",
        "a: |\n  b\n \n",
        "a: |\nb: 1\n",
        "a:\tb\n",
        "a: \x01\n",
        "a: é\n",
        "a: 1\n---\n",
        "a: 1\n...\n",
        "%YAML 1.2\n---\na: 1\n",
        "- - a\n",
        "? a\n: b\n",
        " a: 1\n",
    ],
)
def test_what_is_not_plain_is_left_to_the_parser(text: str) -> None:
    assert plainly(text) is None
    documents, problems = read_documents("a.yaml", text.encode())
    assert ([(repr(one.data), places(one.marks)) for one in documents], problems) == by_parser(text)


@pytest.mark.parametrize(
    "nested",
    [
        lambda levels: "a: " + "{a: " * (levels - 1) + "1" + "}" * (levels - 1) + "\n",
        lambda levels: (
            "".join(f"{'  ' * at}a:\n" for at in range(levels - 1)) + f"{'  ' * (levels - 1)}a: 1\n"
        ),
    ],
    ids=["flow", "lines"],
)
def test_what_is_deep_or_large_is_left_to_the_parser(nested: object) -> None:
    assert callable(nested)
    assert agrees(nested(DEEPEST))
    assert not agrees(nested(DEEPEST + 1))
    line = "a: 1\n"
    comment = "#" * (LONGEST - len(line) - 1) + "\n"
    assert agrees(line + comment)
    assert not agrees(line + "#" + comment)
