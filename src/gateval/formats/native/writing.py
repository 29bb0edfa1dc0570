"""Writes YAML for people, with ruamel.yaml: new manifests, and examples added to old ones.

What a person wrote stays as it is, to the byte, comments and quotes included. An entry is put
behind the last one of its list, in that list's own indentation; only a list in brackets, which has
no lines, is written anew with the document around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from gateval.domain.base import JsonObject, mapped
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.messages import Content, FilePart, Role, TextPart
from gateval.domain.strict_json import object_of
from gateval.formats.base import NATIVE_VERSION
from gateval.formats.native.fixture import PARTS
from gateval.formats.native.written import canonical

if TYPE_CHECKING:
    from ruamel.yaml import YAML


_WIDE = 1 << 30
"""Columns: no line is wrapped, so that none begins with what a CI runner would obey."""

_COMMANDS = ("::", "##[")
_OLD_WORDS = {"y", "n", "yes", "no", "on", "off"}
"""Text by YAML 1.2, and no text to readers of 1.1."""


def manifest_text(documents: Sequence[JsonObject]) -> str:
    """Return new manifests as YAML: block style, long texts as blocks of lines."""
    return "---\n".join(map(_dumped, documents))


def with_example(text: str, document: int, example: JsonObject) -> str:
    """Return a file with `example` as the last of `spec.examples` of its document of that number.

    Counts documents from 0. The rest of the file stays as it is, if `examples` is a list of lines.
    """
    from ruamel.yaml.nodes import SequenceNode

    newline = "\r\n" if "\r\n" in text else "\n"
    examples: Any = list(_yaml().compose_all(text))[document]
    for key in ("spec", "examples"):
        pairs = examples.value if examples is not None else ()
        examples = next((value for name, value in pairs if name.value == key), None)
    if not isinstance(examples, SequenceNode) or examples.flow_style or not examples.value:
        return _rewritten(text, document, example)
    lines = text.splitlines(keepends=True)
    last = examples.value[-1].end_mark  # behind it, or where the next thing begins
    end = last.line
    if end < len(lines) and lines[end][: last.column].strip():
        end += 1
    beside = ("", "#")  # a line that is empty, or a comment alone
    while end and not _ends_in_block(examples) and lines[end - 1].strip()[:1] in beside:
        end -= 1
    before = "".join(lines[:end])
    if before and not before.endswith("\n"):
        before += newline
    indent = " " * examples.start_mark.column
    written = _dumped([example]).splitlines(keepends=True)
    item = "".join(indent + line if line.strip() else line for line in written)
    return before + item.replace("\n", newline) + "".join(lines[end:])


def _ends_in_block(node: Any) -> bool:
    """Whether the last text in a node is a block of lines, in which `#` is no comment."""
    while isinstance(node.value, list) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node.style in {"|", ">"}


def _rewritten(text: str, document: int, example: JsonObject) -> str:
    """The whole file by ruamel's round trip, which keeps comments, quotes and order."""
    yaml = _yaml()
    documents = list(yaml.load_all(text))
    documents[document]["spec"].setdefault("examples", []).append(_quoted(example))
    yaml.explicit_start = text.lstrip().startswith("---")
    buffer = StringIO()
    yaml.dump_all(documents, buffer)
    return buffer.getvalue()


def _yaml() -> YAML:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _WIDE
    yaml.allow_unicode = True
    return yaml


def _dumped(value: Any) -> str:
    """The value as YAML; where a character in it cannot be seen, all but ASCII is escaped."""
    yaml, buffer = _yaml(), StringIO()
    yaml.allow_unicode = all(char.isprintable() or char == "\n" for char in _texts(value))
    yaml.dump(_with_blocks(value), buffer)
    return buffer.getvalue()


def _texts(value: Any) -> Iterator[str]:
    """Yield every character of every text in a value."""
    if isinstance(value, str):
        yield from value
    elif isinstance(value, dict):
        yield from (char for pair in value.items() for one in pair for char in _texts(one))
    elif isinstance(value, list):
        yield from (char for one in value for char in _texts(one))


def _quoted(value: Any) -> Any:
    """The same with every text in quotes: in brackets, readers differ on bare ones."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    return mapped(value, lambda one: DoubleQuotedScalarString(one) if isinstance(one, str) else one)


def _with_blocks(value: Any) -> Any:
    """Texts of several lines as blocks, short objects of plain values on one line."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if isinstance(value, dict):
        return {key: _with_blocks(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_blocks(one) for one in value]
    if isinstance(value, str) and "\n" in value and value == value.rstrip(" ") and _is_clean(value):
        return LiteralScalarString(value)
    if isinstance(value, str) and (
        value.lower() in _OLD_WORDS or not _is_clean(value.replace("\n", ""))
    ):
        return DoubleQuotedScalarString(value)
    return value


def _is_clean(value: str) -> bool:
    """Whether a block can hold this text as it is."""
    lines = value.split("\n")
    plain = all(line == line.rstrip() for line in lines) and not lines[0][:1].isspace()
    plain = plain and not any(line.lstrip().startswith(_COMMANDS) for line in lines)
    return plain and all(char.isprintable() for line in lines for char in line)


FileOf = Callable[[str], str | None]
"""Returns the path of a file, from the root, by what a text part calls it; None if unknown."""


def agent_document(agent: Agent) -> JsonObject:
    """Return the manifest of an Agent; its paths count from the root already."""
    spec = canonical(agent.spec)
    runtime = spec.get("runtime")
    if isinstance(runtime, dict):
        options = object_of(runtime.pop("options", {}))
        spec["runtime"] = {**runtime, **options}
    return document_for("Agent", agent.name, agent.labels, spec)


def eval_document(evaluation: Eval) -> JsonObject:
    """Return the manifest of an Eval."""
    spec: JsonObject = {
        "targetAgent": evaluation.target_agent,
        "fixtures": list(evaluation.fixtures),
        "judge": canonical(evaluation.judge),
        "scoring": canonical(evaluation.scoring),
        "execution": canonical(evaluation.execution),
    }
    return document_for("Eval", evaluation.name, evaluation.labels, _filled(spec))


def fixture_document(fixture: Fixture, file_of: FileOf) -> JsonObject:
    """Return the manifest of a fixture; texts of files stand there as files again."""
    asked: JsonObject = {"type": fixture.input.type.value}
    if fixture.input.payload:
        asked["payload"] = fixture.input.payload
    messages: list[JsonValue] = []
    for one in fixture.input.messages:
        calls: list[JsonValue] = [canonical(call) for call in one.tool_calls]
        of_user = one.role is Role.USER  # only the user sends files
        said = _content(one.content, file_of if of_user else lambda _name: None)
        written: JsonObject = {"role": one.role.value, "content": said}
        written |= {"toolCalls": calls} if calls else {}
        written |= {} if one.tool_call_id is None else {"toolCallId": one.tool_call_id}
        messages.append(written)
    if messages:
        asked["messages"] = messages
    whole = [_assertion(one) for one in fixture.assertions if one.turn is None]
    turns: list[JsonValue] = [
        _filled({
            "user": _content(turn, file_of),
            "assertions": [_assertion(one) for one in fixture.assertions if one.turn == number],
        })
        for number, turn in enumerate(fixture.turns, 1)
    ]  # fmt: skip
    spec: JsonObject = {
        "description": fixture.description.strip(),
        "input": asked,
        "turns": turns,
        "reference": canonical(fixture.reference) if fixture.reference else {},
        "assertions": [*whole],
    }
    return document_for("EvalFixture", fixture.name, fixture.labels, _filled(spec))


def document_for(kind: str, name: str, labels: dict[str, str], spec: JsonObject) -> JsonObject:
    """Return the manifest of this kind and name."""
    metadata: JsonObject = {"name": name} | ({"labels": {**labels}} if labels else {})
    return {"apiVersion": NATIVE_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _assertion(spec: AssertionSpec) -> JsonObject:
    written: JsonObject = {"type": spec.type}
    if spec.name:
        written["name"] = spec.name
    if spec.weight != 1:
        written["weight"] = spec.weight
    if spec.required:
        written["required"] = True
    written |= spec.options
    if spec.parts:
        written[PARTS] = [_assertion(part) for part in spec.parts]
    return written


def _content(content: Content, file_of: FileOf) -> JsonValue:
    if isinstance(content, str):
        return content
    parts: list[JsonValue] = []
    for part in content:
        path = file_of(part.file) if isinstance(part, TextPart) and part.file else None
        if path is not None:
            parts.append({"type": "file", "path": f"/{path}"})
        elif isinstance(part, FilePart):
            parts.append({"type": part.type, "path": part.path})
        else:
            parts.append({"type": "text", "text": part.text})
    return parts


def _filled(spec: JsonObject) -> JsonObject:
    return {key: value for key, value in spec.items() if value not in ("", [], {})}
