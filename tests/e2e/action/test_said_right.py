"""What check, comment, summary and outputs say of a run: counted right, and alike."""

from __future__ import annotations

from tests.e2e.test_said_right import eight
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.shop import EVAL


def test_the_output_counts_a_fixture_once(shop: GitHubShop) -> None:
    scored = EVAL + "  scoring: {passThreshold: 0.1}\n"
    files = {"evals/fixtures.yaml": eight(), "evals/support-eval.yaml": scored}
    shop.push_main(**{name.replace("/", "__"): text for name, text in files.items()})
    shop.work.branch("change", "main")
    shop.work.write("evals/support-eval.yaml", scored.replace("0.1}", "0.05}"))
    shop.work.write("evals/fixtures.yaml", eight() + "    - {type: notContains, value: Refunded}\n")
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action()
    assert ended.outputs["regressions"] == "8"
    assert "8 fixtures passed before and fail now" in ended.summary
    assert "8 fixtures passed before and fail now" in str(shop.repo.checks("gateval")[-1].title)
