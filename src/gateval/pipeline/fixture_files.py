"""Files that fixtures name (attachments, cases, scripts), read as part of those fixtures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Broken, Catalogue, embedding_scripts, scripted_names
from gateval.domain.manifests.evaluation import (
    SCRIPTED_FOLDER,
    SCRIPTED_PROVIDER,
    Eval,
    ScriptedModel,
    is_sealed,
    script_name,
)
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.messages import (
    DATA_LIMIT,
    FIXTURE_LIMIT,
    FilePart,
    Part,
    TextPart,
    attach,
    with_files,
)
from gateval.domain.paths import path_text, resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.domain.tree import Tree, is_lfs_pointer
from gateval.formats.base import Template
from gateval.formats.native.case_templates import Expanded, expand
from gateval.formats.native.cases import Case, CasesRead, read_cases
from gateval.formats.native.gate_config import read_scripted
from gateval.formats.yaml_document import write_path
from gateval.pipeline.manifests import ManifestCache

TEXTS_LIMIT = 256 * 1024 * 1024
"""Characters of all text files that the fixtures of a revision attach."""

_Key = tuple[str, str, str, str | None]


def with_attached(
    catalogue: Catalogue, tree: Tree, cache: ManifestCache
) -> tuple[Catalogue, tuple[Problem, ...]]:
    """Return the catalogue with the files of all messages, and those that cannot be attached: a
    fixture that lacks one is broken.
    """
    several = [catalogue.fixtures, *(named.values() for named in catalogue.filled.values())]
    attaching = [one for some in several for one in some if any(one.attached())]
    if not attaching:
        return catalogue, ()
    files = _read(attaching, tree, cache)
    made: dict[int, Fixture | Problem] = {}
    left = TEXTS_LIMIT
    for fixture in attaching:
        found = _filled(fixture, files, tree)
        if isinstance(found, Fixture):
            left -= sum(map(len, _texts(found)))
        if left < 0:
            where = write_path(next(fixture.attached())[0])
            found = _problem(fixture, where, _TOO_MUCH)
        made[id(fixture)] = found
    problems = dict.fromkeys(one for one in made.values() if isinstance(one, Problem))
    return _replaced(catalogue, made), tuple(problems)


_TOO_MUCH = f"All attached texts together have more than {TEXTS_LIMIT:,} characters. Attach less."


def _read(
    fixtures: Iterable[Fixture], tree: Tree, cache: ManifestCache
) -> Mapping[_Key, Part | ValueError]:
    """Return what each file is, once for all parts that are written alike."""
    wanted: dict[str, dict[_Key, FilePart]] = {}
    for fixture in fixtures:
        for _, part in fixture.attached():
            key, path = _key(fixture, part), _path(fixture, part)
            if path in tree and tree[path].is_file:
                wanted.setdefault(tree[path].oid, {})[key] = part
    found: dict[_Key, Part | ValueError] = {}
    for oid, data in cache.passing(wanted, DATA_LIMIT):
        for key, part in wanted[oid].items():
            try:
                found[key] = attach(part, key[0], oid, data)
            except ValueError as error:
                found[key] = error
    return found


def _filled(
    fixture: Fixture, files: Mapping[_Key, Part | ValueError], tree: Tree
) -> Fixture | Problem:
    paths: dict[str, None] = {}
    digests: list[str] = []
    size = 0
    for place, part in fixture.attached():
        where = write_path(place)
        path, found = _path(fixture, part), files.get(_key(fixture, part))
        if found is None or isinstance(found, ValueError):
            return _problem(fixture, where, str(found or _missing(path, part, tree)))
        paths[path_text(path)] = None
        digests.append(digest(found.model_dump(mode="json", exclude={"path"})))
        size += found.content.size if isinstance(found, FilePart) and found.content else 0
        if size > FIXTURE_LIMIT:
            said = f"All files of a fixture together may have {FIXTURE_LIMIT:,} bytes. Attach less."
            return _problem(fixture, where, said)

    def give(part: FilePart) -> Part:
        found = files[_key(fixture, part)]
        assert not isinstance(found, ValueError)  # noqa: S101 - seen above
        return found

    return fixture.replace(
        input=fixture.input.with_files(give),
        turns=tuple(with_files(turn, give) for turn in fixture.turns),
        files=tuple(dict.fromkeys((*fixture.files, *paths))),
        digest=digest([fixture.digest, *digests]),
    )


def _missing(path: str, part: FilePart, tree: Tree) -> str:
    if not path:
        return f"{quote(part.path)} leads out of the repository."
    if path in tree:
        return f"{show_path(path)} is a symbolic link or a submodule. Put the file itself there."
    return f"There is no file {show_path(path)} in this revision. Add it, or track it with git."


def _path(fixture: Fixture, part: FilePart) -> str:
    return resolve_path(fixture.folder, part.path) or ""


def _key(fixture: Fixture, part: FilePart) -> _Key:
    return _path(fixture, part), part.type, part.path, part.media_type


def _texts(fixture: Fixture) -> Iterator[str]:
    contents = [*(one.content for one in fixture.input.messages), *fixture.turns]
    for content in contents:
        if not isinstance(content, str):
            yield from (part.text for part in content if isinstance(part, TextPart))


def _problem(fixture: Fixture, where: str, message: str) -> Problem:
    place = fixture.places.get(where, fixture.place)
    return Problem(place=place, path=f"{where}.path", message=message)


def _replaced(catalogue: Catalogue, made: Mapping[int, Fixture | Problem]) -> Catalogue:
    def whole(fixtures: Iterable[Fixture]) -> tuple[Fixture, ...]:
        found = (made.get(id(one), one) for one in fixtures)
        return tuple(one for one in found if isinstance(one, Fixture))

    broken = {
        one.name: Broken(
            problem=problem,
            kind="EvalFixture",
            name=one.family or one.name,
            agent=one.target_agent or "",
            labels=one.labels,
        )
        for one in catalogue.fixtures
        if isinstance(problem := made.get(id(one)), Problem)
    }
    return replace(
        catalogue,
        fixtures=whole(catalogue.fixtures),
        filled={
            name: {one.name: one for one in whole(named.values())}
            for name, named in catalogue.filled.items()
        },
        broken=(*catalogue.broken, *broken.values()),
    )


def case_files(templates: Sequence[Template]) -> frozenset[str]:
    """Return the paths of the files of cases, whether or not they are there."""
    return frozenset(one.file for one in templates if one.file is not None)


def named_case_files(tree: Tree, cache: ManifestCache) -> frozenset[str]:
    """Return the files of cases that the manifests of a tree name; only those are parsed."""
    found: set[str] = set()
    for path, entry in cache.tree_files(tree).files.items():
        if b"cases" in (cache.data(entry) or b"") and cache.is_manifest(path, entry):
            parsed = cache.parse(path, entry)
            found |= case_files(parsed.templates) if parsed else set()
    return frozenset(found)


def cases_read(template: Template, tree: Tree, cache: ManifestCache) -> CasesRead:
    """Return the cases of a template, read once for each content of the file; none without one."""
    if template.file is None:
        return CasesRead((), ())
    path = template.file
    entry = tree.get(path)
    shown = show_path(path)
    data = cache.data(entry) if entry is not None and entry.is_file else None
    message = ""
    if entry is None:
        message = f"There is no file {shown} in this revision. Add it, or track it with git."
    elif not entry.is_file:
        message = f"{shown} is a symbolic link or a submodule. Put the file itself there."
    elif data is None:
        message = f"{shown} has more than {cache.FILE_LIMIT:,} bytes. Split it."
    elif is_lfs_pointer(data):
        message = f"{shown} is a Git LFS pointer. Store the file itself in git."
    if message or entry is None or data is None:
        problem = Problem(place=template.file_place, path="spec.cases.file", message=message)
        return CasesRead((), (problem,))
    return cache.once(("cases", path, entry.oid), lambda: read_cases(path, data))


@dataclass
class Filled:
    """What templates give: fixtures, and by the name of an Eval those that its vars fill in.

    `files` are those of cases. A template that anything is wrong with gives no fixtures. `unfit`
    are the problems of what may not be sealed, in words that give nothing away.
    """

    fixtures: list[Fixture] = field(default_factory=list)
    by_eval: dict[str, dict[str, Fixture]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    unfit: tuple[Problem, ...] = ()


def fill_in(
    templates: Sequence[Template],
    evals: Sequence[Eval],
    tree: Tree,
    cache: ManifestCache,
    *,
    all_read: bool = True,
) -> Filled:
    """Return the fixtures of the templates, as files of `tree` and these Evals fill them in.

    `all_read` says that no manifest is broken, so that what nobody names is known.
    """
    filled = Filled(files=case_files(templates))
    cache.read_all(tree[path] for path in filled.files if path in tree and tree[path].is_file)
    for template in templates:
        read = cases_read(template, tree, cache)
        cases = read.cases if template.file is not None else None
        problems = [*read.problems]
        if not problems and template.named:
            problems += _fill_for_evals(template, cases, evals, filled)
        elif not problems:
            found = _expanded(template, cases, tree, cache)
            filled.fixtures += found.fixtures
            problems += found.problems
        filled.problems += problems
        filled.broken += [_broken(template, problem) for problem in problems[:1]]
    if all_read and not filled.problems:
        filled.problems += _unused(templates, evals, filled)
    return filled


def _expanded(
    template: Template, cases: Sequence[Case] | None, tree: Tree, cache: ManifestCache
) -> Expanded:
    """Return the fixtures, made once for all revisions with this manifest and these cases."""
    oid = tree[template.file].oid if template.file is not None else ""
    return cache.once((template, oid), lambda: expand(template, cases))


def _fill_for_evals(
    template: Template, cases: Sequence[Case] | None, evals: Sequence[Eval], filled: Filled
) -> list[Problem]:
    """Fill in a template that names vars for each Eval that selects it."""
    shown: tuple[Fixture, ...] = ()
    problems: list[Problem] = []
    for evaluation in evals:
        if not _selects(evaluation, template, cases):
            continue
        if is_sealed(evaluation.path) and not is_sealed(template.place.file):
            # a change of what lies there plainly could say anything with what is sealed
            message = (
                f'The Eval "{evaluation.name}" is sealed and selects this fixture, which lies '
                "there plainly: whoever edits it could have the sealed vars shown. Put the fixture "
                "into the sealed file, or write its words without `vars`."
            )
            problems.append(Problem(place=template.place, path="spec", message=message))
            continue
        if lacking := sorted(template.asked - evaluation.vars.keys()):
            place = evaluation.places.get("spec.vars", evaluation.place)
            message = (
                f'The fixture "{template.name}" at {template.place} names `vars.{lacking[0]}`, but '
                f'the Eval "{evaluation.name}", which selects it, has no such var. Add it.'
            )
            problems.append(Problem(place=place, path="spec.vars", message=message))
            continue
        found = expand(template, cases, evaluation.vars)
        problems += found.problems
        own = filled.by_eval.setdefault(evaluation.name, {})
        own |= {one.name: one for one in found.fixtures}
        shown = shown or found.fixtures
    if not shown and not problems:  # nobody selects it: it is shown as it stands, if it can be
        shown = expand(template, cases).fixtures
    filled.fixtures += shown
    return problems


def _selects(evaluation: Eval, template: Template, cases: Sequence[Case] | None) -> bool:
    selector = evaluation.fixture_selector
    if selector is not None and selector.match_labels.items() <= template.labels.items():
        return True
    names = {template.name, *(f"{template.name}-{case.word}" for case in cases or ())}
    return not names.isdisjoint(evaluation.fixtures)


def _unused(
    templates: Sequence[Template], evals: Sequence[Eval], filled: Filled
) -> Iterator[Problem]:
    """Yield the vars that no fixture of their Eval names: most are slips."""
    named = {one.name: one.named for one in templates}
    for evaluation in evals:
        own = filled.by_eval.get(evaluation.name, {}).values()
        used = {name for one in own for name in named[one.family or one.name]} if own else set()
        for name in sorted(evaluation.vars.keys() - used):
            path = f"spec.vars.{name}"
            yield Problem(
                place=evaluation.places.get(path, evaluation.place),
                path=path,
                message=f"No fixture of this Eval names `vars.{name}`. Remove it, or write "
                f"`{{{{ vars.{name} }}}}` where it belongs.",
            )


def _broken(template: Template, problem: Problem) -> Broken:
    return Broken(
        problem=problem,
        kind="EvalFixture",
        name=template.name,
        agent=template.agent,
        labels=template.labels,
    )


SCRIPT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def read_scripts(
    catalogue: Catalogue, tree: Tree, cache: ManifestCache
) -> tuple[Mapping[str, ScriptedModel], list[Problem]]:
    """Return the scripted models that manifests name, and what is wrong with them."""
    scripts: dict[str, ScriptedModel] = {}
    problems: list[Problem] = []
    for name, (place, where) in _wanted(catalogue).items():
        path = f"{SCRIPTED_FOLDER}/{name}.yaml"
        entry = tree.get(path) if SCRIPT_NAME.fullmatch(name) else None
        if entry is None or not entry.is_file:
            message = f'The scripted model "{name}" needs the file {show_path(path)}.'
            problems.append(Problem(place=place, path=where, message=message))
            continue
        script, wrong = read_scripted(path, cache.data(entry) or b"")
        problems += wrong
        if script is not None:
            scripts[name] = script
    for name in {one for agent in catalogue.found for one in scripted_names(agent)} - {*scripts}:
        entry = tree.get(path := f"{SCRIPTED_FOLDER}/{name}.yaml")  # an Eval of another revision
        if entry is not None and entry.is_file and SCRIPT_NAME.fullmatch(name):
            script, _ = read_scripted(path, cache.data(entry) or b"")
            scripts |= {name: script} if script is not None else {}
    return scripts, problems


def _wanted(catalogue: Catalogue) -> Mapping[str, tuple[SourceLocation, str]]:
    """Where Agents, Evals, calibrations and assertions first name each scripted model."""
    wanted: dict[str, tuple[SourceLocation, str]] = {}
    for agent in catalogue.agents:
        for name in scripted_names(agent):
            is_first = f"{SCRIPTED_PROVIDER}/{name}" in agent.spec.models
            where = "spec.models" if is_first else "spec.uses"
            wanted.setdefault(name, (agent.places.get(where, agent.place), where))
    for evaluation in catalogue.evals:
        place = evaluation.places.get("spec.judge", evaluation.place)
        for name in evaluation.judge.scripts:
            wanted.setdefault(name, (place, "spec.judge.model"))
    for calibration in catalogue.calibrations:
        for model in calibration.judge_models:
            if (judge := script_name(model)) is not None:
                wanted.setdefault(judge, (calibration.place, "spec.judgeModels"))
    for name, spec in embedding_scripts(catalogue.fixtures).items():
        wanted.setdefault(name, (spec.place, ""))
    return wanted
