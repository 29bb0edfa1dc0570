"""Checks a judge's evidence by code: does the step exist, and does the quote stand in it?

Texts are compared after `fold`: escapes read, hidden characters dropped, white space folded. Case,
punctuation and wording must be the step's own. In JSON white space means nothing, so quotes from
a tool call's arguments are compared without any.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.trials.judge_verdict import Verdict, Violation
from gateval.domain.trials.trace import Step, Trace
from gateval.judging.neutral import fold, neutral_json, shorten

LEAST_QUOTE = 3
"""Folded characters a quote must have, unless it is all the step says; fewer prove nothing."""


def check_evidence(verdict: Verdict, transcript: Trace) -> Verdict:
    """Return the verdict with `supported` and `defect` of every violation set by code."""
    checked = tuple(_checked(one, transcript) for one in verdict.violations)
    return verdict.model_copy(update={"violations": checked})


def evidence_defects(verdict: Verdict) -> tuple[str, ...]:
    """Return one sentence for each violation that is not supported."""
    return tuple(
        f"violations[{index}] ({shorten(one.rule, 60)}): {one.defect}"
        for index, one in enumerate(verdict.violations)
        if not one.supported
    )


def _checked(violation: Violation, transcript: Trace) -> Violation:
    defect = _defect(violation, transcript)
    return violation.model_copy(update={"supported": not defect, "defect": defect})


def _defect(violation: Violation, transcript: Trace) -> str:
    number = violation.evidence_step
    step = transcript.step(number)
    if step is None:
        return f"there is no step {number}; the steps are 1 to {len(transcript.steps)}."
    quote = fold(violation.quote)
    if not any(char.isalnum() for char in quote):
        return "the quote is empty." if not quote else "the quote holds no letter or digit."
    if _stands_in(quote, step):
        return ""
    if len(quote) < LEAST_QUOTE:
        return f"the quote is too short; copy at least {LEAST_QUOTE} characters of step {number}."
    return f'the quote "{shorten(violation.quote, 120)}" does not stand in step {number}.'


def _stands_in(quote: str, step: Step) -> bool:
    if any(quote == text for text in map(fold, _texts(step))):
        return True
    if len(quote) < LEAST_QUOTE:
        return False
    if any(quote in text for text in map(fold, _texts(step))):
        return True
    if step.arguments is None:
        return False
    bare = _without_spaces(quote)
    written = (neutral_json(step.arguments), canonical_json(step.arguments))
    return any(bare in _without_spaces(fold(arguments)) for arguments in written)


def _texts(step: Step) -> Iterator[str]:
    """What of a step can be quoted: its text, its tool's name, and the texts in its arguments."""
    yield step.text
    if step.tool is not None:
        yield step.tool
    if step.arguments is not None:
        yield from _leaves(step.arguments)


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)


def _without_spaces(text: str) -> str:
    return "".join(text.split())
