"""`tone`: the answer sounds as one to a customer should."""

from __future__ import annotations

from gateval.judging.presets.base import Example, Preset

PRESET = Preset(
    name="tone",
    version=1,
    measures="Tone: the final answer is polite, calm and plain.",
    source="Plain language, ISO 24495-1:2023; politeness: Danescu-Niculescu-Mizil et al. 2013, "
    "https://arxiv.org/abs/1306.6078",
    steps=(
        (
            "Read how the user writes, and about what: complaints and grief ask for more than a "
            "plain question does."
        ),
        (
            "Decide how the final answer sounds to the user who wrote this input: in form of "
            "address, choice of words, length."
        ),
        "Name each passage that is out of tone as a violation, and quote it.",
    ),
    scale="1 if the tone is right throughout; 0.5 if a passage is off; 0 if the whole is.",
    examples=(
        Example(
            input="My order is late.",
            output="I am sorry about that. It left our warehouse today and arrives on Friday.",
            score=1.0,
            why="Polite and plain.",
        ),
        Example(
            input="My order is late.",
            output="So what? Things take time. Read the terms.",
            score=0.0,
            why="Brusque throughout.",
        ),
        Example(
            input="How do I export my data?",
            output="Open Settings, choose Export, and select a format.",
            score=1.0,
            why="Plain and to the point.",
        ),
        Example(
            input="How do I export my data?",
            output="LOL seriously??? Everybody knows that!!! Settings, duh.",
            score=0.0,
            why="Mocking.",
        ),
        Example(
            input="My father died. How do I close his account?",
            output="My condolences. Please send us the certificate; we take care of the rest.",
            score=1.0,
            why="Fitting for the occasion.",
        ),
        Example(
            input="My father died. How do I close his account?",
            output="Woohoo, another one! Check out our hot deals for you while you wait!",
            score=0.0,
            why="Out of tone for the occasion.",
        ),
    ),
)
