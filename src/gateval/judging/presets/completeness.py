"""`completeness`: the answer has all that a good one has."""

from __future__ import annotations

from gateval.judging.presets.base import EXPECTED, REFERENCE, Example, Preset

_STEPS = "Unplug the device. Wait ten seconds. Plug it in. Hold the button until the light blinks."

PRESET = Preset(
    name="completeness",
    version=1,
    measures="Completeness: the final answer has every point of the expected answer or reference "
    "that the question asks for.",
    source="TREC 2003 question answering track, recall of vital nuggets (Voorhees 2003)",
    needs=(EXPECTED, REFERENCE),
    steps=(
        (
            "List the points of the expected answer, or those of the reference that the question "
            "asks for."
        ),
        (
            "For each point, decide whether the final answer says it, in whatever words. What it "
            "says besides does not matter here."
        ),
        (
            "Name each missing point as a violation; quote the sentence of the answer where it "
            "should stand."
        ),
    ),
    scale="the number of points that the answer says divided by the number of points.",
    examples=(
        Example(
            input="How do I restart the device?",
            expected=_STEPS,
            output="Unplug it, wait ten seconds, plug it in again and hold the button until the "
            "light blinks.",
            score=1.0,
            why="All four steps.",
        ),
        Example(
            input="How do I restart the device?",
            expected=_STEPS,
            output="Unplug it.",
            score=0.25,
            why="One of four steps.",
        ),
        Example(
            input="Which colours does the flag of Italy have?",
            expected="Green, white and red.",
            output="Red, white and green, in vertical stripes.",
            score=1.0,
            why="All three; that it says more does not matter.",
        ),
        Example(
            input="Which colours does the flag of Italy have?",
            expected="Green, white and red.",
            output="Green, above all.",
            score=0.33,
            why="One of three.",
        ),
        Example(
            input="What do I need for a library card?",
            expected="An identity card and proof of address.",
            output="Bring your identity card, and something that proves your address.",
            score=1.0,
            why="Both points, in other words.",
        ),
        Example(
            input="What do I need for a library card?",
            expected="An identity card and proof of address.",
            output="That depends. Ask at the desk.",
            score=0.0,
            why="Neither point.",
        ),
    ),
)
