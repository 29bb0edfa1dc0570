"""The kinds of native manifests."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.formats.kinds.agent import AGENT
from gateval.formats.kinds.calibration import CALIBRATION
from gateval.formats.kinds.evaluation import EVAL
from gateval.formats.kinds.fixture import FIXTURE
from gateval.formats.written import Kind

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (AGENT, EVAL, FIXTURE, CALIBRATION)}
"""By the word that stands at `kind:`."""
