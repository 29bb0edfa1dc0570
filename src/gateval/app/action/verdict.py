"""From results to what stands on GitHub: labels are heard, then it is decided, said and kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from gateval.app.action.case import Case
from gateval.app.action.ending import Ending, publication_outputs
from gateval.app.action.hearing import Hearing, note_verdict
from gateval.app.action.keeping import keep_verdict
from gateval.domain.audit.entry import AuditEntry, AuditKind
from gateval.domain.decision.report import Report
from gateval.domain.decision.trust import exit_code, unverified
from gateval.domain.forge.announcement import Announcement
from gateval.domain.history.audited import about_report
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.results.results import Results
from gateval.domain.ruling import GateLabel
from gateval.domain.verdicts import GateVerdict
from gateval.pipeline.run import report_on
from gateval.publish.github import publish
from gateval.publish.outcome import Publication
from gateval.render.report.frame import Frame

_NOT_EVALUATED = {GateVerdict.INCOMPLETE, GateVerdict.INCONCLUSIVE}


@dataclass
class Bench:
    """Decides one case. `decide` is to be called once, with all results, before `tell`."""

    case: Case
    warnings: list[str] = field(default_factory=list)
    anchor: AuditEntry | None = None
    _unbent: Report | None = None
    """The report without any label."""

    def decide(self, results: Results) -> Report:
        """Compare, hear the labels, decide, and record what the policy wants recorded."""
        report = report_on(results)
        policy, case = results.plan.policy, self.case
        idle = results.plan.nothing and report.decision.evals is GateVerdict.PASS
        if not case.binds or (idle and not self._labelled()):
            return report
        hearing = case.hearing(policy, report.decision.evals)
        self._unbent = report
        report = _heard(hearing, results, report, case)
        about = about_report(report, case.occurrence)
        if report.decision.verdict in _NOT_EVALUATED:
            self.anchor = note_verdict(hearing, about, AuditKind.NOT_EVALUATED)
        elif policy.audit.verdicts:
            self.anchor = note_verdict(hearing, about, AuditKind.VERDICT)
        self.warnings += hearing.warnings
        return report

    def tell(self, report: Report, summary: str) -> Ending:
        """Say what was found, and keep it for the next label event. `summary` is for the log."""
        from gateval.render.github.announcement import announce
        from gateval.render.github.outputs import report_outputs

        case = self.case
        plan = report.results.plan
        claim = unverified(case.trigger.trust, plan, case.resolved.number)
        frame = frame_of(case, plan.policy, anchor=self.anchor, unverified=claim)
        group = case.resolved.group
        said = in_group(announce(report, frame), group)
        labels = [ruling.label for ruling in report.decision.labels if ruling.granted]
        unbent = in_group(announce(self._unbent, frame), group) if labels and self._unbent else None
        publication = publish_case(case, said, unbent, labels)
        if publication.unbent and self._unbent and unbent:
            report, said = self._unbent, unbent
        note = keep_verdict(case, report)
        return Ending(
            exit_code=exit_code(report.decision, claimed=bool(claim)),
            outputs={
                **report_outputs(report, claimed=bool(claim)),
                **publication_outputs(publication),
            },
            summary=said.job_summary,
            text=summary + (f"\nUnverified. {claim}\n" if claim else "") + note,
            warnings=(
                *filter(None, (case.resolved.warning,)),
                *self.warnings,
                *publication.warnings,
            ),
        )

    def _labelled(self) -> bool:
        seen = self.case.resolved.pull_request
        return seen is not None and any(label in seen.labels for label in GateLabel)


def frame_of(
    case: Case, policy: Policy, *, anchor: AuditEntry | None = None, unverified: str = ""
) -> Frame:
    """Return what is said around a report on this case."""
    pull = case.resolved.number is not None and case.binds
    return Frame(
        unverified=unverified,
        run_url=case.scene.run_url,
        may_bypass=policy.bypass.roles if pull else (),
        anchor=(anchor.number, anchor.hash) if anchor else None,
    )


def publish_case(
    case: Case,
    said: Announcement,
    unbent: Announcement | None = None,
    labels: Collection[str] = (),
) -> Publication:
    """Say it on GitHub, unless this is only the step that runs."""
    if not case.publishes:
        return Publication()
    return publish(case.scene.forge, case.target, said, unbent, labels)


def _heard(hearing: Hearing, results: Results, report: Report, case: Case) -> Report:
    """Hear the label about the bar first: what it accepts may be all there is to bypass."""
    if hearing.on(GateLabel.ACCEPT_BAR):
        about = about_report(report, case.occurrence)
        hearing.hear(GateLabel.ACCEPT_BAR, about, matters=_bar_binds(results, report))
        report = report_on(results, hearing.rulings)
    if hearing.on(GateLabel.BYPASS):
        matters = report.decision.evals is not GateVerdict.PASS
        hearing.hear(GateLabel.BYPASS, about_report(report, case.occurrence), matters=matters)
        report = report_on(results, hearing.rulings)
    return report


def _bar_binds(results: Results, report: Report) -> bool:
    """Whether accepting a lower bar would change anything."""
    plan = results.plan.model_copy(update={"bar_accepted": "somebody"})
    accepted = report_on(results.model_copy(update={"plan": plan}))
    return [r.verdict for r in accepted.decision.reasons] != [
        r.verdict for r in report.decision.reasons
    ]


def in_group(announcement: Announcement, group: tuple[int, ...]) -> Announcement:
    """Return the announcement with the pull requests of a merge group named in it."""
    if not group:
        return announcement
    named = f"Merge group of {', '.join(f'#{number}' for number in group)}.\n\n"
    return announcement.model_copy(
        update={
            "check_summary": named + announcement.check_summary,
            "job_summary": named + announcement.job_summary,
        }
    )
