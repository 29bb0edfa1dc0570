"""Runs in which nothing got worse, with a noisy jury that scores, prefers and is watched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.helpers.calibrations import answer, calibration, verdict
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.main_branch import Main
from tests.helpers.providers import provider
from tests.servers.blob_store import BlobStore
from tests.servers.model_server import Answer, Call, reply

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: q{number}, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Question {number}"}}}}
  assertions:
    - {{type: judge, rubric: Is it kind?}}
    - {{type: preference, rubric: Is it kind?}}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  judge: {models: [scripted/one, scripted/two, scripted/three], calibration: tone}
  scoring: {passThreshold: 0.5}
"""
FIXTURES, EXAMPLES = 8, 20
JURORS = ("scripted/one", "scripted/two", "scripted/three")


def _preferred(place: str) -> str:
    said = {"preferred": place, "summary": "Kinder.", "evidence": place, "quote": "Reply"}
    return json.dumps(said)


def noisy_judge() -> str:
    """Rules of a juror that is wrong about 8 % of examples and of answers, three of them together
    about 2 %, and prefers answers by chance.
    """
    rules: list[object] = []
    for number in range(1, EXAMPLES + 1):
        human, shown = float(number % 2), answer(number)
        right, wrong = verdict(human, shown), verdict(1 - human, shown)
        when = {"user": shown}
        rules += [{"when": when, "probability": 0.92, "reply": right}, {"when": when, "reply": wrong}]  # fmt: skip
    both = {"user": '"second"'}
    rules += [
        {"when": both, "probability": 0.5, "reply": _preferred("first")},
        {"when": both, "reply": _preferred("second")},
        {"probability": 0.92, "reply": verdict(1.0)},
        {"reply": verdict(0.0, "Reply")},
    ]
    return json.dumps({"rules": rules})


@pytest.fixture
def main(shop: GitHubShop) -> Iterator[Main]:
    replies = [{"probability": 0.5, "reply": "Reply, gladly."}, {"reply": "Reply, of course."}]
    with BlobStore() as store:
        found = Main(shop, store)
        shop.push_main(
            **{
                ".github__gateval.yml": "policy: {}\n",
                ".gateval__scripted__support.yaml": json.dumps({"rules": replies}),
                **{f".gateval__{one.replace('/', '__')}.yaml": noisy_judge() for one in JURORS},
                "evals__tone.yaml": calibration(EXAMPLES, judgeModels=[*JURORS]),
                "evals__fixtures.yaml": "---\n".join(
                    FIXTURE.format(number=number) for number in range(FIXTURES)
                ),
                "evals__support-eval.yaml": EVAL,
            }
        )
        yield found


@pytest.mark.parametrize(
    ("runs", "most"),
    [(2, 1), pytest.param(60, 7, marks=pytest.mark.exhaustive)],
)
def test_an_unchanged_agent_is_blocked_as_seldom_as_promised(
    main: Main, runs: int, most: int
) -> None:
    """At 5 % more than 7 of 60 are blocked in one of a hundred tests."""
    main.measured()
    blocked, pull = 0, main.shop.open_pull(SAME)
    for number in range(runs):
        ended = main.gate(pull)
        blocked += ended.code != 0
        results = json.loads((ended.results / "results.v1.json").read_text())
        (used,) = results["calibrations"]
        assert (used["examples"], used["watch"]["asked"]) == ([], 10), number
        shown = [
            one["preference"]
            for trial in results["trials"]
            for one in trial["assessments"]
            if one.get("preference")
        ]
        assert len(shown) == FIXTURES
        main.shop.commit(f"{SAME}Be very brief, {number}.\n")
        main.shop.push()
    assert blocked <= most


class Loopback:
    """A judge on loopback: how it answers may change from one run to the next."""

    def __init__(self) -> None:
        self.version, self.fingerprint, self.fell = "served-model", "fp_1", False
        self.examples: list[int] = []

    def __call__(self, call: Call) -> Answer:
        told = json.dumps(call.body)
        found = re.search(r"Answer no\. (\d{3})", told)
        score, shown = 1.0, ""
        if found:
            self.examples.append(int(found[1]))
            score, shown = float(int(found[1]) % 2 != self.fell), answer(int(found[1]))
        answered = reply(call, verdict(score, shown))
        body = json.loads(answered.body)
        body |= {"model": self.version, "system_fingerprint": self.fingerprint}
        return replace(answered, body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "code", "watched", "said"),
    [
        ({}, 0, 10, ""),
        (
            {"fell": True},
            3,
            10,
            "judges otherwise than tone measured it: of 10 examples that it was",
        ),
        ({"fingerprint": "fp_2"}, 0, 20, ""),
        ({"version": "served-model-2"}, 0, None, ""),
    ],
    ids=["as it was", "fallen", "new fingerprint", "new version"],
)
def test_a_judge_that_changed_since_its_agreement_was_stored(
    main: Main, change: dict[str, object], code: int, watched: int | None, said: str
) -> None:
    """On one that stays as it was, a run spends ten questions more, and no other call."""
    judged = FIXTURE.replace("    - {{type: preference, rubric: Is it kind?}}\n", "")
    main.shop.push_main(
        **{
            "evals__tone.yaml": calibration(EXAMPLES, judgeModels=["openai/judge"]),
            "evals__fixtures.yaml": "---\n".join(judged.format(number=n) for n in range(4)),
            "evals__support-eval.yaml": EVAL.replace(
                "models: [scripted/one, scripted/two, scripted/three]", "model: openai/judge"
            ),
        }
    )
    judge = Loopback()
    with provider(judge) as (server, environ):
        main.measured(env=environ)
        for name, value in change.items():
            setattr(judge, name, value)
        judge.examples, before = [], len(server.calls)
        ended = main.gate(main.shop.open_pull(SAME), **environ)
        calls = len(server.calls) - before
    assert ended.code == code, ended.log
    results = json.loads((ended.results / "results.v1.json").read_text())
    (used,) = results["calibrations"]
    trials = len(results["trials"])
    if watched is None:
        assert len(used["examples"]) == EXAMPLES
        assert len(judge.examples) >= EXAMPLES
        return
    assert (used["examples"], used["watch"]["asked"]) == ([], watched)
    assert used["watch"]["fallen"] is bool(said)
    if not said:
        assert (len(judge.examples), calls) == (watched, trials + watched)
        return
    counted = [one for trial in results["trials"] for one in trial["assessments"]]
    assert {(one["status"], one["cause"]) for one in counted} == {("error", "uncalibrated")}
    for shown in (ended.summary, (ended.results / "report.html").read_text()):
        assert said in shown
        assert "Answer no. 0" in shown
