"""How many API requests a run makes: GitHub counts them for all jobs of a repository together."""

from __future__ import annotations

from tests.helpers.github_shop import WORSE, GitHubShop


def test_a_plain_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    assert shop.server.log.count() <= 10


def test_nothing_to_evaluate(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("docs.md", "More.\n")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    assert shop.on_pull(pull).run_action().code == 0
    assert shop.server.log.count() <= 6


def test_a_label_on_a_verdict_that_is_known(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    shop.server.log.entries.clear()
    assert shop.label(pull).run_action().outputs["results"] == "", "nothing ran"
    assert shop.server.log.count() <= 14, "one of them reads the annotations, which stay"
