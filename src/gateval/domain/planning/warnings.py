"""The warnings of a plan: what it cannot measure or regard, and what nothing measures."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from gateval.domain.base import canonical_json
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import SCRIPTED_FOLDER, script_name
from gateval.domain.manifests.families import family
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixture_checks import NamedTool, known_tools, named_tools
from gateval.domain.paths import match_any, nearest, show_path
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import AfterMerge, PlannedEval, Unreadable
from gateval.domain.planning.bar.planning import NOTHING_HELD, WithheldEvals, other_edits
from gateval.domain.planning.change import prompt_path, untargeted
from gateval.domain.planning.closure import closure_of
from gateval.domain.planning.fixture_files import check_closures
from gateval.domain.planning.outside import outside_warnings
from gateval.domain.planning.snapshot import RulesEdit, Snapshot
from gateval.domain.problems import SourceLocation
from gateval.domain.text import listing, quote
from gateval.domain.tree import changed_paths


def coverage_warnings(
    planned: Sequence[PlannedEval],
    changes: Sequence[AgentChange],
    head: Snapshot,
    base: Snapshot | None,
    held: WithheldEvals = NOTHING_HELD,
) -> Iterable[str]:
    """Tell of changed Agents that nothing measures, and of what cannot be compared or exported."""
    evaluated = {one.agent for one in planned}
    yield from _unsupported((*planned, *held.evals))
    idle = {one.agent for one in held.idle}
    for change in changes:
        unmeasured = change.agent not in evaluated and not head.locked
        if change.kind is not ChangeKind.DELETED and unmeasured:
            why = "no Eval targets it"
            if change.agent in idle:
                why = "what targets it is sealed, and the target branch does not have it"
            yield f"Agent {change.agent} is {change.kind}, but {why}: not measured."
    if base is not None and (names := untargeted(head, base)):
        yield untargeted_sentence(names)
    wrong = base.uncontained if base is not None else ()
    if wrong:
        yield (
            f"The base has {len(wrong)} invalid manifest(s); what they define cannot be "
            f"compared. First: {wrong[0]}"
        )
    yield from map(str, head.catalogue.passed_over)


def untargeted_sentence(names: Sequence[str]) -> str:
    """Say which agents of other tools' files changed and are not measured; not empty."""
    what, it = ("The agent", "it") if len(names) == 1 else ("The agents", "them")
    return (
        f"{what} {listing(names, _NAMED)} (files of other tools) changed, and no Eval targets "
        f"{it}: not measured."
    )


def held_warnings(held: WithheldEvals) -> Iterable[str]:
    """Tell of sealed Evals of head that the target branch does not have: they do not run."""
    if held.after_merge:
        yield after_merge_sentence(held.after_merge)
    for name in held.gone:
        yield f"{name} is sealed, and the target branch has no such Eval any more: it does not run."


_NAMED = 5


def after_merge_sentence(several: Sequence[AfterMerge]) -> str:
    """Say which sealed Evals and fixtures of the change first run after the merge; not empty."""
    parts = [_part(one) for one in several[:_NAMED]]
    more = len(several) - _NAMED
    said = "; ".join([*parts, *([f"{more} more"] if more > 0 else [])])
    alone = len(several) == 1 and len(several[0].named) < 2
    who, does = ("it was", "runs") if alone else ("they were", "run")
    return f"Sealed, so {who} validated here and first {does} after the merge: {said}."


def _part(one: AfterMerge) -> str:
    if not one.instead:
        cases = "1 fixture" if one.fixtures == 1 else f"{one.fixtures:,} fixtures"
        return f"the {one.kind} {one.eval}, with {cases}"
    what = listing(one.named, _NAMED) if one.named else "what is edited"
    return f"{what} of {one.eval}, which runs here as the target branch has it"


def new_providers(head: Snapshot, base: Snapshot) -> tuple[str, ...]:
    """Tell of model providers that nothing in the repository asked before the change.

    What they are sent leaves for somebody new, with a key of the gate's if it has one.
    """
    before = {provider for provider, _, _ in _asking(base)}
    told: dict[str, str] = {}
    for provider, who, place in _asking(head) if before else ():
        if provider not in before:
            told.setdefault(provider, f"{provider}, by {who} ({place})")
    return tuple(told.values())


def _asking(snapshot: Snapshot) -> Iterable[tuple[str, str, SourceLocation]]:
    """Give each provider that is asked, by whom and where that is written; a script is none."""
    for agent in snapshot.catalogue.agents:
        place = agent.places.get("spec.models", agent.place)
        for model in agent.asked_models:
            if script_name(model) is None:
                yield model.partition("/")[0], f"the Agent {agent.name}", place
    for one in snapshot.catalogue.evals:
        for model in one.judge.asked:
            if script_name(model) is None:
                who = "the judge of a sealed Eval" if one.sealed else f"the judge of {one.name}"
                yield model.partition("/")[0], who, one.places.get("spec.judge", one.place)


def shown_warnings(
    planned: Sequence[PlannedEval], head: Snapshot, base: Snapshot | None
) -> Iterable[str]:
    """Tell of files that manifests show and no candidate gets, where they concern what changed, of
    jurors that may favour the agent, and of agents that are not told a conversation's beginning.
    """
    yield from _kin(planned, head)
    yield from _forgetful(planned, head)
    changed = changed_paths(head.tree, base.tree) if base is not None else frozenset()
    yield from outside_warnings(head, {one.agent for one in planned}, changed)


def _kin(planned: Sequence[PlannedEval], head: Snapshot) -> Iterable[str]:
    """Name each of several judges that is of the family of the agent's own models."""
    for one in planned:
        agent = head.catalogue.agent(one.agent)
        own = {family(model): model for model in agent.asked_models} if agent is not None else {}
        for juror in one.judge.asked if one.judge.is_panel and one.is_judged else ():
            kin = own.get(family(juror))
            if kin is not None and family(juror):
                who = "a sealed Eval" if one.sealed else one.shown_name
                yield (
                    f"{juror} judges {who}, whose agent asks {kin} of the same family "
                    f"({family(juror)}): models like their own family's answers more."
                )


_TOLD = re.compile(r"\{\{-?\s*(\w+)")


def _forgetful(planned: Sequence[PlannedEval], head: Snapshot) -> Iterable[str]:
    """Name each Agent whose program is told the newest sentence alone, where it is to converse."""
    for one in planned:
        agent = head.catalogue.agent(one.agent)
        runtime = agent.spec.runtime if agent is not None else None
        if runtime is None or runtime.conversation is not ConversationMode.HISTORY:
            continue
        written = canonical_json([*runtime.command, runtime.options])
        told = set(_TOLD.findall(written)) - {"home", "port"}
        talks = next((fixture for fixture in one.fixtures if fixture.turns[1:]), None)
        if talks is not None and told == {"prompt"}:
            which = "a fixture" if one.sealed else talks.name
            yield (
                f"{which} of {one.shown_name} has turns, and {one.agent} is told `{{{{ prompt }}}}`"
                " alone, the newest: unless it remembers the others itself, or reads them on "
                "standard input, tell it `{{ messages }}`, or let one process go on "
                "(`conversation: process`)."
            )


def _unsupported(planned: Sequence[PlannedEval]) -> Iterable[str]:
    """Tell which criteria of benchmarks fail whatever happens, of each benchmark the first."""
    for one in planned:
        found = [(f, s) for f in one.fixtures for s in f.assertions if s.unsupported]
        if found and one.sealed:
            many = "A criterion" if len(found) == 1 else f"{len(found)} criteria"
            yield f"{many} of {one.shown_name}, which is sealed, cannot hold, whatever happens."
        elif found:
            fixture, spec = found[0]
            more = f", and {len(found) - 1} more criteria" if len(found) > 1 else ""
            yield (
                f"The criterion {quote(spec.name)} of {fixture.name}{more} of {one.shown_name} "
                f"fails, whatever happens: {spec.unsupported}."
            )


def idle_warnings(planned: Sequence[PlannedEval], head: Snapshot, base: Snapshot) -> Iterable[str]:
    """Tell of assertions that forbid what head's Agent cannot call, where the change made them so.

    It takes the tool from the Agent or renames it, or the assertion is new with a name of no tool.
    Nothing is said of sealed Evals: who takes tools away one by one would learn what they forbid.
    """
    told: dict[str, None] = {}
    for one in (one for one in planned if not one.sealed):
        known = known_tools(head.catalogue.agent(one.agent))
        before = known_tools(base.catalogue.agent(one.agent))
        for fixture in one.fixtures if known is not None else ():
            earlier = base.catalogue.fixture(fixture.name)
            names = {one.name for one in named_tools(earlier)} if earlier is not None else set()
            for named in named_tools(fixture):
                if not named.idle or named.name in (known or ()):
                    continue
                taken = before is not None and named.name in before
                if not taken and named.name in names:
                    continue
                said = _idle_sentence(one, fixture, named, taken=taken)
                told[said + nearest(named.name, sorted(known or ()))] = None
    return told


def _idle_sentence(one: PlannedEval, fixture: Fixture, named: NamedTool, *, taken: bool) -> str:
    gone = "has no such tool any more" if taken else "has no such tool"
    return (
        f"`{named.type}` of {fixture.name} ({one.shown_name}) names {quote(named.name)}, and "
        f"checks nothing there: Agent {one.agent} {gone}."
    )


def rules_warnings(edit: RulesEdit | None) -> Iterable[str]:
    """Tell that an edit of the gate config does not count yet."""
    others = other_edits(edit) if edit else ()
    if edit and others:
        yield (
            f"The change edits {edit.file}: {'; '.join(others)}. The target branch's rules decide "
            "here; the edit takes effect after the merge."
        )


def demand_warnings(patterns: Iterable[str], head: Snapshot, base: Snapshot) -> Iterable[str]:
    """Tell which patterns of `policy.mustBelong` fit no file, so that nothing is asked."""
    for pattern in patterns:
        fits = match_any([pattern.removeprefix("/")])
        if not any(map(fits, head.tree)) and not any(map(fits, base.tree)):
            yield (
                f"policy.mustBelong asks for {quote(pattern)}, which fits no tracked file, so it "
                "asks for nothing. Correct the pattern."
            )


def tip_warnings(base: Snapshot, tip: Snapshot | None) -> Iterable[str]:
    """Tell of manifests of the target branch that cannot bind the change."""
    if tip is not None and tip is not base and tip.uncontained:
        yield (
            f"The target branch has {len(tip.uncontained)} invalid manifest(s); what they ask "
            f"cannot bind this change. First: {tip.uncontained[0]}"
        )


Owned = Callable[[str], bool]


def unclaimed(
    patterns: Iterable[str], head: Snapshot, base: Snapshot, idle: Collection[str] = ()
) -> Sequence[str]:
    """Return the changed paths that match and belong to no Agent that an Eval measures.

    Those of head whose names are in `idle` measure nothing here.
    """
    matches = match_any(pattern.removeprefix("/") for pattern in patterns)
    changed = [path for path in sorted(changed_paths(head.tree, base.tree)) if matches(path)]
    if not changed:
        return []
    evals = tuple(one for one in head.catalogue.evals if one.name not in idle)
    ours = replace(head, catalogue=replace(head.catalogue, evals=evals)) if idle else head
    return _strays(changed, ours, base, measured=True)


def _strays(
    paths: Sequence[str], head: Snapshot, base: Snapshot, *, measured: bool
) -> Sequence[str]:
    """Those that belong to nobody on head or, if they are gone there, at the base."""
    gone = [path for path in paths if path not in head.tree]
    ours = _owned(head, measured=measured)
    theirs = _owned(base, measured=measured) if gone else ours
    return [path for path in paths if not (ours if path in head.tree else theirs)(path)]


def _owned(snapshot: Snapshot, *, measured: bool = False) -> Owned:
    """Whether a path of this revision belongs to an Agent or a check, or the gate reads it."""
    targets = {evaluation.target_agent for evaluation in snapshot.catalogue.evals}
    agents = [one for one in snapshot.catalogue.agents if not measured or one.name in targets]
    closures = [closure_of(agent, snapshot) for agent in agents]
    closures += check_closures(snapshot)
    prompts = {prompt_path(agent) for agent in agents}
    return lambda path: (
        path in prompts
        or path in snapshot.manifest_paths
        or snapshot.is_hidden(path)
        or any(closure.covers(path) for closure in closures)
    )


NAMED = 5
FILES_NAMED = 10


def why_nothing(
    changes: Sequence[AgentChange], doubts: Sequence[Unreadable], head: Snapshot, base: Snapshot
) -> str:
    """Return the sentence for a change from `base` to `head` for which no Eval runs."""
    said = "Nothing to evaluate"
    if doubts:
        wheres = " and ".join(dict.fromkeys(doubt.revision for doubt in doubts))
        return f"{said} was found, but there are manifests on {wheres} that cannot be read."
    if changes:
        gone = [one.agent for one in changes if one.kind is ChangeKind.DELETED]
        stay = [one.agent for one in changes if one.kind is not ChangeKind.DELETED]
        parts = [f"{', '.join(stay)} changed, but no Eval on head targets it"] if stay else []
        parts += [f"{', '.join(gone)} removed"] if gone else []
        return f"{said}: {'; '.join(parts)}."
    if not head.catalogue.agents:
        return f"{said}: there is no Agent manifest on head. `gateval init` writes the first."
    if head.revision.commit and head.revision.commit == base.revision.commit:
        return (
            f"{said}: head and base are the same commit, {head.revision.short}. "
            "Name an older one with --base to compare with it."
        )
    between = f"between {base.revision.short} and {head.revision.short}"
    edits = list(_edits(head, base))
    if edits:
        named = f"{listing(edits, NAMED)} {between}"
        return f"{said}: {named}, but no Eval on head runs for that.{_files(head, base)}"
    return f"{said}: no Agent, Eval or fixture changed {between}.{_files(head, base)}"


def _files(head: Snapshot, base: Snapshot) -> str:
    """Name changed files that nothing measures; a person who knows better declares them."""
    changed = sorted(changed_paths(head.tree, base.tree))
    paths = _strays(changed, head, base, measured=False)
    if not paths:
        return ""
    what = "changed file" if len(paths) == 1 else f"{len(paths):,} changed files"
    return f" No Agent depends on the {what} {listing([*map(show_path, paths)], FILES_NAMED)}."


def _edits(head: Snapshot, base: Snapshot) -> Iterator[str]:
    """What differs, though nothing runs for it: Evals, fixtures, calibrations, scripts."""
    if head.catalogue is base.catalogue:
        return
    ours, theirs = _digests(head.catalogue), _digests(base.catalogue)
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            word = "removed" if key not in ours else "changed" if key in theirs else "added"
            yield f"{' '.join(key)} {word}"
    for path in sorted(changed_paths(head.tree, base.tree)):
        if path.startswith(f"{SCRIPTED_FOLDER}/"):
            yield f"{show_path(path)} changed"


def _digests(catalogue: Catalogue) -> dict[tuple[str, str], str]:
    """What each manifest but the Agents means, by what it is and its name."""
    return {
        **{("Eval", one.name): one.digest for one in catalogue.evals},
        **{("fixture", one.name): one.digest for one in catalogue.fixtures},
        **{("calibration", one.name): one.digest for one in catalogue.calibrations},
    }
