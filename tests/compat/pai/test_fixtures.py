"""EvalFixture."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.app.readers import registries
from gateval.assertions.registry import ASSERTIONS
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import ScoringSpec
from gateval.domain.manifests.fixture import DEFAULT_WEIGHTS, Fixture, Severity
from gateval.domain.results.trial_verdict import trial_score
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Replay
from gateval.domain.trials.trial import Answer, AssessmentStatus
from gateval.formats.native.manifests import read_manifests
from tests.compat.rows import states
from tests.helpers.assessments import make_assessment
from tests.helpers.documents import document
from tests.helpers.manifests import catalogue_of
from tests.helpers.trials import assessed, called, said, trace

PASSED, FAILED = AssessmentStatus.PASSED, AssessmentStatus.FAILED

FIXTURE = """\
apiVersion: pai.io/v1
kind: EvalFixture
metadata: {name: f}
spec:
  kind: golden
  severity: medium
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: contains, value: hi}]
"""


def read(text: str) -> tuple[list[Fixture], list[str]]:
    """The fixtures of a manifest, read with the real registries, and its problems."""
    parsed = read_manifests("evals/f.yaml", text.encode(), registries())
    found = [one for one in parsed.manifests if isinstance(one, Fixture)]
    return found, [str(problem) for problem in parsed.problems]


def read_one(old: str = "", new: str = "") -> Fixture:
    assert old in FIXTURE
    (found,), problems = read(FIXTURE.replace(old, new, 1))
    assert problems == []
    return found


def passes(assertion: dict[str, Any], answer: Answer) -> bool:
    return assessed(assertion, answer).status is PASSED


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return catalogue_of([document(name) for name in ("refund-must-clarify", "input-types")])


@states("A fixture captures one input, one set of assertions, one expected outcome")
@states("`targetAgent`, `kind`, `severity`, `description`, `input`, `assertions`, labels")
@states("`spec.origin`: `traceId`, `promotedAt`, `promotedBy`")
def test_the_documents_fixture(catalogue: Catalogue) -> None:
    fixture = catalogue.fixture("refund-must-clarify")
    assert fixture is not None
    assert (fixture.target_agent, fixture.fixture_kind, fixture.severity) == (
        "support-bot", "bad", "high",
    )  # fmt: skip
    assert fixture.labels["scenario"] == "refund"
    assert [one.type for one in fixture.assertions] == ["toolCalled", "toolNotCalled", "judge"]
    assert fixture.origin is not None
    assert fixture.origin.promoted_by == "amir@company.com"


@states("`input.type`: `webhook`, `prompt`, `telegram`, `slack` or `email`")
def test_input_types(catalogue: Catalogue) -> None:
    found = {one.input.type.value for one in catalogue.fixtures if one.name.startswith("input-")}
    assert found == {"webhook", "prompt", "telegram", "slack", "email"}


@states("`spec.kind` is `golden`, `bad` or `edge`; the runner does not treat the three differently")
def test_kinds_are_for_people() -> None:
    found = [read_one("golden", kind) for kind in ("golden", "bad", "edge")]
    assert [one.fixture_kind for one in found] == ["golden", "bad", "edge"]
    answer = [
        passes({"type": "contains", **one.assertions[0].options}, said("hi")) for one in found
    ]
    assert answer == [True] * 3
    _, problems = read(FIXTURE.replace("golden", "silver"))
    assert "Expected golden, bad or edge" in problems[0]


@states(
    "`spec.severity` weights the fixture's share of the Eval's score: low 0.5, medium 1, high 2, "
    "critical 4"
)
@states("A single critical failure can dominate the overall score")
def test_severities() -> None:
    assert {one.value: weight for one, weight in DEFAULT_WEIGHTS.items()} == {
        "low": 0.5, "medium": 1.0, "high": 2.0, "critical": 4.0,
    }  # fmt: skip
    scoring = ScoringSpec()
    critical, others = scoring.weight(Severity.CRITICAL), 3 * scoring.weight(Severity.MEDIUM)
    assert others / (others + critical) < 0.5


@states("`toolCalled`: the named tool was invoked; `before[]`, `after[]` check the order")
def test_tool_called() -> None:
    ordered = {"type": "toolCalled", "tool": "ask", "before": ["pay"]}
    assert passes(ordered, called("ask pay"))
    assert not passes(ordered, called("pay ask"))
    assert not passes({"type": "toolCalled", "tool": "ask"}, called("pay"))
    assert passes({"type": "toolCalled", "tool": "ask", "after": ["look"]}, called("look ask"))


@states("`toolNotCalled`: the named tool was not invoked")
def test_tool_not_called() -> None:
    assert passes({"type": "toolNotCalled", "tool": "pay"}, called("ask"))
    assert not passes({"type": "toolNotCalled", "tool": "pay"}, called("ask pay"))
    assert passes({"type": "toolNotCalled", "tool": "pay", "after": ["ask"]}, called("pay ask"))


@states("`toolSequence`: the order appears as a subsequence of the actual tool calls")
def test_tool_sequence() -> None:
    assert passes({"type": "toolSequence", "tools": ["a", "c"]}, called("a b c"))
    assert not passes({"type": "toolSequence", "tools": ["c", "a"]}, called("a b c"))


@states("`contains`: substring of the agent's final message; optional `field`")
@states("`notContains`: substring is absent; optional `field`")
@states("`regex`: the pattern matches somewhere in the final message")
def test_text() -> None:
    assert passes({"type": "contains", "value": "sum"}, said("The sum is 4"))
    assert passes({"type": "contains", "value": "4", "field": "sum"}, said('{"sum": 4}'))
    assert not passes({"type": "notContains", "value": "sum"}, said("The sum is 4"))
    assert passes({"type": "notContains", "value": "5", "field": "sum"}, said('{"sum": 4}'))
    assert passes({"type": "regex", "pattern": "s.m is [0-9]"}, said("The sum is 4"))


@states(
    "`cost`: total tokens stayed below a cap, `maxTokens`",
    differs="as many as the cap still pass; `maxUSD` limits money, too",
)
def test_cost() -> None:
    usage = Usage(input_tokens=90, output_tokens=10, usd=0.02)
    answer = Answer(output="x", trace=trace("user: hi", usage=usage), seconds=1)
    assert passes({"type": "cost", "maxTokens": 100}, answer)
    assert not passes({"type": "cost", "maxTokens": 99}, answer)
    assert not passes({"type": "cost", "maxUSD": 0.01}, answer)


@states(
    "`latency` is reserved and has no required fields",
    differs="it is read without fields and then only notes the time; with `maxSeconds` it limits "
    "that, in seconds without set-up",
)
def test_latency() -> None:
    slow = Answer(output="x", seconds=9)
    assert passes({"type": "latency"}, slow)
    assert "after 9.000 s" in assessed({"type": "latency"}, slow).reason
    assert passes({"type": "latency", "maxSeconds": 9}, slow)
    assert not passes({"type": "latency", "maxSeconds": 8.9}, slow)


@states("Nine assertion types, `judge` among them (`rubric`, optional `minScore`, `kind`)")
def test_all_types_are_known() -> None:
    named = {
        "toolCalled", "toolNotCalled", "toolSequence", "contains", "notContains", "regex", "cost",
        "judge", "latency",
    }  # fmt: skip
    assert named <= set(ASSERTIONS)
    assert {"rubric", "min_score", "kind"} <= set(ASSERTIONS["judge"].model_fields)


@states("Each assertion has a `weight` (default 1.0), which multiplies what it adds to the score")
@states("An assertion's `severity` overrides the fixture's for this assertion only")
def test_weights_and_severities_of_assertions() -> None:
    plain, heavy = "{type: contains, value: hi}", "{type: contains, value: hi, weight: 3}"
    critical = "{type: contains, value: hi, severity: critical}"

    def score(*written: str) -> float | None:
        fixture = read_one("[{type: contains, value: hi}]", f"[{', '.join(written)}]")
        statuses = (PASSED, *[FAILED] * (len(written) - 1))
        found = [make_assessment(type="contains", status=one, reason="") for one in statuses]
        return trial_score(fixture, found, ScoringSpec(severity_weights={Severity.CRITICAL: 9}))

    assert score(plain, plain) == 0.5
    assert score(heavy, plain) == 0.75
    assert score(critical, plain) == 0.9, "by the weights of the Eval"
    assert score("{type: contains, value: hi, weight: 0}", plain) == 0.0


@states(
    "`spec.toolReplay` and `spec.shadowTools` are accepted and ignored, so only agents whose tools "
    "are safe may be run",
    differs="they are honoured: tools answer from the fixture, and none without a backend is ever "
    "run live",
)
def test_replay_and_shadow_are_real() -> None:
    fixture = read_one(
        "  assertions:", "  toolReplay: [{tool: refund, result: {ok: true}}]\n"
        "  shadowTools: [send_email]\n  assertions:",
    )  # fmt: skip
    replay = Replay(fixture.tool_replay, fixture.shadow_tools)
    assert replay.answer("refund", {}).text == '{"ok":true}'
    assert "shadow" in replay.answer("send_email", {}).text


@states("Hand-written fixtures leave `origin` blank")
def test_no_origin() -> None:
    assert read_one().origin is None


@states("An assertion without its required field", refused='The required key "tool" is missing')
def test_required_fields(refusal: str) -> None:
    _, problems = read(FIXTURE.replace("{type: contains, value: hi}", "{type: toolCalled}"))
    assert any(refusal in problem for problem in problems), problems
