"""A run that goes on from one that was cut short: what was measured is kept, red and green alike."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gateval.adapters.store import stored_trials
from tests.e2e.test_model_offers import CODE as CODE_OF_DESK
from tests.e2e.test_model_offers import PROGRAM as PROGRAM_OF_DESK
from tests.e2e.test_model_offers import repository
from tests.helpers import stored
from tests.helpers.command import gateval, start_gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

COUNT = 12

PROGRAM = """\
import json, random, sys, time
question = json.load(sys.stdin)["prompt"]
time.sleep(0.1)
print(f"{'ok' if random.random() < 0.5 else 'no'} {random.random()}")
"""


@pytest.fixture
def dice(tmp_path: Path) -> Repo:
    """A repository with a program that answers each time with another number, right or wrong."""
    repo = Repo(tmp_path / "dice")
    repo.write(
        "agents/dice.yaml",
        "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: dice}\n"
        "spec: {runtime: {type: command, command: [python3, dice.py]}}\n",
    )
    repo.write("agents/dice.py", PROGRAM)
    cases = "".join(f'{{"id": "n{one}", "input": "{one}"}}\n' for one in range(COUNT))
    repo.write("evals/cases.jsonl", cases)
    repo.write(
        "evals/evals.yaml",
        "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: throw}\n"
        "spec:\n  cases: {file: cases.jsonl}\n"
        "  input: {type: prompt, payload: {prompt: '{{ case.input }}'}}\n"
        "  assertions: [{type: contains, value: ok}]\n---\n"
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: dice-eval}\n"
        "spec: {targetAgent: dice, fixtures: [throw], execution: {parallel: 2}}\n",
    )
    repo.commit()
    return repo


def trials_in(folder: Path) -> dict[str, Any]:
    """What a store holds, by the name of the trial."""
    return {json.dumps(one["key"]): one for one in stored.trials(folder)}


def ended_with(run: subprocess.Popen[str], number: signal.Signals) -> str:
    """End a run by a signal and return what it said on stderr."""
    run.send_signal(number)
    return run.communicate(timeout=60)[1]


def wait_for(run: subprocess.Popen[str], folder: Path, trials: int) -> None:
    """Wait until so many trials are stored, or the run is over."""
    deadline = time.monotonic() + 120
    while len(trials_in(folder)) < trials and run.poll() is None:
        assert time.monotonic() < deadline, "the run never got that far"
        time.sleep(0.02)


def newest(repo: Repo) -> Path:
    """The folder of the newest run."""
    return max((repo.path / ".gateval/results").glob("2*"))


def test_an_interrupted_run_offers_to_go_on_and_keeps_all_that_was_measured(dice: Repo) -> None:
    run = start_gateval(dice, "run", "dice-eval")
    while run.poll() is None and not list((dice.path / ".gateval/results").glob("2*")):
        time.sleep(0.02)
    wait_for(run, newest(dice), 3)
    said = ended_with(run, signal.SIGINT)
    assert "the same command with --resume goes on from there" in said
    first = newest(dice)
    before = trials_in(first)
    assert 3 <= len(before) < COUNT

    again = gateval(dice, "run", "dice-eval", "--resume")
    after = trials_in(newest(dice))
    assert newest(dice) != first
    assert f"Goes on from run {first.name}" in again.stderr, again.stderr
    assert f"Running {COUNT - len(before)} trials. {len(before)} are kept" in again.stderr
    assert len(after) == COUNT
    assert {key: after[key]["output"] for key in before} == {
        key: one["output"] for key, one in before.items()
    }, "no lot is drawn again"
    info = json.loads((newest(dice) / "results.v1.json").read_text())["info"]
    under_way = len(json.loads((first / "results.v1.json").read_text())["info"]["started"])
    assert f"{under_way} under way when it ended are paid again" in info["resumed"]
    assert info["resumed"] in " ".join(again.stdout.split())

    report = gateval(dice, "report", str(newest(dice)))
    assert report.stdout == (newest(dice) / "summary.txt").read_text()
    once_more = gateval(dice, "run", "dice-eval", "--resume")
    assert "Running 0 trials" in once_more.stderr
    assert once_more.returncode == again.returncode


@pytest.mark.drawn("seed")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_at_any_moment_goes_on(dice: Repo, tmp_path: Path, seed: int) -> None:
    """Each trial is kept once, and paid again at most what was in flight."""
    draw = random.Random(seed)
    kept: dict[str, Any] = {}
    folder = tmp_path / "run-0"
    run = start_gateval(dice, "run", "dice-eval", "--results", str(folder))
    for number in range(1, 5):
        wait_for(run, folder, len(kept) + draw.randint(0, 3))
        run.kill()
        stderr = run.communicate(timeout=60)[1]
        now = trials_in(folder)
        assert now.items() >= kept.items(), stderr
        begun = folder / "begun.jsonl"
        lost = set(begun.read_text().splitlines()) if begun.exists() else set()
        assert len(lost - {json.dumps(json.loads(one), separators=(",", ":")) for one in now}) <= 2
        went_on_from = ["--from", str(folder)] if now else []
        kept, folder = now, tmp_path / f"run-{number}"
        run = start_gateval(dice, "run", "dice-eval", *went_on_from, "--results", str(folder))
    stdout, stderr = run.communicate(timeout=120)
    after = trials_in(folder)
    assert len(after) == COUNT, stderr
    assert after.items() >= kept.items()
    assert not (folder / "begun.jsonl").exists()
    assert gateval(dice, "report", str(folder)).stdout == stdout


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("agents/dice.py", PROGRAM + "# another one\n"),
        ("evals/cases.jsonl", '{"id": "n0", "input": "0"}\n'),
    ],
)
def test_nothing_is_kept_of_another_head(dice: Repo, file: str, content: str) -> None:
    gateval(dice, "run", "dice-eval")
    dice.write(file, content)
    again = gateval(dice, "run", "dice-eval", "--resume")
    assert again.returncode == 2
    assert "There is nothing to go on from" in again.stderr
    assert "Traceback" not in again.stderr


def test_results_that_a_change_brings_are_not_gone_on_from(dice: Repo, tmp_path: Path) -> None:
    """A pull request could bring the log of a run in which everything passes."""
    forged = dice.path / ".gateval/results/20990101-000000-abcd"
    gateval(dice, "run", "dice-eval", "--results", str(tmp_path / "out"))
    forged.mkdir(parents=True)
    for name in ("plan.v1.json", "trials.jsonl"):
        text = stored.written(tmp_path / "out")[name]
        (forged / name).write_text(text.replace('"outcome":"fail"', '"outcome":"pass"'))
    dice.git("add", "--force", ".gateval/results")
    for asked in (["--resume"], ["--from", forged.name], ["--from", str(forged)]):
        ended = gateval(dice, "run", "dice-eval", *asked)
        assert ended.returncode == 2, ended.stdout
        assert "nothing to go on from" in ended.stderr or "Git has files" in ended.stderr


def test_check_goes_on_with_both_sides(dice: Repo, tmp_path: Path) -> None:
    dice.git("checkout", "-q", "-b", "change")
    dice.write("agents/dice.py", PROGRAM.replace("0.1", "0.11"))
    dice.commit("Think longer")
    folder = tmp_path / "first"
    run = start_gateval(dice, "check", "--base", "main", "--results", str(folder))
    wait_for(run, folder, 4)
    said = ended_with(run, signal.SIGTERM)
    assert f"--from {folder}" in said
    kept = trials_in(folder)
    ended = gateval(
        dice,
        "check",
        "--base",
        "main",
        "--from",
        str(folder),
        "--results",
        str(tmp_path / "second"),
    )
    after = trials_in(tmp_path / "second")
    assert after.items() >= kept.items(), ended.stderr
    assert ended.returncode in {0, 1}
    assert "Goes on from run first" in (tmp_path / "second/comment.md").read_text()
    unknown = gateval(dice, "check", "--base", "main", "--from", "nothing")
    assert (unknown.returncode, "There is no run nothing here" in unknown.stderr) == (2, True)


def test_a_judge_that_was_lost_is_asked_again_without_its_agent(dice: Repo, tmp_path: Path) -> None:
    """Its agent would answer with another number."""
    dice.write(".gateval/scripted/judge.yaml", "rules:\n  - reply: no verdict\n")
    text = (dice.path / "evals/evals.yaml").read_text()
    text = text.replace("{type: contains, value: ok}", "{type: judge, rubric: Is it polite?}")
    dice.write(
        "evals/evals.yaml",
        text.replace("parallel: 2}", "parallel: 2}, judge: {model: scripted/judge}"),
    )
    dice.commit()
    first, second = tmp_path / "first", tmp_path / "second"
    gateval(dice, "run", "dice-eval", "--results", str(first))
    again = gateval(dice, "run", "dice-eval", "--from", str(first), "--results", str(second))
    assert f"of {COUNT} more the judge alone is asked again" in again.stderr
    before, after = trials_in(first), trials_in(second)
    assert {one["cause"] for one in before.values()} == {"judge"}
    assert {k: one["output"] for k, one in before.items()} == {
        k: one["output"] for k, one in after.items()
    }
    assert all(
        after[key]["judge_usage"]["input_tokens"] > one["judge_usage"]["input_tokens"]
        for key, one in before.items()
    )


def test_what_was_kept_counts_among_what_the_policy_gives_a_run(tmp_path: Path) -> None:
    """Else a run that is cut short again and again would have its budget each time."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write(".github/gateval.yml", "policy: {gateway: {callsPerRun: 2}}\n")
    shop.commit()
    begun = gateval(shop, "run", "support-eval", "--fixture", "greets")
    assert begun.returncode == 0, begun.stderr
    ended = gateval(shop, "run", "support-eval", "--resume")
    assert "1 measured there count" in ended.stderr
    assert "has made the 2 model calls that policy.gateway.callsPerRun" in " ".join(
        ended.stdout.split()
    )
    assert ended.returncode == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"outcome": "pass", "reason": "", "assessments": []},
            "says pass, but its assertions do not",
        ),
        (
            {"key": {"eval": "x", "fixture": "y", "side": "head", "repetition": 1}},
            "nothing to go on",
        ),
        ({"score": 7}, "nothing to go on"),
        (None, "nothing to go on"),
        (0o777, "others may write to"),
    ],
    ids=["forged", "of nothing here", "no trial", "a pipe", "open to others"],
)
def test_a_folder_that_somebody_filled_is_not_gone_on_from(
    tmp_path: Path, change: Any, sentence: str
) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    begun = gateval(shop, "run", "support-eval", "--fixture", "greets")
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    (trial,) = stored_trials(folder, "trials.jsonl")
    there = tmp_path / "there"
    there.mkdir()
    (there / "plan.v1.json").write_bytes((folder / "plan.v1.json").read_bytes())
    if change is None:
        os.mkfifo(there / "trials.jsonl")
    else:
        said = json.loads(trial.model_dump_json()) | (change if isinstance(change, dict) else {})
        (there / "trials.jsonl").write_text(json.dumps(said) + "\n")
    there.chmod(change if isinstance(change, int) else 0o755)
    ended = gateval(shop, "run", "support-eval", "--from", str(there))
    assert (begun.returncode, ended.returncode) == (0, 2)
    assert sentence in " ".join(ended.stderr.split())
    assert "fault in Gateval" not in ended.stderr


@pytest.mark.parametrize("engine", [None, "0" * 64], ids=["an earlier one", "another one"])
def test_a_run_of_another_version_of_gateval_is_not_gone_on_from(
    dice: Repo, engine: str | None
) -> None:
    """It asked Agents and judges in its own way: with both in one run, the verdict is of neither."""
    gateval(dice, "run", "dice-eval")
    file = newest(dice) / "plan.v1.json"
    plan = json.loads(file.read_text())
    assert plan.pop("engine")
    file.write_text(json.dumps(plan | ({"engine": engine} if engine else {})))
    for asked in (["--resume"], ["--from", newest(dice).name]):
        ended = gateval(dice, "run", "dice-eval", *asked)
        assert ended.returncode == 2, ended.stdout
        assert "another version of Gateval measured it" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_the_models_of_kept_runs_were_offered_is_kept(
    tmp_path: Path, number: signal.Signals
) -> None:
    """No trial repeats it, and the base side is over when the run ends."""
    repo = repository(tmp_path / "repo", PROGRAM_OF_DESK)
    slow = CODE_OF_DESK.replace("system =", "time.sleep(1)\nsystem =", 1)
    repo.write("agent.py", slow.replace("Look things up", "Find"))
    repo.commit("After")
    first, second = tmp_path / "first", tmp_path / "second"
    asked = ("check", "--base", "HEAD~1", "--results")
    run = start_gateval(repo, *asked, str(first))
    wait_for(run, first, 2)
    ended_with(run, number)
    assert {json.loads(one)["side"] for one in trials_in(first)} == {"base"}
    done = gateval(repo, *asked, str(second), "--from", str(first))
    assert "2 measured there count" in done.stderr
    said = 'for the model: desk: tool "search" has another description'
    assert said in " ".join(done.stdout.split()), done.stdout
    whole = json.loads((second / "results.v1.json").read_text())
    sides = [one["key"]["side"] for one in whole["trials"] if one["trace"]["model_calls"]]
    assert {one["side"]: one["trials"] for one in whole["offers"]} == Counter(sides)
    assert not (second / "offers.jsonl").exists()
