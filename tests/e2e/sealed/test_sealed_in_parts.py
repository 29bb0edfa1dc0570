"""Sealed Evals that one job measures and another publishes: only the second one tells, and counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sealed.test_eight_attacks import NAMES
from tests.e2e.sealed.test_sealed_bits import BOTH, OTHER, MoodyDesk, told
from tests.e2e.sealed.test_sealed_outcomes import folded
from tests.helpers import stored
from tests.helpers.providers import provider
from tests.helpers.runner import Ended, Job
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

READS = {"contents": "read", "pull_requests": "read"}


@pytest.fixture
def desk(github_server: GitHubServer, tmp_path: Path) -> Iterator[MoodyDesk]:
    shop = MoodyDesk(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


def named(text: str) -> str:
    """Return a text without what no two runs share."""
    return NAMES.sub("NAME", folded(text))


def measured(desk: MoodyDesk, pull: Pull, wrong: int) -> tuple[Ended, Job]:
    """Run the job that measures; return how it ended, and the job that gets what it left."""
    first, second = desk.on_pull(pull, token=desk.token(**READS)), desk.on_pull(pull)
    ended = desk.run(pull, wrong, first, step="run", results="gate")
    (second.workspace / "gate").mkdir()
    part = ended.results / "part.v1.json"
    (second.workspace / "gate/part.v1.json").write_bytes(part.read_bytes())
    return ended, second


@pytest.mark.parametrize(("wrong", "verdict", "rate"), [(0, "pass", 1.0), (3, "fail", 0.7)])
def test_the_job_that_publishes_tells_what_the_other_measured(
    desk: MoodyDesk, wrong: int, verdict: str, rate: float
) -> None:
    pull = desk.open_pull(OTHER)
    _, second = measured(desk, pull, wrong)
    asked = desk.asked
    ended = desk.run(pull, 0, second, step="publish", results="gate")
    assert desk.asked == asked, "it measures nothing"
    assert told(ended) == {"verdict": verdict, "rate": rate}, ended.log
    assert desk.conclusions(pull.head_sha) == ["failure" if wrong else "success"]
    assert sum(desk.counted()) == BOTH


def test_the_job_that_measures_tells_nothing_of_it(desk: MoodyDesk) -> None:
    """Neither its status nor a byte that it leaves: nobody counts what it would tell."""
    public = []
    for number, wrong in enumerate((0, 3)):
        pull = desk.open_pull(f"{OTHER}Change {number}!", branch=f"change-{number}")
        ended, second = measured(desk, pull, wrong)
        assert "the job that publishes tells how it ended" in " ".join(ended.summary.split())
        part = json.loads((second.workspace / "gate/part.v1.json").read_text("utf-8"))
        files = {name: text.encode() for name, text in stored.written(ended.results).items()}
        files["part.v1.json"] = b"%d" % (len(part.pop("sealed")) // 8000)
        texts = [json.dumps(part), ended.log, ended.summary, json.dumps(ended.outputs)]
        texts += [f"{name}: {data.decode()}" for name, data in sorted(files.items())]
        public.append([str(ended.code), *(named(text) for text in texts)])
        assert not desk.counted()
    assert public[0] == public[1]
    assert public[0][0] == "0", "it says nothing of it, as it says nothing on GitHub"


def test_what_is_published_again_costs_nothing_and_ends_at_the_limit(desk: MoodyDesk) -> None:
    desk.policy("sealedBits: 3, ")
    desk.push_main()
    pull = desk.open_pull(OTHER)
    _, second = measured(desk, pull, 3)
    for _ in range(2):
        ended = desk.run(pull, 0, second, step="publish", results="gate")
        assert told(ended)["verdict"] == "fail"
    other = desk.open_pull(f"{OTHER}Or not.", branch="other")
    _, third = measured(desk, other, 3)
    ended = desk.run(other, 0, third, step="publish", results="gate")
    assert told(ended) == {"verdict": "incomplete", "rate": None}
    assert "more than twice as many as may be" in " ".join(ended.log.split())


def test_a_part_of_another_head_or_without_the_key_is_incomplete(desk: MoodyDesk) -> None:
    pull = desk.open_pull(OTHER)
    _, second = measured(desk, pull, 0)
    ended = second.run_action(inputs={"step": "publish", "results": "gate"}, **desk.environ)
    assert ended.code == 3, ended.log
    assert desk.conclusions(pull.head_sha) == ["action_required"]


def test_a_part_that_somebody_made_or_took_from_another_run_is_no_pass(desk: MoodyDesk) -> None:
    """What is kept is signed together with what was measured, so a better one is of no use."""
    good = desk.open_pull(OTHER, branch="good")
    _, other = measured(desk, good, 0)
    kept = json.loads((other.workspace / "gate/part.v1.json").read_text("utf-8"))
    bad = desk.open_pull(f"{OTHER}Or not.", branch="bad")
    _, second = measured(desk, bad, 9)
    path = second.workspace / "gate/part.v1.json"
    mine = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**mine, "sealed": kept.get("sealed", "")}))
    ended = desk.run(bad, 0, second, step="publish", results="gate")
    assert ended.code != 0, ended.log
    assert told(ended)["verdict"] == "incomplete"
