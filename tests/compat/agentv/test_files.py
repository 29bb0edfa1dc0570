"""Eval files: how suites are found, and their spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.agentv import agentv, problems, read

CASE = "{id: one, expected_outcome: Good, input: Hello}"


@pytest.mark.parametrize(
    "name", ["evals/suite.yaml", "suite.yml", "deep/er/x.eval.yaml", "EVAL.yaml"]
)
@states("Suites are YAML files (`.yaml`, `.yml`)")
def test_suites_are_found_by_what_they_hold(name: str, tmp_path: Path) -> None:
    snapshot = read(agentv(tmp_path / "repo", {name: f"evalcases: [{CASE}]\n"}))
    assert snapshot.problems == ()
    assert len(snapshot.catalogue.evals) == 1


@pytest.mark.parametrize("key", ["evalcases", "eval_cases", "cases", "tests"])
@states("Cases stand under `evalcases`; later under `eval_cases`, `cases` and `tests`")
def test_every_spelling_of_cases(key: str, tmp_path: Path) -> None:
    snapshot = read(agentv(tmp_path / "repo", {"evals/a.yaml": f"{key}: [{CASE}]\n"}))
    assert snapshot.problems == ()
    assert len(snapshot.catalogue.fixtures) == 1


@pytest.mark.parametrize("key", ["expected_outcome", "outcome", "criteria"])
@states("What a good response contains stands under `expected_outcome`, `outcome` or `criteria`")
def test_every_spelling_of_outcomes(key: str, tmp_path: Path) -> None:
    suite = f"tests: [{{id: one, {key}: Good, input: Hello}}]\n"
    (fixture,) = read(agentv(tmp_path / "repo", {"a.eval.yaml": suite})).catalogue.fixtures
    assert fixture.reference is not None
    assert fixture.reference.outcome == "Good"


@states("A case of `tests` needs `criteria`, `expected_output`, assertions or turns")
def test_a_case_without_an_outcome(tmp_path: Path) -> None:
    suite = "tests:\n  - {id: a, input: 6 * 7?, expected_output: '42'}\n"
    (fixture,) = read(agentv(tmp_path / "some", {"evals/a.yaml": suite})).catalogue.fixtures
    assert [one.type for one in fixture.assertions] == ["llmJudge"]
    (said,) = problems(agentv(tmp_path / "none", {"a.eval.yaml": "tests: [{id: a, input: b}]\n"}))
    assert "Nothing is expected of the answer" in said


@states("JSONL: each line is a case, blank lines are passed over")
@states(
    "A YAML file of the same base name holds description, dataset and execution of a JSONL file"
)
def test_json_lines_with_a_companion(tmp_path: Path) -> None:
    lines = '{"id": "a", "expected_outcome": "Good", "input": "Hi"}\n\n'
    lines += '{"id": "b", "expected_outcome": "Good", "input": "Bye"}\n'
    companion = "description: Greetings\ndataset: greetings\nexecution: {target: other}\n"
    files = {"evals/dataset.jsonl": lines, "evals/dataset.yaml": companion}
    snapshot = read(agentv(tmp_path / "repo", files))
    assert snapshot.problems == ()
    (evaluation,) = snapshot.catalogue.evals
    assert (evaluation.target_agent, evaluation.labels) == ("other", {"dataset": "greetings"})
    assert [one.place.line for one in snapshot.catalogue.fixtures] == [1, 3]


@states("Invalid JSON in a JSONL file is fatal, with the line")
def test_a_broken_line(tmp_path: Path) -> None:
    lines = '{"id": "a", "expected_outcome": "Good", "input": "Hi"}\n{"id": "b",\n{"id": 3}\n'
    files = {"evals/d.jsonl": lines, "evals/d.yaml": "execution: {target: default}\n"}
    said = problems(agentv(tmp_path / "repo", files))
    assert [one.partition(": ")[0] for one in said] == ["evals/d.jsonl:2:1", "evals/d.jsonl:3:1"]
    assert "This line is not JSON" in said[0]
    assert "Expected text, got number 3" in said[1]


@states("`tests` may name a file or a folder, and its entries files (`file://cases/*.yaml`)")
def test_cases_in_other_files(tmp_path: Path) -> None:
    files = {
        "a.eval.yaml": "tests: ./cases.yaml\n",
        "cases.yaml": f"- {CASE}\n",
        "b.eval.yaml": "tests: cases/\n",
        "cases/first/case.yaml": "{criteria: Good, input: Hello}\n",
        "c.eval.yaml": "tests: [file://more/*.jsonl]\n",
        "more/x.jsonl": '{"id": "x", "criteria": "Good", "input": "Hello"}\n',
    }
    snapshot = read(agentv(tmp_path / "repo", files))
    assert snapshot.problems == ()
    assert [one.name for one in snapshot.catalogue.fixtures] == ["a-one", "b-first", "c-x"]


@states("A suite whose cases are `tests` adds its own assertions to those of each case")
@states("`execution.skip_defaults` leaves out what the suite adds")
def test_suite_assertions_are_appended(tmp_path: Path) -> None:
    suite = """\
assertions: [{name: shared, type: contains, value: a}]
tests:
  - {id: both, input: Hello, assertions: [{name: own, type: contains, value: b}]}
  - {id: own, input: Hello, execution: {skip_defaults: true},
     assertions: [{name: own, type: contains, value: b}]}
"""
    both, own = read(agentv(tmp_path / "repo", {"a.eval.yaml": suite})).catalogue.fixtures
    assert [one.name for one in both.assertions] == ["own", "shared"]
    assert [one.name for one in own.assertions] == ["own"]


@states("Unknown keys are ignored", differs="near misses of known keys are errors, others ignored")
def test_near_misses_of_keys(tmp_path: Path) -> None:
    suite = """\
evalcases:
  - {id: one, expected_outcome: Good, input: Hello, note: mine, expected_ouput: Hi}
exection: {target: other}
"""
    said = problems(agentv(tmp_path / "repo", {"evals/a.yaml": suite}))
    assert said[0].startswith("evals/a.yaml:2:65: evalcases[0].expected_ouput: Unknown key")
    assert said[0].endswith('Did you mean "expected_output"?')
    assert said[1:] == [
        'evals/a.yaml:3:1: exection: Unknown key "exection". Did you mean "execution"?'
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("evals/a.yaml", f"evalcase: [{CASE}]\n", '"evalcase" is no key of one'),
        ("evals/a.yaml", f"testcases:\n  - {CASE}\n", '"testcases" is no key of one'),
        ("a.eval.yaml", "execution: {target: default}\n", "This suite has no cases"),
        ("a.eval.yaml", "$schema: agentv-eval-v2\n", "This suite has no cases"),
        ("evals/a.yaml", "evalcases: []\n", "There are no cases here"),
        ("evals/a.yaml", "evalcases: many\n", "There is no file evals/many"),
        ("evals/a.yaml", "evalcases:\n  - {id: [\n", "This is not valid YAML"),
    ],
)
@states("A file without an `evalcases` array is fatal")
def test_what_is_almost_a_suite_is_told(name: str, text: str, said: str, tmp_path: Path) -> None:
    found = problems(agentv(tmp_path / "repo", {name: text}))
    assert len(found) == 1
    assert said in found[0]
    assert found[0].startswith(name)


@pytest.mark.parametrize(
    "text",
    [
        "tests:\n  - {name: unit, run: pytest}\n",
        "prompts: [p.txt]\nproviders: [openai:gpt]\ntests: [{vars: {a: 1}, assert: []}]\n",
        "version: 2\nmodels:\n  - name: m\n    tests: [unique]\n",
        "cases:\n  - {id: 1, title: A}\n",
        "execution:\n  parallel: 3\nsteps: []\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {evalcases: none}\n",
        "on: push\njobs: {tests: {runs-on: ubuntu-latest}}\n",
        "test:\n  - commands: [make]\n",
        "evaluation: [1, 2]\n",
        "tests: {a: 1}\n",
        "- tests: 1\n",
        "tests: [\n",
    ],
)
@states("Files of other tools are no suites")
def test_files_of_others_are_left_alone(text: str, tmp_path: Path) -> None:
    snapshot = read(agentv(tmp_path / "repo", {"config/other.yaml": text}))
    assert snapshot.problems == ()
    assert snapshot.catalogue.evals == ()
    assert "config/other.yaml" not in snapshot.manifest_paths


@states("All that is wrong is told in one run, each with its place")
def test_all_problems_in_one_run(tmp_path: Path) -> None:
    suite = """\
evalcases:
  - {id: one, expected_outcome: Good, input: [{role: usr, content: Hi}]}
  - {id: two, expected_outcome: Good, input: Hi, rubrics: {a: 1}}
  - {id: three, expected_outcome: Good, input: Hi,
     execution: {evaluators: [{name: x, type: llm_juge}]}}
  - {id: four, expected_outcome: Good, input: Hi,
     execution: {evaluators: [{name: x, type: tool_trajectory, mode: any_order}]}}
"""
    said = problems(agentv(tmp_path / "repo", {"evals/a.yaml": suite}))
    lines = [int(one.split(":")[1]) for one in said]
    assert lines == [2, 3, 5, 7]
    assert 'system, user, assistant or tool. Did you mean "user"?' in said[0]
    assert 'Unknown evaluator "llm_juge". Did you mean "llm_judge"?' in said[2]
    assert "needs `minimums`" in said[3]
