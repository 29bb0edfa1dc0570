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

ANSWERED = {
    "a script in place of, or beside, the real model; the gate's loop in place of a program": "a lower bar, to be accepted",
    "steps and tokens claimed where base's were seen on the wire; an empty claim": "`error`, not a pass",
    "a tool that is switched off, asked for all the same": "the call is marked refused and satisfies nothing, whether the manifest or the program's own request left the tool out",
    "every model call fails and the program prints something; head asks no model where base did": "head fails, or inconclusive ([which](decisions.md#answers-that-no-model-gave)); head's own `modelCalls: optional` does not count",
    "base on its first model, head on a stand-in": "inconclusive",
    "a judge that says 1.0 to everything, behind `minAgreement`": "its calibration is replayed in the gate: below the bar its word neither passes nor fails anything",
    "another model of the gate's keys, a judge's script among them": "refused by every address and format: the manifest does not name it",
    "a name of a model that leads elsewhere in a path (`../files`, `tunedModels/…`, a deployment of Azure's), another one in the body than in the path": "our own 404 or a refusal; the path counts, and the address behind us is made anew",
    "a host or a path behind the redirect that leads elsewhere, another instance's key there, keys by the thousand": "our own 404 or 401: only listed endpoints of known hosts, for a living instance in a trial; 20 keys of its own",
    "a set-up that leaves pipes, files of 10 GB with holes or second names of a layer's files for `workdir: copy`": "told before anything is copied; a second name becomes a file of its own, a link stays one",
    "embeddings by the thousand, or of a billion numbers; a flood of questions for the list of models": "refused; calls and tokens count like any others, and the list waits its turn",
    "a candidate that listens where a provider, a judge or a proxy is expected on this machine: on another address of its name, on the port of one that is down, on any address": "told nothing: the name is pinned, and the kernel says whose socket is at the other end",
    "the same as the gate's user, hidden: passed on faster than its holder is asked for its parents, behind `hidepid`, in no process at all": "what cannot be told is a candidate's",
    "a candidate of the gate's user that ended its gate and all that kept it (before Linux 6.12), and answers a later run as nobody's child": "what can gain no rights is no provider while the gate can, but where the target branch trusts it",
    "a call from the provider's port that meets the gate's own, with no listener at all; a listener that ends while it accepts": "the other end of each connection is looked at, too",
    "a candidate of another gate of the same user, beside one judge": "what descends from any gate's supervisor is a candidate's",
    "a port that a server, a service or an MCP server loses to another candidate, while it lives or when it ends": "not a word is said to the other; a trial beside such a service fails",
    "a socket that listens without a port of its choice, or shares the judge's (`SO_REUSEPORT`); a redirect; a proxy's variable; a name that means this machine by now": "whoever is there is looked at; a redirect and such a name are not followed",
    "an engine, or any other program at a Unix socket, that is told to listen where a judge was": "as root no socket is open to a candidate that is not to everybody, and abstract ones are out of reach (Linux 6.12); where one is, this works: [whom not to ask then](security.md#what-is-promised-and-what-is-not)",
    "a model server without a key, such as Ollama, that is told to answer otherwise, or asked what it was told": "works where agents reach it: `policy.egress: gateway` or a key keeps them off, and `doctor` says so",
    "a connection that the kernel answered by a SYN cookie, whose listener is away while it is looked at": "what is in no table has to give a sign of life",
    "Multipath TCP past the rule for ports, asked for with bits that the kernel does not read": "only the bits that it reads are compared",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

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
