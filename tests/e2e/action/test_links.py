"""The comment of a real run: the prompt's diff beside the regression, and links that lead to head."""

from __future__ import annotations

import pytest

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
    assert "#artifacts)" not in comment.body, "no workflow says that it uploads them"
    assert comment.body.index("Why each Eval runs") > comment.body.index(
        "What changed in each agent"
    )
    assert comment.body.index("digest <code>") > comment.body.index("Why each Eval runs")
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert tree in (check.summary or "")


UPLOAD = "- uses: actions/upload-artifact@v6\n        with: {{name: gateval, {0}}}\n"
HIDDEN = "include-hidden-files: true"
REFERENCE = "acme/shop/.github/workflows/gate.yml@refs/pull/1/merge"


@pytest.mark.parametrize(
    ("step", "results", "there"),
    [
        ("", "", False),
        (UPLOAD.format(f"path: .gateval/results, {HIDDEN}"), "", True),
        (UPLOAD.format(f"path: .gateval/results/gate, {HIDDEN}"), ".gateval/results/gate", True),
        (UPLOAD.format(f"path: '${{{{ steps.gate.outputs.results }}}}', {HIDDEN}"), "", True),
        (UPLOAD.format("path: .gateval/results"), "", False),
        (UPLOAD.format("path: out"), "out", True),
        (UPLOAD.format("path: coverage"), "", False),
        (UPLOAD.format(f"path: .gateval/results/gate/run.v1.json, {HIDDEN}"), "", False),
    ],
)
def test_results_are_linked_only_where_the_workflow_uploads_them(
    shop: GitHubShop, step: str, results: str, *, there: bool
) -> None:
    shop.push_main(
        **{
            ".github__workflows__gate.yml": "on: pull_request\njobs:\n  evals:\n    steps:\n"
            f"      - uses: gateval/gateval@v0.1.0\n      {step}"
        }
    )
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    assert job.run_action(inputs={"results": results}, GITHUB_WORKFLOW_REF=REFERENCE).code == 1
    (comment,) = pull.comments
    assert "[Log of this run](" in comment.body
    assert ("[Results and traces](" in comment.body) is there


def test_results_are_not_linked_where_the_workflow_is_another_repository_s(
    shop: GitHubShop,
) -> None:
    upload = UPLOAD.format(f"path: .gateval/results, {HIDDEN}")
    text = f"on: pull_request\njobs:\n  evals:\n    steps:\n      {upload}"
    shop.push_main(**{".github__workflows__gate.yml": text})
    pull = shop.open_pull(WORSE)
    other = REFERENCE.replace("acme/shop", "acme/rules")
    assert shop.on_pull(pull).run_action(GITHUB_WORKFLOW_REF=other).code == 1
    assert "Results and traces" not in pull.comments[0].body
