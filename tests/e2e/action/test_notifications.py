"""Decisions told by webhooks: who is told, what, by whose rules, and who is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import jsonschema_rs
import pytest

from gateval.app.authoring import schema_text
from tests.e2e.sealed.test_sealed_on_github import HELD
from tests.helpers import stored
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.runner import Ended
from tests.helpers.sealed import IDENTITY, PUBLIC, leaks, seal
from tests.helpers.shop import EVAL
from tests.servers.webhook import Hook, webhook

BOTH = """\
policy:
  notify:
    - {urlFrom: GATEVAL_NOTIFY_CHAT}
    - {urlFrom: GATEVAL_NOTIFY_DATA, format: json, on: [pass, fail, bypassed, incomplete]}
"""
RUNS = count(9_001)


@pytest.fixture
def chat() -> Iterator[Hook]:
    with webhook() as found:
        yield found


@pytest.fixture
def data() -> Iterator[Hook]:
    with webhook("/other-s3cr3t-path") as found:
        yield found


def variables(chat: Hook, data: Hook) -> dict[str, str]:
    return {"GATEVAL_NOTIFY_CHAT": chat.url, "GATEVAL_NOTIFY_DATA": data.url}


def everything(ended: Ended) -> str:
    """All that a run left to be read, the commands that hide secrets aside."""
    log = [line for line in ended.log.splitlines() if not line.startswith("::add-mask::")]
    files = stored.written(ended.results).values()
    return "\n".join([*log, ended.errors, ended.summary, *ended.outputs.values(), *files])


def test_a_failed_pull_request_is_told_in_both_forms(
    shop: GitHubShop, chat: Hook, data: Hook
) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    ended = job.run_action(inputs={}, **variables(chat, data))
    assert ended.code == 1, ended.errors
    (message,) = chat.got
    root = f"{shop.server.url}/acme/shop"
    assert message == {
        "mrkdwn": True,
        "unfurl_links": False,
        "unfurl_media": False,
        "text": (
            f"❌ *Gateval: fail* in <{root}/pull/{pull.number}|acme/shop, pull request "
            f"{pull.number}> at {pull.head_sha[:7]}\n"
            "refund-asks-why passed before and fails now\n"
            "• support-eval 0.33, 1 of 2 pass\n"
            f"<{ended.outputs['comment-url']}|Comment> · <{ended.outputs['check-url']}|Check> "
            f"· <{root}/actions/runs/{job.run}|Run>"
        ),
    }
    (told,) = data.got
    jsonschema_rs.validator_for(json.loads(schema_text("notification.v1"))).validate(told)
    assert (told["verdict"], told["evals_verdict"], told["head"]) == ("fail", "fail", pull.head_sha)
    assert told["regressions"] == ["support-eval/refund-asks-why"]
    assert told["pull_request"] == pull.number
    assert told["urls"]["check"] == ended.outputs["check-url"]
    assert "s3cr3t" not in everything(ended) + pull.comments[0].body
    assert f"::add-mask::{chat.url}" in ended.log.replace("%3A", ":")


def test_a_pass_is_told_only_to_whom_it_matters(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    ended = shop.on_pull(shop.open_pull(SAME)).run_action(inputs={}, **variables(chat, data))
    assert ended.code == 0, ended.errors
    assert chat.got == []
    assert [one["verdict"] for one in data.got] == ["pass"]


def test_a_bypass_is_told_and_by_whom_the_evals_were_overruled(
    shop: GitHubShop, chat: Hook, data: Hook
) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    pull = shop.open_pull(WORSE)
    assert shop.on_pull(pull).run_action().code == 1
    ended = shop.label(pull).run_action(inputs={}, **variables(chat, data))
    assert ended.code == 0, ended.errors
    assert chat.got[0]["text"].startswith("🟡 *Gateval: bypassed (the evals say fail)* in <")
    assert [(one["verdict"], one["evals_verdict"]) for one in data.got] == [("bypassed", "fail")]


def test_a_change_cannot_have_others_told(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    """The rules are the base's: what a pull request writes into them reaches nobody."""
    shop.work.branch("change", "main")
    shop.work.write(".github/gateval.yml", BOTH)
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action(inputs={}, **variables(chat, data))
    assert ended.code == 1, ended.errors
    assert (chat.got, data.got) == ([], [])


def test_a_change_cannot_silence_them(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    shop.work.branch("change", "main")
    shop.work.write(".github/gateval.yml", "{}\n")
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action(inputs={}, **variables(chat, data))
    assert ended.code == 1, ended.errors
    assert (len(chat.got), len(data.got)) == (1, 1)
    assert "policy.notify" in json.dumps(data.got), "that asks less, which the bar tells"


@pytest.mark.parametrize("prompt", [WORSE, SAME])
def test_no_fork_tells_anybody(shop: GitHubShop, chat: Hook, data: Hook, prompt: str) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    read = shop.token(contents="read", pull_requests="read", checks="read")
    pull = shop.open_fork_pull(prompt)
    ended = shop.on_pull(pull, token=read, actor="mallory").run_action(
        inputs={}, **variables(chat, data)
    )
    assert ended.outputs["verdict"] == "unverified"
    assert (chat.got, data.got) == ([], [])


def test_dependabot_tells_nobody(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    job = shop.on_pull(shop.open_pull(WORSE), actor="dependabot[bot]")
    assert job.run_action(inputs={}, **variables(chat, data)).outputs["verdict"] == "unverified"
    assert (chat.got, data.got) == ([], [])


def test_the_step_that_only_runs_tells_nobody(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action(
        inputs={"step": "run"}, **variables(chat, data)
    )
    assert ended.code == 1, ended.errors
    assert (chat.got, data.got) == ([], [])


def test_a_run_by_the_clock_is_told(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    strict = EVAL + "  scoring: {passThreshold: 1}\n"
    shop.push_main(
        **{
            ".github__gateval.yml": BOTH,
            "evals__support-eval.yaml": strict,
            "agents__prompts__support.md": WORSE,
        }
    )
    payload = {**shop.push_payload(), "schedule": "23 * * * *"}
    job = shop.job("schedule", payload, sha=shop.repo.branches["main"], run=next(RUNS))
    job.check_out(shop.bare, "refs/heads/main")
    ended = job.run_action(inputs={}, **variables(chat, data))
    assert ended.code == 1, ended.errors
    (message,) = chat.got
    assert "*Gateval (scheduled): fail* in acme/shop (schedule) at " in message["text"]
    assert (data.got[0]["event"], data.got[0]["pull_request"]) == ("schedule", None)


@pytest.mark.drawn("url", "why")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "the gate's step has no such variable, or an empty one"),
        ("http://example.com/s3cr3t-path", "it does not begin with https"),
        ("https://10.0.0.1/s3cr3t-path", "it is in a private network"),
        ("https://169.254.169.254/s3cr3t-path", "nobody has who takes messages"),
        ("not a url s3cr3t-path", "it is no URL"),
        ("404", "it answered 404"),
        ("307", "it leads elsewhere (307), and nobody is followed there"),
    ],
)
def test_whoever_cannot_be_told_is_a_warning_and_no_verdict(
    shop: GitHubShop, chat: Hook, data: Hook, url: str, why: str
) -> None:
    shop.push_main(**{".github__gateval.yml": BOTH})
    if url.isdigit():
        chat.status, chat.elsewhere, url = int(url), data.url, chat.url
    pull = shop.open_pull(WORSE)
    ended = shop.on_pull(pull).run_action(
        inputs={}, **{**variables(chat, data), "GATEVAL_NOTIFY_CHAT": url}
    )
    assert ended.code == 1, ended.errors
    (warning,) = [one for one in ended.log.splitlines() if one.startswith("::warning")]
    assert "GATEVAL_NOTIFY_CHAT" in warning
    assert why in warning
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert "s3cr3t" not in everything(ended) + pull.comments[0].body
    assert len(data.got) == 1, "the other one is told all the same"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{url: https://hooks.slack.com/services/x}", 'Did you mean "urlFrom"?'),
        ("{urlFrom: ANTHROPIC_API_KEY}", "urlFrom"),
        ("{urlFrom: https://hooks.slack.com/services/x}", "urlFrom"),
        ("{urlFrom: GATEVAL_NOTIFY_A, on: []}", "on"),
        ("{urlFrom: GATEVAL_NOTIFY_A, on: [sometimes]}", "sometimes"),
        ("{urlFrom: GATEVAL_NOTIFY_A, format: teams}", "teams"),
    ],
)
def test_an_address_stands_in_no_file(shop: GitHubShop, rule: str, said: str) -> None:
    shop.push_main(**{".github__gateval.yml": f"policy: {{notify: [{rule}]}}\n"})
    ended = shop.on_pull(shop.open_pull(SAME)).run_action()
    assert ended.code == 2, ended.log
    assert said in ended.errors + ended.log + ended.summary


def test_no_candidate_sees_an_address(shop: GitHubShop, chat: Hook, data: Hook) -> None:
    config = BOTH + "  candidateEnv: [GATEVAL_NOTIFY_CHAT]\n"
    shop.push_main(**{".github__gateval.yml": config})
    ended = shop.on_pull(shop.open_pull(SAME)).run_action(inputs={}, **variables(chat, data))
    assert ended.code == 2, ended.errors
    assert "GATEVAL_NOTIFY_CHAT belongs to the gate" in ended.errors + ended.log


def test_what_is_sealed_is_told_by_its_verdict_alone(
    shop: GitHubShop, chat: Hook, data: Hook
) -> None:
    shop.work.write(".github/gateval.yml", BOTH + f"  recipients: [{PUBLIC}]\n")
    seal(shop.work, "evals/held.yaml", HELD)
    shop.push_main()
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action(
        inputs={}, GATEVAL_IDENTITY=IDENTITY, **variables(chat, data)
    )
    assert ended.code == 1, ended.errors
    told = [json.dumps(one) for one in (*chat.got, *data.got)]
    assert len(told) == 2
    assert "held-out is sealed, and head does not meet it" in told[1]
    assert leaks([], told) == []
    assert not any("asks-first" in one for one in told)
