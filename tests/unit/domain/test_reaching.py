"""What GitHub starts: expressions, filter patterns, and groups, as tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.setup.gate_job import (
    MOST_FILES,
    EventFilter,
    GateJob,
    Line,
    Occasion,
    UnknownValue,
    a_push,
    answer,
    chosen,
    holds,
    names_in,
    shared_group,
)

FACTS: dict[str, Any] = {
    "github.event_name": "pull_request",
    "github.event.label": None,
    "github.event.number": 7.0,
    "github.repository": UnknownValue("github.repository"),
    "head": UnknownValue("github.repository"),
    "labels.*.name": ("Bug", "ai-evals"),
    "draft": False,
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("true", True),
        ("false", False),
        ("null", False),
        ("''", False),
        ("'false'", True),
        ("0", False),
        ("github.event_name == 'PULL_REQUEST'", True),
        ("${{ github.event_name != 'push' }}", True),
        ("github['event_name'] == 'pull_request'", True),
        ("github.event.label.name == 'x'", False),
        ("!github.event.label", True),
        ("github.event.number >= 7 && github.event.number < 8", True),
        ("contains(labels.*.name, 'bug')", True),
        ("contains(fromJSON('[\"a\", \"b\"]'), 'c')", False),
        ("contains('It''s here', 'IT''S')", True),
        ("startsWith(github.event_name, 'pull') && endsWith(github.event_name, 'x')", False),
        ("head == github.repository", True),
        ("head != github.repository", False),
        ("head == 'acme/shop'", None),
        ("vars.x", None),
        ("vars.x && false", False),
        ("vars.x || draft == false", True),
        ("vars.x || draft", None),
        ("!vars.x", None),
        ("always() && !cancelled() && success()", True),
        ("failure() || cancelled()", False),
        ("hashFiles('**') != ''", None),
        ("(draft || true) && !(draft && true)", True),
        ("'1' == 1", True),
        ("draft == 0", True),
        ("a ${{ true }}", None),
        ("true &&", None),
        ("true true", None),
        ("fromJSON('{')", None),
        ("contains('a')", None),
        ("(" * 100 + "true" + ")" * 100, None),
        ("true || " * 2_000 + "true", None),
    ],
)
def test_conditions(text: str, result: bool | None) -> None:
    assert holds(text, FACTS) is result


@given(st.text(max_size=60))
def test_no_condition_is_too_odd(text: str) -> None:
    assert holds(text, FACTS) in {True, False, None}
    names_in(f"${{{{{text}}}}}")


@pytest.mark.parametrize(
    ("patterns", "text", "result"),
    [
        (("main",), "main", True),
        (("main",), "main2", False),
        (("rel*",), "release", True),
        (("rel*",), "rel/1", False),
        (("rel**",), "rel/1", True),
        (("**.md",), "docs/a.md", True),
        (("*.md",), "docs/a.md", False),
        (("**/docs/**",), "docs/a.md", True),
        (("**/docs/**",), "x/docs/a.md", True),
        (("docs/**", "!docs/**/*.md"), "docs/a/b.md", False),
        (("docs/**", "!docs/**/*.md", "docs/a/**"), "docs/a/b.md", True),
        (("v[12].[0-9]+",), "v1.10", True),
        (("v[12].[0-9]+",), "v3.0", False),
        (("*.jsx?",), "page.js", True),
        (("a\\*",), "a*", True),
        (("[",), "[", True),
        (("[z-a]",), "z", False),
    ],
)
def test_filter_patterns(patterns: tuple[str, ...], text: str, *, result: bool) -> None:
    assert chosen(patterns, text) is result


JOB = GateJob(
    path=".github/workflows/gate.yml",
    check="evals",
    events=frozenset({"pull_request"}),
    permissions=None,
    variables=frozenset(),
)


def test_a_filter_of_paths_looks_at_the_first_files_only() -> None:
    job = JOB._replace(filters={"pull_request": EventFilter(paths=("agents/**",))})
    told = a_push("acme/shop", "main")
    many = ("docs/a.md",) * MOST_FILES
    assert answer(job, told._replace(files=("agents/a",))).runs is True
    assert answer(job, told._replace(files=many)).runs is False
    assert answer(job, told._replace(files=(*many, "agents/a"))).runs is None


def test_an_event_or_type_that_is_not_listed_starts_nothing() -> None:
    assert answer(JOB, Occasion("merge_group", "checks_requested")).runs is False
    assert answer(JOB, Occasion("pull_request", "labeled")).runs is False
    assert answer(JOB, a_push("", None)) == (True, "", 1)


@pytest.mark.parametrize(
    ("group", "shared"),
    [
        ("evals", True),
        ("${{ github.workflow }}-${{ github.event_name }}", True),
        ("${{ github.repository }}-${{ github.actor }}", True),
        ("${{ github.workflow }}-${{ github.head_ref || github.run_id }}", False),
        ("${{ github.event.pull_request.number || github.ref }}", False),
        ("e-${{ github['ref'] }}", False),
        ("e-${{ github.event.pull_request.head.sha }}", False),
        ("e-${{ github.reference }}", True),
        ("${{ format('{0}', github.event.number) }}", False),
    ],
)
def test_groups(group: str, *, shared: bool) -> None:
    found = shared_group(JOB._replace(groups=(Line(group, 3),)))
    assert (found is not None) is shared
