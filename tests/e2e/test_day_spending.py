"""What a day may spend on one machine, over all runs of the command line there."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from tests.e2e.test_budgets import AGENT, OUTPUT, PRICE, fine, shop
from tests.helpers.command import gateval, start_gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, reply

DAY = "budget: {usd: 0.41, perDay: {usd: 0.6}}"
FILE = ".git/gateval/spending.txt"


def entries(repo: Repo) -> list[str]:
    """What stands in the account of the day, with the run's id left out."""
    lines = (repo.path / FILE).read_text().splitlines()
    return [" ".join(one.split()[5:7]) for one in lines]


def test_runs_of_a_day_spend_no_more_together(tmp_path: Path) -> None:
    repo = shop(tmp_path, DAY, fixtures=8)
    with provider(fine) as (server, environ):
        first = gateval(repo, "run", "clerk-eval", **environ)
        assert first.returncode == 0, first.stdout + first.stderr
        assert entries(repo) == ["usd=0.322000 over"]
        out = tmp_path / "out"
        second = gateval(repo, "run", "clerk-eval", "--results", str(out), **environ)
        assert len(server.calls) * PRICE <= 0.6
    told = " ".join(second.stdout.split())
    assert second.returncode == 3, told
    assert "has $0.322 of its $0.60 (policy.budget.perDay.usd) taken" in told
    assert "run it again after 00:00 UTC" in told
    reasons = json.loads((out / "decision.v1.json").read_text())["reasons"]
    assert "allowance" in {one["code"] for one in reasons}


def test_the_plan_of_a_change_says_what_the_day_has_left(tmp_path: Path) -> None:
    repo = shop(tmp_path, DAY, fixtures=2)
    with provider(fine) as (_, environ):
        assert gateval(repo, "run", "clerk-eval", **environ).returncode == 0
    repo.branch("change")
    repo.write("agents/clerk.yaml", AGENT.replace("Answer", "Reply"))
    repo.commit("Reply")
    told = " ".join(gateval(repo, "plan", "--base", "main").stdout.split())
    assert "$0.41, $0.6 a day" in told
    assert "has $0.0805 of its $0.60 (policy.budget.perDay.usd) taken" in told


def test_a_run_that_is_killed_has_spent_all_that_it_was_given(tmp_path: Path) -> None:
    repo = shop(tmp_path, DAY, fixtures=2)

    asked = list[Call]()

    def slow(call: Call) -> Answer:
        asked.append(call)
        return reply(call, "All is fine.", usage=(100, OUTPUT), delay=30)

    with provider(slow) as (_, environ):
        run = start_gateval(repo, "run", "clerk-eval", **environ)
        deadline = time.monotonic() + 60
        while not asked and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=30)
    assert entries(repo) == ["usd=0.410000 open"]
    with provider(fine) as (server, environ):
        gateval(repo, "run", "clerk-eval", **environ)
        assert len(server.calls) * PRICE <= 0.6 - 0.41


def test_an_account_that_cannot_be_read_lets_nobody_spend(tmp_path: Path) -> None:
    repo = shop(tmp_path, DAY, fixtures=2)
    (repo.path / FILE).parent.mkdir()
    (repo.path / FILE).write_text(
        "2026-12-01 <!-- gateval:spending v1 run=a usd=-5.000000 over -->\n"
    )
    with provider(fine) as (server, environ):
        done = gateval(repo, "run", "clerk-eval", **environ)
        assert server.calls == []
    assert done.returncode == 2, done.stdout
    assert "spending.txt" in done.stderr
    assert "is damaged" in " ".join(done.stderr.split())
