"""Pull requests that fail though nothing ran: the check says why, and so do comment and lines."""

from __future__ import annotations

from tests.helpers.github_shop import GitHubShop

RULES = ".github/gateval.yml"


def test_a_laxer_rule_is_said_on_the_pull_request_and_on_its_line(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write(RULES, "# Rules\npolicy:\n  regressions: warn\n")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)

    assert shop.on_pull(pull).run_action().code == 1
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert check.conclusion == "failure"
    assert [(one["path"], one["start_line"]) for one in check.annotations] == [(RULES, 3)]
    assert check.annotations[0]["annotation_level"] == "failure"
    (comment,) = pull.comments
    assert "policy.regressions block → warn" in comment.body


def test_an_agent_deleted_with_its_evals_is_said(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    for path in ("agents/support.yaml", "evals/fixtures.yaml", "evals/support-eval.yaml"):
        (shop.work.path / path).unlink()
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)

    assert shop.on_pull(pull).run_action().code == 1
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert [one["path"] for one in check.annotations] == ["evals/support-eval.yaml"]
    (comment,) = pull.comments
    assert "Agent support removed" in comment.body
    assert "label `accept-bar-change`" in comment.body.replace("<code>", "`").replace(
        "</code>", "`"
    )
    assert "admin or maintain" in comment.body
    assert "--accept-bar-change" not in comment.body
