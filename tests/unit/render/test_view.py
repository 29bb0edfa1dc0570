"""One fixture of a view, by its name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gateval.domain.manifests.evaluation import MODELS, ScoringSpec
from gateval.render.view import ReportView
from tests.helpers.reports import make

ROWS = "a-eval f base:pass head:fail\nb-eval f base:pass head:pass\nb-eval g base:pass head:pass"


def test_a_name_that_two_evals_have_finds_both_and_with_its_eval_one() -> None:
    view = ReportView(make(ROWS))
    assert [one.facts.planned.name for one in view.fixture("f")] == ["a-eval", "b-eval"]
    assert [one.facts.planned.name for one in view.fixture("b-eval/f")] == ["b-eval"]
    assert view.fixture("c-eval/f") == view.fixture("h") == ()


def test_what_is_wrong_with_a_fixture_is_its_own() -> None:
    failing, passing = ReportView(make(ROWS)).fixture("f")
    assert {(one.eval, one.fixture) for one in failing.findings} == {("a-eval", "f")}
    assert passing.findings == ()


@pytest.mark.parametrize("name", MODELS)
def test_no_file_gives_a_known_scoring_model_another_meaning(name: str) -> None:
    whole = {"name": name, "usual_threshold": 0.123}
    with pytest.raises(ValidationError, match="the name of another scoring model"):
        ScoringSpec.model_validate({"model": whole})
