"""Which trials have an address by which another run takes them over."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.plan.plan import Plan
from gateval.domain.results.reuse import could_reuse
from gateval.domain.trials.trial import Side, TrialKey
from tests.helpers.shop import EVAL, FIXTURES, build_shop, plan_of

ENGINE = "e" * 64
KIND = "    - {type: contains, value: Hello}\n    - {type: judge, rubric: Is it kind?}\n"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A change that edits the prompt of an Agent that rules answer for."""
    shop = build_shop(Path(tmp_path_factory.mktemp("reuse")) / "shop")
    shop.checkout("main")
    judged = FIXTURES.replace("    - {type: contains, value: Hello}\n", KIND)
    shop.write("evals/fixtures.yaml", judged)
    shop.write("evals/support-eval.yaml", f"{EVAL}  judge: {{model: openai/gpt-5}}\n")
    shop.commit()
    shop.branch("edit")
    shop.write("agents/prompts/support.md", "You help.\n")
    shop.commit()
    return plan_of(shop, base="main")


def greeting(side: Side, repetition: int = 1) -> TrialKey:
    return TrialKey(eval="support-eval", fixture="greets", side=side, repetition=repetition)


def test_only_what_is_judged_has_an_address_and_each_repetition_its_own(plan: Plan) -> None:
    found = could_reuse(plan, ENGINE)
    assert {one.fixture for one in found} == {"greets"}
    assert len(set(found.values())) == len(found)


def test_an_address_does_not_hang_on_the_side(plan: Plan) -> None:
    (base,) = (one for one in plan.agents if one.side is Side.BASE)
    alike = [base, base.replace(side=Side.HEAD)]
    turned = could_reuse(plan.replace(agents=tuple(alike)), ENGINE)
    assert turned[greeting(Side.HEAD)] == turned[greeting(Side.BASE)]
    assert turned[greeting(Side.BASE)] == could_reuse(plan, ENGINE)[greeting(Side.BASE)]
    assert turned[greeting(Side.HEAD)] != could_reuse(plan, ENGINE)[greeting(Side.HEAD)]


def test_other_code_has_other_addresses(plan: Plan) -> None:
    ours, theirs = (set(could_reuse(plan, one).values()) for one in (ENGINE, "f" * 64))
    assert ours
    assert not ours & theirs


def test_nothing_of_a_sealed_eval_has_one(plan: Plan) -> None:
    sealed = tuple(one.replace(sealed=True) for one in plan.evals)
    assert could_reuse(plan.replace(evals=sealed), ENGINE) == {}


def test_a_judge_whose_word_is_measured_in_each_run_judges_anew(plan: Plan) -> None:
    def with_judge(**more: object) -> Plan:
        evals = [one.replace(judge=one.judge.replace(**more)) for one in plan.evals]
        return plan.replace(evals=tuple(evals))

    assert could_reuse(with_judge(calibration="tone"), ENGINE) == {}
    other = could_reuse(with_judge(temperature=0.5), ENGINE)
    assert other
    assert not set(other.values()) & set(could_reuse(plan, ENGINE).values())
