"""Runs whose verdict nobody counts open nothing that is sealed, whatever key they were given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sealed.test_sealed_bits import OTHER, MoodyDesk
from tests.helpers.providers import provider
from tests.servers.github.server import GitHubServer


@pytest.fixture
def desk(github_server: GitHubServer, tmp_path: Path) -> Iterator[MoodyDesk]:
    shop = MoodyDesk(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


def test_dependabot_with_the_key_among_its_secrets_is_told_nothing(desk: MoodyDesk) -> None:
    pull = desk.open_pull(OTHER)
    job = desk.on_pull(pull, actor="dependabot[bot]")
    ended = desk.run(pull, 3, job)
    assert desk.asked == 0
    assert ended.code == 3, ended.errors
    assert "is opened by runs alone that give a verdict" in " ".join(ended.summary.split())
    assert not (ended.results / "results.v1.json.age").exists()


def test_a_fork_in_a_job_with_the_key_is_told_nothing(desk: MoodyDesk) -> None:
    pull = desk.open_fork_pull(OTHER)
    ended = desk.run(pull, 3, desk.on_pull(pull, actor="mallory"))
    assert desk.asked == 0
    assert ended.code == 3, ended.errors
    assert "is opened by runs alone that give a verdict" in " ".join(ended.summary.split())
    assert not (ended.results / "results.v1.json.age").exists()
