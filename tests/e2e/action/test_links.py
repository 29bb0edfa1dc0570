"""The comment of a real run: the prompt's diff beside the regression, and links that lead to head."""

from __future__ import annotations

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop


def test_a_regression_shows_its_prompt_and_leads_to_head(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 1, ended.errors
    (comment,) = pull.comments
    tree = f"{shop.server.url}/acme/shop/blob/{pull.head_sha}"
    assert f"]({tree}/evals/fixtures.yaml?plain=1#L" in comment.body
    assert f"]({tree}/agents/prompts/support.md?plain=1#L1)" in comment.body
    assert "\nChanged here: <sub>[<code>" in comment.body
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


GATE = "      - {id: gate, uses: gateval/gateval@v0.1.0}\n"
UPLOAD = "      - uses: actions/upload-artifact@v6\n        if: {1}\n        with: {{name: gateval, {0}}}\n"
HIDDEN = "include-hidden-files: true"
HERE = f"path: .gateval/results, {HIDDEN}"
REFERENCE = "acme/shop/.github/workflows/gate.yml@refs/pull/1/merge"


def _linked(shop: GitHubShop, steps: str, results: str, prompt: str, code: int) -> bool:
    text = f"on: pull_request\njobs:\n  evals:\n    steps:\n{steps}"
    shop.push_main(**{".github__workflows__gate.yml": text})
    pull = shop.open_pull(prompt)
    job = shop.on_pull(pull)
    inputs, env = {"results": results}, {"GITHUB_WORKFLOW_REF": REFERENCE, "GITHUB_JOB": "evals"}
    assert job.run_action(inputs=inputs, **env).code == code
    (comment,) = pull.comments
    assert "[Log of this run](" in comment.body
    return "[Results and traces](" in comment.body


@pytest.mark.drawn("given", "results")
@pytest.mark.parametrize(
    ("given", "results", "there"),
    [
        ("", "", False),
        (HERE, "", True),
        (f"path: .gateval/results/gate, {HIDDEN}", ".gateval/results/gate", True),
        (f"path: '${{{{ steps.gate.outputs.results }}}}', {HIDDEN}", "", True),
        ("path: .gateval/results", "", False),
        ("path: out", "out", True),
        ("path: coverage", "", False),
        (f"path: .gateval/results/gate/run.v1.json, {HIDDEN}", "", False),
        (f'path: "a\\n.gateval/results\\n!.gateval/results", {HIDDEN}', "", False),
    ],
)
def test_results_are_linked_only_where_the_workflow_uploads_them(
    shop: GitHubShop, given: str, results: str, *, there: bool
) -> None:
    steps = GATE + (UPLOAD.format(given, "${{ !cancelled() }}") if given else "")
    assert _linked(shop, steps, results, WORSE, 1) is there


@pytest.mark.drawn("steps", "red", "green")
@pytest.mark.parametrize(
    ("steps", "red", "green"),
    [
        (GATE + UPLOAD.format(HERE, ""), False, True),
        (GATE + UPLOAD.format(HERE, "failure()"), True, False),
        (GATE + UPLOAD.format(HERE, "always() && github.event_name == 'push'"), False, False),
        (UPLOAD.format(HERE, "always()") + GATE, False, False),
        (f"{GATE}  other:\n    steps:\n{UPLOAD.format(HERE, 'always()')}", False, False),
    ],
)
def test_results_are_linked_only_where_the_upload_runs_after_this_verdict(
    shop: GitHubShop, steps: str, *, red: bool, green: bool
) -> None:
    assert _linked(shop, steps, "", WORSE, 1) is red
    assert _linked(shop, f"{steps}# again\n", "", SAME, 0) is green


def test_results_are_not_linked_where_the_workflow_is_another_repository_s(
    shop: GitHubShop,
) -> None:
    upload = UPLOAD.format(HERE, "always()")
    text = f"on: pull_request\njobs:\n  evals:\n    steps:\n{GATE}{upload}"
    shop.push_main(**{".github__workflows__gate.yml": text})
    pull = shop.open_pull(WORSE)
    other = REFERENCE.replace("acme/shop", "acme/rules")
    assert shop.on_pull(pull).run_action(GITHUB_WORKFLOW_REF=other).code == 1
    assert "Results and traces" not in pull.comments[0].body
