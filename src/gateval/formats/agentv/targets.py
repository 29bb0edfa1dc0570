"""Reads targets files (`.agentv/targets.yaml`), and makes an Agent of each target."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.domain.paths import nearest, resolve_path, show_path
from gateval.domain.planning.closure import program_index
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import list_of, object_of
from gateval.domain.text import quote
from gateval.domain.tree import under
from gateval.formats.agentv.node import OF_TARGET, AgentvNode, Node, tell_twice
from gateval.formats.agentv.recognition import TARGETS_FILES, read_yaml
from gateval.formats.agentv.references import ReferenceFindings, agent_name, roots, with_variables
from gateval.formats.base import GatheringContext
from gateval.formats.native.written import canonical
from gateval.formats.problems import unknown_key, validate

DEFAULT = "default"
"""The target of a suite that names none."""

_DELEGATIONS = 10


class TargetBody(AgentvNode):
    """A target as far as every provider has the same keys."""

    name: str = Field(min_length=1)
    provider: str | None = None
    use_target: str | None = None
    model: str | None = None
    judge_target: str | None = None
    grader_target: str | None = None
    workers: Annotated[int, Field(ge=1, le=1000)] | None = None
    provider_batching: bool = False
    command: str | None = None
    command_template: str | None = None
    cwd: str | None = None
    workspace: JsonValue = None
    workspace_template: JsonValue = None
    files_format: str | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    system_prompt: str | None = None
    gateval: JsonObject | None = None


KNOWN = (
    *TargetBody.model_fields, "api_key", "attachments_format", "endpoint", "base_url", "version",
    "temperature", "max_output_tokens", "verbose", "keep_temp_files", "healthcheck", "executable",
    "args", "log_dir", "log_format", "timeout", "response", "api_format", "fallback_targets",
    "hooks", "max_retries", "retry_initial_delay_ms", "retry_max_delay_ms", "retry_status_codes",
    "retry_backoff_factor", "subagent_mode_allowed", "stream_log", "subprovider", "thinking",
)  # fmt: skip
"""Keys of targets, also those that mean nothing here, so that near misses are found."""


class NoTarget(ValueError):
    """There is no such target, or it cannot be used; `problem` says why, if it has a place."""

    def __init__(self, message: str, problem: Problem | None = None) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True)
class Target:
    """A target as written: its entry in the targets file of `home`, a folder."""

    path: str
    home: str
    node: Node
    body: TargetBody

    @property
    def line(self) -> Node | None:
        """Where its command line stands."""
        return self.node.first(("command", "command_template"))

    @property
    def judge(self) -> Node | None:
        """Where the target that judges its answers is named."""
        return self.node.first(("grader_target", "judge_target"))

    @property
    def places(self) -> Mapping[str, SourceLocation]:
        """Where the keys stand, for what is wrong with the Agent that it is."""
        keys = object_of(self.node.value)
        return {key: self.node.document.key_place((*self.node.path, key)) for key in keys}


class TargetsFile:
    """The targets of one file."""

    def __init__(self, path: str, found: ReferenceFindings) -> None:
        self.path = path
        self.home = home_of(path)
        self._found = found
        before = len(found.problems)
        self._nodes = self._read()
        self._wrong = next(iter(found.problems[before:]), None)

    def _read(self) -> dict[str, Node]:
        around, told = self._found.around, self._found.problems
        if not around.tree[self.path].is_file:
            said = "A targets file must be a file; this is a symbolic link. Put the file itself."
            told.append(Problem(place=SourceLocation(file=show_path(self.path)), message=said))
            return {}
        documents, problems = read_yaml(self.path, around.content(self.path) or b"")
        told += problems
        if problems or not documents:
            return {}
        entries = self._found.node(documents[0]).at("targets")
        if entries.value is None:
            said = "There are no targets here. List them under `targets`."
            told.append(Problem(place=documents[0].place(), message=said))
        elif not isinstance(entries.value, list):
            entries.tell_sort("a list of targets")
        named: dict[str, Node] = {}
        for entry in entries.items():
            name = entry.at("name").value
            if not isinstance(name, str) or not name:
                entry.tell("This target has no `name`. Add one.")
            elif name in named:
                said = f"The target {quote(name)} stands here twice, first at {named[name].place}."
                entry.at("name").tell(said)
            else:
                named[name] = entry
        return named

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all targets of the file."""
        return tuple(self._nodes)

    def target(self, name: str) -> Target:
        """Return the target of this name, or the one it uses in its place. Raises `NoTarget`."""
        for _ in range(_DELEGATIONS):
            node = self._nodes.get(name)
            if node is None and self._wrong is not None:
                raise NoTarget("", self._wrong)
            if node is None:
                shown = show_path(self.path)
                hint = nearest(name, self.names) or f" It has {', '.join(self.names) or 'none'}."
                raise NoTarget(f"There is no target {quote(name)} in {shown}.{hint}")
            node = replace(node, told=[])
            passed = node.at("use_target")
            if passed.value is None:
                return self._checked(node)
            used = with_variables(passed, self._found).value
            if node.told:
                raise NoTarget("", node.told[0])
            if not isinstance(used, str):
                raise NoTarget("", passed.sort_problem("the name of a target"))
            name = used
        raise NoTarget("", self._nodes[name].problem("This target leads back to itself."))

    def _checked(self, node: Node) -> Target:
        filled = dict(node.value) if isinstance(node.value, dict) else {}
        node.tell_slips(KNOWN)
        tell_twice(node, OF_TARGET)
        for key in ("provider", "model", "cwd", "judge_target", "grader_target", "system_prompt"):
            if filled.get(key) is not None:
                filled[key] = with_variables(node.at(key), self._found).value
        node = node.having(filled)
        body, problems = node.read(TargetBody)
        wrong = [*node.told, *problems]
        if body is None or wrong:
            self._found.problems += wrong[1:]
            raise NoTarget(wrong[0].message, wrong[0])
        return Target(self.path, self.home, node, body)


def home_of(path: str) -> str:
    """Return the folder that a targets file is for; "" is the root."""
    return path.rpartition("/")[0].removesuffix(".agentv").rstrip("/")


def targets_paths(folder: str, around: GatheringContext) -> Iterator[str]:
    """Yield the targets files for a suite in `folder`, the nearest first."""
    paths = (f"{root}/{name}".lstrip("/") for root in roots(folder) for name in TARGETS_FILES)
    yield from (path for path in paths if path in around.tree)


RUNTIME = "agentv"
"""The runtime of command lines."""

CLI = "cli"
PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "FILES", "OUTPUT_FILE", "EVAL_ID", "ATTEMPT", "GUIDELINES")

_MODELS: Mapping[str, str] = {
    "azure-openai": "azure",
    "google": "gemini",
    "google-gemini": "gemini",
    "google-genai": "gemini",
}
_OF_RUNTIME = ("setup", "env", "before", "after", "services")
_OF_SPEC = ("include", "watch", "models", "uses", "tools")
_HOLE = re.compile(r"\{([A-Z_]+)\}")


def agent_of(
    target: Target, folder: str, around: GatheringContext, *, strict: bool = True
) -> Agent:
    """Return the Agent that a target is for suites in `folder`. Raises `NoTarget`.

    Without `strict`, a program may ask for what it is not given here.
    """
    if target.body.provider == CLI:
        return _program(target, folder, around, strict=strict)
    models = (model_of(target, around),)
    spec = AgentSpec(models=models, system=target.body.system_prompt)
    return _agent(target, agent_name(target.body.name, target.home, target.home), spec)


def model_of(target: Target, around: GatheringContext) -> str:
    """Return the model of a target as `provider/model-id`. Raises `NoTarget`."""
    provider = target.body.provider or ""
    known = _MODELS.get(provider, provider)
    if known not in around.registries.providers:
        said = "This target has no `provider`. Add one."
        if provider:
            said = (
                f"The gate does not start {quote(provider)} by itself. Write a target with "
                "`provider: cli` whose `command` runs it, or name a provider of models."
            )
        raise NoTarget("", target.node.at("provider").problem(said))
    if not target.body.model:
        raise NoTarget("", target.node.problem("This target needs `model`: which one is asked."))
    if any(map(str.isspace, target.body.model)):
        said = "This is no name of a model: there is white space in it."
        raise NoTarget("", target.node.at("model").problem(said))
    return f"{known}/{target.body.model}"


def _program(target: Target, folder: str, around: GatheringContext, *, strict: bool) -> Agent:
    node = target.line
    if node is None or not isinstance(node.value, str) or not node.value.strip():
        raise NoTarget("", target.node.problem("A `cli` target needs `command`: how to start it."))
    if strict:
        _refuse(target, node, node.value)
    cwd = resolve_path(folder, target.body.cwd or ".")
    if cwd is None:
        said = f"{quote(target.body.cwd or '')} leads out of the repository."
        raise NoTarget("", target.node.at("cwd").problem(said))
    own, problems = _own(target)
    if problems:
        raise NoTarget(problems[0].message, problems[0])
    options: JsonObject = {"line": node.value}
    if target.body.files_format is not None:
        options["filesFormat"] = target.body.files_format
    runtime = {key: value for key, value in own.items() if key in _OF_RUNTIME}
    spec = {key: value for key, value in own.items() if key in _OF_SPEC}
    include = [*list_of(spec.pop("include", [])), *_around(node.value, cwd, around)]
    made = AgentSpec.model_validate(
        {
            **spec,
            "include": [*dict.fromkeys(include)],
            "runtime": RuntimeSpec.model_validate(
                {"type": RUNTIME, "cwd": f"/{cwd}", "options": options, **runtime}
            ),
        }
    )
    return _agent(target, agent_name(target.body.name, target.home, cwd), made)


def _refuse(target: Target, node: Node, line: str) -> None:
    """Raise `NoTarget` for what a program cannot be given here."""
    if target.body.provider_batching or "{EVAL_FILE}" in line:
        said = (
            "A batch runner reads the whole suite, answers included, so its answers would prove "
            "nothing. Remove `provider_batching` and have the program answer one {PROMPT}."
        )
        raise NoTarget("", target.node.at("provider_batching").problem(said))
    if target.body.workspace_template is not None or target.body.workspace is not None:
        key = "workspace" if target.body.workspace is not None else "workspace_template"
        said = (
            "No copy of a workspace is made for each case: every program starts in an export of "
            "its own. Name the folder in `cwd`, and copy to $HOME what the program changes."
        )
        raise NoTarget("", target.node.at(key).problem(said))
    for name in _HOLE.findall(line):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
            said = f"The placeholder {{{name}}} is not filled in. Known: {known}."
            raise NoTarget("", node.problem(said))


def _own(target: Target) -> tuple[JsonObject, tuple[Problem, ...]]:
    """Return what stands under `gateval` in a target: keys that only an Agent of ours has."""
    node = target.node.at("gateval")
    if not isinstance(node.value, dict):
        return {}, ()
    known = [*_OF_RUNTIME, *_OF_SPEC]
    problems = [
        node.at(key).problem(unknown_key(key, known)) for key in node.value if key not in known
    ]
    for model, keys in ((RuntimeSpec, _OF_RUNTIME), (AgentSpec, _OF_SPEC)):
        part: JsonValue = {key: node.value[key] for key in keys if key in node.value}
        _, wrong = validate(model, part, node.document, node.path)
        problems += wrong
    return node.value, tuple(problems)


def _around(line: str, cwd: str, around: GatheringContext) -> Iterator[str]:
    """Yield the folder of the program that a line starts, where `cwd` does not hold it, and every
    other file that it names.
    """
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    words = [word for word in words if not _HOLE.search(word)]
    index = program_index(words)
    for number, word in enumerate(words):
        for text in (word, word.partition("=")[2]):
            path = resolve_path(cwd, text) if text and not text.startswith("/") else None
            if not path or path not in around.tree or under(path, {cwd}):
                continue
            yield f"/{path.rpartition('/')[0]}" if number == index else f"/{path}"


def _agent(target: Target, name: str, spec: AgentSpec) -> Agent:
    written = canonical(spec)
    places = {f"spec.{key}": place for key, place in target.places.items()}
    line = target.line
    if line is not None:
        places["spec.runtime"] = line.key_place
    if "model" in target.places:
        places["spec.models"] = target.places["model"]
    return Agent(
        name=name,
        spec=spec,
        place=target.node.at("name").place,
        path=target.path,
        places=places,
        digest=digest({"kind": "Agent", "name": name, "spec": written}),
    )
