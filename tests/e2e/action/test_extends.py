"""Rules of another repository: they hold, only stricter ones beside them; unread is no pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended, Job
from tests.servers.github.state.pull import Pull

RULES = ".github/gateval.yml"
STRICT = "policy: {regressions: block, bypass: {roles: [admin]}, candidateEnv: []}\n"
BARE = {"contents": "write", "pull_requests": "write", "checks": "write"}


class Company:
    """The shop and `acme/rules`, a private repository whose rules the shop extends."""

    def __init__(self, shop: GitHubShop) -> None:
        self.shop = shop
        world = shop.server.world
        self.work = Repo(shop.folder / "rules")
        self.rules = world.repository(
            "acme/rules", git=shop.folder / "server/rules.git", private=True
        )
        self.app = world.app("acme-evals")

    def publish(self, text: str) -> str:
        """Commit rules; return what names them."""
        self.work.write("gates/strict.yml", text)
        sha = self.work.commit()
        self.rules.push_from(self.work.path, "HEAD", "main", by=self.shop.ada)
        return f"acme/rules/gates/strict.yml@{sha}"

    def extend(self, source: str, own: str = "") -> None:
        """Have the shop's main branch extend these rules."""
        self.shop.push_main(**{RULES.replace("/", "__"): f"extends: {source}\n{own}"})

    def token(self) -> str:
        """A token that may read the rules, and nothing else."""
        return self.shop.server.world.app_token(self.app, self.rules, contents="read")

    def run(self, pull: Pull, **more: Any) -> Ended:
        return self.shop.on_pull(pull).run_action(inputs={"extends-token": self.token()}, **more)


@pytest.fixture
def company(shop: GitHubShop) -> Company:
    return Company(shop)


def test_a_laxer_rule_of_the_repository_does_not_count_and_that_is_told(company: Company) -> None:
    company.extend(company.publish(STRICT), "policy: {regressions: off}\n")
    ended = company.run(pull := company.shop.open_pull(WORSE))
    assert ended.code == 1, ended.errors
    (comment,) = pull.comments
    assert "policy.regressions asks less than acme/rules/gates/strict.yml@" in comment.body
    assert "role admin can let this revision through" in comment.body
    assert "which extends acme/rules/gates/strict.yml@" in comment.body


def test_a_stricter_rule_of_the_repository_counts(company: Company) -> None:
    company.extend(
        company.publish("policy: {regressions: off}\n"), "policy: {regressions: block}\n"
    )
    ended = company.run(pull := company.shop.open_pull(WORSE))
    assert ended.code == 1, ended.errors
    assert "asks less than" not in pull.comments[0].body


def no_token(company: Company, pull: Pull) -> Ended:
    return company.shop.on_pull(pull).run_action()


def gone(company: Company, pull: Pull) -> Ended:
    company.extend("acme/rules/gates/other.yml@" + "0" * 40)
    return company.run(pull)


def invalid(company: Company, pull: Pull) -> Ended:
    company.extend(company.publish("policy: {regresions: off}\n"))
    return company.run(pull)


def chained(company: Company, pull: Pull) -> Ended:
    company.extend(company.publish(f"extends: {company.publish(STRICT)}\n"))
    return company.run(pull)


UNREAD: dict[str, tuple[Callable[[Company, Pull], Ended], str]] = {
    "a token that may not": (no_token, "extends-token"),
    "no such file": (gone, "GitHub knows nothing of it"),
    "invalid": (invalid, "gates/strict.yml:1:10"),
    "a chain": (chained, "It extends another one itself"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_rules_that_cannot_be_read_are_no_pass_and_nothing_runs(
    company: Company, case: str
) -> None:
    run, words = UNREAD[case]
    company.extend(company.publish(STRICT))
    pull = company.shop.open_pull(SAME)
    ended = run(company, pull)
    assert ended.code == 3, ended.errors
    assert ended.outputs["verdict"] == "incomplete"
    (check,) = company.shop.repo.checks("gateval", pull.head_sha)
    assert check.conclusion == "action_required"
    assert "the rules that the gate config extends cannot be read" in (check.title or "")
    (comment,) = pull.comments
    assert words in comment.body.replace("&#96;", "")
    assert not list(ended.results.glob("traces/*"))


def test_nobodys_label_counts_under_rules_that_cannot_be_read(company: Company) -> None:
    company.extend(company.publish(STRICT))
    pull = company.shop.open_pull(SAME)
    for name in ("force-eval-bypass", "accept-bar-change"):
        ended = company.shop.label(pull, name).run_action()
        assert (ended.code, ended.outputs["verdict"]) == (3, "incomplete"), ended.errors


def test_a_refusal_leaves_nothing_behind(company: Company) -> None:
    company.extend(company.publish(STRICT))
    pull = company.shop.open_pull(SAME)
    company.shop.server.faults.status("GET", "*/contents/*", 403)
    assert company.run(pull).code == 3
    assert company.run(pull).code == 0, "it is read again, and nothing of the first answer stays"


def test_what_a_pull_request_extends_is_not_read_and_has_to_be_accepted(company: Company) -> None:
    company.extend(company.publish(STRICT))
    newer = company.publish("policy: {regressions: off}\n")
    company.shop.work.branch("change", "main")
    company.shop.work.write(RULES, f"extends: {newer}\n")
    ended = company.run(pull := company.shop.open_pull(SAME))
    assert ended.code == 1, ended.errors
    assert "extends acme/rules/gates/strict.yml@" in pull.comments[0].body
    assert len(company.shop.server.log.of("GET", "*/contents/*")) == 1


def test_the_command_line_reads_them_with_the_machines_token(company: Company) -> None:
    company.extend(company.publish(STRICT), "policy: {regressions: off}\n")
    company.shop.commit(WORSE)
    api = {"GITHUB_API_URL": company.shop.server.api_url}
    unread = gateval(company.shop.work, "check", **api)
    assert unread.returncode == 3, unread.stderr
    assert "Set GITHUB_TOKEN" in " ".join(unread.stdout.split())
    read = gateval(company.shop.work, "check", GITHUB_TOKEN=company.token(), **api)
    assert read.returncode == 1, read.stderr
    assert "policy.regressions asks less" in " ".join(read.stdout.split())
    planned = gateval(company.shop.work, "plan", **api)
    assert "cannot be read" in planned.stdout


def test_the_token_for_the_rules_is_shown_nowhere(company: Company) -> None:
    company.extend(company.publish(STRICT))
    pull = company.shop.open_pull(SAME)
    token = company.token()
    job: Job = company.shop.on_pull(pull)
    ended = job.run_action(inputs={"extends-token": token})
    assert ended.code == 0, ended.errors
    masked, _, log = ended.log.partition("::stop-commands::")
    assert f"::add-mask::{token}\n" in masked
    said = log + ended.errors + ended.summary + pull.comments[0].body
    assert token not in said
    assert not [
        path
        for path in job.workspace.rglob("*")
        if path.is_file() and token.encode() in path.read_bytes()
    ]
