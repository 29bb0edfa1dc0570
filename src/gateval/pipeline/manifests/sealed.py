"""What differs for manifests that were sealed: digests with salt, problems without words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Broken, Catalogue
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import SEALED_PROBLEM, is_sealed
from gateval.domain.repository.place import Problem
from gateval.formats.parsed import Parsed
from gateval.formats.sealed import unfit
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.pipeline.manifests.cases import Filled

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
        kept = cache.once(("salted", id(one)), lambda: (one, one.model_copy(update=changed)))
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


def refuse_unfit(filled: Filled) -> None:
    """Take out of what templates gave the sealed fixtures that may not be sealed; note why."""
    every = [
        *filled.fixtures,
        *(one for named in filled.by_eval.values() for one in named.values()),
    ]
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
    """Yield the problems as everybody may read them: of what is sealed, only where they are.

    Those that `parsed` tells are without words already.
    """
    known = {found for one in parsed for found in one.problems}
    for one in problems:
        if one not in known and is_sealed(one.place.file):
            yield Problem(place=one.place, message=SEALED_PROBLEM)
        else:
            yield one
