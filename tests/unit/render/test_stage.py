"""Stage files cross trust borders: what cannot be trusted is refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest

from gateval.domain.base import Value
from gateval.domain.trials.trial import Trial
from gateval.errors import StageFileError
from gateval.render.comment import render_comment
from gateval.render.stage import (
    PLAN_LIMIT,
    dump,
    load_plan,
    load_results,
    places_in,
    plan_pieces,
    results_pieces,
)
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.reports import edit, make_results
from tests.unit.render.test_comment import SAMPLES

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "hostile"])
def test_what_is_written_is_read_back_alike(name: str) -> None:
    results = SAMPLES[name]().results

    assert load_results(dump(results).encode()) == results
    assert load_plan(dump(results.plan).encode()) == results.plan
    assert "".join(plan_pieces(results.plan)) == dump(results.plan, indent=None)
    assert load_results("".join(results_pieces(SAMPLES[name]())).encode()) == results


@pytest.mark.parametrize("name", SAMPLES)
def test_pieces_are_the_whole_and_say_where_fixtures_stand(name: str) -> None:
    report = SAMPLES[name]()
    pieces = [one.encode() for one in results_pieces(report)]
    data = b"".join(pieces)

    assert dump(load_results(data)) == dump(report.results)
    places = places_in(report.results.plan, list(accumulate(map(len, pieces))))
    for planned in report.results.plan.evals:
        stood = [json.loads(data[at:end]) for at, end in places.fixtures[planned.name]]
        assert stood == json.loads(dump(planned))["fixtures"]
    assert data[: places.trials].endswith(b',"trials":[')


def test_trials_of_results_are_short_and_say_the_same() -> None:
    report = SAMPLES["regressed"]()
    (trial, *_) = (one for one in report.results.trials if one.assessments)
    whole = json.loads(dump(trial))
    written = json.loads("".join(results_pieces(report)))["trials"]
    (short,) = (one for one in written if one["key"] == whole["key"])

    assert whole.keys() - short.keys() == {"lost_usage"}
    assert "verdict" not in short["assessments"][0]
    apart: dict[str, Any] = {"lost_usage": {}, "assessments": []}
    assert short | apart == whole | apart
    assert Trial.model_validate(short) == trial


def test_a_place_with_something_unknown_is_refused() -> None:
    data = json.loads(dump(make_results("a-eval f head:pass")))
    data["plan"]["evals"][0]["fixtures"][0]["place"]["byte"] = 1

    with pytest.raises(StageFileError, match=r"Unknown field plan\.evals\..*place\.byte"):
        load_results(json.dumps(data).encode())


def test_reports_on_stored_hostile_results_are_the_same() -> None:
    report = sample_reports.hostile()
    stored = load_results(dump(report.results).encode())

    assert render_comment(ReportView(report._replace(results=stored))) == render_comment(
        ReportView(report)
    )


def test_json_is_stable_readable_and_by_field_name() -> None:
    results = make_results("a-eval f base:pass head:fail")
    text = dump(results)

    assert text == dump(results.model_copy(deep=True))
    assert text.startswith('{\n  "version": "results.v1",\n  "plan": {\n    "version": "plan.v1"')
    assert text.endswith("}\n")
    assert '"reps_per_fixture": 1' in text
    assert '"version": "decision.v1"' in dump(sample_reports.passing().decision)


def test_what_json_cannot_hold_is_replaced() -> None:
    results = edit(
        make_results("a-eval f head:fail"),
        "a-eval/f #1 on head",
        reason="half \ud83d pair",
        seconds=float("nan"),
    )
    content = json.loads(dump(results).encode())

    assert content["trials"][0]["reason"] == "half \ufffd pair"
    assert content["trials"][0]["seconds"] is None


def changed(change: Change) -> bytes:
    content = json.loads(dump(sample_reports.regressed_results()))
    change(content)
    return json.dumps(content).encode()


REFUSED: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"refund!", "cannot be read as JSON"),
    "not UTF-8": (b'{"version": "\xff"}', "not UTF-8: byte 14 is wrong"),
    "not an object": (b"[]", "holds no JSON object"),
    "no version": (b"{}", "has no version; this Gateval reads results.v1"),
    "other version": (b'{"version": "results.v2"}', 'version "results.v2"; this Gateval reads'),
    "other kind": (b'{"version": "plan.v1"}', 'version "plan.v1"; this Gateval reads results.v1'),
    "a key twice": (b'{"version": "results.v1", "version": "x"}', 'key "version" stands there twice'),
    "deep": (b'{"a":' * 200 + b"1" + b"}" * 200, "nested more than 120 levels deep"),
    "very deep": (b"[" * 500_000, "nested more than 120 levels deep"),
    "NaN": (b'{"version": NaN}', "NaN is no JSON number"),
    "many digits": (b'{"version": ' + b"9" * 5000 + b"}", "too many digits"),
    "unknown field": (changed(lambda c: c.update(bypass=True)), "Unknown field bypass."),
    "unknown field inside": (
        changed(lambda c: c["plan"]["policy"].update(allow="all")),
        "Unknown field plan.policy.allow.",
    ),
    "alias": (
        changed(lambda c: c["plan"]["policy"].update(candidateEnv=[])),
        "Unknown field plan.policy.candidateEnv.",
    ),
    "field missing": (changed(lambda c: c["plan"].pop("head")), "plan.head: Field required."),
    "wrong value": (
        changed(lambda c: c["trials"][0].update(outcome="great")),
        "trials.0.outcome: Input should be 'pass', 'fail', 'error' or 'skip'.",
    ),
    "trial twice": (
        changed(lambda c: c["trials"].append(c["trials"][0])),
        "the run support-eval/refund-must-clarify #1 on head comes twice.",
    ),
    "trial not planned": (
        changed(lambda c: c["trials"][0]["key"].update(repetition=16)),
        "the run support-eval/refund-must-clarify #16 on head is not planned.",
    ),
    "many problems": (
        changed(lambda c: c.update({f"x{n}": 1 for n in range(9)})),
        "Unknown field x4. And 4 more.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_a_sentence(data: bytes, said: str) -> None:
    with pytest.raises(StageFileError) as caught:
        load_results(data)

    assert said in caught.value.message
    assert caught.value.hint


def test_a_plan_has_a_limit() -> None:
    said = "has 67,108,865 bytes; plan.v1 may have 67,108,864"
    with pytest.raises(StageFileError, match=said):
        load_plan(b" " * (PLAN_LIMIT + 1))


def test_what_a_large_run_writes_can_be_read_back() -> None:
    results = sample_reports.regressed_results()
    first = results.trials[0]
    long = first.model_copy(update={"detail": ("x" * 1_000_000,) * 70})
    written = dump(results.model_copy(update={"trials": (long, *results.trials[1:])}), indent=None)
    assert len(written) > PLAN_LIMIT
    assert load_results(written.encode()).trials[0] == long


def test_refusals_show_hostile_names_harmlessly() -> None:
    data = changed(lambda c: c.update({"\x1b[31m::error::\n": 1}))

    with pytest.raises(
        StageFileError, match=r"^The file of results is no valid results\.v1"
    ) as caught:
        load_results(data)
    assert "\x1b" not in caught.value.message
    assert "\n" not in caught.value.message


def test_a_plan_with_nothing_and_evals_is_refused() -> None:
    plan = sample_reports.regressed_results().plan
    data = json.loads(dump(plan)) | {"nothing": "Nothing at all."}

    with pytest.raises(StageFileError, match="not both"):
        load_plan(json.dumps(data).encode())


def test_values_are_any_of_the_stages() -> None:
    report = sample_reports.regressed()
    stages: tuple[Value, ...] = (report.results.plan, report.results, report.decision)

    assert [json.loads(dump(value))["version"] for value in stages] == [
        "plan.v1",
        "results.v1",
        "decision.v1",
    ]


def _fixtures(content: dict[str, Any]) -> list[Any]:
    fixtures: list[Any] = content["evals"][0]["fixtures"]
    return fixtures


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda plan: plan["evals"].append(plan["evals"][0]), "the Eval a-eval"),
        (lambda plan: _fixtures(plan).append(_fixtures(plan)[0]), "the fixture f of a-eval"),
        (lambda plan: plan["agents"].append(plan["agents"][0]), "the Agent a on head"),
    ],
)
def test_a_name_stands_once_in_a_plan(change: Change, name: str) -> None:
    plan = json.loads(dump(make_results("a-eval f base:pass head:fail").plan))
    change(plan)

    with pytest.raises(StageFileError, match=f"{name} stands there twice"):
        load_plan(json.dumps(plan).encode())


def test_a_plan_that_compares_names_its_base() -> None:
    plan = json.loads(dump(make_results("a-eval f base:pass head:fail").plan))
    plan["base"] = None

    with pytest.raises(StageFileError, match="a-eval is compared, but there is no base"):
        load_plan(json.dumps(plan).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda trial: trial["assessments"].clear(),
        lambda trial: trial["assessments"][0].update(status="failed"),
        lambda trial: trial["assessments"][0].update(status="error", score=None, cause="gate"),
        lambda trial: trial["assessments"].append(trial["assessments"][0]),
    ],
)
def test_a_pass_that_its_assertions_do_not_bear_out_is_refused(change: Change) -> None:
    results = json.loads(dump(make_results("a-eval f base:new head:pass")))
    change(results["trials"][0])

    with pytest.raises(StageFileError, match="says pass, but its assertions do not"):
        load_results(json.dumps(results).encode())


@pytest.mark.parametrize("fields", [{"status": "error"}, {"score": None}, {"cause": "judge"}])
def test_what_was_not_evaluated_has_no_score_and_what_was_has_no_cause(
    fields: dict[str, Any],
) -> None:
    results = json.loads(dump(make_results("a-eval f base:new head:pass")))
    results["trials"][0]["assessments"][0] |= fields

    with pytest.raises(StageFileError, match=r"trials\.0\.assessments\.0"):
        load_results(json.dumps(results).encode())


def test_errors_name_the_file_and_the_place() -> None:
    with pytest.raises(StageFileError, match=r"^a/plan\.json cannot be read as JSON: .* line 2"):
        load_plan(b'{"version":\n}', "a/plan.json")
    with pytest.raises(StageFileError, match=r"^a/plan\.json has no version; this Gateval reads"):
        load_plan(b"{}", "a/plan.json")
