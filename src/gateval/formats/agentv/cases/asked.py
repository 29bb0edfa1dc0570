"""What a case asks: the suite's messages and its own, the files beside them, and the turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.fixtures.attached import TextPart
from gateval.domain.manifests.fixtures.messages import Content
from gateval.domain.repository.paths import path_text
from gateval.formats.agentv.cases.inputs import (
    NoInput,
    content_of,
    fixture_input,
    messages_before,
)
from gateval.formats.agentv.cases.messages import Reader
from gateval.formats.agentv.filling import with_vars
from gateval.formats.agentv.guidelines import guidelines_for
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.suites.suite import Suite
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.agentv.written import INPUT, CaseBody
from gateval.formats.gathering import GatheringContext
from gateval.formats.problems.sentences import missing_key


class AskedReader:
    """Reads what the cases of one suite ask."""

    def __init__(self, suite: Suite, around: GatheringContext, found: Findings) -> None:
        self._suite = suite
        self._found = found
        self._asked = Reader(suite.folder, around, found, own=False)
        self._is_guideline = guidelines_for(suite.folder, around, found)

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
            messages = _with_files(messages, list(self._asked.files(files)))
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
                said = messages_before(messages)
                return FixtureInput(type=InputType.PROMPT, messages=said)
            if own is None and (body.mode or body.turns is not None):
                return None
            if own is None:
                self._found.problems.append(node.problem(missing_key("input")))
                return None
            return fixture_input(messages)
        except NoInput as error:
            self._found.problems.append((own or node).problem(str(error)))
            return None

    def turns(self, node: Node, body: CaseBody) -> Iterator[Content]:
        """Yield what the user says in each turn of a conversation."""
        if not body.turns:
            if body.turns is not None or body.mode is not None:
                self._found.problems.append(node.problem("A conversation needs `turns`."))
            return
        if body.aggregation != "mean":
            said = "The turns of a case are weighed by their mean here. Remove `aggregation`."
            self._found.problems.append(node.at("aggregation").problem(said))
        if body.on_turn_failure == "stop":
            said = "A conversation goes on to its end here. Remove `on_turn_failure`."
            self._found.problems.append(node.at("on_turn_failure").problem(said))
        for turn in node.at("turns").items():
            written = turn.first(INPUT)
            if written is None:
                self._found.problems.append(turn.problem(missing_key("input")))
                continue
            said_now = list(self._asked.messages(written, "user"))
            if len(said_now) > 1:
                said = "The user says one thing in each turn. Give what comes before it as `input`."
                self._found.problems.append(written.problem(said))
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
    text: JsonValue = {"type": "text", "value": content} if isinstance(content, str) else content
    said = content if isinstance(content, list) else [text]
    return [*before, {**last, "content": [*blocks, *said]}]
