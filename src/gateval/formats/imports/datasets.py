"""Rows of inputs and expected outputs, as tools for evaluations store them: JSON lines, JSON, CSV.

The rows do not say how an answer is compared with what is expected: the person says it. Sources:
https://inspect.aisi.org.uk/datasets.html, https://github.com/openai/evals/blob/main/docs/build-eval.md,
https://deepeval.com/docs/evaluation-datasets, https://docs.langchain.com/langsmith/manage-datasets,
https://www.braintrust.dev/docs/guides/datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.problems import InvalidManifests, SourceLocation
from gateval.domain.strict_json import objects_of, value_at
from gateval.formats.imports.base import Imported, ImportedCase, ImportRequest, NotCarried, compared
from gateval.formats.native.cases import read_good_rows
from gateval.formats.problems import PROBLEM_LIMIT

_ROLES = {"system", "user", "assistant"}


@dataclass(frozen=True)
class RowFormat:
    """The columns of one tool's rows.

    `context` is told to judges, `tools` are calls that are expected by name. `refused` are columns
    without which a row is another question, each with the reason; all others are left out.
    `alternatives` says that a list of expected texts means any of them.
    """

    input: str
    expected: str
    name: str = "id"
    context: tuple[str, ...] = ()
    tools: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    alternatives: bool = False

    def read(self, request: ImportRequest) -> Imported:
        """Return a case for each row. Raises `InvalidManifests` for a file of which none is one."""
        rows, problems = read_good_rows(request.path, request.data)
        if problems and not rows:
            raise InvalidManifests(problems[:PROBLEM_LIMIT])
        for one in problems:
            request.leave_line(one)
        cases: list[ImportedCase] = []
        for row in rows:
            place = request.place(row.line)
            try:
                cases.append(self._case(request, place, row.value))
            except NotCarried as error:
                request.leave(place, "the row", error)
        return Imported(cases, request.left)

    def _case(self, request: ImportRequest, place: SourceLocation, row: JsonValue) -> ImportedCase:
        if not isinstance(row, dict) or row.get(self.input) in (None, "", [], {}):
            raise NotCarried(f"it has no `{self.input}`")
        for column, why in self.refused.items():
            if row.get(column):
                raise NotCarried(f"it has `{column}`: {why}")
        known = {self.input, self.expected, self.name, self.tools, *self.context}
        for key, value in row.items():
            if key not in known and value not in (None, "", [], {}):
                request.leave(place, f"the column `{key}`", "it has no counterpart here")
        for what, why in self._unread(row):
            request.leave(place, what, why)
        expected = row.get(self.expected)
        if isinstance(expected, dict) and len(expected) == 1:  # such as `{"answer": "4"}`
            (expected,) = expected.values()
        asserted = list(self._assertions(request, row, expected))
        if not asserted:
            raise NotCarried("it expects nothing that can be asserted")
        spec: JsonObject = {"input": _input(row[self.input])}
        if reference := self._reference(row, expected):
            spec["reference"] = reference
        spec["assertions"] = [*asserted]
        named = row.get(self.name)
        return ImportedCase(str(named) if isinstance(named, str | int) else "", place, spec)

    def _unread(self, row: JsonObject) -> Iterator[tuple[str, str]]:
        """Yield what of the columns that are known is not read."""
        for tool in objects_of(row.get(self.tools)) if self.tools else ():
            for key in (one for one in tool if one != "name" and tool[one]):
                yield f"`{key}` of the tool `{tool.get('name')}`", "its calls are counted by name"
        for column in self.context:
            value = row.get(column)
            listed = value if isinstance(value, list) else [value]
            if any(not isinstance(one, str) and one is not None for one in listed):
                yield f"what of `{column}` is no text", "judges read text"
        given = row.get(self.input)
        said = given.get("messages") if isinstance(given, dict) else given
        keys = dict.fromkeys(key for one in objects_of(said) for key in one)
        for key in (one for one in keys if one not in {"role", "content"}):
            yield f"`{key}` of a message", "a message has a role and a content here"

    def _assertions(
        self, request: ImportRequest, row: JsonObject, expected: JsonValue
    ) -> Iterator[JsonObject]:
        if expected not in (None, "", [], {}):
            yield compared(request, expected, alternatives=self.alternatives)
        tools = [one.get("name") for one in objects_of(row.get(self.tools))] if self.tools else []
        counts: JsonObject = {}
        for tool in tools:
            if isinstance(tool, str):
                counts[tool] = tools.count(tool)
        if counts:
            yield {"type": "toolTrajectory", "mode": "anyOrder", "minScore": 1, "minimums": counts}

    def _reference(self, row: JsonObject, expected: JsonValue) -> JsonObject:
        told: JsonObject = {"answer": expected} if isinstance(expected, str) and expected else {}
        values = [row.get(column) for column in self.context]
        listed = [text for one in values for text in (one if isinstance(one, list) else [one])]
        if texts := [text for text in listed if isinstance(text, str)]:
            told["context"] = "\n\n".join(texts)
        return told


def _input(given: JsonValue) -> JsonObject:
    """Return what the user says: a text, a conversation so far, or values."""
    messages = given.get("messages") if isinstance(given, dict) and len(given) == 1 else given
    if isinstance(messages, list):
        return _conversation(messages)
    if isinstance(given, str):
        return {"type": "prompt", "payload": {"prompt": given}}
    if isinstance(given, dict):
        texts = [one for one in given.values() if isinstance(one, str)]
        named: JsonObject = {"prompt": texts[0]} if len(given) == len(texts) == 1 else {}
        return {"type": "prompt", "payload": {**given, **named}}
    raise NotCarried("its input is neither text, messages nor a mapping")


def _conversation(messages: list[JsonValue]) -> JsonObject:
    said: list[JsonValue] = []
    for one in messages:
        role = value_at(one, "role")
        content = value_at(one, "content")
        if role not in _ROLES or not isinstance(content, str) or not content:
            raise NotCarried("its messages are more than texts of system, user and assistant")
        said.append({"role": role, "content": content})
    if len(said) == 1 and value_at(messages[0], "role") == "user":
        return {"type": "prompt", "payload": {"prompt": value_at(messages[0], "content")}}
    return {"type": "prompt", "messages": said}


_SANDBOX = "a playground would have to be made for it"

_SANDBOXED = dict.fromkeys(("sandbox", "files", "setup"), _SANDBOX)
INSPECT = RowFormat(
    "input",
    "target",
    refused={"choices": "how they are shown is the solver's", **_SANDBOXED},
    alternatives=True,
)
OPENAI_EVALS = RowFormat("input", "ideal", alternatives=True)
DEEPEVAL = RowFormat(
    "input",
    "expected_output",
    "name",
    ("context", "retrieval_context"),
    "expected_tools",
    {"turns": "its user is simulated", "scenario": "its user is simulated"},
)
LANGSMITH = RowFormat("inputs", "outputs")
BRAINTRUST = RowFormat("input", "expected")
