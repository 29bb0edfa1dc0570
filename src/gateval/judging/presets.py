"""Presets: rubrics that come with the gate, each with a version, a source, steps and examples.

A preset is a file in `rubrics/`, which is read when it is first asked for.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from gateval.domain.base import ModelName, digest
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample
from gateval.domain.manifests.fixture import JUDGE_PRESETS, Reference
from gateval.domain.paths import nearest
from gateval.domain.problems import SourceLocation

EXPECTED, REFERENCE = "expected", "reference"
"""What a case may say of a good answer, and what that rests on."""


@dataclass(frozen=True)
class Example:
    """An answer with the score in [0, 1] that it deserves, and why, for a calibration."""

    output: str
    score: float
    why: str
    input: JsonValue = None
    expected: JsonValue = None
    reference: JsonValue = None


@dataclass(frozen=True)
class RubricPreset:
    """A rubric with its source. 1 is the best score in each of them, also of `toxicity`.

    `measures` is a sentence, `source` a publication, `needs` what of `expected` and `reference` the
    judge is shown: it needs one of them; empty for neither. Another wording is another `version`.
    """

    name: str
    version: int
    measures: str
    source: str
    steps: tuple[str, ...]
    scale: str
    examples: tuple[Example, ...]
    needs: tuple[str, ...] = ()

    @cached_property
    def rubric(self) -> str:
        """What the judge is asked."""
        steps = "\n".join(f"{number}. {one}" for number, one in enumerate(self.steps, 1))
        return f"{self.measures}\n\nSteps:\n{steps}\n\nScore: {self.scale}"

    def asked(self, given: Reference) -> str:
        """Return the rubric with what a case says; see `with_grounds`."""
        from gateval.judging.prompt import with_grounds  # `validate` has nothing to ask

        told = {
            "answer": given.wanted if EXPECTED in self.needs else None,
            "context": given.context if REFERENCE in self.needs else None,
        }
        return with_grounds(self.rubric, Reference.model_validate(told))

    def lacks(self, given: Reference) -> bool:
        """Whether a case says nothing of what the judge needs."""
        known = {EXPECTED: given.wanted, REFERENCE: given.context}
        return bool(self.needs) and all(known[one] is None for one in self.needs)

    def calibration(self, model: ModelName) -> Calibration:
        """Return its examples as a JudgeCalibration of this judge."""
        examples = [
            CalibrationExample(
                input=one.input,
                candidate_output=one.output,
                human_score=one.score,
                human_label=one.why,
                expected=one.expected,
                reference=one.reference,
            )
            for one in self.examples
        ]
        told = [one.model_dump(mode="json") for one in examples]
        return Calibration(
            name=f"preset-{self.name.lower()}",
            rubric=self.rubric,
            judge_models=(model,),
            examples=tuple(examples),
            place=SourceLocation(file=f"preset {self.name}@{self.version}"),
            path="",
            digest=digest([self.rubric, *told]),
        )


def preset(written: str) -> RubricPreset:
    """Return the preset of this name, which may end in `@VERSION`.

    Raises `ValueError` with a sentence for one that is not there, or has another version.
    """
    name, _, version = written.partition("@")
    if name not in JUDGE_PRESETS:
        raise ValueError(
            f'There is no preset "{name[:80]}".{nearest(name, JUDGE_PRESETS)} '
            f"Known: {', '.join(JUDGE_PRESETS)}."
        )
    found = _loaded(name)
    if version and version != str(found.version):
        raise ValueError(
            f'The preset "{name}" has version {found.version} here, not {version[:20]}. Look at '
            f"what changed with `gateval calibrate --preset {name}`, then write "
            f"`{name}@{found.version}`."
        )
    return found


@functools.cache
def _loaded(name: str) -> RubricPreset:
    file = Path(__file__).with_name("rubrics") / f"{name}.toml"
    written = tomllib.loads(file.read_text("utf-8"))
    return TypeAdapter(RubricPreset).validate_python({"name": name, **written})
