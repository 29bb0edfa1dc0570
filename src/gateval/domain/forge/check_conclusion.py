"""The gate's verdict as the conclusion of a check run.

Only what GitHub does not count as success may stand for a gate that could not look. `failure` is
kept for what was measured; `action_required` says that somebody has to do something before there
is a verdict: run it again, provide a key, have a maintainer start the trusted run.
"""

from __future__ import annotations

from gateval.domain.forge.check_run import Conclusion
from gateval.domain.verdicts import GateVerdict

CONCLUSIONS = {
    GateVerdict.PASS: Conclusion.SUCCESS,
    GateVerdict.FAIL: Conclusion.FAILURE,
    GateVerdict.INCOMPLETE: Conclusion.ACTION_REQUIRED,
    GateVerdict.INCONCLUSIVE: Conclusion.ACTION_REQUIRED,
    GateVerdict.BYPASSED: Conclusion.NEUTRAL,
}


def conclude(verdict: GateVerdict, *, unverified: bool) -> Conclusion:
    """Return the conclusion; what nobody verified is a claim, and never a success."""
    return Conclusion.ACTION_REQUIRED if unverified else CONCLUSIONS[verdict]
