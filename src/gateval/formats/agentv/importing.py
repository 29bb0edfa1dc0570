"""A suite as native manifests: what carries over, and what does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.fixtures.attached import FilePart, TextPart
from gateval.domain.manifests.fixtures.messages import Role, parts_of
from gateval.domain.repository.tree import Tree
from gateval.formats.agentv.references import NoFile, find
from gateval.formats.gathering import GatheringContext
from gateval.formats.native.documents import (
    FileOf,
    agent_document,
    eval_document,
    fixture_document,
)
from gateval.formats.native.writing import manifest_text
from gateval.formats.registries import Registries

_HEAD = "# Written by `gateval import agentv`. From here on, this is what counts.\n"
_NO_REGISTRIES = Registries({}, {}, frozenset(), frozenset())


def carried(agents: Iterable[Agent], evals: Iterable[Eval], found: Catalogue, tree: Tree) -> str:
    """Return the file of native manifests that says what the Evals of a suite say."""
    documents: list[JsonObject] = [agent_document(one) for one in agents]
    fixtures: dict[str, Fixture] = {}
    for evaluation in evals:
        selected = {one.name: one for one in select_fixtures(evaluation, found)}
        listing = evaluation.model_copy(update={"fixtures": tuple(selected)})
        documents.append(eval_document(listing))
        fixtures |= selected
    documents += [fixture_document(_sound(one), _files(one, tree)) for one in fixtures.values()]
    return _HEAD + manifest_text(documents)


def lost(fixtures: Iterable[Fixture], tree: Tree) -> Iterator[str]:
    """Yield what of a suite native manifests say otherwise, or not at all."""
    for fixture in fixtures:
        where = f"{fixture.place.file}:{fixture.place.line}"
        for spec in fixture.assertions:
            if any(part.weight == 0 for part in spec.within()):
                name = spec.name or spec.type
                yield f"{where} {name}: its weight of 0 has no native form, so it is left out"
        told = sorted({name for name, whole in _told(fixture, tree) if whole})
        if told:
            names = ", ".join(told)
            yield f"{where} {names}: told by file name, not by path, and with its own line breaks"
        kept = sorted({name for name, whole in _told(fixture, tree) if not whole})
        if kept:
            yield f"{where} {', '.join(kept)}: only the user sends files, so its text stands there"


def _sound(fixture: Fixture) -> Fixture:
    """Return a fixture without the assertions that count nothing."""
    kept = [one for one in map(_weighed, fixture.assertions) if one is not None]
    return fixture.model_copy(update={"assertions": tuple(kept)})


def _weighed(spec: AssertionSpec) -> AssertionSpec | None:
    if spec.weight == 0:
        return None
    parts = tuple(part for part in map(_weighed, spec.parts) if part is not None)
    return spec.model_copy(update={"parts": parts})


def _files(fixture: Fixture, tree: Tree) -> FileOf:
    around = GatheringContext(tree, lambda _path: None, _NO_REGISTRIES)

    def file_of(name: str) -> str | None:
        try:
            return find(name, fixture.folder, around)
        except NoFile:
            return None

    return file_of


def _told(fixture: Fixture, tree: Tree) -> Iterator[tuple[str, bool]]:
    """Yield the texts of files, each with whether it stays a file."""
    file_of = _files(fixture, tree)
    for message in fixture.input.messages:
        for part in parts_of(message.content):
            if isinstance(part, TextPart) and part.file:
                yield part.file, message.role is Role.USER and file_of(part.file) is not None
    for turn in fixture.turns:
        for part in parts_of(turn):
            if not isinstance(part, FilePart) and part.file:
                yield part.file, file_of(part.file) is not None
