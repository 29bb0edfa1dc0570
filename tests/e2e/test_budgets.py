"""What the policy gives one run binds every model call: calls, tokens, dollars; all runtimes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, failure, reply

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: clerk}
spec:
  models: [openai/gpt-4o]
  system: Answer briefly.
"""
FIXTURES = 40
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: clerk-eval}
spec:
  targetAgent: clerk
  fixtureSelector: {matchLabels: {agent: clerk}}
  execution: {parallel: 20}
  JUDGE
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: ask-NUMBER, labels: {agent: clerk}}
spec:
  input: {type: prompt, payload: {prompt: "Question NUMBER."}}
  assertions: [ASSERTION]
"""
PROGRAM = """\
import json, os, sys, urllib.request
asked = json.load(sys.stdin)["prompt"]
body = {"model": "gpt-4o", "messages": [{"role": "user", "content": asked}]}
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
said = []
for _ in range(5):
    try:
        with urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)) as got:
            said.append(json.load(got)["choices"][0]["message"]["content"])
    except OSError as error:
        said.append("All is fine, I think.")
print(said[-1])
"""
COMMAND = f"  runtime: {{type: command, command: [{sys.executable}, clerk.py]}}\n"
VERDICT = (
    '{"score": 1, "confidence": 1, "summary": "Yes.", "violations": [], '
    '"what_would_raise_score": ""}'
)
DOLLAR = "budget: {usd: 1}"
OUTPUT = 4_000
"""Tokens of each answer: four cents at 10 dollars a million."""

PRICE = 0.04


def shop(
    path: Path, policy: str, *, agent: str = AGENT, judged: bool = False, fixtures: int = FIXTURES
) -> Repo:
    repo = Repo(path / "shop")
    repo.write(".github/gateval.yml", f"policy: {{{policy}}}\n")
    repo.write("agents/clerk.yaml", agent)
    repo.write("agents/clerk.py", PROGRAM)
    judge = "judge: {model: openai/gpt-4o}" if judged else ""
    asserted = "{type: judge, rubric: It is fine.}" if judged else "{type: contains, value: fine}"
    texts = [
        FIXTURE.replace("NUMBER", str(n)).replace("ASSERTION", asserted) for n in range(fixtures)
    ]
    repo.write("evals/eval.yaml", "---\n".join([EVAL.replace("JUDGE", judge), *texts]))
    repo.commit("Begin")
    return repo


def fine(call: Call) -> Answer:
    judging = b"strict and fair judge" in call.raw
    said = VERDICT if judging else "All is fine."
    return reply(call, said, usage=(100, OUTPUT), delay=0.05)


def results(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "results.v1.json").read_text())
    return found


@pytest.mark.drawn("agent", "judged")
@pytest.mark.parametrize(
    ("agent", "judged"),
    [(AGENT, False), (AGENT, True), (AGENT + COMMAND, False), (AGENT + COMMAND, True)],
    ids=["model", "model, judged", "command", "command, judged"],
)
@pytest.mark.parametrize(
    ("policy", "most"),
    [
        ("gateway: {callsPerRun: 15}", 15),
        ("gateway: {tokensPerRun: 41000}", 10),
        ("budget: {usd: 0.41}", 10),
    ],
    ids=["calls", "tokens", "usd"],
)
def test_no_call_is_made_beyond_what_a_run_is_given(
    tmp_path: Path, agent: str, judged: bool, policy: str, most: int
) -> None:
    """Twenty trials run side by side, and each call takes as much as was held back for it."""
    repo = shop(tmp_path, policy, agent=agent, judged=judged)
    with provider(fine) as (server, environ):
        out = tmp_path / "out"
        done = gateval(repo, "run", "clerk-eval", "--results", str(out), **environ)
        assert len(server.calls) <= most
        assert len(server.calls) >= most - 1
    told = " ".join(done.stdout.split())
    assert done.returncode == 3, told + done.stderr
    assert "what the policy gives a run was used up" in told
    assert "took nothing of it" not in told
    found = results(out)
    assert found["info"]["over_budget"]
    assert all(trial["outcome"] == "pass" for trial in found["trials"]), "what was kept is whole"


@pytest.mark.parametrize("agent", [AGENT, AGENT + COMMAND], ids=["model", "command"])
def test_attempts_that_failed_are_calls_too(tmp_path: Path, agent: str) -> None:
    repo = shop(tmp_path, "gateway: {callsPerRun: 12}", agent=agent)

    def busy(call: Call) -> Answer:
        return failure(call, 503, "Busy.", **{"Retry-After": "0"})

    with provider(busy) as (server, environ):
        done = gateval(repo, "run", "clerk-eval", **environ)
        assert len(server.calls) == 12
    assert done.returncode == 3, done.stdout


@pytest.mark.parametrize("agent", [AGENT, AGENT + COMMAND], ids=["model", "command"])
def test_dollars_are_passed_by_no_more_than_the_calls_in_flight(tmp_path: Path, agent: str) -> None:
    """Answers are far larger than what could be foreseen: 4,096 tokens, then the largest so far."""
    repo = shop(tmp_path, "budget: {usd: 1}", agent=agent)

    def large(call: Call) -> Answer:
        return reply(call, "All is fine.", usage=(100, 12_000), delay=0.2)

    with provider(large) as (server, environ):
        out = tmp_path / "out"
        done = gateval(repo, "run", "clerk-eval", "--results", str(out), **environ)
        spent = len(server.calls) * 0.12
    assert done.returncode == 3, done.stdout
    at_once = 20
    assert spent <= 1 + at_once * 0.12
    assert spent < 4, "today it is 4.80 or more"


def test_a_program_that_asks_for_a_model_without_a_price_is_refused(tmp_path: Path) -> None:
    """Its manifest names none, so that shows only when it runs."""
    agent = (AGENT + COMMAND).replace("  models: [openai/gpt-4o]\n", "")
    repo = shop(tmp_path, "budget: {usd: 1}", agent=agent, fixtures=2)
    repo.write(
        "agents/clerk.py", PROGRAM.replace("gpt-4o", "gpt-99-imagined").replace("I think", "no")
    )
    repo.write(
        "evals/eval.yaml",
        (repo.path / "evals/eval.yaml").read_text().replace("value: fine", "value: 'fine.'"),
    )
    repo.commit("Another model")
    with provider(fine) as (server, environ):
        out = tmp_path / "out"
        done = gateval(repo, "run", "clerk-eval", "--results", str(out), **environ)
        assert server.calls == []
    assert done.returncode == 1, done.stdout
    told = json.dumps(results(out)["trials"][0]["trace"])
    assert "Nobody knows a price of openai/gpt-99-imagined" in told
    assert "policy.prices" in told


def worse(call: Call) -> Answer:
    """Head fails all that it is asked about one fixture."""
    broken = b"Reply briefly" in call.raw and b"Question 0." in call.raw
    return reply(call, "No." if broken else "All is fine.", usage=(100, OUTPUT))


def changed(repo: Repo) -> None:
    repo.branch("change")
    repo.write("agents/clerk.yaml", AGENT.replace("Answer", "Reply"))
    repo.commit("Reply")


def test_a_regression_that_was_found_is_one_whatever_the_budget(tmp_path: Path) -> None:
    """One Eval is decided at its second look; the other one goes on and uses up the rest."""
    repo = shop(tmp_path, "gateway: {callsPerRun: 16}", fixtures=2)
    text = (repo.path / "evals/eval.yaml").read_text()
    first = (
        text.replace("clerk-eval", "steady-eval")
        .split("---\n")[0]
        .replace("parallel: 20", "parallel: 20, deterministic: true")
    )
    repo.write("evals/steady.yaml", first)
    repo.commit("Two Evals")
    changed(repo)
    with provider(worse) as (server, environ):
        done = gateval(repo, "check", "--base", "main", **environ)
        assert len(server.calls) == 16
    told = " ".join(done.stdout.split())
    assert done.returncode == 1, told
    assert "ask-0 passed before and fails now" in told
    assert "callsPerRun" in told


def test_what_looks_worse_when_the_budget_ends_is_incomplete(tmp_path: Path) -> None:
    repo = shop(tmp_path, "gateway: {callsPerRun: 6}", fixtures=2)
    changed(repo)
    with provider(worse) as (_, environ):
        done = gateval(repo, "check", "--base", "main", **environ)
    told = " ".join(done.stdout.split())
    assert done.returncode == 3, told
    assert "policy.gateway.callsPerRun" in told


TURNS = 50
LOOKING = AGENT + "  tools: [{name: look_up}]\n"


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_loop_that_hits_its_turn_limit_is_not_repeated_as_silence(
    tmp_path: Path, command: str
) -> None:
    repo = shop(tmp_path, "", agent=LOOKING, fixtures=1)
    repo.branch("change")
    repo.write("agents/clerk.yaml", LOOKING.replace("Answer", "Reply"))
    repo.commit("Reply")

    def on_and_on(call: Call) -> Answer:
        return reply(call, tools=[("call_1", "look_up", {"order": 1})])

    with provider(on_and_on) as (server, environ):
        asked = ("clerk-eval",) if command == "run" else ("--base", "main")
        done = gateval(repo, command, *asked, **environ)
        assert len(server.calls) == TURNS * (1 if command == "run" else 2)
    assert done.returncode == (1 if command == "run" else 3), done.stdout
    assert "did not finish in 50 turns" in " ".join(done.stdout.split())


CALIBRATION = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: fine-calibration}
spec:
  rubric: It is fine.
  judgeModels: [openai/gpt-4o]
  examples:
EXAMPLES
"""
EXAMPLE = "    - {{candidateOutput: All is fine {0}, humanScore: {1}}}"


@pytest.mark.parametrize(
    ("policy", "most"),
    [("gateway: {callsPerRun: 5}", 5), ("budget: {usd: 0.21}", 5)],
    ids=["calls", "usd"],
)
def test_a_calibration_keeps_within_it_too(tmp_path: Path, policy: str, most: int) -> None:
    repo = shop(tmp_path, policy, judged=True, fixtures=1)
    examples = [EXAMPLE.format(n, n % 2) for n in range(20)]
    repo.write("evals/calibration.yaml", CALIBRATION.replace("EXAMPLES", "\n".join(examples)))
    repo.commit("A calibration")
    with provider(fine) as (server, environ):
        done = gateval(repo, "calibrate", **environ)
        assert len(server.calls) <= most, done.stdout
        assert server.calls
    assert done.returncode == 3, done.stdout + done.stderr


def test_a_judge_is_not_tried_without_a_price(tmp_path: Path) -> None:
    repo = shop(tmp_path, DOLLAR, judged=True, fixtures=1)
    with provider(fine) as (server, environ):
        done = gateval(
            repo, "calibrate", "--preset", "toxicity", "--model", "openai/gpt-99-x", **environ
        )
        assert server.calls == []
    assert done.returncode == 2, done.stdout
    assert "policy.prices" in " ".join(done.stderr.split())


def test_running_the_same_head_again_is_no_way_around_a_budget(tmp_path: Path) -> None:
    """What looked worse when the budget ended is not drawn anew until it looks well."""
    repo = shop(tmp_path, "gateway: {callsPerRun: 6}", fixtures=2)
    changed(repo)
    with provider(worse) as (_, environ):
        first = gateval(repo, "check", "--base", "main", **environ)
    assert first.returncode == 3, first.stdout
    with provider(fine) as (_, environ):
        again = gateval(repo, "check", "--base", "main", **environ)
        assert again.returncode == 3, again.stdout
        assert "an earlier run of this head used up" in " ".join(again.stdout.split())
        third = gateval(repo, "check", "--base", "main", **environ)
        assert third.returncode == 3, third.stdout
        repo.checkout("main")
        repo.write(".github/gateval.yml", "policy: {gateway: {callsPerRun: 200}}\n")
        repo.commit("More calls")
        repo.checkout("change")
        more = gateval(repo, "check", "--base", "main", **environ)
    assert more.returncode == 0, more.stdout
