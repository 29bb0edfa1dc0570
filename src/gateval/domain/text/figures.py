"""How scores, thresholds and sizes are written: no score looks like one that decides otherwise."""

from __future__ import annotations


def show_score(low: float, high: float) -> str:
    """Return a score to two digits, or `0.40-0.60` when it is an interval."""
    first, last = _two_digits(low), _two_digits(high)
    return first if abs(high - low) < 1e-9 else f"{first}\N{EN DASH}{last}"


def show_threshold(threshold: float | None) -> str:
    """Return a threshold to two digits, or to as many as it has: 0.996 is not 1.00."""
    if threshold is None:
        return "none"
    shown = f"{threshold:.2f}"
    return shown if float(shown) == threshold else repr(threshold)


def show_percent(rate: float) -> str:
    """Return a rate in whole per cent."""
    return f"{100 * rate:.0f} %"


def show_bytes(size: int) -> str:
    """Return a size as people read it: `512 B`, `1.5 KiB`, `20 MiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 10 else f"{amount:,.0f} {unit}"


def _two_digits(score: float) -> str:
    """Only a full score is 1.00, and only none is 0.00."""
    if 0 < score < 1:
        score = min(max(score, 0.01), 0.99)
    return f"{score:.2f}"
