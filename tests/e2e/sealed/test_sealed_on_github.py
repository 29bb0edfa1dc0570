"""A sealed Eval on GitHub: no request, record, annotation or file holds a word of what it asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Job
from tests.helpers.sealed import CONFIG, IDENTITY, PUBLIC, leaks, seal
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-first}
spec:
  description: The ophicleide case.
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions:
    - {type: toolCalled, tool: clarify_reason, axis: safety}
    - {type: notContains, value: ZANZIBAR}
    - {type: notContains, value: Marmalade}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: support
  fixtures: [asks-first]
"""

READ = {"contents": "read", "pull_requests": "read", "checks": "read"}


@pytest.fixture
def shop(github_server: GitHubServer, tmp_path: Path) -> GitHubShop:
    shop = GitHubShop(github_server, tmp_path)
    shop.work.write(".github/gateval.yml", CONFIG)
    seal(shop.work, "evals/held.yaml", HELD)
    shop.push_main()
    return shop


def told(shop: GitHubShop) -> list[str]:
    """All that was said to the server: the bodies of requests, and every record in git."""
    requests = [json.dumps(one.body) for one in shop.server.log.entries if one.body]
    bare = Repo.at(shop.bare)
    refs = bare.git("for-each-ref", "--format=%(refname)").decode().split()
    records = [
        bare.git("show", f"{ref}:{name}").decode()
        for ref in refs
        for name in bare.git("ls-tree", "-r", "--name-only", ref).decode().splitlines()
        if not ref.startswith(("refs/heads/main", "refs/heads/change", "refs/pull"))
    ]
    assert requests
    assert records
    return [*requests, *records]


def test_a_pull_request_shows_the_verdict_alone(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    ended = job.run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 1, ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]
    (comment,) = pull.comments
    assert "held-out" in comment.body
    assert "Why, and which, is told by who holds a key" in comment.body
    assert not any("asks-first" in one for one in [comment.body, ended.log, ended.summary])
    said = [*told(shop), ended.log, ended.errors, ended.summary, *ended.outputs.values()]
    assert leaks([job.folder], said) == []
    assert leaks([shop.folder], []) == [], "not even git's objects"
    (annotation,) = [
        one
        for run in shop.repo.checks("gateval", pull.head_sha)
        for one in run.annotations
        if one["path"].endswith(".age")
    ]
    assert annotation["start_line"] == 1
    assert (ended.results / "results.v1.json.age").exists()


def test_a_label_restates_it_without_another_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY).code == 1
    ended = shop.label(pull).run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 0, ended.errors
    assert "The evals run" not in ended.log
    assert leaks([], [*told(shop), ended.log, ended.summary]) == []


def test_the_default_branch_keeps_a_record_that_tells_nothing(shop: GitHubShop) -> None:
    job = shop.job("push", shop.push_payload(), sha=shop.work.id("main"))
    job.check_out(shop.bare, "refs/heads/main", "--depth=1000")
    ended = job.run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code in {0, 1, 3}, ended.errors
    assert leaks([job.folder], [*told(shop), ended.log, ended.summary]) == []


def test_an_explanation_does_not_say_what_is_asked(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY).code == 1
    ended = shop.on_comment(pull, "/gateval explain asks-first").run_action(
        GATEVAL_IDENTITY=IDENTITY
    )
    assert ended.code == 0, ended.errors
    answer = pull.comments[-1].body
    assert "evals/held.yaml.age:1" in answer
    assert "toolCalled" not in answer
    assert leaks([], [answer, ended.log, ended.summary]) == []


def test_a_plan_for_other_jobs_holds_no_words(shop: GitHubShop) -> None:
    job = shop.on_pull(shop.open_pull(WORSE))
    ended = job.run_action(inputs={"step": "plan"}, GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 0, ended.errors
    assert "held-out" in (ended.results / "plan.v1.json").read_text("utf-8")
    assert leaks([job.folder], [ended.log, ended.summary]) == []


def fork_run(shop: GitHubShop, pull: Pull) -> Job:
    return shop.on_pull(pull, token=shop.token(**READ), actor="mallory")


@pytest.mark.parametrize("prompt", [SAME, WORSE])
def test_a_fork_has_no_key_and_is_told_who_measures_it(shop: GitHubShop, prompt: str) -> None:
    pull = shop.open_fork_pull(prompt)
    ended = fork_run(shop, pull).run_action()
    assert ended.code in {1, 3}, ended.errors
    assert ended.outputs["verdict"] == "unverified"
    assert "is sealed, and the key is not here" in ended.summary
    assert "workflow_dispatch" in ended.summary


def test_a_fork_that_takes_the_sealed_file_away_is_not_green(shop: GitHubShop) -> None:
    shop.work.checkout("main")
    shop.work.branch("change")
    shop.work.delete("evals/held.yaml.age")
    shop.work.commit()
    pull = shop.open_fork_pull(SAME)
    ended = fork_run(shop, pull).run_action()
    assert ended.code == 3, ended.errors
    assert "is sealed, and the key is not here" in ended.summary


def test_a_fork_that_reseals_for_itself_gains_nothing(shop: GitHubShop) -> None:
    """Whoever knows the public keys may seal: what the target branch asks binds all the same."""
    shop.work.checkout("main")
    shop.work.branch("change")
    (shop.work.path / "evals/held.yaml.age").unlink()
    seal(shop.work, "evals/held.yaml", HELD.replace("toolCalled", "toolNotCalled"))
    shop.work.commit()
    pull = shop.open_fork_pull(WORSE)
    dispatch = shop.on_dispatch()
    ended = dispatch.run_action(
        inputs={"pull-request": str(pull.number), "head-sha": pull.head_sha},
        GATEVAL_IDENTITY=IDENTITY,
    )
    assert ended.code == 1, ended.errors + ended.log
    assert PUBLIC in (shop.work.path / ".github/gateval.yml").read_text()
    assert leaks([dispatch.folder], [ended.log, ended.summary]) == []


def test_what_regressed_stands_and_no_record_tells_what_it_was(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY).code == 1
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    text = check.text or ""
    assert "total=1" in text, "that is the plain Eval's"
    assert text.count(":") == text.count("gateval:") + 2, "one mark is listed"
    assert "kept=" in text
    assert not any("asks-first" in one for one in told(shop)), "names of fixtures are in no record"
    again = shop.on_pull(pull, action="reopened").run_action(GATEVAL_IDENTITY=IDENTITY)
    assert again.code == 1, again.errors
    opened = json.loads((again.results / "results.v1.json").read_text("utf-8"))
    assert [one["verdict"] for one in opened["sealed"]] == ["fail"]


def test_bits_are_counted_over_all_authors_and_end_at_the_limit(shop: GitHubShop) -> None:
    """One verdict alone has 2.58 bits: log2 of six."""
    shop.work.checkout("main")
    shop.work.write(".github/gateval.yml", CONFIG.replace("{", "{sealedBits: 3, "))
    shop.work.commit()
    shop.push("main")
    sealed_at = shop.work.git("log", "-1", "--format=%H", "--", "evals/held.yaml.age").decode()
    seen, files = [], []
    for number in range(4):
        shop.work.checkout("main")
        pull = shop.open_pull(f"{WORSE} Number {number}.", branch=f"change-{number}")
        ended = shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY)
        seen.append((ended.code, " ".join(ended.log.split())))
        files.append(ended.results)
        if not number:
            again = shop.on_pull(pull, action="reopened").run_action(GATEVAL_IDENTITY=IDENTITY)
            assert again.code == 1, "it tells the same, and costs nothing"
    verdicts = [json.loads((one / "results.v1.json").read_text("utf-8")) for one in files]
    found = [one["sealed"][0]["verdict"] for one in verdicts]
    assert found == ["fail", "fail", "fail", "incomplete"], "nothing of the last one ran"
    assert "bits a month" not in seen[0][1]
    assert "3 of 3 bits a month of evals/held.yaml.age were told" in seen[1][1]
    assert "so verdicts alone are told" in seen[2][1]
    assert "more than twice as many as may be" in seen[3][1]
    counted = shop.repo.checks("gateval (sealed)", sealed_at.strip())
    assert [(one.text or "").split()[5] for one in counted] == [
        "bits=2.58",
        "bits=0.00",
        "bits=2.58",
        "bits=2.58",
    ]
