"""Reads a case of a suite: what is asked, what is expected, and which evaluators look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, Reference
from gateval.domain.paths import nearest
from gateval.domain.text import quote
from gateval.formats.agentv.evaluator import COMMON, Becomes, Context, common_of, unusable
from gateval.formats.agentv.evaluator_types import NAMES, TYPES, items_of, normal, rubric_of
from gateval.formats.agentv.messages import AskedReader, Reader, file_names
from gateval.formats.agentv.node import (
    CASE_KEYS,
    EXECUTION_KEYS,
    EXPECTED,
    INPUT,
    OF_CASE,
    OF_TURN,
    OUTCOME,
    CaseBody,
    Node,
    tell_refused,
    tell_twice,
)
from gateval.formats.agentv.recognition import read_yaml
from gateval.formats.agentv.references import (
    NoFile,
    ReferenceFindings,
    find,
    slug,
    with_variables,
    with_vars,
)
from gateval.formats.agentv.suites import RawCase, Suite
from gateval.formats.problems import missing_key, one_of

LIMIT = 500
"""Evaluators of one case, and files that are included for it."""

_DEPTH = 3


def included(written: Node, context: Context) -> Iterator[Node]:
    """Yield the entries of a list, those of the files that it includes in their place."""
    for number, entry in enumerate(_entries(written, context, 0), 1):
        if number > LIMIT:
            said = f"A case may have {LIMIT} evaluators, those of files that it includes, too."
            written.tell(said)
            return
        if entry is not None:
            yield entry


def _entries(written: Node, context: Context, depth: int) -> Iterator[Node | None]:
    """Yield the entries of a list, and None for each file that is included."""
    for entry in written.items():
        name = entry.at("include").value if isinstance(entry.value, dict) else None
        if name is None or entry.at("type").value is not None:
            yield entry
        elif depth == _DEPTH:
            entry.tell(f"Files may include each other {_DEPTH} levels deep, and no deeper.")
        else:
            yield None
            yield from _file(entry.at("include"), str(name), context, depth)


def _file(node: Node, name: str, context: Context, depth: int) -> Iterator[Node | None]:
    found = context.found
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    template = f".agentv/templates/{name}"
    path, why = "", ""
    for one in (name,) if is_path else (f"{template}.yaml", f"{template}.yml"):
        try:
            path = path or find(one, context.folder, found.around)
        except NoFile as error:
            why = why or str(error)
    if not path:
        node.tell(why)
        return
    found.own.add(path)
    documents, problems = read_yaml(path, found.around.content(path) or b"")
    found.problems += problems
    if problems or not documents:
        return
    whole = found.node(documents[0])
    listed = whole.first(("assertions", "assert")) if isinstance(whole.value, dict) else whole
    if listed is None or not isinstance(listed.value, list):
        whole.tell_sort("a list of evaluators")
        return
    yield from _entries(listed, context, depth + 1)


_LEVELS = 4
_DEFAULT = "llm-grader"


class Evaluators:
    """Reads the evaluators of the cases of one suite."""

    def __init__(self, suite: Suite, found: ReferenceFindings) -> None:
        self._suite = suite
        self._found = found
        self._context = Context(suite.folder, suite.appended, found)
        self._shared: list[AssertionSpec] | None = None

    def of_case(self, node: Node, body: CaseBody) -> list[AssertionSpec]:
        """Return the assertions of a case: rubrics first, then its own and the suite's.

        Where cases are `tests`, the suite's come behind a case's own; else these take their place.
        A case with none is judged by what it says of the outcome.
        """
        before = len(self._found.problems)
        specs = [*self._written(node, body), *self._of_turns(node.at("turns"))]
        if not specs and len(self._found.problems) == before:
            specs = [*self._default(node)]
        return specs

    def _written(self, node: Node, body: CaseBody) -> Iterator[AssertionSpec]:
        rubrics = node.at("rubrics")
        if rubrics.value is not None:
            yield from self._spec(items_of(rubrics), rubrics, {})
        own = _own(node)
        skips = body.execution is not None and body.execution.skip_defaults
        if own is not None:
            yield from self._listed(own)
        if (own is None or self._suite.appended) and not skips:
            yield from self.of_suite()

    def _of_turns(self, turns: Node) -> Iterator[AssertionSpec]:
        """Yield what is asked of each turn: all its assertions together weigh 1."""
        for number, turn in enumerate(turns.items(), 1):
            written = turn.first(("assertions", "assert"))
            specs = list(self._listed(written)) if written is not None else []
            total = sum(spec.weight for spec in specs)
            for spec in specs:
                weight = spec.weight / total if total else 0.0
                yield spec.model_copy(update={"turn": number, "weight": weight})

    def of_suite(self) -> list[AssertionSpec]:
        """Return the suite's own evaluators, read once."""
        if self._shared is None:
            written = _own(self._suite.node)
            self._shared = [] if written is None else list(self._listed(written))
        return self._shared

    def _default(self, node: Node) -> Iterator[AssertionSpec]:
        kind = node.first(("evaluator",)) or self._suite.node.first(("evaluator",))
        if kind is not None and normal(str(kind.value)) != _DEFAULT:
            said = "Without evaluators of its own, a case is judged by `llm_judge`."
            kind.tell(f"{said} Write the others as `evaluators`.")
            return
        yield from self._spec(Becomes("llmJudge"), node, {})

    def _listed(self, written: Node) -> Iterator[AssertionSpec]:
        """Yield the assertions of a list; all texts in it are one rubric, at the first."""
        entries = [*included(written, self._context)]
        texts = [entry for entry in entries if isinstance(entry.value, str)]
        for entry in entries:
            if texts and entry is texts[0]:
                yield from self._spec(rubric_of(texts), entry, {})
            elif not isinstance(entry.value, str):
                yield from self._read(entry, 0, {})

    def _read(
        self, node: Node, level: int, weights: Mapping[str, JsonValue]
    ) -> Iterator[AssertionSpec]:
        if not isinstance(node.value, dict):
            node.tell_sort("an evaluator: a mapping with `type`")
            return
        kind = node.at("type").value
        known = TYPES.get(normal(kind)) if isinstance(kind, str) else None
        if known is None:
            said = "An evaluator needs `type`."
            if isinstance(kind, str):
                near = nearest(kind, NAMES) or f" Known: {one_of(TYPES, last='and')}."
                said = f"Unknown evaluator {quote(kind)}.{near}"
            node.at("type").tell(said)
            return
        node.tell_slips((*COMMON, "config", *known.keys))
        if level > _LEVELS:
            node.tell(f"Evaluators may stand {_LEVELS} levels deep in others, and no deeper.")
            return
        made = known.read(node, self._context)
        if made is not None:
            yield from self._spec(made, node, weights, level)

    def _spec(
        self, made: Becomes, node: Node, weights: Mapping[str, JsonValue], level: int = 0
    ) -> Iterator[AssertionSpec]:
        """Yield the assertion that an evaluator becomes, if nothing is wrong with it.

        It is checked with its parts as they would be written.
        """
        before = len(self._found.problems)
        common = common_of(node, made, weights)
        parts = [spec for one in made.parts for spec in self._read(one, level + 1, made.weights)]
        for inner in made.made:
            parts += self._spec(inner, node.having({}), {}, level + 1)
        registries = self._found.around.registries
        shown = made
        if made.parts or made.made:
            inside: list[JsonValue] = [{"type": part.type, **part.options} for part in parts]
            options = {**made.options, "assertions": inside or [{"type": made.type}]}
            shown = Becomes(made.type, options, made.keys)
        self._found.problems += unusable(registries.assertions[made.type], shown, node)
        if len(self._found.problems) > before:
            return
        judged = made.type in registries.judged or any(part.needs_judge for part in parts)
        spec = AssertionSpec.model_validate(
            {
                **common,
                "type": made.type,
                "options": made.options,
                "needs_judge": judged,
                "parts": tuple(parts),
                "place": node.place,
            }
        )
        yield self._negated(spec, node) if node.at("negate").value is True else spec

    def _negated(self, spec: AssertionSpec, node: Node) -> AssertionSpec:
        """Return the assertion turned round. A verdict that passes proves nothing turned round."""
        if spec.needs_judge:
            said = "A judge's score cannot be turned round. Word what it is asked the other way."
            node.at("negate").tell(said)
        inner = spec.model_copy(update={"weight": 1.0, "required": False, "name": ""})
        outer = {"type": "not", "options": {}, "parts": (inner,)}
        return spec.model_copy(update=outer)


def _own(node: Node) -> Node | None:
    """Return the list of evaluators of a case or suite, under any of its spellings."""
    inside = node.at("execution")
    for found in (node.first(("assertions", "assert")), inside.first(("evaluators", "assertions"))):
        if found is not None:
            return found
    return node.first(("evaluators",))


_TEMPLATED = (*OUTCOME, *INPUT, *EXPECTED, "input_files", "turns")
"""What a case's `vars` fill in."""


class SuiteCase(NamedTuple):
    """A case that could be read: its fixture, and where its own targets are named."""

    fixture: Fixture
    node: Node
    body: CaseBody


class CaseReader:
    """Reads the cases of one suite."""

    def __init__(self, suite: Suite, found: ReferenceFindings) -> None:
        self._suite = suite
        self._found = found
        self._asked = AskedReader(suite, found)
        self._expected = Reader(suite.folder, found, own=True)
        self._evaluators = Evaluators(suite, found)
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
        node = with_variables(raw.node, self._found)
        if not isinstance(node.value, dict):
            node.tell_sort("a case: a mapping with `id` and `input`")
            return None
        if node.value.get("id") is None and raw.default_id:
            node = node.having({**node.value, "id": raw.default_id})
        self._tell_words(node)
        body, problems = node.read(CaseBody)
        self._found.problems += problems
        if body is None or self._twice(node, body.id):
            return None
        return self._fixture(self._with_vars(node, body), body)

    def _tell_words(self, node: Node) -> None:
        """Tell keys that are unknown, refused, of suites alone, or said twice."""
        node.tell_slips(CASE_KEYS)
        tell_refused(node)
        tell_twice(node, OF_CASE)
        for turn in node.at("turns").items():
            tell_twice(turn, OF_TURN)
        for key in ("trials", "workers"):
            inside = node.at("execution").at(key)
            if inside.value is not None:
                said = f"All cases of a suite have the same `{key}` here. Write it in the suite's."
                inside.tell(said)
        node.at("execution").tell_slips(EXECUTION_KEYS)

    def _twice(self, node: Node, case: str) -> bool:
        name = self._name(case)
        first = self._names.setdefault(name, node)
        if first is node:
            return False
        other = first.at("id")
        said = f'The case "{case}" stands at {other.place} already. Give this one another id.'
        if other.value != case:
            said = f'"{case}" makes the same name as "{other.value}" at {other.place}. Change one.'
        node.at("id").tell(said)
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
        said = node.first(OUTCOME)
        outcome = said.value if said and isinstance(said.value, str) else ""
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
        meaning: JsonObject = {
            "kind": "EvalFixture",
            "name": name,
            "input": asked.model_dump(mode="json"),
            "turns": [
                turn if isinstance(turn, str) else [part.model_dump(mode="json") for part in turn]
                for turn in turns
            ],
            "reference": reference.model_dump(mode="json"),
            "assertions": [one.meaning for one in assertions],
        }
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
            path=self._suite.path,
            digest=digest(meaning),
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
        node.tell(said)
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
