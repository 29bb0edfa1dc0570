"""The cheap looks at a file: they may be wrong one way only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.fixture import OWN_CHECKS
from gateval.formats.native.manifests import (
    looks_like_manifest,
    may_hold_agent,
    may_name_files,
    targets,
)
from gateval.formats.registry import SUFFIXES, formats_of
from tests.helpers.manifests import parse
from tests.helpers.tiers import examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Agent", True),
        ("kind: 'Agent'\n", True),
        ("{kind: Agent}", True),
        ("kind: !!str Agent", True),
        ("kind: &x Agent", True),
        ("kind: |-\n  Agent", True),
        (r'kind: "\x41gent"', True),
        (r'kind: "\u0041gent"', True),
        (r'kind: "\U00000041gent"', True),
        ('kind: "A\\\ngent"', True),
        ('kind: "A\\\r\ngent"', True),
        ("kind: Eval\nspec: {targetAgent: x}", False),
        ("description: two Agents", False),
        ("kind: AgentWorkload", False),
        (r'prompt: "a\nb"', False),
        ("", False),
    ],
)
def test_whether_a_file_may_hold_an_agent(text: str, expected: bool) -> None:
    assert may_hold_agent(text.encode()) is expected


def test_an_agent_in_another_encoding_is_not_passed_over() -> None:
    assert may_hold_agent("kind: Agent".encode("utf-16"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Eval\nspec:\n  targetAgent: desk\n", {"desk"}),
        ("targetAgent: 'desk' # ours\n", {"desk"}),
        ('{"targetAgent": "desk"}', {"desk"}),
        ("targetAgent: a\r\n---\ntargetAgent: b.c", {"a", "b.c"}),
        ("targetAgent: &x desk\n", {None}),
        ("targetAgent: >-\n  desk\n", {None}),
        ('targetAgent: "{{ case.agent }}"\n', {None}),
        ("kind: Agent", set()),
    ],
)
def test_which_agents_evals_are_about(text: str, expected: set[str | None]) -> None:
    assert targets(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: EvalFixture\ntype: script", True),
        ("kind: EvalFixture\n{type: python}", True),
        ("kind: EvalFixture\ntype: 'script'", True),
        ('kind: EvalFixture\ntype: "s\\x63ript"', True),
        ('kind: "Eval\\x46ixture"\ntype: script', True),
        ("kind: EvalFixture\ntype: description", False),
        ("kind: EvalFixture\ntype: contains, value: pythonic", False),
        ("kind: Eval\ntype: script", False),
        ("", False),
        ("kind: EvalFixture\n  messages: [{content: [{path: a.png}]}]", True),
        ("kind: EvalFixture\n  turns: [{user: [{'path': a.png}]}]", True),
        ("kind: EvalFixture\n  cases: {file: path.csv}", False),
        ("kind: EvalFixture\n  playground: {folder: world}", True),
        ("kind: Benchmark\n  playground: {folder: world}", True),
        *((f"kind: EvalFixture\ntype: {kind}", True) for kind in OWN_CHECKS),
    ],
)
def test_whether_a_file_may_name_others(text: str, expected: bool) -> None:
    assert may_name_files(text.encode()) is expected


WORD = st.sampled_from(
    ["Agent", "target", "A", "gent", '"', "'", "\\\n", "\\x41", "\\u0041", " ", "\n  ", "&x ", "|-"]
)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(WORD, min_size=1, max_size=5).map("".join))
def test_no_agent_slips_past(kind: str) -> None:
    text = f"apiVersion: gateval/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n".encode()
    if any(isinstance(one, Agent) for one in parse(text).manifests):
        assert may_hold_agent(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: gateval/v1", True),
        ('{"apiVersion": "pai.io/v1"}', True),
        ("# about gateval/v1", True),
        ("apiVersion: gateval/v2", True),
        ("apiVersion: apps/v1\nkind: Agent", False),
        ("apiVersion: agents.example.io/v1\nkind: Eval\nspec: {}", False),
        ("apiVersion: kagent.dev/v1alpha1\nkind: Agent\nspec: {}", False),
        ("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway", False),
        ("kind: Deployment\nspec: {}", False),
        ("gateval", False),
        ("apiVersion: gatevl/v1\nkind: Agent", True),
        ("{apiVersion: 'gateval/1', kind: Eval}", True),
        ("apiVersion: v1\nkind: EvalFixture\n", True),
        ("kind: Eval\nspec: {}", True),
    ],
)
def test_what_looks_like_a_manifest(text: str, expected: bool) -> None:
    assert looks_like_manifest(text.encode()) is expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_manifest_in_another_encoding_is_refused_and_not_passed_over(encoding: str) -> None:
    data = "apiVersion: gateval/v1\nkind: Eval\n".encode(encoding)
    assert looks_like_manifest(data)
    assert parse(data).problems


def test_the_registry_finds_the_format() -> None:
    data = b"apiVersion: gateval/v1\n"
    assert [one.name for one in formats_of("a/b.yml", data)] == ["native"]
    assert [one.name for one in formats_of("a/b.yml", b"# gateval/v1\ntests: []\n")] == [
        "native",
        "agentv",
    ]
    assert formats_of("a/b.md", data) == ()
    assert formats_of("a/b.yaml", b"a: 1\n") == ()
    assert SUFFIXES == (".yaml", ".yml", ".eval.jsonl", ".yaml.age", ".yml.age")
