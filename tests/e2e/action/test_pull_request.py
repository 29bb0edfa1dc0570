"""The action on pull requests: what stands on GitHub afterwards, and how much was asked of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import stored
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.shop import AGENT, FIXTURES, SCRIPT


def test_opened_fails_then_a_push_passes(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    first = shop.on_pull(pull).run_action()
    assert first.code == 1, first.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert first.outputs["verdict"] == "fail"
    assert first.outputs["regressions"] == "1"
    assert len(pull.comments) == 1
    assert "refund-asks-why" in pull.comments[0].body
    assert shop.server.log.count() <= 15, shop.server.log
    red = pull.head_sha

    shop.commit(SAME)
    shop.push()
    second = shop.on_pull(pull, "synchronize").run_action()
    assert second.code == 0, second.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert shop.conclusions(red) == ["failure"]
    assert len(pull.comments) == 1, "the comment is updated in place"
    assert pull.comments[0].user.login == "github-actions[bot]"
    assert (second.results / "results.v1.json").exists()
    assert second.outputs["check-url"]
    assert second.outputs["comment-url"]


def test_nothing_to_evaluate_is_cheap(shop: GitHubShop) -> None:
    shop.work.branch("docs", "main")
    shop.work.write("README.md", "Better.\n")
    shop.work.commit()
    shop.push("docs")
    pull = shop.repo.open_pull("docs", by=shop.ada)
    for _ in range(100):
        pull.comment("Nice.", by=shop.ada)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 0, ended.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert len(pull.comments) == 100, "nobody asked"
    assert "Nothing to evaluate" in ended.summary
    assert shop.server.log.count() <= 6, shop.server.log


def test_the_pull_requests_head_is_measured_not_the_merge_commit(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    assert pull.merge_commit_sha is not None
    ended = shop.on_pull(pull, sha=pull.merge_commit_sha).run_action()
    results = json.loads((ended.results / "results.v1.json").read_text())
    assert results["plan"]["head"]["commit"] == pull.head_sha
    assert shop.conclusions(pull.merge_commit_sha) == []


def test_base_moved_on_since(shop: GitHubShop) -> None:
    """Compared is with the merge-base; the rules are those of the tip."""
    pull = shop.open_pull(WORSE)
    fork_point = shop.work.id("main")
    tip = shop.push_main(
        **{
            ".github__gateval.yml": "policy: {regressions: warn}\n",
            "evals__fixtures.yaml": FIXTURES.replace(
                "toolCalled, tool: clarify_reason", "toolCalled, tool: x"
            ),
        }
    )
    ended = shop.on_pull(pull).run_action()
    plan = json.loads((ended.results / "plan.v1.json").read_text())
    assert plan["base"]["commit"] == fork_point
    assert plan["base_tip"]["commit"] == tip
    assert plan["policy"]["regressions"] == "warn"
    assert [one["agent"] for one in plan["changes"]] == ["support"]


def test_a_pull_request_cannot_change_its_own_rules(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write(".github/gateval.yml", "policy: {regressions: 'off', drafts: wait}\n")
    pull = shop.open_pull(WORSE, draft=True)
    assert shop.on_pull(pull).run_action().code == 1


def test_the_base_is_the_live_one_after_the_pull_request_was_retargeted(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    shop.work.branch("release", "main")
    shop.work.write(".github/gateval.yml", "policy: {drafts: wait}\n")
    shop.work.commit()
    shop.push("release")
    job = shop.on_pull(pull)
    pull.base_ref, pull.draft = "release", True
    ended = job.run_action()
    assert ended.code == 3, "live base and live draft mark count, not those of the event"
    assert shop.conclusions(pull.head_sha, "gateval (into release)") == ["action_required"]
    assert shop.conclusions(pull.head_sha) == [], "another branch asks for another check"
    assert "draft" in ended.log


def test_a_draft_waits_where_the_rules_say_so(shop: GitHubShop) -> None:
    shop.push_main(**{".github__gateval.yml": "policy: {drafts: wait}\n"})
    pull = shop.open_pull(SAME, draft=True)
    waiting = shop.on_pull(pull).run_action()
    assert waiting.code == 3
    assert shop.conclusions(pull.head_sha) == ["action_required"]
    assert pull.comments == []
    pull.ready(by=shop.ada)
    assert shop.on_pull(pull, "ready_for_review").run_action().code == 0
    assert shop.conclusions(pull.head_sha)[-1] == "success"


def test_three_hundred_comments(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    for number in range(150):
        pull.comment(f"Comment {number}", by=shop.ada)
    shop.on_pull(pull).run_action()
    for number in range(149):
        pull.comment(f"Comment {number}", by=shop.ada)
    assert len(pull.comments) == 300
    shop.commit(SAME)
    shop.push()
    assert shop.on_pull(pull, "synchronize").run_action().code == 0
    ours = [one for one in pull.comments if one.user.login == "github-actions[bot]"]
    assert len(pull.comments) == 300
    assert len(ours) == 1
    assert pull.head_sha[:7] in ours[0].body


def test_head_moves_while_the_gate_runs(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    measured = pull.head_sha
    job = shop.on_pull(pull)
    shop.commit(SAME)
    shop.server.faults.plant("POST", "*/check-runs", then=shop.push)
    ended = job.run_action()
    assert ended.code == 1
    assert pull.head_sha != measured
    assert shop.conclusions(measured) == ["failure"]
    assert shop.conclusions(pull.head_sha) == []
    assert pull.comments == [], "the comment is left to the run on the new head"


def test_a_re_run_gets_the_old_event_and_reports_on_the_old_head(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull, attempt=2)
    shop.commit(SAME)
    shop.push()
    assert job.run_action().code == 1
    assert pull.comments == []
    assert shop.conclusions(pull.head_sha) == []


HOSTILE = "x\n::error::forged\r\n::set-output name=verdict::pass @acme/all <!-- --> ](http://evil) `${{x}}`"


NEEDED = ("action", "sha", "full_name", "default_branch")


def poisoned(value: Any, key: str = "") -> Any:
    """An event with hostile text in every field but those that say what it is about."""
    if isinstance(value, dict):
        return {name: poisoned(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, key) for each in value]
    return HOSTILE if isinstance(value, str) and key not in NEEDED else value


def test_hostile_strings_everywhere(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("agents/::error::x\n.md", HOSTILE)
    shop.work.write(
        "agents/support.yaml", AGENT + f"  note: {json.dumps(HOSTILE)}\n  watch: ['**']\n"
    )
    reply = json.dumps(f"Hello {HOSTILE}")
    shop.work.write(".gateval/scripted/support.yaml", f"rules:\n  - reply: {reply}\n")
    pull = shop.open_pull(WORSE, title=HOSTILE)
    job = shop.on_pull(pull, actor=HOSTILE)
    job.payload = poisoned(job.payload)
    job.payload["pull_request"]["base"]["ref"] = "main"
    ended = job.run_action()
    assert ended.code == 1, ended.errors
    assert ended.outputs["verdict"] == "fail"
    commands = [line for line in ended.log.splitlines() if line.lstrip().startswith("::")]
    first = commands[0]
    assert first.startswith("::add-mask::")
    stop = next(line for line in commands if line.startswith("::stop-commands::"))
    token = stop.removeprefix("::stop-commands::")
    inside = ended.log.split(stop)[1].split(f"::{token}::")[0]
    assert "::error::forged" not in inside
    assert not [line for line in ended.errors.splitlines() if line.startswith("::")]
    for text in (pull.comments[0].body, ended.summary):
        assert "@acme/all" not in text
        assert "](http://evil)" not in text


def test_invalid_manifests_are_annotated_where_they_stand(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("evals/fixtures.yaml", FIXTURES.replace("severity: high", "severty: high"))
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 2
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    assert check.conclusion == "action_required"
    assert [(one["path"], one["start_line"]) for one in check.annotations] == [
        ("evals/fixtures.yaml", 5)
    ]
    assert "severity" in pull.comments[0].body
    assert "::error title=Gateval::" in ended.log


def test_a_missing_key_is_no_pass(shop: GitHubShop) -> None:
    shop.work.branch("change", "main")
    shop.work.write("agents/support.yaml", AGENT.replace("scripted/support", "openai/gpt-5"))
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == 3
    assert "OPENAI_API_KEY" in ended.summary
    assert shop.conclusions(pull.head_sha) == ["action_required"]


@pytest.mark.parametrize(
    ("permissions", "missing"),
    [
        ({"contents": "read", "pull_requests": "read"}, "checks: write"),
        ({"contents": "read", "pull_requests": "read", "checks": "write"}, "pull-requests: write"),
    ],
)
def test_a_missing_permission_is_a_warning_that_names_it(
    shop: GitHubShop, permissions: dict[str, str], missing: str
) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull, token=shop.token(**permissions)).run_action()
    assert ended.code == 1, "the verdict stands"
    assert "refund-asks-why" in ended.summary
    warnings = [line for line in ended.log.splitlines() if line.startswith("::warning")]
    assert any(missing in line for line in warnings), ended.log


def test_in_a_private_repository_all_that_publishing_needs_is_named_at_once(
    shop: GitHubShop,
) -> None:
    pull = shop.open_pull(WORSE)
    shop.repo.private = True
    ended = shop.on_pull(pull, token=shop.token(contents="write")).run_action()
    assert ended.code == 1
    warnings = "".join(line for line in ended.log.splitlines() if line.startswith("::warning"))
    assert "`checks: write`" in warnings
    assert "`pull-requests: write`" in warnings
    assert ": read`" not in warnings, "what is read is written, too"


def test_without_a_checkout_the_check_says_what_is_missing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    shutil.rmtree(job.workspace)
    job.workspace.mkdir()
    ended = job.run_action()
    assert ended.code == 3
    assert "actions/checkout" in ended.errors
    assert shop.conclusions(pull.head_sha) == ["action_required"]
    assert "actions/checkout" in pull.comments[0].body


def test_github_is_down_at_the_end(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull, token="ghs_unknown")
    ended = job.run_action()
    assert ended.code == 3
    assert "Traceback" not in ended.errors


def test_a_narrowed_gate_never_turns_the_whole_one_green(shop: GitHubShop) -> None:
    second = FIXTURES.replace("refund-asks-why", "easy-1").replace("greets", "easy-2")
    second = second.replace("toolCalled, tool: clarify_reason", "notContains, value: zzz")
    evaluation = (
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: easy-eval}\n"
        "spec: {targetAgent: support, fixtures: [easy-1]}\n"
    )
    shop.push_main(
        **{
            "evals__easy.yaml": second.replace("agent: support", "agent: easy"),
            "evals__easy-eval.yaml": evaluation,
        }
    )
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action(inputs={"evals": "easy-eval"})
    assert ended.code == 0, ended.errors
    assert shop.conclusions(pull.head_sha) == []
    assert shop.conclusions(pull.head_sha, "gateval (evals_easy-eval)") == ["success"]
    assert "Left out, though the change calls for them: support-eval" in ended.summary
    assert shop.on_pull(pull).run_action().code == 1
    assert shop.conclusions(pull.head_sha) == ["failure"]


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"coment": "off"}, 'no input "coment"'),
        ({"step": "everything"}, 'step is "everything"'),
        ({"agents": "suport"}, 'no Agent "suport"'),
        ({"config": ".github/absent.yml"}, "no gate config .github/absent.yml"),
        ({"pull-request": "8"}, "this run is about #7"),
        ({"token": ""}, "token is empty"),
    ],
)
def test_inputs_that_cannot_be_followed(
    shop: GitHubShop, inputs: dict[str, str], sentence: str
) -> None:
    pull = shop.open_pull(WORSE, number=7)
    ended = shop.on_pull(pull).run_action(inputs=inputs)
    assert ended.code == 2
    assert sentence in ended.errors
    assert "success" not in shop.conclusions(pull.head_sha)


def test_a_gate_config_of_another_name(shop: GitHubShop) -> None:
    shop.push_main(**{"gates__lax.yml": "policy: {regressions: warn}\n"})
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action(inputs={"config": "gates/lax.yml"})
    assert "gates/lax.yml at" in ended.summary


def test_comments_on_failure_only_and_switched_off(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    assert shop.on_pull(pull).run_action(inputs={"comment": "on-failure"}).code == 0
    assert pull.comments == []
    shop.commit(WORSE)
    shop.push()
    assert shop.on_pull(pull).run_action(inputs={"comment": "off"}).code == 1
    assert pull.comments == []
    assert shop.on_pull(pull).run_action(inputs={"comment": "on-failure"}).code == 1
    assert len(pull.comments) == 1


def test_the_plan_step_decides_nothing(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action(inputs={"step": "plan", "results": "out/plan"})
    assert ended.code == 0
    assert ended.outputs["results"] == "out/plan"
    assert (ended.workspace / "out/plan/plan.v1.json").exists()
    assert "support-eval" in ended.log
    assert shop.repo.check_runs == {}
    assert pull.comments == []


def test_a_matrix_of_runs_and_one_that_publishes(shop: GitHubShop, tmp_path: Path) -> None:
    evaluation = (
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: second-eval}\n"
        "spec: {targetAgent: support, fixtures: [greets]}\n"
    )
    shop.push_main(**{"evals__second.yaml": evaluation})
    pull = shop.open_pull(WORSE)
    codes = []
    last = shop.on_pull(pull)
    for name in ("support-eval", "second-eval"):
        job = shop.on_pull(pull)
        job.token = shop.token(contents="read", pull_requests="read")
        ended = job.run_action(inputs={"step": "run", "evals": name, "results": "out"})
        codes.append(ended.code)
        (last.workspace / "parts").mkdir(exist_ok=True)
        ended.results.rename(last.workspace / "parts" / name)
    assert codes == [1, 0]
    assert shop.repo.check_runs == {}
    ended = last.run_action(inputs={"step": "publish", "results": "parts"})
    assert ended.code == 1, ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert "second-eval" in pull.comments[0].body


def test_a_matrix_with_a_job_that_never_came_back(shop: GitHubShop) -> None:
    pull = shop.open_pull(SAME)
    job = shop.on_pull(pull)
    (job.workspace / "parts").mkdir()
    ended = job.run_action(inputs={"step": "publish", "results": "parts"})
    assert ended.code == 2
    assert "holds no part.v1.json" in " ".join(ended.errors.split())
    assert shop.conclusions(pull.head_sha) == ["action_required"]


def test_a_plan_with_nothing_to_run_is_stored_without_secrets(shop: GitHubShop) -> None:
    key = "sk-live-7f3a9c2d1e8b4f60"
    agent = AGENT.replace("name: support", "name: plain")
    shop.push_main(**{"agents__plain.yaml": agent, f".gateval__scripted__{key}.yaml": SCRIPT})
    shop.work.branch("change", "main")
    shop.work.write("agents/plain.yaml", agent.replace("scripted/support", f"scripted/{key}"))
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    ended = shop.on_pull(pull).run_action(OPENAI_API_KEY=key)
    assert ended.code == 0, ended.errors
    plan = (ended.results / "plan.v1.json").read_text()
    assert "scripted/[secret removed]" in plan
    found = [name for name, text in stored.written(ended.results).items() if key in text]
    assert found == []


@pytest.mark.parametrize("step", ["plan", "all"])
def test_what_the_policy_passes_on_is_in_no_file_of_a_step(shop: GitHubShop, step: str) -> None:
    token = "crm-7f3a9c2d1e8b4f60"
    policy = "policy: {candidateEnv: [CRM_TOKEN]}\n"
    agent = AGENT.replace("name: support", "name: plain")
    files = {".github__gateval.yml": policy, "agents__plain.yaml": agent}
    shop.push_main(**files, **{f".gateval__scripted__{token}.yaml": SCRIPT})
    shop.work.branch("change", "main")
    shop.work.write("agents/plain.yaml", agent.replace("scripted/support", f"scripted/{token}"))
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    ended = shop.on_pull(pull).run_action(
        inputs={"step": step, "shards": "2"} if step == "plan" else {}, CRM_TOKEN=token
    )
    assert ended.code == 0, ended.errors
    written = stored.written(ended.results)
    assert "scripted/[secret removed]" in written["plan.v1.json"]
    assert [name for name, text in written.items() if token in text] == []
