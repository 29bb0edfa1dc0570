"""What is published of sealed Evals: nothing that they ask, and all that decides."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.decision.decision import Report, make_report, publishable
from gateval.domain.history.verdicts import plan_digest
from gateval.domain.manifests.evaluation import MODELS, ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    FixtureInput,
    InputType,
    Origin,
    Reference,
)
from gateval.domain.manifests.gate_config import BudgetPolicy, Policy
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import shut_plan
from gateval.domain.problems import SourceLocation
from gateval.domain.results.progress import unsealed
from gateval.domain.results.results import Results
from gateval.domain.results.trial_verdict import reassessed
from gateval.domain.trials.trial import Trial
from gateval.domain.verdicts import PRECEDENCE, GateVerdict, ReasonCode
from gateval.errors import StageFileError
from gateval.render.stage import dump, dump_whole, load_results
from tests.helpers import sample_reports
from tests.helpers.reports import edit_plan, make_results
from tests.helpers.tiers import examples

PLACE = SourceLocation(file="evals/held.yaml.age", line=7)
WORD = "ZANZIBAR"

ASSERTION = AssertionSpec(
    type="contains",
    name=WORD,
    weight=2,
    required=True,
    axis="safety",
    options={"value": WORD},
    unsupported=WORD,
    turn=1,
    script=WORD,
    needs_judge=True,
    parts=(AssertionSpec(type="contains", options={"value": WORD}, place=PLACE),),
    place=PLACE,
)
FIXTURE = Fixture(
    name="greets",
    labels={"about": WORD},
    description=WORD,
    input=FixtureInput(type=InputType.PROMPT, payload={"prompt": WORD}),
    turns=(WORD,),
    files=(WORD,),
    reference=Reference(answer=WORD),
    assertions=(ASSERTION,),
    shadow_tools=(WORD,),
    playground=PlaygroundSpec(files=(WORD,)),
    origin=Origin(trace_id=WORD),
    timeout_seconds=5,
    place=PLACE,
    places={"spec.input": PLACE},
    path="evals/held.yaml.age",
    digest="0" * 64,
)


def sealed(results: Results) -> Results:
    evals = tuple(one.model_copy(update={"sealed": True}) for one in results.plan.evals)
    return edit_plan(results, evals=evals)


def held() -> Plan:
    (planned,) = make_results("a-eval greets head:pass").plan.evals
    planned = planned.model_copy(update={"sealed": True, "fixtures": (FIXTURE,)})
    return make_results("a-eval greets head:pass").plan.model_copy(update={"evals": (planned,)})


def test_no_word_of_a_fixture_is_in_the_shut_plan() -> None:
    shut = shut_plan(held())
    assert WORD in dump_whole(held())
    assert WORD not in dump(shut)
    (fixture,) = shut.evals[0].fixtures
    (assertion,) = fixture.assertions
    assert (assertion.weight, assertion.axis, assertion.required) == (2, "safety", True)
    assert fixture.place.line == 1, "nobody can look at a line of a sealed file"
    assert fixture.timeout_seconds == 5
    assert shut_plan(shut) == shut


def test_what_is_left_of_a_fixture_is_on_a_list() -> None:
    """So a field that comes later is sealed until somebody thinks about it."""
    (fixture,) = shut_plan(held()).evals[0].fixtures
    names = {"name", "input", "assertions", "place", "path", "digest", "timeout_seconds"}
    assert (
        fixture.model_fields_set - {*names, "target_agent", "fixture_kind", "severity", "family"}
        == set()
    )
    allowed = {"type", "weight", "required", "severity", "axis", "needs_judge", "place"}
    assert fixture.assertions[0].model_fields_set == allowed


def test_a_plan_with_its_words_is_never_dumped() -> None:
    with pytest.raises(ValueError, match="not for everybody"):
        dump(held())
    with pytest.raises(ValueError, match="not for everybody"):
        dump(sealed(sample_reports.regressed_results()))


def test_the_digest_of_a_plan_is_that_of_the_published_one() -> None:
    assert plan_digest(held()) == plan_digest(shut_plan(held()))


REPORTS: dict[str, Callable[[], Report]] = {
    "regressed": sample_reports.regressed,
    "passing": sample_reports.passing,
    "provider down": sample_reports.provider_down,
    "incomplete": sample_reports.incomplete,
    "warned": sample_reports.warned,
}


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_published_decides_as_the_whole_does(name: str) -> None:
    whole = make_report(sealed(REPORTS[name]().results))
    shown = publishable(whole, keyed)
    assert make_report(shown).decision.verdict == whole.decision.verdict
    assert load_results(dump(shown).encode()) == shown
    assert not shown.plan.evals
    assert not shown.trials
    assert publishable(make_report(shown), keyed) == shown
    assert load_results(dump(unsealed(whole.results)).encode()) == unsealed(whole.results)


def test_nothing_that_was_said_or_done_is_published() -> None:
    text = dump(publishable(make_report(sealed(sample_reports.regressed_results())), keyed))
    for word in ("refunded", "129", "Traceback", "What is wrong", "toolNotCalled", "Ask first"):
        assert word not in text, word


def keyed(text: str) -> str:
    return f"{0:064}@{0:08}" if text else ""


def test_a_verdict_without_its_eval_or_an_eval_without_its_verdict_is_refused() -> None:
    shown = publishable(make_report(sealed(sample_reports.regressed_results())), keyed)
    content = json.loads(dump(shown))
    for name in ("sealed", "plan"):
        cut = json.loads(dump(shown))
        (cut if name == "sealed" else cut["plan"])["sealed"] = []
        with pytest.raises(StageFileError):
            load_results(json.dumps(cut).encode())
    content["sealed"][0]["rate"] = 0.123
    with pytest.raises(StageFileError, match="in steps"):
        load_results(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("fixtures", "rates", "rate", "bits"),
    [(9, True, None, 2.58), (12, True, 0.75, 7.04), (12, False, None, 2.58)],
)
def test_a_rate_is_coarse_and_only_told_of_many_fixtures(
    fixtures: int, rates: bool, rate: float | None, bits: float
) -> None:
    rows = "\n".join(f"a-eval f{n} head:{'fail' if n < 3 else 'pass'}" for n in range(fixtures))
    whole = make_report(sealed(make_results(rows)))
    (told,) = publishable(whole, rates=rates).sealed
    assert (told.rate, told.bits) == (rate, bits)
    assert told.digest == "", "nobody has a key"


def test_which_fixture_fails_changes_nothing_that_is_published() -> None:
    def shown(failing: int) -> str:
        rows = [f"a-eval f{n} head:{'fail' if n == failing else 'pass'}" for n in range(12)]
        return dump(publishable(make_report(sealed(make_results("\n".join(rows))))))

    assert shown(2) == shown(11)


def test_plain_evals_beside_sealed_ones_are_reported_as_if_these_were_not_there() -> None:
    rows = "a-eval one base:pass head:fail\nb-eval two head:judge"
    results = make_results(rows)
    first, second = results.plan.evals
    whole = edit_plan(results, evals=(first, second.model_copy(update={"sealed": True})))
    report = make_report(publishable(make_report(whole)))
    alone = make_results("a-eval one base:pass head:fail")
    assert report.comparison.evals == make_report(alone).comparison.evals
    assert {one.eval for one in report.decision.reasons} == {"a-eval", "b-eval"}
    assert report.decision.reasons[-1].code is ReasonCode.SEALED
    assert report.decision.verdict == make_report(whole).decision.verdict


OUTCOMES = st.sampled_from(["pass", "fail", "judge", "provider", "candidate", "gate", "skip", "-"])
PAIRS = st.lists(st.tuples(OUTCOMES, OUTCOMES), min_size=1, max_size=5)


@settings(max_examples=examples(150), deadline=None)
@given(PAIRS, PAIRS, st.sampled_from([*MODELS.values()]), st.booleans(), st.booleans())
def test_any_results_decide_alike(
    pairs: list[tuple[str, str]],
    plain: list[tuple[str, str]],
    model: ScoringModel,
    deterministic: bool,
    cut: bool,
) -> None:
    rows = "\n".join(
        f"{name} f{number} base:{base} head:{head}"
        for name, every in (("a-eval", pairs), ("b-eval", plain))
        for number, (base, head) in enumerate(every)
    )
    results = make_results(rows, deterministic=deterministic)
    if model is not ScoringModel.FIXTURES:
        results = _graded(results, model)
    first, *others = results.plan.evals
    results = edit_plan(results, evals=(first.model_copy(update={"sealed": True}), *others))
    if cut:
        policy = Policy(budget=BudgetPolicy(repetitions=len(pairs) + len(plain) + 4))
        results = edit_plan(results, policy=policy)
    whole = make_report(results)
    shown = make_report(publishable(whole))
    assert shown.decision.verdict == whole.decision.verdict
    mine = {one.eval: one.verdict for one in shown.decision.reasons if one.eval == first.name}
    worst = [one.verdict for one in whole.decision.reasons if one.eval == first.name]
    assert mine.get(first.name, GateVerdict.PASS) == min(
        worst, key=PRECEDENCE.index, default=GateVerdict.PASS
    )
    kept = [one for one in whole.comparison.evals if one.eval != first.name]
    assert list(shown.comparison.evals) == kept


def _graded(results: Results, model: ScoringModel) -> Results:
    """The same scored by another model, with an axis on every assertion."""
    scoring = ScoringSpec(model=model)
    evals = tuple(
        one.model_copy(update={"scoring": scoring, "fixtures": tuple(map(_on_axis, one.fixtures))})
        for one in results.plan.evals
    )
    plan = results.plan.model_copy(update={"evals": evals})

    def scored(trial: Trial) -> Trial:
        fixture = plan.eval(trial.key.eval).fixture(trial.key.fixture)
        return (
            reassessed(trial, fixture, trial.assessments, scoring) if trial.assessments else trial
        )

    return results.model_copy(update={"plan": plan, "trials": tuple(map(scored, results.trials))})


def _on_axis(fixture: Fixture) -> Fixture:
    assertions = tuple(
        one.model_copy(update={"axis": f"axis {number % 2}"})
        for number, one in enumerate(fixture.assertions)
    )
    return fixture.model_copy(update={"assertions": assertions})
