"""The gate config `.github/gateval.yml`: what the gate looks at and how strict it is.

It is always read from the base tip, so a pull request cannot loosen it for itself.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from gateval.domain.base import Spec, digest

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


class AuditSinkName(StrEnum):
    """Where audit entries go: the branch in git, a line on standard output, the job summary."""

    GIT = "git"
    STDOUT = "stdout"
    SUMMARY = "summary"


RoleName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
"""A role in the repository as the forge names it; organisations have some of their own."""


class BypassPolicy(Spec):
    """Who may let a change pass that the gate does not, and how. Accepting a lower bar, too."""

    roles: tuple[RoleName, ...] = Field(
        default=("admin", "maintain"),
        description="Roles in the repository whose label counts; nobody's, if empty.",
    )
    require_reason: bool = Field(
        default=False, description="Whether a bypass needs a reason, given in a comment."
    )
    allow_author: bool = Field(
        default=True, description="Whether the label of the pull request's own author counts."
    )


class AuditPolicy(Spec):
    """What is recorded of bypasses and verdicts, and where."""

    sinks: tuple[AuditSinkName, ...] = Field(
        default=tuple(AuditSinkName), description="Where entries go."
    )
    required: tuple[AuditSinkName, ...] = Field(
        default=(AuditSinkName.GIT,),
        description="Sinks without which there is no bypass; all of them among `sinks`.",
    )
    verdicts: bool = Field(
        default=False, description="Whether every verdict is recorded, not only what bends a rule."
    )

    @model_validator(mode="after")
    def _what_is_required_is_written(self) -> Self:
        for name in self.required:
            if name not in self.sinks:
                raise ValueError(f'The sink "{name}" is required, but not among the sinks')
        return self


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
    must_belong: tuple[str, ...] = Field(
        default=(),
        description="Patterns of files that matter: one that changes and belongs to no Agent that "
        "an Eval measures makes the run incomplete.",
    )
    drafts: DraftPolicy = Field(
        default=DraftPolicy.EVALUATE,
        description="Whether drafts are evaluated, or wait, unpassed, until they are ready.",
    )
    bypass: BypassPolicy = BypassPolicy()
    audit: AuditPolicy = AuditPolicy()


class GateConfig(Spec):
    """The gate config: what the gate looks at and how strict it is."""

    manifests: tuple[str, ...] = Field(
        default=(),
        description="Patterns of the files that are looked at for manifests; all YAML files, if "
        "absent.",
    )
    policy: Policy = Policy()


def policy_digest(policy: Policy) -> str:
    """Return the SHA-256 of what a policy means, in hex: equal rules, equal digests.

    No list of a policy has an order that matters, and naming an entry twice changes nothing.
    """
    return digest(_unordered(policy.model_dump(mode="json")))


def _unordered(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _unordered(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [*sorted(set(map(str, value)))]
    return value
