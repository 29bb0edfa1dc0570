"""A check of a part: it never passes for the whole, and counts what it leaves out."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries, rules_here
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.selection import ALL, Pick
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results, RunInfo, assemble, part_of, results_of
from gateval.domain.trials.trial import AssessmentStatus, Outcome, Trial
from gateval.domain.verdicts import GateVerdict
from gateval.errors import StageFileError, UsageError
from gateval.pipeline.plan import plan_a_change
from gateval.pipeline.read import find_revisions
from gateval.render.comment import render_comment
from gateval.render.junit import render_junit
from gateval.render.report.headline import headline
from gateval.render.report.reproduce import reproduce_command
from gateval.render.stage import load_results, results_pieces
from gateval.render.view import ReportView
from tests.helpers.assessments import make_assessment
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    repo.write("evals/second.yaml", EVAL.replace("support-eval", "second-eval"))
    repo.commit()
    repo.branch("more")
    repo.write("agents/prompts/support.md", "Different.\n")
    repo.commit()
    return repo


def planned(shop: Repo, pick: Pick, base: str = "change") -> Plan:
    repository = open_repository(shop.path, shop.env)
    revisions = find_revisions(repository, base=base, head="HEAD")
    return plan_a_change(repository, registries(), revisions, rules_here(shop.env), pick=pick)


def ran(plan: Plan, outcome: Outcome = Outcome.PASS) -> Report:
    """Return the report of a run in which every trial of head ended so, and every one of base
    passed.
    """
    trials: list[Trial] = []
    for key in chain.from_iterable(iter(lambda: next_trials(plan, trials), ())):
        passes = outcome is Outcome.PASS or key.side == "base"
        status = AssessmentStatus.PASSED if passes else AssessmentStatus.FAILED
        one = make_assessment(
            type="contains", status=status, score=float(passes), reason="So it is."
        )
        ended = Outcome.PASS if passes else outcome
        trials.append(Trial(key=key, outcome=ended, assessments=(one,), score=float(passes)))
    return make_report(results_of(plan, trials, RunInfo()))


PARTS = {
    "a fixture": Pick(fixtures=("greets",)),
    "an Eval": Pick(evals=("second-eval",)),
    "what failed": Pick(failed=(("support-eval", "greets"),)),
    "both": Pick(evals=("second-eval",), fixtures=("greets",)),
}


@pytest.mark.parametrize("pick", PARTS.values(), ids=PARTS)
def test_a_part_that_is_all_green_is_no_pass(shop: Repo, pick: Pick) -> None:
    plan = planned(shop, pick)
    kept, total = plan.coverage
    report = ran(plan)
    assert total == 4
    assert kept < total
    assert (report.decision.verdict, report.decision.exit_code) == (GateVerdict.INCOMPLETE, 3)
    assert f"a part of the gate: {kept} of 4 fixtures" in headline(report)
    assert "left out, though the change calls for them" in plan.warnings[0]


@pytest.mark.parametrize("pick", PARTS.values(), ids=PARTS)
def test_a_part_that_is_red_fails(shop: Repo, pick: Pick) -> None:
    report = ran(planned(shop, pick), Outcome.FAIL)
    assert (report.decision.verdict, report.decision.exit_code) == (GateVerdict.FAIL, 1)


def test_stored_results_of_a_part_say_the_same_again(shop: Repo) -> None:
    report = ran(planned(shop, Pick(fixtures=("greets",))))
    again = make_report(load_results("".join(results_pieces(report)).encode()))
    assert again == report


def test_a_part_keeps_the_rules_of_the_whole(shop: Repo) -> None:
    whole, part = planned(shop, ALL), planned(shop, Pick(fixtures=("greets",)))
    assert Plan.model_validate(part.model_dump()) == part
    for one in part.evals:
        assert one.fixture_share == whole.eval(one.name).fixture_share > 0
        assert [fixture.name for fixture in one.fixtures] == ["greets"]
        assert one.compared == ("greets",)
        assert [gone.name for gone in one.left_out] == ["refund-asks-why"]


def test_what_is_left_out_stays_in_the_score(shop: Repo) -> None:
    report = ran(planned(shop, Pick(evals=("support-eval",), fixtures=("greets",))))
    score = report.comparison.evals[0].head
    assert score.ends == pytest.approx((1 / 3, 1))  # high weighs 2, medium 1
    assert not score.measured
    assert "1/2 (1 left out)" in render_comment(ReportView(report))
    junit = render_junit(ReportView(report))
    assert 'skipped="2"' in junit
    assert "left out of this run" in junit


def test_nothing_left_out_is_the_whole_gate(shop: Repo) -> None:
    pick = Pick(agents=("support",), fixtures=("greets", "refund-asks-why"))
    assert planned(shop, pick) == planned(shop, ALL)
    assert ran(planned(shop, pick)).decision.verdict is GateVerdict.PASS


def test_a_part_is_reproduced_as_a_part(shop: Repo) -> None:
    part = planned(shop, Pick(evals=("second-eval",), fixtures=("greets",)))
    assert reproduce_command(part).endswith("--eval second-eval --fixture greets")
    assert "--eval" not in reproduce_command(planned(shop, ALL))


def test_what_no_longer_runs_is_said(shop: Repo) -> None:
    pick = Pick(failed=(("support-eval", "greets"), ("old-eval", "gone")))
    plan = planned(shop, pick)
    assert any("does not call for it now: old-eval/gone" in one for one in plan.warnings)


@pytest.mark.parametrize(
    ("pick", "sentence"),
    [
        (Pick(agents=("suport",)), 'no Agent "suport" on this revision. Did you mean'),
        (Pick(evals=("support",)), 'no Eval "support" on this revision'),
        (Pick(fixtures=("greet",)), 'no fixture "greet" on this revision. Did you mean'),
        (Pick(failed=(("old-eval", "gone"),)), "calls for nothing of what was asked for"),
    ],
)
def test_a_pick_of_nothing_is_refused(shop: Repo, pick: Pick, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        planned(shop, pick)


def test_where_nothing_is_to_be_evaluated_nothing_is_left_out(shop: Repo) -> None:
    plan = planned(shop, Pick(fixtures=("greets",)), base="HEAD")
    assert plan.nothing
    assert make_report(Results(plan=plan)).decision.verdict is GateVerdict.PASS


def test_a_part_says_why_it_ended_early(shop: Repo) -> None:
    whole = ran(planned(shop, ALL)).results
    cut = {"ended": "Time is over.", "unanswered": "Nobody answered.", "over_budget": "No money."}
    part = part_of(whole.model_copy(update={"info": RunInfo.model_validate(cut)}))
    assert part.model_dump(include=set(cut)) == cut


def test_results_of_a_part_cannot_be_published_as_the_whole(shop: Repo) -> None:
    whole, info = planned(shop, ALL), RunInfo()
    half = ran(planned(shop, Pick(fixtures=("greets",)))).results
    with pytest.raises(StageFileError, match="rest on an Eval that is not so on this commit"):
        assemble(whole, [part_of(half)], info)
    one = ran(planned(shop, Pick(evals=("second-eval",)))).results
    assert (
        make_report(assemble(whole, [part_of(one)], info)).decision.verdict
        is GateVerdict.INCOMPLETE
    )
