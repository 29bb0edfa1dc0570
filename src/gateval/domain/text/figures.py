"""How scores, thresholds and sizes are written: no score looks like one that decides otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.score import Score, ends

_MOST = 9
"""Digits after the point; what is closer together counts as equal."""


NOT_MEASURED = "not measured"
"""What stands in place of a score that there is none of."""

DASH = "\N{EN DASH}"
"""What stands in the cell of a table for what was not measured."""


def show_score(score: Score, threshold: float | None = None) -> str:
    """Return a score to two digits, or `0.40-0.60` where it was measured in part; no figure for
    what was not.

    Beside a threshold it gets as many digits as show on which side of it the score is.
    """
    if (found := ends(score)) is None:
        return NOT_MEASURED
    low, high = found
    first, last = _digits(low, threshold), _digits(high, threshold)
    return first if abs(high - low) < 1e-9 else f"{first}\N{EN DASH}{last}"


def least_score(scores: Sequence[Score]) -> str:
    """Return the least of these scores; nothing where one is unknown: it may be less."""
    known = [found[0] for one in scores if (found := ends(one))]
    return f"{min(known):.4f}" if known and len(known) == len(scores) else ""


def show_threshold(threshold: float | None) -> str:
    """Return a threshold to two digits, or to as many as it has: 0.996 is not 1.00."""
    if threshold is None:
        return "none"
    shown = f"{threshold:.2f}"
    return shown if float(shown) == threshold else repr(threshold)


def show_percent(rate: float) -> str:
    """Return a rate in whole per cent."""
    return f"{100 * rate:.0f} %"


def show_usd(amount: float, beside: float | None = None) -> str:
    """Return US dollars, right to half a per cent: `$12.30`, `$0.0042`; only nothing is `$0`.

    Beside a limit it gets as many digits as show on which side of it the amount is.
    """
    if amount == 0:
        return "$0"
    for digits in range(2, _MOST):
        number = round(amount, digits)
        near = abs(number - amount) <= amount / 200
        if near and (beside is None or _side(number, beside) == _side(amount, beside)):
            return f"${number:,.{digits}f}"
    return f"${amount:.{_MOST}f}"


def show_ratio(ratio: float) -> str:
    """Return a multiple with three digits that count: `1.31`, `0.0052`, `120`."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def show_bytes(size: int) -> str:
    """Return a size as people read it: `512 B`, `1.5 KiB`, `20 MiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 10 else f"{amount:,.0f} {unit}"


def _digits(score: float, threshold: float | None) -> str:
    for digits in range(2, _MOST):
        shown = _rounded(score, digits)
        if threshold is None or _side(float(shown), threshold) == _side(score, threshold):
            return shown
    return _rounded(score, _MOST)


def _side(score: float, threshold: float) -> int:
    """Whether a score is below a threshold, equal to it, or above."""
    apart = score - threshold
    return 0 if abs(apart) < 10**-_MOST else 1 if apart > 0 else -1


def _rounded(score: float, digits: int) -> str:
    """Only a full score is 1.00, and only none is 0.00."""
    least = 10**-digits
    if 0 < score < 1:
        score = min(max(score, least), 1 - least)
    return f"{score:.{digits}f}"
