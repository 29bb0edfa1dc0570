"""For formats whose files refer to each other: recognised one by one, put together by revision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree
from gateval.formats.registries import Registries
from gateval.formats.yaml.document import Document


class Pending(NamedTuple):
    """A file that was recognised; `document` is what it holds, if it is one of YAML.

    `of` names the format that puts it together with others.
    """

    path: str
    document: Document | None
    of: str


@dataclass(frozen=True)
class Around:
    """A revision as such a format sees it.

    `content` gives the bytes of a tracked file, None for one that is too large to be read.
    `variables` are those of the environment that `policy.candidateEnv` names.
    """

    tree: Tree
    content: Callable[[str], bytes | None]
    registries: Registries
    variables: Mapping[str, str] = field(default_factory=dict)


class Gathered(NamedTuple):
    """What the files say together. No candidate gets the files in `own`: they say what is asked."""

    agents: tuple[Agent, ...] = ()
    evals: tuple[Eval, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: tuple[Broken, ...] = ()
    own: frozenset[str] = frozenset()

    def with_more(self, other: Gathered) -> Gathered:
        """Return both together."""
        return Gathered(
            agents=(*self.agents, *other.agents),
            evals=(*self.evals, *other.evals),
            fixtures=(*self.fixtures, *other.fixtures),
            calibrations=(*self.calibrations, *other.calibrations),
            problems=(*self.problems, *other.problems),
            broken=(*self.broken, *other.broken),
            own=self.own | other.own,
        )
