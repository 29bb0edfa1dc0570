"""Status and its fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compat.rows import states
from tests.helpers.calibrations import judged_shop
from tests.helpers.command import gateval, start_gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import PROMPT, SCRIPT, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def status(shop: Repo, name: str = "support-eval") -> dict[str, Any]:
    done = gateval(shop, "get", "eval", name, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@states("`get evals` lists Evals, `get eval NAME` shows the status of one")
@states("`get eval-fixtures` lists fixtures (short: `efx`)")
@states("`phase: Pending` before the first run")
def test_what_there_is_before_the_first_run(shop: Repo) -> None:
    listed = gateval(shop, "get", "evals")
    assert listed.returncode == 0
    assert "support-eval  support" in listed.stdout
    assert "Pending" in listed.stdout
    assert status(shop)["phase"] == "Pending"
    for word in ("fixtures", "eval-fixtures", "efx"):
        rows = gateval(shop, "get", word).stdout.splitlines()
        assert [row.split()[0] for row in rows] == ["NAME", "greets", "refund-asks-why"]


@states("`phase: Passed`, `lastResult: Pass`")
@states("`lastScore`: the overall weighted score, formatted to two digits")
@states("`passingFixtures`, `failingFixtures`, `totalFixtures`: counts of the run")
@states("`lastRunAt`, `lastResult` and `fixtureResults` are those of the most recent run")
def test_a_run_that_passes(shop: Repo) -> None:
    assert gateval(shop, "run", "support-eval").returncode == 0
    found = status(shop)
    assert (found["phase"], found["lastResult"], found["lastScore"]) == ("Passed", "Pass", "1.00")
    counts = ("passingFixtures", "failingFixtures", "totalFixtures")
    assert [found[one] for one in counts] == [2, 0, 2]
    assert found["lastRunAt"].endswith("Z")
    assert found["revision"] == shop.id("HEAD")


@states("`phase: Failed`, `lastResult: Fail`")
@states(
    "`fixtureResults[]`: name, score, result, severity, message, runId, agent output, judge verdict",
    differs="The status has name, score, result, severity and message; the run is named once for "
    "all. Output, trace and the judge's verdict are in the run's results: `gateval show`.",
)
def test_a_run_that_fails(shop: Repo) -> None:
    shop.write(".gateval/scripted/support.yaml", SCRIPT.replace("Hello! How", "Hi! How"))
    shop.commit()
    assert gateval(shop, "run", "support-eval").returncode == 1
    found = status(shop)
    assert (found["phase"], found["lastResult"], found["lastScore"]) == ("Failed", "Fail", "0.67")
    greets = found["fixtureResults"][0]
    assert (greets["name"], greets["result"], greets["score"]) == ("greets", "Fail", "0.00")
    assert greets["severity"] == "medium"
    assert "Hello" in greets["message"]
    shown = gateval(shop, "show", found["run"], "greets")
    assert "Hi! How can I help?" in shown.stdout


@states(
    "`phase: Stale`: the target Agent's `metadata.generation` advanced since the last run",
    differs="What an Agent depends on is hashed (`gateval closure AGENT`): it is Stale when that "
    "hash is another one. `targetAgentGeneration` is `agentRevision`, the first digits of it.",
)
def test_stale_when_the_agent_has_changed(shop: Repo) -> None:
    assert gateval(shop, "run", "support-eval").returncode == 0
    shop.write("agents/prompts/support.md", PROMPT + "Be brief.\n")
    found = status(shop)
    assert found["phase"] == "Stale"
    assert found["agentRevision"] != found["agentNow"]
    shop.write("agents/prompts/support.md", PROMPT)
    assert status(shop)["phase"] == "Passed"


@states(
    "`phase: Running` while the Eval is being run",
    differs="That of runs in the same clone. A run in CI shows as the check run in progress.",
)
def test_running(shop: Repo) -> None:
    slow = SCRIPT.replace("reply: Hello! How can I help?", "reply: Hello!\n    latencySeconds: 60")
    shop.write(".gateval/scripted/support.yaml", slow)
    run = start_gateval(shop, "run", "support-eval")
    try:
        seen = (status(shop)["phase"] for _ in range(20))
        running = next((phase for phase in seen if phase == "Running"), None)
    finally:
        run.terminate()
        run.communicate(timeout=30)
    assert running
    assert status(shop)["phase"] == "Pending"


@states(
    "`delete eval NAME`, `delete eval-fixture NAME`, `apply -f`",
    differs="Manifests are files in git: a commit applies or deletes them.",
)
@pytest.mark.parametrize("word", ["delete", "apply"])
def test_manifests_are_files(shop: Repo, word: str) -> None:
    done = gateval(shop, word, "eval", "support-eval")
    assert done.returncode == 2
    assert "No such command" in done.stderr


@states("`judgeAgreement`: Cohen's κ from the latest JudgeCalibration replay")
@states(
    "`status.phase` of a JudgeCalibration: Calibrated (κ ≥ 0.6), Stale, Failed",
    differs="`get calibrations` has it too: Pending before the first replay, and Stale also when "
    "rubric or examples have changed since.",
)
def test_how_far_the_judge_agrees(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=0)
    (row,) = json.loads(gateval(shop, "get", "jcal", "-o", "json").stdout)
    assert (row["name"], row["phase"]) == ("tone", "Pending")
    assert gateval(shop, "run", "support-eval").returncode == 0
    assert status(shop)["judgeAgreement"] == "1.00"
    row = json.loads(gateval(shop, "get", "calibration", "tone", "-o", "json").stdout)
    assert (row["phase"], row["agreement"]) == ("Calibrated", "1.00")
    assert row["agreementByModel"] == {"scripted/judge": "1.00"}
    path = next(path for path in shop.path.rglob("*.yaml") if "humanScore" in path.read_text())
    path.write_text(path.read_text().replace("conv-1", "conv-x").replace("Ticket 1", "Another"))
    row = json.loads(gateval(shop, "get", "calibration", "tone", "-o", "json").stdout)
    assert row["phase"] == "Stale"
    assert gateval(shop, "calibrate", "tone").returncode == 0
    row = json.loads(gateval(shop, "get", "calibration", "tone", "-o", "json").stdout)
    assert row["phase"] == "Calibrated"
    table = gateval(shop, "get", "calibrations").stdout
    assert "tone" in table
    assert "Calibrated" in table
