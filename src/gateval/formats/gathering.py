"""For formats whose files refer to each other: recognised one by one, put together by revision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Broken, Contained
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree
from gateval.domain.text.quoting import quote
from gateval.formats.registries import Registries
from gateval.formats.yaml.document import Document

TEXT_LIMIT = 256 * 1024
"""Bytes of a text file that a case names."""


class Pending(NamedTuple):
    """A file that was recognised; `document` is what it holds, if it is one of YAML.

    `format` is the name of the format that recognised it, and that puts it together with others.
    `problems` are why nothing of it can be read.
    """

    path: str
    document: Document | None
    format: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def kind(self) -> str:
        """The `kind` that its document says it is of; empty for none."""
        data = self.document.data if self.document else None
        kind = data.get("kind") if isinstance(data, dict) else None
        return kind if isinstance(kind, str) else ""


def no_foreign(url: str) -> bytes:
    """Refuse every file of another repository."""
    raise ValueError(f"{quote(url)} is a file of another repository. Copy it into this one.")


@dataclass(frozen=True)
class GatheringContext:
    """A revision as such a format sees it.

    `content` gives the bytes of a tracked file, None for one that is too large to be read.
    `foreign` gives those of the file at a URL, as the revision pins it; it raises `ValueError` with
    a sentence. `variables` are those of the environment that `policy.candidateEnv` names. `wanted`
    tells at which paths manifests are looked for.
    """

    tree: Tree
    content: Callable[[str], bytes | None]
    registries: Registries
    foreign: Callable[[str], bytes] = no_foreign
    variables: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[str], bool] = lambda _path: True


class Gathered(NamedTuple):
    """What the files say together. No candidate gets the files in `own`: they say what is asked.

    `passed_over` are files that look like some of the format, and that nobody reads. What is in
    `contained` is among `problems`, too.
    """

    agents: tuple[Agent, ...] = ()
    evals: tuple[Eval, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: tuple[Broken, ...] = ()
    own: frozenset[str] = frozenset()
    passed_over: tuple[Problem, ...] = ()
    contained: tuple[Contained, ...] = ()

    def beside(self, other: Gathered) -> Gathered:
        """Return what both say."""
        return Gathered(
            (*self.agents, *other.agents),
            (*self.evals, *other.evals),
            (*self.fixtures, *other.fixtures),
            (*self.calibrations, *other.calibrations),
            (*self.problems, *other.problems),
            (*self.broken, *other.broken),
            self.own | other.own,
            (*self.passed_over, *other.passed_over),
            (*self.contained, *other.contained),
        )
