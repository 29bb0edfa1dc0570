"""What a measured agreement belongs to. When one of these changes, it says nothing any more."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.base import Value, digest
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.evaluation import JudgeSpec


class Binding(Value):
    """The judge and the examples of a replay; all but `model` and `temperature` are SHA-256.

    `prompt` is that of Gateval's own words to judges, `script` that of a scripted judge's rules.
    Of an example, the person's reason does not count: no judge sees it.
    """

    model: str
    temperature: float
    prompt: str
    rubric: str
    examples: str
    script: str = ""

    @property
    def digest(self) -> str:
        """The digest of all of it: equal digests, equal questions to the same judge."""
        return digest(self.model_dump(mode="json"))

    def changed(self, now: Binding) -> Iterator[str]:
        """Yield what is otherwise now, in words."""
        for name, word in _WORDS.items():
            if getattr(self, name) != getattr(now, name):
                yield word


_WORDS = {
    "model": "the model",
    "temperature": "the temperature",
    "prompt": "Gateval's prompt for judges",
    "rubric": "the rubric",
    "examples": "the examples",
    "script": "the script of the judge",
}


def binding_of(
    calibration: Calibration, spec: JudgeSpec, *, prompt: str, script: str = ""
) -> Binding:
    """Return what a replay of `calibration` by this judge is bound to.

    `prompt` is the digest of the prompt, `script` that of a scripted judge.
    """
    examples = [one.asked for one in calibration.examples]
    return Binding(
        model=spec.model or "",
        temperature=spec.temperature,
        prompt=prompt,
        rubric=digest(calibration.rubric),
        examples=digest([*examples]),
        script=script,
    )
