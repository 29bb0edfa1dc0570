"""Reads a case of a suite: what is asked, what is expected, and which evaluators look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput, Reference
from gateval.domain.manifests.messages import Content
from gateval.formats.agentv.evaluators import Evaluators
from gateval.formats.agentv.messages import AskedReader, Reader, file_names
from gateval.formats.agentv.node import (
    CASE_KEYS,
    EXECUTION_KEYS,
    EXPECTED,
    INPUT,
    OUTCOME,
    CaseBody,
    Node,
    of_case,
    refused,
    refused_in_case,
)
from gateval.formats.agentv.references import ReferenceFindings, slug, with_variables, with_vars
from gateval.formats.agentv.suites import RawCase, Suite
from gateval.formats.base import GatheringContext
from gateval.formats.problems import missing_key


def fixture_digest(
    name: str,
    asked: FixtureInput,
    turns: Sequence[Content],
    reference: Reference,
    assertions: Sequence[AssertionSpec],
) -> str:
    """Return the SHA-256 of a fixture's meaning: its name, what it asks and what it expects."""
    said: list[JsonValue] = [
        turn if isinstance(turn, str) else [part.model_dump(mode="json") for part in turn]
        for turn in turns
    ]
    return digest(
        {
            "kind": "EvalFixture",
            "name": name,
            "input": asked.model_dump(mode="json"),
            "turns": said,
            "reference": reference.model_dump(mode="json"),
            "assertions": [one.meaning for one in assertions],
        }
    )


_TEMPLATED = (*OUTCOME, *INPUT, *EXPECTED, "input_files", "turns")
"""What a case's `vars` fill in."""


class SuiteCase(NamedTuple):
    """A case that could be read: its fixture, and where its own targets are named."""

    fixture: Fixture
    node: Node
    body: CaseBody


class CaseReader:
    """Reads the cases of one suite."""

    def __init__(self, suite: Suite, around: GatheringContext, found: ReferenceFindings) -> None:
        self._suite = suite
        self._found = found
        self._around = around
        self._asked = AskedReader(suite, around, found)
        self._expected = Reader(suite.folder, around, found, own=True)
        self._evaluators = Evaluators(suite, around, found)
        self._names: dict[str, Node] = {}

    def shared(self) -> bool:
        """Read what all cases of the suite share; whether nothing is wrong with it."""
        before = len(self._found.problems)
        self._evaluators.of_suite()
        return len(self._found.problems) == before

    def read(self, raw: RawCase) -> SuiteCase | None:
        """Return a case, None for one that anything is wrong with; its problems are told."""
        before = len(self._found.problems)
        case = self._read(raw)
        if len(self._found.problems) == before:
            return case
        problem = self._found.problems[before]
        known = raw.node.at("conversation_id").value
        labels = {"conversation": known} if isinstance(known, str) else {}
        broken = Broken(problem, kind="EvalFixture", name=self._suite.name, labels=labels)
        self._found.broken.append(broken)
        return None

    def _name(self, case: str) -> str:
        return f"{self._suite.name}-{slug(case.strip())}"

    def _read(self, raw: RawCase) -> SuiteCase | None:
        node = with_variables(raw.node, self._around.variables, self._found)
        if isinstance(node.value, dict) and node.value.get("id") is None and raw.default_id:
            node = node.having({**node.value, "id": raw.default_id})
        if not isinstance(node.value, dict):
            self._found.problems.append(node.wrong("a case: a mapping with `id` and `input`"))
            return None
        self._found.problems += (*node.slips(CASE_KEYS), *refused(node), *of_case(node))
        self._found.problems += refused_in_case(node)
        self._found.problems += node.at("execution").slips(EXECUTION_KEYS)
        body, problems = node.read(CaseBody)
        self._found.problems += problems
        if body is None or self._twice(node, body.id):
            return None
        return self._fixture(self._with_vars(node, body), body)

    def _twice(self, node: Node, case: str) -> bool:
        name = self._name(case)
        first = self._names.setdefault(name, node)
        if first is node:
            return False
        other = first.at("id")
        said = f'The case "{case}" stands at {other.place} already. Give this one another id.'
        if other.value != case:
            said = f'"{case}" makes the same name as "{other.value}" at {other.place}. Change one.'
        self._found.problems.append(node.at("id").problem(said))
        return True

    def _with_vars(self, node: Node, body: CaseBody) -> Node:
        if not body.vars or not isinstance(node.value, dict):
            return node
        filled: JsonObject = {
            key: with_vars(node.at(key), body.vars, self._found).value
            if key in _TEMPLATED
            else value
            for key, value in node.value.items()
        }
        return node.having(filled)

    def _fixture(self, node: Node, body: CaseBody) -> SuiteCase | None:
        outcome = _text(node.first(OUTCOME))
        reference = self._reference(node, body, outcome)
        asked = self._asked.input(node, body)
        turns = tuple(self._asked.turns(node, body))
        if not self._asks_something(node, body, reference):
            return None
        assertions = self._evaluators.of_case(node, body)
        if asked is None or not assertions:
            return None
        files = {
            "input_files": file_names(asked, turns),
            "guideline_files": self._asked.guidelines,
        }
        reference = reference.model_copy(update=files)
        name = self._name(body.id)
        fixture = Fixture(
            name=name,
            labels={"conversation": body.conversation_id} if body.conversation_id else {},
            description=outcome,
            input=asked,
            turns=turns,
            files=self._asked.files,
            reference=reference,
            assertions=tuple(assertions),
            place=node.place,
            places={},
            path=self._suite.path,
            digest=fixture_digest(name, asked, turns, reference, assertions),
            family=self._suite.name,
        )
        return SuiteCase(fixture, node, body)

    def _asks_something(self, node: Node, body: CaseBody, reference: Reference) -> bool:
        """Whether anything is expected. Where the cases are `evalcases`, that is an outcome."""
        own = body.assertions or body.assert_ or body.turns or reference.messages
        if reference.outcome or (self._suite.appended and own):
            return True
        said = missing_key("expected_outcome")
        if self._suite.appended:
            said = "Nothing is expected of the answer: add `criteria`, or `assertions`."
        self._found.problems.append(node.problem(said))
        return False

    def _reference(self, node: Node, body: CaseBody, outcome: str) -> Reference:
        written = node.first(EXPECTED)
        expected = list(self._expected.messages(written, "assistant")) if written else []
        if not expected:
            expected = [
                message
                for turn in node.at("turns").items()
                if (one := turn.first(EXPECTED)) is not None
                for message in self._expected.messages(one, "assistant")
            ]
        given = self._suite.body.metadata or {}
        own = body.metadata if body.metadata is not None else body.sidecar or {}
        return Reference(
            outcome=outcome,
            messages=tuple(expected),
            metadata={**given, **own},
            case=body.id,
            conversation=body.conversation_id or "",
        )


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""
