"""The comment of a real run: the prompt's diff beside the regression, and links that lead to head."""

from __future__ import annotations

from tests.helpers.github_shop import WORSE, GitHubShop


def test_a_regression_shows_its_prompt_and_leads_to_head(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 1, ended.errors
    (comment,) = pull.comments
    tree = f"{shop.server.url}/acme/shop/blob/{pull.head_sha}"
    assert f"]({tree}/evals/fixtures.yaml?plain=1#L" in comment.body
    assert f"]({tree}/agents/prompts/support.md?plain=1#L1)" in comment.body
    assert "### What changed in the prompt" in comment.body
    diff = comment.body.partition("```diff\n")[2].partition("\n```")[0].splitlines()
    assert any(line.startswith("-") and "ask for the reason" in line for line in diff)
    assert any(line.startswith("+") and "be quick" in line for line in diff)
    assert "#artifacts)" in comment.body
    assert comment.body.index("Why each Eval runs") > comment.body.index(
        "What changed in each agent"
    )
    assert comment.body.index("digest <code>") > comment.body.index("Why each Eval runs")
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert tree in (check.summary or "")
