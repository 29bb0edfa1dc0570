"""Scores of cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.evaluation import ScoringModel, ScoringSpec
from gateval.domain.results.results import Results
from gateval.domain.results.trial_verdict import trial_verdict
from tests.compat.agentv import second
from tests.compat.agentv.evaluating import looked
from tests.compat.rows import states
from tests.helpers.agentv import ECHO, agentv, problems, read
from tests.helpers.command import gateval
from tests.helpers.tiers import examples
from tests.helpers.trials import assessed, fixture, said

YES, NO = "type: contains, value: Done", "type: contains, value: Never"


def case(*evaluators: str) -> str:
    listed = ", ".join(f"{{name: e{at}, {one}}}" for at, one in enumerate(evaluators))
    return f"    evaluators: [{listed}]\n"


@pytest.mark.parametrize(
    ("evaluators", "score", "passes"),
    [
        ((YES, NO), 0.5, False),
        ((f"{YES}, weight: 4", NO), 0.8, True),
        ((f"{YES}, weight: 3.9", NO), 3.9 / 4.9, False),
        ((YES, f"{NO}, weight: 0"), 1.0, True),
        ((f"{YES}, weight: 0", f"{YES}, weight: 0"), 0.0, False),
    ],
)
@states(
    "The score of a case is the weighted mean of its evaluators' scores; weights are 1 if absent"
)
@states("Where all weights are 0 the score is 0")
@states("A case passes from 0.8 on")
def test_the_weighted_mean(
    evaluators: tuple[str, ...], score: float, *, passes: bool, tmp_path: Path
) -> None:
    found = looked(tmp_path, case(*evaluators), said("Done.")).verdict
    assert found.score == pytest.approx(score, abs=1e-12)
    assert (found.outcome.value == "pass") is passes


@pytest.mark.parametrize("weight", ["-1", "true", "heavy"])
@states(
    "A weight that is no number from 0 on makes the case invalid", refused="A weight is a number"
)
def test_weights_that_are_none(weight: str, tmp_path: Path, refusal: str) -> None:
    inner = f"{{name: e, {YES}, weight: {weight}}}"
    suite = f"evalcases: [{{id: a, expected_outcome: x, input: x, evaluators: [{inner}]}}]\n"
    found = problems(agentv(tmp_path / "repo", {"evals/s.yaml": suite}))
    assert any(refusal in one for one in found)


@pytest.mark.parametrize(
    ("required", "score"), [("required: true", 0.0), ("required: 0.5", 0.75), ("weight: 1", 0.75)]
)
@states("Later: an evaluator that is `required` and fails makes the score of the case 0")
@states("Later: `required` may be the score that is needed, as `min_score`")
def test_a_required_evaluator(required: str, score: float, tmp_path: Path) -> None:
    half = "type: composite, aggregator: {type: weighted_average}, evaluators: "
    half += f"[{{name: a, {YES}}}, {{name: b, {NO}}}], {required}"
    found = looked(tmp_path, case(YES, half), said("Done.")).verdict
    assert found.score == pytest.approx(score)


@states(
    "An evaluator that breaks scores 0 and the case is graded on",
    differs="the case is an error, unless it could not pass in any case",
)
def test_an_evaluator_that_breaks(tmp_path: Path) -> None:
    broken = "type: token_usage, max_total: 1"
    found = looked(tmp_path / "a", case(f"{YES}, weight: 9", broken), said("Done.")).verdict
    assert (found.outcome.value, found.score) == ("error", None)
    lost = looked(tmp_path / "b", case(f"{NO}, weight: 9", broken), said("Done.")).verdict
    assert (lost.outcome.value, lost.score) == ("fail", None)


@states(
    "`pass` from 0.8, `borderline` from 0.6, else `fail`",
    differs="later versions have no `borderline` any more, and neither has the gate",
)
def test_borderline_is_no_pass(tmp_path: Path) -> None:
    found = looked(tmp_path, case(f"{YES}, weight: 7", f"{NO}, weight: 3"), said("Done.")).verdict
    assert (found.outcome.value, found.score) == ("fail", 0.7)


@states("Later: `execution.threshold` is the score from which cases pass")
def test_the_threshold_of_a_suite(tmp_path: Path) -> None:
    suite = "execution: {threshold: 0.5}\ntests: [{id: a, criteria: x, input: x}]\n"
    (evaluation,) = read(agentv(tmp_path / "repo", {"evals/s.yaml": suite})).catalogue.evals
    assert (evaluation.scoring.model, evaluation.scoring.pass_score) == (ScoringModel.WEIGHTED, 0.5)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(0.0), st.floats(0.001, 100)),
            st.lists(st.booleans(), min_size=1, max_size=5),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)
@states("Scores of cases are those of a second implementation, to 1e-12")
def test_cases_exactly(evaluators: list[tuple[float, list[bool], bool]]) -> None:
    written: list[dict[str, Any]] = [
        {
            "type": "composite", "weight": weight, "required": required,
            "assertions": [{"type": "contains", "value": "Done" if hit else "Never"} for hit in hits],
        }
        for weight, hits, required in evaluators
    ]  # fmt: skip
    asked = fixture(*written)
    found = [assessed(one, said("Done.")) for one in written]
    verdict = trial_verdict(ScoringSpec(model=ScoringModel.WEIGHTED), asked, found)
    scores = [second.mean([(1, float(hit)) for hit in hits]) for _, hits, _ in evaluators]
    score, passes = second.case(
        [(one[0], score, one[2]) for one, score in zip(evaluators, scores, strict=True)]
    )
    assert verdict.score == pytest.approx(float(score), abs=1e-12, rel=0)
    if abs(float(score) - 0.8) > 1e-8:
        assert (verdict.outcome.value == "pass") is passes


RUN = """\
evalcases:
  - id: works
    expected_outcome: Repeats it
    input: Hello
    execution:
      target: echo
      evaluators:
        - {name: repeats, type: contains, value: Hello, weight: 4}
        - {name: judged, type: code_judge, script: [python3, judges/half.py]}
"""
HALF = "import json, sys; json.load(sys.stdin); print(json.dumps({'score': 0.5}))"


@states("A whole run: the results name the model, each evaluator's score and the case's")
def test_a_run(tmp_path: Path) -> None:
    files = {
        "evals/s.yaml": RUN,
        "evals/judges/half.py": HALF,
        "evals/echo.py": ECHO,
    }
    repo = agentv(tmp_path / "repo", files)
    done = gateval(repo, "run", "evals.s.echo", "--results", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "out/results.v1.json").read_text("utf-8")
    results = Results.model_validate_json(text)
    (trial,) = results.trials
    assert [one.score for one in trial.assessments] == [1.0, 0.5], done.stderr
    assert (trial.outcome.value, trial.score) == ("pass", 0.9)
    assert json.loads(text)["plan"]["evals"][0]["scoring"]["model"] == "weighted"
