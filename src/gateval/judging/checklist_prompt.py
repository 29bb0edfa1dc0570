"""Says how a judge is to answer a list of checks, in the frame that all its questions have."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.judging.checklist import POINTS, Check, asked_checks
from gateval.judging.limits import JudgeLimits
from gateval.judging.prompt import Question

ANSWER = """\
The rubric is a list of checks, each with an `id`. Answer every one of them by itself. A check \
with `points` gets a whole number from 0 to {points}, and its `bands` say what the numbers mean; \
every other check is satisfied or not. A check that is `satisfied_unless_contradicted` is \
satisfied unless the run says the contrary.

Answer with one JSON object and nothing else, with exactly these fields:
{{
  "checks": list, one entry for each check,
    {{"id": the check's id, "satisfied": true | false (or "score": whole number, for one with \
points), "reasoning": text, one sentence, "evidence_step": number of a step, "quote": text}},
  "overall_reasoning": text, one or two sentences,
  "confidence": number from 0 to 1, how sure you are
}}

`evidence_step` and `quote` are needed for every check that is not satisfied or has fewer than \
{points} points, and may be null for the others. `quote` is copied letter by letter from the \
text of the step `evidence_step`, at most {quote_characters} characters; for a tool call it is \
the tool's name or a piece of its arguments. If something is missing in the run, cite the step \
where it should have happened. Quotes are checked by a program; what is taken off without a \
quote that stands in its step does not count.\
"""
"""What a judge is told of lists of checks, besides `PROMPT`."""


def checklist_question(checks: Sequence[Check], about: str, limits: JudgeLimits) -> Question:
    """Return the question which of these checks a run satisfies; `about` says what else is to be
    known.
    """
    answer = ANSWER.format(points=POINTS, quote_characters=limits.quote_characters)
    return Question({"checks": asked_checks(checks), "context": about}, answer)
