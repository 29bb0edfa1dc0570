"""Results from elsewhere against a plan made here: every forgery is refused or counts for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.manifests.gate_config import InconclusivePolicy, Policy, RegressionPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results, ResultsPart, RunInfo, assemble, part_of
from gateval.domain.trials.trial import AssessmentStatus, Outcome, Side, Trial
from gateval.errors import StageFileError
from tests.helpers.assessments import make_assessment
from tests.helpers.first_trials import first_trials
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop, plan_of

INFO = RunInfo(run="here")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    repo = build_shop(tmp_path_factory.mktemp("assembly") / "shop")
    repo.write("evals/second.yaml", EVAL.replace("support-eval", "second-eval"))
    repo.write("agents/prompts/support.md", "Different.\n")
    repo.commit()
    return plan_of(repo, base="main")


def passing(plan: Plan) -> Results:
    """What a forger would like: every trial passed."""
    trials = tuple(
        Trial(
            key=key,
            outcome=Outcome.PASS,
            score=1,
            assessments=tuple(
                make_assessment(
                    index=index,
                    type=assertion.type,
                    status=AssessmentStatus.PASSED,
                    score=1,
                    reason="Fine.",
                )
                for index, assertion in enumerate(
                    plan.eval(key.eval).fixture(key.fixture).assertions
                )
            ),
        )
        for key in first_trials(plan)
    )
    return Results(plan=plan, trials=trials, info=RunInfo(run="elsewhere", seconds=1e6))


def only(results: Results, name: str) -> ResultsPart:
    """The part of one Eval."""
    plan = results.plan
    part = plan.model_copy(update={"evals": (plan.eval(name),)})
    return part_of(
        Results(plan=part, trials=tuple(t for t in results.trials if t.key.eval == name))
    )


def test_parts_make_a_whole(plan: Plan) -> None:
    whole = passing(plan)
    parts = [only(whole, "second-eval"), only(whole, "support-eval")]
    assert assemble(plan, parts, INFO) == whole.model_copy(update={"info": INFO})


def test_a_missing_part_makes_it_incomplete(plan: Plan) -> None:
    part = assemble(plan, [only(passing(plan), "second-eval")], INFO)
    assert make_report(part).decision.verdict == "incomplete"


def test_no_part_at_all_is_incomplete(plan: Plan) -> None:
    assert make_report(assemble(plan, [], INFO)).decision.verdict == "incomplete"


def test_one_part_twice_is_refused(plan: Plan) -> None:
    part = only(passing(plan), "second-eval")
    with pytest.raises(StageFileError, match="Two of the results hold the same run"):
        assemble(plan, [part, part], INFO)


def another_head(plan: Plan) -> Plan:
    return plan.model_copy(update={"head": plan.head.model_copy(update={"commit": "5" * 40})})


def another_tree(plan: Plan) -> Plan:
    return plan.model_copy(update={"head": plan.head.model_copy(update={"tree": "5" * 40})})


def another_base(plan: Plan) -> Plan:
    assert plan.base is not None
    return plan.model_copy(update={"base": plan.base.model_copy(update={"commit": "5" * 40})})


def easier_threshold(plan: Plan) -> Plan:
    first, *rest = plan.evals
    easier = first.model_copy(
        update={"scoring": first.scoring.model_copy(update={"pass_threshold": 0.0})}
    )
    return plan.model_copy(update={"evals": (easier, *rest)})


def fewer_assertions(plan: Plan) -> Plan:
    first, *rest = plan.evals
    fixtures = tuple(f.model_copy(update={"assertions": ()}) for f in first.fixtures)
    return plan.model_copy(
        update={"evals": (first.model_copy(update={"fixtures": fixtures}), *rest)}
    )


def another_eval(plan: Plan) -> Plan:
    extra = plan.evals[0].model_copy(update={"name": "invented"})
    return plan.model_copy(update={"evals": (*plan.evals, extra)})


def another_model(plan: Plan) -> Plan:
    agents = tuple(agent.model_copy(update={"models": ("scripted/kind",)}) for agent in plan.agents)
    return plan.model_copy(update={"agents": agents})


def another_script(plan: Plan) -> Plan:
    first, *rest = plan.scripts
    models = tuple(model.model_copy(update={"digest": "0" * 64}) for model in first.models)
    return plan.model_copy(update={"scripts": (first.model_copy(update={"models": models}), *rest)})


@pytest.mark.parametrize(
    "forge",
    [
        another_head,
        another_tree,
        another_base,
        easier_threshold,
        fewer_assertions,
        another_eval,
        another_model,
        another_script,
    ],
)
def test_results_of_something_else_are_refused(plan: Plan, forge: Callable[[Plan], Plan]) -> None:
    forged = forge(plan)
    with pytest.raises(StageFileError, match=r"another|not so on this commit"):
        assemble(plan, [part_of(Results(plan=forged))], INFO)


def test_policy_and_removals_come_from_here_whatever_the_part_says(plan: Plan) -> None:
    lax = Policy(regressions=RegressionPolicy.OFF, inconclusive=InconclusivePolicy.WARN)
    update = {"policy": lax, "removed": (), "changes": (), "warnings": ("All is well.",)}
    forged = passing(plan).model_copy(update={"plan": plan.model_copy(update=update)})
    assembled = assemble(plan, [part_of(forged)], INFO)
    assert assembled.plan == plan
    assert assembled.info == INFO


def test_base_only_trials_do_not_make_head_pass(plan: Plan) -> None:
    whole = passing(plan)
    base = tuple(trial for trial in whole.trials if trial.key.side is Side.BASE)
    assembled = assemble(plan, [part_of(Results(plan=plan, trials=base))], INFO)
    assert make_report(assembled).decision.verdict == "incomplete"


def test_the_working_tree_of_a_repo_is_no_head(plan: Plan, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "other")
    repo.write("a", "b")
    repo.commit()
    with pytest.raises(StageFileError, match="another head"):
        assemble(plan, [part_of(Results(plan=plan_of(repo, base="main")))], INFO)


def test_a_part_holds_nothing_of_its_plan_but_digests(plan: Plan) -> None:
    written = part_of(Results(plan=plan)).model_dump_json()
    assert plan.evals[0].fixtures[0].name not in written
    assert len(written) < 1500


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"eval": "invented"}, "do not say what its Eval asks"),
        ({"fixture": "invented"}, "is not planned"),
        ({"repetition": 1001}, "is not planned"),
        ({"fixture": "x" * 100_000}, "not those of this plan"),
    ],
)
def test_trials_that_the_plan_made_here_does_not_ask_for(
    plan: Plan, change: dict[str, Any], said: str
) -> None:
    part = part_of(passing(plan))
    first, *rest = part.trials
    forged = first.model_copy(update={"key": replace(first.key, **change)})
    with pytest.raises(StageFileError, match=said) as refused:
        assemble(plan, [part.model_copy(update={"trials": (forged, *rest)})], INFO)
    assert len(str(refused.value)) < 1000


def test_trials_of_another_eval_than_the_part_names(plan: Plan) -> None:
    """It may have measured that one by easier assertions."""
    part, other = only(passing(plan), "second-eval"), only(passing(plan), "support-eval")
    forged = part.model_copy(update={"trials": other.trials})
    with pytest.raises(StageFileError, match="do not say what its Eval asks"):
        assemble(plan, [forged], INFO)


def test_a_pass_that_its_assertions_do_not_show(plan: Plan) -> None:
    part = part_of(passing(plan))
    forged = tuple(one.model_copy(update={"assessments": ()}) for one in part.trials)
    with pytest.raises(StageFileError, match="not those of this plan"):
        assemble(plan, [part.model_copy(update={"trials": forged})], INFO)
