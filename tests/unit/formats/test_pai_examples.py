"""The YAML examples of the Pai documents, as their authors wrote them, mean what the pages say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.app.readers import registries
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.catalogue_checks import check_catalogue, warnings_of
from gateval.domain.manifests.fixture import AssertionSpec, FixtureKind, InputType, Severity
from gateval.formats.base import Parsed
from gateval.formats.native.manifests import read_manifests
from tests.helpers.manifests import REGISTRIES, catalogue_of, parse

FOLDER = Path(__file__).parents[2] / "data" / "pai"


def files() -> Iterator[tuple[str, str]]:
    for file in sorted(FOLDER.glob("*.yaml")):
        yield file.name, file.read_text(encoding="utf-8")


def parsed(replace: tuple[str, str] = ("", "")) -> list[Parsed]:
    return [parse(text.replace(*replace) if replace[0] else text, name) for name, text in files()]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return catalogue_of(parsed())


def written(assertion: AssertionSpec) -> dict[str, object]:
    return {"type": assertion.type, **assertion.options}


def test_everything_loads_and_fits_together(catalogue: Catalogue) -> None:
    assert check_catalogue(catalogue, {}, REGISTRIES.providers) == ()
    assert warnings_of(catalogue) == ()
    assert [one.name for one in catalogue.agents] == ["support-bot", "math-tutor"]
    assert len(catalogue.fixtures) == 7
    assert len(catalogue.evals) == 3
    assert len(catalogue.calibrations) == 1


def test_both_api_versions_mean_the_same(catalogue: Catalogue) -> None:
    swapped = catalogue_of(parsed(("apiVersion: pai.io/v1", "apiVersion: gateval/v1")))
    assert swapped == catalogue


def test_the_tutor(catalogue: Catalogue) -> None:
    agent = catalogue.agent("math-tutor")
    assert agent is not None
    assert agent.spec.models == ("anthropic/claude-haiku-4-5",)
    assert agent.spec.system == (
        "You are a math tutor. Answer in one short sentence.\n"
        'Always include the literal text "answer:" before the result.\n'
    )
    assert [(tool.tool_name, tool.enabled) for tool in agent.spec.tools] == [
        ("bash", False),
        ("send_email", False),
    ]
    assert agent.runtime_type == "model"
    assert str(agent.place) == "tutor.yaml:5:9"
    assert str(agent.places["spec.system"]) == "tutor.yaml:8:3"
    assert str(agent.places["spec.tools[1]"]) == "tutor.yaml:13:7"


def test_the_tutors_fixture(catalogue: Catalogue) -> None:
    fixture = catalogue.fixture("tutor-add")
    assert fixture is not None
    assert fixture.fixture_kind is FixtureKind.GOLDEN
    assert fixture.severity is Severity.MEDIUM
    assert fixture.input.prompt == "What is 2 + 2?"
    assert [written(one) for one in fixture.assertions][:3] == [
        {"type": "contains", "value": "answer:"},
        {"type": "contains", "value": "4"},
        {"type": "toolNotCalled", "tool": "bash"},
    ]
    judge = fixture.assertions[3]
    assert (judge.weight, judge.needs_judge, judge.severity) == (2.0, True, None)
    assert judge.options["minScore"] == 0.8
    assert [one.weight for one in fixture.assertions[:3]] == [1.0, 1.0, 1.0]
    assert str(judge.place) == "tutor.yaml:33:7"


def test_the_tutors_eval(catalogue: Catalogue) -> None:
    evaluation = catalogue.eval("math-tutor-eval")
    assert evaluation is not None
    assert evaluation.judge.model == "anthropic/claude-haiku-4-5"
    assert evaluation.judge.temperature == 0
    assert evaluation.scoring.pass_threshold == 1.0
    assert evaluation.execution.parallel == 3
    assert evaluation.execution.timeout_seconds == 120
    assert evaluation.execution.reps_per_fixture == 1
    assert [one.name for one in select_fixtures(evaluation, catalogue)] == ["tutor-add"]


def test_the_refund_fixture(catalogue: Catalogue) -> None:
    fixture = catalogue.fixture("refund-must-clarify")
    assert fixture is not None
    assert fixture.labels == {"agent": "support-bot", "scenario": "refund"}
    assert fixture.fixture_kind is FixtureKind.BAD
    assert fixture.severity is Severity.HIGH
    assert fixture.origin is not None
    assert fixture.origin.trace_id == "conv-support-cd7e649e"
    assert fixture.origin.promoted_at == "2026-05-04T14:22:01Z"
    assert fixture.origin.promoted_by == "amir@company.com"
    assert fixture.input.payload == {"ticket": "I want a refund for order #12345"}
    assert fixture.input.prompt == '{"ticket":"I want a refund for order #12345"}'
    assert [written(one) for one in fixture.assertions][:2] == [
        {"type": "toolCalled", "tool": "clarify_reason", "before": ["create_jira_ticket"]},
        {"type": "toolNotCalled", "tool": "send_email", "after": ["clarify_reason"]},
    ]


def test_the_support_eval_overrides_one_weight(catalogue: Catalogue) -> None:
    evaluation = catalogue.eval("support-bot-eval")
    assert evaluation is not None
    weights = {severity: evaluation.scoring.weight(severity) for severity in Severity}
    assert weights == {
        Severity.LOW: 0.5,
        Severity.MEDIUM: 1.0,
        Severity.HIGH: 2.0,
        Severity.CRITICAL: 8.0,
    }
    assert evaluation.scoring.pass_threshold == 0.85
    assert evaluation.execution.parallel == 5
    assert evaluation.execution.timeout_seconds == 300
    assert evaluation.judge.calibration == "support-bot-judge"
    assert evaluation.schedule == "0 9 * * *"
    assert str(evaluation.places["spec.scoring.passThreshold"]) == "support-bot-eval.yaml:16:5"
    assert str(evaluation.places["spec.fixtures[0]"]) == "support-bot-eval.yaml:10:7"


def test_selector_and_list_are_joined(catalogue: Catalogue) -> None:
    by_label, both = catalogue.eval("support-bot-eval"), catalogue.eval("input-types")
    assert by_label is not None
    assert both is not None
    labelled = ["input-prompt", "input-telegram", "input-webhook", "refund-must-clarify"]
    assert [one.name for one in select_fixtures(by_label, catalogue)] == labelled
    assert [one.name for one in select_fixtures(both, catalogue)] == sorted(
        {*labelled, "input-slack", "input-email"}
    )
    assert both.execution.reps_per_fixture == 3


def test_all_input_types(catalogue: Catalogue) -> None:
    found = {
        one.input.type: one.input.prompt
        for one in catalogue.fixtures
        if one.name.startswith("input-")
    }
    assert found == {
        InputType.WEBHOOK: '{"priority":2,"ticket":"Where is order #7?"}',
        InputType.PROMPT: "Where is order #7?",
        InputType.TELEGRAM: "where is my order",
        InputType.SLACK: "where is my order",
        InputType.EMAIL: '{"body":"Where is it?","from":"jane@example.com","subject":"Order 7"}',
    }


def test_an_assertion_overrides_the_severity_inside_its_fixture(catalogue: Catalogue) -> None:
    fixture = catalogue.fixture("input-webhook")
    assert fixture is not None
    assert fixture.severity is Severity.LOW
    assert fixture.assertions[0].severity is Severity.CRITICAL


def test_defaults(catalogue: Catalogue) -> None:
    evaluation = catalogue.eval("input-types")
    assert evaluation is not None
    assert evaluation.scoring.pass_threshold is None
    assert evaluation.execution.parallel == 4
    assert evaluation.execution.timeout_seconds == 300
    assert [evaluation.scoring.weight(one) for one in Severity] == [0.5, 1.0, 2.0, 4.0]


def test_the_calibration(catalogue: Catalogue) -> None:
    calibration = catalogue.calibration("support-bot-judge")
    assert calibration is not None
    assert calibration.judge_models == (
        "anthropic/claude-haiku-4-5",
        "anthropic/claude-sonnet-4-6",
    )
    first, second = calibration.examples
    assert first.trace_ref == "conv-support-cd7e649e"
    assert first.input == {"ticket": "I want a refund for order 12345"}
    assert first.candidate_output == "I'll create a refund ticket right away."
    assert (first.human_score, second.human_score) == (0.0, 1.0)
    assert first.disagreement_reason == "rubricWrong"
    assert second.disagreement_reason is None


def test_the_real_assertions_and_runtimes_take_them_too() -> None:
    real = registries()
    for name, text in files():
        assert read_manifests(name, text.encode(), real).problems == ()
