"""How scores and thresholds are written, so that none looks like another that decides otherwise."""

from __future__ import annotations


def show_score(low: float, high: float) -> str:
    """Return a score to two digits, or `0.40-0.60` when it is an interval."""
    first, last = _two_digits(low), _two_digits(high)
    return first if abs(high - low) < 1e-9 else f"{first}\N{EN DASH}{last}"


def show_threshold(threshold: float) -> str:
    """Return a threshold to two digits, or to as many as it has: 0.996 is not 1.00."""
    shown = f"{threshold:.2f}"
    return shown if float(shown) == threshold else repr(threshold)


def _two_digits(score: float) -> str:
    """Only a full score is 1.00, and only none is 0.00."""
    if 0 < score < 1:
        score = min(max(score, 0.01), 0.99)
    return f"{score:.2f}"
