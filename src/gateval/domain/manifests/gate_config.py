"""The gate config `.github/gateval.yml`: what the gate looks at and how strict it is.

It is always read from the base tip, so a pull request cannot loosen it for itself.
"""

from __future__ import annotations

from enum import StrEnum

from gateval.domain.base import Spec

GATE_CONFIG_PATH = ".github/gateval.yml"


class RegressionPolicy(StrEnum):
    """What a deterministic break does: fail the gate, warn, or nothing."""

    BLOCK = "block"
    WARN = "warn"
    OFF = "off"


class InconclusivePolicy(StrEnum):
    """What judge errors do: keep the gate from passing, or only warn."""

    BLOCK = "block"
    WARN = "warn"


class Policy(Spec):
    """How the decision is made. `candidate_env` names variables that candidates may see."""

    regressions: RegressionPolicy = RegressionPolicy.BLOCK
    inconclusive: InconclusivePolicy = InconclusivePolicy.BLOCK
    candidate_env: tuple[str, ...] = ()


class GateConfig(Spec):
    """The whole file. `manifests`: path patterns that narrow where manifests are looked for."""

    manifests: tuple[str, ...] = ()
    policy: Policy = Policy()
