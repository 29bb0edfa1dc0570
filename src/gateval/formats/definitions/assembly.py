"""Makes Agents of definitions: each with how it is started, and all that it depends on.

The gate config of the target branch may say how (`agents`); otherwise the gate's own loop, a bridge
or the coding agent's command line does. Nothing here is an error before an Eval targets it: people
keep such files without knowing the gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.domain.manifests.catalogue import Broken
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, AgentStart
from gateval.domain.manifests.playground import PLAYGROUND
from gateval.domain.paths import has_wildcard, match_any, path_text, resolve_path, show_path
from gateval.domain.planning.closure import program_index
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import object_of
from gateval.domain.text import quote
from gateval.domain.tree import has_folder
from gateval.formats.base import Gathered, GatheringContext, Pending, Source
from gateval.formats.definitions.base import (
    Definition,
    DefinitionSource,
    DefinitionUnreadable,
    Files,
)
from gateval.formats.definitions.coding_agents import MAP, MAP_PROGRAM, PROGRAMS, started_by
from gateval.formats.definitions.registry import DefinitionFormat, format_of
from gateval.formats.native.agent import read_runtime
from gateval.formats.native.written import canonical
from gateval.formats.yaml_document import Document

_NAME = re.compile(r"\w[\w .()&/+:-]{0,99}")
_LIMIT = 5_000
"""Definitions of one revision that are read."""


def gather(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    """Return the Agents that the definitions of a revision say, and why others cannot be used."""
    kinds: dict[str, list[str]] = {}
    known: dict[str, DefinitionFormat] = {}
    for one in sorted(pending)[:_LIMIT]:
        found = format_of(one.path, around.content(one.path) or b"")
        if found is not None:
            known[one.path] = found
            kinds.setdefault(found.kind, []).append(one.path)
    files = Files(around, kinds)
    assembly = _Assembly(files, known)
    for path, each in known.items():
        if each.reader:
            assembly.add(path, each)
    return Gathered(
        found=tuple(assembly.agents.values()),
        unusable=tuple(assembly.unusable),
        meanings=tuple(assembly.meanings()),
        passed_over=tuple(_unfit(around.starts, known)),
    )


def _unfit(
    starts: Sequence[AgentStart], known: Mapping[str, DefinitionFormat]
) -> Iterator[Problem]:
    for at, start in enumerate(starts):
        if not any(map(match_any([start.match.removeprefix("/")]), known)):
            place = SourceLocation(file=GATE_CONFIG_PATH)
            said = f"{quote(start.match)} fits no definition of an agent in this revision."
            yield Problem(place=place, path=f"agents[{at}].match", message=said)


class _Assembly:
    """Grows definition by definition."""

    def __init__(self, files: Files, known: Mapping[str, DefinitionFormat]) -> None:
        self.agents: dict[str, Agent] = {}
        self.unusable: list[Broken] = []
        self._files, self._known = files, known
        self._shared: set[tuple[str, str]] = set()
        self._read: list[str] = []

    def add(self, path: str, each: DefinitionFormat) -> None:
        """Take a file: its agents, or why it says none that can be used."""
        text = self._files.text(path)
        source = DefinitionSource(path, text or "", self._files)
        try:
            if text is None:
                raise source.refused("This file is too large to be read, or no UTF-8.")
            definitions = list(each.load()(source))
        except DefinitionUnreadable as error:
            self._broken(source.stem, error.problem)
            return
        self._read.append(path)
        for one in definitions:
            team = (each.kind.partition("-rules")[0], one.root)
            if each.shared and team in self._shared:
                continue
            if each.shared:
                self._shared.add(team)
            self._take(source, one, self._alike(each, one) if each.shared else ())

    def _alike(self, each: DefinitionFormat, one: Definition) -> Iterator[str]:
        """Yield the files of an agent that each say the same one: a mapping may name any."""
        for path in one.files:
            kin = self._known.get(path)
            if kin and kin.shared and kin.kind.startswith(each.kind.partition("-rules")[0]):
                yield path

    def _broken(self, name: str, problem: Problem) -> None:
        self.unusable.append(Broken(problem, kind="Agent", name=slug(name)))

    def _take(self, source: DefinitionSource, one: Definition, alike: Iterable[str]) -> None:
        paths = (source.path, *alike)
        start = next(
            (
                (at, each)
                for at, each in enumerate(self._files.around.starts)
                if any(map(match_any([each.match.removeprefix("/")]), paths))
            ),
            None,
        )
        name = slug(_called(one.name, start[1] if start else None))
        if not _NAME.fullmatch(one.name) or path_text(source.path) != source.path:
            said = f"{quote(one.name)} cannot be the name of an agent here. Rename it."
            if path_text(source.path) != source.path:
                said = "The path of this file is no UTF-8. Rename it."
            self._broken(name, Problem(place=one.place, message=said))
            return
        agent, why = _agent(source, one, name, start)
        known = self.agents.get(name)
        if known is not None:
            mapping = f"agents: [{{match: {show_path(source.path)}, name: …}}]"
            said = (
                f"Two definitions are called {name}: this one and {known.place}. Rename one, or "
                f"give it another name in {GATE_CONFIG_PATH}: `{mapping}`."
            )
            self._broken(name, Problem(place=one.place, message=said))
            return
        self.agents[name] = agent
        if why is not None:
            self._broken(name, why)

    def meanings(self) -> Iterator[tuple[str, str]]:
        """Yield the digest of what each definition of Markdown means, by its path."""
        for path in self._read:
            text = self._files.text(path)
            if path.endswith((".md", ".mdc")) and text is not None:
                yield path, digest(entries(text))


def _called(name: str, start: AgentStart | None) -> str:
    return start.name.replace("{name}", name) if start and start.name else name


def slug(name: str) -> str:
    """Return a name as Evals write it: small letters, digits, `-` and `.`."""
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    return plain[:200].strip("-.") or f"agent-{digest(name)[:8]}"


_HEADER = re.compile(r"\A---[ \t]*\n(.*?)(?<=\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_ALIAS = re.compile(r"(?:^|[\s\[{,])[&*]\w", re.MULTILINE)
_ENTRY = re.compile(r"^(?=[\w\"'][^\n:]*:(?:[ \t]|$))", re.MULTILINE)


def entries(text: str) -> JsonValue:
    """Return a text such that two are the same which differ in the order of their front matter.

    The entries stay as they are written, for who runs the file may read another YAML than ours. An
    alias may not go before its anchor, of two entries with one key the last counts, and a line in
    quotes that go on is no entry: then the order stays, too.
    """
    found = _HEADER.match(text)
    if found is None:
        return text
    parts = _ENTRY.split(found[1])
    keys = [part.partition(":")[0] for part in parts[1:]]
    odd = any(line.count(quote) % 2 for line in found[1].split("\n") for quote in "\"'")
    fixed = odd or len(set(keys)) < len(keys) or _ALIAS.search(found[1]) is not None
    return [*(parts if fixed else sorted(parts)), text[found.end() :]]


def _agent(
    source: DefinitionSource, one: Definition, name: str, start: tuple[int, AgentStart] | None
) -> tuple[Agent, Problem | None]:
    """Return the Agent of a definition, and why it cannot be started, if it cannot."""
    mapped = start[1] if start else AgentStart(match="*")
    models = mapped.models or one.models
    raw = _runtime(one, mapped)
    runtime, why = (None, None) if raw is None else _checked(source, one, raw, start)
    if raw is None:
        todo = MAP if one.system else MAP_PROGRAM
        said = f"The Agent {quote(name)} cannot be started. {one.refusal} {todo}"
        why = Problem(place=one.place, message=said)
    elif start and raw.get("type") == "model" != object_of(one.runtime).get("type"):
        why = why or _without_a_prompt(one, name, start[0])
    files = [path for path in dict.fromkeys(one.files) if path and not has_wildcard(path)]
    own = runtime is not None and runtime.type not in {"model", "python", "node"}
    fixed = mapped.watch is not None or (mapped.runtime or {}).get("cwd") is not None
    narrow = (own or one.closed) and not fixed
    beside = [f"/{path}" for path in files if path != source.path or own]
    watch: list[str] | None = None
    if narrow and runtime is not None:
        watch = [
            *dict.fromkeys((f"/{source.path}", *beside, *_programs(runtime, one.root, source)))
        ]
    elif mapped.watch is not None:
        watch = [*map(_rooted, mapped.watch)]
    include = [*(() if narrow else beside), *map(_rooted, mapped.include)]
    if own and not narrow:
        include.append(f"/{source.path}")
    made = AgentSpec.model_validate(
        {
            "models": models,
            "uses": mapped.uses,
            "system": one.system or None,
            "tools": one.tools,
            "runtime": runtime,
            "watch": watch,
            "include": [*dict.fromkeys(include)],
            "definition": one.means,
        }
    )
    written = canonical(made)
    agent = Agent(
        name=name,
        spec=made,
        place=one.place,
        path=source.path,
        mapped={
            f"spec.{key}": f"agents[{start[0]}].{key}" for key in _MAPPED if getattr(mapped, key)
        }
        if start
        else {},
        digest=digest({"kind": "Agent", "name": name, "spec": written}),
    )
    return agent, why


_MAPPED = ("runtime", "watch", "models", "uses")


def _without_a_prompt(one: Definition, name: str, at: int) -> Problem | None:
    """Return why the gate's own loop cannot be an agent that has no prompt: it would ask the model
    with nothing of what its files say, and see no change of them.
    """
    if one.system:
        return None
    said = (
        f"agents[{at}].runtime of {GATE_CONFIG_PATH}: `type: model` asks with the prompt of the "
        f"definition alone, and {quote(name)} has none in one file. Write `type: command` with a "
        "program that reads its files."
    )
    return Problem(place=one.place, message=said)


def _rooted(pattern: str) -> str:
    return f"/{pattern.removeprefix('/')}"


def _runtime(one: Definition, mapped: AgentStart) -> JsonObject | None:
    """Return how an agent is started, as a manifest has it; None if that is not known."""
    default = one.runtime
    model = next(iter(mapped.models or one.models), "") or one.model
    if one.line is not None and (model or not PROGRAMS[one.line.program].needs_model):
        default = started_by(one.line.program, model, one.line.arguments, one.line.asked)
    given = mapped.runtime
    if given is None:
        if default is None and mapped.models and one.system:
            default = {"type": "model"}
        found = default
    elif (
        "command" in given or default is None or given.get("type", "") not in {"", default["type"]}
    ):
        found = {"type": "command", **given} if "command" in given else given
    else:
        env = {**object_of(default, "env"), **object_of(given, "env")}
        found = {**default, **given, **({"env": env} if env else {})}
    if found is None or found.get("type") == "model":
        return found
    cwd = found.get("cwd")
    if cwd is None:
        return {**found, "cwd": f"/{one.root}"}
    return (
        found if cwd == PLAYGROUND or not isinstance(cwd, str) else {**found, "cwd": _rooted(cwd)}
    )


def _checked(
    source: DefinitionSource, one: Definition, raw: JsonObject, start: tuple[int, AgentStart] | None
) -> tuple[RuntimeSpec | None, Problem | None]:
    """Return the runtime as every manifest's is read, or what is wrong with it."""
    document = Document(file=show_path(source.path), data={"spec": {"runtime": raw}}, marks=None)
    native = Source(source.path, document, source.files.around.registries)
    runtime, problems = read_runtime(native)
    if not problems:
        return runtime, None
    first = problems[0]
    mapped = start is not None and start[1].runtime is not None
    key = first.path.removeprefix("spec.")
    where = f"agents[{start[0]}].{key} of {GATE_CONFIG_PATH}" if start and mapped else key
    return None, Problem(place=one.place, message=f"{where}: {first.message}")


def _programs(runtime: RuntimeSpec, root: str, source: DefinitionSource) -> Iterator[str]:
    """Yield what of the repository the commands name: a program with its folder, other files."""
    tree = source.files.around.tree
    for _, line in runtime.own_commands():
        index = program_index(line)
        for at, word in enumerate(line):
            path = resolve_path(root, word) if word and not word.startswith(("/", "-")) else None
            if not path or "{" in word or "\n" in word or has_wildcard(path):
                continue
            if path in tree and at == index and "/" in path:
                yield f"/{path.rpartition('/')[0]}"
            elif path in tree or ("/" in word and has_folder(tree, path)):
                yield f"/{path}"
