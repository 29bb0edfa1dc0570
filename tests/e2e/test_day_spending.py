"""What a day may spend on one machine, over all runs of the command line there."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateval.adapters.machine import SystemClock
from gateval.adapters.store import STORE_FOLDER, segment_name
from tests.e2e.test_budgets import AGENT, OUTPUT, PRICE, fine, shop
from tests.helpers.calibrations import calibration, verdict
from tests.helpers.command import gateval, start_gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import KEY, PUBLIC, judges, sealed_shop
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


@pytest.mark.parametrize(
    "command",
    [
        ("calibrate", "tone"),
        ("calibrate", "tone", "--compare", "openai/gpt-4o,openai/gpt-4o-mini"),
        ("judge", "attack", "clerk-eval", "--yes"),
        ("judge", "try", "ask-0", "--trace", "trace.json"),
        ("aa", "clerk-eval", "--runs", "2"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_all_that_asks_models_counts_in_the_day(tmp_path: Path, command: tuple[str, ...]) -> None:
    """And asks nobody when it is used up."""
    repo = shop(tmp_path, "budget: {perDay: {usd: 50}}", judged=True, fixtures=1)
    text = (repo.path / "evals/eval.yaml").read_text()
    judge = "judge: {model: openai/gpt-4o"
    repo.write("evals/eval.yaml", text.replace(judge, f"{judge}, calibration: tone"))
    repo.write("evals/tone.yaml", calibration(2, judgeModels=["openai/gpt-4o"]))
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "All is fine."}]
    repo.write("trace.json", json.dumps({"messages": said}))
    repo.commit("A judge to be measured")

    def answers(call: Call) -> Answer:
        asked = "rubric" in call.raw.decode()
        return reply(call, verdict(1.0) if asked else "All is fine.", usage=(100, OUTPUT))

    with provider(answers) as (server, environ):
        done = gateval(repo, *command, **environ)
        assert server.calls, done.stdout + done.stderr
        mini = sum("mini" in call.body["model"] for call in server.calls)
        paid = (len(server.calls) - mini) * (PRICE + 0.00025) + mini * (PRICE + 0.00025) * 0.06
        spent = [one.split() for one in entries(repo)]
        assert {ended for _, ended in spent} == {"over"}
        taken = sum(float(usd.removeprefix("usd=")) for usd, _ in spent)
        assert taken == pytest.approx(paid, abs=1e-4)
        repo.write(".github/gateval.yml", f"policy: {{budget: {{perDay: {{usd: {taken}}}}}}}\n")
        repo.commit("That is all")
        asked = len(server.calls)
        again = gateval(repo, *command, **environ)
        assert len(server.calls) == asked
    assert again.returncode != 0 or command[0] == "aa"
    assert "policy.budget.perDay.usd" in again.stdout + again.stderr or command[0] == "aa"


class Shards:
    """Jobs of a run on one machine, in two shards; each `job` is a process."""

    def __init__(self, repo: Repo, environ: dict[str, str]) -> None:
        self.repo, self.environ = repo, environ
        (repo.path / "out").mkdir(exist_ok=True)
        repo.write(".gitignore", "out/\n")
        plan = gateval(repo, "plan", "--base", "main", "--json", **environ)
        (repo.path / "out/plan.json").write_text(plan.stdout)

    def words(self, name: str, *words: str) -> tuple[str, ...]:
        parts = () if "plan" in words else ("--parts", "out/jobs")
        return ("run", "--plan", "out/plan.json", *words, *parts, "--results", f"out/jobs/{name}")

    def job(self, name: str, *words: str) -> Any:
        return gateval(self.repo, *self.words(name, *words), **self.environ)


def changed(repo: Repo) -> None:
    repo.branch("change")
    repo.write("agents/clerk.yaml", AGENT.replace("Answer", "Reply"))
    repo.commit("Reply")


def test_what_shards_took_takes_the_place_of_what_they_were_given(tmp_path: Path) -> None:
    repo = shop(tmp_path, "budget: {usd: 0.5, perDay: {usd: 0.6}}", fixtures=4)
    changed(repo)
    with provider(fine) as (server, environ):
        jobs = Shards(repo, environ)
        assert jobs.job("plan", "--step", "plan", "--shards", "2").returncode == 0
        assert entries(repo) == ["usd=0.500000 open"]
        for shard in ("1/2", "2/2"):
            done = jobs.job(shard[0], "--shard", shard)
            assert done.returncode == 0, done.stderr
        ended = [jobs.job("next", "--step", "next"), jobs.job("finish", "--step", "finish")]
        assert [one.returncode for one in ended] == [0, 0], ended[0].stderr + ended[1].stderr
        assert entries(repo) == [f"usd={len(server.calls) * (PRICE + 0.00025):.6f} over"]


def test_calls_in_flight_of_a_killed_shard_are_paid_from_its_share(tmp_path: Path) -> None:
    repo = shop(tmp_path, "budget: {usd: 0.5, perDay: {usd: 0.6}}", fixtures=5)
    changed(repo)
    asked, slow = list[Call](), [30.0]

    def answers(call: Call) -> Answer:
        asked.append(call)
        return reply(call, "All is fine.", usage=(100, OUTPUT), delay=slow[0])

    with provider(answers) as (_, environ):
        jobs = Shards(repo, environ)
        jobs.job("plan", "--step", "plan", "--shards", "1")
        run = start_gateval(repo, *jobs.words("1", "--shard", "1/1"), **environ)
        deadline = time.monotonic() + 60
        while len(asked) < 10 and time.monotonic() < deadline:
            time.sleep(0.05)
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=30)
        assert len(asked) == 10
        slow[0] = 0
        done = jobs.job("1", "--shard", "1/1")
        assert done.returncode == 3, done.stderr
        assert "0.50 that policy.budget.usd gives it" in done.stderr or "$0.0" in done.stderr
        jobs.job("next", "--step", "next")
        jobs.job("finish", "--step", "finish")
    assert len(asked) * PRICE <= 0.5
    (entry,) = entries(repo)
    assert entry.endswith(" over")
    assert len(asked) * PRICE <= float(entry.split()[0].removeprefix("usd=")) <= 0.51


@pytest.mark.parametrize("in_ci", [False, True])
def test_what_a_sealed_run_took_is_known_on_a_machine_and_not_in_ci(
    tmp_path: Path, *, in_ci: bool
) -> None:
    """Logs of CI, where the next run says it, are read by those from whom it is sealed."""
    repo = sealed_shop(tmp_path / "shop")
    repo.checkout("main")
    rules = "budget: {usd: 0.4, perDay: {usd: 2}}, prices: {openai/judge: {input: 1, output: 1}}"
    repo.write(".github/gateval.yml", f"policy: {{recipients: [{PUBLIC}], {rules}}}\n")
    repo.commit("A budget")
    with provider(judges) as (server, environ):
        more = {**environ, **KEY, **({"CI": "true"} if in_ci else {})}
        done = gateval(repo, "run", "held-out", **more)
        assert server.calls, done.stdout + done.stderr
    (entry,) = entries(repo)
    assert entry == "usd=0.400000 open" if in_ci else entry.endswith(" over")


def test_a_run_that_ends_after_midnight_keeps_the_entries_of_the_new_day(tmp_path: Path) -> None:
    repo = shop(tmp_path, DAY, fixtures=2)
    later = "2999-01-01 <!-- gateval:spending v1 run=b usd=0.300000 open -->\n"
    before = later.replace("2999", "2001")
    (repo.path / FILE).parent.mkdir()
    (repo.path / FILE).write_text(before + later)
    with provider(fine) as (_, environ):
        assert gateval(repo, "run", "clerk-eval", **environ).returncode == 0
    text = (repo.path / FILE).read_text()
    assert later in text
    assert "2001" not in text
    assert f"{SystemClock().utc_now()[:10]} <!-- gateval:spending v1 run=" in text


def test_runs_at_once_share_what_the_day_has(tmp_path: Path) -> None:
    repo = shop(tmp_path, "budget: {usd: 0.3, perDay: {usd: 0.6}}", fixtures=5)
    with provider(fine) as (server, environ):
        runs = [start_gateval(repo, "run", "clerk-eval", **environ) for _ in range(4)]
        for run in runs:
            run.communicate(timeout=120)
        assert len(server.calls) * (PRICE + 0.00025) <= 0.6
    assert len(entries(repo)) == 4


def test_a_run_that_an_error_ends_counts_what_it_asked_for(tmp_path: Path) -> None:
    """Nothing, where it asked nobody: five jobs that are set up wrongly use up no day."""
    repo = shop(tmp_path, DAY, fixtures=2)
    with provider(fine) as (server, environ):
        done = gateval(repo, "run", "clerk-eval", GATEVAL_VIEWS="nope", **environ)
        assert (done.returncode, server.calls) == (2, []), done.stdout + done.stderr
    assert entries(repo) == ["usd=0.000000 over"]


def spoiling(folder: Path, notes: Callable[[Path], None]) -> Callable[[Call], Answer]:
    """A provider of which each answer spoils the notes of a run below `folder`, and its store."""

    def answer(call: Call) -> Answer:
        for spent in folder.rglob("spent.txt"):
            notes(spent)
            (spent.parent / STORE_FOLDER / segment_name(1)).mkdir(exist_ok=True)
        return fine(call)

    return answer


def _empty(spent: Path) -> None:
    spent.write_text("")


def _long(spent: Path) -> None:
    with spent.open("r+b") as file:
        file.truncate(80 << 20)


def _link(spent: Path) -> None:
    spent.unlink()
    spent.symlink_to("/proc/self/stat")


def _pipe(spent: Path) -> None:
    spent.unlink()
    os.mkfifo(spent)


@pytest.mark.parametrize("notes", [_empty, _long, _link, _pipe, Path.unlink])
def test_what_nobody_knows_after_an_error_counts_as_all_and_hides_no_error(
    tmp_path: Path, notes: Callable[[Path], None]
) -> None:
    repo, out = shop(tmp_path, DAY, fixtures=2), tmp_path / "out"
    with provider(spoiling(out, notes)) as (_, environ):
        done = gateval(repo, "run", "clerk-eval", "--results", str(out), **environ)
    assert "Cannot store the runs of fixtures" in done.stderr, done.stderr
    assert "spent.txt" not in done.stderr
    assert entries(repo) == ["usd=0.410000 open"]
