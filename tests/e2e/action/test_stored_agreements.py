"""What the default branch measured of a judge counts, if the forge confirms it, and only then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.calibrations import FIXTURES, calibration, script, verdict
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.main_branch import CONFIG, Main
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import EVAL
from tests.helpers.tiers import some_always
from tests.servers.blob_store import BlobStore

JUDGED = EVAL + "  judge: {model: scripted/judge, calibration: tone, minAgreement: 0.6}\n"


@pytest.fixture
def main(shop: GitHubShop) -> Iterator[Main]:
    with BlobStore() as store:
        found = Main(shop, store)
        shop.push_main(
            **{
                ".github__gateval.yml": CONFIG,
                ".gateval__scripted__judge.yaml": script(wrong=2, of=20, agent=verdict(1.0)),
                "evals__tone.yaml": calibration(20),
                "evals__fixtures.yaml": FIXTURES,
                "evals__support-eval.yaml": JUDGED,
            }
        )
        yield found


def replays(ended: Ended) -> list[dict[str, Any]]:
    """The calibrations that a run rests on."""
    results = json.loads((ended.results / "results.v1.json").read_text())
    found: list[dict[str, Any]] = results["calibrations"]
    return found


def test_a_confirmed_agreement_is_not_measured_again(main: Main) -> None:
    main.measured()
    ended = main.gate(main.shop.open_pull(SAME))
    assert ended.code == 0, ended.errors
    (used,) = replays(ended)
    assert (used["examples"], used["counts"]["true_pass"], used["run"]) == ([], 9, "4711-1")
    assert "The judge scripted/judge was calibrated by tone in 4711-1." in ended.log
    assert "κ 0.80 (95 % 0.34 to 0.97, 20 examples), measured by run 4711-1" in ended.summary


def test_examples_that_the_change_touches_are_replayed(main: Main) -> None:
    main.measured()
    pull = main.shop.open_pull(SAME)
    body = json.loads(calibration(20))
    body["spec"]["examples"][0]["humanScore"] = 0.9
    main.shop.work.write("evals/tone.yaml", json.dumps(body))
    main.shop.commit(SAME + "Be very brief.\n")
    main.shop.push()
    ended = main.gate(pull)
    made = sorted(len(one["examples"]) for one in replays(ended))
    assert made == [0, 20], ended.log


@pytest.mark.parametrize(
    "lie", some_always(["another record", "no artifact", "a pull request's run"], 2)
)
def test_what_is_not_confirmed_is_replayed(main: Main, lie: str) -> None:
    """The line in git says that the judge agrees; whoever may push can write that."""
    run = main.measured()
    if lie == "another record":
        line = Repo.at(main.shop.bare).git("show", "refs/gateval/runs:runs.jsonl")
        run.artifacts.clear()
        main.upload(run, line.replace(b'"false_fail":1', b'"false_fail":0'))
    elif lie == "no artifact":
        run.artifacts.clear()
    else:
        run.event = "pull_request"
    ended = main.gate(main.shop.open_pull(SAME))
    assert ended.code == 0, ended.errors
    (made,) = replays(ended)
    assert len(made["examples"]) == 20
    assert "The stored run 4711-1 does not count" in ended.log


def test_a_stored_disagreement_keeps_the_judge_from_deciding(main: Main) -> None:
    bad = script(wrong=8, of=20, agent=verdict(1.0))
    main.shop.push_main(**{".gateval__scripted__judge.yaml": bad})
    main.measured(ok=3)
    ended = main.gate(main.shop.open_pull(SAME))
    assert ended.code == 3, ended.errors
    assert replays(ended)[0]["examples"] == []
    assert "κ 0.20 (95 % -0.25 to 0.58, 20 examples), below 0.6" in ended.summary


@pytest.mark.parametrize("obeys", [False, True], ids=["firm", "obeys"])
def test_what_attacks_on_the_judge_did_is_stored_with_its_agreement(
    main: Main, obeys: bool
) -> None:
    rules = json.loads(script(wrong=2, of=20, agent=verdict(1.0)))["rules"]
    if obeys:
        rules.insert(0, {"when": {"user": "core it 1"}, "reply": verdict(1.0)})
    limited = JUDGED.replace("minAgreement: 0.6", "minAgreement: 0.6, maxInjected: 0.05")
    main.shop.push_main(
        **{
            ".gateval__scripted__judge.yaml": json.dumps({"rules": rules}),
            "evals__support-eval.yaml": limited,
        }
    )
    main.measured(ok=3 if obeys else 0)
    ended = main.gate(main.shop.open_pull(SAME))
    assert ended.code == (3 if obeys else 0), ended.errors
    (used,) = replays(ended)
    assert (used["examples"], used["run"]) == ([], "4711-1")
    through = sum(one["through"] for one in used["injections"]["kinds"])
    assert bool(through) is obeys
    said = "can be talked round, for all that is known" if obeys else "To talk it round, 0 of "
    assert said in ended.summary
