"""Makes an Eval of a suite and a target that its cases are for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import Eval, ExecutionSpec, JudgeSpec
from gateval.domain.manifests.scoring import ScoringModel, ScoringSpec
from gateval.domain.repository.place import Place
from gateval.formats.agentv.cases.case import SuiteCase
from gateval.formats.agentv.names import slug
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.suites.suite import Suite
from gateval.formats.agentv.targets.file import DEFAULT, Target
from gateval.formats.agentv.written import ExecutionBody
from gateval.formats.native.written import canonical


class Asked(NamedTuple):
    """A target as a suite or case names it, and the score from which its cases pass there."""

    name: str
    node: Node
    threshold: float | None = None

    @property
    def key(self) -> str:
        """The end of the name of an Eval that is not the suite's only one."""
        from_ = "" if self.threshold is None else f".from-{repr(self.threshold).removesuffix('.0')}"
        return f"{slug(self.name)}{from_}"


def targets_of(node: Node, execution: ExecutionBody, root: str | None = None) -> Iterator[Asked]:
    """Yield the targets that `execution` of a suite or case names; for a suite, at least one."""
    inside = node.at("execution")
    if execution.targets:
        for entry, ref in zip(inside.at("targets").items(), execution.targets, strict=True):
            yield Asked(ref if isinstance(ref, str) else ref.name, entry)
    elif execution.target:
        yield Asked(execution.target, inside.at("target"))
    elif root:
        yield Asked(root, node.at("target"))
    else:
        yield Asked(DEFAULT, node)


def asked_by(case: SuiteCase, usual: Sequence[Asked]) -> Sequence[Asked]:
    """Return the targets of a case: those it names, else the suite's; with its own threshold."""
    execution = case.body.execution
    if execution is None:
        return usual
    named = execution.target or execution.targets
    targets = [*targets_of(case.node, execution)] if named else usual
    return [one._replace(threshold=execution.threshold) for one in targets]


def eval_of(
    name: str,
    suite: Suite,
    asked: Asked,
    target: Target,
    agent: Agent,
    judge: JudgeSpec,
    fixtures: Sequence[str],
) -> Eval:
    """Return the Eval of this name: these fixtures, asked of the Agent that the target is."""
    execution, trials = suite.execution, suite.execution.trials
    runs = ExecutionSpec().model_copy(
        update={
            "parallel": execution.workers or target.body.workers or ExecutionSpec().parallel,
            "timeout_seconds": target.body.timeout_seconds or ExecutionSpec().timeout_seconds,
            "reps_per_fixture": trials.count if trials else 1,
        }
    )
    scoring = ScoringSpec(model=ScoringModel.WEIGHTED)
    threshold = execution.threshold if asked.threshold is None else asked.threshold
    if threshold is not None:
        scoring = scoring.model_copy(update={"pass_score": threshold})
    return Eval(
        name=name,
        labels={"dataset": dataset} if (dataset := _dataset(suite)) else {},
        target_agent=agent.name,
        fixtures=tuple(fixtures),
        judge=judge,
        scoring=scoring,
        execution=runs,
        place=suite.place,
        places=_places(suite, asked, target),
        path=suite.path,
        digest=digest(
            {
                "kind": "Eval",
                "name": name,
                "targetAgent": agent.name,
                "judge": canonical(judge),
                "scoring": canonical(scoring),
                "execution": canonical(runs),
            }
        ),
    )


def _dataset(suite: Suite) -> str:
    for key in ("name", "suite", "dataset"):
        if isinstance(said := suite.node.at(key).value, str) and said:
            return said
    return ""


def _places(suite: Suite, asked: Asked, target: Target) -> Mapping[str, Place]:
    execution = suite.node.at("execution")
    places = {"spec.targetAgent": asked.node.place if asked.node.path else suite.place}
    for key, node in (
        ("spec.judge", target.judge),
        ("spec.scoring.passScore", execution.at("threshold")),
        ("spec.execution.parallel", execution.at("workers")),
        ("spec.execution.repsPerFixture", execution.at("trials")),
    ):
        if node is not None and node.value is not None:
            places[key] = node.key_place
    return places
