"""Puts suites and targets together: an Agent for each target, an Eval for each it is asked by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.cases.case import CaseReader
from gateval.formats.agentv.suites.evals import Asked, asked_by, eval_of, targets_of
from gateval.formats.agentv.suites.finding import suites
from gateval.formats.agentv.suites.suite import Suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.agentv.targets.agents import CLI, agent_of, model_of
from gateval.formats.agentv.targets.file import NoTarget, Target, TargetsFile, targets_paths
from gateval.formats.gathering import Gathered, GatheringContext, Pending


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return what the suites of a revision and the files that they name say together."""
    found = Findings()
    assembly = _Assembly(around, found)
    for suite in suites(pending, around, found):
        assembly.add(suite)
    return Gathered(
        agents=tuple(assembly.agents.values()),
        evals=tuple(assembly.evals),
        fixtures=tuple(assembly.fixtures),
        problems=tuple(found.problems),
        broken=tuple(found.broken),
        own=frozenset(found.own - found.shown),
        passed_over=tuple(found.passed_over),
    )


class _Assembly:
    """Grows suite by suite."""

    def __init__(self, around: GatheringContext, found: Findings) -> None:
        self.agents: dict[tuple[str, str], Agent] = {}
        self.evals: list[Eval] = []
        self.fixtures: list[Fixture] = []
        self._around = around
        self._found = found
        self._files: dict[str, TargetsFile] = {}

    def add(self, suite: Suite) -> None:
        """Take a suite: its fixtures, and an Eval for each target that they are for.

        The only Eval of a suite has all its cases, whatever they are; others name theirs.
        """
        before = len(self._found.problems)
        reader = CaseReader(suite, self._around, self._found)
        sound = reader.shared() and not suite.flawed and bool(suite.cases)
        cases = [case for raw in suite.cases if (case := reader.read(raw)) is not None]
        if not sound:
            told = self._found.problems
            problem = told[min(before, len(told) - 1)]
            self._found.broken.append(Broken(problem, kind="Eval", name=suite.name))
            return
        self.fixtures += [case.fixture for case in cases]
        usual = tuple(targets_of(suite.node, suite.execution, suite.body.target))
        for one in usual:
            self._tell_same(one, next(other for other in usual if other.key == one.key))
        wanted: dict[str, tuple[Asked, list[Fixture]]] = {one.key: (one, []) for one in usual}
        for case in cases:
            for asked in asked_by(case, usual):
                known = wanted.setdefault(asked.key, (asked, []))
                if asked.name != known[0].name:
                    self._tell_same(asked, known[0])
                elif case.fixture not in known[1][-1:]:
                    known[1].append(case.fixture)
        wanted = {key: one for key, one in wanted.items() if one[1]} or wanted
        for key, (asked, fixtures) in wanted.items():
            own = usual[0].key == key and len(usual) == 1
            name = suite.name if own else f"{suite.name}.{key}"
            names = [suite.name] if len(wanted) == 1 else [one.name for one in fixtures]
            self._eval(name, suite, asked, fixtures, names)

    def _tell_same(self, asked: Asked, known: Asked) -> None:
        """Say so where two targets of a suite would make one Eval."""
        if asked.name != known.name:
            said = f'"{asked.name}" makes the same name as "{known.name}". Change one.'
            self._found.problems.append(asked.node.problem(said))

    def _eval(
        self, name: str, suite: Suite, asked: Asked, fixtures: Sequence[Fixture], names: list[str]
    ) -> None:
        """Add the Eval of this name. Where its target cannot be used, its Agent is unknown, too."""
        try:
            target = self._target(suite, asked)
            agent = agent_of(target, suite.folder, self._around)
            judge = self._judge(target, suite, fixtures)
            agent = self._alone(agent)
        except NoTarget as error:
            problem = error.problem or asked.node.problem(str(error))
            self._found.problems.append(problem)
            self._found.broken += [Broken(problem, "Agent"), Broken(problem, "Eval", name)]
            return
        self.evals.append(eval_of(name, suite, asked, target, agent, judge, names))

    def _alone(self, agent: Agent) -> Agent:
        """Return the Agent, unless another target of the file makes the same name."""
        known = self.agents.setdefault((agent.path, agent.name), agent)
        if known.place != agent.place:
            said = f"This target makes the same name ({agent.name}) as that at {known.place}."
            raise NoTarget("", Problem(place=agent.place, message=f"{said} Change one."))
        return agent

    def _target(self, suite: Suite, asked: Asked) -> Target:
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
        if judge.body.provider == CLI:
            said = "A judge is a model here, and this target is a program. Name one with a model."
            raise NoTarget("", node.problem(said))
        return JudgeSpec(model=model_of(judge, self._around))
