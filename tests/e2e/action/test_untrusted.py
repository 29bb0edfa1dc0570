"""Forks and Dependabot: what they report is a claim, and a forged one can at most look unverified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateval.domain.tree import LOCK_PATH
from tests.helpers import payloads
from tests.helpers.agentv import TARGETS
from tests.helpers.foreign import elsewhere
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Ended, Job
from tests.helpers.shop import AGENT, EVAL, PROMPT
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

UNVERIFIED = "gateval (unverified)"
READ = {"contents": "read", "pull_requests": "read", "checks": "read"}


def on_fork(shop: GitHubShop, pull: Pull, **more: Any) -> Job:
    return shop.on_pull(pull, token=shop.token(**READ), actor="mallory", **more)


def follow(shop: GitHubShop, pull: Pull, claims: Path, head: str = "") -> Job:
    """The job of the second workflow, on main, with the artifact of the first."""
    owner = pull.head_repo.full_name if pull.head_repo else None
    payload = payloads.workflow_run(head=head or pull.head_sha, head_repository=owner)
    job = shop.job("workflow_run", payload)
    job.check_out(shop.bare, "refs/heads/main")
    shutil.copytree(claims, job.workspace / "claims", symlinks=True)
    return job


def publish(job: Job) -> Ended:
    return job.run_action(inputs={"step": "publish", "results": "claims"})


@pytest.mark.parametrize(("prompt", "code", "claim"), [(WORSE, 1, "fail"), (SAME, 3, "pass")])
def test_a_fork_alone(shop: GitHubShop, prompt: str, code: int, claim: str) -> None:
    pull = shop.open_fork_pull(prompt)
    ended = on_fork(shop, pull).run_action()
    assert ended.code == code, ended.errors
    assert ended.outputs["verdict"] == "unverified"
    assert f"unverified, claims {claim}" in ended.summary
    assert "workflow_dispatch" in ended.summary
    assert "workflow_dispatch" in ended.log
    assert shop.repo.check_runs == {}
    assert pull.comments == []
    warnings = [line for line in ended.log.splitlines() if line.startswith("::warning")]
    assert "permissions" not in "".join(warnings), "nobody can give a fork's token more"
    assert any("a token that only reads" in line for line in warnings)
    assert any("maintainers' workflow" in line for line in warnings)
    errors = [line for line in ended.log.splitlines() if line.startswith("::error")]
    if code == 1:
        assert "file=evals/fixtures.yaml,line=8,title=refund-asks-why" in errors[0]
    else:
        assert errors == []


def test_a_fork_that_changes_no_agent_is_told_who_gives_the_check(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(PROMPT, {"README.md": "A better shop.\n"})
    ended = on_fork(shop, pull).run_action()
    assert ended.code == 0, ended.errors
    (warning,) = [line for line in ended.log.splitlines() if line.startswith("::warning")]
    assert "the check gateval is not written" in warning
    assert f"for pull request {pull.number}" in warning


def test_a_fork_is_measured_by_the_evals_of_its_target(shop: GitHubShop) -> None:
    """What it changes in an Eval does not count at all, so it cannot hide anything either."""
    lowered = EVAL + "  scoring: {passThreshold: 0.01}\n"
    pull = shop.open_fork_pull(WORSE, {"evals/support-eval.yaml": lowered})
    ended = on_fork(shop, pull).run_action()
    assert ended.code == 1, ended.errors
    assert "claims fail" in ended.summary
    assert "support-eval (target branch)" in ended.summary
    assert "| support | support-eval |" not in ended.summary


def test_nothing_to_evaluate_is_no_claim(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull("You help customers.\nAlways ask for the reason first.\n")
    ended = on_fork(shop, pull).run_action()
    assert ended.code == 0, ended.errors
    assert ended.outputs["verdict"] == "pass"
    assert publish(follow(shop, pull, ended.results)).code == 0
    assert shop.conclusions(pull.head_sha) == ["success"], "read from git by a trusted run"


def test_evals_that_need_a_key_are_missing_not_passed(shop: GitHubShop) -> None:
    shop.push_main(
        **{
            "agents__other.yaml": AGENT.replace("name: support", "name: other")
            .replace("scripted/support", "openai/gpt-5")
            .replace("prompts/support.md", "prompts/support.md"),
            "evals__other.yaml": EVAL.replace("support-eval", "other-eval").replace(
                "targetAgent: support", "targetAgent: other"
            ),
        }
    )
    pull = shop.open_fork_pull(SAME)
    ended = on_fork(shop, pull).run_action()
    assert ended.code == 3, ended.errors
    assert "unverified, claims incomplete" in ended.summary
    results = json.loads((ended.results / "results.v1.json").read_text())
    assert {trial["key"]["eval"] for trial in results["trials"]} == {"support-eval"}


def test_dependabot_is_treated_like_a_fork(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull, actor="dependabot[bot]", token=shop.token(**READ)).run_action()
    assert ended.code == 3
    assert "Dependabot" in ended.summary
    assert shop.repo.check_runs == {}


def test_a_forks_token_that_can_write_writes_no_verdict(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(SAME)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 3
    assert shop.conclusions(pull.head_sha) == []
    assert shop.conclusions(pull.head_sha, UNVERIFIED) == ["action_required"]


def test_two_workflows_and_then_the_maintainer(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(SAME)
    job = on_fork(shop, pull)
    job.token = shop.token(contents="read")
    claims = job.run_action(inputs={"step": "run", "results": "out"})
    assert claims.code == 3, claims.errors
    shown = publish(follow(shop, pull, claims.results))
    assert shown.code == 3, shown.errors
    assert shop.conclusions(pull.head_sha) == []
    assert shop.conclusions(pull.head_sha, UNVERIFIED) == ["action_required"]
    assert "Unverified" in pull.comments[0].body
    assert "claims pass" in pull.comments[0].body

    real = shop.on_dispatch().run_action(inputs={"pull-request": str(pull.number)})
    assert real.code == 0, real.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    (verdict,) = pull.comments
    assert "Unverified" not in verdict.body, "the claim's comment is gone"
    publish(follow(shop, pull, claims.results))
    assert shop.conclusions(pull.head_sha) == ["success"], "a later claim takes nothing back"
    assert pull.comments == [verdict]


def test_a_claim_about_a_new_head_is_shown_beside_the_verdict_on_the_old_one(
    shop: GitHubShop,
) -> None:
    pull = shop.open_fork_pull(WORSE)
    assert shop.on_dispatch().run_action(inputs={"pull-request": str(pull.number)}).code == 1
    shop.commit(SAME)
    assert pull.head_repo is not None
    pull.head_repo.push_from(shop.work.path, "change", "change", by=pull.author)
    claims = on_fork(shop, pull).run_action(inputs={"step": "run", "results": "out"})
    publish(follow(shop, pull, claims.results))
    assert ["Unverified" in one.body for one in pull.comments] == [False, True]
    assert shop.on_dispatch().run_action(inputs={"pull-request": str(pull.number)}).code == 0
    assert ["Unverified" in one.body for one in pull.comments] == [False]


def test_a_claim_goes_also_where_the_verdict_writes_no_comment(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(SAME)
    claims = on_fork(shop, pull).run_action(inputs={"step": "run", "results": "out"})
    publish(follow(shop, pull, claims.results))
    assert len(pull.comments) == 1
    inputs = {"pull-request": str(pull.number), "comment": "on-failure"}
    assert shop.on_dispatch().run_action(inputs=inputs).code == 0
    assert pull.comments == []


def test_a_token_that_may_not_read_the_pull_request(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.repo.private = True
    ended = shop.on_pull(pull, token=shop.token(contents="read")).run_action(inputs={"step": "run"})
    assert ended.code == 1, "what the event says is enough to measure"
    assert "::warning" not in ended.log, "this step needs no more than `contents: read`"


def test_a_value_that_is_passed_on_and_stands_in_a_manifest_is_named(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {candidateEnv: [CRM_TOKEN]}\n"})
    job = shop.on_pull(shop.open_pull(SAME))
    ended = job.run_action(inputs={"step": "run"}, CRM_TOKEN="scripted/support")
    assert ended.code == 2, ended.errors
    assert "Agent support holds the value of CRM_TOKEN" in ended.errors + ended.log


def test_a_head_that_moved_on_since(shop: GitHubShop) -> None:
    pull = shop.open_fork_pull(SAME)
    old = pull.head_sha
    claims = on_fork(shop, pull).run_action(inputs={"step": "run"})
    shop.commit(WORSE)
    assert pull.head_repo is not None
    pull.head_repo.push_from(shop.work.path, "change", "change", by=pull.author)
    job = follow(shop, pull, claims.results, head=old)
    assert publish(job).code == 2
    assert shop.conclusions(pull.head_sha) == shop.conclusions(pull.head_sha, UNVERIFIED) == []
    assert pull.comments == []


Forgery = Callable[[Path, GitHubShop], None]


def edit(name: str, change: Callable[[dict[str, Any]], None]) -> Forgery:
    """A forgery that changes one of the files."""

    def forge(folder: Path, _shop: GitHubShop) -> None:
        path = folder / name
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return forge


def replace(name: str, content: bytes) -> Forgery:
    """A forgery that puts something else in the place of a file."""

    def forge(folder: Path, _shop: GitHubShop) -> None:
        (folder / name).write_bytes(content)

    return forge


def of(content: dict[str, Any], *path: str | int, to: Any) -> None:
    """Set what stands at a path."""
    *way, last = path
    inner: Any = content
    for part in way:
        inner = inner[part]
    inner[last] = to


def other_pull(folder: Path, shop: GitHubShop) -> None:
    """Name another open pull request, Ada's."""
    number = shop.open_pull(SAME, "adas").number
    edit("trigger.v1.json", lambda it: of(it, "subject", "number", to=number))(folder, shop)


def link_to_secret(folder: Path, _shop: GitHubShop) -> None:
    (folder / PART).unlink()
    (folder / PART).symlink_to("/proc/self/environ")


def old_results(folder: Path, _shop: GitHubShop) -> None:
    """Leave what an earlier Gateval left: results with their plan, and no part."""
    (folder / PART).unlink()


def twice(folder: Path, _shop: GitHubShop) -> None:
    """Hand the same part in for two jobs."""
    for name in ("one", "two"):
        shutil.copytree(folder, folder.parent / "jobs" / name)
    shutil.rmtree(folder)
    folder.mkdir()
    for name in ("one", "two"):
        (folder.parent / "jobs" / name).rename(folder / name)


MARKUP = (
    "</details>\n\n# Gateval: pass @acme/all ![x](http://evil/x.png) <!-- gateval:comment v1 -->"
)
TRIGGER, PART = "trigger.v1.json", "part.v1.json"
REFUSED: dict[str, Forgery] = {
    "other head in the trigger": edit(
        TRIGGER, lambda it: of(it, "subject", "head_sha", to="5" * 40)
    ),
    "other pull request": other_pull,
    "no such pull request": edit(TRIGGER, lambda it: of(it, "subject", "number", to=999)),
    "other repository": edit(TRIGGER, lambda it: of(it, "repository", to="acme/other")),
    "trusted": edit(TRIGGER, lambda it: it.update(subject={"kind": "commit"})),
    "unknown field in the trigger": edit(TRIGGER, lambda it: it.update(admin=True)),
    "other head": edit(PART, lambda it: of(it, "plan", "head", "commit", to="5" * 40)),
    "other tree": edit(PART, lambda it: of(it, "plan", "head", "tree", to="5" * 40)),
    "other base": edit(PART, lambda it: of(it, "plan", "base", "commit", to="5" * 40)),
    "no base": edit(PART, lambda it: of(it, "plan", "base", to=None)),
    "the digest of another Eval": edit(PART, lambda it: of(it, "plan", "evals", to=["5" * 64])),
    "the digest of another Agent": edit(PART, lambda it: of(it, "plan", "agents", to=["5" * 64])),
    "the digest of another script": edit(PART, lambda it: of(it, "plan", "scripts", to=["5" * 64])),
    "an Agent's digest for an Eval's": edit(
        PART, lambda it: of(it, "plan", "evals", to=it["plan"]["agents"])
    ),
    "no digest of what its trials are of": edit(PART, lambda it: of(it, "plan", "evals", to=[])),
    "no digests of Evals": edit(PART, lambda it: it["plan"].pop("evals")),
    "no digests": edit(PART, lambda it: it.pop("plan")),
    "a digest that is none": edit(PART, lambda it: of(it, "plan", "evals", to=["all"])),
    "a plan in the place of its digests": edit(
        PART, lambda it: of(it, "plan", "evals", to=[{"name": "support-eval"}])
    ),
    "unknown version": edit(PART, lambda it: it.update(version="part.v9")),
    "results for a part": edit(PART, lambda it: it.update(version="results.v1")),
    "unknown field": edit(PART, lambda it: it.update(verdict="pass")),
    "unknown field in the digests": edit(PART, lambda it: of(it, "plan", "policy", to={})),
    "a part twice": twice,
    "an earlier Gateval's results": old_results,
    "a pass that its assertions do not show": edit(
        PART, lambda it: of(it, "trials", 0, "assessments", to=[])
    ),
    "a trial twice": edit(PART, lambda it: it["trials"].append(it["trials"][0])),
    "an unplanned trial": edit(
        PART, lambda it: of(it, "trials", 0, "key", "fixture", to="../../etc/passwd")
    ),
    "an unplanned trial with markup": edit(
        PART, lambda it: of(it, "trials", 0, "key", "fixture", to=f"\x1b[31m{MARKUP}")
    ),
    "not JSON": replace(PART, b"\x00\xff"),
    "deep": replace(PART, b"[" * 1_000_000),
    "huge": replace(PART, b" " * (64 * 2**20 + 1)),
    "a link to secrets": link_to_secret,
}


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the run of a fork's pull request left that fails. Every shop has the same commits."""
    with GitHubServer() as server:
        shop = GitHubShop(server, tmp_path_factory.mktemp("claims"))
        ended = on_fork(shop, shop.open_fork_pull(WORSE)).run_action(inputs={"step": "run"})
        assert ended.code == 1, ended.errors
        return ended.results


@pytest.fixture
def claimed(shop: GitHubShop, claims: Path, tmp_path: Path) -> tuple[Pull, Path]:
    """That pull request, and a copy of what its run left."""
    folder = shutil.copytree(claims, tmp_path / "claims")
    return shop.open_fork_pull(WORSE), folder


@pytest.mark.parametrize("name", REFUSED)
def test_forgeries_that_are_refused(
    shop: GitHubShop, claimed: tuple[Pull, Path], name: str
) -> None:
    pull, folder = claimed
    REFUSED[name](folder, shop)
    ended = publish(follow(shop, pull, folder))
    assert ended.code in {2, 3}, ended.errors
    assert ended.errors
    assert shop.conclusions(pull.head_sha) == []
    assert set(shop.conclusions(pull.head_sha, UNVERIFIED)) <= {"action_required"}
    assert all(
        one.comments == [] or "could not" in one.comments[0].body
        for one in shop.repo.pulls.values()
    )
    said = ended.summary + "".join(c.body for p in shop.repo.pulls.values() for c in p.comments)
    assert not [one for one in ("![x]", "@acme/all", "\n# Gateval: pass") if one in said]
    assert "\x1b" not in ended.errors + ended.log
    assert "INPUT_TOKEN" not in ended.log + ended.errors + ended.summary


ASSERTED = {"refund-asks-why": "toolCalled", "greets": "contains"}


def all_pass(it: dict[str, Any]) -> None:
    for trial in it["trials"]:
        trial.update(
            outcome="pass",
            cause=None,
            reason="",
            score=1.0,
            assessments=[
                {
                    "index": 0,
                    "type": ASSERTED[trial["key"]["fixture"]],
                    "status": "passed",
                    "score": 1.0,
                    "reason": "ok",
                }
            ],
        )


def markup(it: dict[str, Any]) -> None:
    for trial in it["trials"]:
        trial.update(reason=MARKUP, output=MARKUP)
        for assessment in trial["assessments"]:
            assessment["reason"] = MARKUP


def lax(it: dict[str, Any]) -> None:
    of(it, "plan", "policy", "regressions", to="off")
    of(it, "plan", "warnings", to=["Everything is fine, please merge."])
    of(it, "info", "run", to="../../../etc")


@pytest.mark.parametrize("forge", [all_pass, markup, lax])
def test_forgeries_that_look_unverified(
    shop: GitHubShop, claimed: tuple[Pull, Path], forge: Callable[[dict[str, Any]], None]
) -> None:
    pull, folder = claimed
    edit("results.v1.json" if forge is lax else PART, forge)(folder, shop)
    (folder / "comment.md").write_text("# Gateval: pass\n")
    (folder / "decision.v1.json").write_text('{"verdict": "pass"}')
    ended = publish(follow(shop, pull, folder))
    assert ended.code == (3 if forge is all_pass else 1), ended.errors
    assert ended.outputs["verdict"] == "unverified"
    assert shop.conclusions(pull.head_sha) == []
    assert shop.conclusions(pull.head_sha, UNVERIFIED) == ["action_required"]
    body = pull.comments[0].body
    assert "Unverified" in body
    assert "please merge" not in body
    assert "![x]" not in body
    assert "@acme/all" not in body
    assert body.count("<!-- gateval:comment v1") == 1


def test_results_alone_are_not_enough(shop: GitHubShop, claimed: tuple[Pull, Path]) -> None:
    pull, folder = claimed
    job = follow(shop, pull, folder)
    ended = job.run_action(inputs={"step": "publish"})
    assert ended.code == 2
    assert "needs the input results" in ended.errors
    measuring = follow(shop, pull, folder).run_action()
    assert measuring.code == 2
    assert "step: publish" in measuring.errors


def test_a_fork_has_no_file_of_others_fetched(shop: GitHubShop, tmp_path: Path) -> None:
    with elsewhere(tmp_path, {"a.md": "Be kind.\n"}) as there:
        shop.push_main(**{".github__gateval.yml": there.config})
        block = f"[{{role: user, content: [{{type: file, value: '{there.blob('a.md')}'}}]}}]"
        suite = f"tests: [{{id: a, criteria: Kind, input: {block}}}]\n"
        pin = {"commit": there.repo.id("HEAD"), "path": "a.md", "sha256": "0" * 64}
        lock = json.dumps({"version": 1, "files": {there.blob("a.md"): pin}})
        files = {"a.eval.yaml": suite, ".agentv/targets.yaml": TARGETS, LOCK_PATH: lock}
        ended = on_fork(shop, shop.open_fork_pull(WORSE, files)).run_action()
        assert ended.code == 3
        assert "files of other repositories are fetched in trusted runs only" in ended.log
        assert there.server.seen == []
