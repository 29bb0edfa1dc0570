"""Weaker evidence is no pass: scripts for models, claims for what was seen, judges nobody measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, SCRIPT, build_shop
from tests.helpers.tiers import some_always
from tests.servers.model_server import Answer, Call, failure, reply

PROGRAM = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [scripted/support]
  runtime: {{type: command, command: [{sys.executable}, -I, agent.py]}}
"""
ASKS = """\
import json, os, sys, urllib.request
asked = json.load(sys.stdin)["prompt"]
messages = [{"role": "system", "content": "ask for the reason"}, {"role": "user", "content": asked}]
tools = [{"type": "function", "function": {"name": "clarify_reason"}}]
while True:
    body = {"model": "scripted/support", "messages": messages, "tools": tools}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
         "Content-Type": "application/json"})
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(said)
    if not said.get("tool_calls"):
        break
    for call in said["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
print(json.dumps({"output": said["content"]}))
"""
CLAIMS = """\
import json, sys
asked = json.load(sys.stdin)["prompt"]
claimed = [{"type": "user", "text": asked}, {"type": "tool_call", "tool": "clarify_reason"}]
usage = {"input_tokens": 1, "output_tokens": 1}
print(json.dumps({"output": "Hello! Done.", "trace": claimed, "usage": usage}))
"""
FRUGAL = FIXTURES.replace(
    "    - {type: toolCalled, tool: clarify_reason}",
    "    - {type: toolCalled, tool: clarify_reason}\n    - {type: cost, maxTokens: 100000}",
)


def program(tmp_path: Path, source: str, fixtures: str = FIXTURES) -> Repo:
    """A shop whose Agent is a program; the branch `change` is out."""
    shop = Repo(tmp_path / "shop")
    shop.write("agent.yaml", PROGRAM)
    shop.write("agent.py", source)
    shop.write("evals/fixtures.yaml", fixtures)
    shop.write("evals/support-eval.yaml", EVAL)
    shop.write(".gateval/scripted/support.yaml", SCRIPT)
    shop.commit("Begin")
    shop.branch("change")
    return shop


def check(shop: Repo, tmp_path: Path, **extra: str) -> tuple[int, str, str]:
    results = tmp_path / "out"
    done = gateval(shop, "check", "--results", str(results), **extra)
    folded = " ".join(done.stdout.split())
    assert (results / "comment.md").exists(), done.stdout + done.stderr
    return done.returncode, folded, (results / "comment.md").read_text().replace("\u200b", "")


def test_calls_seen_at_base_and_claimed_on_head_are_not_measured(tmp_path: Path) -> None:
    shop = program(tmp_path, ASKS, FRUGAL)
    shop.write("agent.py", CLAIMS)
    shop.commit()
    code, said, comment = check(shop, tmp_path)
    assert code == 3, said
    assert "On base the gate saw the model calls itself" in said
    assert "0 model calls of support on head reached the gateway" in said
    assert "names scripted/support" in comment.replace("<code>", "")
    assert "is claimed by the candidate itself" in comment
    assert "head claimed by the candidate (2 trials); base read off its model calls" in comment
    results = json.loads((tmp_path / "out" / "results.v1.json").read_text())
    (trial,) = (
        one
        for one in results["trials"]
        if one["key"]["fixture"] == "refund-asks-why" and one["key"]["side"] == "head"
    )
    assert [one["claimed"] for one in trial["assessments"]] == [True, True]
    again = gateval(shop, "report", str(tmp_path / "out"))
    assert again.returncode == 3


def test_a_program_that_claimed_before_may_claim_again(tmp_path: Path) -> None:
    shop = program(tmp_path, CLAIMS, FRUGAL)
    shop.write("agent.py", CLAIMS + "# tidied up\n")
    shop.commit()
    code, said, comment = check(shop, tmp_path)
    assert code == 0, said
    assert "is claimed by the candidate itself" in comment


def test_an_empty_claim_proves_that_no_tool_was_called_by_nothing(tmp_path: Path) -> None:
    empty = CLAIMS.replace('"trace": claimed', '"trace": []')
    fixtures = FIXTURES.replace("toolCalled", "toolNotCalled")
    shop = program(tmp_path, empty, fixtures)
    shop.write("agent.py", empty + "# tidied up\n")
    shop.commit()
    code, said, _ = check(shop, tmp_path)
    assert code == 3, said
    assert "claims a trace without a single step, which proves nothing" in said


def test_a_tool_that_is_switched_off_is_not_called(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    off = AGENT.replace("clarify_reason, desc", "clarify_reason, enabled: false, desc")
    shop.write("agents/support.yaml", off)
    shop.commit()
    code, said, comment = check(shop, tmp_path)
    assert code == 1, said
    assert "refund-asks-why passed before and fails now" in said
    assert "clarify_reason (refused)" in comment.replace("\\", "")


def test_a_tool_that_a_program_does_not_offer_is_not_called(tmp_path: Path) -> None:
    shop = program(tmp_path, ASKS)
    shop.write("agent.py", ASKS.replace('"name": "clarify_reason"', '"name": "look_up"'))
    shop.commit()
    code, said, comment = check(shop, tmp_path)
    assert code == 1, said
    assert "refund-asks-why passed before and fails now" in said
    assert "clarify_reason (refused)" in comment.replace("\\", "")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("calibration: tone", "is not calibrated by tone: people fail every example of it"),
        ("minAgreement: 0.9", "has `minAgreement`, but no `calibration` to measure it by"),
    ],
)
def test_a_judge_that_has_to_be_calibrated_does_not_decide(
    tmp_path: Path, asked: str, why: str
) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    verdict = (
        '{"score":1.0,"confidence":1,"summary":"x","violations":[],"what_would_raise_score":""}'
    )
    shop.write(".gateval/scripted/yes.yaml", f"rules: [{{reply: '{verdict}'}}]\n")
    judged = "    - {type: contains, value: Hello}\n    - {type: judge, rubric: Kind.}"
    shop.write(
        "evals/fixtures.yaml", FIXTURES.replace("    - {type: contains, value: Hello}", judged)
    )
    shop.write(
        "evals/tone.yaml",
        "apiVersion: gateval/v1\nkind: JudgeCalibration\nmetadata: {name: tone}\nspec:\n"
        "  rubric: Kind.\n  judgeModels: [scripted/yes]\n"
        "  examples: [{candidateOutput: Go away, humanScore: 0}]\n",
    )
    shop.write("evals/support-eval.yaml", EVAL + f"  judge: {{model: scripted/yes, {asked}}}\n")
    shop.commit()
    shop.branch("next")
    shop.write("agents/support.yaml", AGENT.replace("Pay back.", "Pay it back."))
    shop.commit()
    code, said, comment = check(shop, tmp_path)
    assert code == 3, said
    assert f"`{asked}`" in said
    assert f"scripted/yes {why}" in said
    assert "evals/support-eval.yaml:3" in said
    assert "judge not calibrated" in comment


def test_a_scripted_model_for_a_real_one_blocks_until_accepted(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write("agents/support.yaml", AGENT.replace("scripted/support", "openai/gpt-5"))
    shop.commit()
    shop.branch("next")
    shop.write(
        "agents/support.yaml", AGENT.replace("scripted/support", "scripted/support, openai/gpt-5")
    )
    shop.commit()

    def says_hello(call: Call) -> Answer:
        refund = b"refund" in call.raw.partition(b'"user"')[2] and b'"tool"' not in call.raw
        return reply(call, "Hello", tools=[("c1", "clarify_reason", {})] if refund else ())

    with provider(says_hello) as (_, environ):
        code, said, comment = check(shop, tmp_path, **environ)
        assert code == 1, said
        words = (
            "real model of Agent support replaced by a scripted one openai/gpt-5 → scripted/support"
        )
        assert words in said
        assert "real model of Agent support" in comment
        done = gateval(
            shop, "check", "--accept-bar-change", "--results", str(tmp_path / "two"), **environ
        )
        assert done.returncode == 0, done.stdout


STAND_IN = AGENT.replace("[scripted/support]", "[openai/first, openai/second]")


@pytest.mark.parametrize("side", ["head", "base"])
def test_a_side_that_a_stand_in_answered_is_not_compared(tmp_path: Path, side: str) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write("agents/support.yaml", STAND_IN)
    shop.commit()
    shop.branch("next")
    shop.write("agents/support.yaml", STAND_IN.replace("Pay back.", "Pay it back."))
    shop.commit()
    down = b"Pay it back." if side == "head" else b"Pay back."

    def first_is_down(call: Call) -> Answer:
        if b'"first"' in call.raw and down in call.raw:
            return failure(call, 503, "overloaded", x_should_retry="false")
        refund = b"I want a refund" in call.raw and b'"tool_call_id"' not in call.raw
        return reply(call, "Hello", tools=[("c1", "clarify_reason", {})] if refund else ())

    with provider(first_is_down) as (_, environ):
        code, said, comment = check(shop, tmp_path, **environ)
    assert code == 3, said
    assert f"on {side}, openai/second answered in 2 of 2 trials in place of openai/first" in said
    assert "answered by a stand-in" in comment


def test_another_first_model_is_a_change_like_any_other(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write("agents/support.yaml", STAND_IN)
    shop.commit()
    shop.branch("next")
    shop.write(
        "agents/support.yaml", STAND_IN.replace("first, openai/second", "second, openai/first")
    )
    shop.commit()

    def answers(call: Call) -> Answer:
        refund = b"I want a refund" in call.raw and b'"tool_call_id"' not in call.raw
        return reply(call, "Hello", tools=[("c1", "clarify_reason", {})] if refund else ())

    with provider(answers) as (_, environ):
        code, said, _ = check(shop, tmp_path, **environ)
    assert code == 0, said


QUICK = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: latency, maxSeconds: 3}
"""


@pytest.mark.parametrize("runs", some_always(["program", "model"], 2))
def test_waits_for_a_provider_that_refuses_are_no_latency(tmp_path: Path, runs: str) -> None:
    shop = program(tmp_path, ASKS.replace("scripted/support", "support"), QUICK)
    manifest = PROGRAM.replace("scripted/support", "openai/support")
    if runs == "model":
        manifest = AGENT.replace("scripted/support", "openai/support")
        shop.write("prompts/support.md", "You help.")
    shop.checkout("main")
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 1}\n")
    shop.write("agent.yaml", manifest)
    shop.commit()
    shop.branch("next")
    kind = ASKS.replace("scripted/support", "support").replace("ask for the reason", "You help us.")
    shop.write("agent.py", kind)
    shop.write("prompts/support.md", "You help us.")
    shop.commit()
    waiting = ["once"]

    def busy(call: Call) -> Answer:
        if waiting and b"You help us." in call.raw:
            waiting.pop()
            return failure(call, 429, "Slow down.", retry_after_ms="4000")
        return reply(call, "Hello")

    with provider(busy) as (_, environ):
        code, said, _ = check(shop, tmp_path, **environ)
    assert not waiting
    assert code == 0, f"a program's trial that was spent waiting is made again\n{said}"
