"""Records that anybody may push prove nothing by themselves: each forgery on the real entry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from gateval.domain.audit import AuditEntry, AuditEvent, append, read_log
from gateval.domain.base import JsonObject, digest
from gateval.domain.forge.check_run import Stamp
from tests.helpers.forged_records import (
    BYPASS,
    chained,
    drop_log,
    grant,
    newest_record,
    push_history,
    push_log,
)
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Ended, Job
from tests.servers.github.state.activity import Activity
from tests.servers.github.state.pull import Pull


def kinds(shop: GitHubShop) -> list[str]:
    return [entry.kind.value for entry in shop.audit()]


def content(entry: AuditEntry) -> JsonObject:
    """What happened, without what the log adds to it."""
    body: JsonObject = entry.model_dump(mode="json")
    return {key: body[key] for key in AuditEvent.model_fields}


def second(after: int) -> str:
    return (datetime.now(UTC) + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%SZ")


def let_through(shop: GitHubShop) -> tuple[Pull, Job, JsonObject]:
    """A bypass, the run that gave it, and what that run wrote; then the log is gone again."""
    pull = shop.open_pull(WORSE)
    job = shop.label(pull)
    assert job.run_action().code == 0
    (entry,) = shop.audit()
    drop_log(shop)
    return pull, job, content(entry)


def test_entries_with_the_id_of_a_coming_grant(shop: GitHubShop) -> None:
    """The run finds its id, writes nothing, and the log holds only what the forger wrote."""
    _, job, told = let_through(shop)
    shop.repo.check_runs.clear()
    log = b""
    for after in range(180):
        body: JsonObject = {**told, "kind": "verdict", "label": None, "reason": "", "failing": []}
        log = chained(log, body | {"id": digest({**told, "at": second(after)})})
    push_log(shop, log)
    ended = job.run_action()
    assert ended.code == 1, "what cannot be recorded does not count"
    broken = read_log(shop.audit_bytes()).broken
    assert broken is not None
    assert "its id is not the digest of its content" in broken.why


def test_the_same_grant_as_of_another_day(shop: GitHubShop) -> None:
    """An entry that says the same, dated so that nobody finds it, stands for nothing."""
    _, job, told = let_through(shop)
    forged = AuditEvent.model_validate({**told, "at": "2001-01-01T00:00:00Z"})
    push_log(shop, append(b"", forged)[0])
    assert job.run_action().code == 0
    assert [entry.at > "2026" for entry in shop.audit()] == [False, True]


def test_two_runs_that_hear_of_one_label(shop: GitHubShop) -> None:
    """The other run writes after this one has read the log, and before it writes."""
    pull, _, told = let_through(shop)
    other = AuditEvent.model_validate({**told, "run": {"id": "9"}, "at": second(0)})
    race = lambda: push_log(shop, append(b"", other)[0])  # noqa: E731
    shop.server.faults.plant("GET", "*/activity", then=race)
    assert shop.on_label(pull, BYPASS).run_action().code == 0
    assert [entry.run.id for entry in shop.audit()] == ["9"]


def forged_verdict(shop: GitHubShop, **changes: JsonValue) -> Ended:
    """A label on a head that no run has measured, with a stored verdict that fits it in all."""
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    record = newest_record(shop)
    shop.repo.check_runs.clear()
    pull.comments.clear()
    push_history(shop, record, **changes)
    return shop.label(pull).run_action()


def false(verdict: str) -> JsonObject:
    evals: list[JsonValue] = [
        {"eval": "made-up", "low": 0, "high": 1, "threshold": 1,
         "passed": 0, "failed": 0, "unmeasured": 99}
    ]  # fmt: skip
    return {"verdict": verdict, "evals": evals, "evals_total": 1}


def test_a_stored_verdict_that_no_run_gave(shop: GitHubShop) -> None:
    ended = forged_verdict(shop, **false("fail"))
    assert ended.outputs["results"], "the evals run"
    assert "no check run of this gate confirms" in ended.log
    failing = [one.eval for entry in shop.audit() for one in entry.failing]
    assert failing == ["support-eval"], "the log tells what was measured"


def test_an_outage_that_never_was(shop: GitHubShop) -> None:
    ended = forged_verdict(shop, **false("inconclusive"))
    assert ended.outputs["results"], "the evals run"
    assert [entry.verdict for entry in shop.audit()] == ["fail"]


def test_another_verdict_in_the_place_of_what_a_run_gave(shop: GitHubShop) -> None:
    """The check run is there, but it confirms another record."""
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    push_history(shop, newest_record(shop), **false("incomplete"))
    ended = shop.label(pull).run_action()
    assert ended.code == 0
    assert ended.outputs["results"], "the evals run"
    (entry,) = shop.audit()
    assert (entry.verdict, [one.eval for one in entry.failing]) == ("fail", ["support-eval"])


def test_a_check_run_of_another_app_confirms_nothing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    shop.repo.check_runs.clear()
    shop.repo.add_check(
        "gateval", pull.head_sha, app=shop.server.world.app("helper"), conclusion="failure",
        external_id=check.external_id,
    )  # fmt: skip
    ended = shop.label(pull).run_action()
    assert ended.outputs["results"], "the evals run"


def test_a_verdict_on_manifests_that_are_invalid(shop: GitHubShop) -> None:
    """Exit 2 is no verdict, and no label lets it through."""
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    record = newest_record(shop)
    shop.work.checkout("change")
    shop.work.write("evals/more.yaml", "apiVersion: gateval/v1\nkind: Eval\nspec: {}\n")
    shop.work.commit()
    head, main = shop.push(), shop.work.id("main")
    forged = {**record, "head": head, "base": main}
    push_history(shop, forged)
    stamp = Stamp(started="2026-01-01T00:00:00Z", run=1, attempt=1, record=digest(forged))
    shop.repo.add_check("gateval", head, conclusion="failure", external_id=str(stamp))
    ended = shop.label(pull).run_action()
    assert ended.code == 2, ended.log
    assert kinds(shop) == []


def stale_and_forged(shop: GitHubShop) -> tuple[Pull, Activity]:
    """A label for a good head, a push that GitHub's list does not show, and a forged grant."""
    pull = shop.open_pull(SAME)
    pull.label(BYPASS, by=shop.ada)
    use = str(pull.events[-1].id)
    shop.commit(WORSE)
    shop.push()
    unseen = shop.repo.activity.pop()
    push_log(shop, append(b"", grant(pull, use))[0])
    return pull, unseen


def test_a_forged_grant_while_the_list_of_pushes_is_behind(shop: GitHubShop) -> None:
    pull, _ = stale_and_forged(shop)
    ended = shop.on_pull(pull, "edited").run_action()
    assert ended.code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
    assert "GitHub's list of pushes does not show this revision yet" in pull.comments[-1].body
    assert shop.server.log.count("GET", "*/activity") > 1, "it was asked again"


def test_a_list_of_pushes_that_catches_up_in_time(shop: GitHubShop) -> None:
    pull, unseen = stale_and_forged(shop)
    catch_up = lambda: shop.repo.activity.append(unseen)  # noqa: E731
    shop.server.faults.plant("GET", "*/activity", nth=3, then=catch_up)
    assert shop.on_pull(pull, "edited").run_action().code == 1
    assert pull.labels == [], "the push ended it"
    assert kinds(shop)[-1] == "bypass-ended"


def test_a_good_label_waits_for_the_list_of_pushes(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    unseen = shop.repo.activity.pop()
    job = shop.label(pull)
    catch_up = lambda: shop.repo.activity.append(unseen)  # noqa: E731
    shop.server.faults.plant("GET", "*/activity", nth=2, then=catch_up)
    assert job.run_action().code == 0
    assert kinds(shop) == ["bypass-granted"]


def test_the_webhook_alone_does_not_count_where_pushes_can_be_read(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.repo.activity.pop()
    assert shop.label(pull).run_action().code == 1
    assert kinds(shop) == ["bypass-denied"]


def test_an_outage_of_the_list_of_pushes(shop: GitHubShop) -> None:
    """Not to be read now is not the same as not to be read: whoever causes it gains nothing."""
    pull = shop.open_pull(WORSE)
    shop.server.faults.status("GET", "*/activity", 502, times=99)
    assert shop.label(pull).run_action().code == 1
    assert kinds(shop) == ["bypass-denied"]


def test_a_forged_grant_where_nobody_tells_of_pushes(shop: GitHubShop) -> None:
    pull, _ = stale_and_forged(shop)
    shop.server.faults.status("GET", "*/activity", 404, times=99)
    assert shop.on_pull(pull, "edited").run_action().code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_a_forged_grant_in_the_merge_queue(shop: GitHubShop) -> None:
    pull, _ = stale_and_forged(shop)
    base = shop.work.id("main")
    head, ref = shop.queue("change", pull.number, on="main")
    job = shop.job("merge_group", shop.group_payload(head, ref, base=base), ref=ref, sha=head)
    job.check_out(shop.bare, ref)
    assert job.run_action().code == 1
    assert shop.conclusions(head) == ["failure"]
