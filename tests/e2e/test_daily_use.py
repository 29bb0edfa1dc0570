"""A day of somebody who works on an agent: a part again, what failed again, a look at a trace."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from examples.demo import gate
from tests.helpers.command import environment, gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import FIXTURES, PROMPT, build_shop

WORSE = PROMPT.replace("ask for the reason", "be quick")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    repo.write("agents/prompts/support.md", WORSE)
    repo.commit()
    return repo


def stored(repo: Repo) -> list[str]:
    folder = repo.path / ".gateval/results"
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def test_what_failed_runs_again_until_it_passes(shop: Repo) -> None:
    assert gateval(shop, "check").returncode == 1
    again = gateval(shop, "check", "--failed")
    assert again.returncode == 1
    assert f"Again: 1 fixture that did not pass in {stored(shop)[0]}." in again.stderr
    assert "a part of the gate: 1 of 2 fixtures" in again.stdout
    assert "support-eval/greets" in again.stdout  # by name, as left out

    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    mended = gateval(shop, "check", "--failed")
    assert mended.returncode == 3, mended.stdout
    assert "nothing that ran speaks against the change" in " ".join(mended.stdout.split())
    decision = json.loads(
        (shop.path / ".gateval/results" / stored(shop)[-1] / "decision.v1.json").read_text()
    )
    assert (decision["verdict"], decision["exit_code"]) == ("incomplete", 3)
    assert gateval(shop, "report", f".gateval/results/{stored(shop)[-1]}").returncode == 3

    ended = stored(shop)[-1]
    nothing = gateval(shop, "check", "--failed")
    assert nothing.returncode == 2
    assert f"Nothing failed in the last run that measured anything, {ended}." in nothing.stderr
    assert gateval(shop, "check").returncode == 0


def test_a_check_that_measures_nothing_forgets_nothing(shop: Repo) -> None:
    assert gateval(shop, "check").returncode == 1
    (failed,) = stored(shop)
    shop.write("README.md", "Nothing of an agent.\n")
    shop.commit()
    assert gateval(shop, "check", "--base", "HEAD~1").returncode == 0
    assert len(stored(shop)) == 2

    again = gateval(shop, "check", "--failed")
    assert again.returncode == 1, again.stderr
    assert f"Again: 1 fixture that did not pass in {failed}." in again.stderr


def test_failed_after_runs_that_measured_nothing_says_so(shop: Repo) -> None:
    assert gateval(shop, "check", "--base", "HEAD").returncode == 0
    done = gateval(shop, "check", "--failed")
    assert done.returncode == 2
    assert "No run that is stored here measured anything." in done.stderr


def test_failed_without_a_run_says_so(shop: Repo) -> None:
    done = gateval(shop, "check", "--failed")
    assert done.returncode == 2
    assert "No run is stored in this repository." in done.stderr


def test_the_command_of_each_failure_measures_just_that(shop: Repo) -> None:
    done = gateval(shop, "check")
    line = next(
        line.strip() for line in done.stdout.splitlines() if "--fixture refund-asks-why" in line
    )
    again = gateval(shop, *line.split()[1:])
    assert again.returncode == 1
    assert "0/2 (1 left out)" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--eval", "nowhere"], 'There is no Eval "nowhere"'),
        (["--fixture", "greet"], 'There is no fixture "greet" on this revision. Did you mean'),
        (["--agent", "nobody"], 'There is no Agent "nobody"'),
    ],
)
def test_a_name_that_nothing_has(shop: Repo, words: list[str], said: str) -> None:
    done = gateval(shop, "check", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("words", [["--eval", "evl"], ["--fixture", "greet"], ["--agent", "sup"]])
def test_a_name_that_nothing_has_is_no_pass_where_nothing_changed(
    shop: Repo, words: list[str]
) -> None:
    done = gateval(shop, "check", "--base", "HEAD", "--head", "HEAD", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f'"{words[1]}" on this revision.' in done.stderr
    known = ("--eval", "support-eval", "--fixture", "greets", "--agent", "support")
    assert gateval(shop, "check", "--base", "HEAD", "--head", "HEAD", *known).returncode == 0


def test_the_name_of_a_template_means_all_of_its_cases(shop: Repo) -> None:
    template = FIXTURES.split("---")[0].replace("spec:\n", "spec:\n  cases: {file: c.jsonl}\n")
    shop.write("evals/asks.yaml", template.replace("refund-asks-why", "asks"))
    shop.write("evals/c.jsonl", '{"id": "a"}\n{"id": "b"}\n')
    shop.commit()
    done = gateval(shop, "check", "--fixture", "asks")
    assert done.returncode == 1, done.stderr
    assert "a part of the gate: 2 of 4 fixtures" in " ".join(done.stdout.split())
    assert "(evals/c.jsonl:1)" in done.stdout, "a case's own line"
    assert "(evals/c.jsonl:2)" in done.stdout


def test_run_without_a_name_lists_the_evals_where_nobody_can_answer(shop: Repo) -> None:
    done = gateval(shop, "run")
    assert done.returncode == 2
    assert "  gateval run support-eval\n" in done.stderr


def test_run_without_a_name_asks_on_a_terminal(shop: Repo) -> None:
    outer, inner = pty.openpty()
    running = subprocess.Popen(
        [*gate(), "run"],
        cwd=shop.path,
        env=environment(shop, TERM="dumb"),
        stdin=inner,
        stdout=inner,
        stderr=subprocess.DEVNULL,
    )
    os.close(inner)
    os.write(outer, b"1\n")
    shown = read_all(outer)
    assert running.wait(timeout=60) == 1, shown
    assert "1  support-eval  (Agent support, 2 fixtures)" in shown
    assert "To do the same again:" in shown


def read_all(terminal: int) -> str:
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return shown.decode()


def test_show_is_for_the_last_run_or_a_named_one(shop: Repo, tmp_path: Path) -> None:
    assert gateval(shop, "show").returncode == 2
    gateval(shop, "check", "--results", str(tmp_path / "out"))
    gateval(shop, "check", "--fresh")
    run = stored(shop)[-1]
    listed = gateval(shop, "show")
    assert listed.returncode == 0, listed.stderr
    assert f"gateval show {run} support-eval/refund-asks-why\n" in listed.stdout
    shown = [
        gateval(shop, "show", *words).stdout
        for words in (
            ["refund-asks-why"],
            ["support-eval/refund-asks-why"],
            [run, "refund-asks-why"],
            [str(tmp_path / "out"), "refund-asks-why"],
        )
    ]
    assert "clarify_reason {}" in shown[0]
    assert re.search(r"^head +base$", shown[0], re.MULTILINE)
    assert len({re.sub(r" in [0-9.]+ s", "", text) for text in shown}) == 1
    assert gateval(shop, "show", "refund-asks-wy").stderr.count("Did you mean") == 1
    assert gateval(shop, "show", "greets", "--repetition", "9").returncode == 2


def test_results_that_a_pull_request_brings_are_no_run_of_ours(shop: Repo, tmp_path: Path) -> None:
    gateval(shop, "check", "--results", str(tmp_path / "out"))
    folder = shop.path / ".gateval/results"
    folder.mkdir()
    (folder / "99991231-235959-ffff").symlink_to(tmp_path / "out")
    (folder / "99991231-235959-eeee\x1b[2J").mkdir()
    done = gateval(shop, "show")
    assert done.returncode == 2
    assert "No run is stored" in done.stderr


def test_a_forged_quote_is_not_shown_as_found(shop: Repo, tmp_path: Path) -> None:
    gateval(shop, "check", "--results", str(tmp_path / "out"))
    path = tmp_path / "out/results.v1.json"
    content = json.loads(path.read_text())
    trial = next(one for one in content["trials"] if one["outcome"] == "fail")
    violation = {
        "rule": "r",
        "severity": "high",
        "evidence_step": 1,
        "quote": "\x1b]0;never said\x07",
        "supported": True,
    }
    verdict = {"score": 0, "confidence": 1, "summary": "s", "violations": [violation]}
    trial["assessments"][0]["verdict"] = verdict
    path.write_text(json.dumps(content))
    done = gateval(shop, "show", str(tmp_path / "out"), trial["key"]["fixture"])
    assert done.returncode == 0, done.stderr
    assert "Quote not found in step 1" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout
