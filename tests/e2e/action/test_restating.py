"""What a stored verdict may and may not do."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import digest
from gateval.domain.forge.check_run import Stamp
from gateval.domain.text import BORDER, END
from tests.helpers.forged_records import newest_record, push_history
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.shop import SCRIPT


def forge(shop: GitHubShop, **changes: JsonValue) -> None:
    """Rewrite the newest stored verdict, and have the check run confirm it.

    Only who may change a workflow can do the second.
    """
    record = {**newest_record(shop), **changes}
    push_history(shop, record)
    for check in shop.repo.check_runs.values():
        stamp = Stamp.parse(check.external_id)
        assert stamp is not None
        check.external_id = str(stamp.model_copy(update={"record": digest(record)}))


def test_a_forged_pass_turns_nothing_green(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    forge(shop, verdict="pass", reasons=[], reasons_total=0)
    ended = shop.label(pull, "docs").run_action()
    assert ended.code == 1
    assert "a pass is given by evals that ran" in ended.log
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_a_forged_bypass_lets_nothing_through(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    forge(shop, verdict="bypassed")
    ended = shop.label(pull, "docs").run_action()
    assert ended.code == 1, "no label lets it through, and evals never say bypassed"
    assert "the stored verdict cannot be read" in ended.log
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_a_forged_fail_needs_the_plan_of_today(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.on_pull(pull).run_action()
    forge(shop, verdict="fail", plan="0" * 64, read_from="0" * 64)
    ended = shop.label(pull, "docs").run_action()
    assert ended.code == 0
    assert "what would run has changed" in ended.log
    assert ended.outputs["results"], "the evals ran"


def test_where_the_target_branch_moved_manifests_are_read_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    kept = newest_record(shop)
    shop.push_main(**{"README.md": "Elsewhere.\n"})
    assert shop.label(pull, "docs").run_action().outputs["results"] == "", "the plan is the same"
    assert newest_record(shop) == kept
    shop.push_main(**{"evals__broken.yaml": "apiVersion: gateval/v1\nkind: Eval\n"})
    ended = shop.label(pull, "docs").run_action()
    assert ended.code != 0
    assert "what would run has changed" in ended.log


def test_another_policy_means_another_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    shop.push_main(**{".github__gateval.yml": "policy: {regressions: warn}\n"})
    ended = shop.label(pull, "docs").run_action()
    assert "the policy has changed" in ended.log
    assert ended.outputs["results"]


def test_a_garbled_history_means_another_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    forge(shop, verdict="fail", **{"\x1b[2J::error::x ##[error]y": 1})
    ended = shop.label(pull, "docs").run_action()
    assert ended.code == 1
    assert "\x1b" not in ended.log
    assert "##[" not in ended.log
    assert "the stored verdict cannot be read" in ended.log


def test_without_write_permission_the_gate_still_gates(shop: GitHubShop) -> None:
    token = shop.token(contents="read", pull_requests="write", checks="write")
    pull = shop.open_pull(WORSE)
    first = shop.on_pull(pull, token=token).run_action()
    assert first.code == 1
    assert "contents: write" in first.log
    assert shop.conclusions(pull.head_sha) == ["failure"]
    again = shop.label(pull, "docs", token=token).run_action()
    assert again.code == 1
    assert "no verdict on this revision is stored" in again.log


def test_a_run_under_way_is_not_overtaken(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    app = shop.server.world.app("github-actions")
    shop.repo.add_check(
        "gateval", pull.head_sha, app=app, status="in_progress", conclusion=None,
        external_id="gateval/gateval/2026-01-01T00:00:00Z/1.1",
    )  # fmt: skip
    ended = shop.label(pull, "docs").run_action()
    assert "another run is evaluating this revision now" in ended.log
    assert ended.code == 1


def test_what_could_not_be_evaluated_is_recorded(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    silent = SCRIPT.replace("user: Hello", "user: Bye").replace("  - reply: Done.\n", "")
    shop.work.write(".gateval/scripted/support.yaml", silent)
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 3, ended.errors
    (entry,) = shop.audit()
    assert entry.kind == "not-evaluated"
    assert entry.hash in pull.comments[0].body


def test_verdicts_are_recorded_where_the_policy_asks_for_it(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {audit: {verdicts: true}}\n"})
    pull = shop.open_pull(SAME)
    assert shop.on_pull(pull).run_action().code == 0
    assert [(entry.kind.value, entry.verdict) for entry in shop.audit()] == [("verdict", "pass")]


def test_a_commit_has_a_check_for_each_branch_it_goes_into(shop: GitHubShop) -> None:
    """What passes where the Agent does not even exist says nothing about the default branch."""
    shop.work.branch("empty", "main")
    for path in ("agents/support.yaml", "evals/support-eval.yaml", "evals/fixtures.yaml"):
        shop.work.delete(path)
    shop.work.commit()
    shop.push("empty")
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    other = shop.repo.open_pull("change", by=shop.ada, into="empty")
    assert other.head_sha == pull.head_sha
    shop.on_pull(other).run_action()
    assert shop.conclusions(pull.head_sha, "gateval") == ["failure"]
    assert len(shop.conclusions(pull.head_sha, "gateval (into empty)")) == 1


def test_a_restated_check_keeps_annotations_links_and_its_own_words(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    (first,) = shop.repo.checks("gateval", pull.head_sha)
    top, _, found = str(first.summary).partition(BORDER)
    assert first.annotations
    assert "Saw the calls refund" in found
    assert "passed before and fails now" in top

    bypassed = shop.label(pull).run_action()
    check = shop.repo.checks("gateval", pull.head_sha)[-1]
    assert (bypassed.code, check.conclusion) == (0, "neutral")
    assert check.annotations == first.annotations
    top, _, below = str(check.summary).partition(BORDER)
    told = [one.partition(END)[0] for one in (below, found)]
    assert told[0] == told[1], "evidence and links, as the run gave them"
    assert "can let this revision through" in found.partition(END)[2]
    assert "can let this revision through" not in below
    assert "refund-asks-why passed before and fails now" in top
    for run in (first, check):
        stamp = Stamp.parse(str(run.external_id))
        assert stamp is not None
        assert f"/actions/runs/{stamp.run})" in top, "who measured it, and the log of this run"
    assert "refund-asks-why passed before and fails now" in bypassed.summary
    assert check.text == first.text, "what it remembers for later runs"

    shop.unlabel(pull).run_action()
    check = shop.repo.checks("gateval", pull.head_sha)[-1]
    assert (check.conclusion, check.title) == ("failure", first.title)
    assert check.annotations == first.annotations
    assert str(check.summary).partition(BORDER)[2].strip() == found.strip(), "once, and no more"


def test_a_check_is_restated_without_annotations_where_they_cannot_be_read(
    shop: GitHubShop,
) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    shop.server.faults.status("GET", "*/annotations", 403, times=20)
    ended = shop.label(pull).run_action()
    check = shop.repo.checks("gateval", pull.head_sha)[-1]
    assert (ended.code, check.conclusion, check.annotations) == (0, "neutral", [])
    assert "annotations" in ended.log
