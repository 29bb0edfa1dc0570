"""What passes or fails whatever an agent does: allowed, but hardly meant."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.repository.place import Problem


def decided_beforehand(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield assertions that limit nothing, Evals that every score passes, and fixtures in which
    nothing has weight.
    """
    for fixture in catalogue.fixtures:
        for one in fixture.assertions:
            for spec in one.within():
                if spec.type == "latency" and "maxSeconds" not in spec.options:
                    message = "`latency` without `maxSeconds` limits nothing; it always passes."
                    yield Problem(place=spec.place, message=message)
    for evaluation in catalogue.evals:
        written = evaluation.scoring.model.usual_threshold > 0  # else it asks for none
        if written and evaluation.scoring.graded and evaluation.scoring.pass_score == 0:
            place = evaluation.places.get("spec.scoring.passScore", evaluation.place)
            message = (
                f'Every trial of the Eval "{evaluation.name}" passes, because a score of 0 is '
                "enough. Ask for more."
            )
            yield Problem(place=place, message=message)
    yield from dict.fromkeys(
        problem for one in catalogue.evals for problem in _weightless(one, catalogue)
    )


def _weightless(evaluation: Eval, catalogue: Catalogue) -> Iterator[Problem]:
    if not evaluation.scoring.graded:
        return
    for fixture in select_fixtures(evaluation, catalogue):
        if fixture.assertions and not any(spec.weight for spec in fixture.assertions):
            message = (
                f'Nothing in the fixture "{fixture.name}" has weight, so it scores 0 whatever '
                "happens. Give one of its assertions a weight."
            )
            yield Problem(place=fixture.place, message=message)
