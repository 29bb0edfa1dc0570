"""What `doctor` concludes, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.setup.diagnosis import (
    ACTIONS_APP,
    Health,
    HealthCheck,
    RequiredCheck,
    about_audit_branch,
    about_history,
    about_keys,
    about_required_check,
    about_workflows,
    worst,
)
from gateval.domain.setup.gate_job import NEEDED, GateJob, lacking

GOOD = GateJob(
    path=".github/workflows/gate.yml",
    check="evals",
    events=frozenset({"pull_request"}),
    permissions=NEEDED,
    variables=frozenset({"OPENAI_API_KEY"}),
)


def problems(findings: list[HealthCheck]) -> list[str]:
    return [f"{one.seen} {one.todo}" for one in findings if one.health is Health.PROBLEM]


@pytest.mark.parametrize(
    ("permissions", "missing"),
    [
        (None, ()),
        ("write-all", ()),
        ("read-all", ("contents: write", "pull-requests: write", "checks: write")),
        ({}, ("contents: write", "pull-requests: write", "checks: write")),
        ({"contents": "write", "checks": "write"}, ("pull-requests: write",)),
        ({**NEEDED, "checks": "nonsense"}, ("checks: write",)),
        (NEEDED, ()),
    ],
)
def test_permissions(permissions: dict[str, str] | str | None, missing: tuple[str, ...]) -> None:
    assert lacking(GOOD._replace(permissions=permissions)) == missing


@pytest.mark.parametrize(
    ("job", "missing"),
    [
        ({"events": frozenset({"merge_group"})}, "pull-requests: read, checks: write"),
        ({"events": frozenset({"push"})}, "checks: write"),
        (
            {"events": frozenset({"merge_group", "pull_request"})},
            "contents: write, pull-requests: write, checks: write",
        ),
        ({"events": frozenset({"workflow_run"})}, "pull-requests: write, checks: write"),
        ({"step": "run"}, ""),
        ({"step": "run", "permissions": {}}, "contents: read"),
    ],
)
def test_what_a_job_needs_depends_on_what_it_does(job: dict[str, Any], missing: str) -> None:
    given = {"permissions": {"contents": "read"}, **job}
    assert ", ".join(lacking(GOOD._replace(**given))) == missing


def test_a_good_workflow_is_fine_and_none_is_a_problem() -> None:
    assert worst(about_workflows([GOOD])) is Health.OK
    assert "gateval init" in problems(about_workflows([]))[0]
    (said,) = problems(about_workflows([GOOD._replace(permissions=None)]))
    assert "where that only reads, no check run is written" in said


def test_what_a_token_of_its_own_may_do_is_not_in_the_workflow() -> None:
    app = GOOD._replace(permissions={"contents": "read"}, own_token=True)
    (said,) = (one for one in about_workflows([app]) if one.topic == "permissions")
    assert said.health is Health.UNKNOWN
    assert "checks: write" in said.todo


def test_a_job_that_only_runs_needs_no_permission_to_write() -> None:
    run = GOOD._replace(step="run", permissions={"contents": "read"})
    assert worst(about_workflows([run])) is Health.OK


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ({"pull_request", "pull_request_target"}, "would run a pull request's code with secrets"),
        ({"push"}, "not started by pull_request"),
    ],
)
def test_events(events: set[str], sentence: str) -> None:
    (problem,) = problems(about_workflows([GOOD._replace(events=frozenset(events))]))
    assert sentence in problem


def test_keys() -> None:
    ok = about_keys([], ["OPENAI_API_KEY"], [], [GOOD], runner=True)
    assert worst(ok) is Health.OK
    absent = about_keys([], ["ANTHROPIC_API_KEY"], [], [GOOD], runner=True)
    assert "does not hand on ANTHROPIC_API_KEY" in problems(absent)[0]
    missing = ["openai/x needs OPENAI_API_KEY."]
    assert worst(about_keys(missing, ["OPENAI_API_KEY"], [], [GOOD], runner=True)) is Health.PROBLEM
    assert (
        worst(about_keys(missing, ["OPENAI_API_KEY"], [], [GOOD], runner=False)) is Health.UNKNOWN
    )


@pytest.mark.parametrize(
    ("required", "health", "sentence"),
    [
        ({"gateval", "lint"}, Health.OK, "main requires the check gateval from GitHub Actions."),
        ({"evals"}, Health.PROBLEM, "which is the job"),
        ({"lint"}, Health.PROBLEM, "does not require"),
        (set(), Health.PROBLEM, "a failed gate can be merged"),
    ],
)
def test_the_required_check(required: set[str], health: Health, sentence: str) -> None:
    checks = [RequiredCheck(name, ACTIONS_APP) for name in required]
    finding = about_required_check("main", checks, [GOOD])
    assert finding.health is health
    assert sentence in finding.seen


LABELS = frozenset({"opened", "labeled", "unlabeled"})
WRITES = {**NEEDED, "contents": "write"}


@pytest.mark.parametrize(
    ("permissions", "types", "sentence"),
    [
        ({**NEEDED, "contents": "read"}, LABELS, "no label counts, for nothing can be recorded"),
        (WRITES, frozenset[str](), "no run starts on labeled or unlabeled"),
        (WRITES, LABELS - {"unlabeled"}, "no run starts on unlabeled,"),
        (WRITES, LABELS, "runs on labels, and may record them"),
        ("write-all", LABELS, "runs on labels"),
        (None, LABELS, "runs on labels"),
    ],
)
def test_what_labels_need_is_a_note(
    permissions: dict[str, str] | str | None, types: frozenset[str], sentence: str
) -> None:
    found = about_workflows([GOOD._replace(permissions=permissions, types=types)])
    (note,) = [one for one in found if one.topic == "labels"]
    assert note.health is Health.OK
    assert sentence in note.seen
    assert bool(note.todo) is ("runs on" not in sentence)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"non_fast_forward", "deletion"}, "keeps gateval-audit as it was written"),
        ({"deletion"}, "from force pushes; the chain"),
        (set(), "from force pushes and deletion;"),
    ],
)
def test_what_keeps_the_audit_log(rules: set[str], sentence: str) -> None:
    finding = about_audit_branch("gateval-audit", rules)
    assert finding.health is Health.OK
    assert sentence in finding.seen


@pytest.mark.parametrize(
    ("branch", "joined", "shallow", "health"),
    [
        ("main", True, False, Health.OK),
        ("main", True, True, Health.OK),
        ("main", False, True, Health.PROBLEM),
        (None, False, False, Health.PROBLEM),
    ],
)
def test_history(branch: str | None, *, joined: bool, shallow: bool, health: Health) -> None:
    for runner in (True, False):
        finding = about_history(branch, joined=joined, shallow=shallow, runner=runner)
        assert finding.health is health
        if health is Health.PROBLEM:
            local = "--unshallow" if branch else "git remote set-head origin --auto"
            assert ("fetch-depth: 0" if runner else local) in finding.todo
