"""The label that accepts a lowered bar, on the real entry."""

from __future__ import annotations

import pytest

from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.shop import EVAL, FIXTURES, SCRIPT
from tests.servers.github.state.pull import Pull

ACCEPT = "accept-bar-change"

WEAKER = FIXTURES.replace("tool: clarify_reason", "tool: refund")


@pytest.fixture
def lowered(shop: GitHubShop) -> Pull:
    """A worse prompt, and a fixture that asks for nothing better."""
    shop.work.branch("change", "main")
    shop.work.write("evals/fixtures.yaml", WEAKER)
    shop.work.commit()
    return shop.open_pull(WORSE)


def test_a_lowered_bar_is_accepted_by_label_and_recorded(shop: GitHubShop, lowered: Pull) -> None:
    failed = shop.on_pull(lowered).run_action()
    assert failed.code == 1
    assert ACCEPT in lowered.comments[0].body
    ended = shop.label(lowered, ACCEPT).run_action()
    assert ended.code == 0, ended.errors
    assert ended.outputs["verdict"] == "pass"
    assert shop.conclusions(lowered.head_sha)[-1] == "success"
    assert "The lower bar is accepted by ada (maintain)" in lowered.comments[0].body
    (entry,) = shop.audit()
    assert entry.kind == "bar-accepted"
    assert entry.bars


def test_taking_it_off_asks_for_the_bar_again(shop: GitHubShop, lowered: Pull) -> None:
    assert shop.label(lowered, ACCEPT).run_action().code == 0
    assert shop.label(lowered, "docs").run_action().code == 0, "a foreign label changes nothing"
    ended = shop.unlabel(lowered, ACCEPT).run_action()
    assert ended.code == 1
    assert shop.conclusions(lowered.head_sha)[-1] == "failure"


def test_another_label_s_event_in_place_of_its_own(shop: GitHubShop, lowered: Pull) -> None:
    """Two labels at once: GitHub may cancel the first one's run for the second one's."""
    shop.on_pull(lowered).run_action()
    lowered.label(ACCEPT, by=shop.ada)
    assert shop.label(lowered, "docs").run_action().code == 0
    assert shop.conclusions(lowered.head_sha)[-1] == "success"


def test_taken_off_between_decision_and_publishing(shop: GitHubShop, lowered: Pull) -> None:
    job = shop.label(lowered, ACCEPT)
    gone = lambda: lowered.unlabel(ACCEPT, by=shop.ada)  # noqa: E731
    shop.server.faults.plant("GET", "/repos/acme/shop/activity", then=gone)
    assert job.run_action().code == 1
    assert shop.conclusions(lowered.head_sha)[-1] == "failure"


def test_who_may_not_accept(shop: GitHubShop, lowered: Pull) -> None:
    eve = shop.repo.role(shop.server.world.user("eve"), "write")
    assert shop.label(lowered, ACCEPT, by=eve).run_action().code == 1
    assert "eve has the role write" in lowered.comments[0].body
    assert [entry.kind for entry in shop.audit()] == ["bypass-denied"]


def test_a_push_ends_it(shop: GitHubShop, lowered: Pull) -> None:
    assert shop.label(lowered, ACCEPT).run_action().code == 0
    shop.commit(WORSE + "\nBe kind.\n")
    shop.push()
    assert shop.on_pull(lowered, "synchronize").run_action().code == 1
    assert lowered.labels == []


def test_it_accepts_the_bar_and_nothing_else(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.9}\n")
    shop.work.commit()
    pull = shop.open_pull(WORSE)
    assert shop.label(pull, ACCEPT).run_action().code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_what_is_accepted_may_still_need_a_bypass(shop: GitHubShop, lowered: Pull) -> None:
    shop.work.checkout("change")
    shop.work.write(
        ".gateval/scripted/support.yaml", SCRIPT.replace("reply: Hello!", "reply: Bye.")
    )
    shop.work.commit()
    shop.push()
    lowered.label(ACCEPT, by=shop.ada)
    ended = shop.label(lowered).run_action()
    assert ended.code == 0, ended.errors
    kinds = [entry.kind.value for entry in shop.audit()]
    assert "bypass-granted" in kinds
