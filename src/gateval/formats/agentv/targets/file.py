"""Finds and reads targets files: `.agentv/targets.yaml`, in a folder around a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.documents import read_yaml
from gateval.formats.agentv.filling import with_variables
from gateval.formats.agentv.node import AgentvNode, Node
from gateval.formats.agentv.recognition import TARGETS_FILES
from gateval.formats.agentv.references import roots
from gateval.formats.agentv.spellings import OF_TARGET, twice
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import GatheringContext

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
    def places(self) -> Mapping[str, Place]:
        """Where the keys stand, for what is wrong with the Agent that it is."""
        keys = self.node.value if isinstance(self.node.value, dict) else {}
        return {key: self.node.document.key_place((*self.node.path, key)) for key in keys}


class TargetsFile:
    """The targets of one file."""

    def __init__(self, path: str, around: GatheringContext, found: Findings) -> None:
        self.path = path
        self.home = path.rpartition("/")[0].removesuffix(".agentv").rstrip("/")
        self._around = around
        self._found = found
        before = len(found.problems)
        self._nodes = self._read()
        self._wrong = next(iter(found.problems[before:]), None)

    def _read(self) -> dict[str, Node]:
        if not self._around.tree[self.path].is_file:
            said = "A targets file must be a file; this is a symbolic link. Put the file itself."
            problem = Problem(place=Place(file=show_path(self.path)), message=said)
            self._found.problems.append(problem)
            return {}
        data = self._around.content(self.path)
        documents, problems = read_yaml(self.path, data or b"")
        self._found.problems += problems
        if problems or not documents:
            return {}
        entries = Node(documents[0], (), documents[0].data).at("targets")
        if entries.value is None:
            said = "There are no targets here. List them under `targets`."
            self._found.problems.append(Problem(place=documents[0].place(), message=said))
        elif not isinstance(entries.value, list):
            self._found.problems.append(entries.wrong("a list of targets"))
        named: dict[str, Node] = {}
        for entry in entries.items():
            name = entry.at("name").value
            if not isinstance(name, str) or not name:
                self._found.problems.append(entry.problem("This target has no `name`. Add one."))
            elif name in named:
                said = f"The target {quote(name)} stands here twice, first at {named[name].place}."
                self._found.problems.append(entry.at("name").problem(said))
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
            passed = node.at("use_target")
            if passed.value is None:
                return self._checked(node)
            apart = Findings()
            used = with_variables(passed, self._around.variables, apart).value
            if apart.problems:
                raise NoTarget("", apart.problems[0])
            if not isinstance(used, str):
                raise NoTarget("", passed.wrong("the name of a target"))
            name = used
        raise NoTarget("", self._nodes[name].problem("This target leads back to itself."))

    def _checked(self, node: Node) -> Target:
        filled = dict(node.value) if isinstance(node.value, dict) else {}
        apart = Findings(problems=[*node.slips(KNOWN), *twice(node, OF_TARGET)])
        for key in ("provider", "model", "cwd", "judge_target", "grader_target", "system_prompt"):
            if filled.get(key) is not None:
                filled[key] = with_variables(node.at(key), self._around.variables, apart).value
        body, problems = node.having(filled).read(TargetBody)
        wrong = [*apart.problems, *problems]
        if body is None or wrong:
            self._found.problems += wrong[1:]
            raise NoTarget(wrong[0].message, wrong[0])
        return Target(self.path, self.home, node.having(filled), body)


def targets_paths(folder: str, around: GatheringContext) -> Iterator[str]:
    """Yield the targets files for a suite in `folder`, the nearest first."""
    for root in roots(folder):
        for name in TARGETS_FILES:
            path = f"{root}/{name}".lstrip("/")
            if path in around.tree:
                yield path
