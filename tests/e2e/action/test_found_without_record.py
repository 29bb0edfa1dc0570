"""What was found stands where no record of it is: the gate's own check runs on head remember it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateval.domain.forge.check_run import Conclusion
from gateval.ports.storage import HISTORY
from tests.helpers.forged_records import BYPASS, newest_record, push_history
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended, Job
from tests.helpers.shop import AGENT, FIXTURES
from tests.servers.github.http import Reply
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.checks import CheckRun
from tests.servers.github.state.pull import Pull
from tests.servers.model_server import Answer, Call, reply

RECEIVE = "/acme/shop/git-receive-pack"
READ_ONLY = {"contents": "read", "pull_requests": "write", "checks": "write"}


class MoodyShop(GitHubShop):
    """The Agent of a change is wrong as long as `wrong` is set; base's never is."""

    def __init__(self, server: GitHubServer, folder: Path) -> None:
        super().__init__(server, folder)
        self.wrong = True
        self.environ: dict[str, str] = {}
        self.push_main(
            agents__support__yaml="",
            **{
                "agents__support.yaml": AGENT.replace("scripted/support", "openai/gpt-5"),
                "evals__fixtures.yaml": FIXTURES.replace(
                    "{type: toolCalled, tool: clarify_reason}", "{type: contains, value: Why}"
                ),
            },
        )

    def answer(self, call: Call) -> Answer:
        """Say what a candidate is told."""
        worse = "be quick" in json.dumps(call.body)
        return reply(call, "No." if worse and self.wrong else "Hello! Why?")

    def run(self, job: Job, **inputs: str) -> Ended:
        """Run the action's own entry with the provider at hand."""
        return job.run_action(inputs=inputs, **self.environ)


@pytest.fixture
def moody(github_server: GitHubServer, tmp_path: Path) -> Iterator[MoodyShop]:
    shop = MoodyShop(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


@pytest.fixture
def red(moody: MoodyShop) -> Pull:
    """A pull request that the gate found worse, without a right to record that."""
    return found_worse(moody, token=moody.token(**READ_ONLY))


def found_worse(moody: MoodyShop, **more: Any) -> Pull:
    """Return a pull request that was found worse, and whose agent is right from now on."""
    moody.wrong = True
    pull = moody.open_pull(WORSE)
    ended = moody.run(moody.on_pull(pull, **more))
    assert ended.code == 1, (ended.log, ended.errors)
    moody.wrong = False
    return pull


def standing(ended: Ended) -> set[str]:
    plan = json.loads((ended.results / "results.v1.json").read_text())["plan"]
    return {one["fixture"] for planned in plan["evals"] for one in planned["standing"]}


def checks(shop: GitHubShop, pull: Pull) -> list[CheckRun]:
    return shop.repo.checks("gateval", pull.head_sha)


def forget(shop: GitHubShop) -> None:
    Repo.at(shop.bare).git("update-ref", "-d", HISTORY.ref)


def empty(shop: GitHubShop) -> None:
    clone = Repo(shop.folder / "forger")
    Path(clone.path / HISTORY.path).write_text("")
    clone.commit()
    clone.git("push", "--quiet", "--force", str(shop.bare), f"HEAD:{HISTORY.ref}")


def test_a_job_that_may_only_read_gives_the_same_in_every_attempt(
    moody: MoodyShop, red: Pull
) -> None:
    for attempt in (2, 3):
        token = moody.token(**READ_ONLY)
        again = moody.run(moody.on_pull(red, token=token, attempt=attempt))
        assert again.code == 1, again.log
        assert standing(again) == {"refund-asks-why", "greets"}
    assert moody.conclusions(red.head_sha) == ["failure"] * 3


def test_a_record_that_could_not_be_kept_is_told(moody: MoodyShop, red: Pull) -> None:
    moody.wrong = True
    job = moody.on_pull(red, token=moody.token(**READ_ONLY))
    ended = moody.run(job)
    (warned,) = [one for one in ended.log.splitlines() if one.startswith("::warning")]
    assert "could not be kept in git" in warned
    assert "contents: write" in warned
    (ours,) = [one.body for one in red.comments if "gateval:comment" in one.body]
    assert "could not be kept in git" in ours
    assert "could not be kept in git" in (checks(moody, red)[-1].summary or "")


def test_a_record_that_was_kept_is_not_spoken_of(moody: MoodyShop) -> None:
    pull = found_worse(moody)
    (ours,) = [one.body for one in pull.comments if "gateval:comment" in one.body]
    assert "kept in git" not in ours


def test_a_rerun_by_a_comment_goes_on_with_it(moody: MoodyShop, red: Pull) -> None:
    again = moody.run(moody.on_comment(red, f"/gateval rerun {red.head_sha}"))
    assert again.code == 1, again.log


def test_a_label_of_somebody_without_the_right_gives_no_new_try(
    moody: MoodyShop, red: Pull
) -> None:
    eve = moody.repo.role(moody.server.world.user("eve"), "triage")
    token = moody.token(**READ_ONLY)
    again = moody.run(moody.label(red, BYPASS, by=eve, token=token))
    assert again.code == 1, again.log


def test_a_hook_that_refuses_the_ref(moody: MoodyShop) -> None:
    hook = moody.bare / "hooks/pre-receive"
    hook.write_text(
        "#!/bin/sh\nwhile read -r _ _ ref; do case $ref in refs/gateval/*) exit 1; esac; done\n"
    )
    hook.chmod(0o755)
    pull = found_worse(moody)
    assert moody.run(moody.on_pull(pull)).code == 1


def test_an_outage_of_the_first_push(moody: MoodyShop) -> None:
    moody.server.faults.plant("POST", RECEIVE, reply=Reply(500, b""), times=1000)
    pull = found_worse(moody)
    moody.server.faults._planted.clear()
    assert moody.run(moody.on_pull(pull)).code == 1


@pytest.mark.parametrize("lose", [forget, empty])
def test_a_record_that_is_gone(moody: MoodyShop, lose: Callable[[GitHubShop], None]) -> None:
    pull = found_worse(moody)
    lose(moody)
    again = moody.run(moody.on_pull(pull))
    assert again.code == 1, again.log
    assert standing(again) == {"refund-asks-why", "greets"}


def test_it_stands_for_what_was_compared_and_for_nothing_else(moody: MoodyShop, red: Pull) -> None:
    """The target branch is put back to before: base's Agent is another one."""
    bare = Repo.at(moody.bare)
    bare.git("update-ref", "refs/heads/main", bare.id("main~"))
    assert not standing(moody.run(moody.on_pull(red)))


def test_another_head_has_no_check_run_to_go_by(moody: MoodyShop, red: Pull) -> None:
    moody.commit(SAME)
    red.head_sha = moody.push()
    ended = moody.run(moody.on_pull(red, "synchronize"))
    assert ended.code == 0, ended.log


def test_a_check_run_without_its_findings_leaves_it_incomplete(
    moody: MoodyShop,
) -> None:
    """As an earlier Gateval wrote it, or somebody who has it defaced."""
    pull = found_worse(moody)
    forget(moody)
    checks(moody, pull)[0].text = None
    ended = moody.run(moody.on_pull(pull))
    assert ended.code == 3, ended.log
    assert "an earlier finding has no record" in ended.summary
    assert moody.conclusions(pull.head_sha)[-1] == Conclusion.ACTION_REQUIRED
    third = moody.run(moody.on_pull(pull))
    assert third.code == 3, "nor does the next one forget"


def test_another_app_s_check_run_says_nothing(moody: MoodyShop, red: Pull) -> None:
    """Its findings, under our name, with our external id, on a head of its own."""
    (told,) = checks(moody, red)
    moody.repo.check_runs.clear()
    moody.repo.add_check(
        "gateval", red.head_sha, app=moody.server.world.app("helper"), conclusion="failure",
        external_id=told.external_id, status="completed", text=told.text,
    )  # fmt: skip
    ended = moody.run(moody.on_pull(red))
    assert ended.code == 0, ended.log
    assert not standing(ended)


def test_our_check_run_on_another_head_says_nothing(moody: MoodyShop, red: Pull) -> None:
    """One of the base commit, where anybody who may start a run there can have it made."""
    (told,) = checks(moody, red)
    moody.repo.check_runs.clear()
    moody.repo.add_check(
        "gateval", moody.repo.branches["main"], conclusion="failure",
        external_id=told.external_id, text=told.text,
    )  # fmt: skip
    ended = moody.run(moody.on_pull(red))
    assert ended.code == 0, ended.log


def test_a_forged_record_takes_nothing_back(moody: MoodyShop) -> None:
    pull = found_worse(moody)
    push_history(moody, newest_record(moody), verdict="pass", regressed=[], regressions=[])
    again = moody.run(moody.on_pull(pull))
    assert again.code == 1, again.log


def test_where_neither_can_be_read_there_is_no_pass(moody: MoodyShop) -> None:
    pull = found_worse(moody)
    forget(moody)
    path = f"/repos/acme/shop/commits/{pull.head_sha}/check-runs"
    moody.server.faults.status("GET", path, 422, times=1)
    ended = moody.run(moody.on_pull(pull))
    assert ended.code == 3, ended.log
    assert "neither those in git nor the check runs" in ended.summary
    again = moody.run(moody.on_pull(pull))
    assert again.code == 1, "it is no loss once they can be read again"


def test_a_check_run_that_was_completed_later_remembers(moody: MoodyShop) -> None:
    moody.wrong = True
    pull = moody.open_pull(WORSE)
    job = moody.on_pull(pull, token=moody.token(**READ_ONLY))
    down = moody.server.faults.status("PATCH", "/repos/acme/shop/check-runs/*", 422, times=1000)
    moody.server.faults.status("POST", "/repos/acme/shop/check-runs", 422, nth=2, times=1000)
    moody.run(job)
    moody.server.faults._planted.clear()
    assert down.seen
    job.run_post()
    assert moody.conclusions(pull.head_sha) == ["failure"]
    moody.wrong = False
    assert moody.run(moody.on_pull(pull, token=moody.token(**READ_ONLY))).code == 1


@pytest.mark.parametrize("contents", ["write", "read"])
def test_a_head_that_used_up_its_budget_stays_incomplete(moody: MoodyShop, contents: str) -> None:
    """What had looked worse is not drawn anew until it looks well, whoever keeps records."""
    rights = {**READ_ONLY, "contents": contents}
    moody.push_main(**{".github__gateval.yml": "policy: {gateway: {callsPerRun: 6}}\n"})
    pull = moody.open_pull(WORSE)
    first = moody.run(moody.on_pull(pull, token=moody.token(**rights)))
    assert first.code == 3, (first.log, first.errors)
    moody.wrong = False
    for attempt in (2, 3):
        token = moody.token(**rights)
        again = moody.run(moody.on_pull(pull, token=token, attempt=attempt))
        assert again.code == 3, again.log
        assert "an earlier run of this head used up" in " ".join(again.summary.split())
    assert moody.conclusions(pull.head_sha) == ["action_required"] * 3
    moody.push_main(**{".github__gateval.yml": "policy: {gateway: {callsPerRun: 200}}\n"})
    more = moody.run(moody.on_pull(pull, token=moody.token(**rights), attempt=4))
    assert more.code == 0, more.log


def test_a_used_up_budget_is_nobody_else_s_to_tell(moody: MoodyShop) -> None:
    """Neither another App's check run, nor ours on another head or of another policy."""
    moody.push_main(**{".github__gateval.yml": "policy: {gateway: {callsPerRun: 6}}\n"})
    pull = moody.open_pull(WORSE)
    assert moody.run(moody.on_pull(pull, token=moody.token(**READ_ONLY))).code == 3
    (told,) = checks(moody, pull)
    copied: dict[str, Any] = {
        "conclusion": "action_required",
        "external_id": told.external_id,
        "text": told.text,
    }
    moody.wrong = False
    moody.repo.check_runs.clear()
    helper = moody.server.world.app("helper")
    moody.repo.add_check("gateval", pull.head_sha, app=helper, status="completed", **copied)
    moody.repo.add_check("gateval", moody.repo.branches["main"], **copied)
    ended = moody.run(moody.on_pull(pull, token=moody.token(**READ_ONLY)))
    assert "an earlier run of this head used up" not in " ".join(ended.summary.split())
    assert ended.code == 0, ended.log


@pytest.mark.parametrize("contents", ["write", "read"])
def test_a_used_up_budget_of_a_part_is_told_by_the_job_that_publishes(
    moody: MoodyShop, contents: str
) -> None:
    """The measuring job has neither record nor check run; the one that publishes has."""
    moody.push_main(**{".github__gateval.yml": "policy: {gateway: {callsPerRun: 6}}\n"})
    pull = moody.open_pull(WORSE)
    for attempt, (measured, said) in enumerate([(3, "used up"), (0, "an earlier run")], 1):
        reads = moody.token(contents="read", pull_requests="read")
        first = moody.run(moody.on_pull(pull, token=reads, attempt=attempt), step="run")
        assert first.code == measured, first.log
        token = moody.token(**{**READ_ONLY, "contents": contents})
        second = moody.on_pull(pull, token=token, attempt=attempt)
        first.results.rename(second.workspace / "gate")
        ended = moody.run(second, step="publish", results="gate")
        assert ended.code == 3, ended.log
        assert said in ended.summary
        moody.wrong = False
    assert moody.conclusions(pull.head_sha) == ["action_required"] * 2
