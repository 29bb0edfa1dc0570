"""The read step: revisions out of git objects, and no more of them than the question needs.

Agents and changed files are always read. Evals and fixtures are read as soon as anything changed
that could select one; in a large repository where nothing relevant changed, they are not.

What a change adds or moves there is measured with it, or not at all: an empty folder in its place
would be measured as something that nobody wrote.

The gate config of a revision, and what a change does to it.

That it is absent is read from the tree, which is there or an error: a tree or a file that git
cannot give never means the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from gateval.domain.manifests.agent import Agent, SystemFile, refusals
from gateval.domain.manifests.fixture import own_checks
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig, RulesSource
from gateval.domain.manifests.strictness import extend
from gateval.domain.paths import match_any, resolve_path, show_path
from gateval.domain.planning.closure import beside_locked, closure_of, closure_paths
from gateval.domain.planning.fixture_files import (
    attached_paths,
    check_closure,
    depends_on,
    ground_closures,
)
from gateval.domain.planning.outside import added_outside
from gateval.domain.planning.snapshot import OWN_FOLDER, GateRules, RulesEdit, Snapshot
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation
from gateval.domain.tree import LOCK_PATH, Revision, Tree, changed_paths
from gateval.errors import GatevalError, RepositoryError, UsageError
from gateval.formats.base import Registries
from gateval.formats.native.gate_config import gate_config_places, read_gate_config
from gateval.gateway.upstream.endpoints import PREFIXES
from gateval.pipeline.fixture_files import named_case_files
from gateval.pipeline.manifests import ManifestCache, about_file, overlooked
from gateval.pipeline.snapshots import snapshot_of
from gateval.ports.repository import Repository, SharedRules


def read_asked(shared: SharedRules, source: RulesSource) -> tuple[GateConfig | None, str]:
    """Read what a gate config extends, or say why it cannot be read: that is never the defaults."""
    config: GateConfig | None = None
    why = ""
    try:
        data = shared.read(source)
        if len(data) > ManifestCache.FILE_LIMIT:
            why = f"It has more than {ManifestCache.FILE_LIMIT:,} bytes."
        else:
            config, problems = read_gate_config(source.path, data)
            why = str(problems[0]) if config is None else ""
    except GatevalError as error:
        why = error.sentence
    if config is not None and config.extends:
        why = "It extends another one itself; one step is allowed."
    if config is None or why:
        return None, f"The rules that the gate config extends, {source}, cannot be read. {why}"
    return config, ""


def apply(
    asked: GateConfig | None, own: GateConfig, file: str
) -> tuple[GateConfig, tuple[str, ...]]:
    """Return the rules of `own`, the gate config in `file`, and of what it extends, if anything;
    and the sentences on what of our own does not count.
    """
    if asked is None or own.source is None:
        return own, ()
    extended = extend(asked, own)
    return extended.config, tuple(
        f"{file}: {one.key} asks less than {own.source}, which it extends: there it is "
        f"{_show(one.asked)}, here {_show(one.own)}. The stricter of both applies."
        for one in extended.ignored
    )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


class RulesRead(NamedTuple):
    """What applies, as a whole gate config too; `asked` is the one that it extends, if any."""

    rules: GateRules
    config: GateConfig
    asked: GateConfig | None = None


def read_rules(
    repository: Repository,
    base_tip: Revision,
    shared: SharedRules,
    path: str = GATE_CONFIG_PATH,
) -> RulesRead:
    """Read the gate config from the base tip; its absence means the defaults.

    What it extends is read from `shared`; `Rules.unread` says why that was not possible. Raises
    `InvalidManifests` when the file is there but wrong: a broken rule is not a missing one.
    """
    tree = repository.tree(base_tip)
    if path not in tree:
        source = f"defaults ({show_path(path)} is absent at {base_tip.short})"
        return RulesRead(
            GateRules(GateConfig().policy, source, base_tip, absent=True), GateConfig()
        )
    own, problems, _ = _config(repository, tree, path)
    if own is None:
        raise InvalidManifests(problems, hint="The gate config of the base applies; mend it there.")
    source = f"{show_path(path)} at {base_tip.short}"
    if own.source is None:
        return RulesRead(GateRules(own.policy, source, base_tip), own)
    source = f"{source}, which extends {own.source}"
    asked, unread = read_asked(shared, own.source)
    refused = _refused_variables(asked, own.source.path)
    if asked is None or refused:
        unread = unread or f"{own.source}: {refused[0]}"
        bypass = own.policy.bypass.replace(roles=())  # nobody's label counts
        policy = own.policy.replace(bypass=bypass)
        return RulesRead(GateRules(policy, source, base_tip, unread=unread), own)
    config, ignored = apply(asked, own, show_path(path))
    return RulesRead(GateRules(config.policy, source, base_tip, ignored=ignored), config, asked)


def read_own(repository: Repository, revision: Revision) -> GateConfig:
    """Read a revision's gate config without what it extends. Raises `InvalidManifests`."""
    own, problems, _ = _config(repository, repository.tree(revision), GATE_CONFIG_PATH)
    if own is None:
        raise InvalidManifests(problems)
    return own


def read_edit(
    repository: Repository, head: Tree, base: Tree, tip: RulesRead, path: str
) -> RulesEdit | None:
    """Return what a change does to the gate config, None if nothing; `tip` is what decides.

    What a change extends anew is not read: the token reads what the target branch names. Raises
    `InvalidManifests` when the change makes the file invalid.
    """
    if head.get(path) == base.get(path):
        return None
    after, problems, places = _config(repository, head, path)
    if after is None:
        raise InvalidManifests(
            problems, hint="Merged like this, the gate would refuse every later change."
        )
    before, _, _ = _config(repository, base, path)
    whole = [one and apply(tip.asked, one, path)[0] for one in (before, after)]
    first = path in head and path not in base
    return RulesEdit(whole[0], whole[1] or after, tip.config, show_path(path), places, first)


def _config(
    repository: Repository, tree: Tree, path: str
) -> tuple[GateConfig | None, tuple[Problem, ...], Mapping[str, SourceLocation]]:
    """The gate config of a tree, the defaults if it has none; None with what is wrong with it."""
    entry = tree.get(path)
    if entry is None:
        return GateConfig(), (), {}
    data = None
    if entry.is_file:
        data = repository.blobs([entry.oid], limit=ManifestCache.FILE_LIMIT)[entry.oid]
    if data is None:
        message = f"The gate config must be a file of at most {ManifestCache.FILE_LIMIT:,} bytes."
        return None, (about_file(path, message),), {}
    config, problems = read_gate_config(path, data)
    problems = (*problems, *_refused_variables(config, path))
    if problems:
        return None, problems, {}
    return config, (), gate_config_places(path, data)


def _refused_variables(config: GateConfig | None, path: str) -> tuple[Problem, ...]:
    names = config.policy.candidate_env if config else ()
    place = SourceLocation(file=show_path(path))
    return tuple(
        Problem(place=place, path="policy.candidateEnv", message=sentence)
        for sentence in refusals(names, PREFIXES)
    )


_AGENTS = (
    "Agents start from git objects and would find the pointer, not the file: store it in git, or "
    "leave it out with watch."
)
_CHECKS = (
    "Checks run on git objects and would find the pointer, not the file: store it in git, or "
    "outside the check's folder."
)
_GROUNDS = (
    "A playground is made of git objects and would hold the pointer, not the file: store it in git."
)


def pointer_problems(
    repository: Repository, agents: Iterable[Agent], snapshot: Snapshot
) -> tuple[Problem, ...]:
    """Return a problem for each Git LFS pointer among the files of each Agent that starts a
    process, of each own check and of each playground of the snapshot.

    Git is asked once, whatever their number.
    """
    depends = [
        (agent.place, sorted(closure_paths(closure_of(agent, snapshot), snapshot)), _AGENTS)
        for agent in agents
        if agent.starts_process
    ]
    depends += [(place, paths, _CHECKS) for place, paths in _checks(snapshot)]
    depends += [
        (fixture.place, sorted(closure_paths(closure, snapshot)), _GROUNDS)
        for fixture, closure in ground_closures(snapshot)
    ]
    asked = dict.fromkeys(path for _, paths, _ in depends for path in paths)
    pointers = frozenset(repository.lfs_pointers(snapshot.revision, asked) if asked else ())
    found = (
        Problem(place=place, message=f"{show_path(path)} is a Git LFS pointer. {why}")
        for place, paths, why in depends
        for path in paths
        if path in pointers
    )
    return tuple(dict.fromkeys(found))


def _checks(snapshot: Snapshot) -> Iterator[tuple[SourceLocation, list[str]]]:
    """Yield the files of own checks, those of many cases with the same check once."""
    seen: set[str] = set()
    for fixture in snapshot.catalogue.fixtures:
        for spec in own_checks(fixture):
            if spec.own is not None and spec.own.digest not in seen:
                seen.add(spec.own.digest)
                closure = check_closure(spec, fixture.folder, snapshot)
                yield spec.place, sorted(closure_paths(closure, snapshot))


P = ParamSpec("P")
R = TypeVar("R")


def reading(
    function: Callable[Concatenate[Repository, P], R],
) -> Callable[Concatenate[Repository, P], R]:
    """Have the repository given first keep at work what reads it, until the function returns."""

    @wraps(function)
    def asking(repository: Repository, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with repository.reading():
            return function(repository, *args, **kwargs)

    return asking


@dataclass(frozen=True)
class ChangeRead:
    """A change as it was read: head, the merge-base it is compared with, and the rules.

    `tip` is the target branch as it is now, whose Evals bind too; None where none of them can.
    """

    head: Snapshot
    base: Snapshot
    rules: GateRules
    tip: Snapshot | None


def read_change(
    repository: Repository,
    registries: Registries,
    under: RulesRead,
    *,
    head: Revision,
    base: Revision,
    base_tip: Revision,
    config_path: str = GATE_CONFIG_PATH,
) -> ChangeRead:
    """Read both sides of a change, under the gate config of the base tip (`read_rules`).

    Raises `UsageError` when a gate config of another name is on neither side, `InvalidManifests`
    with everything that is wrong on head, unless all of that is wrong with single suites. What is
    wrong on base is kept in its snapshot: a change that mends it must be able to pass.
    """
    trees = {revision.tree: repository.tree(revision) for revision in (head, base)}
    if config_path != GATE_CONFIG_PATH and config_path not in {
        *repository.tree(base_tip),
        *trees[head.tree],
    }:
        raise UsageError(
            f"There is no gate config {show_path(config_path)}.",
            hint="Paths count from the repository's root.",
        )
    edit = read_edit(repository, trees[head.tree], trees[base.tree], under, config_path)
    rules = replace(under.rules, edit=edit)
    cache = ManifestCache(repository, registries, under.config)
    cache.load(trees[head.tree])
    changed = changed_paths(trees[head.tree], trees[base.tree])
    ours = snapshot_of(head, trees[head.tree], cache, agents_only=True)
    must_belong = match_any(one.removeprefix("/") for one in rules.policy.must_belong)
    selects = bool(ours.catalogue.contained) or any(map(must_belong, changed))
    if selects or _selects(changed, ours, base, trees[base.tree], cache):
        cache.load(trees[base.tree])
        ours = snapshot_of(head, trees[head.tree], cache)
        theirs = snapshot_of(base, trees[base.tree], cache)
        from gateval.domain.planning.change import moved_contents  # the plan: not to validate

        moved = moved_contents(ours, theirs)
        ours = replace(ours, sizes=repository.sizes(moved)) if moved else ours
        tip = _tip(repository, base_tip, theirs, cache)
        ours, theirs, tip = _with_agents(ours, theirs, tip)
    else:  # no manifest and nothing an Agent depends on differs, so base means what head means
        if cache.targets(trees[head.tree]) - {agent.name for agent in ours.catalogue.agents}:
            ours = snapshot_of(head, trees[head.tree], cache)
        theirs = replace(ours, revision=base, tree=trees[base.tree], problems=())
        tip = None
    own = under.config if edit is None else edit.after
    ours = _with_overlooked(repository, registries, ours, own, config_path)
    _refuse_problems(with_outside(ours, theirs))
    return ChangeRead(ours, theirs, rules, tip)


def with_outside(head: Snapshot, base: Snapshot | None) -> Snapshot:
    """Return head with the problem of each path out of a closure that it shows and base does not:
    what is there already keeps nobody from mending something else.
    """
    added = added_outside(head, base)
    return head.with_problems(added)


def _with_agents(
    head: Snapshot, base: Snapshot, tip: Snapshot
) -> tuple[Snapshot, Snapshot, Snapshot]:
    """Return each side with the Agents of its broken suites that another side knows: an Agent whose
    suite cannot be read is neither gone nor new.
    """
    names = {agent.name for one in (head, base, tip) for agent in one.catalogue.agents}

    def completed(one: Snapshot) -> Snapshot:
        catalogue = one.catalogue.with_agents(names)
        return one if catalogue is one.catalogue else replace(one, catalogue=catalogue)

    theirs = completed(base)
    return completed(head), theirs, theirs if tip is base else completed(tip)


def _tip(
    repository: Repository, base_tip: Revision, base: Snapshot, cache: ManifestCache
) -> Snapshot:
    """The base tip, which mostly is the merge-base."""
    if base_tip.tree == base.revision.tree:
        return base
    tree = repository.tree(base_tip)
    cache.load(tree)
    return snapshot_of(base_tip, tree, cache)


def read_revision(
    repository: Repository,
    registries: Registries,
    revision: Revision,
    config: GateConfig,
    config_path: str = GATE_CONFIG_PATH,
) -> Snapshot:
    """Read everything of one revision under this gate config. Raises `InvalidManifests`, but not
    for what is wrong with single suites: that is kept in it.
    """
    snapshot = _survey(repository, registries, revision, config)
    _refuse_problems(_with_overlooked(repository, registries, snapshot, config, config_path))
    return snapshot


@reading
def survey(repository: Repository, registries: Registries, revision: Revision) -> Snapshot:
    """Read everything of one revision; what is wrong, its gate config included, is kept in it.

    What the gate config extends is not asked for.
    """
    try:
        config = read_own(repository, revision)
        wrong: tuple[Problem, ...] = ()
    except InvalidManifests as error:
        config, wrong = GateConfig(), error.problems
    snapshot = _survey(repository, registries, revision, config)
    targets = {evaluation.target_agent for evaluation in snapshot.catalogue.evals}
    targeted = [agent for agent in snapshot.catalogue.agents if agent.name in targets]
    pointers = pointer_problems(repository, targeted, snapshot)
    snapshot = _with_overlooked(repository, registries, snapshot, config)
    return snapshot.with_problems((*wrong, *pointers))


def _with_overlooked(
    repository: Repository,
    registries: Registries,
    snapshot: Snapshot,
    own: GateConfig,
    config_path: str = GATE_CONFIG_PATH,
) -> Snapshot:
    """Return the snapshot with what in it is passed over and meant to be read."""
    found = overlooked(repository, registries, snapshot.tree, own, config_path)
    return snapshot.with_problems(found)


def _survey(
    repository: Repository, registries: Registries, revision: Revision, config: GateConfig
) -> Snapshot:
    tree = repository.tree(revision)
    cache = ManifestCache(repository, registries, config)
    cache.load(tree)
    return snapshot_of(revision, tree, cache)


def _selects(
    changed: frozenset[str], head: Snapshot, base: Revision, tree: Tree, cache: ManifestCache
) -> bool:
    """Whether one of the changed paths could change an Agent or select an Eval.

    `tree` is that of `base`. What is gone from there may have led elsewhere, as links do.
    """
    before = cache.tree_files(tree).files
    cache.read_all(before[path] for path in changed if path in before)
    if LOCK_PATH in changed:
        return True
    for path in changed:
        if path in head.manifest_paths or path.startswith(OWN_FOLDER):
            return True
        if path in before and cache.is_manifest(path, before[path]):
            return True
    if any(one.path in changed for one in head.catalogue.found):
        return True
    if _any_depends(head, changed):
        return True
    if not changed.isdisjoint(named_case_files(head.tree, cache)):
        return True
    if beside_locked(changed, head.locked):
        return True
    gone = changed - head.tree.keys()
    if not gone:
        return False
    cache.load(tree)
    theirs = snapshot_of(base, tree, cache, agents_only=True)
    return _any_depends(theirs, gone) or not gone.isdisjoint(theirs.manifest_paths)


def _any_depends(snapshot: Snapshot, paths: frozenset[str]) -> bool:
    """Whether an Agent, a check of one's own or a message depends on one of these paths."""
    found = snapshot.catalogue
    return any(_depends(agent, snapshot, paths) for agent in found.agents) or any(
        depends_on(fixture, snapshot, paths) or not paths.isdisjoint(attached_paths(fixture))
        for fixture in found.fixtures
    )


def _depends(agent: Agent, snapshot: Snapshot, changed: frozenset[str]) -> bool:
    system = agent.spec.system
    if isinstance(system, SystemFile) and resolve_path(agent.folder, system.file) in changed:
        return True
    closure = closure_of(agent, snapshot)
    return any(closure.covers(path) for path in changed)


def _refuse_problems(snapshot: Snapshot) -> None:
    if snapshot.uncontained:
        raise InvalidManifests(snapshot.problems)


WORKTREE = "WORKTREE"


@dataclass(frozen=True)
class Revisions:
    """Head, where it left from (`base`, the merge-base), and the tip that rules come from.

    `landed` says that head is on the target branch already, and `base_tip` what it was before.
    """

    head: Revision
    base: Revision
    base_tip: Revision
    landed: bool = False


def find_head(repository: Repository, name: str | None) -> Revision:
    """Resolve head; without a name, the working tree if it has changes, else HEAD."""
    if name == WORKTREE or (name is None and repository.has_changes()):
        return repository.worktree()
    return repository.resolve("HEAD" if name is None else name)


@reading
def find_revisions(repository: Repository, *, base: str | None, head: str | None) -> Revisions:
    """Resolve all three revisions of a change. Raises `UsageError` or `RepositoryError`.

    Looking through the working tree takes git a while, so the rest goes on meanwhile.
    """
    from concurrent.futures import ThreadPoolExecutor  # `validate` compares nothing

    with ThreadPoolExecutor(1) as aside:
        looking = aside.submit(repository.has_changes) if head is None else None
        commit = repository.resolve("HEAD" if head in {None, WORKTREE} else str(head))
        # an empty name is no absent one: a script whose variable was not set must not be measured
        # against something else
        found = repository.default_branch() if base is None else base
        if found is None:
            from gateval.domain.setup.diagnosis import NAME_THE_BASE

            raise UsageError(
                "There is no telling which branch is the default one.", hint=NAME_THE_BASE
            )
        tip = repository.resolve(found)
        repository.tree(commit)
        ancestor = common_ancestor(repository, tip, commit)
        changed = looking.result() if looking else head == WORKTREE
    ours = repository.worktree() if changed else commit
    return Revisions(ours, ancestor, tip)


def common_ancestor(repository: Repository, tip: Revision, head: Revision) -> Revision:
    """Return the merge-base of two revisions, or the tip itself where there are several of them.

    Of several, no single one says what a merge would change: what is in head as it was in one of
    them may undo what the other brought. What equals the tip is not changed by any merge. Raises
    `RepositoryError` when they share none.
    """
    if tip.commit is None or head.commit is None or tip.commit == head.commit:
        return tip
    found = repository.merge_bases(tip.commit, head.commit)
    if not found:
        raise RepositoryError(
            f"{head.name} and {tip.name} share no history, so there is nothing to compare.",
            hint="Name another base: --base REV.",
        )
    return tip if len(found) > 1 or found[0] == tip.commit else repository.resolve(found[0])
