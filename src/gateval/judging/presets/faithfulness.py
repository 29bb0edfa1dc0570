"""`faithfulness`: nothing in the answer goes beyond the reference."""

from __future__ import annotations

from gateval.judging.presets.base import REFERENCE, Example, Preset

_LIBRARY = (
    "The library opens at 9:00 on weekdays and at 10:00 on Saturdays. It is closed on Sundays."
)
_PHONE = "The A10 phone has a 6.1 inch display, a 4,000 mAh battery and weighs 172 g."

PRESET = Preset(
    name="faithfulness",
    version=1,
    measures="Faithfulness: every claim of the final answer follows from the reference.",
    source="RAGAS, faithfulness: Es et al. 2023, https://arxiv.org/abs/2309.15217",
    needs=(REFERENCE,),
    steps=(
        (
            "List the claims of the final answer: each statement about the world that can be true "
            "or false by itself. Greetings, questions and refusals are no claims."
        ),
        (
            "For each claim, decide whether the reference states or implies it. What you know "
            "from elsewhere does not count, even if it is true."
        ),
        (
            "Name each claim that the reference does not support as a violation, and quote it "
            "from the answer."
        ),
    ),
    scale="the number of supported claims divided by the number of claims; 1 if there is none.",
    examples=(
        Example(
            input="When does the library open on Saturday?",
            reference=_LIBRARY,
            output="It opens at 10:00 on Saturdays.",
            score=1.0,
            why="The reference says just that.",
        ),
        Example(
            input="When does the library open on Saturday?",
            reference=_LIBRARY,
            output="It opens at 8:00 on Saturdays.",
            score=0.0,
            why="The reference says 10:00.",
        ),
        Example(
            input="Is the library open on Sunday?",
            reference=_LIBRARY,
            output="No. It is closed on Sundays, but open on weekdays from 9:00.",
            score=1.0,
            why="Both claims stand in the reference.",
        ),
        Example(
            input="Tell me about the A10.",
            reference=_PHONE,
            output="The A10 was released in 2021, costs 499 dollars and is water-resistant.",
            score=0.0,
            why="The reference supports none of the three claims.",
        ),
        Example(
            input="How heavy is the A10?",
            reference=_PHONE,
            output="I cannot look into your hands, but the A10 weighs 172 g.",
            score=1.0,
            why="The only claim stands in the reference.",
        ),
        Example(
            input="What battery does the A10 have?",
            reference=_PHONE,
            output="It has 4,000 mAh, charges wirelessly in 30 minutes and lasts for three days.",
            score=0.33,
            why="One of three claims is supported; charging and duration are made up.",
        ),
    ),
)
