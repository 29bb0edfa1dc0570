"""Builds the snapshot of one revision from the library of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from gateval.domain.base import digest
from gateval.domain.manifests.agent import Agent, SystemFile
from gateval.domain.manifests.catalogue import Broken, Catalogue, with_scripts
from gateval.domain.manifests.catalogue_checks import check_catalogue
from gateval.domain.manifests.evaluation import SEALED_PROBLEM, Calibration, Eval, is_sealed
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.planning.fixture_files import check_problems, with_check_files, with_grounds
from gateval.domain.planning.outside import closure_problems
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.tree import Revision, Tree, is_lfs_pointer
from gateval.formats.base import Gathered, Parsed
from gateval.formats.registry import SUFFIXES
from gateval.formats.sealed import unfit
from gateval.pipeline.fixture_files import Filled, fill_in, read_scripts, with_attached
from gateval.pipeline.manifests import ManifestCache, TreeFiles, about_file, gathered

Kept = TypeVar("Kept", Eval, Fixture)


def with_seals(catalogue: Catalogue, read: Mapping[str, Parsed], cache: ManifestCache) -> Catalogue:
    """Return the catalogue with the files that are locked, and salt in the digests of sealed ones.

    Digests stand in results that everybody may read. One manifest gives one value, however often
    it is asked for, so that revisions share what did not change.
    """
    locked = frozenset(path for path, one in read.items() if one.locked)
    catalogue = replace(catalogue, locked=locked) if locked else catalogue
    salts = {path: one.salt for path, one in read.items() if one.salt}
    if not salts:
        return catalogue

    def with_salt(one: Kept) -> Kept:
        salt = salts.get(one.path)
        if salt is None:
            return one
        changed = {"digest": digest([salt, one.digest])}
        kept = cache.once(("salted", id(one)), lambda: (one, one.replace(**changed)))
        return kept[1]  # the first is held, so that no other manifest gets its id

    return replace(
        catalogue,
        evals=tuple(map(with_salt, catalogue.evals)),
        fixtures=tuple(map(with_salt, catalogue.fixtures)),
        filled={
            evaluation: {name: with_salt(one) for name, one in named.items()}
            for evaluation, named in catalogue.filled.items()
        },
    )


def _refuse_unfit(filled: Filled) -> None:
    """Take out of what templates gave the sealed fixtures that may not be sealed; note why."""
    several = [filled.fixtures, *(named.values() for named in filled.by_eval.values())]
    every = (one for fixtures in several for one in fixtures)
    refused = {id(one): why for one in every if is_sealed(one.path) and (why := unfit(one))}
    if refused:
        filled.fixtures = [one for one in filled.fixtures if id(one) not in refused]
        for evaluation, named in filled.by_eval.items():
            left = {name: one for name, one in named.items() if id(one) not in refused}
            filled.by_eval[evaluation] = left
        filled.broken += map(Broken, refused.values())
    filled.unfit = tuple(dict.fromkeys(refused.values()))


def without_sealed_words(
    problems: Iterable[Problem], parsed: Iterable[Parsed]
) -> Iterator[Problem]:
    """Yield the problems as everybody may read them: of what is sealed, only in which file.

    Those that `parsed` tells are without words already. The others hang on what is outside, such as
    the tools of an Agent, which a change may choose: lines would tell it of each fixture by itself.
    """
    known = {found for one in parsed for found in one.problems}
    told = set[str]()
    for one in problems:
        file = one.place.file
        if one in known or not is_sealed(file):
            yield one
        elif file not in told:
            told.add(file)
            yield Problem(place=SourceLocation(file=file), message=SEALED_PROBLEM)


def snapshot_of(
    revision: Revision, tree: Tree, cache: ManifestCache, *, agents_only: bool = False
) -> Snapshot:
    """Read one revision: all of it, or only the files that may hold an Agent or an own check."""
    tree_files = cache.tree_files(tree)
    recognised, read = _read_files(tree_files, cache, agents_only=agents_only)
    parsed = list(read.values())
    if agents_only and any(one.templates or one.pending for one in parsed):
        return snapshot_of(revision, tree, cache)  # only whole fixtures tell the files of checks
    data = {path: cache.data(entry) or b"" for path, entry in tree_files.links.items()}
    links = {path: os.fsdecode(target) for path, target in data.items()}
    unread = tuple(_unread(tree_files, links, cache))
    together = gathered(parsed, tree, cache)
    catalogue, filled = _catalogue(parsed, together, unread), Filled()
    problems = [*together.problems, *(found for one in parsed for found in one.problems)]
    problems += catalogue.needed_problems
    if not agents_only:
        filled = _fill_in(parsed, catalogue.evals, tree, cache)
        _refuse_unfit(filled)
        catalogue = replace(
            catalogue,
            fixtures=(*catalogue.fixtures, *filled.fixtures),
            broken=(*catalogue.broken, *filled.broken),
            filled=filled.by_eval,
        )
        catalogue, unattached = with_attached(catalogue, tree, cache)
        problems += unattached
    catalogue = with_seals(catalogue, read, cache)
    prompts, prompt_problems = _prompts(catalogue.agents, tree, cache)
    scripts, script_problems = read_scripts(catalogue, tree, cache)
    catalogue = with_scripts(catalogue, scripts) if scripts else catalogue
    problems += [*prompt_problems, *script_problems, *filled.problems, *unread]
    if not agents_only:
        problems += check_catalogue(catalogue, tree, cache.registries.providers)
    snapshot = Snapshot(
        revision=revision,
        tree=tree,
        catalogue=catalogue,
        manifest_paths=frozenset(recognised) | together.own | (filled.files & tree.keys()),
        prompts=prompts,
        links=links,
        scripts=scripts,
        meanings=dict(together.meanings),
    )
    snapshot = replace(snapshot, catalogue=with_check_files(catalogue, snapshot))
    snapshot = replace(snapshot, catalogue=with_grounds(snapshot.catalogue, snapshot))
    if not agents_only:
        problems += check_problems(snapshot)
        problems += closure_problems(snapshot)
    told = (*without_sealed_words(problems, parsed), *filled.unfit)
    return snapshot.with_problems(told)


def _read_files(
    tree_files: TreeFiles, cache: ManifestCache, *, agents_only: bool
) -> tuple[list[str], Mapping[str, Parsed]]:
    """Return the paths of the manifests, and by path what stands in those that are to be read."""
    tree = tree_files.tree
    recognised = [
        path for path, entry in tree_files.files.items() if cache.is_manifest(path, entry)
    ]
    read = {
        path: found
        for path in recognised
        if not agents_only or cache.may_matter(path, tree[path])
        if (found := cache.parse(path, tree[path])) is not None
    }
    if not agents_only:  # what merely mentions us is no manifest, but as good as any file
        recognised = [path for path, one in read.items() if not one.empty]
    return recognised, read


def _fill_in(
    parsed: Sequence[Parsed], evals: Sequence[Eval], tree: Tree, cache: ManifestCache
) -> Filled:
    templates = [template for one in parsed for template in one.templates]
    if not templates and not any(one.vars for one in evals):
        return Filled()
    all_read = not any(one.problems for one in parsed)
    return fill_in(templates, evals, tree, cache, all_read=all_read)


def _catalogue(
    parsed: Sequence[Parsed], together: Gathered, unread: Sequence[Problem]
) -> Catalogue:
    manifests = [
        *(manifest for one in parsed for manifest in one.manifests),
        *(*together.agents, *together.evals, *together.fixtures),
    ]
    broken = [*together.broken, *(one for each in parsed for one in each.broken)]
    found = Catalogue(
        agents=tuple(m for m in manifests if isinstance(m, Agent)),
        evals=tuple(sorted((m for m in manifests if isinstance(m, Eval)), key=lambda m: m.name)),
        fixtures=tuple(m for m in manifests if isinstance(m, Fixture)),
        calibrations=(
            *(m for m in manifests if isinstance(m, Calibration)),
            *together.calibrations,
        ),
        broken=(*broken, *map(Broken, unread)),
        passed_over=together.passed_over,
        contained=together.contained,
        found=together.found,
        unusable=together.unusable,
    )
    return found.with_agents(one.target_agent for one in found.evals)


def _unread(
    tree_files: TreeFiles, links: Mapping[str, str], cache: ManifestCache
) -> Iterable[Problem]:
    """What stands where a manifest may be, and cannot be looked into: it is never passed over."""
    for path, target in links.items():
        if cache.refuses_link(path, target) or _hides_manifest(path, target, tree_files, cache):
            yield about_file(
                path,
                "A manifest must be a file; this is a symbolic link. Put the file itself here.",
            )
    where = f"say in `manifests` of {GATE_CONFIG_PATH} where manifests are."
    for path, entry in tree_files.files.items():
        data = cache.data(entry) if path.endswith(SUFFIXES) else b""
        if data is None:
            yield about_file(
                path,
                f"This file has more than {cache.FILE_LIMIT:,} bytes, too many to see "
                f"whether it is a manifest. Make it smaller, or {where}",
            )
        elif is_lfs_pointer(data):
            yield about_file(
                path,
                "This file is a Git LFS pointer, which does not say whether it is a "
                f"manifest. Store the file itself in git, or {where}",
            )


def _hides_manifest(path: str, target: str, tree_files: TreeFiles, cache: ManifestCache) -> bool:
    """Whether a link with a manifest's name leads to a manifest that has none and is not read."""
    resolved = resolve_path(path.rpartition("/")[0], target) if path.endswith(SUFFIXES) else None
    if resolved is None or resolved in tree_files.files or resolved not in tree_files.tree:
        return False
    entry = tree_files.tree[resolved]
    return entry.is_file and cache.is_manifest(path, entry)


def _prompts(
    agents: Iterable[Agent], tree: Tree, cache: ManifestCache
) -> tuple[Mapping[str, str], list[Problem]]:
    """The texts of the system prompt files that exist; the catalogue check names missing ones."""
    wanted: dict[str, SourceLocation] = {}
    for agent in agents:
        if isinstance(agent.spec.system, SystemFile):
            path = resolve_path(agent.folder, agent.spec.system.file)
            if path is not None and path in tree and tree[path].is_file:
                wanted[path] = agent.places.get("spec.system", agent.place)
    cache.read_all(tree[path] for path in wanted)
    texts, problems = {}, []
    for path, place in wanted.items():
        data = cache.data(tree[path]) or b""
        message = ""
        if is_lfs_pointer(data):
            message = (
                f"The prompt file {show_path(path)} is a Git LFS pointer. Store the file itself in "
                "git."
            )
        try:
            texts[path] = data.decode("utf-8")
        except UnicodeDecodeError:
            message = f"The prompt file {show_path(path)} is not UTF-8; save it as UTF-8."
        if message:
            problems.append(Problem(place=place, path="spec.system.file", message=message))
    return texts, problems
