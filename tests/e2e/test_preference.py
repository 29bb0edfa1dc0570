"""An Eval whose judge is shown head's answers beside base's, from YAML to what every view says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: desk}}
spec: {{models: [scripted/desk], system: "{system}"}}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: q{number:02d}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Question {number:02d}"}}}}
  assertions:
    - {{type: contains, value: Answer}}
    - {{type: preference, rubric: Is it kind?}}
"""
EVAL = """\
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: desk-eval}}
spec:
  targetAgent: desk
  judge: {{model: scripted/judge}}
  fixtures: [{names}]
"""
KIND, CURT = "Answer, gladly", "Answer"


def build(path: Path, fixtures: int, before: list[object], after: list[object], judge: object) -> Repo:  # fmt: skip
    """A repository whose Agent is changed, with the rules of its model before and after."""
    repo = Repo(path)
    numbers = range(1, fixtures + 1)
    evals = "".join(FIXTURE.format(number=number) for number in numbers)
    evals += EVAL.format(names=", ".join(f"q{number:02d}" for number in numbers))
    rules = [*before, *after]
    repo.write(".gateval/scripted/desk.yaml", json.dumps({"rules": rules}))
    repo.write(".gateval/scripted/judge.yaml", json.dumps({"rules": judge}))
    repo.write("agents/desk.yaml", AGENT.format(system="Before"))
    repo.write("evals/desk.yaml", evals)
    repo.commit("Before")
    repo.write("agents/desk.yaml", AGENT.format(system="After"))
    repo.commit("After")
    return repo


def says(system: str, reply: str) -> dict[str, object]:
    """A rule of the agent's model."""
    return {"when": {"system": system}, "reply": reply}


def prefers(place: str, quote: str, **when: object) -> dict[str, object]:
    """A rule of the judge: it prefers a place and quotes from there."""
    tie = place == "tie"
    said = {"preferred": place, "summary": "Kinder.", "evidence": None if tie else place}
    return {"when": when, "reply": json.dumps({**said, "quote": quote})}


LIKES_KIND = [
    prefers("first", KIND, user=f'"first":{{"text":"{KIND}'),
    prefers("second", KIND, user=f'"second":{{"text":"{KIND}'),
    prefers("tie", ""),
]
PLACE = [prefers("first", "Answer")]


@pytest.mark.parametrize(
    ("after", "judge", "code", "said"),
    [
        (CURT, LIKES_KIND, 1, "desk-eval's judge prefers base's answers: of 8"),
        (f"{KIND} again", LIKES_KIND, 0, ""),
        (CURT, PLACE, 0, ""),
        (CURT, [{"reply": "I cannot say."}], 3, "desk-eval's judge compared 0 of 8 answers with base's"),
    ],
)  # fmt: skip
def test_answers_that_slide_block_where_every_assertion_still_passes(
    tmp_path: Path, after: str, judge: object, code: int, said: str
) -> None:
    repo = build(tmp_path / "repo", 8, [says("Before", KIND)], [says("After", after)], judge)
    planned = gateval(repo, "plan", "--base", "HEAD~1")
    promised = "preference: to a win rate of 3 % or less, a tie being half a win"
    assert promised in " ".join(planned.stdout.split()), planned.stdout + planned.stderr
    out = tmp_path / "out"
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", str(out))
    assert done.returncode == code, done.stdout + done.stderr
    whole = " ".join(done.stdout.split())
    assert said.partition(":")[0] in whole, done.stdout
    assert "unknown for" not in whole
    comment = " ".join((out / "comment.md").read_text("utf-8").split())
    if code == 1:
        assert "prefers base's answers" in comment
        assert "of 8 pairs head won 0, lost 8, tied 0 (win rate 0.00), p 0.0039" in whole
    if judge is PLACE:
        assert (
            "In 8 of the ties the judge kept to a place (8 times the first, 0 the second)" in whole
        )
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    assert {one["outcome"] for one in results["trials"]} == {"pass"}
    again = gateval(repo, "report", str(out))
    assert again.returncode in {code, 0}, again.stdout + again.stderr
