"""Whether a judge's word counts: its agreement with people against what is asked of it."""

from __future__ import annotations

from gateval.domain.calibration.binding import Binding
from gateval.domain.calibration.replay import Agreement, CalibrationPhase
from gateval.domain.manifests.policy.words import AgreementPolicy
from gateval.domain.text.figures import NOT_MEASURED

LEAST_AGREEMENT = 0.6
"""What is asked of a judge that has a calibration and no `minAgreement`."""


def phase_of(
    found: Agreement,
    binding: Binding,
    now: Binding,
    least: float = LEAST_AGREEMENT,
    estimate: AgreementPolicy = AgreementPolicy.POINT,
) -> CalibrationPhase:
    """Return the phase of an agreement that was measured under `binding`, as things are `now`."""
    if not found.scored:
        return CalibrationPhase.FAILED
    return (
        CalibrationPhase.STALE
        if why_not(found, binding, now, least, estimate)
        else CalibrationPhase.CALIBRATED
    )


def why_not(
    found: Agreement,
    binding: Binding,
    now: Binding,
    least: float = LEAST_AGREEMENT,
    estimate: AgreementPolicy = AgreementPolicy.POINT,
) -> str:
    """Return why a judge is not calibrated, as the end of a sentence; empty if it is.

    `least` is the kappa that is asked, `estimate` says which figure has to reach it.
    """
    if changed := tuple(binding.changed(now)):
        verb = "has" if len(changed) == 1 else "have"
        return f"{' and '.join(changed)} {verb} changed since it was measured"
    if not found.scored:
        return f"it gave a verdict on none of its {found.missing} examples"
    total = found.scored + found.missing
    if found.too_few_scored:
        return f"it gave no verdict on {found.missing} of its {total} examples"
    if found.one_sided:
        word = "pass" if found.table.passes else "fail"
        return f"people {word} every example of it, so it cannot show that it tells good from bad"
    counted = found.kappa if estimate is AgreementPolicy.POINT else found.interval[0]
    if counted >= least:
        return ""
    what = f"its agreement with people is {show_agreement(found)}"
    if estimate is AgreementPolicy.LOWER_BOUND:
        return f"{what}, and the lower limit is below {least:g}"
    return f"{what}, below {least:g}"


def show_kappa(found: Agreement) -> str:
    """Return kappa to two digits; no figure for a judge that gave no verdict."""
    return f"{found.kappa:.2f}" if found.scored else NOT_MEASURED


def show_agreement(found: Agreement) -> str:
    """Return e.g. `κ 0.42 (95 % 0.05 to 0.79, 20 examples)`."""
    low, high = found.interval
    noun = "example" if found.scored == 1 else "examples"
    return f"κ {found.kappa:.2f} (95 % {low:.2f} to {high:.2f}, {found.scored} {noun})"
