"""The EvalFixture manifest: one input and the assertions on what comes of it.

The words are those of chat APIs, so that programs and templates of others read them as they are.

People's own checks: which files are theirs, so that no candidate gets them and all count.

A check's own files are the folder of the program that its `command` or `function` names; a program
that stands beside the manifest, or above it, is a file of its own. `include` adds files that it
shares with others, which are not hidden from candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from gateval.domain.base import (
    JsonObject,
    Name,
    Positive,
    Spec,
    Value,
    Word,
    canonical_json,
    json_text,
    plentiful,
)
from gateval.domain.manifests.messages import (
    MESSAGES_LIMIT,
    Content,
    FilePart,
    InputMessage,
    Part,
    Role,
    files_in,
    text_of,
    with_files,
)
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.paths import resolve_path
from gateval.domain.problems import SourceLocation
from gateval.domain.strict_json import strings_of, value_at
from gateval.domain.tree import FileRules, Tree, has_folder, under


class Severity(Word):
    """From `low` to `critical`."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


DEFAULT_WEIGHTS: dict[Severity, float] = dict(zip(Severity, (0.5, 1.0, 2.0, 4.0), strict=True))

LEAST_WEIGHT = 0.001

Weight = Annotated[float, Field(ge=LEAST_WEIGHT, le=1000)]
"""How much something counts beside others. Outside of these bounds, sums would lose what counts
little, or be no numbers any more."""


def _none_or_enough(weight: float) -> float:
    if 0 < weight < LEAST_WEIGHT:
        raise ValueError(f"Must be 0, or at least {LEAST_WEIGHT}, but is {weight:g}.")
    return weight


AssertionWeight = Annotated[float, Field(ge=0, le=1000), AfterValidator(_none_or_enough)]
"""How much an assertion counts in its fixture's score; 0 is not at all."""

AnyWeight = Annotated[float, Field(ge=0, le=1_000_000)]
"""The same of an assertion that a file of another tool may have weighed."""


class ToolReplay(Spec):
    """A recorded answer of a tool.

    It answers calls of `tool`; with `arguments`, only calls with exactly these arguments. Among the
    entries that match a call equally, the nth answers the nth such call and the last one all
    further calls. With `error`, the tool fails with that text; with `status`, it is out of reach.
    """

    tool: str = Field(min_length=1)
    """The tool whose calls are answered."""
    arguments: JsonObject | None = None
    """Answer only calls with exactly these arguments."""
    result: JsonValue = None
    """What the tool answers."""
    error: str | None = None
    """The text that the tool fails with."""
    status: int | None = Field(default=None, ge=400, le=599)
    """The HTTP status with which the tool is out of reach, for a program."""
    delay: float = Field(default=0, ge=0, le=300)
    """Seconds that the tool takes to answer."""


class Origin(Spec):
    """Where a promoted fixture came from."""

    trace_id: str | None = None
    """The trace it was taken from."""
    side: Literal["head", "base"] | None = None
    """Which side answered so, in a run of the gate."""
    promoted_at: str | None = None
    """When it was taken, in quotes."""
    promoted_by: str | None = None
    """Who took it."""


class Reference(Spec):
    """What a good answer is. No candidate is told of it; assertions, judges and checks are."""

    outcome: str = Field(default="", max_length=20_000)
    """What a good answer does, in prose."""
    answer: JsonValue = None
    """A good answer: a text, or JSON. Without it, that of `messages`."""
    context: JsonValue = None
    """What a good answer rests on: a text, or JSON such as a list of documents."""
    messages: tuple[JsonObject, ...] = Field(default=(), max_length=500)
    """The messages of a good run, each with `role`, `content` and `tool_calls`."""
    metadata: JsonObject = {}
    """What judges and checks are told besides."""
    case: str = ""
    """What the case is called where it was written."""
    conversation: str = ""
    """The conversation that the case is part of."""
    input_files: tuple[str, ...] = ()
    """The files that stand in the input, by path."""
    guideline_files: tuple[str, ...] = ()
    """Those of them that are rules to keep to."""

    @property
    def wanted(self) -> JsonValue:
        """The content of a good answer: `answer`, else that of the last expected message.

        A message without content stands for its tool calls; None where nothing is expected.
        """
        if self.answer is not None or not self.messages:
            return self.answer
        last = self.messages[-1]
        content = last.get("content")
        return content if content not in (None, "", []) else last.get("tool_calls")

    @property
    def text(self) -> str:
        """`wanted` as text: JSON where it is none, empty where nothing is expected."""
        return _text(self.wanted)

    @property
    def context_text(self) -> str:
        """`context` as text, in the same way."""
        return _text(self.context)

    @property
    def expected(self) -> list[JsonValue]:
        """The expected messages, where only an answer is written as one of the assistant."""
        if self.messages or self.answer is None:
            return list(self.messages)
        return [{"role": "assistant", "content": self.answer}]


def _text(value: JsonValue) -> str:
    return "" if value is None else json_text(value)


class FixtureKind(Word):
    """The purpose of a fixture. The gate treats all three alike."""

    GOLDEN = "golden"
    BAD = "bad"
    EDGE = "edge"


class InputType(Word):
    """Where the input would come from in production."""

    WEBHOOK = "webhook"
    PROMPT = "prompt"
    TELEGRAM = "telegram"
    SLACK = "slack"
    EMAIL = "email"


PROMPTS = ("prompt", "text")
"""Keys of a payload whose text is what the agent is asked."""


@plentiful
class FixtureInput(Spec):
    """The input of one fixture."""

    type: InputType
    """Where the input would come from."""
    payload: JsonObject = {}
    """What comes in. The agent's prompt is `prompt` or `text` in it if that is text, else the last
    of `messages`, else all of it as JSON."""
    messages: tuple[InputMessage, ...] = Field(default=(), max_length=MESSAGES_LIMIT)
    """The conversation so far. Without `turns`, its last message is the user's, which the agent
    answers."""

    @property
    def prompt(self) -> str:
        """`payload.prompt` or `payload.text` if it is text, else what the user says last in
        `messages`, else the payload as canonical JSON.
        """
        for key in PROMPTS:
            value = self.payload.get(key)
            if isinstance(value, str):
                return value
        if self.messages:
            return text_of(self.messages[-1].content)
        return canonical_json(self.payload)

    @property
    def asked(self) -> Content:
        """The prompt with its files and images, where the last message is that."""
        last = self.messages[-1].content if self.messages else ""
        return last if self.messages and text_of(last) == self.prompt else self.prompt

    def said(self, before: tuple[InputMessage, ...], content: Content) -> FixtureInput:
        """The input of a turn: what was said `before`, and now `content` by the user."""
        message = InputMessage(role=Role.USER, content=content)
        payload = {**self.payload, "prompt": text_of(content)}
        return self.replace(payload=payload, messages=(*before, message))

    def alone(self) -> FixtureInput:
        """The input without what was said before: its last message only if that has files."""
        last = self.messages[-1:] if any(files_in(self.asked)) else ()
        return self.replace(messages=last)

    def told_once(self, *, first: bool) -> FixtureInput:
        """What somebody is told who remembers: in the first turn what was said before it, too."""
        return self if first and len(self.messages) > 1 else self.alone()

    def with_files(self, give: Callable[[FilePart], Part]) -> FixtureInput:
        """The input with what `give` makes of each file and image in its messages."""
        if not any(any(files_in(one.content)) for one in self.messages):
            return self
        messages = tuple(
            one.replace(content=with_files(one.content, give)) for one in self.messages
        )
        return self.replace(messages=messages)


class CheckFiles(Value):
    """The files of one of people's own checks, or of a playground, at the fixture's revision.

    `rules` say which files its export holds, but for those in `hidden`, which are the gate's own.
    `digest` covers them as seen from the fixture's folder.
    """

    rules: FileRules
    hidden: tuple[str, ...] = ()
    digest: str


JUDGE_PRESETS = (
    "relevance",
    "completeness",
    "faithfulness",
    "factuality",
    "answerRelevancy",
    "toxicity",
    "security",
    "compliance",
    "fairness",
    "transparency",
    "tone",
)
"""The rubrics that come with the gate: the word in YAML, and the file in `judging/rubrics/`."""

PREFERENCE = "preference"
"""The assertion that looks at head's answer beside base's, and decides nothing of a single trial:
known by name to whoever has to wait for both."""


@plentiful
class AssertionSpec(Value):
    """One assertion as written: the fields all have, and its own ones in `options`.

    `options` (camelCase keys as in YAML) was checked by the assertion's own model when the
    fixture was read. `turn` is the turn whose answer it looks at, None for the whole run.
    `severity` weighs the assertion inside its fixture; None is the fixture's.
    `parts` are the assertions that a combinator is made of; they have no weight of their own.
    `own` are the files of an own check and `script` the digest of the scripted model that measures,
    known once the whole revision was read. `name` is what it is called, where its type does not
    tell. `required` fails the case in the weighted model, whatever the others score. `unsupported`
    says why it fails whatever happens: a benchmark may ask for checks that are not known here.
    """

    type: str
    name: str = ""
    unsupported: str = ""
    weight: AnyWeight = 1.0
    required: bool = False
    severity: Severity | None = None
    axis: str | None = None
    options: JsonObject = {}
    needs_judge: bool = False
    turn: Positive | None = None
    parts: tuple[AssertionSpec, ...] = ()
    own: CheckFiles | None = None
    script: str = ""
    place: SourceLocation

    @property
    def meaning(self) -> JsonObject:
        """What it asks, without defaults and wherever it stands."""
        usual = _usual()
        asked: JsonObject = {
            key: str(value) if isinstance(value, Severity) else value
            for key, value in self.__dict__.items()
            if key in usual and value != usual[key]
        }
        asked |= {"files": self.own.digest} if self.own else {}
        return asked | ({"parts": [part.meaning for part in self.parts]} if self.parts else {})

    def within(self) -> Iterator[AssertionSpec]:
        """Yield it and all that stand inside it."""
        yield self
        for part in self.parts:
            yield from part.within()

    def part(self, at: tuple[int, ...]) -> AssertionSpec:
        """The assertion at these positions inside it, or the nearest around that."""
        inside = at and at[0] < len(self.parts)
        return self.parts[at[0]].part(at[1:]) if inside else self


_MEANT = frozenset(AssertionSpec.model_fields) - {"place", "needs_judge", "parts", "own"}


@cache
def _usual() -> Mapping[str, object]:
    """Return the defaults of what an assertion means, by field; those it cannot lack have none."""
    fields = AssertionSpec.model_fields
    return {name: fields[name].get_default(call_default_factory=True) for name in _MEANT}


@plentiful
class Fixture(Value):
    """An EvalFixture as read from one revision. `digest` covers its meaning, without places.

    `turns` are what the user says, one after the other; empty where there is `input` alone.
    `places` maps `spec.KEY` to the place of that key, and each file of a message to its own.
    `files` are the paths of those, from the root, once they were read. `family` is the name of the
    manifest whose file of cases it is from, empty for a fixture of its own; `place` is the line of
    the case. `timeout_seconds` are those for one answer, None where the Eval's count. `ground` are
    the files of its `playground`, known once the whole revision was read.
    """

    kind: Literal["EvalFixture"] = "EvalFixture"
    name: Name
    labels: dict[str, str] = {}
    target_agent: Name | None = None
    fixture_kind: FixtureKind = FixtureKind.GOLDEN
    severity: Severity = Severity.MEDIUM
    description: str = ""
    origin: Origin | None = None
    input: FixtureInput
    turns: tuple[Content, ...] = ()
    files: tuple[str, ...] = ()
    reference: Reference | None = None
    assertions: tuple[AssertionSpec, ...] = Field(min_length=1)
    playground: PlaygroundSpec | None = None
    ground: CheckFiles | None = None
    tool_replay: tuple[ToolReplay, ...] = ()
    shadow_tools: tuple[str, ...] = ()
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)
    place: SourceLocation
    places: dict[str, SourceLocation] = {}
    path: str
    digest: str
    family: str = ""

    @property
    def preference(self) -> int | None:
        """The position of the assertion that wants both sides' answers, None without one."""
        types = [one.type for one in self.assertions]
        return types.index(PREFERENCE) if PREFERENCE in types else None

    @property
    def is_judged(self) -> bool:
        """Whether a judge is asked about each of its trials."""
        return any(one.needs_judge and one.type != PREFERENCE for one in self.assertions)

    @property
    def folder(self) -> str:
        """The folder of its file, from the root; "" is the root."""
        return self.path.rpartition("/")[0]

    def attached(self) -> Iterator[tuple[tuple[str | int, ...], FilePart]]:
        """Yield the files and images of its messages and turns, each with where it is written."""
        for number, message in enumerate(self.input.messages):
            for at, part in files_in(message.content):
                yield ("spec", "input", "messages", number, "content", at), part
        for number, turn in enumerate(self.turns):
            for at, part in files_in(turn):
                yield ("spec", "turns", number, "user", at), part


DEFAULT_AXIS = "__default__"
"""The axis of assertions that name none."""


def axis_of(spec: AssertionSpec) -> str:
    """Return the axis of an assertion."""
    return spec.axis or DEFAULT_AXIS


def show_axis(axis: str) -> str:
    """Return what people read for an axis: `no axis` for the assertions that name none."""
    return "no axis" if axis == DEFAULT_AXIS else axis


def named_axes(axes: Collection[str]) -> Collection[str]:
    """Return the axes of an Eval that are told: none where no assertion names one, as the axis that
    all of them share is the score of the whole.
    """
    return () if set(axes) == {DEFAULT_AXIS} else axes


def weighed_axes(fixtures: Iterable[Fixture]) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fixtures that each axis has a say in, in the order they come."""
    found: dict[str, dict[str, None]] = {}
    for fixture in fixtures:
        for spec in fixture.assertions:
            if spec.weight:
                found.setdefault(axis_of(spec), {})[fixture.name] = None
    return {axis: tuple(names) for axis, names in found.items()}


def input_of(written: JsonValue) -> FixtureInput:
    """Return an input as that of a fixture: text is a prompt, anything else a payload."""
    if isinstance(written, dict):
        return FixtureInput(type=InputType.WEBHOOK, payload=written)
    text = json_text(written)
    return FixtureInput(type=InputType.PROMPT, payload={"prompt": text})


OWN_CHECKS: Mapping[str, str] = {
    "python": "function",
    **dict.fromkeys(("script", "codeJudge", "judgeFromScript", "compositeScript"), "command"),
}
"""The assertions that run a program of the repository: type → the option that names it."""

INCLUDE, SETUP = "include", "setup"

CWD = "cwd"
"""The option with the folder in which the program runs, of those that have one."""


def own_checks(fixture: Fixture) -> Iterator[AssertionSpec]:
    """Yield the assertions of a fixture that are checks of one's own, those inside others too."""
    for assertion in fixture.assertions:
        if assertion.parts or assertion.type in OWN_CHECKS:
            yield from (one for one in assertion.within() if one.type in OWN_CHECKS)


def has_own_checks(fixtures: Iterable[Fixture]) -> bool:
    """Whether one of the fixtures has a check of one's own, which starts a process."""
    return any(True for fixture in fixtures for _ in own_checks(fixture))


def starting_folder(spec: AssertionSpec, folder: str) -> str | None:
    """Return the folder in which a check's program runs, from the root; None if it leads out."""
    cwd = spec.options.get(CWD)
    return resolve_path(folder, cwd) if isinstance(cwd, str) else folder


def named_paths(spec: AssertionSpec, folder: str) -> Iterator[str]:
    """Yield the paths that a check's program may stand at, from the root; there or not."""
    written = spec.options.get(OWN_CHECKS[spec.type])
    words = [written.partition("::")[0]] if isinstance(written, str) else _words(written)
    start = starting_folder(spec, folder)
    for word in words:
        outside = start is None or word.startswith(("/", "-"))
        path = None if outside else resolve_path(start or "", word)
        if path and not under(folder, {path}):
            yield path


def own_roots(spec: AssertionSpec, folder: str, tree: Tree) -> Iterator[str]:
    """Yield the folders and files that are a check's own, of those that are in the tree."""
    for path in named_paths(spec, folder):
        if path in tree:
            around = path.rpartition("/")[0]
            yield path if not around or under(folder, {around}) else around
        elif has_folder(tree, path):
            yield path


def all_own_roots(fixtures: Iterable[Fixture], tree: Tree) -> frozenset[str]:
    """Return the folders and files that are the own ones of any check."""
    return frozenset(
        root
        for fixture in fixtures
        for spec in own_checks(fixture)
        for root in own_roots(spec, fixture.folder, tree)
    )


def set_up_inputs(spec: AssertionSpec) -> list[str]:
    """Return the patterns of the files that the set-up of a check sees."""
    return strings_of(value_at(spec.options.get(SETUP), "inputs"))


def included(spec: AssertionSpec) -> list[str]:
    """Return what `include` of a check says."""
    return strings_of(spec.options.get(INCLUDE))


def _words(command: JsonValue) -> list[str]:
    """The words of a command; a line for a shell among them counts word by word, too."""
    words = strings_of(command)
    return words + [part for word in words if " " in word for part in word.split()]
