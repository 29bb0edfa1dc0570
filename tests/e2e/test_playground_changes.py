"""Playgrounds through the real command: what a change of one is, and what is told before a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.desk import (
    AGENT,
    ASKED,
    MCP,
    SCRIPT,
    SHIPPED,
    WORLD,
    agent,
    desk,
    evals,
    trials,
)
from tests.helpers.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return desk(tmp_path)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("desk/world/orders.json", '{"10482": "shipped"}'), "files of the playground of fixture"),
        (("desk/world/more.txt", None), "files of the playground of fixture"),
        (("desk/world/new.txt", "x"), "files of the playground of fixture"),
        (
            ("desk/evals.yaml", evals(SHIPPED, playground="{folder: world}")),
            "playground of fixture",
        ),
    ],
)
def test_a_change_of_its_files_selects_the_fixture_and_no_agent(
    repo: Repo, change: tuple[str, str | None], what: str
) -> None:
    repo.checkout("main")
    repo.write("desk/world/more.txt", "More.")
    repo.commit()
    repo.branch("less")
    path, text = change
    if text is None:
        (repo.path / path).unlink()
    else:
        repo.write(path, text)
    repo.commit()
    plan = json.loads(gateval(repo, "plan", "--base", "main", "--json").stdout)
    assert plan["changes"] == []
    assert [one["name"] for one in plan["evals"]] == ["desk-eval", "desk-eval.base-tip"]
    assert [one["what"] for one in plan["evals"][0]["why"]] == ["fixture ships changed"]
    (lowered,) = plan["evals"][1]["bar"]["lowered"]
    assert lowered["what"].startswith(what)


def test_files_of_an_agent_do_not_stop_to_count_by_being_declared_a_playground(repo: Repo) -> None:
    repo.checkout("main")
    whole = AGENT.replace("  watch: [agent.py]\n", "")
    repo.write("desk/agent.yaml", whole)
    repo.write("desk/lib/words.txt", "Shipped.")
    repo.commit()
    repo.branch("attack")
    repo.write("desk/evals.yaml", evals(SHIPPED, playground="{folder: lib}"))
    repo.commit()
    plan = json.loads(gateval(repo, "plan", "--base", "main", "--json").stdout)
    (change,) = plan["changes"]
    assert change["agent"] == "desk"
    assert "lib/words.txt" in json.dumps(change)


def test_a_playground_that_is_made_to_pass_is_as_the_target_branch_has_it(repo: Repo) -> None:
    agent(repo, "print('I did nothing.')\n")
    repo.write("desk/world/orders.json", '{"10482": "shipped"}')
    repo.commit()
    found = trials(repo, "check", "--base", "main", code=1)
    outcomes = {one["key"]["eval"]: one["outcome"] for one in found}
    assert outcomes == {"desk-eval": "pass", "desk-eval.base-tip": "fail"}


@pytest.mark.parametrize(
    ("playground", "said"),
    [
        ("{folder: .}", "holds the manifest itself"),
        ("{folder: ../..}", "leads out of the repository"),
        ("{folder: nowhere}", "desk/nowhere is no folder with files of this revision"),
        ("{files: ['*.txt']}", "matches no file of this revision"),
        ("{sqlite: {source: x.sql}}", "desk/x.sql is no file of this revision"),
        ("{env: {HOME: /}}", "HOME is set by the gate"),
        ("{services: [{name: a, command: [x, '{services.b}']}]}", 'no service "b" before'),
    ],
)
def test_what_cannot_be_made_is_told_before(repo: Repo, playground: str, said: str) -> None:
    repo.write("desk/evals.yaml", evals(SHIPPED, playground=playground))
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert said in " ".join((done.stdout + done.stderr).split())


def test_a_check_without_a_playground_or_in_a_turn_is_told_before(repo: Repo) -> None:
    repo.write("desk/evals.yaml", evals(SHIPPED).replace(f"  playground: {WORLD}\n", ""))
    done = gateval(repo, "validate")
    assert "`fileJson` looks at a playground. Add spec.playground" in done.stdout + done.stderr
    turn = f"  turns: [{{user: One, assertions: [{SHIPPED}]}}]\n  playground"
    repo.write("desk/evals.yaml", evals(SHIPPED).replace("  playground", turn))
    done = gateval(repo, "validate")
    assert "looked at after the last turn" in done.stdout + done.stderr
    repo.write("desk/evals.yaml", evals(ASKED))
    done = gateval(repo, "validate")
    assert 'The playground has no service "shop"' in done.stdout + done.stderr


def test_an_agent_that_can_do_nothing_in_it_is_told(repo: Repo) -> None:
    repo.write("desk/agent.yaml", MCP.partition("  tools:")[0])
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stderr
    assert "so nothing changes what is in the playgrounds" in done.stdout + done.stderr


def test_an_agent_may_not_name_a_playgrounds_own_files(repo: Repo) -> None:
    repo.write("desk/agent.yaml", AGENT.replace("[agent.py]", "[agent.py, world/orders.json]"))
    done = gateval(repo, "validate")
    assert "is a playground's own, which agents get in its runs alone" in done.stdout + done.stderr
