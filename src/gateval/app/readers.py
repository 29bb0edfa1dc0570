"""What readers of manifests need of this machine: registries, files and rules of other
repositories.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.age import opener
from gateval.adapters.git.sources import GitSources
from gateval.assertions.registry import (
    ASSERTIONS,
    COMBINATORS,
    ELSEWHERE,
    JUDGED,
    SCORERS,
    WEIGHING,
)
from gateval.candidates.registry import RUNTIMES
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.problems import InvalidManifests
from gateval.formats.base import Registries
from gateval.gateway.upstream.endpoints import PROVIDERS
from gateval.pipeline.manifests import Pinned

if TYPE_CHECKING:
    from gateval.adapters.git.repository import GitRepository
    from gateval.domain.manifests.gate_config import RulesSource
    from gateval.domain.planning.snapshot import Snapshot
    from gateval.domain.tree import Revision


CLOSED = Pinned(
    None,
    "files of other repositories are fetched in trusted runs only, and this one is not. A "
    "maintainer can push the branch to this repository.",
)
"""What runs see that are somebody else's: nothing is fetched at their word."""


def git_sources(environ: Mapping[str, str]) -> GitSources:
    """Return the repositories that git reaches from here, kept in the user's cache.

    Without a home there is none: in a shared folder another user may have put a repository first.
    """
    home = environ.get("HOME", "")
    cache = Path(environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache"))
    return GitSources(cache / "gateval" / "sources" if cache.is_absolute() else None, environ)


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
        bridges={name: runtime.bridge for name, runtime in RUNTIMES.items() if runtime.bridge},
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


TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Variables that hold a token on somebody's own machine."""

_ON_A_MACHINE = "Set GITHUB_TOKEN to one that may read that repository."


@dataclass(frozen=True)
class ForgeRules:
    """Fulfils `ports.sources.SharedRules`; GitHub's adapter is loaded when it is needed.

    `where` is the next step for somebody whose token is missing.
    """

    environ: Mapping[str, str] = field(repr=False)
    token: str = field(repr=False)
    where: str

    def read(self, source: RulesSource) -> bytes:
        """Return the file at that commit. Raises `ForgeError`."""
        from gateval.adapters.github.forge import read_shared_rules

        return read_shared_rules(source, self.token, self.environ, where=self.where)


def rules_here(environ: Mapping[str, str]) -> ForgeRules:
    """Return how the command line reads them."""
    token = next((environ[name] for name in TOKENS if environ.get(name)), "")
    return ForgeRules(environ, token.strip(), _ON_A_MACHINE)
