"""`answerRelevancy`: the answer is one to the question, all of it and nothing else."""

from __future__ import annotations

from gateval.judging.presets.base import Example, Preset

PRESET = Preset(
    name="answerRelevancy",
    version=1,
    measures="Answer relevancy: the final answer answers the user's question, and nothing else.",
    source="RAGAS, answer relevancy: Es et al. 2023, https://arxiv.org/abs/2309.15217 (there by "
    "likeness of questions made from the answer; here by statement)",
    steps=(
        "State for yourself what the user asks for.",
        (
            "Go through the sentences of the final answer. A sentence is relevant if it answers "
            "the question or is needed to understand the answer. Whether it is true does not "
            "matter here."
        ),
        (
            "An answer that evades the question, says that it does not know, or answers another "
            "question has no relevant sentence."
        ),
        "Name irrelevant sentences as violations, and quote them from the answer.",
    ),
    scale="the number of relevant sentences divided by the number of sentences; 0 if the question "
    "is not answered.",
    examples=(
        Example(
            input="Where is France and what is its capital?",
            output="France is in western Europe. Its capital is Paris.",
            score=1.0,
            why="Both parts are answered, and nothing else is said.",
        ),
        Example(
            input="How do I reset my password?",
            output="Our company was founded in 1998. We love our customers.",
            score=0.0,
            why="The question is not answered.",
        ),
        Example(
            input="How do I reset my password?",
            output="Choose “Forgot password” on the sign-in page and follow the mail.",
            score=1.0,
            why="It answers the question.",
        ),
        Example(
            input="Is the museum open today?",
            output="Good question. Museums are buildings. Some people like art. Many do not.",
            score=0.0,
            why="It evades the question.",
        ),
        Example(
            input="What does the pro plan cost?",
            output="The pro plan costs 20 dollars a month.",
            score=1.0,
            why="It answers the question, and nothing else is said.",
        ),
        Example(
            input="What does the pro plan cost?",
            output="I cannot talk about anything. Have you seen our new office?",
            score=0.0,
            why="It evades the question and changes the subject.",
        ),
    ),
)
