"""Fixtures made of a file of cases, in real repositories: read, changed, and kept from agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.problems import InvalidManifests
from gateval.pipeline.manifests import ManifestCache
from tests.helpers.cases import AGENT, EVAL, FIXTURE, case_repo, lines, problems, read
from tests.helpers.repo import Repo
from tests.helpers.shop import plan_of

VARS = FIXTURE.replace('"{{ case.expected }}"', '"{{ case.expected }}{{ vars.end }}"')


def test_each_case_is_a_fixture_with_its_line(tmp_path: Path) -> None:
    snapshot = read(case_repo(tmp_path / "r"))
    assert snapshot.problems == ()
    first, second, _ = select_fixtures(snapshot.catalogue.evals[0], snapshot.catalogue)
    assert (second.name, second.family) == ("refunds-c1", "refunds")
    assert str(second.place) == "evals/cases.jsonl:2:1"
    assert second.input.payload == {"prompt": "Order 1, please.", "n": 1}
    assert [one.options for one in second.assertions] == [
        {"value": "done 1"},
        {"tool": "send_email"},
    ]
    assert second.assertions[1] is first.assertions[1], "what is the same is shared"
    assert second.assertions[0].place.file == "evals/refunds.yaml"


def test_a_case_is_what_the_fixture_would_be_written_out(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r")
    made = {one.name: one.digest for one in read(repo).catalogue.fixtures}
    for n in range(3):
        text = FIXTURE.replace("  cases: {file: cases.jsonl}\n", "")
        text = text.replace("name: refunds", f"name: refunds-c{n}")
        text = text.replace('"{{ case.order }}"', str(n)).replace("{{ case.order }}", str(n))
        repo.write(f"evals/f{n}.yaml", text.replace("{{ case.expected }}", f"done {n}"))
    repo.delete("evals/refunds.yaml")
    repo.write("evals/eval.yaml", EVAL.replace("[refunds]", "[refunds-c0]"))
    repo.commit()
    assert {one.name: one.digest for one in read(repo).catalogue.fixtures} == made


@pytest.mark.parametrize("extra", ["", 'severity: "{{ case.grade }}"'])
def test_everything_in_spec_can_be_filled_in(tmp_path: Path, extra: str) -> None:
    fixture = FIXTURE.replace("  input:", f"  {extra}\n  input:")
    cases = '{"id": "a", "order": 1, "expected": "x", "grade": "high"}\n'
    cases += '{"id": "b", "order": 2, "expected": "y", "grade": "low"}\n'
    snapshot = read(case_repo(tmp_path / "r", fixture=fixture, cases=cases))
    assert snapshot.problems == ()
    severities = [one.severity.value for one in snapshot.catalogue.fixtures]
    assert severities == (["high", "low"] if extra else ["medium", "medium"])


CASES_WRONG = [
    (
        {"fixture": FIXTURE.replace("cases.jsonl", "gone.jsonl")},
        "evals/refunds.yaml:5:3: spec.cases.file: There is no file evals/gone.jsonl",
    ),
    (
        {"fixture": FIXTURE.replace("cases.jsonl", "cases.txt")},
        'evals/refunds.yaml:5:17: spec.cases.file: "cases.txt" is no file of cases: its name',
    ),
    (
        {"fixture": FIXTURE.replace("cases.jsonl", "../../cases.jsonl")},
        'evals/refunds.yaml:5:17: spec.cases.file: "../../cases.jsonl" leads out',
    ),
    (
        {"cases": '{"id": "a", "order": 1, "expected": "x"}\n{"id": "b", "order": 2}\n'},
        (
            "evals/cases.jsonl:2:1: spec.assertions[0].value: There is no `case.expected`; add it, or "
            "write `| default('')`. It fills in the text at evals/refunds.yaml:8:31."
        ),
    ),
    (
        {
            "fixture": FIXTURE.replace("type: contains, value", "type: regex, pattern"),
            "cases": lines(90, c77="(") + "",
        },
        "evals/cases.jsonl:78:1: spec.assertions[0].pattern: ",
    ),
    (
        {"fixture": FIXTURE.replace("value: ", "vlaue: ")},
        'evals/refunds.yaml:8:7: spec.assertions[0].value: The required key "value" is missing.',
    ),
    (
        {"fixture": FIXTURE.replace("case.order }}, p", "cas.order }}, p")},
        "evals/refunds.yaml:6:43: spec.input.payload.prompt: A template does not know `cas.order`",
    ),
    (
        {"fixture": FIXTURE.replace("  cases: {file: cases.jsonl}\n", "")},
        "evals/refunds.yaml:5:43: spec.input.payload.prompt: This names `case`, but there are none",
    ),
    (
        {"fixture": VARS},
        (
            'evals/eval.yaml:3:18: spec.vars: The fixture "refunds" at evals/refunds.yaml:3:18 names '
            '`vars.end`, but the Eval "support-eval"'
        ),
    ),
    (
        {"evaluation": EVAL + "  vars: {end: x}\n"},
        "evals/eval.yaml:7:10: spec.vars.end: No fixture of this Eval names `vars.end`.",
    ),
    (
        {"cases": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"},
        "evals/refunds.yaml:5:3: spec.cases.file: evals/cases.jsonl is a Git LFS pointer.",
    ),
    (
        {"cases": "x" * (ManifestCache.FILE_LIMIT + 1)},
        "evals/refunds.yaml:5:3: spec.cases.file: evals/cases.jsonl has more than 16,777,216 bytes",
    ),
]


@pytest.mark.parametrize(("files", "said"), CASES_WRONG, ids=range(len(CASES_WRONG)))
def test_what_is_wrong_is_told_once(tmp_path: Path, files: dict[str, str], said: str) -> None:
    found = problems(case_repo(tmp_path / "r", **files))
    assert found[0].startswith(said), found
    assert len(found) == len({line.partition(": ")[2] for line in found}), "nothing is said twice"


def test_a_link_is_no_file_of_cases(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r")
    repo.delete("evals/cases.jsonl")
    repo.link("evals/cases.jsonl", "../agents/support.yaml")
    repo.commit()
    (problem,) = problems(repo)
    assert "is a symbolic link or a submodule" in problem


def test_an_eval_fills_in_its_own_vars(tmp_path: Path) -> None:
    evals = f"{EVAL}  vars: {{end: '!'}}\n---\n"
    evals += EVAL.replace("support-eval", "other") + "  vars: {end: '?'}\n"
    snapshot = read(case_repo(tmp_path / "r", fixture=VARS, evaluation=evals))
    assert snapshot.problems == ()
    ends = {
        one.name: select_fixtures(one, snapshot.catalogue)[0].assertions[0].options["value"]
        for one in snapshot.catalogue.evals
    }
    assert ends == {"support-eval": "done 0!", "other": "done 0?"}
    assert len(snapshot.catalogue.fixtures) == 3


def test_what_a_case_says_of_vars_is_text(tmp_path: Path) -> None:
    """A value is filled in once: braces in it mean nothing."""
    cases = '{"id": "a", "order": "{{ vars.end }}", "expected": "{{ case.order }}"}\n'
    snapshot = read(
        case_repo(tmp_path / "r", fixture=VARS, evaluation=EVAL + "  vars: {end: x}\n", cases=cases)
    )
    (one,) = select_fixtures(snapshot.catalogue.evals[0], snapshot.catalogue)
    assert one.input.payload["n"] == "{{ vars.end }}"
    assert one.assertions[0].options == {"value": "{{ case.order }}x"}


def change(repo: Repo, path: str, text: str) -> None:
    repo.branch("edit")
    repo.write(path, text)
    repo.commit()


def test_a_change_of_the_file_alone_runs_the_cases_that_changed(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r")
    change(repo, "evals/cases.jsonl", lines(3, c1="other"))
    plan = plan_of(repo, base="main")
    assert [str(one) for one in plan.evals[0].why] == [
        "evals/cases.jsonl:2 fixture refunds-c1 changed"
    ]
    assert plan.evals[0].added == ("refunds-c1",)


def test_many_changed_cases_are_one_line_everywhere(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r", cases=lines(50))
    text = lines(50, **{f"c{n}": "other" for n in range(10, 40)})
    change(repo, "evals/cases.jsonl", "\n".join(text.split("\n")[:45]) + "\n")
    plan = plan_of(repo, base="main")
    assert [str(one) for one in plan.evals[0].why] == [
        "evals/cases.jsonl:11 30 cases of refunds changed",
        "evals/cases.jsonl:46 5 cases of refunds removed",
    ]
    assert [one.name for one in plan.removed] == ["refunds-c45 and 4 more cases of refunds"]
    said = [one.what for planned in plan.evals if planned.bar for one in planned.bar.lowered]
    assert said == [
        "assertion contains of fixture refunds changed: 30 cases, the first refunds-c10",
        "medium fixture refunds removed: 5 cases, the first refunds-c45",
    ]


def test_a_changed_var_is_an_edit_of_the_bar(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r", fixture=VARS, evaluation=EVAL + "  vars: {end: '!'}\n")
    change(repo, "evals/eval.yaml", EVAL + "  vars: {end: ''}\n")
    plan = plan_of(repo, base="main")
    (asked,) = [one for one in plan.evals if one.bar]
    assert asked.fixtures[0].assertions[0].options == {"value": "done 0!"}
    assert asked.bar is not None
    assert asked.bar.lowered


def test_no_candidate_gets_the_file(tmp_path: Path) -> None:
    program = AGENT.replace(
        "spec: {", "spec: {runtime: {type: command, command: [python3, run.py]}, "
    )
    repo = case_repo(tmp_path / "r", agent=program)
    repo.write("agents/run.py", "print(1)\n")
    repo.write("agents/cases.jsonl", lines(3))
    repo.write("evals/refunds.yaml", FIXTURE.replace("cases.jsonl", "/agents/cases.jsonl"))
    repo.delete("evals/cases.jsonl")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    assert snapshot.is_hidden("agents/cases.jsonl")
    change(repo, "agents/cases.jsonl", lines(3, c2="other"))
    plan = plan_of(repo, base="main")
    assert plan.changes == (), "cases are no code of the agent"
    assert all("agents/cases.jsonl" in hidden.paths for hidden in plan.hidden)


def test_cases_that_the_target_branch_has_broken_are_a_doubt(tmp_path: Path) -> None:
    """An Eval that names one case asks for it, though the file cannot be read any more."""
    one_case = EVAL.replace("[refunds]", "[refunds-c1]")
    repo = case_repo(tmp_path / "r", evaluation=one_case)
    repo.branch("edit")
    repo.write("agents/support.yaml", AGENT.replace("Be kind", "Be brief"))
    repo.commit()
    assert plan_of(repo, base="main").doubts == ()
    repo.checkout("main")
    repo.write("evals/cases.jsonl", "broken\n")
    repo.commit()
    assert len(problems(repo)) == 1, "nobody is told that the case does not exist"
    repo.checkout("edit")
    assert "is not JSON" in str(plan_of(repo, base="main").doubts[0])


def test_a_broken_file_at_the_base_can_be_mended(tmp_path: Path) -> None:
    repo = case_repo(tmp_path / "r", cases="not json\n")
    change(repo, "evals/cases.jsonl", lines(3))
    plan = plan_of(repo, base="main")
    assert len(plan.evals[0].fixtures) == 3
    assert plan.doubts
    change_back = repo
    change_back.write("evals/cases.jsonl", "still not\n")
    change_back.commit()
    with pytest.raises(InvalidManifests):
        plan_of(repo, base="main")
