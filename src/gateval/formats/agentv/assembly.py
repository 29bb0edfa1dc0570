"""Puts suites and targets together: an Agent for each target, an Eval for each it is asked by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken, Contained
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.cases.case import CaseReader
from gateval.formats.agentv.suites.evals import Asked, asked_by, eval_of, targets_of
from gateval.formats.agentv.suites.finding import suites
from gateval.formats.agentv.suites.named import named_targets
from gateval.formats.agentv.suites.suite import Suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.agentv.targets.agents import CLI, agent_of, model_of
from gateval.formats.agentv.targets.file import (
    DEFAULT,
    NoTarget,
    Target,
    TargetsFile,
    targets_paths,
)
from gateval.formats.gathering import Gathered, GatheringContext, Pending

_TEXTS = (".yaml", ".yml", ".jsonl")
"""How the names of files end that may hold cases."""


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return what the suites of a revision and the files that they name say together."""
    found = Findings()
    assembly = _Assembly(around, found)
    for suite in suites(pending, around, found):
        with found.of(suite.path):
            assembly.add(suite)
    made = assembly.without_doubles()
    contained = tuple(assembly.contained())
    return Gathered(
        agents=tuple(assembly.agents.values()),
        evals=tuple(one for each in made for one in each.evals),
        fixtures=tuple(one for each in made for one in each.fixtures),
        problems=tuple(found.problems),
        broken=tuple(found.broken),
        own=frozenset(found.own - found.shown),
        passed_over=tuple(found.passed_over),
        contained=contained,
    )


class _Made(NamedTuple):
    """What a suite became."""

    suite: Suite
    evals: list[Eval]
    fixtures: list[Fixture]

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """The names that nothing else may have."""
        evals = (("Eval", one.name) for one in self.evals)
        return frozenset((*evals, *(("EvalFixture", one.name) for one in self.fixtures)))


class _Assembly:
    """Grows suite by suite."""

    def __init__(self, around: GatheringContext, found: Findings) -> None:
        self.agents: dict[tuple[str, str], Agent] = {}
        self.made: list[_Made] = []
        self._around = around
        self._found = found
        self._files: dict[str, TargetsFile] = {}

    def add(self, suite: Suite) -> None:
        """Take a suite: its fixtures, and an Eval for each target that they are for.

        The only Eval of a suite has all its cases, whatever they are; others name theirs.
        """
        before = len(self._found.problems)
        reader = CaseReader(suite, self._around, self._found)
        sound = reader.shared() and not suite.flawed
        cases = [case for raw in suite.cases if (case := reader.read(raw)) is not None]
        if not sound or not cases:
            told = self._found.problems
            problem = told[min(before, len(told) - 1)]
            self._found.broken.append(Broken(problem, kind="Eval", name=suite.name))
            return
        self.made.append(_Made(suite, [], [case.fixture for case in cases]))
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
        self.made[-1].evals.append(eval_of(name, suite, asked, target, agent, judge, names))

    def without_doubles(self) -> list[_Made]:
        """Return what the suites became but for those that make one name, which is told."""
        makers: dict[tuple[str, str], list[Suite]] = {}
        for one in self.made:
            for name in one.names:
                makers.setdefault(name, []).append(one.suite)
        sound = []
        for one in self.made:
            same = {maker.path: maker for name in one.names for maker in makers[name]}
            others = [same[path] for path in sorted(same) if path != one.suite.path]
            if not others:
                sound.append(one)
                continue
            listed = ", ".join(show_path(other.path) for other in others)
            said = f"This suite makes names that {listed} makes, too. Keep one, or rename one."
            problem = Problem(place=one.suite.place, message=said)
            self._found.tell(one.suite.path, problem)
            self._found.read[one.suite.path] |= {other.path for other in others}
            self._found.broken.append(Broken(problem, kind="Eval", name=one.suite.name))
        return sound

    def contained(self) -> Iterator[Contained]:
        """Yield what is wrong with each suite alone, or with a targets file, and whom it is for."""
        for path, problems in self._found.wrong.items():
            if not problems:
                continue
            files = frozenset(self._found.read[path])
            if path in self._files:
                agents = [one for one in self.agents.values() if one.path == path]
                yield Contained(tuple(problems), files, tuple(agents))
            else:
                targets = next(targets_paths(path.rpartition("/")[0], self._around), None)
                agents, folder = self._may_be_for(path, files, targets)
                files |= {targets} if targets else set()
                yield Contained(tuple(problems), files, tuple(agents), folder)

    def _may_be_for(
        self, path: str, files: Iterable[str], targets: str | None
    ) -> tuple[list[Agent], str | None]:
        """Return the Agents that a broken suite may be for; a folder, too, if there may be more."""
        if targets is None:
            return [], None
        self._found.own.add(targets)
        before = len(self._found.problems)
        file = self._files.get(targets) or TargetsFile(targets, self._around, self._found)
        shown = [one for one in files if one.endswith(_TEXTS) and one != targets]
        texts = [self._text(one) for one in shown if one != path]
        agents, all_told = [], bool(file.names)
        for name in sorted(named_targets(self._text(path), texts, file.names, DEFAULT)):
            try:
                target = file.target(name)
                if target.body.provider == CLI:
                    folder = path.rpartition("/")[0]
                    agents.append(agent_of(target, folder, self._around, strict=False))
                else:
                    agents.append(agent_of(target, "", self._around))
            except NoTarget:
                all_told &= self._is_no_program(file, name)
        del self._found.problems[before:]
        return agents, None if all_told else file.home

    def _is_no_program(self, file: TargetsFile, name: str) -> bool:
        """Whether a target that cannot be used can be read, and starts nothing from here."""
        try:
            return file.target(name).body.provider not in {CLI, None}
        except NoTarget:
            return False

    def _text(self, path: str) -> str:
        there = path in self._around.tree and self._around.tree[path].is_file
        data = self._around.content(path) if there else None
        return (data or b"").decode(errors="replace")

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
            with self._found.of(path):
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
