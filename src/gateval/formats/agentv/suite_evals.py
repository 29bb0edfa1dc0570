"""Finds the suites of a revision, and makes an Eval of each with a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.evaluation import (
    Eval,
    ExecutionSpec,
    JudgeSpec,
    ScoringModel,
    ScoringSpec,
)
from gateval.domain.paths import show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import NotStrictJson, object_of, read_json
from gateval.domain.text import quote
from gateval.formats.agentv.cases import SuiteCase
from gateval.formats.agentv.node import ExecutionBody, Node
from gateval.formats.agentv.recognition import (
    NO_MAPPING,
    FileKind,
    almost_key,
    is_case,
    is_marked,
    is_named,
    kind_of,
    like_case,
    tells,
)
from gateval.formats.agentv.references import ReferenceFindings, slug, suite_name
from gateval.formats.agentv.suites import Suite, read_lines, read_suite
from gateval.formats.agentv.targets import DEFAULT, Target, home_of
from gateval.formats.base import GatheringContext, Pending
from gateval.formats.native.written import canonical
from gateval.formats.yaml_document import Document


class TargetThreshold(NamedTuple):
    """A target as a suite or case names it, and the score from which its cases pass there."""

    name: str
    node: Node
    threshold: float | None = None

    @property
    def key(self) -> str:
        """The end of the name of an Eval that is not the suite's only one."""
        from_ = "" if self.threshold is None else f".from-{repr(self.threshold).removesuffix('.0')}"
        return f"{slug(self.name)}{from_}"


def targets_of(
    node: Node, execution: ExecutionBody, root: str | None = None
) -> Iterator[TargetThreshold]:
    """Yield the targets that `execution` of a suite or case names; for a suite, at least one."""
    inside = node.at("execution")
    if execution.targets:
        for entry, ref in zip(inside.at("targets").items(), execution.targets, strict=True):
            yield TargetThreshold(ref if isinstance(ref, str) else ref.name, entry)
    elif execution.target:
        yield TargetThreshold(execution.target, inside.at("target"))
    elif root:
        yield TargetThreshold(root, node.at("target"))
    else:
        yield TargetThreshold(DEFAULT, node)


def asked_by(case: SuiteCase, usual: Sequence[TargetThreshold]) -> Sequence[TargetThreshold]:
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
    asked: TargetThreshold,
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
    meaning: JsonObject = {
        "kind": "Eval",
        "name": name,
        "targetAgent": agent.name,
        "judge": canonical(judge),
        "scoring": canonical(scoring),
        "execution": canonical(runs),
    }
    said = [suite.node.at(key).value for key in ("name", "suite", "dataset")]
    dataset = next((one for one in said if isinstance(one, str) and one), "")
    return Eval(
        name=name,
        labels={"dataset": dataset} if dataset else {},
        target_agent=agent.name,
        fixtures=tuple(fixtures),
        judge=judge,
        scoring=scoring,
        execution=runs,
        place=suite.place,
        places=_places(suite, asked, target),
        path=suite.path,
        digest=digest(meaning),
    )


def _places(suite: Suite, asked: TargetThreshold, target: Target) -> dict[str, SourceLocation]:
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


_LINES = 20
"""Lines of a file that are looked at, to see whether it holds cases."""


def suites(pending: Sequence[Pending], found: ReferenceFindings) -> Iterator[Suite]:
    """Yield each suite whose settings can be read; what is wrong with the others is told."""
    lines: dict[str, tuple[str, Document] | None] = {}
    kinds = {path: kind_of(path, one.data) for path, one, *_ in pending if one is not None}
    for path, document, _, problems in pending:
        if problems:
            _tell_broken(path, problems, found)
        elif document is None:
            lines.setdefault(path, None)
        elif kinds[path] is FileKind.SUITE:
            yield from _suite(path, document, found)
            _tell_beside(path, document, found)
        elif kinds[path] is FileKind.ALMOST:
            _tell_almost(path, document, found)
        elif kinds[path] is FileKind.COMPANION:
            _take_lines(path, document, lines, found)
    homes = {home_of(path) for path, kind in kinds.items() if kind is FileKind.TARGETS}
    _look_around({f"{one}/" if one else "" for one in homes}, lines, found)
    for path, companion in lines.items():
        with found.of(path):
            suite = read_lines(path, companion[1] if companion else None, found)
        found.read[path] |= {companion[0]} if companion else set()
        yield suite
    unnamed = [path for path, kind in kinds.items() if kind is FileKind.CASES]
    for path in sorted(set(unnamed) - found.own, key=unnamed.index):
        said = "looks like cases of AgentV, and no suite names it. Name it under `tests` of one"
        _pass_over(path, said, found)


def _look_around(
    homes: Collection[str],
    lines: dict[str, tuple[str, Document] | None],
    found: ReferenceFindings,
) -> None:
    """Note the files of JSON lines that hold cases and that nothing names, where there are targets;
    list what only looks like that.
    """
    around, ends = found.around, tuple(homes)
    for path in around.tree if homes else ():
        if not path.endswith((".jsonl", "evals.json")) or not path.startswith(ends):
            continue
        if path in lines or path in found.own or path in found.told or not around.wanted(path):
            continue
        if path.endswith("evals.json"):
            data = around.content(path) if around.tree[path].is_file else None
            said = _read(data or b"") if f"/{path}".endswith("/evals.json") else None
            if isinstance(said, dict) and {"skill_name", "evals"} <= said.keys():
                _pass_over(path, "looks like evals of a skill. Write them as a suite", found)
        elif _holds_cases(path, around, is_case):
            lines[path] = None
        elif _holds_cases(path, around):
            said = "looks like cases of AgentV. Give each `criteria`, or its suite a companion"
            _pass_over(path, said, found)


def _pass_over(path: str, said: str, found: ReferenceFindings) -> None:
    wrong = f"This file was not read: it {said}, if it is meant to be; else leave it."
    found.passed_over.append(Problem(place=SourceLocation(file=show_path(path)), message=wrong))


def _take_lines(
    path: str,
    document: Document,
    lines: dict[str, tuple[str, Document] | None],
    found: ReferenceFindings,
) -> None:
    """Note whose settings these are. Where they say little, the lines have to look like cases."""
    data = object_of(document.data)
    around = found.around
    _tell_links(path, document, found)
    beside = [
        one
        for one in lines_beside(path)
        if one in around.tree
        and around.tree[one].is_file
        and (tells(data) or one in lines or _holds_cases(one, around))
    ]
    found.own |= {path} if beside else set()
    for one in beside:
        known = lines.get(one)
        lines[one] = known or (path, document)
        if known:
            said = f"{show_path(one)} has its settings in {show_path(known[0])} already. Keep one."
            found.tell(one, Problem(place=document.place(), message=said))
            found.read[one] |= {path}
    links = not found.told.isdisjoint(lines_beside(path))
    if not beside and not links and (is_named(path) or is_marked(data)):
        said = f"This suite has no cases, and {lines_beside(path)[0]} is not there either."
        found.tell(path, Problem(place=document.place(), message=said))


def _tell_beside(path: str, document: Document, found: ReferenceFindings) -> None:
    """Say so where cases lie beside a suite that has cases of its own, and does not name them."""
    _tell_links(path, document, found)
    for one in lines_beside(path):
        if one in found.around.tree and one not in found.own and _holds_cases(one, found.around):
            said = (
                f"{show_path(one)} holds cases, too, and nothing here names them. Name that file "
                "under `tests`, or give it another name."
            )
            _tell_of(one, said, path, document, found)


def _tell_links(path: str, document: Document, found: ReferenceFindings) -> None:
    """Say so where a link lies beside a suite in the place of its lines: nobody follows it."""
    tree = found.around.tree
    for one in lines_beside(path):
        if one in tree and not tree[one].is_file and one not in found.told:
            said = (
                f"{show_path(one)} beside this suite is a symbolic link or a submodule, which "
                "nobody follows. Put the file itself there, or give it another name."
            )
            _tell_of(one, said, path, document, found)


def _tell_of(one: str, said: str, path: str, document: Document, found: ReferenceFindings) -> None:
    """Tell the suite in `path` of the file `one` beside it."""
    found.tell(path, Problem(place=document.place(), message=said))
    found.read[path] |= {one}
    found.told.add(one)


def _holds_cases(
    path: str, around: GatheringContext, like: Callable[[JsonValue], bool] = like_case
) -> bool:
    """Whether one of the first lines of a file is a case."""
    data = around.content(path) if around.tree[path].is_file else None
    first = [line for line in (data or b"").split(b"\n", _LINES)[:_LINES] if line.strip()]
    return any(like(_read(line)) for line in first)


def _read(line: bytes) -> JsonValue:
    try:
        return read_json(line.decode("utf-8-sig"))
    except (NotStrictJson, UnicodeDecodeError):
        return None


def _suite(path: str, document: Document, found: ReferenceFindings) -> Iterator[Suite]:
    found.own.add(path)
    before = len(found.problems)
    with found.of(path):
        suite = read_suite(path, document, found)
    if suite is not None:
        yield suite
    else:
        found.broken.append(Broken(found.problems[before], kind="Eval", name=suite_name(path)))


def _tell_almost(path: str, document: Document, found: ReferenceFindings) -> None:
    data = object_of(document.data)
    key = almost_key(data)
    said = "This file looks like a suite of AgentV, but has no cases. Add `tests`, or `evalcases`."
    if key:
        said = (
            f"This file looks like a suite of AgentV, but {quote(key)} is no key of one: its cases "
            "stand under `tests`, or `evalcases`."
        )
    if not isinstance(document.data, dict):
        said = NO_MAPPING
    place = document.key_place((key,)) if key else document.place()
    _tell_broken(path, (Problem(place=place, path=key, message=said),), found)


def _tell_broken(path: str, problems: Sequence[Problem], found: ReferenceFindings) -> None:
    """Tell why nothing of a suite can be read."""
    found.tell(path, *problems)
    found.own.add(path)
    found.broken.append(Broken(problems[0], kind="Eval", name=suite_name(path)))


def lines_beside(path: str) -> tuple[str, ...]:
    """Return where JSON lines may stand whose settings are in this file."""
    base = path.rpartition(".")[0]
    return tuple(dict.fromkeys((f"{base.removesuffix('.eval')}.jsonl", f"{base}.jsonl")))


_TARGETS = re.compile(r"\btargets?[\"']?[ \t]*:([^\n]*(?:\n[ \t]*-[^\n]*)*)")
_AT_TOP = re.compile(
    r"^[\"']?(?:targets?|execution)[\"']?[ \t]*:[^\n]*(?:\n(?:[ \t]+[^\n]*)?)*", re.MULTILINE
)
_FILLED_IN = "${{"


def named_targets(
    own: str, others: Sequence[str], known: Collection[str], default: str
) -> frozenset[str]:
    """Return the targets that a suite may be for; `own` is its text, `others` those of its cases.

    `known` are the names of all targets there are; `default` is meant where a suite names none. A
    name that is not known may be any.
    """
    at_top = " ".join(part for block in _AT_TOP.findall(own) for part in _TARGETS.findall(block))
    parts = [part for text in (own, *others) for part in _TARGETS.findall(text)]
    found = frozenset(
        one for part in parts for one in (known if _FILLED_IN in part else _words(part, known))
    )
    if _FILLED_IN in at_top or (at_top and not any(_words(at_top, known))):
        return frozenset(known)
    if not at_top:
        found |= {default} & {*known}
        if parts and not found - {default}:
            return frozenset(known)
    return found or frozenset(known)


def _words(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield the known names that stand in a text as words of their own."""
    for name in known:
        if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text):
            yield name
