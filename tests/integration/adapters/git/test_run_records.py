"""Runs are kept at the remote by many at once, and none of them is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.domain.history.run_record import newest_first
from gateval.publish.audit import store_run
from tests.helpers.remotes import cloned
from tests.helpers.runs import run_eval, run_fixture, run_record
from tests.helpers.tiers import some_always


@pytest.mark.parametrize("writers", some_always([8, 20], 2))
def test_writers_at_once_lose_nothing(tmp_path: Path, writers: int) -> None:
    repo, origin = cloned(tmp_path)
    opened = open_repository(repo.path, repo.env)
    fixtures = [run_fixture(f"fixture-{number}") for number in range(200)]

    def write(number: int) -> None:
        with opened.records(repo.env) as records:
            store_run(records, run_record(number, run_eval(*fixtures)))

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    content = origin.git("show", "refs/gateval/runs:runs.jsonl")
    assert {one.run for one in newest_first(content)} == set(range(writers))
    assert origin.git("rev-list", "--count", "refs/gateval/runs").strip() == b"1"
