"""The bypass on the real entry: who may, how it looks, what is recorded, when it ends."""

from __future__ import annotations

import re

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.shop import EVAL

BYPASS = "force-eval-bypass"


def test_a_label_restates_a_failed_run_without_running_evals(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    first = shop.on_pull(pull)
    failed = first.run_action()
    assert failed.code == 1
    assert "admin or maintain can let this revision through" in pull.comments[0].body
    _, evidence, _ = re.split(r"<!-- gateval:(?:evals|end) -->", pull.comments[0].body)
    pull.comment(f"/{BYPASS} Checkout is down, hotfix for #12", by=shop.ada)

    ended = shop.label(pull).run_action()

    assert ended.code == 0, ended.errors
    assert ended.outputs["verdict"] == "bypassed"
    assert ended.outputs["results"] == "", "nothing ran"
    check = shop.repo.checks("gateval", pull.head_sha)[-1]
    assert check.conclusion == "neutral"
    assert check.title == "BYPASSED by @\u200bada (self-bypass): 1 failure"
    (comment,) = [one for one in pull.comments if one.user.login == "github-actions[bot]"]
    said, below, _ = re.split(r"<!-- gateval:(?:evals|end) -->", comment.body)
    assert "Bypassed by ada (maintain), author of the pull request (self-bypass)" in said
    assert "Reason: “Checkout is down, hotfix for" in said
    assert below == evidence, "the evidence of the evals stays"
    assert "can let this revision through" not in comment.body, "somebody has"
    (entry,) = shop.audit()
    assert entry.kind == "bypass-granted"
    assert entry.reason == "Checkout is down, hotfix for #12"
    assert entry.head == pull.head_sha
    assert entry.verdict == "fail"
    assert entry.stored_by is not None
    assert entry.stored_by.id == str(first.run), "nothing was measured for it"
    assert entry.stored_by != entry.run
    assert entry.label is not None
    assert (entry.label.by.login, entry.label.by.role, entry.label.own) == ("ada", "maintain", True)
    assert [one.eval for one in entry.failing] == ["support-eval"]
    assert entry.hash in comment.body
    assert entry.hash in (check.summary or "")
    assert entry.hash in ended.summary
    assert f'"hash":"{entry.hash}"' in ended.log


def test_a_restated_run_has_the_outputs_of_the_run(shop: GitHubShop) -> None:
    """A fixture that two Evals share is one that regressed."""
    second = EVAL.replace("support-eval", "second-eval") + "  scoring: {model: weighted}\n"
    shop.push_main(**{"evals__second.yaml": second})
    pull = shop.open_pull(WORSE)
    failed = shop.on_pull(pull).run_action()
    assert (failed.code, failed.outputs["regressions"]) == (1, "1"), failed.errors
    ended = shop.label(pull).run_action()
    assert ended.code == 0, ended.errors
    for name in ("score", "regressions"):
        assert ended.outputs[name] == failed.outputs[name], name


def test_a_push_ends_it(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.label(pull).run_action().code == 0
    shop.commit(WORSE + "\nAnd be kind.\n")
    shop.push()
    ended = shop.on_pull(pull, "synchronize").run_action()
    assert ended.code == 1, ended.errors
    assert pull.labels == []
    assert "a push ended it" in pull.comments[0].body
    assert [one.kind for one in shop.audit()] == ["bypass-granted", "bypass-ended"]
    assert shop.conclusions(pull.head_sha) == ["failure"]


def test_a_push_that_passes_ends_it_too(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.label(pull).run_action().code == 0
    shop.commit(SAME)
    shop.push()
    ended = shop.on_pull(pull, "synchronize").run_action()
    assert ended.code == 0, ended.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert pull.labels == []


def test_taking_the_label_off_restates_the_failure(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    assert shop.label(pull).run_action().code == 0
    job = shop.unlabel(pull)
    ended = job.run_action()
    assert ended.code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
    assert "Bypassed" not in pull.comments[0].body
    granted, withdrawn = shop.audit()
    assert withdrawn.kind == "bypass-withdrawn"
    assert withdrawn.why == f"This takes back entry {granted.number}."
    assert withdrawn.label is not None
    assert (withdrawn.label.by.login, withdrawn.label.event) == ("ada", str(pull.events[-1].id))
    assert job.run_action().code == 1
    assert len(shop.audit()) == 2, "once"


def test_what_was_denied_is_not_taken_back(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.label(pull, by=shop.repo.role(shop.server.world.user("eve"), "triage")).run_action()
    assert shop.unlabel(pull).run_action().code == 1
    assert [one.kind for one in shop.audit()] == ["bypass-denied"]


def test_a_denial_is_not_told_of_a_label_that_is_gone(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.label(pull, by=shop.repo.role(shop.server.world.user("eve"), "triage")).run_action()
    assert "eve has the role triage" in pull.comments[0].body
    assert shop.unlabel(pull).run_action().code == 1
    assert "eve has the role triage" not in pull.comments[0].body
    assert "can let this revision through" in pull.comments[0].body
    assert "Passing (1)" in pull.comments[0].body, "the evidence stays"


def test_another_attempt_of_a_label_s_run_measures(shop: GitHubShop) -> None:
    """Who clicks on "Re-run" asks for evals: the failure may have been an outage."""
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    job = shop.label(pull, "needs docs")
    job.attempt = 2
    ended = job.run_action()
    assert "somebody asked for another attempt" in ended.log
    assert ended.outputs["results"], "the evals ran"


def test_a_foreign_label_changes_nothing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    before = (pull.comments[0].body, shop.conclusions(pull.head_sha))
    ended = shop.label(pull, "needs docs").run_action()
    assert ended.code == 1
    assert "Nothing changed on GitHub" in ended.log
    assert (pull.comments[0].body, shop.conclusions(pull.head_sha)) == before
    assert shop.audit() == ()


def test_a_foreign_label_leaves_a_pass_alone(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.on_pull(pull).run_action()
    ended = shop.label(pull, "needs docs").run_action()
    assert ended.code == 0
    assert "Nothing changed on GitHub" in ended.log
    assert shop.conclusions(pull.head_sha) == ["success"]


def test_a_bypass_without_need_is_no_bypass(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    ended = shop.label(pull).run_action()
    assert ended.code == 0
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert shop.audit() == ()


def test_a_bypass_is_commented_on_where_only_failures_are(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.label(pull).run_action(inputs={"comment": "on-failure"})
    assert ended.code == 0, ended.errors
    assert "Bypassed by ada" in pull.comments[0].body


def test_a_label_that_goes_while_it_is_looked_at_is_not_denied(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    job = shop.label(pull)
    off = lambda: pull.unlabel("force-eval-bypass", by=shop.ada)  # noqa: E731
    shop.server.faults.plant("GET", "*/issues/*/events", then=off)
    assert job.run_action().code == 1
    assert shop.audit() == ()
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
