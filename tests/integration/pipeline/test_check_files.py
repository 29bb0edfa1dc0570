"""The files of own checks: what is a change of them, and what is none. Read from git as a run does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.domain.manifests.fixture import own_checks
from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Side
from gateval.pipeline.exports import ClosureExports
from tests.helpers.repo import Repo
from tests.helpers.shop import plan_of

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""
EVALS = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: e}
spec: {targetAgent: desk, fixtures: [f]}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: f}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: script, command: [sh, rules/run.sh, --words=words.txt], include: [/lib/**]}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/agent.py", "print('hi')\n")
    repo.write("evals/e.yaml", EVALS)
    repo.write("evals/rules/run.sh", "cat deep/list.txt\n")
    repo.write("evals/rules/deep/list.txt", "one\n")
    repo.write("evals/other.txt", "not its own\n")
    repo.write("lib/shared.sh", "true\n")
    repo.write("far/target.txt", "far\n")
    repo.link("evals/rules/link.txt", "../../far/target.txt")
    repo.commit()
    repo.branch("edit")
    return repo


def why(plan: Plan) -> list[str]:
    return [reason.what for one in plan.evals if not one.bar for reason in one.why]


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("evals/rules/run.sh", True),
        ("evals/rules/deep/list.txt", True),
        ("evals/rules/new.txt", True),
        ("lib/shared.sh", True),
        ("lib/new/file.sh", True),
        ("far/target.txt", True),
        ("evals/other.txt", False),
        ("far/other.txt", False),
    ],
)
def test_which_files_are_part_of_the_fixture(repo: Repo, path: str, counts: bool) -> None:
    repo.write(path, "changed\n")
    repo.commit()
    plan = plan_of(repo)
    assert plan.changes == ()
    assert why(plan) == (["fixture f changed"] if counts else [])
    bars = [one.bar for one in plan.evals if one.bar]
    assert [low.what for bar in bars for low in bar.lowered] == (
        ['files of assertion script ["sh","rules/run.sh","--words=words.txt"] of fixture f changed']
        if counts
        else []
    )


def test_a_file_that_is_deleted_or_made_executable_counts(repo: Repo) -> None:
    repo.delete("evals/rules/deep/list.txt")
    repo.commit()
    assert why(plan_of(repo)) == ["fixture f changed"]
    repo.branch("mode", "main")
    repo.write("evals/rules/run.sh", "cat deep/list.txt\n", executable=True)
    repo.commit()
    assert why(plan_of(repo)) == ["fixture f changed"]


def test_a_folder_that_moves_as_a_whole_is_no_change(repo: Repo) -> None:
    repo.rename("evals", "tests-of-desk")
    repo.commit()
    assert why(plan_of(repo)) == []


def test_a_check_is_exported_with_its_files_and_no_manifest(repo: Repo, tmp_path: Path) -> None:
    repo.write("evals/rules/more.yaml", EVALS.replace("name: e}", "name: g}").replace("f}", "h}"))
    repo.write("evals/rules/plain.yaml", "a: 1\n")
    repo.write("evals/rules/run.sh", "true\n")
    repo.write("evals/rules/more.yaml", EVALS.partition("---")[0].replace("name: e", "name: g"))
    repo.commit()
    plan = plan_of(repo)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    exports = ClosureExports(open_repository(repo.path, repo.env), plan, scratch)
    (spec,) = own_checks(plan.evals[0].fixtures[0])
    assert spec.own is not None
    folder = asyncio.run(exports.check_folder(spec.own, plan.head, {}))
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    assert files == {
        "evals/rules/run.sh", "evals/rules/deep/list.txt", "evals/rules/link.txt",
        "evals/rules/plain.yaml", "lib/shared.sh", "far/target.txt",
    }  # fmt: skip
    hidden = {one.side: one.paths for one in plan.hidden}
    assert "evals/rules/run.sh" in hidden[Side.HEAD]
    assert "lib/shared.sh" not in hidden[Side.HEAD]


def test_an_agent_that_loses_a_file_to_a_check_is_changed_and_asked_less(repo: Repo) -> None:
    repo.write("desk/lib/tool.py", "x = 1\n")
    repo.commit()
    repo.git("branch", "-f", "main", "edit")
    another = EVALS.partition("---\n")[2].replace("f}", "g}")
    repo.write(
        "evals/e.yaml", f"{EVALS}---\n{another.replace('rules/run.sh', '../desk/lib/tool.py')}"
    )
    repo.commit()
    plan = plan_of(repo)
    (change,) = plan.changes
    assert [str(one) for one in change.reasons] == [
        "desk/lib/tool.py still there, but no longer a file of this Agent"
    ]
    assert [one.what for one in plan.lost] == [
        "Agent desk no longer depends on 1 file: desk/lib/tool.py"
    ]


TEMPLATE = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: e}
spec: {targetAgent: desk, fixtures: [f], vars: {tone: kind}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: f}
spec:
  cases: {file: cases.jsonl}
  input: {type: prompt, payload: {prompt: "{{ case.asks }}"}}
  assertions:
    - {type: script, command: [sh, rules/run.sh, "--tone={{ vars.tone }}"]}
"""


@pytest.mark.parametrize(("path", "counts"), [("rules/run.sh", True), ("other.txt", False)])
def test_the_checks_of_cases_are_part_of_each_case(repo: Repo, path: str, *, counts: bool) -> None:
    repo.git("checkout", "--quiet", "main")
    repo.write("evals/e.yaml", TEMPLATE)
    repo.write("evals/cases.jsonl", '{"id": "one", "asks": "Hi"}\n{"id": "two", "asks": "Ho"}\n')
    repo.commit()
    repo.branch("later")
    repo.write(f"evals/{path}", "echo\n")
    repo.commit()
    plan = plan_of(repo)
    assert bool(why(plan)) is counts
    found = [fixture for one in plan.evals if not one.bar for fixture in one.fixtures]
    assert [fixture.name for fixture in found] == (["f-one", "f-two"] if counts else [])
    assert all(spec.own for fixture in found for spec in own_checks(fixture))
