"""Protection, branches, environments."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.servers.github.state.protection import Environment, Protection
from tests.servers.github.state.repository import Repository
from tests.servers.github.state.world import World
from tests.servers.github.views.commits import commit
from tests.servers.github.views.links import Links, node_id
from tests.servers.github.views.people import simple_user


def protection(shown: Protection, name: str, repo: Repository, links: Links) -> dict[str, Any]:
    """Classic protection; what is not set is left out."""
    url = _protection_url(name, repo, links)
    view: dict[str, Any] = {
        "url": url,
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": shown.enforce_admins},
        "allow_force_pushes": {"enabled": shown.allow_force_pushes},
        "allow_deletions": {"enabled": shown.allow_deletions},
    }
    if shown.checks:
        view["required_status_checks"] = {
            "url": f"{url}/required_status_checks",
            "contexts_url": f"{url}/required_status_checks/contexts",
            "strict": shown.strict,
            "contexts": [check.context for check in shown.checks],
            "checks": [
                {"context": check.context, "app_id": check.app_id} for check in shown.checks
            ],
        }
    if shown.reviews:
        view["required_pull_request_reviews"] = {
            "url": f"{url}/required_pull_request_reviews",
            "dismiss_stale_reviews": False,
            "require_code_owner_reviews": False,
            "required_approving_review_count": shown.reviews,
        }
    return view


def branch(name: str, repo: Repository, links: Links) -> dict[str, Any]:
    """A branch and its tip."""
    tip = repo.look(repo.branches[name])
    assert tip is not None
    guard = repo.protections.get(name)
    checks = guard.checks if guard else ()
    level = "off" if not checks else "everyone" if guard and guard.enforce_admins else "non_admins"
    url = f"{links.repo(repo)}/branches/{quote(name, safe='')}"
    return {
        "name": name,
        "commit": commit(tip, repo, links),
        "_links": {"self": url, "html": f"{links.page(repo)}/tree/{quote(name)}"},
        "protected": guard is not None or any(name in each.branches for each in repo.rulesets),
        "protection": {
            "enabled": guard is not None,
            "required_status_checks": {
                "enforcement_level": level,
                "contexts": [check.context for check in checks],
                "checks": [{"context": check.context, "app_id": check.app_id} for check in checks],
            },
        },
        "protection_url": _protection_url(name, repo, links),
    }


def environment(shown: Environment, repo: Repository, world: World, links: Links) -> dict[str, Any]:
    """A deployment environment."""
    url = f"{links.repo(repo)}/environments/{quote(shown.name, safe='')}"
    rules: list[dict[str, Any]] = []
    if shown.reviewers:
        reviewers = [
            {"type": "User", "reviewer": simple_user(world.user(login), links)}
            for login in shown.reviewers
        ]
        rule = {"id": shown.id, "node_id": node_id("GA", shown.id), "type": "required_reviewers"}
        rules.append({**rule, "prevent_self_review": False, "reviewers": reviewers})
    if shown.protected_branches:
        rule = {"id": shown.id, "node_id": node_id("GB", shown.id), "type": "branch_policy"}
        rules.append(rule)
    policy = {"protected_branches": True, "custom_branch_policies": False}
    return {
        "id": shown.id,
        "node_id": node_id("EN", shown.id),
        "name": shown.name,
        "url": url,
        "html_url": f"{links.page(repo)}/settings/environments/{shown.id}",
        "created_at": shown.created_at,
        "updated_at": shown.created_at,
        "protection_rules": rules,
        "deployment_branch_policy": policy if shown.protected_branches else None,
    }


def _protection_url(name: str, repo: Repository, links: Links) -> str:
    return f"{links.repo(repo)}/branches/{quote(name, safe='')}/protection"
