"""What guards a branch: protection (for administrators), rules (for anybody), environments."""

from __future__ import annotations

from typing import Any

from tests.servers.github.access import Needs
from tests.servers.github.http import ApiError, Call, Reply, not_found
from tests.servers.github.routing import route
from tests.servers.github.views.guards import branch, environment, protection


@route("GET", "R/branches/{branch}/protection", Needs("administration=read", role="admin"))
def get_protection(call: Call) -> Reply:
    """Classic protection. No workflow token can ever read it."""
    name = call.params["branch"]
    if name not in call.repo.branches:
        raise ApiError(404, "Branch not found")
    found = call.repo.protections.get(name)
    if found is None:
        raise ApiError(404, "Branch not protected")
    return Reply(200, protection(found, name, call.repo, call.links))


@route("GET", "R/branches/{branch}", Needs("contents=read", public=True))
def get_branch(call: Call) -> Reply:
    """A branch, with the names of its required checks."""
    name = call.params["branch"]
    if name not in call.repo.branches:
        raise ApiError(404, "Branch not found")
    return Reply(200, branch(name, call.repo, call.links))


@route("GET", "R/rules/branches/{branch}", Needs(public=True))
def list_rules(call: Call) -> Reply:
    """The active rules for a branch, from all rulesets; the branch need not exist."""
    rules: list[dict[str, Any]] = []
    for ruleset in call.repo.rulesets:
        if not ruleset.active or call.params["branch"] not in ruleset.branches:
            continue
        source = {
            "ruleset_source_type": "Repository",
            "ruleset_source": call.repo.full_name,
            "ruleset_id": ruleset.id,
        }
        for rule in ruleset.rules:
            parameters = {"parameters": rule.parameters} if rule.parameters else {}
            rules.append({"type": rule.type, **parameters, **source})
    return Reply(200, rules)


@route("GET", "R/environments/{environment_name}", Needs("actions=read", public=True))
def get_environment(call: Call) -> Reply:
    """A deployment environment and who must approve."""
    found = call.repo.environments.get(call.params["environment_name"])
    if found is None:
        raise not_found()
    return Reply(200, environment(found, call.repo, call.world, call.links))
