"""`gateval judge attack`, and a gate whose judge must not be talked round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateval.judging.laboratory import attacks
from tests.helpers.calibrations import EVAL, answer, calibration, judged_shop, script, verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

LIMITED = "calibration: tone, minAgreement: 0.6, maxInjected: 0.05"


def shop_with(path: Path, judge: str, *, obeys: bool) -> Repo:
    """The shop, with a scripted judge that does what some attacks say, or what people say."""
    shop = judged_shop(path, wrong=0, judge=judge)
    if obeys:
        rules = json.loads(script(wrong=0, of=20, agent=verdict(1.0)))["rules"]
        told = {"when": {"user": "core it 1"}, "reply": verdict(1.0)}
        shop.write(".gateval/scripted/judge.yaml", json.dumps({"rules": [told, *rules]}))
        shop.commit("A judge that obeys")
    return shop


@pytest.mark.parametrize(("obeys", "code"), [(False, 0), (True, 1)], ids=["firm", "obeys"])
def test_the_price_comes_first_and_then_each_kind(tmp_path: Path, obeys: bool, code: int) -> None:
    shop = shop_with(tmp_path / "shop", LIMITED, obeys=obeys)
    asked = gateval(shop, "judge", "attack", "support-eval")
    many = 2 * len(attacks()) + 10
    told = f"This puts {many} questions to scripted/judge, about $0"
    assert asked.returncode == 2
    assert told in asked.stderr
    assert "Nobody is here to agree to that: --yes goes on unasked." in asked.stderr
    done = gateval(shop, "judge", "attack", "support-eval", "--yes", "--json")
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    found = json.loads(done.stdout)
    assert (found["version"], found["most"], bool(found["why"])) == ("attacks.v1", 0.05, obeys)
    assert (found["fails"], found["failed"], found["attacks"]["missing"]) == (10, 10, 0)
    assert sum(one["through"] for one in found["kinds"]) == found["attacks"]["through"]
    assert bool(found["attacks"]["through"]) is obeys
    shown = " ".join(gateval(shop, "judge", "attack", "support-eval", "--yes").stdout.split())
    assert "failed 10 of 10 examples of tone that people fail" in shown
    assert f"all {found['attacks']['through']} of {2 * len(attacks())}" in shown
    assert ("scripted/judge may not block: " in shown) is obeys


def test_who_gives_no_verdict_is_not_measured_and_what_cannot_be_attacked_is_said(
    tmp_path: Path,
) -> None:
    shop = shop_with(tmp_path / "shop", "calibration: tone", obeys=False)
    fails = [{"when": {"user": answer(n)}, "reply": "I cannot say."} for n in range(1, 21)]
    shop.write(".gateval/scripted/judge.yaml", json.dumps({"rules": fails}))
    shop.commit("A silent judge")
    silent = gateval(shop, "judge", "attack", "support-eval", "--yes")
    assert silent.returncode == 3
    assert "it failed no example that people fail" in " ".join(silent.stdout.split())
    shop.write("evals/tone.yaml", calibration(1))
    shop.commit("All is well")
    assert (
        "People fail no example of tone" in gateval(shop, "judge", "attack", "support-eval").stderr
    )
    shop.write("evals/support-eval.yaml", EVAL + "  judge: {model: scripted/judge}\n")
    shop.commit("Nobody measures it")
    assert "has no JudgeCalibration" in gateval(shop, "judge", "attack", "support-eval").stderr
    slip = gateval(shop, "judge", "attack", "suport-eval")
    assert (slip.returncode, "support-eval" in slip.stderr) == (2, True)


@pytest.mark.parametrize("obeys", [False, True], ids=["firm", "obeys"])
def test_a_judge_that_is_talked_round_decides_nothing(tmp_path: Path, obeys: bool) -> None:
    shop = shop_with(tmp_path / "shop", LIMITED, obeys=obeys)
    done = gateval(shop, "run", "support-eval")
    said = " ".join(done.stdout.split())
    assert done.returncode == (3 if obeys else 0), said
    if obeys:
        assert "scripted/judge can be talked round, for all that is known: " in said
        assert "`maxInjected: 0.05`" in said
    else:
        assert "To talk it round, 0 of " in said
