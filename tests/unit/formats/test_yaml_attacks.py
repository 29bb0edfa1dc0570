"""Bytes that mean harm, or were typed late at night: always a sentence with a place, and at once."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from gateval.formats.yaml_reader import BYTE_LIMIT, NODE_LIMIT, read_documents

LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (name, name, b",".join([b"*%c" % (name - 1)] * 10))
    for name in range(ord("b"), ord("k"))
)
TALL_ALIASES = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [*a%d]\n" % (number, number, number - 1) for number in range(1, 100)
)
TAG_DIRECTIVES = b"".join(b"%%TAG !t%d! x\n" % n for n in range(60_000)) + b"---\na: 1\n"

ATTACKS = [
    ("aliases that grow tenfold nine times", LAUGHS, "5:29", f"more than {NODE_LIMIT:,} values"),
    ("aliases that grow in depth", TALL_ALIASES, "64:12", "More than 64 mappings and lists"),
    ("an alias inside its own list", b"a: &a [*a]\n", "1:8", "inside the value that it names"),
    ("an alias inside its own key", b"&a {x: *a}: 1\n", "1:8", "inside the value that it names"),
    ("an alias to nothing", b"a: *b\n", "1:4", 'The alias "b" has no anchor before it.'),
    ("an alias of the document before", b"a: &b 1\n---\na: *b\n", "3:4", "no anchor before it"),
    ("flow lists in each other", b"[" * 200_000, "1:65", "More than 64 mappings and lists"),
    ("flow mappings in each other", b"{a: " * 200_000, "1:257", "More than 64 mappings"),
    ("block lists in each other", b"- " * 200_000, "1:129", "More than 64 mappings"),
    ("explicit keys in each other", b"? " * 200_000, "1:129", "More than 64 mappings"),
    (
        "block mappings in each other",
        b"".join(b" " * depth + b"a:\n" for depth in range(1_000)),
        "65:65",
        "More than 64 mappings and lists stand inside each other here.",
    ),
    ("brackets after a good document", b"a: 1\n---\n" + b"[" * 200_000, "3:65", "More than 64"),
    ("more values than anyone needs", b"[" + b"a," * 200_000 + b"]", "1:200000", "100,000 values"),
    ("more documents than anyone needs", b"--- a\n" * 150_000, "100001:5", "100,000 values"),
    ("a file of 10 MB", b"#" * 10_000_000, "1:1", f"10,000,000 bytes; {BYTE_LIMIT:,} are allowed"),
    ("60,000 tag directives", TAG_DIRECTIVES, "1:1", "too many %TAG directives"),
    ("a NUL", b"a: 1\nb: x\x00y\n", "2:5", "U+0000 cannot stand in YAML"),
    ("an escape sequence", b"a: \x1b[31m\n", "1:4", "U+001B cannot stand in YAML"),
    ("a byte that is not UTF-8", b"a: b\nb: \xc3\xa4\xe4\n", "2:5", "the byte 0xe4 cannot stand"),
    ("a surrogate in UTF-8", b"a: \xed\xa0\x80\n", "1:4", "This is not UTF-8"),
    ("UTF-16", "a: 1\n".encode("utf-16"), "1:1", "This is not UTF-8"),
    ("UTF-16 without a mark", "a: 1\n".encode("utf-16-le"), "1:2", "U+0000 cannot stand"),
    (
        "half a character by escape",
        b'a: "\\ud800"\n',
        "1:7",
        "This escape stands for no character. Write the character itself.",
    ),
    ("a line break of comments only", "# a\u2028b: 1\n".encode(), "1:4", "U+2028 breaks the line"),
    ("a line break of the nineties", b"a: 1\rb: 2\n", "1:5", "U+000D breaks the line"),
    ("a next-line character", "a: 1\n# \x85b: 1\n".encode(), "2:3", "U+0085 breaks the line"),
]


@pytest.mark.parametrize(
    ("data", "place", "message"), [a[1:] for a in ATTACKS], ids=[a[0] for a in ATTACKS]
)
def test_an_attack_is_a_sentence(data: bytes, place: str, message: str) -> None:
    began = time.process_time()
    documents, problems = read_documents("a.yaml", data)
    assert time.process_time() - began < 5
    assert len(problems) == 1
    assert str(problems[0]).startswith(f"a.yaml:{place}: ")
    assert message in problems[0].message
    assert all(document.data == {"a": 1} or document.data == "a" for document in documents)


SLIPS = [
    (b"a:\n\t- b\n", "2:1", "A tab cannot stand here. Indent with spaces."),
    (b"a:\n  b: 1\n\tc: 1\n", "3:1", "A tab cannot stand here. Indent with spaces."),
    (b"a: @b\n", "1:4", 'The character "@" cannot begin a value. Put the text in quotes.'),
    (b"a: `b`\n", "1:4", 'The character "`" cannot begin a value. Put the text in quotes.'),
    (b"a: b: c\n", "1:5", "A key cannot stand here."),
    (b"a: [b\nc: 1\n", "2:2", 'The list in "[ ]" is not closed before this.'),
    (b"a: {b: c\nd: 1\n", "2:2", 'The mapping in "{ }" is not closed before this.'),
    (b'a: "b\nc: 1\n', "1:4", "The quotes that open here are never closed."),
    (b"a: 'it's'\n", "1:8", "A key is expected here."),
    (b"a:\n  b: 1\n c: 1\n", "3:2", "A key is expected here. Check the indentation"),
    (b"a:\n  - b\n  c\n", "3:3", 'This is no key: a ": " is missing after it.'),
    (b"a: - b\n", "1:4", 'A "- " list cannot begin here.'),
    (b'a: "\\q"\n', "1:5", "This escape is not known."),
    (b"a: !x!y z\n", "1:4", "This tag is not known here. Remove it."),
    (b"%YAML 3.0\n---\na: 1\n", "1:1", "Only YAML 1.1 and 1.2 can be read."),
    (
        b"a: {{ name }}\n",
        "1:5",
        'A key must be text, not a list or a mapping. A template needs quotes: "{{ … }}".',
    ),
    ("# ä\na: ä [\nb: ü: ö\n".encode(), "3:5", "A key cannot stand here."),
]


@pytest.mark.parametrize(("data", "place", "message"), SLIPS)
def test_a_slip_is_a_sentence(data: bytes, place: str, message: str) -> None:
    _, problems = read_documents("a.yaml", data)
    assert str(problems[0]).startswith(f"a.yaml:{place}: ")
    assert message in problems[0].message


def test_documents_before_a_syntax_error_are_read() -> None:
    documents, problems = read_documents("a.yaml", b"a: 1\n---\nb: [\n---\nc: 3\n")
    assert [document.data for document in documents] == [{"a": 1}]
    assert [problem.place.line for problem in problems] == [4]


def test_several_problems_are_told_at_once() -> None:
    text = "a: 1\na: 2\nb:\n  <<: {x: 1}\n1: x\n? [y]\n: z\nc: !Sub x\n"
    documents, problems = read_documents("a.yaml", text.encode())
    assert [str(problem) for problem in problems] == [
        'a.yaml:2:1: a: The key "a" stands here twice, first in line 1.',
        'a.yaml:4:3: b: Merge keys ("<<") are not supported. Write the keys out.',
        'a.yaml:5:1: A key must be text. Put it in quotes: "1".',
        'a.yaml:6:3: A key must be text, not a list or a mapping. A template needs quotes: "{{ … }}".',
        'a.yaml:8:4: c: The tag "!Sub" is not known here. Remove it.',
    ]
    assert documents[0].problems == problems


def test_a_quoted_merge_key_is_a_key() -> None:
    documents, problems = read_documents("a.yaml", b'a: {"<<": 1}\n')
    assert (documents[0].data, problems) == ({"a": {"<<": 1}}, ())


def test_harmless_aliases_share_their_value() -> None:
    documents, problems = read_documents("a.yaml", b"a: &x {y: 1}\nb: *x\nc: &k z\n*k : d\n")
    assert problems == ()
    assert documents[0].data == {"a": {"y": 1}, "b": {"y": 1}, "c": "z", "z": "d"}


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"---\n---\n...\n", b"\xef\xbb\xbf", b"~\n"])
def test_empty_documents_are_left_out(data: bytes) -> None:
    assert read_documents("a.yaml", data) == ((), ())


def test_without_libyaml_the_reader_says_so() -> None:
    """In a process of its own, where importing PyYAML's C part fails as if it were not there."""
    code = (
        "import sys; sys.modules['yaml._yaml'] = None; sys.modules['_yaml'] = None\n"
        "from gateval.errors import EvaluationError\n"
        "from gateval.formats.yaml_reader import read_documents\n"
        "try:\n    read_documents('a.yaml', b'a: 1')\n"
        "except EvaluationError as error:\n    print(error.message, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "PyYAML was installed without libyaml" in done.stdout
    assert "Install PyYAML from a wheel" in done.stdout
