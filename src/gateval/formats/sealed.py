"""Manifests in sealed files: opened with the key, read as if they lay there plainly.

Whatever is wrong inside is told without its words. What a sealed file names may only be what lies
beside or below it: so a run without the key knows which changes it cannot judge.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from gateval.domain.manifests.catalogue import Broken, embedding_scripts
from gateval.domain.manifests.evaluation import SEALED_PROBLEM, Eval, without_first_line
from gateval.domain.manifests.fixture import Fixture, own_checks
from gateval.domain.manifests.playground import PLAYGROUND
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.tree import under
from gateval.formats.base import Parsed, Registries, Template
from gateval.formats.native.manifests import read_manifests
from gateval.ports.repository import CannotOpen

_Held = Eval | Fixture | Template


def read_sealed(path: str, data: bytes, registries: Registries) -> Parsed:
    """Return the manifests of a sealed file; without a key, that it is locked."""
    if registries.unseal is None:
        return Parsed((), (), locked=True)
    try:
        content = without_first_line(registries.unseal(data))
    except CannotOpen as error:
        return _refused(path, str(error))
    if content.text is None:
        return _refused(path, "This file does not say which it is. Seal it with `gateval seal`.")
    if content.path != path:
        return _refused(
            path,
            f"This file was sealed as {show_path(content.path)}, and stands here under another "
            "name. Put it back, or unseal it there and seal it here.",
        )
    found = read_manifests(path, content.text, registries)
    if found.pending:
        return _refused(
            path,
            "A golden set, or a benchmark of another repository, lies there for all to see. Evals, "
            "fixtures and benchmarks with their own tasks are sealed.",
        )
    if found.empty:
        return _refused(path, "There is no manifest in what is sealed here.")
    wrong = tuple(_sealed(one) for one in found.problems)
    broken = tuple(one._replace(problem=_sealed(one.problem)) for one in found.broken)
    refused = {id(one): problem for one in found.manifests if (problem := unfit(one))}
    refused |= {id(one): problem for one in found.templates if (problem := unfit(one))}
    return found._replace(
        manifests=tuple(one for one in found.manifests if id(one) not in refused),
        templates=tuple(one for one in found.templates if id(one) not in refused),
        problems=(*wrong, *refused.values()),
        broken=(*broken, *map(Broken, refused.values())),
        left=False,
        salt=content.salt,
    )


def unfit(manifest: object) -> Problem | None:
    """Return why a manifest may not be sealed, in words that give nothing away; None if it may.

    What a template gives has to be asked for again when it was filled in.
    """
    if not isinstance(manifest, _Held):
        kind = getattr(manifest, "kind", "manifest")
        what = "Evals and fixtures are sealed; the comment shows what changed in an Agent, and " * (
            kind == "Agent"
        )
        message = f"{what or 'Only Evals and fixtures are sealed; '}this {kind} belongs outside."
        return Problem(place=_place(manifest), message=message)
    why = next(_why_not(manifest), None)
    return Problem(place=manifest.place, message=why) if why else None


def hardly_sealed(manifest: object) -> Problem | None:
    """Return why a manifest is not sealed now; files that hold such a one already are read."""
    wrong = unfit(manifest)
    held = _commands(manifest) if isinstance(manifest, Fixture) else ()
    if wrong is None and any(map(_looks_for, held)):
        message = (
            "A sealed command works in an empty folder, so that it imports nothing that an agent "
            "has left. Name a file of the playground as `{playground}/NAME`."
        )
        return Problem(place=_place(manifest), message=message)
    return wrong


def _why_not(manifest: _Held) -> Iterator[str]:
    outside = "A sealed file may name files beside or below it only; this one is elsewhere."
    if isinstance(manifest, Template) and manifest.file is not None:
        yield "Cases of a file lie there for all to see. Write them into the sealed file itself."
    if not isinstance(manifest, Fixture):
        return
    if any(own_checks(manifest)):
        yield (
            "A check of one's own is a program that a change can rewrite, and it would be told "
            "what is sealed. Use assertions without a program here."
        )
    if embedding_scripts([manifest]):
        yield (
            "The rules of a scripted model come with a change, and its author could try words of "
            "what is sealed with them. Name a model of a provider, or another metric."
        )
    pairs = [pair for command in _commands(manifest) for pair in itertools.pairwise(command)]
    if not all(_TELLABLE.fullmatch(word) or before == "-m" for before, word in pairs):
        yield (
            "The words of a command stand in the list of processes, where agents that run beside "
            "it may read them. Here a command may have options without values and names of files; "
            "hand over the rest on `stdin`, as in `command: [sh]` or `command: [python3, -]`."
        )
    for named in _named_files(manifest):
        path = resolve_path(manifest.folder, named)
        if path is None or (manifest.folder and not under(path, {manifest.folder})):
            yield outside


def _commands(fixture: Fixture) -> Iterator[list[str]]:
    for outer in fixture.assertions:
        for spec in outer.within():
            command = spec.options.get("command")
            if isinstance(command, list):
                yield [word for word in command if isinstance(word, str)]


_TELLABLE = re.compile(
    r"-|--?[A-Za-z][\w-]*|\{playground\}"  # an option, or the folder
    r"|[\w{}@+-]*/[\w{}@+./-]*|[\w{}@+.-]+\.[A-Za-z]\w{0,4}"  # a path, or a file's name
)


def _looks_for(command: list[str]) -> bool:
    """Whether a command names a file that it would look for in the folder in which it works."""
    first, *rest = command or [""]
    files = [*([first] if "/" in first else []), *(one for one in rest if not one.startswith("-"))]
    pairs = zip([first, *rest], rest, strict=False)
    modules = {word for before, word in pairs if before == "-m"}
    return any(not one.startswith(("/", PLAYGROUND)) for one in files if one not in modules)


def _named_files(fixture: Fixture) -> Iterator[str]:
    for _, part in fixture.attached():
        yield part.path
    if fixture.playground is not None:
        yield from fixture.playground.files
        for _, written, _ in fixture.playground.own_sources(fixture.folder):
            yield written


def _sealed(problem: Problem) -> Problem:
    return Problem(place=problem.place, message=SEALED_PROBLEM)


def _place(manifest: object) -> SourceLocation:
    place = getattr(manifest, "place", None)
    assert isinstance(place, SourceLocation)  # noqa: S101 - every manifest has one
    return place


def _refused(path: str, message: str) -> Parsed:
    problem = Problem(place=SourceLocation(file=show_path(path)), message=message)
    return Parsed((), (problem,), (Broken(problem),))
