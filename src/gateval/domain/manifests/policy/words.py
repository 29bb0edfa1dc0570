"""The words that a gate config chooses between."""

from __future__ import annotations

from enum import StrEnum


class RegressionPolicy(StrEnum):
    """The effect of a confirmed regression: fail the gate, warn, or nothing."""

    BLOCK = "block"
    WARN = "warn"
    OFF = "off"


class ThresholdPolicy(StrEnum):
    """The effect of a missed threshold: fail the gate always, or only where head is below base."""

    BLOCK = "block"
    WORSE = "worse"


class UnsetThresholdPolicy(StrEnum):
    """The demand of an Eval without a threshold beside a baseline: no regression, or 1.0."""

    REGRESSIONS = "regressions"
    STRICT = "strict"


class InconclusivePolicy(StrEnum):
    """What judge errors do: keep the gate from passing, or only warn."""

    BLOCK = "block"
    WARN = "warn"


class DeadBaselinePolicy(StrEnum):
    """What an Eval of which nothing passes, on base neither, does: a warning, or no pass."""

    BLOCK = "block"
    WARN = "warn"


class RiseEffect(StrEnum):
    """The effect of a cost or a time over its limit: fail the gate, or a warning."""

    BLOCK = "block"
    WARN = "warn"


class AgreementPolicy(StrEnum):
    """The figure of a judge's agreement that has to reach `minAgreement`: the estimate itself, or
    the lower limit of its interval.
    """

    POINT = "point"
    LOWER_BOUND = "lowerBound"


class UncalibratedPolicy(StrEnum):
    """What a judge that is not calibrated does to an Eval that asks for it: no pass, or a word."""

    INCONCLUSIVE = "inconclusive"
    WARN = "warn"


class DraftPolicy(StrEnum):
    """What happens on a draft: it is evaluated, or waits, unpassed, until it is ready."""

    EVALUATE = "evaluate"
    WAIT = "wait"


class BarPolicy(StrEnum):
    """The bar of a change: head's Evals and the base tip's, or only one of them."""

    STRICTEST = "strictest"
    HEAD = "head"
    BASE = "base"


class AuditSinkName(StrEnum):
    """Where audit entries go: the branch in git, a line on standard output, the job summary."""

    GIT = "git"
    STDOUT = "stdout"
    SUMMARY = "summary"


class EgressPolicy(StrEnum):
    """What candidates may connect to by TCP: everything, or the gateway of the models only."""

    OPEN = "open"
    GATEWAY = "gateway"


class LoopbackPolicy(StrEnum):
    """Whether a provider on this machine is asked where nobody can tell who answers there."""

    CHECKED = "checked"
    TRUSTED = "trusted"


class CallFeature(StrEnum):
    """What a candidate's model call may do beyond an answer: keep data in the provider's account,
    have the provider call a remote MCP server, or reach into the account's connectors.
    """

    STORE = "store"
    MCP = "mcp"
    CONNECTORS = "connectors"
