"""Money and time on the real command: priced calls, limits of a policy, models without a price."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, reply

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: clerk}
spec: {models: [MODEL], system: Answer briefly.}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: ask-NUMBER, labels: {agent: clerk}}
spec:
  input: {type: prompt, payload: {prompt: "Question NUMBER"}}
  assertions:
    - {type: contains, value: fine}
    - {type: cost, LIMIT}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: clerk-eval}
spec:
  targetAgent: clerk
  fixtureSelector: {matchLabels: {agent: clerk}}
"""
POLICY = "policy:\n  cost: {maxRatio: 1.5, over: block}\n"


def dear_if_long(call: Call) -> Answer:
    """Ten times the tokens where the system prompt asks for details."""
    many = 10_000 if b"in detail" in call.raw else 1_000
    return reply(call, "All is fine.", usage=(many, many // 10))


def shop(tmp_path: Path, *, model: str, limit: str, policy: str = "") -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("agents/clerk.yaml", AGENT.replace("MODEL", model))
    numbers = range(4)
    texts = [FIXTURE.replace("NUMBER", str(n)).replace("LIMIT", limit) for n in numbers]
    repo.write("evals/eval.yaml", "---\n".join([EVAL, *texts]))
    if policy:
        repo.write(".github/gateval.yml", policy)
    repo.commit("Begin")
    return repo


def checked(repo: Repo, out: Path) -> tuple[int, str, str]:
    """Run `check` against main; return the exit status, what it printed, and the comment."""
    with provider(dear_if_long) as (_, environ):
        done = gateval(repo, "check", "--base", "main", "--results", str(out), **environ)
    comment = out / "comment.md"
    return (
        done.returncode,
        done.stdout + done.stderr,
        comment.read_text() if comment.exists() else "",
    )


def test_a_dearer_agent_is_told_and_blocked_where_the_policy_asks(tmp_path: Path) -> None:
    repo = shop(tmp_path, model="openai/gpt-4o", limit="maxUSD: 0.5", policy=POLICY)
    repo.branch("change")
    repo.write(
        "agents/clerk.yaml", AGENT.replace("MODEL", "openai/gpt-4o").replace("briefly", "in detail")
    )
    repo.commit("Explain more")
    code, printed, comment = checked(repo, tmp_path / "out")

    assert code == 1, printed
    assert "clerk-eval cost more than the policy allows" in printed
    assert "clerk-eval: an answer costs 10 times what it did on base (10 to 10)" in comment
    assert "over the 1.5 of policy.cost.maxRatio" in comment
    # 10,000 and 1,000 tokens at 2.50 and 10 dollars a million, of four fixtures
    assert "| clerk | head | 40,000 in, 4,000 out | <span>$</span>0.14 |" in comment
    assert "| clerk | base | 4,000 in, 400 out | <span>$</span>0.014 |" in comment
    trials = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert {trial["usage"]["usd"] for trial in trials} == {0.035, 0.0035}


def test_a_plan_says_what_it_will_take_once_that_is_known(tmp_path: Path) -> None:
    budget = "policy:\n  budget: {repetitions: 12, usd: 1}\n"
    repo = shop(tmp_path, model="openai/gpt-4o", limit="maxUSD: 0.5", policy=budget)
    repo.branch("change")
    repo.write(
        "agents/clerk.yaml", AGENT.replace("MODEL", "openai/gpt-4o").replace("Answer", "Reply")
    )
    repo.commit("Reply")
    before = " ".join(gateval(repo, "plan", "--base", "main").stdout.split())
    assert "model calls, tokens, money and minutes: not known" in before
    assert "it leaves 4 trials for what looks worse" in before

    with provider(dear_if_long) as (_, environ):
        done = gateval(repo, "check", "--base", "main", **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    repo.checkout("main")
    repo.write(".github/gateval.yml", budget.replace("usd: 1", "usd: 0.01"))
    repo.commit("Less money")
    repo.checkout("change")
    after = " ".join(gateval(repo, "plan", "--base", "main").stdout.split())
    assert re.search(r"about (8|9|10) model calls, [0-9,]+ tokens, \$0\.0[0-9]+, ", after), after
    assert "that is more than policy.budget.usd gives a run, which would end incomplete" in after


@pytest.mark.parametrize(
    ("model", "limit", "code", "told"),
    [
        ("openai/gpt-4o", "maxUSD: 0.004", 0, "4 passed"),
        ("openai/gpt-4o", "maxUSD: 0.003", 1, "Expected at most $0.003, saw $0.0035."),
        ("openai/gpt-99-imagined", "maxUSD: 0.004", 3, "Nobody knows a price of openai/gpt-99"),
        ("openai/gpt-99-imagined", "maxTokens: 1100", 0, "no price of openai/gpt-99-imagined"),
    ],
)
def test_a_limit_of_money(tmp_path: Path, model: str, limit: str, code: int, told: str) -> None:
    repo = shop(tmp_path, model=model, limit=limit)
    with provider(dear_if_long) as (_, environ):
        done = gateval(repo, "run", "clerk-eval", **environ)
    assert done.returncode == code, done.stdout + done.stderr
    if told != "4 passed":
        assert told in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("maxUSD: -1", "Must be at least 0, but is -1"),
        ("maxEUR: 1", 'Did you mean "maxUSD"?'),
        ("weight: 1", "Write `maxTokens`, `maxUSD` or both"),
    ],
)
def test_a_wrong_limit_is_refused_where_it_stands(tmp_path: Path, limit: str, told: str) -> None:
    repo = shop(tmp_path, model="openai/gpt-4o", limit=limit)
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert told in done.stdout
    assert "evals/eval.yaml:15:" in done.stdout


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("cost: {maxRatio: 0.5}", "maxRatio"),
        ("cost: {maxratio: 2}", "maxRatio"),
        ("latency: {maxRatio: 2, over: maybe}", "block"),
    ],
)
def test_a_wrong_policy_is_refused(tmp_path: Path, policy: str, told: str) -> None:
    repo = shop(
        tmp_path, model="openai/gpt-4o", limit="maxUSD: 1", policy=f"policy: {{{policy}}}\n"
    )
    repo.branch("change")
    done = gateval(repo, "plan", "--base", "main")
    assert done.returncode == 2
    assert told in done.stderr


JUDGED = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: polite, labels: {agent: clerk}}
spec:
  input: {type: prompt, payload: {prompt: "Please"}}
  assertions: [{type: judge, rubric: The clerk is polite.}]
"""
CONTENT = (
    '{"score": 1, "confidence": 1, "summary": "Yes.", "violations": [], '
    '"what_would_raise_score": ""}'
)


def test_attempts_that_were_lost_are_paid_for(tmp_path: Path) -> None:
    """The judge answers nonsense and is asked again, the agent is not: its one answer stays."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/clerk.yaml", AGENT.replace("MODEL", "openai/gpt-4o"))
    judged = EVAL + "  judge: {model: openai/gpt-4o}\n"
    repo.write("evals/eval.yaml", f"{judged}---\n{JUDGED}")
    repo.commit("Begin")
    verdicts = iter(["nonsense", "nonsense", CONTENT])

    def respond(call: Call) -> Answer:
        judging = b"strict and fair judge" in call.raw
        return reply(call, next(verdicts) if judging else "With pleasure.", usage=(1_000, 100))

    with provider(respond) as (_, environ):
        done = gateval(repo, "run", "clerk-eval", "--results", str(tmp_path / "out"), **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    spent = [trial.get(key, {}).get("usd") for key in ("usage", "judge_usage", "lost_usage")]
    assert spent == [pytest.approx(0.0035), pytest.approx(3 * 0.0035), None]
    assert "judge 3,000 in, 300 out, $0.0105" in " ".join(done.stdout.split())


PRICE = "prices: {openai/gpt-99-imagined: {input: 2.5, output: 10}}"


@pytest.mark.parametrize("command", ["plan", "check", "run"])
def test_a_budget_of_dollars_and_a_model_without_a_price_are_refused(
    tmp_path: Path, command: str
) -> None:
    """Before the first call, and with the way to give a price."""
    budget = "policy:\n  budget: {usd: 5}\n"
    repo = shop(tmp_path, model="openai/gpt-99-imagined", limit="maxTokens: 1100", policy=budget)
    repo.branch("change")
    agent = AGENT.replace("MODEL", "openai/gpt-99-imagined").replace("Answer", "Reply")
    repo.write("agents/clerk.yaml", agent)
    repo.commit("Reply")
    asked = ("clerk-eval",) if command == "run" else ("--base", "main")
    with provider(dear_if_long) as (server, environ):
        done = gateval(repo, command, *asked, **environ)
        told = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 2, told
        assert server.calls == []
    assert "policy.budget.usd" in told
    assert "Nobody knows a price of openai/gpt-99-imagined" in told
    assert "policy.prices" in told
    assert "Traceback" not in told


def test_a_price_of_ones_own_counts(tmp_path: Path) -> None:
    policy = f"policy:\n  budget: {{usd: 5}}\n  {PRICE}\n"
    repo = shop(tmp_path, model="openai/gpt-99-imagined", limit="maxUSD: 0.0035", policy=policy)
    with provider(dear_if_long) as (_, environ):
        done = gateval(repo, "run", "clerk-eval", "--results", str(tmp_path / "out"), **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert {trial["usage"]["usd"] for trial in trials} == {0.0035}


def test_tokens_that_nobody_counted_do_not_crash_a_report(tmp_path: Path) -> None:
    """A budget of tokens, and a program that asks no model."""
    repo = Repo(tmp_path / "shop")
    program = 'runtime: {type: command, command: [echo, "All is fine."]}'
    repo.write("agents/clerk.yaml", AGENT.replace("models: [MODEL]", program))
    fixture = FIXTURE.replace("NUMBER", "1").replace("cost, LIMIT", "contains, value: All")
    repo.write("evals/eval.yaml", f"{EVAL}---\n{fixture}")
    repo.write(".github/gateval.yml", "policy: {budget: {tokens: 100}}\n")
    repo.commit("Begin")
    done = gateval(repo, "run", "clerk-eval")
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, told
