"""Commands in comments: who may give them, for which head, and what they cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.ports.storage import HISTORY
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import AGENT, EVAL, FIXTURES
from tests.servers.github.state.pull import Pull
from tests.servers.github.webhooks import issue_comment

ANSWERED = {
    "a stranger's `/gateval rerun`, thousands of them": "each costs one question about a role; no check, no answer, no candidate",
    "`/approve\\n/gateval ...`, a quote, words around it": "no command: it has to be all that the comment says",
    "a maintainer's comment edited into a command": "`edited` is refused; a new comment is its author's",
    "a push between reading and running": "the head is the one named, whole, read live before planning; else nothing is run",
    "a commit whose id begins alike": "short ids are refused",
    "a fork's head, vouched for in a comment": "refused: only the protected dispatch runs it with keys",
    "running again until it is green, where the record was refused, deleted or emptied": "what was found regressed stands, by the record or by the gate's own check runs on that head; what is known from neither is `incomplete`",
    "a fixture, a reason or a record that holds markup, mentions or commands": "the answer passes the one sanitiser; a record counts only if the gate's check run names it",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""


def rerun(shop: GitHubShop, pull: Pull, sha: str | None = None, **more: Any) -> Ended:
    """Ask for a rerun of the head, or of another commit."""
    return shop.on_comment(pull, f"/gateval rerun {sha or pull.head_sha}", **more).run_action()


def answers(pull: Pull) -> list[str]:
    """What the gate answered to commands; its report is another comment."""
    ours = [one.body for one in pull.comments if one.user.login == "github-actions[bot]"]
    return [body.replace("\u200b", "") for body in ours if body.startswith("**Gateval:**")]


def nothing_ran(shop: GitHubShop, ended: Ended) -> bool:
    return shop.repo.check_runs == {} and not (ended.workspace / ".gateval/results").exists()


def test_a_person_with_a_role_has_the_head_measured_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    ended = rerun(shop, pull)
    assert ended.code == 0, ended.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert answers(pull) == [], "the report is the answer"
    plan = json.loads((ended.results / "plan.v1.json").read_text())
    assert plan["head"]["commit"] == pull.head_sha != shop.repo.branches["main"]


def test_a_rerun_goes_on_with_what_was_found_and_never_starts_over(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    ended = rerun(shop, pull)
    assert ended.code == 1
    results = json.loads((ended.results / "results.v1.json").read_text())
    standing = {
        one["fixture"] for planned in results["plan"]["evals"] for one in planned["standing"]
    }
    assert standing
    assert not standing & {trial["key"]["fixture"] for trial in results["trials"]}
    assert len([one for one in pull.comments if "gateval:comment" in one.body]) == 1


def test_without_the_record_of_what_was_found_nothing_is_run_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    git = Repo.at(shop.bare)
    blob = git.git("rev-parse", f"{HISTORY.ref}:{HISTORY.path}").decode().strip()
    (shop.bare / f"objects/{blob[:2]}/{blob[2:]}").unlink()
    ended = rerun(shop, pull)
    assert ended.code == 3
    assert "nothing is run" in ended.errors
    assert shop.conclusions(pull.head_sha)[-1] == "action_required"


@pytest.mark.parametrize("role", ["triage", "write"])
def test_a_role_that_the_policy_does_not_name_is_told(shop: GitHubShop, role: str) -> None:
    pull = shop.open_pull(SAME)
    eve = shop.repo.role(shop.server.world.user("eve"), role)
    ended = rerun(shop, pull, by=eve)
    assert ended.code == 2
    assert nothing_ran(shop, ended)
    (answer,) = answers(pull)
    assert f"eve has the role {role} in this repository; admin or maintain may" in answer


def test_the_role_is_the_one_of_now(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_comment(pull, f"/gateval rerun {pull.head_sha}")
    shop.repo.role(shop.ada, "read")
    ended = job.run_action()
    assert ended.code == 0
    assert nothing_ran(shop, ended)
    assert answers(pull) == []


@pytest.mark.parametrize("words", ["rerun SHA", "explain greets", "rerun", "make me admin"])
def test_a_stranger_is_neither_obeyed_nor_answered(shop: GitHubShop, words: str) -> None:
    pull = shop.open_pull(SAME)
    body = f"/gateval {words.replace('SHA', pull.head_sha)}"
    ended = shop.on_comment(pull, body, by=shop.server.world.user("mallory")).run_action()
    assert ended.code == 0
    assert nothing_ran(shop, ended)
    assert answers(pull) == []
    assert shop.server.log.count() == 1, "one question: which role"


@pytest.mark.parametrize(
    "body",
    [
        "Looks good.",
        "/gatevalrerun",
        "> /gateval rerun {sha}",
        "Please: /gateval rerun {sha}",
        "/approve",
    ],
)
def test_what_is_no_command_costs_nothing(shop: GitHubShop, body: str) -> None:
    pull = shop.open_pull(SAME)
    ended = shop.on_comment(pull, body.format(sha=pull.head_sha)).run_action()
    assert ended.code == 0
    assert nothing_ran(shop, ended)
    assert shop.server.log.count() == 0


def test_a_bot_and_an_app_that_acts_for_a_person_are_no_persons(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    bot = shop.repo.role(shop.server.world.user("helper[bot]"), "admin")
    assert nothing_ran(shop, rerun(shop, pull, by=bot))
    comment = pull.comment(
        f"/gateval rerun {pull.head_sha}", by=shop.ada, app=shop.server.world.app("helper")
    )
    event = issue_comment(pull, comment, links=shop.server.links)
    job = shop.job("issue_comment", event.payload, ref=event.ref, sha=event.sha)
    job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action()
    assert ended.code == 0
    assert nothing_ran(shop, ended)
    assert shop.server.log.count() == 0


def test_an_edited_comment_is_not_its_authors_word(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_comment(pull, f"/gateval rerun {pull.head_sha}")
    job.payload = {**job.payload, "action": "edited"}
    ended = job.run_action()
    assert ended.code == 2
    assert 'when a comment is "edited"' in ended.errors
    assert nothing_ran(shop, ended)


def test_what_is_pushed_after_the_comment_is_not_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_comment(pull, f"/gateval rerun {pull.head_sha}")
    read = pull.head_sha
    shop.commit(WORSE)
    pull.head_sha = shop.push()
    ended = job.run_action()
    assert ended.code == 2
    assert nothing_ran(shop, ended)
    (answer,) = answers(pull)
    assert f"{read[:12]} is not the head, which is {pull.head_sha[:12]} by now" in answer
    whole = pull.comments[-1].body
    assert f"\n/gateval rerun {pull.head_sha}\n" in whole, "as it is copied: without a break in it"


def test_a_short_id_is_no_head(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    ended = rerun(shop, pull, pull.head_sha[:12])
    assert ended.code == 2
    assert nothing_ran(shop, ended)
    (answer,) = answers(pull)
    assert "That is no command" in answer
    assert "whole id" in answer


def test_a_forks_code_is_run_by_the_protected_workflow_only(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(SAME)
    ended = rerun(shop, pull)
    assert ended.code == 2
    assert nothing_ran(shop, ended)
    (answer,) = answers(pull)
    assert "Its head lies in a fork" in answer
    assert "Nothing was run" in answer


def test_a_closed_pull_request_is_not_measured(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    pull.close(by=shop.ada)
    ended = rerun(shop, pull)
    assert ended.code == 2
    assert nothing_ran(shop, ended)
    assert "is closed" in answers(pull)[0]


def test_a_comment_on_an_issue_is_none_of_ours(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_comment(pull, f"/gateval rerun {pull.head_sha}")
    del job.payload["issue"]["pull_request"]
    ended = job.run_action()
    assert ended.code == 0
    assert shop.server.log.count() == 0


def test_an_explanation_comes_from_the_stored_verdict(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    runs = len(shop.repo.checks("gateval", pull.head_sha))
    ended = shop.on_comment(pull, "/gateval explain refund-asks-why").run_action()
    assert ended.code == 0, ended.errors
    (answer,) = answers(pull)
    assert "refund-asks-why regressed: passed" in answer
    assert "evals/" in answer, "where it stands"
    assert "No agent was started, no model was asked." in answer
    assert len(shop.repo.checks("gateval", pull.head_sha)) == runs
    assert not (ended.workspace / ".gateval/results").exists()
    assert ended.outputs["comment-url"]


def test_what_was_not_run_is_said_to_be_that(shop: GitHubShop) -> None:
    """Another Agent's fixture, and one that no Eval has: nothing speaks against what nobody saw."""
    greets = FIXTURES.split("---\n")[1]
    waves = greets.replace("greets", "waves").replace("support", "other")
    idle = greets.replace("greets", "idle").replace("support", "nobody")
    files = {
        "agents__other.yaml": AGENT.replace("name: support", "name: other"),
        "evals__others.yaml": "---\n".join((EVAL.replace("support", "other"), waves, idle)),
    }
    files["agents__other.yaml"] = files["agents__other.yaml"].replace(
        "file: prompts/support.md", "file: other.md"
    )
    shop.push_main(**files, **{"agents__other.md": "You wave.\n"})
    pull = shop.open_pull(SAME)
    shop.on_pull(pull).run_action()
    for name, why in (
        (
            "waves",
            "The Evals that have it (other-eval) are not among those that the change calls for",
        ),
        ("idle", "No Eval of head has it."),
    ):
        assert shop.on_comment(pull, f"/gateval explain {name}").run_action().code == 0
        answer = answers(pull)[-1]
        assert "It was not run on this head, so nothing is known of it." in answer
        assert why in answer
        assert "Nothing of what is stored speaks against it" not in answer


def test_somebody_who_may_triage_may_ask_why(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.on_pull(pull).run_action()
    eve = shop.repo.role(shop.server.world.user("eve"), "triage")
    assert shop.on_comment(pull, "/gateval explain greets", by=eve).run_action().code == 0
    assert "Nothing of what is stored speaks against it." in answers(pull)[0]


def test_nothing_is_stored_as_yet_and_a_name_is_mistyped(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    assert shop.on_comment(pull, "/gateval explain greet").run_action().code == 0
    (answer,) = answers(pull)
    assert 'Did you mean "greets"?' in answer
    assert "No verdict on this head is stored" in answer


def test_a_forged_record_explains_nothing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    stored = Repo.at(shop.bare).git("show", f"{HISTORY.ref}:{HISTORY.path}")
    clone = Repo(shop.folder / "forger")
    forged = stored.replace(b"refund-asks-why regressed", b"all is well")
    (clone.path / HISTORY.path).write_bytes(forged)
    assert forged != stored
    clone.commit()
    clone.git("push", "--quiet", "--force", str(shop.bare), f"HEAD:{HISTORY.ref}")
    assert shop.on_comment(pull, "/gateval explain refund-asks-why").run_action().code == 0
    (answer,) = answers(pull)
    assert "all is well" not in answer
    assert "No verdict on this head is stored that the gate" in answer


def test_an_explanation_of_a_forks_head_runs_nothing_of_it(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(WORSE)
    ended = shop.on_comment(pull, "/gateval explain refund-asks-why").run_action()
    assert ended.code == 0, ended.errors
    assert nothing_ran(shop, ended)
    assert "It stands at" in answers(pull)[0]


def test_an_answer_that_cannot_be_written_is_a_warning(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    token = shop.token(contents="write", pull_requests="read", checks="write")
    ended = shop.on_comment(pull, "/gateval explain greets", token=token).run_action()
    assert ended.code == 0
    assert "The answer could not be written." in ended.log
    assert "greets" in ended.summary
