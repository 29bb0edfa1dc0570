"""JudgeCalibration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.calibrations import calibration, judged_shop, script, verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT

DOCUMENT = """\
apiVersion: pai.io/v1
kind: JudgeCalibration
metadata:
  name: tone
spec:
  rubric: |
    The agent should ask the customer for the reason before issuing a refund.
  judgeModels:
    - scripted/judge
    - scripted/other
  examples:
    - traceRef: conv-support-cd7e649e
      input:
        ticket: "I want a refund for order 12345"
      candidateOutput: "I'll create a refund ticket right away."
      humanScore: 0.0
      humanLabel: Did not clarify, issued refund directly
      disagreementReason: rubricWrong # optional
    - traceRef: conv-support-fa1c2b3
      input:
        ticket: "I want a refund for order 99812"
      candidateOutput: "Could you tell me why you'd like to return it?"
      humanScore: 1.0
      humanLabel: Asked the right clarifying question
"""


def documented(path: Path) -> Repo:
    """A shop with the document's calibration and two judges: one right, one always content."""
    shop = judged_shop(path, wrong=0)
    blames = {
        "when": {"user": "I'll create a refund ticket"},
        "reply": verdict(0.2, "I'll create a refund ticket right away."),
    }
    shop.write(
        ".gateval/scripted/judge.yaml", json.dumps({"rules": [blames, {"reply": verdict(1)}]})
    )
    shop.write(".gateval/scripted/other.yaml", json.dumps({"rules": [{"reply": verdict(0.5)}]}))
    shop.write("evals/tone.yaml", DOCUMENT)
    shop.commit("As the document has it")
    return shop


@states("A JudgeCalibration has a rubric, judge models, and examples with `traceRef`, `input`, "
        "`candidateOutput`, `humanScore`, `humanLabel` and `disagreementReason`")  # fmt: skip
@states("The runner replays the judge against each example and compares its score to the human's")
@states("It computes Cohen's κ, binarised at 0.5")
def test_the_documents_calibration_is_replayed_by_model(tmp_path: Path) -> None:
    shop = documented(tmp_path / "shop")
    done = gateval(shop, "calibrate", "tone", "--json")
    assert done.returncode == 1, done.stderr
    judges = json.loads(done.stdout)["judges"]
    assert [(one["model"], one["kappa"]) for one in judges] == [
        ("scripted/judge", 1.0),
        ("scripted/other", 0.0),
    ]
    assert judges[1]["table"]["false_pass"] == 1
    shown = gateval(shop, "calibrate", "tone").stdout
    first = next(line for line in shown.splitlines() if line.startswith("scripted/"))
    assert first.split()[:2] == ["scripted/judge", "1.00"]


@states("`status.agreementByModel`: κ per model")
@states("`status.judgesEvaluated`: models actually replayed")
@states("`status.agreement`: the best-performing model's κ, formatted to 2dp")
@states("The Eval's `status.judgeAgreement`: κ from the latest replay")
def test_status_has_the_fields_of_the_document(tmp_path: Path) -> None:
    shop = documented(tmp_path / "shop")
    assert gateval(shop, "calibrate").returncode == 1
    (row,) = json.loads(gateval(shop, "get", "calibrations", "-o", "json").stdout)
    assert row["agreementByModel"] == {"scripted/judge": "1.00", "scripted/other": "0.00"}
    assert sorted(row["judgesEvaluated"]) == ["scripted/judge", "scripted/other"]
    assert row["agreement"] == "1.00"
    shown = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)
    assert shown["judgeAgreement"] == "1.00"


@states("Replay the calibration with a POST to `/judge-calibrations/NAME/replay`, or a button",
        differs="`gateval calibrate NAME`, for there is no server; the gate replays it by itself")  # fmt: skip
def test_a_command_replays_it(tmp_path: Path) -> None:
    shop = documented(tmp_path / "shop")
    done = gateval(shop, "calibrate", "tone", "--model", "scripted/judge")
    assert done.returncode == 0, done.stderr
    assert "tone: 2 examples, of which people pass 1" in done.stdout


@states("`status.phase`: `Calibrated` (κ ≥ 0.6), `Stale` (κ < 0.6 but at least one example "
        "scored), `Failed` (no examples scored)",
        differs="`Stale` also when judge, prompt, rubric or examples changed since, when more than "
        "a fifth got no verdict, and when people say the same of all examples")  # fmt: skip
@pytest.mark.parametrize(
    ("wrong", "silent", "phase"),
    [(4, 0, "Calibrated"), (5, 0, "Stale"), (0, 19, "Stale"), (0, 20, "Failed")],
)
def test_phases(tmp_path: Path, wrong: int, silent: int, phase: str) -> None:
    """4 of 20 wrong are κ 0.6, 5 are κ 0.5."""
    shop = judged_shop(tmp_path / "shop", wrong=wrong, silent=silent)
    done = gateval(shop, "calibrate", "--json")
    (judge,) = json.loads(done.stdout)["judges"]
    assert judge["phase"] == phase
    assert judge["scored"] == 20 - silent


@states("It validates a judge configuration before it gates anything")
@states("An Eval can refuse to gate when its judge agreement is below threshold",
        differs="its judge then passes and fails nothing, and other assertions decide; the "
        "threshold is `judge.minAgreement`, 0.6 if absent")  # fmt: skip
@pytest.mark.parametrize(("wrong", "code"), [(2, 0), (8, 3)])
def test_the_gate_asks_for_agreement(tmp_path: Path, wrong: int, code: int) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=wrong, judge="calibration: tone")
    shop.write("agents/support.yaml", AGENT.replace("Pay back.", "Pay it back."))
    shop.commit("Say it better")
    done = gateval(shop, "check")
    assert done.returncode == code, done.stdout
    assert "by tone: κ 0.80" in done.stdout or "κ 0.20" in " ".join(done.stdout.split())


@states("`spec.judge.calibration` is optional")
def test_a_judge_without_a_calibration_decides(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=8, judge="temperature: 0")
    done = gateval(shop, "run", "support-eval")
    assert done.returncode == 0, done.stdout


@states("Examples are a small set of labels by people")
def test_twenty_labels_are_enough_to_be_told_how_little_they_say(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=2)
    done = gateval(shop, "calibrate")
    assert "0.34 to 0.97" in done.stdout
    shop.write("evals/tone.yaml", calibration(2))
    shop.write(".gateval/scripted/judge.yaml", script(wrong=0, of=2, agent=verdict(1)))
    few = gateval(shop, "calibrate", "--json")
    (judge,) = json.loads(few.stdout)["judges"]
    assert judge["kappa"] == 1
    assert judge["low"] < 0
