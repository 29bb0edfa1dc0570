"""`gateval challenge`: a person's objection to a verdict becomes a labelled example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.helpers.calibrations import judged_shop, verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

CALIBRATION = """\
# how we judge
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: tone}   # kept
spec:
  rubric: "Is it kind?"
  judgeModels: [ scripted/judge ]
  examples:
  - candidateOutput: 'Go away.'
    humanScore: 0.0   # rude
"""

OBJECTION = ("--score", "1", "--reason", "judgeWrong", "--note", "It says hello: that is kind")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A shop whose last run has verdicts that nobody shares."""
    repo = judged_shop(tmp_path / "shop", wrong=0, agent=verdict(0.0, "Hello"))
    repo.write("evals/tone.yaml", CALIBRATION)
    repo.commit("Label by hand")
    repo.git("config", "user.email", "jane@example.com")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 3, done.stdout
    return repo


def test_an_objection_becomes_an_example_and_nothing_else_changes(shop: Repo) -> None:
    done = gateval(shop, "challenge", "kind-word", *OBJECTION)
    assert done.returncode == 0, done.stderr
    assert "evals/tone.yaml: the judge gave 0.00, you give 1 (judgeWrong)." in done.stdout
    text = (shop.path / "evals/tone.yaml").read_text()
    assert text.startswith(CALIBRATION)
    example = yaml.safe_load(text)["spec"]["examples"][1]
    origin, trace = example.pop("origin"), example.pop("traceRef")
    assert example == {
        "input": {"prompt": "Hello"},
        "candidateOutput": "Hello! How can I help?",
        "humanScore": 1.0,
        "humanLabel": "It says hello: that is kind",
        "disagreementReason": "judgeWrong",
    }
    assert trace.endswith("/support-eval/kind-word#1")
    assert origin["promotedBy"] == "jane@example.com"
    replayed = gateval(shop, "calibrate", "--json")
    (judge,) = json.loads(replayed.stdout)["judges"]
    assert judge["replay"]["examples"][1]["label"] == "It says hello: that is kind"
    assert judge["replay"]["examples"][1]["score"] == 0


def test_an_example_has_the_steps_that_the_judge_saw(shop: Repo) -> None:
    fixtures = (shop.path / "evals/fixtures.yaml").read_text()
    shop.write("evals/fixtures.yaml", fixtures.replace("prompt: Hello", "prompt: A refund"))
    gateval(shop, "run", "support-eval")
    done = gateval(shop, "challenge", "kind-word", *OBJECTION)
    assert done.returncode == 0, done.stderr
    example = yaml.safe_load((shop.path / "evals/tone.yaml").read_text())["spec"]["examples"][1]
    assert [one["kind"] for one in example["trace"]] == ["tool_call", "tool_result"]
    assert example["trace"][0]["tool"] == "clarify_reason"
    assert example["candidateOutput"] == "Done."
    assert gateval(shop, "validate").returncode == 0


def test_the_same_trace_is_not_labelled_twice(shop: Repo) -> None:
    assert gateval(shop, "challenge", "kind-word", *OBJECTION).returncode == 0
    before = (shop.path / "evals/tone.yaml").read_bytes()
    again = gateval(shop, "challenge", "support-eval/kind-word", *OBJECTION)
    assert again.returncode == 2
    assert "tone has an example of this trace already." in again.stderr
    assert (shop.path / "evals/tone.yaml").read_bytes() == before


def test_an_eval_without_a_calibration_gets_one_beside_it(shop: Repo) -> None:
    text = (shop.path / "evals/support-eval.yaml").read_text()
    shop.write("evals/support-eval.yaml", text.replace("calibration: tone, minAgreement: 0.6", ""))
    shop.git("rm", "-q", "evals/tone.yaml")
    assert gateval(shop, "run", "support-eval").returncode == 1
    done = gateval(shop, "challenge", "kind-word", *OBJECTION)
    assert done.returncode == 0, done.stderr
    assert "add `calibration: support-eval-judge` to the Eval's judge" in done.stdout
    made = yaml.safe_load((shop.path / "evals/support-eval-judge.yaml").read_text())
    assert made["spec"]["rubric"] == "Is it kind?"
    assert made["spec"]["judgeModels"] == ["scripted/judge"]
    assert "2 fixtures, 1 calibration: valid." in gateval(shop, "validate").stdout


def test_another_rubric_is_told(shop: Repo) -> None:
    shop.write("evals/tone.yaml", CALIBRATION.replace("Is it kind?", "Is it short?"))
    done = gateval(shop, "challenge", "kind-word", *OBJECTION)
    assert "The rubric of tone is another one than the fixture's." in done.stdout


def test_personal_data_are_taken_out(shop: Repo) -> None:
    text = (shop.path / "evals/fixtures.yaml").read_text()
    shop.write(
        "evals/fixtures.yaml", text.replace("prompt: Hello", "prompt: Hello from a@b.example")
    )
    gateval(shop, "run", "support-eval")
    done = gateval(shop, "challenge", "kind-word", *OBJECTION, "--redact")
    assert done.returncode == 0, done.stderr
    said = (shop.path / "evals/tone.yaml").read_text()
    assert "a@b.example" not in said
    assert "Hello from [email 1]" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kind-wrod", *OBJECTION), 'of "kind-wrod" in repetition 1 of this run. Did you mean'),
        (("kind-word", *OBJECTION, "--repetition", "9"), "in repetition 9 of this run"),
        (("kind-word", *OBJECTION[2:]), "Missing option '--score'"),
        (("kind-word", "--score", "2", *OBJECTION[2:]), "2.0 is not in the range"),
        (("kind-word", *OBJECTION[:3], "moodWrong", *OBJECTION[4:]), "'moodWrong' is not one of"),
        (("kind-word", *OBJECTION, "--run", "nowhere"), "nowhere"),
        (("kind-word", "--score", "nan", *OBJECTION[2:]), "--score is a number from 0 to 1"),
        (("kind-word", *OBJECTION, "--calibration", "../../evil"), "is no name of a Judge"),
        (("kind-word", *OBJECTION, "--calibration", "Two words"), "is no name of a Judge"),
        (("kind-word", *OBJECTION, "--calibration", ""), "is no name of a Judge"),
    ],
)
def test_wrong_words_are_told(shop: Repo, words: tuple[str, ...], said: str) -> None:
    done = gateval(shop, "challenge", *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert shop.git("status", "--short", "evals") == b""
    assert not (shop.path.parent / "evil.yaml").exists()
