"""Puts suites and targets together, for the gate or as native manifests (`import`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken, Catalogue, Contained, select_fixtures
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.messages import FilePart, Role, TextPart, parts_of
from gateval.domain.paths import show_path
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.domain.tree import Tree
from gateval.formats.agentv.cases import CaseReader
from gateval.formats.agentv.references import NoFile, ReferenceFindings, find
from gateval.formats.agentv.suite_evals import (
    TargetThreshold,
    asked_by,
    eval_of,
    named_targets,
    suites,
    targets_of,
)
from gateval.formats.agentv.suites import Suite
from gateval.formats.agentv.targets import (
    CLI,
    DEFAULT,
    NoTarget,
    Target,
    TargetsFile,
    agent_of,
    model_of,
    targets_paths,
)
from gateval.formats.base import Gathered, GatheringContext, Pending, Registries
from gateval.formats.native.writing import (
    FileOf,
    agent_document,
    eval_document,
    fixture_document,
    manifest_text,
)

_TEXTS = (".yaml", ".yml", ".jsonl")
"""How the names of files end that may hold cases."""


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return what the suites of a revision and the files that they name say together."""
    found = ReferenceFindings(around)
    assembly = _Assembly(found)
    for suite in suites(pending, found):
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


def _is_same(asked: TargetThreshold, known: TargetThreshold) -> bool:
    """Whether two names that make one Eval are those of one target; told where they are not."""
    if asked.name != known.name:
        asked.node.tell(f'"{asked.name}" makes the same name as "{known.name}". Change one.')
    return asked.name == known.name


class _Assembly:
    """Grows suite by suite."""

    def __init__(self, found: ReferenceFindings) -> None:
        self.agents: dict[tuple[str, str], Agent] = {}
        self.made: list[_Made] = []
        self._around = found.around
        self._found = found
        self._files: dict[str, TargetsFile] = {}

    def add(self, suite: Suite) -> None:
        """Take a suite: its fixtures, and an Eval for each target that they are for.

        The only Eval of a suite has all its cases, whatever they are; others name theirs.
        """
        before = len(self._found.problems)
        reader = CaseReader(suite, self._found)
        sound = reader.shared() and not suite.flawed
        cases = [case for raw in suite.cases if (case := reader.read(raw)) is not None]
        if not sound or not cases:
            told = self._found.problems
            problem = told[min(before, len(told) - 1)]
            self._found.broken.append(Broken(problem, kind="Eval", name=suite.name))
            return
        self.made.append(_Made(suite, [], [case.fixture for case in cases]))
        usual = tuple(targets_of(suite.node, suite.execution, suite.body.target))
        wanted: dict[str, tuple[TargetThreshold, list[Fixture]]] = {}
        for asked in usual:
            _is_same(asked, wanted.setdefault(asked.key, (asked, []))[0])
        for case in cases:
            for asked in asked_by(case, usual):
                known, fixtures = wanted.setdefault(asked.key, (asked, []))
                if _is_same(asked, known) and case.fixture not in fixtures[-1:]:
                    fixtures.append(case.fixture)
        wanted = {key: one for key, one in wanted.items() if one[1]} or wanted
        for key, (asked, fixtures) in wanted.items():
            own = usual[0].key == key and len(usual) == 1
            name = suite.name if own else f"{suite.name}.{key}"
            names = [suite.name] if len(wanted) == 1 else [one.name for one in fixtures]
            self._eval(name, suite, asked, fixtures, names)

    def _eval(
        self,
        name: str,
        suite: Suite,
        asked: TargetThreshold,
        fixtures: Sequence[Fixture],
        names: list[str],
    ) -> None:
        """Add the Eval of this name. Where its target cannot be used, its Agent is unknown, too."""
        try:
            target = self._target(suite, asked)
            agent = agent_of(target, suite.folder, self._around)
            judge = self._judge(target, suite, fixtures)
            self._keep(agent)
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
        file = self._files.get(targets) or TargetsFile(targets, self._found)
        shown = [one for one in files if one.endswith(_TEXTS) and one != targets]
        texts = [self._text(one) for one in shown if one != path]
        agents, all_told = [], bool(file.names)
        for name in sorted(named_targets(self._text(path), texts, file.names, DEFAULT)):
            target: Target | None = None
            try:
                target = file.target(name)
                folder = path.rpartition("/")[0]
                agents.append(agent_of(target, folder, self._around, strict=False))
            except NoTarget:  # one that can be read, and starts nothing from here, is no matter
                all_told &= target is not None and target.body.provider not in {CLI, None}
        del self._found.problems[before:]
        return agents, None if all_told else file.home

    def _text(self, path: str) -> str:
        there = path in self._around.tree and self._around.tree[path].is_file
        data = self._around.content(path) if there else None
        return (data or b"").decode(errors="replace")

    def _keep(self, agent: Agent) -> None:
        """Keep an Agent. Raises `NoTarget` if another target of the file makes the same name."""
        known = self.agents.setdefault((agent.path, agent.name), agent)
        if known.place != agent.place:
            said = f"This target makes the same name ({agent.name}) as that at {known.place}."
            raise NoTarget("", Problem(place=agent.place, message=f"{said} Change one."))

    def _target(self, suite: Suite, asked: TargetThreshold) -> Target:
        path = next(targets_paths(suite.folder, self._around), None)
        if path is None:
            raise NoTarget(
                f"There is no targets file that says what {quote(asked.name)} is. Add "
                ".agentv/targets.yaml."
            )
        if path not in self._files:
            self._found.own.add(path)
            with self._found.of(path):
                self._files[path] = TargetsFile(path, self._found)
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


_HEAD = "# Written by `gateval import agentv`. From here on, this is what counts.\n"
_NO_REGISTRIES = Registries({}, {}, frozenset(), frozenset())


def carried(agents: Iterable[Agent], evals: Iterable[Eval], found: Catalogue, tree: Tree) -> str:
    """Return the file of native manifests that says what the Evals of a suite say."""
    documents: list[JsonObject] = [agent_document(one) for one in agents]
    fixtures: dict[str, Fixture] = {}
    for evaluation in evals:
        selected = {one.name: one for one in select_fixtures(evaluation, found)}
        listing = evaluation.model_copy(update={"fixtures": tuple(selected)})
        documents.append(eval_document(listing))
        fixtures |= selected
    for one in fixtures.values():
        kept = tuple(spec for each in one.assertions if (spec := _weighed(each)) is not None)
        sound = one.model_copy(update={"assertions": kept})
        documents.append(fixture_document(sound, _files(one, tree)))
    return _HEAD + manifest_text(documents)


def lost(fixtures: Iterable[Fixture], tree: Tree) -> Iterator[str]:
    """Yield what of a suite native manifests say otherwise, or not at all."""
    for fixture in fixtures:
        where = f"{fixture.place.file}:{fixture.place.line}"
        for spec in fixture.assertions:
            if any(part.weight == 0 for part in spec.within()):
                name = spec.name or spec.type
                yield f"{where} {name}: its weight of 0 has no native form, so it is left out"
        told = sorted({name for name, whole in _told(fixture, tree) if whole})
        if told:
            names = ", ".join(told)
            yield f"{where} {names}: told by file name, not by path, and with its own line breaks"
        kept = sorted({name for name, whole in _told(fixture, tree) if not whole})
        if kept:
            yield f"{where} {', '.join(kept)}: only the user sends files, so its text stands there"


def _weighed(spec: AssertionSpec) -> AssertionSpec | None:
    """Return an assertion without the parts that count nothing; None if itself does not."""
    parts = tuple(part for one in spec.parts if (part := _weighed(one)) is not None)
    return spec.model_copy(update={"parts": parts}) if spec.weight else None


def _files(fixture: Fixture, tree: Tree) -> FileOf:
    around = GatheringContext(tree, lambda _path: None, _NO_REGISTRIES)

    def file_of(name: str) -> str | None:
        try:
            return find(name, fixture.folder, around)
        except NoFile:
            return None

    return file_of


def _told(fixture: Fixture, tree: Tree) -> Iterator[tuple[str, bool]]:
    """Yield the texts of files, each with whether it stays a file."""
    file_of = _files(fixture, tree)
    for message in fixture.input.messages:
        for part in parts_of(message.content):
            if isinstance(part, TextPart) and part.file:
                yield part.file, message.role is Role.USER and file_of(part.file) is not None
    for turn in fixture.turns:
        for part in parts_of(turn):
            if not isinstance(part, FilePart) and part.file:
                yield part.file, file_of(part.file) is not None
