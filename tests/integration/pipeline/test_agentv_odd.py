"""Odd files of AgentV: whatever would be passed over in silence is told, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.manifests.catalogue_checks import warnings_of
from gateval.formats.agentv.recognition import kind_of, may_be_suite
from gateval.formats.yaml_reader import read_documents
from tests.helpers.agentv import TARGETS, agentv, problems, read

CASE = "{id: one, criteria: Good, input: Hello}"
OLD = "{id: one, expected_outcome: Good, input: Hello}"
LINE = '{"id": "a", "expected_outcome": "Good", "input": "Hello"}\n'
ALIKE = "targets:\n  - {name: A b, provider: openai, model: m}\n  - {name: a-b, provider: openai, model: n}\n"  # fmt: skip


def case(body: str) -> dict[str, str]:
    return {"a.eval.yaml": f"tests:\n  - {{id: one, criteria: Good, input: Hello, {body}}}\n"}


def evaluator(body: str) -> dict[str, str]:
    return case(f"assertions: [{{{body}}}]")


COMPOSITE = "type: composite, evaluators: [{name: a, type: contains, value: x}]"
RUBRIC = "type: rubrics, criteria: [{id: r, outcome: x, %s}]"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.yaml": f"evalcases: [{OLD}]\ntests: [{CASE}]\n"}, "`evalcases` and `tests` are one"),
        (case("input_messages: Other"), "`input` and `input_messages` are one thing here"),
        (case("outcome: Other"), "`outcome` and `criteria` are one thing here"),
        (case("sidecar: {a: 1}, metadata: {a: 2}"), "`sidecar` and `metadata` are one thing"),
        (case("assertions: [x], execution: {evaluators: [y]}"), "`execution.evaluators` and"),
        (case("turns: [{input: a, assertions: [x], assert: [y]}]"), "turns[0].assert: `assert`"),
        ({"a.yaml": f"dataset: x\nscenarios: [{OLD}]\n"}, '"scenarios" is no key of one'),
        ({"a.yaml": f"evlcase: [{OLD}]\n"}, '"evlcase" is no key of one'),
        ({"a.yaml": "tests: [{id: one, expected_outcom: Good, input: a}]\n"}, '"expected_outcome"?'),
        ({"a.eval.yaml": "tests: []\n"}, "There are no cases here."),
        ({"a.eval.yaml": "tests: {}\n"}, "Expected a list of cases"),
        ({"a.yaml": "dataset: a\n", "a.eval.yaml": "dataset: b\n", "a.jsonl": LINE}, "already."),
        ({"a.yaml": f"evalcases: [{OLD}]\n", "a.jsonl": LINE}, "a.jsonl holds cases, too"),
        ({"a.eval.yaml": "tests: ./c\n", "c/x/case.yaml": CASE, "c/y/cases.yaml": CASE}, "c/y/cas"),
        ({"a.eval.yaml": f"execution: {{targets: [A b, a-b]}}\ntests: [{CASE}]\n"}, "same name"),
        ({"a.eval.yaml": f"execution: {{target: A b}}\ntests: [{CASE}]\n", "b.eval.yaml": f"execution: {{target: a-b}}\ntests: [{CASE}]\n"}, "makes the same name (a-b)"),
        (case("execution: {trials: {count: 3}}"), "have the same `trials` here"),
        (case("execution: {targets: []}"), "Must have at least 1 entry."),
        ({"a.eval.yaml": "tests: [{id: one, criteria: Good, input: [{role: user, content: [{type: [text], value: x}]}]}]\n"}, "A block is of type"),
        (case("turns: []"), "A conversation needs `turns`."),
        (evaluator("type: contains, value: x, negate: 'true'"), "Expected true or false"),
        (evaluator("type: latency"), "needs `threshold`"),
        (evaluator("type: cost, max_usd: 5"), "needs `budget`"),
        (evaluator("type: equals"), "needs `value`"),
        (evaluator("type: llm-grader, prompt: ''"), "This prompt is empty."),
        ({**evaluator("type: llm-grader, prompt: a.md"), "a.md": "\n"}, "a.md is empty."),
        (evaluator("type: field-accuracy, fields: [{path: a, match: date, formats: [QQ]}]"), "`QQ`"),
        (evaluator("type: composite, aggregator: {type: threshold}, evaluators: [x]"), "needs `thre"),
        (evaluator(f"{COMPOSITE}, aggregator: {{type: code_judge}}"), "needs `path`"),
        (evaluator(f"{COMPOSITE}, aggregator: {{type: weighted_average, wieghts: {{}}}}"), "weights"),
        (evaluator(f"{COMPOSITE}, aggregator: {{type: weighted_average, weights: [1]}}"), "mapping"),
        (evaluator(f"{COMPOSITE}, aggregator: {{type: weighted_average, weights: {{b: 1}}}}"), '"b"'),
        (evaluator(f"{COMPOSITE}, aggregator: {{type: weighted_average, weights: {{a: -1}}}}"), "0 on"),
        (evaluator(f"{COMPOSITE}, assertions: [y], aggregator: {{type: weighted_average}}"), "one th"),
        (evaluator("type: composite, aggregator: {type: weighted_average}, evaluators: [{name: a, type: contains, value: x}, {name: a, type: contains, value: y}]"), "Two evaluators"),
        (evaluator(RUBRIC % "score_ranges: {}"), "`score_ranges` is a list"),
        (evaluator(RUBRIC % "score_ranges: many"), "`score_ranges` is a list"),
        (evaluator(RUBRIC % "score_ranges: {0: a, 00: b}"), "Two ranges begin with the same"),
        (evaluator(RUBRIC % "score_ranges: [{score_rnge: [0, 10], outcome: a}]"), '"score_range"?'),
        (evaluator(RUBRIC % "required_min_score: many"), "Expected a number"),
        (evaluator(RUBRIC % "min_score: many"), "Expected a score above 0"),
        (evaluator("type: code-grader, command: [python3, x.py], cwd: nowhere"), "nowhere (`cwd`)"),
        (evaluator("type: code-grader, command: [python3, x.py], cwd: ../.."), "../.. (`cwd`)"),
        (evaluator("type: composite, aggregator: {type: weighted_average}, evaluators: [{include: no}]"), "needs `type`"),
        (case("assertions: [{include: no}]"), 'no file ".agentv/templates/no.yaml"'),
    ],
)  # fmt: skip
def test_it_is_told(files: dict[str, str], said: str, tmp_path: Path) -> None:
    found = problems(agentv(tmp_path / "repo", files, targets=TARGETS + ALIKE.partition("\n")[2]))
    assert any(said in one for one in found), found


def test_spellings_that_say_the_same_are_one(tmp_path: Path) -> None:
    files = case("input_messages: Hello, outcome: Good")
    assert problems(agentv(tmp_path / "repo", files)) == []


@pytest.mark.parametrize("keys", ["dataset: x", "description: x", "name: x\ndescription: y"])
def test_settings_of_any_kind_make_lines_a_suite(keys: str, tmp_path: Path) -> None:
    snapshot = read(agentv(tmp_path / "repo", {"a.yaml": f"{keys}\n", "a.jsonl": LINE}))
    assert snapshot.problems == ()
    assert [one.name for one in snapshot.catalogue.evals] == ["a"]


def test_a_card_beside_data_of_others_is_left_alone(tmp_path: Path) -> None:
    files = {"a.yaml": "name: x\nlicense: MIT\n", "a.jsonl": '{"text": "Hello", "id": 1}\n'}
    snapshot = read(agentv(tmp_path / "repo", files))
    assert (snapshot.problems, snapshot.catalogue.evals) == ((), ())


def test_a_suite_in_another_encoding_is_refused(tmp_path: Path) -> None:
    repo = agentv(tmp_path / "repo", {})
    (repo.path / "a.yaml").write_bytes(f"evalcases: [{OLD}]\n".encode("utf-16"))
    repo.commit()
    assert any("not UTF-8" in one for one in problems(repo))


def test_every_line_of_a_file_is_looked_at(tmp_path: Path) -> None:
    repo = agentv(tmp_path / "repo", {})
    lines = [LINE.strip().encode(), b"\xff", b"{", b"", b"[1]"]
    (repo.path / "a.eval.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    repo.commit()
    assert [one.split(": ")[0] for one in problems(repo)] == [
        f"a.eval.jsonl:{line}:1" for line in (2, 3, 5)
    ]


def test_a_targets_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    repo = agentv(tmp_path / "repo", {**case("sidecar: {}"), "other.yaml": TARGETS}, targets="")
    (repo.path / "targets.yaml").symlink_to("other.yaml")
    repo.commit()
    (said,) = problems(repo)
    assert said.startswith("targets.yaml:1:1: A targets file must be a file")


def test_a_program_is_no_judge(tmp_path: Path) -> None:
    targets = "targets: [{name: default, provider: cli, command: run, judge_target: default}]\n"
    (said,) = problems(agentv(tmp_path / "repo", case("sidecar: {}"), targets=targets))
    assert "targets[0].judge_target: A judge is a model here" in said


def test_thresholds_that_are_nearly_the_same_are_two_evals(tmp_path: Path) -> None:
    near = "".join(
        f"  - {{id: c{number}, criteria: a, input: b, execution: {{threshold: {least}}}}}\n"
        for number, least in enumerate(("0.8", "0.80000001"))
    )
    snapshot = read(agentv(tmp_path / "repo", {"a.eval.yaml": f"tests:\n{near}"}))
    assert sorted(one.scoring.pass_score for one in snapshot.catalogue.evals) == [0.8, 0.80000001]


@pytest.mark.parametrize(
    "text",
    [
        "evalcases: []",
        "tests: [{id: a, criteria: b, input: c}]",
        "- tests: []",
        "{dataset: a}",
        "description: a",
        "assertions: []\n",
        "'eval_cases': []",
        "{x: 1, 'evalcases': []}",
        '{"x": 1,"tests":[{"id": "a", "criteria": "b", "input": "c"}]}',
        "x:\n  - {id: a, expected_outcome: b, input: c}",
        "apiVersion: v1\n---\nevalcases: []",
        'x: "\napiVersion: v1"\nevalcases: []',
    ],
)
def test_what_is_not_looked_at_is_nothing(text: str) -> None:
    documents, _ = read_documents("a.yaml", text.encode())
    if any(kind_of("a.yaml", one.data) for one in documents):
        assert may_be_suite("a.yaml", text.encode())


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.eval.yaml": f"execution: {{threshold: 0}}\ntests: [{CASE}]\n"}, "a score of 0 is enough"),
        (evaluator("type: contains, value: x, weight: 0"), "has weight, so it scores 0"),
        (evaluator("type: contains, value: x, weight: 1"), ""),
    ],
)  # fmt: skip
def test_what_is_decided_beforehand_is_warned_of(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    warnings = warnings_of(read(agentv(tmp_path / "repo", files)).catalogue)
    assert [said in one.message for one in warnings] == [True] * bool(said)
