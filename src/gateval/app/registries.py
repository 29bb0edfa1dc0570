"""Ties the registries together for the readers of manifests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateval.adapters.age import opener
from gateval.app.foreign import git_sources
from gateval.assertions.elsewhere import ELSEWHERE
from gateval.assertions.registry import ASSERTIONS, COMBINATORS, JUDGED, WEIGHING
from gateval.assertions.scorers.names import SCORERS
from gateval.candidates.registry import RUNTIMES
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.errors import InvalidManifests
from gateval.formats.registries import Registries
from gateval.gateway.upstream.providers import PROVIDERS
from gateval.pipeline.foreign import Pinned

if TYPE_CHECKING:
    from gateval.adapters.git import GitRepository
    from gateval.domain.plan.plan import Revision
    from gateval.domain.planning.snapshot import Snapshot

MEND = "Mend them first; nothing was written."
"""The next step where manifests have to be valid before something is written."""


def valid_snapshot(
    repository: GitRepository,
    revision: Revision,
    *,
    known: Registries | None = None,
    hint: str = "",
) -> Snapshot:
    """Return what a revision holds, read by `known` or else by `registries`.

    Raises `InvalidManifests`, with this hint, where something of it cannot be read.
    """
    from gateval.pipeline.read import survey

    snapshot = survey(repository, known or registries(), revision)
    if snapshot.problems:
        raise InvalidManifests(snapshot.problems, hint=hint)
    return snapshot


def registries() -> Registries:
    """Return every known assertion, runtime and model provider."""
    return Registries(
        assertions=ASSERTIONS,
        elsewhere=ELSEWHERE,
        runtimes={name: runtime.options for name, runtime in RUNTIMES.items()},
        required={name: runtime.requires for name, runtime in RUNTIMES.items()},
        word_checks={name: runtime.check_word for name, runtime in RUNTIMES.items()},
        judged=JUDGED,
        combinators=COMBINATORS,
        environ=os.environ,
        foreign=Pinned(git_sources(os.environ)),
        weighing=WEIGHING,
        scorers=SCORERS,
        unseal=opener(os.environ),
        providers=frozenset({*PROVIDERS, SCRIPTED_PROVIDER}),
    )
