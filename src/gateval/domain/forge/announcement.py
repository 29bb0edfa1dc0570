"""The gate's words for GitHub, rendered, whether or not they can be written there."""

from __future__ import annotations

from gateval.domain.base import Value
from gateval.domain.forge.check_run import Annotation, Conclusion
from gateval.domain.forge.findings import Findings


class Announcement(Value):
    """Texts and values for every sink; every text is sanitised and below its limit.

    `comment` begins with `stamp.MARKER`. `unasked` says that nobody needs to hear it who has not
    heard of the gate on this pull request before: nothing was to be evaluated. `keeps_evals` says
    that nothing was run again, so that what stands below `stamp.BORDER` in a comment about the same
    head stays. `record` is the digest of the stored verdict that the check run confirms, empty for
    none; `findings` is what the check run remembers of it, None where nothing was decided.
    """

    conclusion: Conclusion
    title: str
    check_summary: str
    comment: str
    job_summary: str
    annotations: tuple[Annotation, ...] = ()
    keeps_evals: bool = False
    unasked: bool = False
    record: str = ""
    findings: Findings | None = None

    @property
    def passes(self) -> bool:
        """Whether it is a plain pass; a bypass is none, and has to be seen."""
        return self.conclusion is Conclusion.SUCCESS
