"""What differs for manifests that were sealed: digests with salt, problems without words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import SEALED_PROBLEM, is_sealed
from gateval.domain.repository.place import Problem
from gateval.pipeline.manifests.cache import ManifestCache

Kept = TypeVar("Kept", Eval, Fixture)


def salted(catalogue: Catalogue, salts: Mapping[str, str], cache: ManifestCache) -> Catalogue:
    """Return the catalogue with the salt of its file in each digest of what was sealed.

    Digests stand in results that everybody may read. One manifest gives one value, however often
    it is asked for, so that revisions share what did not change.
    """

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


def without_sealed_words(problem: Problem) -> Problem:
    """Return a problem as everybody may read it: of a sealed file, only where it is."""
    if not is_sealed(problem.place.file):
        return problem
    return Problem(place=problem.place, message=SEALED_PROBLEM)
