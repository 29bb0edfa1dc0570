"""Messages as AgentV writes them: a text, an object or a list with roles, blocks and calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.repository.sources import LOCK_PATH, git_file
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.filling import counted
from gateval.formats.agentv.node import AgentvNode, Node
from gateval.formats.agentv.references import NoFile, find, foreign_text, is_foreign, text_at
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import GatheringContext

ROLES = ("system", "user", "assistant", "tool")


class ToolCallBody(AgentvNode):
    """A call of a tool in a message."""

    tool: str
    input: JsonValue = None
    output: JsonValue = None
    id: str | None = None


class Reader:
    """Reads messages of a suite in `folder`. `own` says that no candidate gets their files."""

    def __init__(
        self, folder: str, around: GatheringContext, found: Findings, *, own: bool
    ) -> None:
        self._folder = folder
        self._around = around
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
        elif isinstance(value, list) and value and _has_role(value):
            for entry in node.items():
                yield from self._message(entry)
        elif isinstance(value, list) and not value:
            self._tell(node.problem("There is no message here. Add one."))
        elif isinstance(value, list) and not self._own and not all(map(_is_block, value)):
            self._tell(node.problem("Each message of a list has a `role` and `content`."))
        elif isinstance(value, str | dict | list):
            yield {"role": role, "content": self._content(node)}
        else:
            self._tell(node.wrong("text", "a mapping", "a list of messages"))

    def files(self, nodes: Iterable[Node]) -> Iterator[JsonObject]:
        """Yield a block for each file that `input_files` names."""
        for node in nodes:
            if isinstance(node.value, str):
                yield from self._file(node, "file", node.value)

    def _message(self, node: Node) -> Iterator[JsonObject]:
        value = node.value
        if not isinstance(value, dict):
            self._tell(node.wrong("a message with `role` and `content`"))
            return
        self._found.problems += node.slips(("role", "content", "name", "tool_calls"))
        role = value.get("role")
        if role not in ROLES:
            known = f"{', '.join(ROLES[:-1])} or {ROLES[-1]}"
            hint = nearest(role, ROLES) if isinstance(role, str) else ""
            self._tell(node.at("role").problem(f"The role of a message is {known}.{hint}"))
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
            self._tell(node.problem("This message says nothing: give it `content`."))

    def _calls(self, node: Node) -> Iterator[JsonObject]:
        if not isinstance(node.value, list):
            self._tell(node.wrong("a list of tool calls"))
        for entry in node.items():
            call, problems = entry.read(ToolCallBody)
            self._found.problems += problems
            if call is not None and isinstance(entry.value, dict):
                yield entry.value

    def _content(self, node: Node) -> JsonValue:
        """Return a content: a text, an object as it is, or a list of blocks."""
        if not isinstance(node.value, list):
            if not isinstance(node.value, str | dict):
                self._tell(node.wrong("text", "a mapping", "a list of blocks"))
            return node.value
        if not any(isinstance(one, dict) and "type" in one for one in node.value):
            return [{"type": "text", "value": v} if isinstance(v, str) else v for v in node.value]
        return [block for entry in node.items() for block in self._block(entry)]

    def _block(self, node: Node) -> Iterator[JsonObject]:
        value = node.value
        if isinstance(value, str):
            yield {"type": "text", "value": value}
            return
        if not isinstance(value, dict):
            self._tell(node.wrong("text", "a block with `type` and `value`"))
            return
        self._found.problems += node.slips(("type", "value"))
        kind, held = value.get("type"), value.get("value", value.get("text"))
        if kind not in (kinds := ("text", "file", "image")):
            hint = nearest(kind, kinds) if isinstance(kind, str) else ""
            self._tell(node.at("type").problem(f"A block is of type text, file or image.{hint}"))
        elif not isinstance(held, str):
            self._tell(node.at("value").wrong("text"))
        elif kind == "text":
            yield {"type": "text", "value": held}
        else:
            yield from self._file(node.at("value"), kind, held)

    def _file(self, node: Node, kind: str, written: str) -> Iterator[JsonObject]:
        if is_foreign(written):
            yield from self._foreign(node, kind, written)
            return
        try:
            path = find(written, self._folder, self._around)
            text = text_at(path, self._around) if kind == "file" else None
        except NoFile as error:
            self._tell(node.problem(str(error)))
            return
        if text is None and self._own:
            said = f"{quote(written)} is no text, and nothing here compares anything else."
            self._tell(node.problem(said))
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
            text = foreign_text(url, self._around)
        except NoFile as error:
            self._tell(node.problem(str(error)))
            return
        self._found.own.add(LOCK_PATH)
        if kind != "file":
            self._tell(node.problem("An image is a file of this repository. Copy it here."))
        elif counted(node, len(text), self._found):
            file = git_file(url)
            name = file.shown(file.choices[0][1])
            yield {"type": kind, "path": name, "file": name, "text": text}

    def _tell(self, problem: Problem) -> None:
        self._found.problems.append(problem)


def rendered(content: JsonValue) -> str:
    """Return a content as text, as AgentV tells it: an object as JSON with two spaces."""
    return (
        content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
    )


def _is_block(value: JsonValue) -> bool:
    return isinstance(value, dict) and "type" in value


def _has_role(value: list[JsonValue]) -> bool:
    return any(isinstance(one, dict) and "role" in one for one in value)
