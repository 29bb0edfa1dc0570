"""A sealed Eval in a run that shards measure: all of it in one of them, and nothing of it in clear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.action.test_shards import in_shards
from tests.e2e.sealed.test_sealed_on_github import shop, told
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.sealed import KEY, leaks
from tests.helpers.workflow_run import WorkflowWalk

__all__ = ["shop"]


@pytest.mark.parametrize("lost", ["1-of-3", "3-of-3"])
def test_a_sealed_eval_is_measured_in_one_shard_and_told_by_the_last_job_alone(
    shop: GitHubShop, tmp_path: Path, lost: str
) -> None:
    pull = shop.open_pull(WORSE)
    gone = {("measure-1", lost, 1)}
    path = in_shards(tmp_path, 3)
    walk = WorkflowWalk(
        shop, pull, path, 700, lambda *at: "lost" if at in gone else "", secrets=KEY
    )
    walk.walk()
    assert shop.conclusions(pull.head_sha) == ["action_required"]
    walk.run_failed_again()
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
    assert "held-out" in pull.comments[0].body
    parts = {
        name: json.loads(files["part.v1.json"])
        for name, files in walk.artifacts.items()
        if name.startswith("gateval-part-1-")
    }
    with_key = [one for one in parts.values() if one.get("sealed")]
    assert with_key, "encrypted for the gate's own key"
    assert not any("held-out" in json.dumps(one["trials"]) for one in parts.values())
    ended = [one.ended for legs in walk.legs.values() for one in legs.values() if one.ended]
    said = [text for one in ended for text in (one.log, one.errors, one.summary)]
    said += [content.decode() for files in walk.artifacts.values() for content in files.values()]
    assert leaks([shop.folder], [*told(shop), *said]) == []
    results = walk.legs["publish"][""].ended
    assert results is not None
    assert (results.results / "results.v1.json.age").exists()
