"""A bypass in the merge queue: a live grant for the head of each pull request of the group."""

from __future__ import annotations

from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.runner import Ended
from tests.helpers.shop import FIXTURES
from tests.servers.github.state.pull import Pull

BYPASS = "force-eval-bypass"


def run_group(shop: GitHubShop, pull: Pull, *, on: str = "main") -> tuple[Ended, str]:
    base = shop.work.id(on)
    head, ref = shop.queue(pull.head_ref, pull.number, on=on)
    payload = shop.group_payload(head, ref, base=base)
    job = shop.job("merge_group", payload, ref=ref, sha=head)
    job.check_out(shop.bare, ref)
    return job.run_action(), head


def test_a_grant_is_carried_into_the_queue(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.label(pull).run_action().code == 0
    ended, head = run_group(shop, pull)
    assert ended.code == 0, ended.errors
    assert shop.conclusions(head) == ["neutral"]
    granted, carried = shop.audit()
    assert (granted.kind, carried.kind) == ("bypass-granted", "bypass-carried")
    assert carried.head == head
    assert carried.pull_request == pull.number


def test_a_label_from_before_a_push_is_not_carried(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.label(pull)
    shop.commit(WORSE + "x")
    shop.push()
    ended, head = run_group(shop, pull)
    assert ended.code == 1
    assert shop.conclusions(head) == ["failure"]
    assert "bypass-carried" not in [entry.kind.value for entry in shop.audit()]


def test_a_role_that_may_not(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    eve = shop.repo.role(shop.server.world.user("eve"), "triage")
    pull.label(BYPASS, by=eve)
    ended, _ = run_group(shop, pull)
    assert ended.code == 1
    assert "eve has the role triage" in ended.summary


def test_one_bypass_does_not_cover_the_others_of_its_group(shop: GitHubShop) -> None:
    first = shop.open_pull(WORSE, "first")
    shop.work.branch("second", "main")
    shop.work.write("docs.md", "More.\n")
    shop.work.commit()
    shop.push("second")
    second = shop.repo.open_pull("second", by=shop.ada)
    second.label(BYPASS, by=shop.ada)
    base = shop.work.id("main")
    middle, _ = shop.queue("first", first.number, on="main")
    head, ref = shop.queue("second", second.number, on=middle)
    payload = shop.group_payload(head, ref, base=base)
    job = shop.job("merge_group", payload, ref=ref, sha=head)
    job.check_out(shop.bare, ref)
    ended = job.run_action()
    assert ended.code == 1
    assert "holds other pull requests" in ended.summary
    first.label(BYPASS, by=shop.ada)
    job.run += 1000
    ended = job.run_action()
    assert ended.code == 0, ended.errors


def test_a_lowered_bar_that_was_accepted_is_carried_too(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("evals/fixtures.yaml", FIXTURES.replace("tool: clarify_reason", "tool: refund"))
    shop.work.commit()
    pull = shop.open_pull(WORSE)
    pull.label("accept-bar-change", by=shop.ada)
    ended, head = run_group(shop, pull)
    assert ended.code == 0, ended.errors
    assert shop.conclusions(head) == ["success"]
    (entry,) = shop.audit()
    assert (entry.kind.value, entry.head) == ("bypass-carried", head)
    assert entry.bars
