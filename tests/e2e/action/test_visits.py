"""How often a run of the action visits the git server: each visit is a wait for its user."""

from __future__ import annotations

from tests.helpers.github_shop import SAME, WORSE, GitHubShop


def test_a_run_visits_its_records_three_times(shop: GitHubShop) -> None:
    """Once to read history and runs, and once to write each of them."""
    shop.on_pull(shop.open_pull(WORSE, "first")).run_action()
    job = shop.on_pull(shop.open_pull(SAME, "second"))
    before = len(shop.server.git_log.entries)
    assert job.run_action().code == 0
    paths = [one.path for one in shop.server.git_log.entries[before:]]
    visits = [path for path in paths if path.endswith("/info/refs")]
    pushes = [path for path in paths if path.endswith("/git-receive-pack")]
    of_commits = 2  # the live tip of main, and what the checkout lacks
    assert (len(visits) - of_commits, len(pushes)) == (3, 2)
