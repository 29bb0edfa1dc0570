"""Pull requests into branches that anybody may push to: what is sealed stays shut there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.sealed import (
    CONFIG,
    IDENTITY,
    OTHER_PRIVATE,
    OTHER_PUBLIC,
    PUBLIC,
    hidden_words,
    seal,
)
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-first}
spec:
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions:
    - {type: toolCalled, tool: clarify_reason}
    - {type: notContains, value: ZANZIBAR}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec: {targetAgent: support, fixtures: [asks-first]}
"""


@pytest.fixture
def shop(github_server: GitHubServer, tmp_path: Path) -> GitHubShop:
    shop = GitHubShop(github_server, tmp_path)
    shop.work.write(".github/gateval.yml", CONFIG)
    seal(shop.work, "evals/held.yaml", HELD)
    shop.push_main()
    return shop


def pull_into(shop: GitHubShop, branch: str, prompt: str = SAME) -> Pull:
    """A pull request into a branch of the author's, on which they may read the evidence."""
    shop.work.checkout("main")
    shop.work.branch(branch)
    shop.work.write(".github/gateval.yml", CONFIG.replace(PUBLIC, OTHER_PUBLIC))
    shop.work.commit()
    shop.push(branch)
    shop.work.branch("change")
    return shop.open_pull(prompt, into=branch)


def words_read(results: Path) -> set[str]:
    """The sealed words that the author of the pull request reads in what the run left."""
    evidence = results / "results.v1.json.age"
    if not evidence.exists():
        return set()
    opened = gateval(
        Repo(results.parent / "away"), "unseal", str(results), "--format", "results",
        GATEVAL_IDENTITY=OTHER_PRIVATE,
    )  # fmt: skip
    return hidden_words(opened.stdout.encode())


def test_the_evidence_is_not_for_who_names_themselves_on_a_branch_of_their_own(
    shop: GitHubShop,
) -> None:
    pull = pull_into(shop, "evil")
    ended = shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY)
    assert words_read(ended.results) == set()
    assert ended.code == 3, ended.errors + ended.log
    assert "held-out" not in json.dumps(ended.outputs)
    told = " ".join(ended.summary.split())
    assert "Sealed files are opened for changes into main alone" in told
    assert "GATEVAL_SEALED_BRANCHES" in told


@pytest.mark.parametrize("body", ["/gateval rerun {}"])
def test_nor_where_a_comment_asks_for_the_run(shop: GitHubShop, body: str) -> None:
    pull = pull_into(shop, "evil")
    job = shop.on_comment(pull, body.format(pull.head_sha))
    ended = job.run_action(GATEVAL_IDENTITY=IDENTITY)
    assert words_read(ended.results) == set()
    assert ended.code == 3, ended.errors + ended.log


def test_branches_that_are_named_beside_the_key_are_as_good(shop: GitHubShop) -> None:
    """The control, and what it is for: branches of releases, which a ruleset protects."""
    pull = pull_into(shop, "release/2", WORSE)
    ended = shop.on_pull(pull).run_action(
        GATEVAL_IDENTITY=IDENTITY, GATEVAL_SEALED_BRANCHES="release/*, lts"
    )
    assert ended.code == 1, ended.errors + ended.log
    assert "ZANZIBAR" in words_read(ended.results)


def test_a_change_that_touches_nothing_sealed_needs_no_such_branch(shop: GitHubShop) -> None:
    pull = pull_into(shop, "evil")
    shop.work.checkout("evil")
    shop.work.branch("docs")
    shop.work.write("README.md", "Hello")
    shop.work.commit()
    shop.push("docs")
    docs = shop.repo.open_pull("docs", by=shop.ada, into="evil")
    ended = shop.on_pull(docs).run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 0, ended.errors
    assert pull.number != docs.number


def test_a_push_to_the_default_branch_runs_what_it_brings(shop: GitHubShop) -> None:
    shop.work.checkout("main")
    before = shop.work.id("main")
    seal(
        shop.work,
        "evals/next.yaml",
        HELD.replace("asks-first", "asks-next").replace("held", "next"),
    )
    shop.push_main()
    job = shop.job("push", {**shop.push_payload(), "before": before}, sha=shop.work.id("main"))
    job.check_out(shop.bare, "refs/heads/main", "--depth=1000")
    ended = job.run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code in {0, 1}, ended.errors + ended.log
    assert "next-out" in ended.log + ended.summary
    assert "after the merge" not in ended.log + ended.summary


def test_a_new_sealed_eval_alone_passes_and_the_comment_says_that_it_waits(
    shop: GitHubShop,
) -> None:
    shop.work.checkout("main")
    shop.work.branch("change")
    seal(
        shop.work,
        "evals/next.yaml",
        HELD.replace("asks-first", "asks-next").replace("held", "next"),
    )
    shop.work.commit()
    shop.push("change")
    pull = shop.repo.open_pull("change", by=shop.ada)
    ended = shop.on_pull(pull).run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 0, ended.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    (comment,) = pull.comments
    assert "first runs after the merge: the Eval next-out, with 1 fixture" in comment.body
    assert "Nothing to evaluate yet" in comment.body


def test_a_merge_group_does_not_run_what_it_brings(shop: GitHubShop) -> None:
    shop.work.checkout("main")
    shop.work.branch("change")
    shop.work.write(
        "evals/mine.yaml",
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: mine}\n"
        "spec: {targetAgent: support, fixtures: [asks-first], execution: {repsPerFixture: 60}}\n",
    )
    shop.work.commit()
    pull = shop.open_pull(SAME)
    head, ref = shop.queue("change", pull.number, on="main")
    job = shop.job("merge_group", shop.group_payload(head, ref, base=shop.work.id("main")), ref=ref)
    job.check_out(shop.bare, ref, "--depth=1000")
    ended = job.run_action(GATEVAL_IDENTITY=IDENTITY)
    assert ended.code == 0, ended.errors + ended.log
    assert "the Eval mine, with 1 fixture" in ended.summary
