"""Which judges are measured by which labelled examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.calibration.belief import LEAST_AGREEMENT
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.repository.place import nearest
from gateval.errors import UsageError
from gateval.judging.presets.registry import preset


class AskedJudge(NamedTuple):
    """A judge to measure, and the kappa that is asked of it."""

    calibration: Calibration
    spec: JudgeSpec
    least: float


def judges_asked(
    catalogue: Catalogue, names: Sequence[str], models: Sequence[str]
) -> list[AskedJudge]:
    """Return the judges of the named calibrations, of all without a name. Raises `UsageError`."""
    known = [one.name for one in catalogue.calibrations]
    for name in names:
        if name not in known:
            raise UsageError(
                f'There is no JudgeCalibration "{name}" on this revision.{nearest(name, known)}',
                hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
            )
    if not known:
        raise UsageError(
            "There is no JudgeCalibration on this revision.",
            hint="`gateval challenge` begins one from a verdict that you do not share.",
        )
    wanted = [one for one in catalogue.calibrations if not names or one.name in names]
    return [asked for one in wanted for asked in _judges(one, catalogue, models)]


def judges_of_preset(name: str, catalogue: Catalogue, models: Sequence[str]) -> list[AskedJudge]:
    """Return the judges of a preset: the models given, else those of the Evals.

    Raises `UsageError` for a preset that is not there, and where there is no judge.
    """
    try:
        chosen = preset(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    judging = [one.judge for one in catalogue.evals if one.judge.model is not None]
    specs = dict.fromkeys(
        (str(one.model), one.temperature) for one in judging if not models
    ) or dict.fromkeys((model, 0.0) for model in models)
    if not specs:
        raise UsageError(
            "No Eval on this revision names a judge to measure.",
            hint="Name one: gateval calibrate --preset NAME --model PROVIDER/ID.",
        )
    return [
        AskedJudge(
            chosen.calibration(model),
            JudgeSpec(model=model, temperature=temperature),
            LEAST_AGREEMENT,
        )
        for model, temperature in specs
    ]


def _judges(
    calibration: Calibration, catalogue: Catalogue, models: Sequence[str]
) -> list[AskedJudge]:
    """The judges of a calibration: those it lists and those of the Evals that name it."""
    naming = [one for one in catalogue.evals if one.judge.calibration == calibration.name]
    judging = [one for one in naming if one.judge.model is not None]
    found: dict[tuple[str, float], AskedJudge] = {}
    for model in models or (*calibration.judge_models, *(str(e.judge.model) for e in judging)):
        mine = [one for one in judging if one.judge.model == model]
        for temperature in dict.fromkeys(one.judge.temperature for one in mine) or (0.0,):
            spec = JudgeSpec(model=model, temperature=temperature)
            found[model, temperature] = AskedJudge(calibration, spec, _least(mine or naming))
    return list(found.values())


def _least(evals: Sequence[Eval]) -> float:
    """The highest kappa that one of these Evals asks."""
    asked = [one.judge.min_agreement for one in evals]
    return max((LEAST_AGREEMENT if a is None else a for a in asked), default=LEAST_AGREEMENT)
