"""Reads a case of a suite: what is asked, what is expected, and which evaluators look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput, Reference
from gateval.domain.manifests.messages import Content
from gateval.domain.paths import nearest
from gateval.domain.text import quote
from gateval.formats.agentv import evaluator_types
from gateval.formats.agentv.evaluator import (
    COMMON,
    Becomes,
    Common,
    Context,
    EvaluatorEntry,
    Reading,
    unusable,
)
from gateval.formats.agentv.evaluator_types import items_of, rubric_of
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
from gateval.formats.base import GatheringContext
from gateval.formats.problems import missing_key, one_of

LIMIT = 500
"""Evaluators of one case, and files that are included for it."""

_DEPTH = 3


def included(written: Node, context: Context) -> Iterator[Node]:
    """Yield the entries of a list, those of the files that it includes in their place."""
    for number, entry in enumerate(_entries(written, context, 0), 1):
        if number > LIMIT:
            said = f"A case may have {LIMIT} evaluators, those of files that it includes, too."
            context.found.problems.append(written.problem(said))
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
            said = f"Files may include each other {_DEPTH} levels deep, and no deeper."
            context.found.problems.append(entry.problem(said))
        else:
            yield None
            yield from _file(entry.at("include"), str(name), context, depth)


def _file(node: Node, name: str, context: Context, depth: int) -> Iterator[Node | None]:
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    try:
        path = _found(name if is_path else f".agentv/templates/{name}", context, whole=is_path)
    except NoFile as error:
        context.found.problems.append(node.problem(str(error)))
        return
    context.found.own.add(path)
    documents, problems = read_yaml(path, context.around.content(path) or b"")
    context.found.problems += problems
    if problems or not documents:
        return
    whole = Node(documents[0], (), documents[0].data)
    listed = whole.first(("assertions", "assert")) if isinstance(whole.value, dict) else whole
    if listed is None or not isinstance(listed.value, list):
        context.found.problems.append(whole.wrong("a list of evaluators"))
        return
    yield from _entries(listed, context, depth + 1)


def _found(name: str, context: Context, *, whole: bool) -> str:
    if whole:
        return find(name, context.folder, context.around)
    try:
        return find(f"{name}.yaml", context.folder, context.around)
    except NoFile:
        with suppress(NoFile):
            return find(f"{name}.yml", context.folder, context.around)
        raise


KINDS: Mapping[str, Reading] = {
    "llm-grader": evaluator_types.llm,
    "rubrics": evaluator_types.rubric,
    "rubric": evaluator_types.rubric,
    "code-grader": evaluator_types.code,
    "composite": evaluator_types.composite,
    "tool-trajectory": evaluator_types.tool_trajectory,
    "field-accuracy": evaluator_types.field_accuracy,
    "latency": evaluator_types.latency,
    "cost": evaluator_types.cost,
    "token-usage": evaluator_types.token_usage,
    "execution-metrics": evaluator_types.execution_metrics,
    "skill-trigger": evaluator_types.skill_trigger,
    "contains": evaluator_types.one("contains"),
    "icontains": evaluator_types.one("contains", ignore_case=True),
    "contains-any": evaluator_types.several("any"),
    "contains-all": evaluator_types.several("all"),
    "icontains-any": evaluator_types.several("any", ignore_case=True),
    "icontains-all": evaluator_types.several("all", ignore_case=True),
    "starts-with": evaluator_types.one("startsWith"),
    "ends-with": evaluator_types.one("endsWith"),
    "equals": evaluator_types.one("equals"),
    "regex": evaluator_types.regex,
    "is-json": evaluator_types.is_json,
}


KEYS: Mapping[str, tuple[str, ...]] = {
    "llm-grader": evaluator_types.LLM_KEYS,
    "rubric": evaluator_types.LLM_KEYS,
    "rubrics": evaluator_types.LLM_KEYS,
    "code-grader": evaluator_types.CODE_KEYS,
    "composite": ("evaluators", "assertions", "assert", "aggregator"),
    "tool-trajectory": ("mode", "minimums", "expected", "args_match"),
    "field-accuracy": ("fields", "aggregation"),
    "latency": ("threshold",),
    "cost": ("budget",),
    "token-usage": ("max_total", "max_input", "max_output", "maxTotal", "maxInput", "maxOutput"),
    "execution-metrics": (
        "max_tool_calls", "max_llm_calls", "max_tokens", "max_duration_ms", "max_cost_usd",
        "target_exploration_ratio", "exploration_tolerance",
    ),
    "skill-trigger": ("skill", "should_trigger"),
    "regex": ("value", "pattern", "flags"),
}  # fmt: skip
"""The keys of each type beside the common ones; `value`, where it is not in here."""

NAMES = (
    *KINDS, *(name.replace("-", "_") for name in KINDS if "-" in name),
    "llm_judge", "code_judge", "llm-judge", "code-judge",
)  # fmt: skip
"""Every spelling of them."""


def normal(kind: str) -> str:
    """Return a type as the table has it: `llm_judge` and `llm-judge` are `llm-grader`."""
    return kind.strip().lower().replace("_", "-").replace("-judge", "-grader")


_LEVELS = 4
_DEFAULT = "llm-grader"


class Evaluators:
    """Reads the evaluators of the cases of one suite."""

    def __init__(self, suite: Suite, around: GatheringContext, found: ReferenceFindings) -> None:
        self._suite = suite
        self._found = found
        self._context = Context(suite.folder, suite.appended, around, found)
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
            yield from self._spec(
                items_of(EvaluatorEntry(rubrics, self._context), rubrics), rubrics, {}
            )
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
            self._found.problems.append(kind.problem(f"{said} Write the others as `evaluators`."))
            return
        yield from self._spec(Becomes("llmJudge"), node, {})

    def _listed(self, written: Node) -> Iterator[AssertionSpec]:
        """Yield the assertions of a list; all texts in it are one rubric, at the first."""
        entries = [*included(written, self._context)]
        texts = [entry for entry in entries if isinstance(entry.value, str)]
        for entry in entries:
            if texts and entry is texts[0]:
                made = rubric_of(EvaluatorEntry(written, self._context), texts)
                yield from self._spec(made, entry, {})
            elif not isinstance(entry.value, str):
                yield from self._read(entry, 0, {})

    def _read(
        self, node: Node, level: int, weights: Mapping[str, JsonValue]
    ) -> Iterator[AssertionSpec]:
        if not isinstance(node.value, dict):
            self._found.problems.append(node.wrong("an evaluator: a mapping with `type`"))
            return
        kind = node.at("type").value
        reading = KINDS.get(normal(kind)) if isinstance(kind, str) else None
        if reading is None or not isinstance(kind, str):
            said = "An evaluator needs `type`."
            if isinstance(kind, str):
                near = nearest(kind, NAMES) or f" Known: {one_of(KINDS, last='and')}."
                said = f"Unknown evaluator {quote(kind)}.{near}"
            self._found.problems.append(node.at("type").problem(said))
            return
        self._found.problems += node.slips((*COMMON, "config", *KEYS.get(normal(kind), ("value",))))
        if level > _LEVELS:
            said = f"Evaluators may stand {_LEVELS} levels deep in others, and no deeper."
            self._found.problems.append(node.problem(said))
            return
        made = reading(EvaluatorEntry(node, self._context))
        if made is not None:
            yield from self._spec(made, node, weights, level)

    def _spec(
        self, made: Becomes, node: Node, weights: Mapping[str, JsonValue], level: int = 0
    ) -> Iterator[AssertionSpec]:
        """Yield the assertion that an evaluator becomes, if nothing is wrong with it."""
        before = len(self._found.problems)
        common = Common(node, made, weights, self._found)
        parts = [*self._parts(made, node, level)]
        registries = self._context.around.registries
        shown = made if not (made.parts or made.made) else _with_parts(made, parts)
        model = registries.assertions[made.type]
        self._found.problems += unusable(model, shown, EvaluatorEntry(node, self._context))
        if len(self._found.problems) > before:
            return
        judged = made.type in registries.judged or any(part.needs_judge for part in parts)
        spec = AssertionSpec(
            type=made.type,
            name=common.name,
            weight=common.weight,
            required=common.required,
            options=made.options,
            needs_judge=judged,
            parts=tuple(parts),
            place=node.place,
        )
        yield self._negated(spec, node) if common.negated else spec

    def _parts(self, made: Becomes, node: Node, level: int) -> Iterator[AssertionSpec]:
        for part in made.parts:
            yield from self._read(part, level + 1, made.weights)
        for inner in made.made:
            yield from self._spec(inner, node.having({}), {}, level + 1)

    def _negated(self, spec: AssertionSpec, node: Node) -> AssertionSpec:
        """Return the assertion turned round. A verdict that passes proves nothing turned round."""
        if spec.needs_judge:
            said = "A judge's score cannot be turned round. Word what it is asked the other way."
            self._found.problems.append(node.at("negate").problem(said))
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


def _with_parts(made: Becomes, parts: Sequence[AssertionSpec]) -> Becomes:
    """Return it as its model checks it: with its parts as they would be written."""
    written = [{"type": part.type, **part.options} for part in parts] or [{"type": made.type}]
    return Becomes(made.type, {**made.options, "assertions": [*written]}, made.keys)


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
