"""One run of the action, top to bottom: event, read, plan, run, decide, publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gateval.adapters.clock import SystemClock
from gateval.adapters.ownership import hand_over
from gateval.adapters.results_folder import ResultsFolder, create_results_folder
from gateval.app.action.case import Case
from gateval.app.action.claims import confirmed_trigger, stored_results
from gateval.app.action.ending import Ending, publication_outputs
from gateval.app.action.keeping import Recall, fitting, made_of_the_same
from gateval.app.action.restating import restate
from gateval.app.action.scene import Scene
from gateval.app.names import PLAN_FILE, TRIGGER_FILE
from gateval.app.registries import registries
from gateval.app.run.keys import part_with_keys, refuse_missing_keys
from gateval.domain.decision.trust import unverified
from gateval.domain.forge.trigger import PullRequestSubject, Trigger
from gateval.domain.manifests.gate_config import BarPolicy, DraftPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results, RunInfo
from gateval.errors import EXIT_INTERRUPTED, EXIT_NOT_EVALUATED, EXIT_PASS, GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.plan import plan_a_change
from gateval.pipeline.resolved_event import ResolvedEvent, resolve_event
from gateval.pipeline.rules import read_rules
from gateval.publish.github import abandon, open_check, publish
from gateval.publish.outcome import Publication
from gateval.publish.target import Target
from gateval.render.files.stage import dump

if TYPE_CHECKING:
    from gateval.app.run.measure import Judge, Measured


class Story:
    """Carries a scene to its ending.

    `remember` is told of the target before a check run is left in progress on it. `target` is what
    is reported on, as far as is known; `opened` says that a check run may stand in progress there.
    """

    def __init__(self, scene: Scene, remember: Callable[[Target], None]) -> None:
        self.scene = scene
        self._remember = remember
        self.target = _first_target(scene)
        self.opened = False
        self._trigger = scene.trigger

    def tell(self) -> Ending:
        """Go the way that the inputs ask for. Raises `GatevalError`; nothing was decided then."""
        scene, step = self.scene, self.scene.inputs.step
        if step is ActionStep.PUBLISH:
            self._trigger = confirmed_trigger(scene)
        recall = Recall(scene, self._trigger)
        resolved = resolve_event(self._trigger, scene.repository, scene.server, scene.forge)
        self.target = self._target(resolved, None)
        if _closed(resolved, self._trigger):
            return Ending(EXIT_PASS, text="The pull request is closed; its labels say nothing.\n")
        case = Case(scene, self._trigger, resolved, self.target, recall.audit())
        kept = recall.find(case)
        if kept and kept.record and not resolved.draft:
            rules, _ = read_rules(
                scene.repository, resolved.revisions.base_tip, scene.inputs.config
            )
            if made_of_the_same(kept, case, rules.policy):
                return restate(case, rules.policy, kept.record, kept.check)
        plan = self._plan(resolved)
        self.target = self._target(resolved, plan)
        if step is ActionStep.PLAN:
            return self._store_plan(plan)
        if resolved.draft and plan.evals and plan.policy.drafts is DraftPolicy.WAIT:
            return self._wait()
        case = replace(case, target=self.target)
        kept = fitting(kept, plan)
        if kept and kept.record:
            return restate(case, plan.policy, kept.record, kept.check)
        return self._judge(case, plan, f"The evals run: {kept.why_not}.\n" if kept else "")

    def _judge(self, case: Case, plan: Plan, note: str) -> Ending:
        """Measure, or take what other jobs measured; decide and say so."""
        from gateval.app.action.verdict import Bench

        bench = Bench(case)
        if self.scene.inputs.step is ActionStep.PUBLISH:
            from gateval.app.run.measure import conclude

            folder = self._folder("")
            results = stored_results(self.scene, plan, folder.run)
            measured = conclude(results, folder, judge=bench.decide)
        else:
            folder = self._folder(self.scene.inputs.results)
            measured = self._measure(plan, folder, bench.decide)
        if measured.interrupted:
            self.cancel()
            return Ending(EXIT_INTERRUPTED, {"results": self._shown(folder)})
        ending = bench.tell(measured.report, note + measured.views["summary"])
        outputs = {**ending.outputs, "results": self._shown(folder)}
        return replace(ending, outputs=outputs)

    def trouble(self, error: GatevalError) -> Ending:
        """End with an error, and say so on GitHub if it is known what it is about."""
        from gateval.render.github.trouble import announce_trouble

        announcement = announce_trouble(error, self.scene.run_url)
        publication = Publication()
        if self.target is not None and self.scene.inputs.step in {
            ActionStep.ALL,
            ActionStep.PUBLISH,
        }:
            publication = publish(self.scene.forge, self.target, announcement)
        return Ending(
            exit_code=error.exit_code,
            outputs=publication_outputs(publication),
            summary=announcement.job_summary,
            warnings=publication.warnings,
            error=error,
        )

    def cancel(self) -> None:
        """Complete what stands in progress, because somebody ends the run."""
        if self.opened and self.target is not None:
            why = "The run was cancelled, or its machine was stopped."
            abandon(self.scene.forge, self.target, cancelled=True, why=why)

    def break_off(self) -> None:
        """Complete what stands in progress, because of a fault of our own."""
        if self.opened and self.target is not None:
            why = "This is a fault in Gateval itself; the log says more."
            abandon(self.scene.forge, self.target, cancelled=False, why=why)

    def _plan(self, resolved: ResolvedEvent) -> Plan:
        scene = self.scene
        return plan_a_change(
            scene.repository,
            registries(),
            resolved.revisions,
            config_path=scene.inputs.config,
            narrowing=scene.narrowing,
            bar=None if self._trigger.trust.verified else BarPolicy.BASE,
        )

    def _target(self, resolved: ResolvedEvent, plan: Plan | None) -> Target:
        head = resolved.revisions.head.commit or ""
        claimed = bool(unverified(self._trigger.trust, plan, resolved.number))
        branch = resolved.base_ref
        return self.scene.target(head, resolved.number, claimed=claimed, branch=branch)

    def _measure(self, plan: Plan, folder: ResultsFolder, judge: Judge) -> Measured:
        """Run what can be run: all of it in a trusted run, in others what needs no key."""
        scene = self.scene
        folder.write(TRIGGER_FILE, dump(self._trigger).encode())
        part: Plan | None = plan
        if self._trigger.trust.verified:
            refuse_missing_keys(plan, scene.settings)
        else:
            part = part_with_keys(plan, scene.settings)
        from gateval.app.run.measure import conclude, measure, store_plan
        from gateval.safe.redaction import Redactor

        if not plan.evals or part is None:
            shown = Redactor(scene.settings.secrets).value(plan)
            store_plan(shown, folder)
            results = Results(plan=shown, info=RunInfo(run=folder.run))
            return conclude(results, folder, judge=judge)
        if scene.inputs.step is ActionStep.ALL and self.target is not None:
            self.opened = True
            self._remember(self.target)
            open_check(scene.forge, self.target)
        return measure(
            plan,
            scene.repository,
            scene.settings,
            folder,
            part=part,
            at_once=scene.inputs.max_parallel,
            judge=judge,
        )

    def _wait(self) -> Ending:
        from gateval.render.github.trouble import announce_draft

        announcement = announce_draft(self.scene.run_url)
        publication = Publication()
        if self.scene.inputs.step is not ActionStep.RUN and self.target is not None:
            publication = publish(self.scene.forge, self.target, announcement)
        return Ending(
            EXIT_NOT_EVALUATED,
            publication_outputs(publication),
            announcement.job_summary,
            text=f"{announcement.title}.\n",
            warnings=publication.warnings,
        )

    def _store_plan(self, plan: Plan) -> Ending:
        """Leave the plan where the next job finds it; nothing is decided and nothing said."""
        from gateval.render.terminal.plan_table import render_plan

        folder = self._folder(self.scene.inputs.results)
        folder.write(TRIGGER_FILE, dump(self._trigger).encode())
        folder.write(PLAN_FILE, dump(plan, indent=None).encode())
        text = f"{plan.nothing}\n" if plan.nothing else render_plan(plan, width=100, color=False)
        return Ending(EXIT_PASS, {"results": self._shown(folder)}, text=text)

    def _folder(self, chosen: str) -> ResultsFolder:
        root = self.scene.repository.root
        path = root / chosen if chosen else None
        return create_results_folder(root, SystemClock(), chosen=path)

    def _shown(self, folder: ResultsFolder) -> str:
        """Hand the folder over, and name it as later steps find it.

        The workspace has another path, and belongs to another user, in a container.
        """
        root = self.scene.repository.root.resolve()
        hand_over(folder.path, root)
        inside = folder.path.is_relative_to(root)
        return str(folder.path.relative_to(root) if inside else folder.path)


def _closed(resolved: ResolvedEvent, trigger: Trigger) -> bool:
    """Whether this is a label on a closed pull request, whose head may be that of an open one."""
    pull, subject = resolved.pull_request, trigger.subject
    about_label = isinstance(subject, PullRequestSubject) and subject.labeled is not None
    return about_label and pull is not None and not pull.open


def _first_target(scene: Scene) -> Target | None:
    """What the run is about by the event alone, for errors that come before anything was asked."""
    subject, trust = scene.trigger.subject, scene.trigger.trust
    if subject.head_sha is None:
        return None
    number = subject.number if isinstance(subject, PullRequestSubject) else None
    branch = getattr(subject, "base_ref", None) or ""
    return scene.target(subject.head_sha, number, claimed=not trust.verified, branch=branch)
