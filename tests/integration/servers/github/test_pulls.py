"""Pull requests, comments, labels and events, as PyGithub reads and writes them."""

from __future__ import annotations

import github
import pytest

from tests.integration.servers.github.conftest import Connect, Shop
from tests.servers.github.state.commits import ChangedFile


def test_a_pull_request_tells_its_two_ends(shop: Shop, connect: Connect) -> None:
    repo = connect(shop.token()).get_repo("acme/shop")
    pull = repo.get_pull(1)
    assert (pull.head.sha, pull.head.ref) == (shop.pull.head_sha, "better")
    assert (pull.base.sha, pull.base.ref) == (shop.repo.branches["main"], "main")
    assert pull.head.repo.full_name == "acme/shop"
    assert (pull.user.login, pull.state, pull.draft) == ("ada", "open", False)
    assert [each.number for each in repo.get_pulls(head="acme:better")] == [1]
    assert list(repo.get_pulls(base="other")) == []
    assert [commit.sha for commit in pull.get_commits()] == [shop.pull.head_sha]


def test_the_base_of_a_pull_request_does_not_follow_its_branch(
    shop: Shop, connect: Connect
) -> None:
    before = shop.repo.branches["main"]
    shop.repo.push("main", shop.repo.commit("Later", on="main"), by=shop.ada)
    repo = connect(shop.token()).get_repo("acme/shop")
    assert repo.get_pull(1).base.sha == before
    assert repo.get_branch("main").commit.sha == shop.repo.branches["main"] != before


def test_a_fork_is_another_repository_and_may_be_gone(shop: Shop, connect: Connect) -> None:
    fork = shop.server.world.fork(shop.repo, shop.eve)
    fork.push("mine", fork.commit("Mine", on="main"), by=shop.eve)
    ours = shop.repo.open_pull("mine", by=shop.eve, fork=fork, draft=True)
    repo = connect(shop.token()).get_repo("acme/shop")
    seen = repo.get_pull(2)
    assert (seen.head.repo.full_name, seen.head.repo.fork, seen.draft) == ("eve/shop", True, True)
    ours.head_repo = None
    assert repo.get_pull(2).raw_data["head"]["repo"] is None


def test_files_come_from_commits_or_from_the_test(shop: Shop, connect: Connect) -> None:
    files = (ChangedFile("b.yaml"), ChangedFile("a.yaml", "renamed", previous_filename="c.yaml"))
    shop.pull.push(shop.repo.commit("More", on="better", files=files))
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    seen = [(each.filename, each.status, each.previous_filename) for each in pull.get_files()]
    assert seen == [("a.yaml", "renamed", "c.yaml"), ("b.yaml", "modified", None)]
    shop.pull.files = [ChangedFile(f"{number:04}") for number in range(3100)]
    assert len(list(pull.get_files())) == 3000
    assert pull.changed_files == 2
    assert connect(shop.token()).get_repo("acme/shop").get_pull(1).changed_files == 3100


def test_comments_are_written_changed_and_removed(shop: Shop, connect: Connect) -> None:
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    made = pull.create_issue_comment("first")
    assert (made.user.login, made.user.id, made.user.type) == (
        "github-actions[bot]",
        41898282,
        "Bot",
    )
    assert made.performed_via_github_app.slug == "github-actions"
    made.edit("second")
    assert shop.pull.comments[0].body == "second"
    assert shop.pull.comments[0].updated_at > shop.pull.comments[0].created_at
    again = pull.get_issue_comment(made.id)
    assert again.body == "second"
    again.delete()
    assert shop.pull.comments == []
    with pytest.raises(github.UnknownObjectException):
        pull.get_issue_comment(made.id)


def test_300_comments_come_in_pages_oldest_first(shop: Shop, connect: Connect) -> None:
    for number in range(300):
        shop.pull.comment(f"{number}", by=shop.eve)
    client = connect(shop.token())
    client.per_page = 100
    pull = client.get_repo("acme/shop").get_pull(1)
    assert [each.body for each in pull.get_issue_comments()] == [str(n) for n in range(300)]
    assert [each.body for each in pull.get_issue_comments().reversed][:2] == ["299", "298"]
    pages = shop.server.log.of("GET", "*/comments")
    assert [entry.query.get("page") for entry in pages[:3]] == [None, "2", "3"]


def test_only_a_writer_or_the_author_changes_a_comment(shop: Shop, connect: Connect) -> None:
    hers = shop.pull.comment("mine", by=shop.eve)
    bot = shop.pull.comment("the bot's", by=shop.server.world.user("other[bot]"))
    eve = connect(shop.server.world.user_token(shop.eve)).get_repo("acme/shop").get_pull(1)
    eve.get_issue_comment(hers.id).edit("still mine")
    with pytest.raises(github.GithubException, match="admin rights"):
        eve.get_issue_comment(bot.id).edit("spoofed")
    ada = connect(shop.server.world.user_token(shop.ada)).get_repo("acme/shop").get_pull(1)
    ada.get_issue_comment(bot.id).edit("moderated")
    assert [each.body for each in shop.pull.comments] == ["still mine", "moderated"]
    assert shop.pull.comments[1].user.login == "other[bot]"


def test_labels_leave_events_that_name_who_and_when(shop: Shop, connect: Connect) -> None:
    shop.pull.label("force-eval-bypass", by=shop.ada)
    issue = connect(shop.token()).get_repo("acme/shop").get_issue(1)
    issue.add_to_labels("seen", "Force-Eval-Bypass")
    issue.remove_from_labels("force-eval-bypass")
    events = list(issue.get_events())
    assert [(each.event, each.label.name, each.actor.login) for each in events] == [
        ("labeled", "force-eval-bypass", "ada"),
        ("labeled", "seen", "github-actions[bot]"),
        ("unlabeled", "force-eval-bypass", "github-actions[bot]"),
    ]
    assert events[0].created_at < events[1].created_at < events[2].created_at
    via = [each.raw_data["performed_via_github_app"] for each in events]
    assert [app and app["slug"] for app in via] == [None, "github-actions", "github-actions"]
    assert [label.name for label in issue.get_labels()] == ["seen"]
    with pytest.raises(github.GithubException, match="Label does not exist"):
        issue.remove_from_labels("force-eval-bypass")


def test_the_timeline_has_events_and_comments(shop: Shop, connect: Connect) -> None:
    shop.pull.label("one", by=shop.ada)
    shop.pull.comment("two", by=shop.eve)
    shop.pull.close(by=shop.ada)
    shop.pull.reopen(by=shop.ada)
    shop.pull.ready(by=shop.ada)
    shop.pull.push(shop.repo.commit("Rewritten", on="main"), force=True)
    issue = connect(shop.token()).get_repo("acme/shop").get_issue(1)
    assert [each.event for each in issue.get_timeline()] == [
        "labeled",
        "commented",
        "closed",
        "reopened",
        "ready_for_review",
        "head_ref_force_pushed",
    ]


def test_what_is_merged_moves_its_base(shop: Shop, connect: Connect) -> None:
    sha = shop.pull.merge(by=shop.ada)
    repo = connect(shop.token()).get_repo("acme/shop")
    pull = repo.get_pull(1)
    assert (pull.state, pull.merged, pull.merged_by.login) == ("closed", True, "ada")
    assert pull.merge_commit_sha == repo.get_branch("main").commit.sha == sha
    assert [each.event for each in pull.get_issue_events()] == ["merged", "closed"]
    assert list(repo.get_pulls()) == []


def test_a_comment_that_is_too_long_is_refused(shop: Shop, connect: Connect) -> None:
    pull = connect(shop.token()).get_repo("acme/shop").get_pull(1)
    pull.create_issue_comment("\U0001f600" * 65_536)
    with pytest.raises(github.GithubException, match=r"Body is too long \(maximum is 65536"):
        pull.create_issue_comment("x" * 65_537)
    with pytest.raises(github.GithubException, match="missing_field"):
        pull.create_issue_comment("  ")
    assert len(shop.pull.comments) == 1
