"""The rubrics that come with the gate: each has a source, steps, and examples that can measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateval.domain.base import digest
from gateval.domain.manifests.fixture import JUDGE_PRESETS, Reference
from gateval.domain.trials.trial import Answer, Assessment, Cause
from gateval.judging import presets
from gateval.judging.judge import Judge
from gateval.judging.presets import EXPECTED, REFERENCE, RubricPreset, preset
from tests.helpers.scripted_calls import ScriptedCalls, says
from tests.helpers.trials import assessed

DIGESTS = Path(__file__).parents[2] / "data" / "presets.json"
ALL = [preset(name) for name in JUDGE_PRESETS]
GOOD = json.dumps({"score": 1, "confidence": 1, "summary": "So it is.", "violations": [],
                   "what_would_raise_score": ""})  # fmt: skip


def content(one: RubricPreset) -> str:
    """The digest of all that a version promises."""
    return digest([one.rubric, *([*map(repr, one.examples)])])


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_each_is_called_what_its_file_says_and_names_a_source(one: RubricPreset) -> None:
    assert preset(one.name) == one
    assert preset(f"{one.name}@{one.version}") == one
    assert one.source
    assert len(one.steps) >= 3
    assert set(one.needs) <= {EXPECTED, REFERENCE}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_six_examples_let_a_judge_be_right_and_wrong(one: RubricPreset) -> None:
    assert len(one.examples) == 6
    assert {example.score >= 0.5 for example in one.examples} == {True, False}
    assert len({(str(example.input), example.output) for example in one.examples}) == 6
    for example in one.calibration("scripted/judge").examples:
        assert not one.lacks(example.given)
        assert bool(one.needs) is (example.given != Reference())


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_another_wording_is_another_version(one: RubricPreset) -> None:
    known = json.loads(DIGESTS.read_text())
    assert known[f"{one.name}@{one.version}"] == content(one), (
        f"{one.name} says something else than version {one.version} did: raise its version, and "
        f"note {content(one)} in {DIGESTS.name}"
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("faithfullness", 'There is no preset "faithfullness". Did you mean "faithfulness"?'),
        ("tone@99", 'The preset "tone" has version 1 here, not 99.'),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(written: str, said: str) -> None:
    with pytest.raises(ValueError, match="preset") as refused:
        preset(written)
    assert str(refused.value).startswith(said)


def judged(name: str, reference: Reference | None, *replies: str) -> tuple[Assessment, str]:
    """Have a judge score an answer by a preset; return what came of it and what it was asked."""
    calls = ScriptedCalls(says(reply) for reply in replies)
    answer = Answer(output="It opens at 10:00.", seconds=1)
    found = assessed({"type": "judge", "preset": name}, answer, Judge(calls), reference)
    return found, " ".join(m.text for _, request, _ in calls.asked for m in request.messages)


def test_a_preset_shows_the_judge_what_the_case_says() -> None:
    known = Reference(answer="At 10:00", context=["It opens at 10:00 on Saturdays."])
    found, asked = judged("faithfulness", known, GOOD)
    assert (found.status, found.score) == ("passed", 1)
    assert "every claim of the final answer follows from the reference" in asked
    assert "It opens at 10:00 on Saturdays." in asked
    assert "At 10:00" not in asked  # what the expected answer is does not bear on faithfulness


@pytest.mark.parametrize("reference", [None, Reference(answer="At 10:00")])
def test_without_what_it_needs_nothing_is_measured(reference: Reference | None) -> None:
    found, asked = judged("faithfulness", reference)
    assert (found.status, found.cause, asked) == ("error", Cause.GATE, "")
    assert "preset faithfulness needs `context` of the case's `reference`" in found.reason


def test_toxicity_needs_nothing_but_the_answer() -> None:
    found, _ = judged("toxicity", None, GOOD)
    assert found.score == 1


def test_every_rubric_file_is_a_preset() -> None:
    folder = Path(presets.__file__).with_name("rubrics")
    assert {file.name for file in folder.iterdir()} == {f"{name}.toml" for name in JUDGE_PRESETS}
