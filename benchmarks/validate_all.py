"""`gateval validate` of every manifest in a large repository."""

from __future__ import annotations

from benchmarks.figures import Figure, median
from benchmarks.plan_unchanged import large_repository
from benchmarks.processes import GATEVAL, IMPORT_PYDANTIC, interleaved, sample
from benchmarks.scale import Scale

NAME = "validate_all"
SECONDS_BAR = 1.5


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures. An invalid manifest would end the benchmark."""
    folder = large_repository(scale)
    validate, imported = interleaved(
        scale.rounds,
        lambda: sample((*GATEVAL, "validate"), folder),
        lambda: sample(IMPORT_PYDANTIC, folder),
    )
    ours = median(one.wall for one in validate)
    theirs = median(one.wall for one in imported)
    return [
        Figure(NAME, "validate", ours, "s", SECONDS_BAR),
        Figure(NAME, "validate / pydantic", ours / theirs, "×"),
        Figure(NAME, "manifests", 2 * scale.agents + scale.fixtures, ""),
        Figure(NAME, "memory", max(one.memory for one in validate) / 1e6, "MB"),
    ]
