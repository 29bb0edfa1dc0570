"""`relevance`: what matters is in the answer, and what does not matter is not."""

from __future__ import annotations

from gateval.judging.presets.base import Example, Preset

_MAIL = (
    "Summarise: The launch moves from 3 May to 17 May because the supplier is late. Costs stay the "
    "same. Anna brought cake to the meeting. Everybody has to change their travel bookings by "
    "Friday."
)

PRESET = Preset(
    name="relevance",
    version=1,
    measures="Relevance: the final answer selects what is important for the user's request.",
    source="G-Eval, the dimension relevance of SummEval: Liu et al. 2023, "
    "https://arxiv.org/abs/2303.16634",
    steps=(
        "Read what the user asks for and what was given to work with.",
        "Identify the points that matter most for the request.",
        (
            "Decide how many of them the final answer has, and how much of it is beside the point "
            "or said twice."
        ),
        (
            "Name missing main points and needless parts as violations; for what is missing, "
            "quote the sentence of the answer where it belongs."
        ),
    ),
    scale="1 if all main points are there and nothing needless is; 0.5 if a main point is missing "
    "or half of it is needless; 0 if hardly anything that matters is there.",
    examples=(
        Example(
            input=_MAIL,
            output="The launch moves to 17 May since the supplier is late; costs do not change. "
            "Rebook your travel by Friday.",
            score=1.0,
            why="All main points, nothing needless.",
        ),
        Example(
            input=_MAIL,
            output="Anna brought cake to the meeting, which was very nice of her.",
            score=0.0,
            why="Only what does not matter.",
        ),
        Example(
            input=_MAIL,
            output="There was a meeting about a launch. Meetings are important in companies.",
            score=0.0,
            why="None of the main points.",
        ),
        Example(
            input="Name the three primary colours of light, for a label.",
            output="Red, green, blue.",
            score=1.0,
            why="Just what was asked for.",
        ),
        Example(
            input="Which of our two offices is nearer to the station, north or south?",
            output="Stations were first built in the 19th century, when railways spread.",
            score=0.0,
            why="Nothing of what matters for the request.",
        ),
        Example(
            input="I am allergic to nuts. Which of these can I eat: pesto, plain rice?",
            output="Plain rice. Pesto often contains pine nuts or cashews.",
            score=1.0,
            why="The choice and its reason.",
        ),
    ),
)
