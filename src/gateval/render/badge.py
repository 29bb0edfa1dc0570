"""A badge: how Evals stand, as a picture and as shields.io's endpoint takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gateval.domain.history.run_record import RunEval
from gateval.domain.text import show_score
from gateval.domain.verdicts import PRECEDENCE, GateVerdict, NotMeasured
from gateval.render.plots import safe

_COLORS = {
    GateVerdict.PASS: ("brightgreen", "#2a7f32"),
    GateVerdict.FAIL: ("red", "#b0171f"),
    GateVerdict.INCOMPLETE: ("yellow", "#7a5c00"),
    GateVerdict.INCONCLUSIVE: ("yellow", "#7a5c00"),
}
"""What shields.io calls them, and grounds on which white letters can be read."""

_LABEL, _LETTER, _PAD = "evals", 6.7, 12


def message_of(evals: Sequence[RunEval]) -> tuple[str, GateVerdict]:
    """Return what a badge says of these runs, each the newest of its Eval, and the verdict."""
    verdict = min((one.verdict for one in evals), key=PRECEDENCE.index)
    if len(evals) == 1:
        (one,) = evals
        known = not isinstance(one.score, NotMeasured)
        return f"{verdict} {show_score(one.score)}" if known else verdict.value, verdict
    passing = sum(one.verdict is GateVerdict.PASS for one in evals)
    return f"{passing:,} of {len(evals):,} pass", verdict


def endpoint_badge(name: str, evals: Sequence[RunEval]) -> str:
    """Return JSON of https://shields.io/badges/endpoint-badge."""
    message, verdict = message_of(evals)
    told = {
        "schemaVersion": 1,
        "label": name[:100] or _LABEL,
        "message": message,
        "color": _COLORS[verdict][0],
        "cacheSeconds": 300,
    }
    return json.dumps(told) + "\n"


def svg_badge(name: str, evals: Sequence[RunEval]) -> str:
    """Return the same as a picture."""
    message, verdict = message_of(evals)
    words = (name[:100] or _LABEL, message)
    left, right = (round(_LETTER * len(one)) + 2 * _PAD for one in words)
    color = _COLORS[verdict][1]
    texts = "".join(
        f'<text x="{at:.0f}" y="14" text-anchor="middle">{safe(one)}</text>'
        for one, at in zip(words, (left / 2, left + right / 2), strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{safe(": ".join(words))}"><title>{safe(": ".join(words))}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="#444c56"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{right - 3}z" '
        f'fill="{color}"/><g fill="white" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11">{texts}</g></svg>\n'
    )
