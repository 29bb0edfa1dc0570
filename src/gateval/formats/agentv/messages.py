"""What a case asks: messages as AgentV writes them, the files beside them, and the turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue, ValidationError

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.messages import (
    Content,
    FilePart,
    InputMessage,
    InputToolCall,
    Part,
    Role,
    TextPart,
    text_of,
)
from gateval.domain.paths import nearest, path_text
from gateval.domain.strict_json import list_of, object_of
from gateval.domain.text import quote
from gateval.domain.tree import LOCK_PATH, git_file
from gateval.formats.agentv.node import INPUT, AgentvNode, CaseBody, Node
from gateval.formats.agentv.references import (
    NoFile,
    ReferenceFindings,
    counted,
    find,
    foreign_text,
    guidelines_for,
    is_foreign,
    text_at,
    with_vars,
)
from gateval.formats.agentv.suites import Suite
from gateval.formats.problems import missing_key

ROLES = ("system", "user", "assistant", "tool")


class ToolCallBody(AgentvNode):
    """A call of a tool in a message."""

    tool: str
    input: JsonValue = None
    output: JsonValue = None
    id: str | None = None


class Reader:
    """Reads messages of a suite in `folder`. `own` says that no candidate gets their files."""

    def __init__(self, folder: str, found: ReferenceFindings, *, own: bool) -> None:
        self._folder = folder
        self._found = found
        self._own = own
        self.found: list[tuple[str, str]] = []
        """The files that were found so far: what they are called, and their paths."""

    def messages(self, node: Node, role: str) -> Iterator[JsonObject]:
        """Yield the messages that a value stands for.

        A text, an object without `role` and a list whose first entry has none are the content of
        one message of `role`. Files become blocks with their `path` and, for a text, their `text`.
        """
        value = node.value
        if isinstance(value, dict) and "role" in value:
            yield from self._message(node)
        elif isinstance(value, list) and any(_has(one, "role") for one in value):
            for entry in node.items():
                yield from self._message(entry)
        elif isinstance(value, list) and not value:
            node.tell("There is no message here. Add one.")
        elif (
            isinstance(value, list)
            and not self._own
            and not all(_has(one, "type") for one in value)
        ):
            node.tell("Each message of a list has a `role` and `content`.")
        elif isinstance(value, str | dict | list):
            yield {"role": role, "content": self._content(node)}
        else:
            node.tell_sort("text", "a mapping", "a list of messages")

    def _message(self, node: Node) -> Iterator[JsonObject]:
        value = node.value
        if not isinstance(value, dict):
            node.tell_sort("a message with `role` and `content`")
            return
        node.tell_slips(("role", "content", "name", "tool_calls"))
        role = value.get("role")
        if role not in ROLES:
            known = f"{', '.join(ROLES[:-1])} or {ROLES[-1]}"
            hint = nearest(role, ROLES) if isinstance(role, str) else ""
            node.at("role").tell(f"The role of a message is {known}.{hint}")
            return
        message: JsonObject = {"role": role}
        if isinstance(value.get("name"), str):
            message["name"] = value["name"]
        if value.get("content") is not None:
            message["content"] = self._content(node.at("content"))
        if value.get("tool_calls") is not None:
            message["tool_calls"] = list(self._calls(node.at("tool_calls")))
        if message.get("content") or message.get("tool_calls"):
            yield message
        elif not (value.get("content") or value.get("tool_calls")):
            node.tell("This message says nothing: give it `content`.")

    def _calls(self, node: Node) -> Iterator[JsonObject]:
        if not isinstance(node.value, list):
            node.tell_sort("a list of tool calls")
        for entry in node.items():
            call, problems = entry.read(ToolCallBody)
            self._found.problems += problems
            if call is not None and isinstance(entry.value, dict):
                yield entry.value

    def _content(self, node: Node) -> JsonValue:
        """Return a content: a text, an object as it is, or a list of blocks."""
        if not isinstance(node.value, list):
            if not isinstance(node.value, str | dict):
                node.tell_sort("text", "a mapping", "a list of blocks")
            return node.value
        if not any(_has(one, "type") for one in node.value):
            return [{"type": "text", "value": v} if isinstance(v, str) else v for v in node.value]
        return [block for entry in node.items() for block in self._block(entry)]

    def _block(self, node: Node) -> Iterator[JsonObject]:
        value = node.value
        if isinstance(value, str):
            yield {"type": "text", "value": value}
            return
        if not isinstance(value, dict):
            node.tell_sort("text", "a block with `type` and `value`")
            return
        node.tell_slips(("type", "value"))
        kind, held = value.get("type"), value.get("value", value.get("text"))
        if kind not in (kinds := ("text", "file", "image")):
            hint = nearest(kind, kinds) if isinstance(kind, str) else ""
            node.at("type").tell(f"A block is of type text, file or image.{hint}")
        elif not isinstance(held, str):
            node.at("value").tell_sort("text")
        elif kind == "text":
            yield {"type": "text", "value": held}
        else:
            yield from self.file(node.at("value"), kind, held)

    def file(self, node: Node, kind: str, written: str) -> Iterator[JsonObject]:
        """Yield the block of a file, if it can be read."""
        if is_foreign(written):
            yield from self._foreign(node, kind, written)
            return
        try:
            path = find(written, self._folder, self._found.around)
            text = text_at(path, self._found.around) if kind == "file" else None
        except NoFile as error:
            node.tell(str(error))
            return
        if text is None and self._own:
            node.tell(f"{quote(written)} is no text, and nothing here compares anything else.")
            return
        (self._found.own if self._own else self._found.shown).add(path)
        if not counted(node, len(text or ""), self._found):
            return
        block: JsonObject = {"type": kind, "path": written.lstrip("/"), "file": path}
        self.found.append((written.lstrip("/"), path))
        yield block if text is None else {**block, "text": text}

    def _foreign(self, node: Node, kind: str, url: str) -> Iterator[JsonObject]:
        """Yield the block of a file of another repository, which is always a text."""
        try:
            text = foreign_text(url, self._found.around)
        except NoFile as error:
            node.tell(str(error))
            return
        self._found.own.add(LOCK_PATH)
        if kind != "file":
            node.tell("An image is a file of this repository. Copy it here.")
        elif counted(node, len(text), self._found):
            file = git_file(url)
            name = file.shown(file.choices[0][1])
            yield {"type": kind, "path": name, "file": name, "text": text}


def _has(value: JsonValue, key: str) -> bool:
    return isinstance(value, dict) and key in value


def rendered(content: JsonValue) -> str:
    """Return a content as text, as AgentV tells it: an object as JSON with two spaces."""
    return (
        content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
    )


class NoInput(ValueError):
    """Messages that no fixture can hold; the message is a sentence."""


def fixture_input(messages: Sequence[JsonObject]) -> FixtureInput:
    """Return the input of a fixture. One text of the user is its prompt. Raises `NoInput`."""
    said = list(_messages(messages))
    if not said or said[-1].role is not Role.USER:
        raise NoInput("The last message has to be the user's: the agent answers it.")
    if len(said) == 1 and isinstance(said[0].content, str):
        return FixtureInput(type=InputType.PROMPT, payload={"prompt": said[0].content})
    return FixtureInput(type=InputType.PROMPT, messages=tuple(said))


def _messages(messages: Sequence[JsonObject]) -> Iterator[InputMessage]:
    """Yield the messages. A result of a tool belongs to the oldest call that has none yet; one
    without a call is told as the assistant's, as AgentV does.
    """
    open_calls: list[str] = []
    count = 0
    for message in messages:
        role, content = Role(str(message["role"])), content_of(message.get("content"))
        written = message.get("tool_calls")
        calls: list[InputToolCall] = []
        results: list[InputMessage] = []
        for call in list_of(written):
            count += 1
            made, result = _call(call, count)
            calls.append(made)
            if result is None:
                open_calls.append(made.id)
            else:
                results.append(_checked(role=Role.TOOL, content=result, tool_call_id=made.id))
        if role is Role.TOOL and open_calls:
            yield _checked(role=role, content=text_of(content), tool_call_id=open_calls.pop(0))
        elif role is Role.TOOL:
            yield _checked(role=Role.ASSISTANT, content=f"@[Tool]:\n{text_of(content)}")
        else:
            yield _checked(role=role, content=content, tool_calls=tuple(calls))
        yield from results


def _checked(**fields: object) -> InputMessage:
    try:
        return InputMessage.model_validate(fields)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise NoInput(f"{message}.") from None


def _call(call: JsonValue, number: int) -> tuple[InputToolCall, str | None]:
    """Return a call and the text of its result, None where it has none."""
    written = object_of(call)
    given, output, name = written.get("input"), written.get("output"), written.get("id")
    made = InputToolCall(
        id=name if isinstance(name, str) and name else f"call-{number}",
        tool=str(written.get("tool")),
        arguments=given if isinstance(given, dict) else {} if given is None else {"input": given},
    )
    return made, None if output is None else rendered(output)


def content_of(content: JsonValue) -> Content:
    """Return a content as a fixture has it: blocks of text alone are one text."""
    if not isinstance(content, list):
        return "" if content is None else rendered(content)
    parts = [_part(block) for block in content]
    if all(isinstance(part, TextPart) and part.file is None for part in parts):
        return "\n".join(part.shown for part in parts)
    return tuple(parts)


def _part(block: JsonValue) -> Part:
    if not isinstance(block, dict) or "type" not in block:
        return TextPart(type="text", text=rendered(block))
    if block["type"] == "text":
        return TextPart(type="text", text=str(block.get("value", "")))
    path, text = str(block["file"]), block.get("text")
    if isinstance(text, str):
        name = str(block["path"])
        return TextPart(
            type="text",
            text=f'<file path="{name.translate(_PLAIN)}">\n{text.strip()}\n</file>',
            file=name,
        )
    kind = "image" if block["type"] == "image" else "file"
    return FilePart.model_validate({"type": kind, "path": f"/{path}"})


_PLAIN = {ord(char): "_" for char in '<>"\n'}


class AskedReader:
    """Reads what the cases of one suite ask."""

    def __init__(self, suite: Suite, found: ReferenceFindings) -> None:
        self._suite = suite
        self._found = found
        self._asked = Reader(suite.folder, found, own=False)
        self._is_guideline = guidelines_for(suite.folder, found)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files in the case that was read last."""
        return tuple(dict.fromkeys(path_text(path) for _, path in self._asked.found))

    @property
    def guidelines(self) -> tuple[str, ...]:
        """What those of them are called that are guidelines."""
        rules = (name for name, path in self._asked.found if self._is_guideline(path))
        return tuple(dict.fromkeys(rules))

    def _messages(self, node: Node, body: CaseBody) -> Iterator[JsonObject]:
        """Yield what was said: the suite's messages, unless the case wants none, then its own."""
        suite = self._suite.node
        shared = not (body.execution and body.execution.skip_defaults)
        values = body.vars or {}
        if shared and (written := suite.first(INPUT)) is not None:
            yield from self._asked.messages(with_vars(written, values, self._found), "user")
        files = [*with_vars(suite.at("input_files"), values, self._found).items()] if shared else []
        files += [*node.at("input_files").items()]
        own = node.first(INPUT)
        if own is None:
            return
        messages = list(self._asked.messages(own, "user"))
        if files:
            named = (one for one in files if isinstance(one.value, str))
            blocks = [b for one in named for b in self._asked.file(one, "file", str(one.value))]
            messages = _with_files(messages, blocks)
        yield from messages

    def input(self, node: Node, body: CaseBody) -> FixtureInput | None:
        """Return what the agent is asked; with turns, what was said before the first."""
        self._asked.found.clear()
        before = len(self._found.problems)
        messages = list(self._messages(node, body))
        own = node.first(INPUT)
        if len(self._found.problems) > before:
            return None
        try:
            if body.turns:
                said = tuple(_messages(messages))
                return FixtureInput(type=InputType.PROMPT, messages=said)
            if own is None and (body.mode or body.turns is not None):
                return None
            if own is None:
                node.tell(missing_key("input"))
                return None
            return fixture_input(messages)
        except NoInput as error:
            (own or node).tell(str(error))
            return None

    def turns(self, node: Node, body: CaseBody) -> Iterator[Content]:
        """Yield what the user says in each turn of a conversation."""
        if not body.turns:
            if body.turns is not None or body.mode is not None:
                node.tell("A conversation needs `turns`.")
            return
        if body.aggregation != "mean":
            said = "The turns of a case are weighed by their mean here. Remove `aggregation`."
            node.at("aggregation").tell(said)
        if body.on_turn_failure == "stop":
            said = "A conversation goes on to its end here. Remove `on_turn_failure`."
            node.at("on_turn_failure").tell(said)
        for turn in node.at("turns").items():
            written = turn.first(INPUT)
            if written is None:
                turn.tell(missing_key("input"))
                continue
            said_now = list(self._asked.messages(written, "user"))
            if len(said_now) > 1:
                said = "The user says one thing in each turn. Give what comes before it as `input`."
                written.tell(said)
            elif said_now:
                yield content_of(said_now[-1].get("content"))


def file_names(asked: FixtureInput, turns: Sequence[Content]) -> tuple[str, ...]:
    """Return the names of the files that are told, each once."""
    contents = [*(message.content for message in asked.messages), *turns]
    parts = [part for content in contents if not isinstance(content, str) for part in content]
    names = (part.file if isinstance(part, TextPart) else part.path for part in parts)
    return tuple(dict.fromkeys(name for name in names if name))


def _with_files(messages: list[JsonObject], blocks: list[JsonObject]) -> list[JsonObject]:
    """Return the messages with files before what the user says last."""
    if not messages:
        return messages
    *before, last = messages
    content = last.get("content")
    said = content if isinstance(content, list) else [{"type": "text", "value": rendered(content)}]
    return [*before, {**last, "content": [*blocks, *said]}]
