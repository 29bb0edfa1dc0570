"""What check, comment, summary and outputs say of a run: counted right, and alike."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.e2e.test_said_right import eight
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.providers import provider
from tests.helpers.shop import AGENT, EVAL, FIXTURES
from tests.servers.model_server import Answer, Call, failure


def test_the_output_counts_a_fixture_once(shop: GitHubShop) -> None:
    scored = EVAL + "  scoring: {passThreshold: 0.1}\n"
    files = {"evals/fixtures.yaml": eight(), "evals/support-eval.yaml": scored}
    shop.push_main(**{name.replace("/", "__"): text for name, text in files.items()})
    shop.work.branch("change", "main")
    shop.work.write("evals/support-eval.yaml", scored.replace("0.1}", "0.05}"))
    shop.work.write("evals/fixtures.yaml", eight() + "    - {type: notContains, value: Refunded}\n")
    ended = shop.on_pull(shop.open_pull(WORSE)).run_action()
    assert ended.outputs["regressions"] == "8"
    assert "8 fixtures passed before and fail now" in ended.summary
    assert "8 fixtures passed before and fail now" in str(shop.repo.checks("gateval")[-1].title)


GREETS = {"evals/fixtures.yaml": FIXTURES.partition("---\n")[2]}
ASKING = {"agents/support.yaml": AGENT.replace("scripted/support", "openai/agent")} | GREETS

JUDGED = {
    "evals/support-eval.yaml": EVAL + "  judge: {model: openai/judge}\n",
    "evals/fixtures.yaml": GREETS["evals/fixtures.yaml"]
    + "    - {type: judge, rubric: Is it polite?}\n",
}
PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  modelCalls: optional
  runtime: {type: command, command: [python3, a.py]}
"""
STRICT = EVAL + "  scoring: {passThreshold: 0.9}\n"


@pytest.mark.drawn("main", "change", "said")
@pytest.mark.parametrize(
    ("main", "change", "said"),
    [
        ({}, {}, "refund-asks-why passed before and fails now"),
        (
            {"agents/support.yaml": PROGRAM, "agents/a.py": "print('Hello')\n", **GREETS},
            {"agents/support.yaml": PROGRAM.replace("python3", "nowhere-to-be-found")},
            "support no longer starts: `nowhere-to-be-found` was not found",
        ),
        (ASKING, {}, "the model provider was down or refused the call in 1 run"),
        (JUDGED, {}, "the judge gave no usable verdict in 1 run"),
        (
            {"evals/support-eval.yaml": STRICT},
            {},
            "refund-asks-why passed before and fails now; support-eval is below its threshold",
        ),
        (
            {"evals/support-eval.yaml": STRICT},
            {"evals/support-eval.yaml": STRICT.replace("0.9", "0.2"), "agents/prompts/support.md": SAME},
            "less is asked (passThreshold), and head meets what the target branch asks",
        ),
        (
            {"evals/support-eval.yaml": STRICT},
            {"evals/support-eval.yaml": STRICT.replace("0.9", "0.2")},
            "what the target branch asks is not met (1 Eval)",
        ),
    ],
    ids=["regressed", "no start", "provider", "judge", "below", "lowered and met", "lowered"],
)  # fmt: skip
def test_check_comment_and_summary_name_the_same_cause(
    shop: GitHubShop, main: Mapping[str, str], change: Mapping[str, str], said: str
) -> None:
    shop.push_main(**{name.replace("/", "__"): text for name, text in main.items()})
    shop.commit(WORSE)
    for name, text in change.items():
        shop.work.write(name, text)
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)

    def respond(call: Call) -> Answer:
        return failure(call, 500, "The lights are out.")

    with provider(respond) as (_, environ):
        ended = shop.on_pull(pull).run_action(inputs={}, **environ, GATEVAL_OUTAGE_SECONDS="1")
    (check,) = shop.repo.checks("gateval", pull.head_sha)
    title = str(check.title)
    verdict, _, why = title.partition(": ")
    assert said in why
    heading = f" Gateval: {verdict.lower()} \N{EM DASH} {why}"
    for text in (str(check.summary), pull.comments[0].body, ended.summary):
        first = next(
            line for line in text.splitlines() if line.startswith("### ") and "Gateval" in line
        )
        plain = first.replace("&#95;", "_").replace("<code>", "`").replace("</code>", "`")
        assert plain.endswith(heading), text
