"""Eval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateval.app.readers import registries
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval, ScoringSpec
from gateval.domain.manifests.fixture import Severity
from gateval.domain.plan.sealing import SEALED, is_sealed_eval, shut_plan
from gateval.domain.results.averages import group_trials
from gateval.domain.results.scoring import EvalScore, Meets, score_eval
from gateval.domain.trials.trial import Side
from gateval.formats.native.manifests import read_manifests
from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.documents import document
from tests.helpers.manifests import catalogue_of, parse
from tests.helpers.reports import edit, make_results
from tests.helpers.shop import EVAL, build_shop


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    names = ("support-bot", "support-bot-eval", "support-bot-judge", "refund-must-clarify")
    return catalogue_of([document(name) for name in (*names, "input-types")])


def evaluation(catalogue: Catalogue, name: str = "support-bot-eval") -> Eval:
    found = catalogue.eval(name)
    assert found is not None
    return found


def problems(text: str) -> list[str]:
    parsed = read_manifests("evals/e.yaml", text.encode(), registries())
    return [str(one) for one in parsed.problems]


def head(rows: str, **options: Any) -> EvalScore:
    results = make_results(rows, **options)
    (planned,) = results.plan.evals
    return score_eval(planned, Side.HEAD, group_trials(results.trials))


@states(
    "The runner config points at an agent, picks fixtures, configures judge and threshold, and may "
    "have a schedule"
)
@states("`targetAgent`, `fixtureSelector.matchLabels`, `fixtures`, `judge`, `scoring`, `execution`")
@states("`execution.parallel`, `execution.timeoutSeconds`")
def test_the_documents_eval(catalogue: Catalogue) -> None:
    found = evaluation(catalogue)
    assert found.target_agent == "support-bot"
    assert found.judge.model == "anthropic/claude-sonnet-4-6"
    assert found.scoring.pass_threshold == 0.85
    assert (found.execution.parallel, found.execution.timeout_seconds) == (5, 300)
    assert found.schedule == "0 9 * * *"


@states("`targetAgent` is required")
def test_an_agent_is_required() -> None:
    (told,) = problems(EVAL.replace("  targetAgent: support\n", ""))
    assert 'The required key "targetAgent" is missing' in told


@states("The Eval runs the union of the label selector and the explicit list")
@states("The selector takes in every current and future fixture with matching labels")
def test_selection(catalogue: Catalogue) -> None:
    labelled = [one.name for one in select_fixtures(evaluation(catalogue), catalogue)]
    both = [one.name for one in select_fixtures(evaluation(catalogue, "input-types"), catalogue)]
    assert "refund-must-clarify" in labelled
    assert set(labelled) < set(both)


@states("A fixture passes when every assertion passes; its score is the weighted-pass ratio")
def test_a_fixtures_own_score() -> None:
    results = edit(make_results("a-eval f head:fail"), "a-eval/f #1 on head", score=0.75)
    (planned,) = results.plan.evals
    (found,) = score_eval(planned, Side.HEAD, group_trials(results.trials)).fixtures
    assert (found.passed, found.share) == (0, 0.75)


@states("The overall score is the severity-weighted pass rate across fixtures")
@states(
    "`lastResult` is Pass when overall ≥ `passThreshold`, else Fail",
    differs="as long as something could not be measured, it is neither: the score is an interval, "
    "and the gate is inconclusive; a threshold of 1 asks for every fixture",
)
def test_the_overall_score() -> None:
    rows = "a-eval f critical head:fail\na-eval g medium head:pass\na-eval h low head:pass"
    score = head(rows, threshold=1.5 / 5.5)
    assert score.ends == pytest.approx((1.5 / 5.5, 1.5 / 5.5))
    assert score.meets is Meets.YES
    assert head(rows, threshold=0.28).meets is Meets.NO
    assert head(f"{rows}\na-eval i high head:judge", threshold=0.3).meets is Meets.UNKNOWN


@states("`scoring.severityWeights` replaces default weights, e.g. `critical: 8.0`")
def test_own_weights(catalogue: Catalogue) -> None:
    scoring = evaluation(catalogue).scoring
    assert [scoring.weight(one) for one in Severity] == [0.5, 1.0, 2.0, 8.0]
    assert ScoringSpec().weight(Severity.CRITICAL) == 4.0


@states("`passThreshold: 1.0`")
@states(
    "Without `passThreshold`",
    differs="where there is a baseline, nothing may regress and new fixtures have to pass; else the "
    "threshold is 1",
)
def test_thresholds() -> None:
    assert problems(EVAL + "  scoring: {passThreshold: 1.0}\n") == []
    alone, compared = (
        make_results(rows, threshold=None).plan.evals[0].threshold
        for rows in ("a-eval f head:pass", "a-eval f base:pass head:pass")
    )
    assert (alone, compared) == (1.0, None)


@states(
    "`repsPerFixture`, 1 by default, more for variance control on noisy judges; each repetition "
    "multiplies the cost",
    differs="beside that, what looks worse than on base runs again by itself, and a judge is asked "
    "again near its limit, so 1 is enough for most; `policy.budget` bounds the cost",
)
def test_repetitions() -> None:
    plan = make_results("a-eval f head:pass,pass,pass").plan
    assert plan.trial_count == 3
    assert make_results("a-eval f base:pass head:pass").plan.trial_count == 2


@states(
    "`sealed`",
    differs="what its fixtures ask, and the evidence, is shown to holders of the key alone; "
    "`gateval seal` encrypts the manifests too, which else everybody reads in the repository",
)
def test_sealed() -> None:
    (sealed,) = catalogue_of([parse(EVAL + "  sealed: true\n")]).evals
    results = make_results("a-eval f head:fail")
    (planned,) = results.plan.evals
    planned = planned.model_copy(update={"sealed": is_sealed_eval(sealed, ())})
    whole = results.plan.model_copy(update={"evals": (planned,)})
    (shut,) = shut_plan(whole).evals
    assert [one.type for one in shut.fixtures[0].assertions] == [SEALED]


@states(
    "An Eval is triggered by `Run now` or a POST to `/evals/NAME/run`",
    differs="`gateval run NAME`, a pull request, a push or a schedule; there is no server",
)
@states(
    "The web UI offers the same operations, a form for new Evals, and a drop-down of judge models",
    differs="manifests are files in git, which `gateval init` begins and `validate` reads; there is "
    "no web UI",
)
@states("`axis` groups assertions in the report")
def test_running_by_hand(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    fixtures = (repo.path / "evals/fixtures.yaml").read_text()
    repo.write(
        "evals/fixtures.yaml", fixtures.replace("value: Hello}", "value: Hello, axis: tone}")
    )
    repo.commit("Name an axis")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 0, done.stderr
    assert "valid." in gateval(repo, "validate").stdout
    assert "tone: 1 of 1 assertions passed on head" in done.stdout
