"""Puts suites and targets together: an Agent for each target, an Eval for each it is asked by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import (
    Eval,
    ExecutionSpec,
    JudgeSpec,
    ScoringModel,
    ScoringSpec,
)
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.agents import agent_of, model_of
from gateval.formats.agentv.case import Case, CaseReader
from gateval.formats.agentv.names import slug, suite_name
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.recognition import Kind, almost_key, is_named, kind_of
from gateval.formats.agentv.suite import Suite, read_lines, read_suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.agentv.targets import DEFAULT, NoTarget, Target, TargetsFile, targets_paths
from gateval.formats.agentv.written import ExecutionBody
from gateval.formats.gathering import Around, Gathered, Pending
from gateval.formats.native.written import canonical
from gateval.formats.yaml.document import Document


def gather(pending: Sequence[Pending], around: Around) -> Gathered:
    """Return what the suites of a revision and the files that they name say together."""
    found = Findings()
    assembly = _Assembly(around, found)
    for suite in _suites(pending, around, found):
        assembly.add(suite)
    return Gathered(
        agents=tuple(assembly.agents.values()),
        evals=tuple(assembly.evals),
        fixtures=tuple(assembly.fixtures),
        problems=tuple(found.problems),
        broken=tuple(found.broken),
        own=frozenset(found.own - found.shown),
    )


def _suites(pending: Sequence[Pending], around: Around, found: Findings) -> Iterator[Suite]:
    lines: dict[str, Document | None] = {}
    for path, document in pending:
        if document is None:
            lines.setdefault(path, None)
            continue
        kind = kind_of(path, document.data)
        if kind is Kind.SUITE:
            yield from _read(path, document, around, found)
        elif kind is Kind.ALMOST:
            _tell_almost(path, document, found)
        elif kind is Kind.COMPANION:
            beside = [one for one in _lines_beside(path) if one in around.tree]
            lines |= dict.fromkeys(beside, document)
            found.own |= {path} if beside else set()
            if not beside and is_named(path):
                said = f"This suite has no cases, and {_lines_beside(path)[0]} is not there either."
                found.problems.append(Problem(place=document.place(), message=said))
    for path, companion in lines.items():
        before = len(found.problems)
        suite = read_lines(path, companion, around, found)
        if suite is not None:
            yield suite
        elif len(found.problems) > before:
            found.broken.append(Broken(found.problems[before], kind="Eval", name=suite_name(path)))


def _read(path: str, document: Document, around: Around, found: Findings) -> Iterator[Suite]:
    found.own.add(path)
    before = len(found.problems)
    suite = read_suite(path, document, around, found)
    if suite is not None:
        yield suite
    else:
        found.broken.append(Broken(found.problems[before], kind="Eval", name=suite_name(path)))


def _tell_almost(path: str, document: Document, found: Findings) -> None:
    data = document.data if isinstance(document.data, dict) else {}
    key = almost_key(data)
    said = "This file looks like a suite of AgentV, but has no cases. Add `tests`, or `evalcases`."
    if key:
        said = (
            f"This file looks like a suite of AgentV, but {quote(key)} is no key of one: its cases "
            "stand under `tests`, or `evalcases`."
        )
    place = document.key_place((key,)) if key else document.place()
    problem = Problem(place=place, path=key, message=said)
    found.problems.append(problem)
    found.broken.append(Broken(problem, kind="Eval", name=suite_name(path)))


def _lines_beside(path: str) -> tuple[str, ...]:
    base = path.rpartition(".")[0]
    return tuple(dict.fromkeys((f"{base.removesuffix('.eval')}.jsonl", f"{base}.jsonl")))


class _Asked(NamedTuple):
    """A target as a suite or case names it."""

    name: str
    node: Node


class _Assembly:
    """Grows suite by suite."""

    def __init__(self, around: Around, found: Findings) -> None:
        self.agents: dict[tuple[str, str], Agent] = {}
        self.evals: list[Eval] = []
        self.fixtures: list[Fixture] = []
        self._around = around
        self._found = found
        self._files: dict[str, TargetsFile] = {}

    def add(self, suite: Suite) -> None:
        """Take a suite: its fixtures, and an Eval for each target that they are for."""
        broken = len(self._found.broken)
        reader = CaseReader(suite, self._around, self._found)
        cases = [case for raw in suite.cases if (case := reader.read(raw)) is not None]
        self.fixtures += [case.fixture for case in cases]
        usual = tuple(_targets(suite.node, suite.execution, suite.body.target))
        lost = [one.name for one in self._found.broken[broken:] if one.name]
        wanted: dict[str, tuple[_Asked, list[Fixture]]] = {one.name: (one, []) for one in usual}
        for case in cases:
            for asked in _own_targets(case) or usual:
                wanted.setdefault(asked.name, (asked, []))[1].append(case.fixture)
        alone = usual[0].name if len(usual) == 1 else ""
        for name, (asked, fixtures) in wanted.items():
            names = [one.name for one in fixtures] + (lost if asked in usual else [])
            if names:
                own = suite.name if name == alone else f"{suite.name}.{slug(name)}"
                self._eval(own, suite, asked, fixtures, names)

    def _eval(
        self, name: str, suite: Suite, asked: _Asked, fixtures: Sequence[Fixture], names: list[str]
    ) -> None:
        try:
            target = self._target(suite, asked)
            agent = agent_of(target, suite.folder, self._around)
            judge = self._judge(target, suite, fixtures)
        except NoTarget as error:
            problem = error.problem or asked.node.problem(str(error))
            self._found.problems.append(problem)
            self._found.broken.append(Broken(problem, kind="Eval", name=name))
            return
        self.agents[(agent.path, agent.name)] = agent
        self.evals.append(_made(name, suite, asked, target, agent, judge, names))

    def _target(self, suite: Suite, asked: _Asked) -> Target:
        path = next(targets_paths(suite.folder, self._around), None)
        if path is None:
            raise NoTarget(
                f"There is no targets file that says what {quote(asked.name)} is. Add "
                ".agentv/targets.yaml."
            )
        if path not in self._files:
            self._found.own.add(path)
            self._files[path] = TargetsFile(path, self._around, self._found)
        return self._files[path].target(asked.name)

    def _judge(self, target: Target, suite: Suite, fixtures: Iterable[Fixture]) -> JudgeSpec:
        """Return the judge of what the target answers: the one it names, else itself."""
        node = target.judge
        if node is None or not isinstance(node.value, str):
            if not any(spec.needs_judge for one in fixtures for spec in one.assertions):
                return JudgeSpec()
            if target.line is not None:
                said = (
                    f"Cases of {suite.path} are judged by a model. Add `judge_target` (or "
                    "`grader_target`): the target that judges."
                )
                raise NoTarget("", target.node.problem(said))
            return JudgeSpec(model=model_of(target, self._around))
        try:
            judge = self._files[target.path].target(node.value)
        except NoTarget as error:
            raise NoTarget("", error.problem or node.problem(str(error))) from None
        return JudgeSpec(model=model_of(judge, self._around))


def _targets(node: Node, execution: ExecutionBody, root: str | None = None) -> Iterator[_Asked]:
    """Yield the targets that `execution` of a suite or case names; for a suite, at least one."""
    inside = node.at("execution")
    if execution.targets:
        for entry, ref in zip(inside.at("targets").items(), execution.targets, strict=True):
            yield _Asked(ref if isinstance(ref, str) else ref.name, entry)
    elif execution.target:
        yield _Asked(execution.target, inside.at("target"))
    elif root:
        yield _Asked(root, node.at("target"))
    else:
        yield _Asked(DEFAULT, node)


def _own_targets(case: Case) -> tuple[_Asked, ...]:
    execution = case.body.execution
    if execution is None or not (execution.target or execution.targets):
        return ()
    return tuple(_targets(case.node, execution))


def _made(
    name: str,
    suite: Suite,
    asked: _Asked,
    target: Target,
    agent: Agent,
    judge: JudgeSpec,
    fixtures: Sequence[str],
) -> Eval:
    execution, trials = suite.execution, suite.execution.trials
    runs = ExecutionSpec().model_copy(
        update={
            "parallel": execution.workers or target.body.workers or ExecutionSpec().parallel,
            "timeout_seconds": target.body.timeout_seconds or ExecutionSpec().timeout_seconds,
            "reps_per_fixture": trials.count if trials else 1,
        }
    )
    scoring = ScoringSpec(model=ScoringModel.WEIGHTED)
    if execution.threshold is not None:
        scoring = scoring.model_copy(update={"pass_score": execution.threshold})
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


def _places(suite: Suite, asked: _Asked, target: Target) -> Mapping[str, Place]:
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
