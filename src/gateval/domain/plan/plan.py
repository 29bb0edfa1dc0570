"""What will run, and why: the value between `plan` and `run`, complete enough to run elsewhere."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from gateval.domain.base import Count, Name, Positive, Share, Value, digest, known_of_last
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.manifests.agent import AgentTool, LayerSpec, RuntimeSpec
from gateval.domain.manifests.evaluation import EvalKind, ScriptedModel
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.paths import has_wildcard, path_text, resolve_pattern
from gateval.domain.plan.absent import Lacking, Surroundings
from gateval.domain.plan.planned_eval import (
    AfterMerge,
    Lowered,
    PlannedEval,
    Reason,
    Removed,
    SkippedFixture,
    Unreadable,
    UsedBaseline,
)
from gateval.domain.plan.spending import Allowance
from gateval.domain.problems import SourceLocation
from gateval.domain.tree import FileRules, Revision, Tree, TreeEntry, file_rules, under
from gateval.domain.trials.trial import Side


class SealedEval(Value):
    """A planned Eval without what it asks, and without what was found of its fixtures before.

    `trials` is how many are planned at first, whatever earlier runs found. `bar` says that it is
    the target branch's version, `lowered` what the change asks less than that.
    """

    kind: EvalKind = "Eval"
    name: Name
    own_name: Name
    shown_name: str
    agent: Name
    place: SourceLocation
    bar: bool = False
    lowered: tuple[Lowered, ...] = ()
    fixtures: tuple[Name, ...] = Field(min_length=1)
    left_out: tuple[SkippedFixture, ...] = ()
    trials: Count


def sealed_eval(planned: PlannedEval) -> SealedEval:
    """Return what everybody may know of a planned Eval."""
    return SealedEval(
        kind=planned.kind,
        name=planned.name,
        own_name=planned.own_name,
        shown_name=planned.shown_name,
        agent=planned.agent,
        place=SourceLocation(file=planned.place.file),
        bar=planned.bar is not None,
        lowered=planned.bar.lowered if planned.bar else (),
        fixtures=tuple(one.name for one in planned.fixtures),
        left_out=planned.left_out,
        trials=planned_trials(planned),
    )


def planned_trials(planned: PlannedEval) -> int:
    """Return how many trials are planned at first, whatever earlier runs found."""
    reps = planned.execution.reps_per_fixture
    return reps * len(planned.sides) * len(planned.own_fixtures)


class ChangeKind(StrEnum):
    """What happened to an Agent between merge-base and head."""

    NEW = "new"
    MODIFIED = "modified"
    DELETED = "deleted"


class AgentChange(Value):
    """One Agent that the change touches."""

    agent: Name
    kind: ChangeKind
    reasons: tuple[Reason, ...] = Field(min_length=1)


class FileEdit(Value):
    """How a file that an Agent depends on differs from base, for readers: it decides nothing.

    `where` is that of the reason for which the Agent counts as changed. `diff` holds the hunks of a
    unified diff, whole lines, of which `left` did not fit; `unread` says why there are none.
    """

    where: str
    diff: str = ""
    left: Count = Field(default=0, exclude_if=operator.not_)
    unread: str = Field(default="", exclude_if=operator.not_)


class AgentDefinition(Value):
    """An Agent resolved at one revision, ready to be started from an export of it.

    `system` is the prompt's text, whether it stood inline or in a file. `folder` is the manifest's
    folder and `cwd` the candidate's working directory, both relative to the repository root
    without leading or trailing slash ("" is the root). `closure` hashes everything the agent
    depends on; `files` says which files of the revision its candidates get. `models` are those that
    answer for it, the first before the others; `uses` are more that it asks. `file` is the one of
    another tool that defines it, from the root; empty for a manifest's.
    """

    name: Name
    side: Side
    place: SourceLocation
    models: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    system: str = ""
    tools: tuple[AgentTool, ...] = ()
    runtime: RuntimeSpec = RuntimeSpec()
    folder: str = ""
    cwd: str = ""
    closure: str
    files: FileRules = FileRules()
    file: str = Field(default="", exclude_if=operator.not_)


class SideScripts(Value):
    """The scripted models as they are on one side."""

    side: Side
    models: tuple[ScriptedModel, ...]


class SkippedEval(Value):
    """An Eval that the change calls for and this run leaves out, with so many fixtures."""

    name: Name
    fixtures: Positive


class SeenDrop(Value):
    """The smallest drop that a run would find in 4 of 5 cases, from 0 to 1; None where none is.

    `of` says what drops: the rate or score of `one` fixture, that of `all` together, one `axis`, or
    the win rate of head's answers (`preference`, a tie being half a win), below the half that equal
    ones have.
    """

    eval: Name
    of: Literal["one", "all", "axis", "preference"]
    axis: str = ""
    drop: Share | None = None


class HiddenFiles(Value):
    """The paths of a side's revision that no candidate gets."""

    side: Side
    paths: tuple[str, ...]


class Plan(Value):
    """What `run` needs, and nothing that it has to look up again but files of the two trees.

    `adds_config` says that head brings the gate config and neither base nor base tip has one;
    `adds_gate` that base has no Eval either, so that nothing was ever asked of an Agent.
    `base` is None when nothing is compared. `only` holds the fixtures that the command line
    narrowed the Evals to; it is empty when they run whole. `disk` is how many bytes the files
    have that candidates start from. `nothing` is the sentence that says why
    nothing is to be evaluated; it is empty exactly when `evals` is not. `policy_digest` is that of
    `policy`; empty in a plan that nobody decides by. `lost` is what the change lowers that no trial
    can make up for: Evals of the base tip that have nothing left to run. `doubts` is what could not
    be read and may ask more than is measured. `unclaimed` are changed files that the policy wants
    to belong to a measured Agent, and that do not. `lacking` are submodules that keep an Agent's
    Evals from being planned. `rules_unread` says why the rules could
    not be read whole; empty if they were. `findings_lost` says that an earlier run found what can
    be named no more; empty if none did. `budget_spent` says that one used up what the policy gives
    a run. `allowance` is what pull request and day leave this one; None where neither is limited.
    `edits` are lines of changed files of the Agents that are asked something, each file
    once. `fresh` says that what earlier runs found was set aside,
    because somebody asked for that. `locked` are sealed files that may ask something of this
    change, and for which there is no key. `bar_accepted` says who accepted that the bar is
    lowered; empty if nobody did. `left_out` are whole Evals that a check of a part leaves out; the
    others say themselves which fixtures they lack. `after_merge` are sealed Evals that the change
    adds or edits: nothing of these counts here, for or against it. `baseline` names the stored base
    trials that the Evals carry, None where there are none. `agreements` are calibrations that
    earlier runs replayed with the same judges, and that need not be replayed again; `retests` says
    that later runs may rely on those of this one. `batched` says that judges are asked in batches,
    when all trials of a look are answered. `sees` says for
    readers which drops would be found; it decides nothing, and only `gateval plan` fills it.
    `sealed` stands for sealed Evals in the plan of published results: those that ran are not among
    `evals` there. `engine` is the digest of the code that measured by a plan that is stored; empty
    in one that nobody has measured by.
    """

    version: Literal["plan.v1"] = "plan.v1"
    head: Revision
    base: Revision | None = None
    base_tip: Revision | None = None
    policy: Policy = Policy()
    policy_source: str = ""
    policy_digest: str = ""
    adds_config: bool = False
    adds_gate: bool = False
    changes: tuple[AgentChange, ...] = ()
    edits: tuple[FileEdit, ...] = Field(default=(), exclude_if=operator.not_)
    agents: tuple[AgentDefinition, ...] = ()
    evals: tuple[PlannedEval, ...] = ()
    sealed: tuple[SealedEval, ...] = Field(default=(), exclude_if=operator.not_)
    only: tuple[Name, ...] = ()
    left_out: tuple[SkippedEval, ...] = ()
    after_merge: tuple[AfterMerge, ...] = ()
    removed: tuple[Removed, ...] = ()
    lost: tuple[Lowered, ...] = ()
    doubts: tuple[Unreadable, ...] = ()
    unclaimed: tuple[str, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    rules_unread: str = ""
    findings_lost: str = ""
    budget_spent: str = ""
    allowance: Allowance | None = Field(default=None, exclude_if=operator.not_)
    fresh: str = ""
    locked: tuple[str, ...] = ()
    bar_accepted: str = ""
    scripts: tuple[SideScripts, ...] = ()
    hidden: tuple[HiddenFiles, ...] = ()
    disk: Count = 0
    baseline: UsedBaseline | None = None
    agreements: tuple[CalibrationReplay, ...] = ()
    retests: bool = Field(default=False, exclude_if=operator.not_)
    batched: bool = Field(default=False, exclude_if=operator.not_)
    new_providers: tuple[str, ...] = ()
    sees: tuple[SeenDrop, ...] = ()
    warnings: tuple[str, ...] = ()
    nothing: str = ""
    engine: str = Field(default="", pattern=r"^([0-9a-f]{64})?$", exclude_if=operator.not_)

    @model_validator(mode="after")
    def _nothing_means_no_evals(self) -> Self:
        if bool(self.nothing) == bool(self.evals or self.sealed):
            raise ValueError("a plan has Evals or a sentence why there are none, not both")
        return self

    @model_validator(mode="after")
    def _each_eval_fits_the_plan(self) -> Self:
        own = {one.name: {f.name for f in one.fixtures} for one in self.evals if one.bar is None}
        for one in self.evals:
            names = {fixture.name for fixture in one.fixtures}
            based = Side.BASE in one.sides
            for wrong, what in (
                (self.base is None and based, "is compared, but there is no base"),
                (
                    one.bar and not own.get(one.bar.eval, set()).issuperset(one.bar.reused),
                    "reuses runs that are not planned",
                ),
                (
                    not names.issuperset((*one.compared, *one.added)),
                    "compares fixtures that are not planned",
                ),
                (one.stored and not based, "has stored trials, but is not compared"),
                (
                    not set(one.compared).issuperset(one.stored_counts()),
                    "has stored trials of other fixtures",
                ),
            ):
                if wrong:
                    raise ValueError(f"the Eval {one.name} {what}")
        told = self.baseline.digest if self.baseline else ""
        if told != (self.stored_digest() if any(one.stored for one in self.evals) else ""):
            raise ValueError("the stored trials are not those that the plan's baseline names")
        return self

    def stored_digest(self) -> str:
        """The digest of the stored base trials of all Evals."""
        return digest(
            {
                one.name: [each.model_dump(mode="json") for each in one.stored]
                for one in self.evals
                if one.stored
            }
        )

    @model_validator(mode="after")
    def _names_stand_for_one_thing(self) -> Self:
        """Trials are found by name, so a name that stands twice would count some of them twice."""
        names = [
            *(f"the Agent {agent.name} on {agent.side}" for agent in self.agents),
            *(f"the Eval {planned.name}" for planned in self.evals),
            *(f"the Eval {gone.name}" for gone in self.sealed),
            *(f"the fixture {f.name} of {one.name}" for one in self.evals for f in one.fixtures),
        ]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{twice} stands there twice")
        return self

    def eval(self, name: str) -> PlannedEval:
        """The planned Eval of this name; raises KeyError."""
        for planned in self.evals:
            if planned.name == name:
                return planned
        raise KeyError(name)

    def agent(self, name: str, side: Side) -> AgentDefinition | None:
        """The Agent as it is on this side, or None when that side has none."""
        return _defined(self).get((name, side))

    def most_repetitions(self) -> dict[tuple[str, str, Side], int]:
        """The most repetitions that can be asked for, by Eval, fixture and side."""
        return {
            (planned.name, fixture, side): getattr(look, side.value)
            for planned in self.evals
            for fixture, look in planned.most().items()
            for side in planned.sides
        }

    @property
    def coverage(self) -> tuple[int, int]:
        """How many fixtures are looked at, and how many the change calls for."""
        kept = {(one.own_name, fixture.name) for one in self.evals for fixture in one.fixtures}
        kept |= {(one.own_name, fixture) for one in self.sealed for fixture in one.fixtures}
        left = {(one.own_name, gone.name) for one in self.evals for gone in one.left_out}
        left |= {(one.own_name, gone.name) for one in self.sealed for gone in one.left_out}
        left -= kept
        total = len(kept) + len(left) + sum(one.fixtures for one in self.left_out)
        return len(kept), total

    @property
    def binds(self) -> bool:
        """Whether something speaks against a pass before any trial has run."""
        unread = self.doubts or self.rules_unread or self.locked or self.findings_lost
        return bool(unread or self.lost or self.unclaimed or self.lacking)

    @property
    def first_trials(self) -> dict[tuple[str, str, Side], int]:
        """How many trials are planned at first, by Eval, fixture and side."""
        found = {}
        for planned in self.evals:
            known = {one.fixture for one in planned.standing}
            reps, stored = planned.execution.reps_per_fixture, planned.stored_counts()
            for name in (one.name for one in planned.own_fixtures if one.name not in known):
                for side in planned.sides:
                    there = stored.get(name, 0) if side is Side.BASE else 0
                    found[planned.name, name, side] = max(0, reps - there)
        return found

    @property
    def trial_count(self) -> int:
        """How many trials are planned at first."""
        return sum(self.first_trials.values())


@known_of_last
def _defined(plan: Plan) -> Mapping[tuple[str, Side], AgentDefinition]:
    """Return the Agents by name and side; of several the first."""
    return {(one.name, one.side): one for one in reversed(plan.agents)}


@dataclass(frozen=True)
class LayerInputs:
    """The files that a layer's set-up sees, by their path from the repository's root.

    `root` is the folder of the repository that the layer's own root stands for: the working
    directory if all inputs lie there, so that Agents in several folders can share a layer.
    """

    entries: Mapping[str, TreeEntry]
    root: str
    cwd: str
    around: Surroundings

    @property
    def inside(self) -> str:
        """The working directory as seen from the layer's root."""
        return "" if self.root else self.cwd

    def digest(self, spec: LayerSpec, surroundings: Iterable[str]) -> str:
        """Hash all that the outcome depends on; `surroundings` are environment and platform."""
        cut = len(self.root) + 1 if self.root else 0
        files = sorted(
            f"{path_text(path[cut:])}\0{entry.mode} {entry.oid}"
            for path, entry in self.entries.items()
        )
        parts = (files, [self.inside], spec.run, spec.creates, sorted(surroundings))
        return digest([[*part] for part in parts])


def layer_inputs(
    agent: AgentDefinition, spec: LayerSpec, tree: Tree, hidden: Collection[str]
) -> LayerInputs:
    """Return what an Agent's layer sees at one revision. `hidden` is what no candidate gets."""
    roots: set[str] = set()
    patterns: set[str] = set()
    for written in spec.inputs:
        path = resolve_pattern(agent.cwd, written)
        if path is not None:
            (patterns if has_wildcard(path) else roots).add(path)
    given = file_rules(roots, patterns, None).contents(tree, hidden).paths
    below = all(under(path, {agent.cwd}) for path in given)
    outside = tree.keys() - set(given) - set(hidden)
    return LayerInputs(
        entries={path: tree[path] for path in given},
        root=agent.cwd if below else "",
        cwd=agent.cwd,
        around=Surroundings(given, outside),
    )
