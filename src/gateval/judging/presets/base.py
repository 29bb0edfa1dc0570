"""What a preset is: a rubric with a name, a version, a source, steps and labelled examples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from gateval.domain.base import ModelName, digest
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample
from gateval.domain.manifests.fixture import Reference
from gateval.domain.paths import SourceLocation
from gateval.judging.prompt import with_grounds

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
class Preset:
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
