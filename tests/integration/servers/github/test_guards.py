"""What a doctor reads: activity, branches, what guards them, environments; and refs."""

from __future__ import annotations

import github
import pytest

from tests.integration.servers.github.conftest import Connect, Shop
from tests.servers.github.state.protection import (
    Environment,
    Protection,
    RequiredCheck,
    Rule,
    Ruleset,
)

CHECK = RequiredCheck("gateval", 15368)


def test_activity_tells_pushes_by_the_servers_clock(shop: Shop, connect: Connect) -> None:
    before = shop.pull.head_sha
    shop.server.world.clock.forward(3600)
    after = shop.repo.commit("Other", on="main")
    shop.pull.push(after, force=True)
    shop.pull.push(before, force=True)
    ask = connect(shop.token()).requester.requestJsonAndCheck
    _, found = ask("GET", "/repos/acme/shop/activity", parameters={"ref": "better"})
    assert [(each["activity_type"], each["after"]) for each in found] == [
        ("force_push", before),
        ("force_push", after),
        ("branch_creation", before),
    ]
    assert found[0]["actor"]["login"] == "ada"
    assert found[1]["timestamp"] > "2026-01-05T11"
    only = {"activity_type": "force_push", "per_page": 1, "actor": "ada"}
    headers, first = ask("GET", "/repos/acme/shop/activity", parameters=only)
    _, second = ask("GET", headers["link"].partition(">")[0].removeprefix("<"))
    assert [each["after"] for each in first + second] == [before, after]


def test_protection_is_for_administrators(shop: Shop, connect: Connect) -> None:
    root = shop.repo.role(shop.server.world.user("root"), "admin")
    admin = connect(shop.server.world.user_token(root)).get_repo("acme/shop").get_branch("main")
    assert admin.protected is False
    with pytest.raises(github.GithubException, match="Branch not protected"):
        admin.get_protection()
    shop.repo.protections["main"] = Protection((CHECK,), enforce_admins=True, reviews=1)
    told = admin.get_protection()
    assert told.required_status_checks.contexts == ["gateval"]
    assert told.raw_data["required_status_checks"]["checks"] == [
        {"context": "gateval", "app_id": 15368}
    ]
    assert told.enforce_admins
    for token in (shop.token(), shop.server.world.user_token(shop.ada)):
        branch = connect(token).get_repo("acme/shop").get_branch("main")
        assert branch.protected
        seen = branch.raw_data["protection"]["required_status_checks"]
        assert (seen["enforcement_level"], seen["contexts"]) == ("everyone", ["gateval"])
        with pytest.raises(github.GithubException) as refused:
            branch.get_protection()
        assert refused.value.status == 403


def test_the_rules_of_a_branch_come_from_every_active_ruleset(shop: Shop, connect: Connect) -> None:
    required = Rule(
        "required_status_checks",
        {
            "required_status_checks": [{"context": "gateval", "integration_id": 15368}],
            "strict_required_status_checks_policy": False,
        },
    )
    audit = (Rule("deletion"), Rule("non_fast_forward"))
    shop.repo.rulesets += [
        Ruleset(1, "main", ("main",), (required,)),
        Ruleset(2, "off", ("main",), (Rule("deletion"),), active=False),
        Ruleset(3, "audit", ("gateval-audit",), audit),
    ]
    ask = connect(shop.token()).requester.requestJsonAndCheck
    _, rules = ask("GET", "/repos/acme/shop/rules/branches/main")
    assert [(rule["type"], rule["ruleset_id"]) for rule in rules] == [("required_status_checks", 1)]
    assert rules[0]["parameters"] == required.parameters
    _, rules = ask("GET", "/repos/acme/shop/rules/branches/gateval-audit")
    assert [rule["type"] for rule in rules] == ["deletion", "non_fast_forward"]


def test_an_environment_says_who_must_approve(shop: Shop, connect: Connect) -> None:
    shop.repo.environments["evals"] = Environment(
        5, "evals", "2026-01-01T00:00:00Z", ("ada",), protected_branches=True
    )
    repo = connect(shop.token()).get_repo("acme/shop")
    told = repo.get_environment("evals")
    assert [rule.type for rule in told.protection_rules] == ["required_reviewers", "branch_policy"]
    assert told.protection_rules[0].reviewers[0].reviewer.raw_data["login"] == "ada"
    assert told.deployment_branch_policy.protected_branches
    with pytest.raises(github.UnknownObjectException):
        repo.get_environment("production")


def test_refs_and_commits_go_by_any_name(shop: Shop, connect: Connect) -> None:
    shop.repo.push("feature/a", shop.repo.commit("Slash", on="main"), by=shop.ada)
    repo = connect(shop.token()).get_repo("acme/shop")
    head = shop.pull.head_sha
    assert repo.get_git_ref("heads/better").object.sha == head
    assert repo.get_git_ref("pull/1/head").object.sha == head
    assert [ref.ref for ref in repo.get_git_matching_refs("heads/")] == [
        "refs/heads/better",
        "refs/heads/feature/a",
        "refs/heads/main",
    ]
    assert repo.get_branch("feature/a").commit.sha == shop.repo.branches["feature/a"]
    for name in ("better", "heads/better", "refs/pull/1/head", head):
        assert repo.get_commit(name).sha == head
    assert repo.get_git_commit(head).message == "Better"
    with pytest.raises(github.UnknownObjectException):
        repo.get_git_ref("heads/nowhere")
    with pytest.raises(github.GithubException, match="No commit found for SHA: nowhere"):
        repo.get_commit("nowhere")


def test_two_revisions_part_at_the_merge_base(shop: Shop, connect: Connect) -> None:
    start = shop.repo.branches["main"]
    shop.repo.push("main", shop.repo.commit("Moved on", on="main"), by=shop.ada)
    repo = connect(shop.token()).get_repo("acme/shop")
    told = repo.compare("main", shop.pull.head_sha)
    assert told.merge_base_commit.sha == start
    assert (told.status, told.ahead_by, told.behind_by) == ("diverged", 1, 1)
    assert [each.sha for each in told.commits] == [shop.pull.head_sha]
    assert repo.compare("main", "main").status == "identical"
    stray = shop.repo.commit("Unrelated")
    with pytest.raises(github.UnknownObjectException):
        repo.compare("main", stray)


def test_a_commit_knows_its_pull_requests(shop: Shop, connect: Connect) -> None:
    first = shop.pull.head_sha
    second = shop.pull.push(shop.repo.commit("More", on="better"))
    repo = connect(shop.token()).get_repo("acme/shop")
    for sha in (first, second):
        assert [pull.number for pull in repo.get_commit(sha).get_pulls()] == [1]
    assert list(repo.get_commit(shop.repo.branches["main"]).get_pulls()) == []


def test_a_repository_has_labels_of_its_own(shop: Shop, connect: Connect) -> None:
    repo = connect(shop.token()).get_repo("acme/shop")
    made = repo.create_label("force-eval-bypass", "ff0000", "an emergency")
    assert repo.get_label("Force-Eval-Bypass").description == made.description == "an emergency"
    with pytest.raises(github.GithubException, match="already_exists"):
        repo.create_label("FORCE-EVAL-BYPASS", "00ff00")
    with pytest.raises(github.UnknownObjectException):
        repo.get_label("other")


def test_a_person_sees_what_the_role_allows(shop: Shop, connect: Connect) -> None:
    repo = connect(shop.server.world.user_token(shop.ada)).get_repo("acme/shop")
    seen = repo.permissions
    assert (seen.admin, seen.maintain, seen.push) == (False, True, True)
    assert repo.default_branch == "main"
    fork = shop.server.world.fork(shop.repo, shop.eve)
    seen_fork = connect(None).get_repo(fork.full_name)
    assert seen_fork.parent.full_name == "acme/shop"
