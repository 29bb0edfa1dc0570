"""`factuality`: the answer does not disagree with the facts that are known."""

from __future__ import annotations

from gateval.judging.presets.base import EXPECTED, REFERENCE, Example, Preset

PRESET = Preset(
    name="factuality",
    version=1,
    measures="Factuality: the final answer agrees with the expected answer or the reference.",
    source="OpenAI Evals, the model-graded template `fact` (five relations of an answer to an "
    "expert's): https://github.com/openai/evals",
    needs=(EXPECTED, REFERENCE),
    steps=(
        (
            "Compare the facts of the final answer with those that are given. Style, grammar and "
            "order do not matter."
        ),
        (
            "Decide which holds: the answer says the same; it says less and nothing else; it says "
            "more without contradicting; it differs in nothing that matters for the facts; it "
            "contradicts."
        ),
        "Name each contradiction as a violation, and quote it from the answer.",
    ),
    scale="1 if the answer says the same, more without contradicting, or differs in nothing that "
    "matters; 0.7 if it says less but answers the question; 0 if it contradicts, or does not "
    "answer.",
    examples=(
        Example(
            input="What is the capital of Australia?",
            expected="Canberra",
            output="Canberra is the capital of Australia.",
            score=1.0,
            why="It says the same.",
        ),
        Example(
            input="What is the capital of Australia?",
            expected="Canberra",
            output="The capital of Australia is Sydney.",
            score=0.0,
            why="It contradicts.",
        ),
        Example(
            input="Who wrote Pride and Prejudice, and when did it appear?",
            expected="Jane Austen; 1813",
            output="It is by Jane Austen.",
            score=0.7,
            why="It says less, and nothing wrong.",
        ),
        Example(
            input="At what temperature does water boil at sea level?",
            expected="100 °C",
            output="At sea level water boils at 100 °C, which is 212 °F.",
            score=1.0,
            why="It says more without contradicting.",
        ),
        Example(
            input="At what temperature does water boil at sea level?",
            expected="100 °C",
            output="Water boils at 90 °C at sea level.",
            score=0.0,
            why="It contradicts.",
        ),
        Example(
            input="How many moons does Mars have?",
            expected="Two: Phobos and Deimos",
            output="Mars has two moons, Phobos and Europa.",
            score=0.0,
            why="The number is right, but Europa is a moon of Jupiter.",
        ),
    ),
)
