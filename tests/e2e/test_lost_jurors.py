"""Jurors that get lost: what was said and paid is kept, and an outage decides for neither side."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.calibrations import verdict
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, failure, in_turn, reply

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [openai/agent]
  system: Be polite.
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {of: desk}}
  judge: JUDGE
  execution: {parallel: 1, repsPerFixture: 2}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {of: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - ASSERTION
"""
JURY = "{models: [openai/a, openai/b, anthropic/c]}"
JUDGED = "{type: judge, rubric: Is it polite?}"
SAID = "Good day to you!"
Says = Callable[[Call], Answer]


def says(score: float) -> Says:
    return lambda call: reply(call, verdict(score, SAID))


def down(call: Call) -> Answer:
    return failure(call, 500, "The juror is ill.")


def mute(call: Call) -> Answer:
    return reply(call, "I have no verdict.")


def desk(path: Path, *, judge: str = JURY, assertion: str = JUDGED) -> Repo:
    """A desk whose change differs in a word that nothing is said differently for."""
    repo = Repo(path / "desk")
    repo.write("agent.yaml", AGENT)
    repo.write("eval.yaml", EVAL.replace("JUDGE", judge).replace("ASSERTION", assertion))
    repo.commit("Begin")
    repo.branch("change")
    repo.write("agent.yaml", AGENT.replace("polite", "very polite"))
    repo.commit("Change")
    return repo


class Done:
    """What came of a run."""

    def __init__(self, code: int, said: str, out: Path, asked: Counter[str]) -> None:
        self.code, self.asked = code, asked
        self.said = " ".join(said.split())
        self.comment = " ".join((out / "comment.md").read_text().split())
        self.results: dict[str, Any] = json.loads((out / "results.v1.json").read_text())

    @property
    def outcomes(self) -> dict[tuple[str, int], str]:
        """The outcome of each trial, by side and repetition."""
        keys = ((one["key"], one["outcome"]) for one in self.results["trials"])
        return {(key["side"], key["repetition"]): outcome for key, outcome in keys}


def run(repo: Repo, jurors: Mapping[str, Says], *words: str, out: str = "out") -> Done:
    def respond(call: Call) -> Answer:
        name = call.body["model"]
        return reply(call, SAID) if name == "agent" else jurors[name](call)

    results = repo.path.parent / out
    with provider(respond) as (server, environ):
        done = gateval(
            repo, *(words or ("check", "--base", "main")), "--results", str(results),
            **environ, GATEVAL_OUTAGE_SECONDS="1",
        )  # fmt: skip
        asked = Counter(call.body["model"] for call in server.calls)
    return Done(done.returncode, done.stdout + done.stderr, results, asked)


def test_of_a_jury_only_who_was_lost_is_asked_again(tmp_path: Path) -> None:
    jurors = {"a": says(0.9), "b": says(0.8), "c": in_turn(*[mute] * 4, says(0.7))}
    done = run(desk(tmp_path), jurors, "run", "desk-eval")
    assert (done.code, done.asked) == (0, {"agent": 2, "a": 2, "b": 2, "c": 4 + 2}), done.said
    first = done.results["trials"][0]
    assert first["judge_usage"]["input_tokens"] == 10 * (1 + 1 + 5), "each answer is paid once"
    assert [one["score"] for one in first["assessments"][0]["verdict"]["jurors"]] == [0.9, 0.8, 0.7]


def test_what_stands_inside_another_assertion_is_kept_as_well(tmp_path: Path) -> None:
    inside = f"{{type: all, assertions: [{JUDGED}, {{type: judge, rubric: Is it short?}}]}}"
    short = in_turn(*[mute] * 4, says(0.7))

    def c(call: Call) -> Answer:
        return short(call) if b"short" in call.raw else says(0.7)(call)

    repo = desk(tmp_path, assertion=inside)
    done = run(repo, {"a": says(0.9), "b": says(0.8), "c": c}, "run", "desk-eval")
    assert (done.code, done.asked) == (0, {"agent": 2, "a": 4, "b": 4, "c": 4 + 4}), done.said


def test_a_judge_that_is_lost_at_its_second_question_keeps_its_first_answer(tmp_path: Path) -> None:
    repo = desk(tmp_path, judge="{model: openai/a}")
    turns = in_turn(says(0.55), *[mute] * 2, says(0.45), says(0.56), says(0.9))
    done = run(repo, {"a": turns}, "run", "desk-eval")
    assert (done.code, done.asked["a"]) == (0, 6), done.said
    first, second = (one["assessments"][0] for one in done.results["trials"])
    assert (first["verdict"]["score"], first["asked"]) == (0.55, 3), "two of three passed it"
    assert "asked" not in second, "once"
    assert done.results["trials"][0]["judge_usage"]["input_tokens"] == 10 * 5


def test_a_run_that_goes_on_asks_who_was_lost_and_nobody_else(tmp_path: Path) -> None:
    repo = desk(tmp_path)
    jurors = {"a": says(0.9), "b": says(0.8), "c": mute}
    before = run(repo, jurors, "run", "desk-eval")
    assert (before.code, before.asked["c"]) == (3, 2 * 4 * 2), before.said
    more = ("run", "desk-eval", "--from", str(tmp_path / "out"))
    after = run(repo, {**jurors, "c": says(0.7)}, *more, out="more")
    assert (after.code, after.asked) == (0, {"c": 2}), after.said


def test_who_is_out_of_reach_is_left_out_on_both_sides_and_everybody_is_told(
    tmp_path: Path,
) -> None:
    """It is down from the fourth trial on, so base and head have trials with and without it."""
    c = in_turn(*[says(0.6)] * 3, down)
    done = run(desk(tmp_path), {"a": says(0.9), "b": says(0.8), "c": c})
    assert (done.code, set(done.outcomes.values())) == (0, {"pass"}), done.said
    assert (done.asked["a"], done.asked["b"], done.asked["agent"]) == (4, 4, 4)
    told = "The provider of anthropic/c was out of reach, so desk-eval has fixtures that the rest"
    assert told in done.said
    assert told in done.comment
    stood = [one["assessments"][0] for one in done.results["trials"]]
    assert {one["score"] for one in stood} == {0.8}, "not .8 here and .9 there"


@pytest.mark.parametrize("out", ["a", "b", "c"])
@pytest.mark.parametrize("rule", ["median", "majority", "unanimous"])
def test_no_verdict_hangs_on_who_was_out_of_reach(tmp_path: Path, rule: str, out: str) -> None:
    """Who is missing may not turn what all of them say: two pass, and one fails."""
    jurors = {"a": says(0.9), "b": says(0.8), "c": says(0.2)}
    repo = desk(tmp_path, judge=JURY.replace("]", f"], split: 1, rule: {rule}"))
    whole = "fail" if rule == "unanimous" else "pass"
    turns = (rule == "unanimous") is (out == "c")
    done = run(repo, {**jurors, out: in_turn(*[jurors[out]] * 3, down)})
    assert set(done.outcomes.values()) == {"error" if turns else whole}, done.said
    assert done.code == (3 if turns else 0), "what fails on both sides is no regression"
    lost = f"{'anthropic' if out == 'c' else 'openai'}/{out}"
    for told in (done.said, done.comment):
        assert f"The provider of {lost} was out of reach" in told
        assert ("its vote would decide, so there is no verdict" in told) is turns


@pytest.mark.parametrize(
    ("jurors", "judge"),
    [
        ({"a": says(0.9), "b": down, "c": down}, JURY),
        ({"a": says(0.9), "b": says(0.8), "c": mute}, JURY),  # no outage
        ({"a": says(0.5), "b": down}, "{models: [openai/a, openai/b]}"),
    ],
)
def test_without_a_jury_nothing_passes(tmp_path: Path, jurors: dict[str, Says], judge: str) -> None:
    done = run(desk(tmp_path, judge=judge), jurors)
    assert (done.code, set(done.outcomes.values())) == (3, {"error"}), done.said
    for told in (done.said, done.comment):
        assert "the judge gave no usable verdict" in told
        assert "gives no verdict that counts, so there is none" in told
