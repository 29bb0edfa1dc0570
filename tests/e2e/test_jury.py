"""A jury from its manifest to a verdict: measured as it decides, and named where it may favour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.calibrations import EVAL, calibration, judged_shop, script, verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

JURY = "models: [scripted/judge, scripted/second, scripted/third], calibration: tone"


def with_jury(path: Path, *wrong: int, judge: str = JURY) -> Repo:
    """The judged shop with three scripted jurors, who are wrong about so many of 20 examples."""
    shop = judged_shop(path, wrong=0)
    for name, many in zip(("judge", "second", "third"), wrong, strict=True):
        rules = script(wrong=many, of=20, agent=verdict(1.0))
        shop.write(f".gateval/scripted/{name}.yaml", rules)
    shop.write("evals/tone.yaml", calibration(20))
    shop.write("evals/support-eval.yaml", EVAL + f"  judge: {{{judge}}}\n")
    shop.commit("A jury")
    return shop


@pytest.mark.parametrize(("wrong", "code"), [((12, 0, 0), 0), ((12, 12, 0), 3)])
def test_a_jury_counts_by_what_it_decides_together(
    tmp_path: Path, wrong: tuple[int, ...], code: int
) -> None:
    shop = with_jury(tmp_path / "shop", *wrong)
    out = tmp_path / "out"
    done = gateval(shop, "run", "support-eval", "--results", str(out))
    assert done.returncode == code, done.stdout + done.stderr
    results = json.loads((out / "results.v1.json").read_text())
    (replay,) = results["calibrations"]
    assert replay["binding"]["panel"]["models"] == JURY[9:56].split(", ")
    said = " ".join(done.stdout.split())
    assert ("is not calibrated by tone" in said) is (code == 3)


def test_calibrate_says_what_a_jury_is_worth(tmp_path: Path) -> None:
    shop = with_jury(tmp_path / "shop", 6, 6, 6)
    done = gateval(shop, "calibrate", "--results", str(tmp_path / "out"), "--json")
    judges = json.loads(done.stdout)["judges"]
    (jury,) = [one["jury"] for one in judges if one.get("jury")]
    assert (jury["jury"]["wrong"], jury["correlation"], jury["worth"]) == (6, 1, 1)
    shown = gateval(shop, "calibrate", "--results", str(tmp_path / "more"))
    assert "no better than one" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("models: [scripted/judge]", "at least two"),
        ("models: [scripted/judge, scripted/support]", "would judge its own answers"),
        ("model: scripted/judge, escalate: {model: scripted/second, band: [0.3, 0.7]}",
         "Name a JudgeCalibration"),
    ],
)  # fmt: skip
def test_a_jury_that_is_none_is_a_problem_with_its_place(
    tmp_path: Path, judge: str, said: str
) -> None:
    shop = with_jury(tmp_path / "shop", 0, 0, 0, judge=judge)
    done = gateval(shop, "validate")
    assert done.returncode == 2
    told = " ".join((done.stdout + done.stderr).split())
    assert said in told
    assert "evals/support-eval.yaml:" in told
