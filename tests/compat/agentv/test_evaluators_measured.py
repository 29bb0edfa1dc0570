"""Evaluators that count and compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateval.candidates.agentv import read_output
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, AssessmentStatus
from tests.compat.agentv.evaluating import fixture_of, looked
from tests.compat.rows import states
from tests.helpers.agentv import agentv, problems, read
from tests.helpers.trials import assessed, said

DOCS: dict[str, Any] = {"query": "tax", "limit": 3}


def made(*calls: tuple[str, dict[str, Any]], took: float | None = None) -> Answer:
    builder = TraceBuilder()
    for tool, arguments in calls:
        builder.add(StepKind.TOOL_CALL, tool=tool, arguments=arguments, took=took)
    usage = Usage(input_tokens=900, output_tokens=100)
    trace = Trace(steps=builder.steps(), usage=usage, model_calls=2)
    return Answer(output="Done.", trace=trace, seconds=2)


def evaluator(body: str) -> str:
    return f"    evaluators: [{{name: it, {body}}}]\n"


def score(path: Path, body: str, answer: Answer, case: str = "") -> float | None:
    return looked(path, evaluator(body) + case, answer).only.score


SEARCHED = made(("search", DOCS), ("read", {}), ("search", {"query": "vat"}))


@pytest.mark.parametrize(
    ("minimums", "expected"),
    [("{search: 2}", 1.0), ("{search: 2, ask: 1}", 0.5), ("{search: 3, ask: 1}", 0.0)],
)
@states("`tool_trajectory`, `any_order`: the share of tools that are called as often as `minimums`")
def test_any_order(minimums: str, expected: float, tmp_path: Path) -> None:
    body = f"type: tool_trajectory, mode: any_order, minimums: {minimums}"
    assert score(tmp_path, body, SEARCHED) == expected


@pytest.mark.parametrize(
    ("mode", "calls", "expected"),
    [
        ("in_order", "{tool: search}, {tool: search}", 1.0),
        ("in_order", "{tool: read}, {tool: read}", 0.5),
        ("in_order", "{tool: search, args: {query: vat}}, {tool: search}", 0.5),
        ("in_order", "{tool: search, args: {query: tax}}, {tool: ask}", 0.5),
        ("exact", "{tool: search}, {tool: read}", 1.0),
        ("exact", "{tool: read}, {tool: search}", 0.0),
        ("exact", "{tool: search}, {tool: read}, {tool: search}, {tool: ask}", 0.75),
    ],
)
@states("`in_order`: a greedy scan; the first call of that name with wrong `args` is used up")
@states("`exact`: position by position; extra calls do not lower the score")
@states("`args`: the keys given are compared, further ones are allowed")
def test_in_order_and_exact(mode: str, calls: str, expected: float, tmp_path: Path) -> None:
    body = f"type: tool_trajectory, mode: {mode}, expected: [{calls}]"
    assert score(tmp_path, body, SEARCHED) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mode: superset, expected: [{tool: read}, {tool: search}]", 1.0),
        ("mode: superset, expected: [{tool: read}, {tool: read}]", 0.5),
        ("mode: subset, expected: [{tool: search}]", 2 / 3),
        ("mode: in_order, expected: [{tool: search, args: {query: tax}}]", 0.0),
        ("mode: in_order, args_match: superset, expected: [{tool: search, args: {query: tax}}]", 1),
        (
            "mode: in_order, args_match: subset, expected: [{tool: search, args: {query: tax, limit: 3, page: 1}}]",
            1.0,
        ),
        ("mode: in_order, args_match: ignore, expected: [{tool: search, args: {query: x}}]", 1.0),
        ("mode: in_order, args_match: [limit], expected: [{tool: search, args: {limit: 3}}]", 1.0),
        ("mode: in_order, expected: [{tool: search, args: any}]", 1.0),
    ],
)
@states(
    "Later versions: `subset`, `superset`, `args_match`; `args` are compared exactly by default"
)
def test_trajectories_of_later_versions(body: str, expected: float, tmp_path: Path) -> None:
    suite = (
        "tests:\n  - id: one\n    criteria: x\n    input: x\n"
        f"    assertions: [{{type: tool-trajectory, {body}}}]\n"
    )
    assert _newer(tmp_path, suite, SEARCHED) == pytest.approx(expected)


def _newer(path: Path, suite: str, answer: Answer) -> float | None:
    snapshot = read(agentv(path / "repo", {"evals/suite.yaml": suite}))
    assert snapshot.problems == ()
    (spec,) = snapshot.catalogue.fixtures[0].assertions
    return assessed({"type": spec.type, **spec.options}, answer).score


@states(
    "`max_duration_ms` of a call counts beside it: (calls + durations) / (expected + durations)"
)
def test_durations(tmp_path: Path) -> None:
    body = (
        "type: tool_trajectory, mode: in_order, expected: [{tool: search, max_duration_ms: 500}, "
        "{tool: read}]"
    )
    calls: list[tuple[str, dict[str, Any]]] = [("search", {}), ("read", {})]
    assert score(tmp_path / "a", body, made(*calls, took=0.4)) == 1.0
    assert score(tmp_path / "b", body, made(*calls, took=0.6)) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"duration_ms": 250}, 0.25),
        ({"start_time": "2026-11-20T09:00:00Z", "end_time": "2026-11-20T09:00:01.5Z"}, 1.5),
        ({"timestamp": "2026-11-20T09:00:00Z", "end_time": "2026-11-20T09:00:02Z"}, 2),
        ({"duration_ms": "long"}, None),
        ({"start_time": "2026-11-20T09:00:00", "end_time": "2026-11-20T09:00:01Z"}, None),
        ({}, None),
    ],
)
@states("A call's duration is its `duration_ms`, or the time from `start_time` to `end_time`")
def test_where_durations_are_from(told: dict[str, Any], seconds: float | None) -> None:
    call = {"tool": "search", "input": {}, **told}
    messages = [{"role": "assistant", "content": "Done.", "tool_calls": [call]}]
    said_ = read_output(json.dumps({"output_messages": messages}).encode(), "Hi")
    assert said_.trace is not None
    assert said_.trace.tool_calls()[0].took == seconds


@states(
    "A call without a duration does not count for `max_duration_ms`",
    differs="it is an error: what nobody measured shows nothing",
)
def test_a_duration_that_nobody_told(tmp_path: Path) -> None:
    body = "type: tool_trajectory, mode: exact, expected: [{tool: search, max_duration_ms: 500}]"
    found = looked(tmp_path, evaluator(body), made(("search", {}))).only
    assert found.status is AssessmentStatus.ERROR
    assert "nobody told how long" in found.reason.lower()


@pytest.mark.parametrize(
    "body",
    [
        "type: tool_trajectory, mode: any_order, minimums: {search: 1}",
        "type: token_usage, max_total: 5",
        "type: execution_metrics, max_tool_calls: 5",
    ],
)
@states(
    "Without a trace or usage the score is 0",
    differs="it is an error: nothing was looked at, so nothing is known",
)
def test_nothing_to_look_at(body: str, tmp_path: Path) -> None:
    assert looked(tmp_path, evaluator(body), said("Done.")).only.status is AssessmentStatus.ERROR


FIELDS = """\
    expected_output: {total: 39.9, lines: [{sku: LAMP-2}], day: "2026-11-20", note: short}
    evaluators:
      - name: fields
        type: field_accuracy
        fields:
          - {path: total, match: numeric_tolerance, tolerance: 0.05, weight: 2}
          - {path: "lines[0].sku", match: exact}
          - {path: day, match: date, formats: [DD-MMM-YYYY, YYYY-MM-DD]}
          - {path: note, required: false}
          - {path: absent}
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"total": 39.95, "lines": [{"sku": "LAMP-2"}], "day": "20-NOV-2026", "note": "short"}, 1),
        ({"total": 40, "lines": [{"sku": "LAMP-2"}], "day": "20-NOV-2026", "note": "short"}, 4 / 6),
        ({"total": 39.9, "lines": [], "day": "2026-11-20"}, 4 / 5),
        ({"total": "39.9", "lines": [{"sku": "lamp-2"}], "day": "2026-11-21"}, 3 / 5),
    ],
)
@states("`field_accuracy` compares fields with the last expected message, each with a weight")
@states("`match`: `exact`, `numeric_tolerance` with `tolerance`, `date` with `formats`")
@states("`path` has dots and `[i]`")
@states("A field that is not expected to be there is a hit; one that lacks is missed if required")
def test_fields(answer: dict[str, Any], expected: float, tmp_path: Path) -> None:
    assert looked(tmp_path, FIELDS, said(json.dumps(answer))).scores == [pytest.approx(expected)]


@pytest.mark.parametrize(
    "answer", ['```json\n{"total": 1}\n```', 'It is {"total": 1}, as you see.', '{"total": 1}']
)
@states("The answer is read as JSON, out of a fence or amid text")
def test_json_amid_text(answer: str, tmp_path: Path) -> None:
    body = "type: field_accuracy, fields: [{path: total, match: exact}]"
    assert score(tmp_path, body, said(answer), "    expected_output: {total: 1}\n") == 1.0


@pytest.mark.parametrize(
    ("body", "given", "expected"),
    [
        ("match: numeric_tolerance, tolerance: 0.1, relative: true", 109, 1.0),
        ("match: numeric_tolerance, tolerance: 0.1, relative: true", 111, 0.0),
        ("match: exact", "100", 0.0),
    ],
)
@states("`relative`: the tolerance is a share of the number expected")
def test_tolerances(body: str, given: object, expected: float, tmp_path: Path) -> None:
    whole = f"type: field_accuracy, fields: [{{path: total, {body}}}]"
    case = "    expected_output: {total: 100}\n"
    assert score(tmp_path, whole, said(json.dumps({"total": given})), case) == expected


@states("`aggregation: all_or_nothing`: one field that is missed makes the score 0")
def test_all_or_nothing(tmp_path: Path) -> None:
    body = "type: field_accuracy, aggregation: all_or_nothing, fields: [{path: a}, {path: b}]"
    case = "    expected_output: {a: 1, b: 2}\n"
    assert score(tmp_path / "a", body, said('{"a": 1, "b": 3}'), case) == 0.0
    assert score(tmp_path / "b", body, said('{"a": 1, "b": 2}'), case) == 1.0


@pytest.mark.parametrize(("limit", "expected"), [(2000, 1.0), (1999, 0.0)])
@states("`latency`: at most `threshold` milliseconds")
def test_latency(limit: int, expected: float, tmp_path: Path) -> None:
    assert score(tmp_path, f"type: latency, threshold: {limit}", made()) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("type: cost, budget: 0.02", 1.0),
        ("type: cost, budget: 0.019", 0.0),
        ("type: execution_metrics, max_cost_usd: 0.02, max_tool_calls: 0", 1.0),
        ("type: execution_metrics, max_cost_usd: 0.01, max_tool_calls: 0", 0.5),
    ],
)
@states("`cost`: at most `budget` US dollars; `execution_metrics` with `max_cost_usd`")
def test_money(body: str, expected: float, tmp_path: Path) -> None:
    answer = made()
    assert answer.trace is not None
    usage = answer.trace.usage.model_copy(update={"usd": 0.02})
    paid = answer.model_copy(update={"trace": answer.trace.model_copy(update={"usage": usage})})
    assert score(tmp_path / "a", body, paid) == expected
    unknown = looked(tmp_path / "b", evaluator(body), made()).only
    assert unknown.status is AssessmentStatus.ERROR


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("max_total: 1000", 1.0),
        ("max_total: 999", 0.0),
        ("max_input: 900, max_output: 99", 0.0),
        ("maxInput: 900, maxOutput: 100", 1.0),
    ],
)
@states("`token_usage`: `max_total`, `max_input` and `max_output`, all of them; camelCase too")
def test_tokens(limits: str, expected: float, tmp_path: Path) -> None:
    assert score(tmp_path, f"type: token_usage, {limits}", made()) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("max_tool_calls: 3, max_llm_calls: 2, max_tokens: 1000, max_duration_ms: 2000", 1.0),
        ("max_tool_calls: 2, max_llm_calls: 1, max_tokens: 1000, max_duration_ms: 2000", 0.5),
        ("target_exploration_ratio: 0.9", 1.0),
        ("target_exploration_ratio: 0.7", 0.0),
        ("target_exploration_ratio: 0.7, exploration_tolerance: 0.3", 1.0),
    ],
)
@states("`execution_metrics`: the share of the limits that are kept")
@states("`target_exploration_ratio` with `exploration_tolerance`, 0.2 if absent")
def test_metrics(limits: str, expected: float, tmp_path: Path) -> None:
    assert score(tmp_path, f"type: execution_metrics, {limits}", SEARCHED) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("type: contains, value: Done", 1),
        ("type: icontains, value: DONE", 1),
        ("type: contains, value: done", 0),
        ("type: contains-any, value: [Never, Done]", 1),
        ("type: contains-all, value: [Never, Done]", 0),
        ("type: icontains-any, value: [NEVER, DONE]", 1),
        ("type: icontains-all, value: [DONE, '.']", 1),
        ("type: equals, value: Done.", 1),
        ("type: starts-with, value: Don", 1),
        ("type: ends_with, value: '.'", 1),
        ("type: regex, value: '^done', flags: i", 1),
        ("type: regex, value: '^done'", 0),
        ("type: is-json", 0),
        ("type: contains, value: Never, negate: true", 1),
    ],
)
@states("Later versions: `contains`, `icontains`, `equals`, `regex`, `starts-with`, `ends-with`, …")
@states("`negate` turns an evaluator round")
def test_texts(body: str, expected: float, tmp_path: Path) -> None:
    assert score(tmp_path, body, said(" Done.\n")) == expected


@states("`skill-trigger`: whether the agent took up a skill")
def test_skills(tmp_path: Path) -> None:
    body = "type: skill-trigger, skill: refunds"
    assert score(tmp_path / "a", body, made(("Skill", {"skill": "refunds"}))) == 1.0
    assert score(tmp_path / "b", body, made(("Skill", {"skill": "returns"}))) == 0.0
    other = f"{body}, should_trigger: false"
    assert score(tmp_path / "c", other, made(("Skill", {"skill": "refunds"}))) == 0.0
    assert score(tmp_path / "d", other, made(("search", {}))) == 1.0


@pytest.mark.parametrize("kind", ["tool_trajectory", "tool-trajectory"])
@states("Types are written with `_` or with `-`")
def test_kebab_and_snake(kind: str, tmp_path: Path) -> None:
    case = evaluator(f"type: {kind}, mode: any_order, minimums: {{search: 1}}")
    assert fixture_of(tmp_path, case).assertions[0].type == "toolTrajectory"


@states("An evaluator of an unknown type is skipped", differs="it is an error with its line")
def test_an_unknown_evaluator(tmp_path: Path) -> None:
    suite = "evalcases: [{id: a, expected_outcome: x, input: x, evaluators: [{name: n, type: llm_juge}]}]\n"
    (found,) = problems(agentv(tmp_path / "repo", {"evals/s.yaml": suite}))
    assert 'Unknown evaluator "llm_juge"' in found
    assert found.startswith("evals/s.yaml:1:")
