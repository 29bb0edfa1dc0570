"""Every rule of the bypass, attacked on the real entry. `bypassed` is exit 0 and a neutral check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateval.domain.audit import AuditKind, append
from tests.helpers.forged_records import BYPASS, grant, push_log
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.remotes import refuse_with
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always
from tests.servers.github.state.people import User
from tests.servers.github.state.pull import Pull

ANSWERED = {
    "a label from before the last push": "ended: activity says when head was pushed; the label goes",
    "push between click and webhook": "the same: pushes have a veto over the payload",
    "look-alike letters (`force-eval-bypaſs`)": "another label; only case is ignored, as GitHub does",
    "a push in the label's own second": "ended: nobody can tell which came first",
    "bot, App, deleted account": "not a person",
    "somebody takes a maintainer's label off and puts their own on": "the newest event counts",
    "re-run of the maintainer's old run": "a payload counts in the first attempt only",
    "force-push back to a revision that was let through": "the push is newer than the label",
    "commit dates in the future": "never looked at",
    "head moves while the gate decides": "head is read again before writing; then the evals' verdict stands",
    "a reason put into a maintainer's mouth by editing their comment": "edited comments give no reason",
    "a comment with our marker": "ours is known by its author, too",
    "our comment edited by who may: the marker gone, of another gate, or of a run in the future; other findings below it": "the check run, which only our App can change, keeps its id and a digest of the findings: it is written over, and nothing that was changed is taken over",
    "a forged grant in the log": "a grant in the log never decides",
    "a push that GitHub's list of pushes does not show yet, with a forged grant or without": "the gate waits for the list, then denies",
    "an outage or a rate limit, caused to hide a push": "denied: only where the list can never be read does the webhook decide",
    "entries with the id of a coming grant, pushed beforehand so that it is not recorded": "an id is the digest of its content, or the log is broken: no bypass",
    "the coming grant itself, pushed beforehand with another date": "no duplicate: its time has to lie between the label and now",
    "a log that was rewritten": "broken: no bypass. Whole but other: the anchors in comments and check runs show it",
    "the log cannot be written": "no bypass",
    "a forged stored verdict: for what was never measured, for invalid manifests, with false figures": "the gate's check run on the commit has to carry its digest, and manifests are validated each time; else the evals run",
    "a bypass taken back so that nobody sees that it was there": "recorded, with who took it back",
    "passing into an empty branch with the same commit": "another check: `gateval (into BRANCH)`",
    "hiding behind a neighbour in the merge queue": "each pull request of the group needs its own grant",
    "a commit or title there that names somebody else's pull request": "commits that could be rebased name nobody: no bypass",
    "the label taken off while the gate decides": "labels are read again before writing; then the evals' verdict stands",
    "ten thousand label events, to push the newest off the list": "a list that is too long is refused as a whole",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

NO_ACTIVITY = "/repos/acme/shop/activity"


def kinds(shop: GitHubShop) -> list[str]:
    return [entry.kind.value for entry in shop.audit()]


def refused(shop: GitHubShop, pull: Pull, why: str) -> None:
    """The check on head does not let merge, and the comment says why the label did not help."""
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
    assert why in pull.comments[-1].body
    assert "bypass-granted" not in kinds(shop)


def person(shop: GitHubShop, login: str, role: str, base: str | None = None) -> User:
    return shop.repo.role(shop.server.world.user(login), role, base)


@pytest.mark.parametrize(
    ("role", "base"), [("triage", None), ("write", None), ("security-lead", "write")]
)
def test_a_role_that_may_not(shop: GitHubShop, role: str, base: str | None) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.label(pull, by=person(shop, "eve", role, base)).run_action()
    assert ended.code == 1
    refused(shop, pull, f"eve has the role {role} in this repository; admin or maintain may")
    (entry,) = shop.audit()
    assert entry.kind is AuditKind.BYPASS_DENIED
    assert entry.label is not None
    assert entry.label.by.role == role


def test_a_denial_is_logged_once(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.label(pull, by=person(shop, "eve", "triage")).run_action()
    assert shop.label(pull, "docs").run_action().code == 1
    assert kinds(shop) == ["bypass-denied"]


def test_the_policy_names_the_roles(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {bypass: {roles: [security-lead]}}\n"})
    pull = shop.open_pull(WORSE)
    ended = shop.label(pull, by=person(shop, "lea", "security-lead", "write")).run_action()
    assert ended.code == 0, ended.errors
    ended = shop.label(pull, "docs").run_action()
    assert ended.code == 0, "restated"


def test_a_pull_request_cannot_name_the_roles(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write(".github/gateval.yml", "policy: {bypass: {roles: [triage, write]}}\n")
    pull = shop.open_pull(WORSE)
    assert shop.label(pull, by=person(shop, "eve", "write")).run_action().code == 1
    refused(shop, pull, "eve has the role write")


@pytest.mark.parametrize("through_app", [True, False])
def test_a_bot(shop: GitHubShop, *, through_app: bool) -> None:
    pull = shop.open_pull(WORSE)
    app = shop.server.world.app("helper")
    by = shop.ada if through_app else shop.repo.role(app.bot, "admin")
    pull.label(BYPASS, by=by, app=app)
    assert shop.on_label(pull, BYPASS, by=by).run_action().code == 1
    refused(shop, pull, "is not a person")


def test_the_author_where_the_policy_excludes_them(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {bypass: {allowAuthor: false}}\n"})
    pull = shop.open_pull(WORSE)
    assert shop.label(pull).run_action().code == 1
    refused(shop, pull, "The author of the pull request may not")
    pull.unlabel(BYPASS, by=shop.ada)
    assert shop.label(pull, by=person(shop, "bob", "admin")).run_action().code == 0


def test_a_stale_label(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.label(pull)
    shop.commit(WORSE)
    shop.push()
    for action in ("synchronize", "reopened"):
        assert shop.on_pull(pull, action).run_action().code == 1
        refused(shop, pull, "" if pull.labels == [] else "a push ended it")
    assert kinds(shop) == ["bypass-ended"]
    assert pull.labels == []


def test_a_stale_label_where_nobody_tells_of_pushes(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.label(pull)
    shop.commit(WORSE)
    shop.push()
    shop.server.faults.status("GET", NO_ACTIVITY, 404)
    assert shop.on_pull(pull, "synchronize").run_action().code == 1
    refused(shop, pull, "It is not known on which revision the label was put")


def test_a_label_that_an_unauthorised_person_put_on_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.label(pull)
    pull.unlabel(BYPASS, by=shop.ada)
    assert shop.label(pull, by=person(shop, "eve", "triage")).run_action().code == 1
    refused(shop, pull, "eve has the role triage")


def test_the_run_of_the_first_label_does_not_speak_for_the_second(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    first = shop.label(pull)
    pull.unlabel(BYPASS, by=shop.ada)
    pull.label(BYPASS, by=person(shop, "eve", "triage"))
    assert first.run_action().code == 1
    refused(shop, pull, "eve has the role triage")


def test_a_label_that_was_taken_off_before_its_run_began(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.label(pull)
    pull.unlabel(BYPASS, by=shop.ada)
    assert job.run_action().code == 1
    assert kinds(shop) == []


def test_a_label_put_on_while_the_evals_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    shop.server.faults.plant("POST", "*/check-runs", then=lambda: pull.label(BYPASS, by=shop.ada))
    ended = job.run_action()
    assert ended.code == 0, "newer than the push, by a person who may"
    assert kinds(shop) == ["bypass-granted"]


def test_a_label_taken_off_while_the_evals_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.label(pull)
    shop.server.faults.plant("POST", "*/check-runs", then=lambda: pull.unlabel(BYPASS, by=shop.ada))
    assert job.run_action().code == 1
    assert kinds(shop) == []


def test_a_label_taken_off_between_decision_and_publishing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    job = shop.label(pull)
    gone = lambda: pull.unlabel(BYPASS, by=shop.ada)  # noqa: E731
    shop.server.faults.plant("GET", NO_ACTIVITY, then=gone)
    ended = job.run_action()
    assert ended.code == 1
    assert ended.outputs["verdict"] == "fail"
    assert "BYPASSED" not in ended.summary
    assert "Bypassed" not in pull.comments[0].body
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_head_moves_while_the_evals_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    measured = pull.head_sha
    job = shop.label(pull)
    shop.commit(WORSE + "x")
    shop.server.faults.plant("POST", "*/check-runs", then=shop.push)
    assert job.run_action().code == 1
    assert shop.conclusions(measured)[-1] == "failure"
    assert kinds(shop) == []


def test_head_moves_between_decision_and_publishing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    measured = pull.head_sha
    job = shop.label(pull)
    shop.commit(WORSE + "x")
    shop.server.faults.plant("GET", "*/collaborators/ada/permission", then=shop.push)
    ended = job.run_action()
    assert ended.code == 1
    assert shop.conclusions(measured)[-1] == "failure"
    assert shop.on_pull(pull, "synchronize").run_action().code == 1
    assert kinds(shop)[-1] == "bypass-ended"


def test_a_push_back_to_a_revision_that_was_let_through(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    old = pull.head_sha
    assert shop.label(pull).run_action().code == 0
    shop.commit(WORSE + "x")
    shop.push()
    shop.on_pull(pull, "synchronize").run_action()
    assert pull.labels == []
    shop.label(pull)
    shop.work.git("reset", "--quiet", "--hard", old)
    shop.repo.push_from(shop.work.path, "change", "change", by=shop.ada)
    assert pull.head_sha == old
    assert shop.on_pull(pull, "synchronize").run_action().code == 1
    assert shop.conclusions(old)[-1] == "failure"


def test_the_replay_of_an_old_run(shop: GitHubShop) -> None:
    """Its event says that the label was put on the present head; but by now it is another use."""
    pull = shop.open_pull(WORSE)
    old = pull.head_sha
    job = shop.label(pull)
    shop.commit(WORSE + "x")
    shop.push()
    pull.unlabel(BYPASS, by=shop.ada)
    pull.label(BYPASS, by=shop.ada)
    shop.work.git("reset", "--quiet", "--hard", old)
    shop.repo.push_from(shop.work.path, "change", "change", by=shop.ada)
    job.attempt = 2
    assert job.run_action().code == 1
    refused(shop, pull, "a push ended it")


def test_the_replay_of_an_old_run_where_nobody_tells_of_pushes(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.label(pull)
    job.attempt = 2
    shop.server.faults.status("GET", NO_ACTIVITY, 404)
    assert job.run_action().code == 1
    refused(shop, pull, "It is not known on which revision")


def test_a_grant_in_the_log_never_decides(shop: GitHubShop) -> None:
    """Even a true one: whoever may push could have written it."""
    pull = shop.open_pull(WORSE)
    assert shop.label(pull).run_action().code == 0
    assert shop.on_pull(pull, "reopened").run_action().code == 0, "the list of pushes says so"
    assert kinds(shop) == ["bypass-granted"], "once"
    shop.server.faults.status("GET", NO_ACTIVITY, 404)
    assert shop.on_pull(pull, "reopened").run_action().code == 1


def test_forged_dates_of_commits(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.label(pull)
    shop.commit(WORSE)
    shop.work.git(
        "-c", "user.name=x", "-c", "user.email=x@example.com",
        "commit", "--quiet", "--amend", "--no-edit", "--date=2001-01-01T00:00:00Z",
    )  # fmt: skip
    shop.push()
    assert shop.on_pull(pull, "synchronize").run_action().code == 1
    assert kinds(shop) == ["bypass-ended"]


@pytest.mark.parametrize(
    "name",
    some_always(
        [
            "force-eval-bypas\u0455",
            "\u017force-eval-bypass",
            "force-eval-bypa\u017fs",
            "force_eval_bypass",
        ],
        2,
    ),
)
def test_labels_that_look_alike(shop: GitHubShop, name: str) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.label(pull, name).run_action().code == 1
    assert kinds(shop) == []


def test_a_label_in_other_letters_is_the_same_to_github(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    ended = shop.label(pull, "Force-Eval-Bypass").run_action()
    assert ended.code == 0, ended.log
    assert kinds(shop) == ["bypass-granted"]
    assert shop.audit()[0].label is not None
    shop.commit(WORSE + "x")
    shop.push()
    assert shop.on_pull(pull, "synchronize").run_action().code == 1
    assert pull.labels == []


def test_a_push_in_the_second_of_the_label(shop: GitHubShop) -> None:
    """Nobody can tell which of the two came first."""
    pull = shop.open_pull(WORSE)
    job = shop.label(pull)
    (*others, newest) = shop.repo.activity
    shop.repo.activity[:] = [*others, replace(newest, timestamp=pull.events[-1].created_at)]
    assert job.run_action().code == 1
    assert "put on in the very second of a push" in pull.comments[-1].body
    assert kinds(shop) == ["bypass-ended"]


def test_a_required_reason(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {bypass: {requireReason: true}}\n"})
    pull = shop.open_pull(WORSE)
    bob = person(shop, "bob", "admin")
    pull.comment(f"/{BYPASS} Because I say so.", by=bob)
    edited = pull.comment("Looks good", by=shop.ada)
    pull.edit(edited, f"/{BYPASS} Put into her mouth by somebody who may edit comments.")
    assert shop.label(pull).run_action().code == 1
    refused(shop, pull, "A reason is required")
    pull.comment(f"/{BYPASS} The shop is down.", by=shop.ada)
    assert shop.on_pull(pull, "reopened").run_action().code == 0
    assert shop.audit()[-1].reason == "The shop is down."
    pull.unlabel(BYPASS, by=shop.ada)
    assert shop.label(pull).run_action().code == 0, "it was given after the use before this one"
    pull.unlabel(BYPASS, by=shop.ada)
    assert shop.label(pull).run_action().code == 1, "a reason is good for one use"


def test_a_comment_with_our_marker_is_not_ours(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    ours = pull.comments[0].body
    pull.comments[0].user = shop.server.world.user("eve")
    assert shop.label(pull).run_action().code == 0
    assert pull.comments[0].body == ours
    assert "Bypassed by ada" in pull.comments[1].body


def test_a_grant_forged_into_the_log(shop: GitHubShop) -> None:
    """A stale label and a well-chained entry that says it was for the new head."""
    pull = shop.open_pull(SAME)
    pull.label(BYPASS, by=shop.ada)
    use = str(pull.events[-1].id)
    shop.commit(WORSE)
    shop.push()
    push_log(shop, append(b"", grant(pull, use))[0])
    assert shop.on_pull(pull, "edited").run_action().code == 1
    assert shop.conclusions(pull.head_sha)[-1] == "failure"
    pull.label(BYPASS, by=person(shop, "eve", "triage"))
    push_log(shop, append(shop.audit_bytes(), grant(pull, str(pull.events[-1].id)))[0])
    assert shop.on_pull(pull, "edited").run_action().code == 1


def test_a_rewritten_log(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    push_log(shop, append(b"", grant(pull, "1"))[0].replace(b"maintain", b"MAINTAIN"))
    assert shop.label(pull).run_action().code == 1
    refused_text = pull.comments[-1].body
    assert "The audit log is broken at entry 1" in refused_text


def test_the_log_cannot_be_written(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    refuse_with(Repo.at(shop.bare), "GH013: Repository rule violations found")
    ended = shop.label(pull).run_action()
    assert ended.code == 1
    refused(shop, pull, "It could not be recorded")
    assert '"kind":"bypass-denied"' in ended.log


def test_the_token_may_not_write(shop: GitHubShop) -> None:
    token = shop.token(contents="read", pull_requests="write", checks="write")
    pull = shop.open_pull(WORSE)
    ended = shop.label(pull, token=token).run_action()
    assert ended.code == 1
    refused(shop, pull, "contents: write")


def test_a_sink_that_the_policy_requires(shop: GitHubShop) -> None:
    rules = "policy: {audit: {sinks: [git, summary], required: [summary]}}\n"
    shop.push_main(**{".github__gateval.yml": rules})
    pull = shop.open_pull(WORSE)
    ended = shop.label(pull).run_action(GITHUB_STEP_SUMMARY="")
    assert ended.code == 1
    assert "This job has no summary to record in" in pull.comments[-1].body
    assert kinds(shop) == ["bypass-granted", "bypass-denied"], "git heard of both"
    assert shop.conclusions(pull.head_sha)[-1] == "failure"


def test_a_fork_does_not_reach_the_gate(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(WORSE)
    token = shop.token(contents="read", pull_requests="read", checks="read")
    ended = shop.label(pull, token=token).run_action()
    assert ended.code in {1, 3}
    assert shop.conclusions(pull.head_sha) == []
    assert kinds(shop) == []


def test_a_maintainers_run_for_a_fork(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(WORSE)
    pull.label(BYPASS, by=shop.ada)
    job = shop.on_dispatch()
    ended = job.run_action(inputs={"pull-request": str(pull.number)})
    assert ended.code == 0, ended.errors
    assert kinds(shop) == ["bypass-granted"]


def test_a_label_on_a_closed_pull_request_says_nothing_about_the_open_one(shop: GitHubShop) -> None:
    closed = shop.open_pull(WORSE)
    shop.work.branch("other", "change")
    shop.push("other")
    pull = shop.repo.open_pull("other", by=shop.ada)
    assert shop.on_pull(pull).run_action().code == 1
    closed.label(BYPASS, by=shop.ada)
    closed.close(by=shop.ada)
    ended = shop.label(closed, "docs").run_action()
    assert "is closed" in ended.log
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert kinds(shop) == []
