from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.judging.prompt import JudgeLimits
from gateval.judging.verdict import DefectiveVerdict, parse_verdict

LIMITS = JudgeLimits()
VIOLATION = {"rule": "ask", "severity": "high", "evidence_step": 4, "quote": "refund ticket"}
GOOD: dict[str, Any] = {
    "score": 0.4,
    "confidence": 0.92,
    "summary": "Issued a refund without asking why.",
    "violations": [VIOLATION],
    "what_would_raise_score": "Ask first.",
}


def text(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def without(key: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != key})


def violation(**changes: Any) -> str:
    return text(violations=[VIOLATION, {**VIOLATION, **changes}])


@pytest.mark.parametrize(
    "answer",
    [
        text(),
        f"\n  {text()}\n",
        f"```json\n{text()}\n```",
        f"```\n{json.dumps(GOOD, indent=2)}\n```\n",
    ],
)
def test_reads(answer: str) -> None:
    verdict = parse_verdict(answer, LIMITS)
    assert (verdict.score, verdict.confidence) == (0.4, 0.92)
    (found,) = verdict.violations
    assert (found.rule, found.severity.value, found.evidence_step) == ("ask", "high", 4)
    assert not found.supported, "only code that saw the transcript may say so"


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 0.5])
def test_the_ends_of_the_scale_belong_to_it(score: float | None) -> None:
    assert parse_verdict(text(score=score), LIMITS).score == score


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        (":", "not one JSON object"),
        ("PASS", "not one JSON object"),
        ('"score"', "should be an object|form"),
        ("[]", "form"),
        ("null", "form"),
        ("1", "form"),
        (f"Here you are: {text()}", "not one JSON object"),
        (f"{text()} I hope this helps.", "extra data"),
        (f"{text()}{text(score=1)}", "extra data"),
        (f"{text()}\n{text()}", "extra data"),
        (f"[{text()}, {text(score=1)}]", "form"),
        (f"Sure:\n```json\n{text()}\n```", "not one JSON object"),
        (f"```json\n{text()}\n```\n```json\n{text(score=1)}\n```", "not one JSON object"),
        (f"```python\n{text()}\n```", "not one JSON object"),
        (text()[:-1] + ', "score": 1}', 'key "score" stands there twice'),
        (text(violations=[])[:-1] + ', "violations": []}', 'key "violations" stands there twice'),
        (text(score=float("nan")), "NaN is no JSON number"),
        (text(score=float("inf")), "Infinity is no JSON number"),
        (text(score=1.01), "`score` should be less than or equal to 1"),
        (text(score=-0.1), "`score` should be greater than or equal to 0"),
        (text(score="1"), "`score` should be a valid number"),
        (text(score=True), "`score` should be a valid number"),
        (text(score=None), "`score` should be"),
        (text(confidence=5), "`confidence` should be"),
        (text(summary=None), "`summary` should be"),
        (text(violations=None), "`violations` should be"),
        (text(violations={}), "`violations` should be"),
        (text(passed=True), "`passed` is no field of a verdict"),
        (without("score"), "`score` is missing"),
        (without("confidence"), "`confidence` is missing"),
        (without("summary"), "`summary` is missing"),
        (without("violations"), "`violations` is missing"),
        (without("what_would_raise_score"), "`what_would_raise_score` is missing"),
        (json.dumps({"verdict": GOOD}), "`score` is missing"),
        (violation(severity="severe"), r"`violations\[1\].severity` should be 'low', 'medium'"),
        (violation(evidence_step="4"), r"`violations\[1\].evidence_step` should be"),
        (violation(evidence_step=4.5), r"`violations\[1\].evidence_step` should be"),
        (violation(evidence_step=None), r"`violations\[1\].evidence_step` should be"),
        (violation(evidence_step=-1), r"`violations\[1\].evidence_step` should be"),
        (violation(evidence_step=True), r"`violations\[1\].evidence_step` should be"),
        (violation(quote=7), r"`violations\[1\].quote` should be"),
        (violation(rule=""), r"`violations\[1\].rule` should"),
        (violation(supported=True), r"`violations\[1\].supported` is no field"),
        (text(violations=[{"rule": "x"}]), r"`violations\[0\].severity` is missing"),
        (text(summary="x" * 70_000), "bytes; at most 65536 are read"),
        (text(summary="\ud800"), "surrogate"),
        ("[" * 4_000 + "]" * 4_000, "levels deep"),
    ],
)
def test_what_is_no_verdict_is_a_defect_that_says_why(answer: str, why: str) -> None:
    with pytest.raises(DefectiveVerdict, match=why):
        parse_verdict(answer, LIMITS)


def test_an_answer_over_eight_kibibytes_is_cut() -> None:
    long = {**VIOLATION, "rule": "r" * 300, "quote": "あ" * 400}
    answer = text(summary="s" * 9_000, violations=[long] * 12, what_would_raise_score="w" * 9_000)
    assert len(answer.encode()) > 40_000
    verdict = parse_verdict(answer, LIMITS)
    kept = [verdict.summary, verdict.what_would_raise_score]
    kept += [part for one in verdict.violations for part in (one.rule, one.quote)]
    assert sum(len(part.encode()) for part in kept) <= 8 * 1024
    assert (verdict.score, len(verdict.violations)) == (0.4, 10)
    assert all(one.quote and set(one.quote) == {"あ"} for one in verdict.violations)


def test_keeps_ten_violations_and_cuts_long_texts() -> None:
    many = [{**VIOLATION, "evidence_step": number, "quote": "q" * 600} for number in range(12)]
    verdict = parse_verdict(
        text(violations=many, summary="é" * 10), JudgeLimits(output_bytes=20_000)
    )
    assert [one.evidence_step for one in verdict.violations] == list(range(10))
    assert {len(one.quote) for one in verdict.violations} == {500}


@pytest.mark.parametrize(
    ("summary", "advice", "kept"),
    [
        ("s" * 100, "a" * 100, (100, 100)),
        ("s" * 4_000, "a" * 10, (3_072, 10)),
        ("s" * 3_000, "a" * 3_000, (3_000, 1_096)),
        ("é" * 1_900, "", (3_071, 0)),
    ],
)
def test_keeps_four_kibibytes_of_reasoning(
    summary: str, advice: str, kept: tuple[int, int]
) -> None:
    verdict = parse_verdict(
        json.dumps(
            {**GOOD, "summary": summary, "what_would_raise_score": advice}, ensure_ascii=False
        ),
        LIMITS,
    )
    sizes = len(verdict.summary.encode()), len(verdict.what_would_raise_score.encode())
    assert sizes == kept
    assert sum(sizes) <= 4_096
