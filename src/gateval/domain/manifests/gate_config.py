"""The gate config `.github/gateval.yml`: what the gate looks at and how strict it is.

It is always read from the base tip, so a pull request cannot loosen it for itself.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

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


class DraftPolicy(StrEnum):
    """What happens on a draft: it is evaluated, or waits, unpassed, until it is ready."""

    EVALUATE = "evaluate"
    WAIT = "wait"


class BarPolicy(StrEnum):
    """What a change is measured against: head's Evals and the base tip's, or only one of them."""

    STRICTEST = "strictest"
    HEAD = "head"
    BASE = "base"


class Policy(Spec):
    """How the decision is made."""

    regressions: RegressionPolicy = Field(
        default=RegressionPolicy.BLOCK, description="What a deterministic break does."
    )
    inconclusive: InconclusivePolicy = Field(
        default=InconclusivePolicy.BLOCK, description="What errors of the judge do."
    )
    bar: BarPolicy = Field(
        default=BarPolicy.STRICTEST,
        description="Whose Evals bind a change: its own and, where it asks less, the target "
        "branch's too (`strictest`), its own only (`head`), or the target branch's (`base`).",
    )
    candidate_env: tuple[str, ...] = Field(
        default=(), description="Names of the gate's variables that candidates may see."
    )
    drafts: DraftPolicy = Field(
        default=DraftPolicy.EVALUATE,
        description="Whether drafts are evaluated, or wait, unpassed, until they are ready.",
    )


class GateConfig(Spec):
    """The gate config: what the gate looks at and how strict it is."""

    manifests: tuple[str, ...] = Field(
        default=(),
        description="Patterns of the files that are looked at for manifests; all YAML files, if "
        "absent.",
    )
    policy: Policy = Policy()
