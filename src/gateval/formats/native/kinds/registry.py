"""The kinds of native manifests."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.formats.native.experiments.kind import EXPERIMENT
from gateval.formats.native.kinds.agent import AGENT
from gateval.formats.native.kinds.benchmark.reading import BENCHMARK
from gateval.formats.native.kinds.calibration import CALIBRATION
from gateval.formats.native.kinds.evaluation import EVAL
from gateval.formats.native.kinds.fixture import FIXTURE
from gateval.formats.native.written import ManifestKind

KINDS: Mapping[str, ManifestKind] = {
    kind.name: kind for kind in (AGENT, EVAL, FIXTURE, CALIBRATION, BENCHMARK, EXPERIMENT)
}
"""By the word that stands at `kind:`."""
