"""Judges of graded assertions: calibration holds for them, and what they lack is an error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.assertions.assess import assess
from gateval.assertions.field_accuracy import read_date
from gateval.assertions.graded_judges import filled
from gateval.assertions.own_checks import in_folder
from gateval.domain.manifests.fixture import starting_folder
from gateval.domain.trials.trial import Assessment, Cause
from gateval.judging.judge import Judge
from tests.helpers.own_checks import with_files
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import JUDGE, fixture, said

VERDICT = json.dumps(
    {"score": 1, "confidence": 1, "summary": "So.", "violations": [], "what_would_raise_score": ""}
)
CHECKED = json.dumps(
    {"checks": [{"id": "rubric-1", "satisfied": True}], "overall_reasoning": "So."}
)
PART: dict[str, Any] = {"type": "contains", "value": "Hello"}
JUDGED: list[tuple[dict[str, Any], str]] = [
    ({"type": "llmJudge"}, VERDICT),
    ({"type": "rubric", "items": ["Is kind"]}, CHECKED),
    ({"type": "judgeFromScript", "command": ["echo", "How good?"]}, VERDICT),
    ({"type": "compositeJudge", "assertions": [PART]}, VERDICT),
    ({"type": "composite", "assertions": [{"type": "llmJudge"}]}, VERDICT),
]


class Echo:
    """Runs each check as if it printed a prompt."""

    async def run(self, order: object) -> bytes:
        return b"How good?"


async def doubted() -> str:
    return "kappa is 0.1"


def found(written: dict[str, Any], reply: str | None, **options: Any) -> Assessment:
    judge = None if reply is None else Judge(ScriptedCalls([says(reply)], forever=True))
    asked = with_files(fixture(written))
    (one,), _ = asyncio.run(assess(asked, said("Hello"), judge, JUDGE, checks=Echo(), **options))
    return one


@pytest.mark.parametrize(("written", "reply"), JUDGED, ids=[str(one["type"]) for one, _ in JUDGED])
def test_a_judge_that_is_not_calibrated_says_nothing_in_any_of_them(
    written: dict[str, Any], reply: str
) -> None:
    assert found(written, reply).score == 1
    unbelieved = found(written, reply, doubt=doubted)
    assert (unbelieved.score, unbelieved.cause) == (None, Cause.UNCALIBRATED)
    assert not unbelieved.counts


@pytest.mark.parametrize(("written", "reply"), JUDGED, ids=[str(one["type"]) for one, _ in JUDGED])
def test_without_a_judge_they_are_errors(written: dict[str, Any], reply: str) -> None:
    assert (found(written, None).score, found(written, None).cause) == (None, Cause.GATE)
    broken = found(written, "not JSON")
    assert (broken.score, broken.cause) == (None, Cause.JUDGE)


@pytest.mark.parametrize("kind", ["codeJudge", "judgeFromScript", "compositeScript"])
def test_without_anything_that_runs_programs_they_are_errors(kind: str) -> None:
    parts: dict[str, Any] = {"assertions": [PART]} if kind == "compositeScript" else {}
    asked = fixture({"type": kind, "command": ["true"], **parts})
    judge = Judge(ScriptedCalls([says(VERDICT)]))
    (one,), _ = asyncio.run(assess(asked, said("Hello"), judge, JUDGE))
    assert (one.score, one.cause) == (None, Cause.GATE)


@pytest.mark.parametrize(
    ("cwd", "folder", "leads"),
    [("", "evals", None), ("judges", "evals", "judges"), ("../lib", "a/evals", "../lib"),
     ("/tools", "a/evals", "../../tools"), (".", "evals", None), ("/", "evals", ".."),
     ("../..", "evals", None)],
)  # fmt: skip
def test_a_program_runs_in_its_folder(cwd: str, folder: str, leads: str | None) -> None:
    words = in_folder(("python3", "x.py"), cwd, folder)
    assert words[-2:] == ("python3", "x.py")
    assert (words[4] if len(words) > 2 else None) == leads
    spec = fixture({"type": "codeJudge", "command": ["x"], "cwd": cwd}).assertions[0]
    assert (starting_folder(spec, folder) is None) == (cwd == "../..")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }} {{a}} {{  b.c }}", "1 1 [2]"),
        ("{{ none }}|{{ lacks }}|{{ b.lacks }}|{{ a.b }}", "|{{ lacks }}|{{ b.lacks }}|{{ a.b }}"),
        ("{{ again }}", "{{ a }}"),
        ("{ { a } } {{}} {{ 1 }}", "{ { a } } {{}} {{ 1 }}"),
    ],
)
def test_templates(template: str, text: str) -> None:
    words: dict[str, Any] = {"a": 1, "b": {"c": [2]}, "none": None, "again": "{{ a }}"}
    assert filled(template, words) == text


@pytest.mark.parametrize(
    ("text", "formats", "day"),
    [
        ("2026-11-20", (), "2026-11-20"),
        ("20-NOV-2026", (), "2026-11-20"),
        ("Nov 20, 2026", (), "2026-11-20"),
        ("20 November 2026", (), "2026-11-20"),
        ("2026-11-20T23:10:00Z", (), "2026-11-20"),
        ("11/20/2026", (), "2026-11-20"),
        ("20/11/2026", (), "2026-11-20"),
        ("03/04/2026", ("DD/MM/YYYY",), "2026-04-03"),
        ("20.11.26", ("DD.MM.YY",), "2026-11-20"),
        ("2026-02-30", (), None),
        ("soon", (), None),
        ("2026-11-20", ("DD.MM.YYYY",), None),
        ("1 1", ("D D",), None),
    ],
)
def test_days(text: str, formats: tuple[str, ...], day: str | None) -> None:
    found = read_date(text, formats)
    assert (found and found.isoformat()) == day
