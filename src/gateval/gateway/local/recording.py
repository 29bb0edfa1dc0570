"""The trace of a black-box agent, read off its calls of models and of the gate's tools.

Each call of a tool that the gate answers for is counted once, however it arrives: a model asks for
it in its reply, and the program then calls the gate's MCP server. That is one step, named as the
tool is and with the arguments that reached it. What nobody asked for, or what came before the wish
could be read, is a step of its own until a wish claims it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from gateval.domain.base import JsonObject, canonical_json, digest
from gateval.domain.results.doubts import cut_off_note
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    OffersOfTrial,
    ToolCall,
    Usage,
)
from gateval.domain.trials.trace import (
    NO_CALL,
    CallCost,
    Replay,
    StepKind,
    ToolAnswer,
    Trace,
    TraceBuilder,
    add_usage,
)

_SEPARATORS = ("__", "_", "-", ".", "/", ":")
"""What stands between the name that a client gave its server, and the tool's."""


@dataclass
class _Wish:
    number: int
    name: str
    arguments: JsonObject
    call_id: str


@dataclass
class _Early:
    name: str
    arguments: JsonObject
    text: str
    streaming: bool


class ServedTools:
    """Adds the steps of calls that arrived, and says which wishes were such calls already."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._wishes: list[_Wish] = []
        self._early: list[_Early] = []
        self._results: dict[str, str] = {}
        self._arrived = 0

    def wished(self, number: int, call: ToolCall) -> None:
        """A model asked for a call, which is step `number`; 0 for one that is too many."""
        if number:
            self._wishes.append(_Wish(number, call.name, call.arguments, call.id))

    def claims(self, call: ToolCall, *, said: bool) -> bool:
        """Whether this is a call that arrived before, and has its steps. `said` tells that a reply
        holds it, which can be read only after calls that it began.
        """
        for early in self._early:
            known = {early.name}
            if (
                (early.streaming or not said)
                and _is_same(call.name, early.name, known)
                and _equal(call.arguments, early.arguments)
            ):
                self._early.remove(early)
                self._results[call.id] = early.text
                return True
        return False

    def arrived(
        self,
        name: str,
        arguments: JsonObject,
        text: str,
        known: Collection[str],
        *,
        streaming: bool,
    ) -> None:
        """A call of `name` was answered with `text`. `known` are the names of all tools.
        `streaming` tells that a model is being asked, whose reply may hold the wish.
        """
        alike = [wish for wish in self._wishes if _is_same(wish.name, name, known)]
        wish = next((one for one in alike if _equal(one.arguments, arguments)), None)
        wish = wish or next(iter(alike), None)
        if wish is None:
            self._arrived += 1
            call_id = f"mcp-{self._arrived}"
            self._builder.add(
                StepKind.TOOL_CALL, tool=name, arguments=arguments, call_id=call_id,
                refused=name not in known,
            )  # fmt: skip
            self._early.append(_Early(name, arguments, text, streaming))
        else:
            self._wishes.remove(wish)
            call_id = wish.call_id
            self._builder.amend(
                wish.number, tool=name, arguments=arguments, refused=name not in known
            )
            self._results[call_id] = text
        self._builder.add(StepKind.TOOL_RESULT, text, tool=name, call_id=call_id or None)

    def is_told(self, call_id: str | None, text: str) -> bool:
        """Whether a result that a program sends to a model is what its call was answered with."""
        told = self._results.get(call_id or "")
        return told is not None and _folded(told) in _folded(text)


def _is_same(wished: str, name: str, known: Collection[str]) -> bool:
    """Whether a model means the tool `name`: by that, or behind the name of a server."""
    if wished == name:
        return True
    return wished not in known and any(wished.endswith(f"{one}{name}") for one in _SEPARATORS)


def _equal(one: JsonObject, other: JsonObject) -> bool:
    return canonical_json(one) == canonical_json(other)


def _folded(text: str) -> str:
    return " ".join(text.replace("\\n", " ").replace('\\"', '"').split())


Record = Callable[[str, JsonObject, str, Collection[str]], None]


class TrialTools:
    """Answers at most `most` calls by `replay`, each told to `record` with its answer's text."""

    def __init__(self, replay: Replay | None, most: int, record: Record) -> None:
        self._replay = replay or Replay((), ())
        self._most = most
        self._record = record
        self._count = 0
        self._slow: set[asyncio.Task[Any]] = set()

    def refusal(self) -> str:
        """Count a call, and return why it is not admitted: the empty string if it is."""
        self._count += 1
        if self._count > self._most:
            return f"A trial may make {self._most} tool calls, and this one made them."
        return ""

    async def answer(self, name: str, arguments: JsonObject, known: Collection[str]) -> ToolAnswer:
        """Answer a call, as late as the fixture says. `known` are the tools that there are."""
        if name in known:
            answer = self._replay.answer(name, arguments)
        else:
            listed = ", ".join(known) or "none"
            answer = ToolAnswer(f"There is no tool {name!r}. Tools: {listed}.", is_error=True)
        self._record(name, arguments, answer.text, known)
        task = asyncio.current_task()
        if answer.delay and task is not None:
            self._slow.add(task)
            try:
                await asyncio.sleep(answer.delay)
            finally:
                self._slow.discard(task)
        return answer

    def end(self) -> None:
        """Cancel the calls under way."""
        for task in self._slow:
            task.cancel()


Fingerprints = frozenset[str]
"""Two messages are the same when they share a fingerprint."""


def fingerprints_of(message: Message) -> Fingerprints:
    """Return what a message is known by. Agents alter what they send again, so it takes little.

    A tool result is known by the id of its call, as old results get shortened. An assistant
    message with tool calls is known by their ids or by their names and arguments, as its text may
    get lost and ids rewritten. Everything else is known by its text with white space folded.
    """
    if message.role == "tool" and message.tool_call_id:
        return frozenset({f"result {message.tool_call_id}"})
    if message.tool_calls:
        names = digest([call_fingerprint(call) for call in message.tool_calls])
        ids = [call.id for call in message.tool_calls if call.id]
        known_by_id = {f"ids {digest([*ids])}"} if ids else set()
        return frozenset({f"calls {names}", *known_by_id})
    return frozenset({f"{message.role} {digest(' '.join(message.text.split()))}"})


def is_users(fingerprints: Fingerprints) -> bool:
    """Whether they are those of a user's message."""
    return all(fingerprint.startswith("user ") for fingerprint in fingerprints)


def call_fingerprint(call: ToolCall) -> str:
    """Return a tool call's name and arguments as one text."""
    given: JsonObject = {"raw": call.raw} if call.raw is not None else call.arguments
    return f"{call.name} {canonical_json(given)}"


class Match(NamedTuple):
    """How a history relates to what is known.

    `continues` says that its first messages are a whole known conversation. `new` are the
    positions of the messages that are not known, in order. `number` is the conversation that it
    belongs to, from 1.
    """

    continues: bool
    new: tuple[int, ...]
    number: int


class _Node:
    """A message in the tree of all histories; `next` leads on by the next one's fingerprints.
    `ends` is the number of the conversation that ends with it until now, or 0.
    """

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.next: dict[str, _Node] = {}
        self.ends = 0


class Conversations:
    """Remembers histories by their messages' fingerprints, as a tree: they share beginnings."""

    def __init__(self) -> None:
        self._root = _Node()
        self._counts: Counter[str] = Counter()
        self._said_in: dict[str, int] = {}
        self._last = 0

    def match(self, history: Sequence[Fingerprints]) -> Match:
        """Return what is known of `history`.

        Where it continues a conversation, all that follows is new, though it may repeat earlier
        words. Where it does not, a message is new if no conversation holds it that often; and it
        is the conversation that has said its latest known words, in an altered form, or one more
        if nobody has: agents that work side by side share questions, not answers.
        """
        path = self._walk(history)
        shared = len(path)
        if path and path[-1].ends:
            new = tuple(range(shared, len(history)))
            return Match(continues=True, new=new, number=path[-1].ends)
        seen: Counter[str] = Counter()
        unknown = []
        for index, fingerprints in enumerate(history):
            seen.update(fingerprints)
            if index >= shared and all(
                seen[fingerprint] > self._counts[fingerprint] for fingerprint in fingerprints
            ):
                unknown.append(index)
        number = self._speaker(history) or self._last + 1
        return Match(continues=False, new=tuple(unknown), number=number)

    def remember(self, history: Sequence[Fingerprints], number: int) -> None:
        """Keep a history of the conversation `number`; those that it continues end with it from
        now on.
        """
        self._last = max(self._last, number)
        self._said_in.update(
            (one, number) for said in history if not is_users(said) for one in said
        )
        path = self._walk(history)
        for node in path:
            node.ends = 0
        last = path[-1] if path else self._root
        for fingerprints in history[len(path) :]:
            node = _Node()
            last.next.update(dict.fromkeys(fingerprints, node))
            last = node
        last.ends = number if history else 0
        for fingerprint, count in Counter(
            fingerprint for fingerprints in history for fingerprint in fingerprints
        ).items():
            self._counts[fingerprint] = max(self._counts[fingerprint], count)

    def _speaker(self, history: Sequence[Fingerprints]) -> int:
        """Return the conversation in which the latest known words of an agent were said, or 0."""
        known = (
            self._said_in[fingerprint]
            for said in reversed(history)
            if not is_users(said)
            for fingerprint in sorted(said)
            if fingerprint in self._said_in
        )
        return next(known, 0)

    def _walk(self, history: Sequence[Fingerprints]) -> list[_Node]:
        """Return the nodes of the longest known beginning of `history`."""
        path: list[_Node] = []
        node = self._root
        for fingerprints in history:
            found = next(
                (
                    node.next[fingerprint]
                    for fingerprint in sorted(fingerprints)
                    if fingerprint in node.next
                ),
                None,
            )
            if found is None:
                break
            path.append(found)
            node = found
        return path


_NAME_LIMIT = 80
_HAND_OVER = re.compile(r"(?:transfer|hand_?off|hand_?over|delegate)_(?:back_)?to_(.+)")
_ADK = re.compile(r'\bYour internal name is "([^"\n]{1,80})"')
_CREW, _CREW_GOAL = re.compile(r"You are ([^\n]{1,80}?)\. "), "\nYour personal goal is:"
_LEAST, _MOST = 8, 2_000
"""Characters of a text that is known again inside another one, and that are looked at: a hostile
program says long things."""

_CALLS, _ARGUMENTS = 20, 10
"""How many open calls, and texts in each, a new conversation may come of."""


class AgentNames:
    """Tells which agent of a program asks, and what it is called, by what the wire shows.

    An agent is known by its system prompt. Its name stands there, as some frameworks write it; or
    in the hand-over of another agent (`transfer_to_refunds`), which its history ends with; or it is
    the tool by which another agent asks it, with the words that its conversation begins with.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._made: dict[str, tuple[ToolCall, str]] = {}
        self._answered: set[str] = set()

    def asks(self, request: ModelRequest, *, begins: bool) -> str:
        """Return what the agent is known by that makes a request, which `begins` a conversation."""
        said = [one.text for one in request.messages if one.role == "system"]
        key, text = digest([*said]), "\n".join(said)
        self._answered.update(one.tool_call_id or "" for one in request.messages)
        if not self._names.get(key):
            found = _ADK.search(text) or (_CREW.match(text) if _CREW_GOAL in text else None)
            name = found[1] if found else self._handed_to(request, key)
            name = name or (self._asked_as_tool(request, key) if begins else "")
            self._names[key] = " ".join(name[:_MOST].split())[:_NAME_LIMIT]
        return key

    def calls(self, key: str, calls: Sequence[ToolCall]) -> None:
        """Remember the calls that an agent makes."""
        self._made.update({call.id: (call, key) for call in calls})

    def name(self, key: str) -> str:
        """Return what the agent is called, on a line, empty where nothing tells."""
        return self._names.get(key, "")

    def _handed_to(self, request: ModelRequest, key: str) -> str:
        """Return to whom the latest hand-over of the history goes, if another agent made it: a tool
        of one agent may be called like one.
        """
        calls = (call for one in reversed(request.messages) for call in reversed(one.tool_calls))
        for call in calls:
            if (found := _HAND_OVER.fullmatch(call.name)) is None:
                continue
            maker = self._made[call.id][1] if call.id in self._made else ""
            by_another = maker != key if maker else bool(self._names.keys() - {key})
            return str(call.arguments.get("agent_name") or found[1]) if by_another else ""
        return ""

    def _asked_as_tool(self, request: ModelRequest, key: str) -> str:
        """Return the open call of another agent whose words the conversation begins with."""
        asked = next((one.text.strip() for one in request.messages if one.role == "user"), "")
        asked = asked[:_MOST]
        for call, maker in islice(reversed(self._made.values()), _CALLS):
            given = islice(call.arguments.values(), _ARGUMENTS)
            texts = [one[:_MOST].strip() for one in given if isinstance(one, str)]
            told = any(one == asked or (len(one) >= _LEAST and one in asked) for one in texts)
            if told and asked and maker != key and call.id not in self._answered:
                return str(call.arguments.get("subagent_type") or call.name)
        return ""


class TraceRecorder:
    """Builds one trace from the successive model calls of one trial.

    An agent sends its whole history with every call. What continues a conversation seen before
    gives steps only for what is new. A history that differs from all of them starts another
    conversation, in which messages that are known already give no second step. Each step bears the
    number of its conversation: agents that work side by side are told apart by it. It bears the
    name of its agent, too, where the wire tells that (`AgentNames`).

    Tool calls and results in the history that a conversation begins with, up to its last user
    message, are context (examples, an earlier session) that nobody did in this trial: no steps.
    System prompts are no steps either. A reply's call of a tool that its request did not offer
    counts as refused.
    """

    def __init__(self) -> None:
        self._builder = TraceBuilder()
        self._served = ServedTools(self._builder)
        self._conversations = Conversations()
        self._agents = AgentNames()
        self._asking: dict[int, str] = {}
        self._speakers: dict[int, str] = {}
        self._usages: list[Usage] = []
        self._models: dict[str, None] = {}
        self._offers = OffersOfTrial()
        self._tools: dict[str, str] = {}
        self._made: set[str] = set()
        self._empty = True
        self._replies = self._measured = 0

    def reply(self, model: str, request: ModelRequest, reply: ModelReply) -> None:
        """Record that `model` (`provider/model-id`) answered `request` with `reply`."""
        said = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        number = self._add_history(request, [fingerprints_of(said)])
        self._offers.add(model, request)
        self._made.update(call.id for call in reply.tool_calls)
        self._agents.calls(self._asking[number], reply.tool_calls)
        cost = CallCost(reply.seconds, reply.retries)
        if said.text or not said.tool_calls:
            self._step(number, StepKind.ASSISTANT, said.text, cost=cost)
        if note := cut_off_note(model, reply.stop):
            self._step(number, StepKind.ERROR, note)
        offered = {tool.name for tool in request.tools}
        self._add_calls(said.tool_calls, number, cost, offered)
        self._usages.append(reply.usage)
        self._replies += 1
        self._models[model] = None

    def measured(self, model: str, usage: Usage | None) -> None:
        """Record that `model` measured texts: no step, but tokens, if that costs any. By itself it
        makes no trace: it tells nothing of what the agent said and did.
        """
        if usage is not None:
            self._usages.append(usage)
        self._measured += 1
        self._models[model] = None

    def error(self, request: ModelRequest | None, message: str, cost: CallCost = NO_CALL) -> None:
        """Record that a call failed; `request` is None if it could not even be read."""
        number = 1 if request is None else self._add_history(request, [])
        self._step(number, StepKind.ERROR, message, cost=cost)
        self._empty = False

    def tool(
        self,
        name: str,
        arguments: JsonObject,
        text: str,
        known: Collection[str],
        *,
        streaming: bool,
    ) -> None:
        """Record that the gate answered a call of a tool with `text`; see `ServedTools.arrived`."""
        self._empty = False
        self._served.arrived(name, arguments, text, known, streaming=streaming)

    def trace(self) -> Trace | None:
        """Return the trace so far, or None when no call was made. `model_calls` counts the calls
        that were answered.
        """
        if self._empty:
            return None
        names = {number: self._agents.name(key) for number, key in self._speakers.items()}
        return Trace(
            steps=tuple(
                step.model_copy(update={"agent": names[step.number]})
                if names.get(step.number)
                else step
                for step in self._builder.steps()
            ),
            source="gateway",
            usage=add_usage(self._usages),
            model_calls=self._replies + self._measured,
            models=tuple(self._models),
            offered=self._offers.found(),
        )

    def _add_history(self, request: ModelRequest, answer: list[Fingerprints]) -> int:
        """Add steps for what is new in a request; remember it with its answer's fingerprints.
        Return the number of its conversation.
        """
        self._empty = False
        messages = [message for message in request.messages if message.role != "system"]
        history = [fingerprints_of(message) for message in messages]
        match = self._conversations.match(history)
        for message in messages:
            self._tools.update({call.id: call.name for call in message.tool_calls})
        users = [index for index, message in enumerate(messages) if message.role == "user"]
        context = 0 if match.continues else max(users, default=0)
        key = self._agents.asks(request, begins=match.number not in self._asking)
        before = self._asking.setdefault(match.number, key)
        for index in match.new:
            # What an agent said and got is that of who asked before, in a hand-over another one.
            self._asking[match.number] = key if messages[index].role == "user" else before
            acted = index >= context or messages[index].tool_call_id in self._made
            self._add(messages[index], match.number, acted=acted)
        self._asking[match.number] = key
        self._conversations.remember([*history, *answer], match.number)
        return match.number

    def _step(self, conversation: int, kind: StepKind, text: str, **more: Any) -> int:
        """Add a step of the agent that asks in a conversation."""
        number = self._builder.add(kind, text, conversation=conversation, **more)
        self._speakers[number] = self._asking.get(conversation, "")
        return number

    def _add(self, message: Message, number: int, *, acted: bool) -> None:
        add = partial(self._step, number)
        if message.role == "user":
            add(StepKind.USER, message.text)
        elif message.role == "assistant":
            if message.text:
                add(StepKind.ASSISTANT, message.text)
            self._add_calls(message.tool_calls if acted else (), number, NO_CALL)
        elif acted:
            call_id = message.tool_call_id or None
            if self._served.is_told(call_id, message.text):
                return
            tool = self._tools.get(call_id or "")
            add(StepKind.TOOL_RESULT, message.text, tool=tool, call_id=call_id)

    def _add_calls(
        self,
        calls: tuple[ToolCall, ...],
        number: int,
        cost: CallCost,
        offered: set[str] | None = None,
    ) -> None:
        """Add a step for each call, refused where `offered` is known and names no such tool."""
        for call in calls:
            is_offered = offered is None or call.by_provider or call.name in offered
            self._tools[call.id] = call.name
            if self._served.claims(call, said=offered is not None):
                continue
            step = self._step(
                number,
                StepKind.TOOL_CALL,
                call.raw or "",
                tool=call.name,
                arguments=call.arguments,
                call_id=call.id or None,
                cost=cost,
                refused=not is_offered,
            )
            if offered is not None:
                self._served.wished(step, call)
