"""What is published of sealed Evals: nothing that they ask, and all that decides."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.decision.decision import Decision
from gateval.domain.decision.report import Report, make_report
from gateval.domain.history.record import plan_digest
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.manifests.fixtures.recorded import Origin
from gateval.domain.manifests.fixtures.reference import Reference
from gateval.domain.manifests.scoring import MODELS, ScoringModel, ScoringSpec
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import is_open, shut_plan
from gateval.domain.repository.place import Place
from gateval.domain.results.outcome import MORE_TIME, MORE_TIME_FOR_TASK, reassessed
from gateval.domain.results.results import Results
from gateval.domain.results.sealing import shut_results, unsealed
from gateval.domain.trials.trial import Trial
from gateval.render.files.stage import dump, dump_whole, load_results
from tests.helpers import sample_reports
from tests.helpers.reports import edit_plan, make_results
from tests.helpers.tiers import examples

KEY = b"k" * 32
PLACE = Place(file="evals/held.yaml.age", line=7)
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
    input=FixtureInput(type="prompt", payload={"prompt": WORD}),
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


def decides(report: Report) -> Decision:
    """What a report decides, without the words of reasons."""
    reasons = tuple(one.model_copy(update={"text": ""}) for one in report.decision.reasons)
    return report.decision.model_copy(update={"reasons": reasons})


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
    whole = sealed(REPORTS[name]().results)
    shown = shut_results(whole, KEY)
    assert decides(make_report(shown)) == decides(make_report(whole))
    assert load_results(dump(shown).encode()) == shown
    assert not any(map(is_open, shown.plan.evals))
    assert shut_results(shown, KEY) is shown
    assert load_results(dump(unsealed(whole)).encode()) == unsealed(whole)


def test_nothing_that_was_said_or_done_is_published() -> None:
    whole = sealed(sample_reports.regressed_results())
    text = dump(shut_results(whole, KEY))
    for word in ("refunded", "129", "Traceback", "What is wrong", "toolNotCalled", "Ask first"):
        assert word not in text, word
    assert "refund-must-clarify" in text


def test_equal_answers_stay_equal_under_one_key_and_tell_nothing_without_it() -> None:
    whole = sealed(make_results("a-eval one head:pass,pass"))
    said = [one.model_copy(update={"output": "Yes."}) for one in whole.trials]
    whole = whole.model_copy(update={"trials": tuple(said)})
    first, second = [one.output for one in shut_results(whole, KEY).trials]
    assert first == second
    assert first != shut_results(whole, b"x" * 32).trials[0].output


OUTCOMES = st.sampled_from(["pass", "fail", "judge", "provider", "candidate", "gate", "skip", "-"])
PAIRS = st.lists(st.tuples(OUTCOMES, OUTCOMES), min_size=1, max_size=5)


@settings(max_examples=examples(150), deadline=None)
@given(PAIRS, st.sampled_from([*MODELS.values()]), st.booleans())
def test_any_results_decide_alike(
    pairs: list[tuple[str, str]], model: ScoringModel, deterministic: bool
) -> None:
    rows = "\n".join(
        f"a-eval f{number} base:{base} head:{head}" for number, (base, head) in enumerate(pairs)
    )
    results = make_results(rows, deterministic=deterministic)
    if model is not ScoringModel.FIXTURES:
        results = _graded(results, model)
    whole = sealed(results)
    assert decides(make_report(shut_results(whole, KEY))) == decides(make_report(whole))


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


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("The agent ended with exit code 1.", True),
        (f"The agent was not done within 2.5 s and was ended. {MORE_TIME}", True),
        (f"The agent was not done within 300 s. {MORE_TIME_FOR_TASK}", True),
        ("The agent did not finish in 50 turns.", True),
        ("The agent ended with exit code ZANZIBAR.", False),
        ("The agent ended with exit code 1. ZANZIBAR", False),
        ("The agent's answer cannot be used: it has the unknown key `ZANZIBAR`.", False),
        ("The playground could not be made. `ZANZIBAR` was not found.", False),
    ],
)
def test_reasons_without_assessments_are_told_where_they_are_our_own(
    reason: str, told: bool
) -> None:
    results = sealed(make_results("a-eval greets head:candidate"))
    trial, *_ = results.trials
    results = results.model_copy(
        update={"trials": (trial.model_copy(update={"reason": reason, "assessments": ()}),)}
    )
    (shown,) = shut_results(results, KEY).trials
    assert (shown.reason == reason) is told
    assert WORD not in dump(shut_results(results, KEY))
    assert "gateval unseal" in shown.reason or told
