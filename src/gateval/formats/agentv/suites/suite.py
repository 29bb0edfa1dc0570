"""Reads a suite: its settings, and the cases as they stand in it or in the files that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.formats.agentv.cases.places import RawCase, json_lines, raw_cases
from gateval.formats.agentv.filling import with_variables
from gateval.formats.agentv.names import suite_name
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.recognition import CASES_KEYS
from gateval.formats.agentv.spellings import of_suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.agentv.written import (
    EXECUTION_KEYS,
    SUITE_KEYS,
    ExecutionBody,
    SuiteBody,
    refused,
)
from gateval.formats.gathering import GatheringContext
from gateval.formats.yaml.document import Document


@dataclass(frozen=True)
class Suite:
    """A suite whose settings could be read.

    `path` is the file that names it, `folder` that from which files are found. With `appended` the
    suite's evaluators come behind those of each case, else a case's own take their place. `flawed`
    says that its settings cannot be used; its cases are read for what is wrong with them.
    """

    path: str
    name: str
    node: Node
    body: SuiteBody
    appended: bool
    flawed: bool = False
    cases: Sequence[RawCase] = field(default_factory=tuple)

    @property
    def folder(self) -> str:
        """The folder of its file; "" is the root."""
        return self.path.rpartition("/")[0]

    @property
    def execution(self) -> ExecutionBody:
        """Its `execution`, with defaults where there is none."""
        return self.body.execution or ExecutionBody()

    @property
    def place(self) -> Place:
        """Where the suite begins: its cases' key, else its file."""
        cases = self.node.first(CASES_KEYS)
        return cases.key_place if cases else self.node.place


def read_suite(
    path: str, document: Document, around: GatheringContext, found: Findings
) -> Suite | None:
    """Return the suite that a document is, None if it has no cases; what is wrong is told."""
    before = len(found.problems)
    node = _filled(Node(document, (), document.data), around, found)
    cases = node.first(CASES_KEYS)
    if cases is None:
        found.problems.append(node.problem("There are no cases here. Add some."))
        return None
    body = _settings(node, found)
    flawed = len(found.problems) > before
    appended = cases.path == ("tests",) or _newer(body)
    suite = Suite(path, suite_name(path), node, body, appended, flawed)
    return _with(suite, raw_cases(cases, suite.folder, around, found), found)


def read_lines(
    path: str, companion: Document | None, around: GatheringContext, found: Findings
) -> Suite:
    """Return the suite that a file of JSON lines is, with the settings of its companion."""
    before = len(found.problems)
    found.own.add(path)
    document = companion or Document(show_path(path), {}, None)
    node = _filled(Node(document, (), document.data), around, found)
    body = _settings(node, found)
    flawed = len(found.problems) > before
    appended = path.endswith(".eval.jsonl") or document.file.endswith((".eval.yaml", ".eval.yml"))
    suite = Suite(path, suite_name(path), node, body, appended or _newer(body), flawed)
    return _with(suite, json_lines(path, around, found), found)


def _settings(node: Node, found: Findings) -> SuiteBody:
    """Return the settings; the defaults, with the problems told, where they cannot be read."""
    found.problems += (*node.slips(SUITE_KEYS), *refused(node), *of_suite(node))
    found.problems += node.at("execution").slips(EXECUTION_KEYS)
    body, wrong = node.read(SuiteBody)
    found.problems += wrong
    return body or SuiteBody()


def _filled(node: Node, around: GatheringContext, found: Findings) -> Node:
    """Return the settings with variables filled in; the cases follow one by one."""
    if not isinstance(node.value, dict):
        return node
    value: dict[str, JsonValue] = {
        key: inner
        if key in CASES_KEYS and isinstance(inner, list)
        else with_variables(node.at(key), around.variables, found).value
        for key, inner in node.value.items()
    }
    return node.having(value)


def _newer(body: SuiteBody) -> bool:
    return body.assertions is not None or body.assert_ is not None


def _with(suite: Suite, cases: Iterator[RawCase], found: Findings) -> Suite:
    before = len(found.problems)
    listed = list(cases)
    if not listed and len(found.problems) == before:
        said = "There are no cases here. Add some, or remove the file."
        found.problems.append(Problem(place=suite.place, message=said))
    return replace(suite, cases=listed)
