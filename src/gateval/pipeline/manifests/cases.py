"""Makes ordinary fixtures of those that are templates, before anything else looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree
from gateval.formats.native.cases.case import Case
from gateval.formats.native.cases.expand import Expanded, expand
from gateval.formats.native.cases.written import Template
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.pipeline.manifests.case_files import case_files, cases_read


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
            problems.append(_plain(template, evaluation))
            continue
        if lacking := sorted(template.asked - evaluation.vars.keys()):
            problems.append(_lacking(template, evaluation, lacking[0]))
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


def _lacking(template: Template, evaluation: Eval, name: str) -> Problem:
    return Problem(
        place=evaluation.places.get("spec.vars", evaluation.place),
        path="spec.vars",
        message=f'The fixture "{template.name}" at {template.place} names `vars.{name}`, but the '
        f'Eval "{evaluation.name}", which selects it, has no such var. Add it.',
    )


def _plain(template: Template, evaluation: Eval) -> Problem:
    """A change of what lies there plainly could say anything with what is sealed."""
    return Problem(
        place=template.place,
        path="spec",
        message=f'The Eval "{evaluation.name}" is sealed and selects this fixture, which lies '
        "there plainly: whoever edits it could have the sealed vars shown. Put the fixture into "
        "the sealed file, or write its words without `vars`.",
    )


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
