"""Measured in one job, published in another: the first one's token may have ended meanwhile."""

from __future__ import annotations

import json

import pytest

from tests.helpers.command import ROOT, gateval
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.runner import Job
from tests.helpers.shop import AGENT
from tests.helpers.workflow_run import WorkflowWalk
from tests.servers.github.state.pull import Pull
from tests.servers.model_server import Answer, Call, failure

SAMPLE = ROOT / "examples/workflows/long-runs.yml"
READS = {"contents": "read", "pull_requests": "read"}
PARTS = {"step": "publish", "results": "gate"}


def measured(shop: GitHubShop, pull: Pull) -> tuple[int, Job]:
    """Run the first job of `long-runs.yml`; return its status, and the second one with its files."""
    first, second = shop.on_pull(pull, token=shop.token(**READS)), shop.on_pull(pull)
    ended = first.run_action(inputs={"step": "run", "results": "gate"})
    ended.results.rename(second.workspace / "gate")
    shop.server.world.expire(first.token)
    return ended.code, second


@pytest.mark.parametrize(
    ("prompt", "code", "conclusion"), [(SAME, 0, "success"), (WORSE, 1, "failure")]
)
def test_the_second_job_says_what_the_first_one_measured(
    shop: GitHubShop, prompt: str, code: int, conclusion: str
) -> None:
    pull = shop.open_pull(prompt)
    first, second = measured(shop, pull)
    assert first == code
    assert (shop.repo.check_runs, pull.comments) == ({}, [])
    ended = second.run_action(inputs=PARTS)
    assert (ended.code, shop.conclusions(pull.head_sha)) == (code, [conclusion]), ended.errors
    assert len(pull.comments) == 1
    assert second.run_action(inputs=PARTS).code == code
    assert len(pull.comments) == 1


def test_a_push_while_it_runs_leaves_the_new_head_without_a_verdict(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    _, second = measured(shop, pull)
    old = pull.head_sha
    shop.commit(WORSE)
    shop.push()
    second.run_action(inputs=PARTS)
    assert pull.head_sha != old
    assert shop.conclusions(pull.head_sha) == []


def test_a_first_job_that_left_nothing_is_no_pass(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    second = shop.on_pull(pull)
    ended = second.run_action(inputs=PARTS)
    assert ended.code != 0
    assert shop.conclusions(pull.head_sha) == ["action_required"]


def test_the_second_job_gets_no_plan_and_the_first_keeps_its_own(shop: GitHubShop) -> None:
    """What is read again from a run's own folder is whole; what is handed on has digests."""
    pull = shop.open_pull(WORSE)
    code, second = measured(shop, pull)
    gate = second.workspace / "gate"
    asked = "I want a refund"
    assert asked in (gate / "results.v1.json").read_text()
    part = json.loads((gate / "part.v1.json").read_text())
    assert asked not in json.dumps(part["plan"])
    assert {len(one) for one in part["plan"]["evals"] + part["plan"]["agents"]} == {64}
    read = gateval(Repo.at(second.workspace), "report", "gate")
    assert (read.returncode, code) == (1, 1), read.stderr
    assert "refund-asks-why" in read.stdout
    alone = gateval(Repo.at(second.workspace), "report", "gate/part.v1.json")
    assert alone.returncode == 2
    assert "A part holds no plan" in " ".join(alone.stderr.split())
    for each in gate.iterdir():
        if each.is_file() and each.name not in {"part.v1.json", "trigger.v1.json"}:
            each.unlink()
    ended = second.run_action(inputs=PARTS)
    assert (ended.code, shop.conclusions(pull.head_sha)) == (1, ["failure"]), ended.errors
    assert asked in (ended.results / "results.v1.json").read_text(), "and publishes the whole"


def test_what_an_earlier_version_handed_on_is_refused_with_what_to_do(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    _, second = measured(shop, pull)
    (second.workspace / "gate/part.v1.json").unlink()
    ended = second.run_action(inputs=PARTS)
    said = " ".join(ended.errors.split())
    assert ended.code == 2, said
    assert "holds no part.v1.json" in said
    assert "of the same version" in said
    assert shop.conclusions(pull.head_sha) == ["action_required"]


def test_a_part_whose_time_was_over_says_so_where_it_is_published(shop: GitHubShop) -> None:
    """As the first job writes it when a provider was down until then; a stranger adds markup."""
    agent = AGENT.replace("scripted/support", "openai/gpt-5")
    shop.push_main(**{"agents__support.yaml": agent})
    pull = shop.open_pull(SAME)

    def respond(call: Call) -> Answer:
        return failure(call, 503, "The lights are out.")

    with provider(respond) as (_, environ):
        first, second = shop.on_pull(pull, token=shop.token(**READS)), shop.on_pull(pull)
        given = {"step": "run", "results": "gate"}
        ended = first.run_action(inputs=given, **environ, GATEVAL_OUTAGE_SECONDS="1")
        assert ended.code == 3, ended.errors
        ended.results.rename(second.workspace / "gate")
        file = second.workspace / "gate/part.v1.json"
        part = json.loads(file.read_text())
        over = "The time of the run was over (5 minutes). <img src=x> @ada"
        told = {
            "ended": over,
            "unanswered": "Until then openai/gpt-5 had answered no call for 60 s.",
        }
        file.write_text(json.dumps(part | {"trials": part["trials"][:1]} | told))
        ended = second.run_action(inputs=PARTS, **environ)
    assert ended.code == 3, ended.errors
    body = " ".join(pull.comments[0].body.split())
    assert "down or refused the call when its time was over" in body.partition("Head is")[0]
    assert "The time of the run was over (5 minutes)." in body
    assert "Until then openai/gpt-5 had answered no call for 60 s." in body
    assert "<img" not in body
    assert "@ada" not in body


@pytest.mark.drawn("lost", "results")
@pytest.mark.parametrize(
    ("lost", "results"),
    [
        ({}, ["failure"]),
        ({("measure", 1): "lost"}, ["action_required", "failure"]),
        ({("measure", 2): "lost"}, ["failure", "action_required"]),
        ({("publish", 1): "lost"}, ["", "failure"]),
    ],
    ids=["nothing", "the first", "at the second attempt", "the second"],
)
def test_the_sample_walked_at_every_attempt(
    shop: GitHubShop, lost: dict[tuple[str, int], str], results: list[str]
) -> None:
    """No artifact has the name of an earlier one, and each attempt decides by its own part."""
    pull = shop.open_pull(WORSE)
    walk = WorkflowWalk(
        shop, pull, SAMPLE, 700, lambda name, _, attempt: lost.get((name, attempt), "")
    )
    walk.walk()
    for attempt, result in enumerate([*results, "failure"], start=1):
        if attempt > 1:
            walk.run_failed_again()
        found = shop.conclusions(pull.head_sha)
        assert found[-1:] == ([result] if result else []), (attempt, found)
    measured = [at for name, _, at in walk.ran if name == "measure" and (name, at) not in lost]
    assert sorted(walk.artifacts) == sorted(
        f"{name}-{at}" for name in ("gateval", "gateval-part") for at in measured
    )
