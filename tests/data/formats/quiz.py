"""A made-up manifest format, to show what a fifth one takes: this file and its line in the registry.

A quiz is JSON in a file `*.quiz`: an Agent and questions, each with the words that its answer needs
and what they are worth. A trial scores the points it gets; scores have school marks.
"""

from __future__ import annotations

import json

from gateval.domain.base import digest
from gateval.domain.manifests.evaluation import Eval, Grade, ScoringModel, ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput, InputType
from gateval.domain.paths import show_path
from gateval.domain.problems import SourceLocation
from gateval.formats.base import Parsed, Registries

QUIZ = ScoringModel(
    name="quiz",
    graded=True,
    grades=(Grade("mark A", 0.9), Grade("mark C", 0.5), Grade("mark F", 0.0)),
    usual_threshold=0.5,
)


def read_quiz(path: str, data: bytes, registries: Registries) -> Parsed:
    """Return the Eval that a quiz is, and a fixture for each question."""
    del registries
    quiz, place = json.loads(data), SourceLocation(file=show_path(path), line=1, column=1)
    fixtures = tuple(
        Fixture(
            name=f"{quiz['quiz']}.{number}",
            target_agent=quiz["agent"],
            input=FixtureInput(type=InputType.PROMPT, payload={"prompt": asked["ask"]}),
            assertions=tuple(
                AssertionSpec(
                    type="contains", name=word, weight=points, options={"value": word}, place=place
                )
                for word, points in asked["points"].items()
            ),
            place=place,
            path=path,
            digest=digest(asked),
        )
        for number, asked in enumerate(quiz["questions"], 1)
    )
    scoring = ScoringSpec(model=QUIZ, pass_score=0.5)
    evaluation = Eval(
        name=quiz["quiz"],
        target_agent=quiz["agent"],
        fixtures=tuple(one.name for one in fixtures),
        scoring=scoring,
        place=place,
        path=path,
        digest=digest({**quiz, "scoring": scoring.model_dump(mode="json")}),
    )
    return Parsed((evaluation, *fixtures), ())
