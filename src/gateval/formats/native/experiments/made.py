"""What an Experiment becomes: an Eval by scorers, and a fixture for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.inputs import input_of
from gateval.domain.manifests.scoring import ScoringModel, ScoringSpec
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.experiments.rows import GoldenRow
from gateval.formats.native.experiments.scorers import Scorers
from gateval.formats.native.experiments.written import ExperimentDocument
from gateval.formats.native.written import Source, canonical, meaning

NAME_LIMIT = 253
"""Characters of a name."""


def row_name(written: ExperimentDocument, row: GoldenRow) -> str:
    """Return what the fixture of a row is called."""
    return f"{written.metadata.name}.{row.word}"


def long_names(rows: Mapping[str, GoldenRow]) -> list[Problem]:
    """Return a problem for each row whose fixture would have too long a name."""
    return [
        Problem(
            place=row.place,
            message=f"The name {quote(name)} would be too long for a fixture. Shorten the `id`.",
        )
        for name, row in rows.items()
        if len(name) > NAME_LIMIT
    ]


def row_fixture(
    source: Source, written: ExperimentDocument, target: str, row: GoldenRow, scorers: Scorers
) -> Fixture:
    """Return a row as a fixture."""
    asked = input_of(row.input)
    means: JsonObject = {
        "input": canonical(asked),
        "reference": canonical(row.reference),
        "scorers": [one.meaning for one in scorers.specs],
    }
    return Fixture(
        name=row_name(written, row),
        target_agent=target,
        input=asked,
        reference=row.reference,
        assertions=scorers.specs,
        place=row.place,
        path=source.path,
        digest=meaning("Row", written.metadata, means),
    )


def experiment_eval(
    source: Source, written: ExperimentDocument, target: str, fixtures: Sequence[Fixture]
) -> Eval:
    """Return the experiment as an Eval of these fixtures; its digest covers neither these nor
    feedback.
    """
    spec, metadata = written.spec, written.metadata
    apart = {key: one for key, one in canonical(spec).items() if key not in {"data", "feedback"}}
    return Eval(
        kind=written.kind,
        name=metadata.name,
        labels=metadata.labels,
        target_agent=target,
        fixtures=tuple(one.name for one in fixtures),
        judge=spec.judge,
        scoring=ScoringSpec(
            model=ScoringModel.EXPERIMENT, pass_score=0.0, pass_threshold=spec.pass_threshold
        ),
        execution=spec.execution,
        schedule=spec.schedule,
        time_zone=spec.time_zone,
        place=source.document.place(("metadata", "name")),
        places=source.document.key_places(("spec",), depth=2),
        path=source.path,
        digest=meaning(written.kind, metadata, apart),
    )
