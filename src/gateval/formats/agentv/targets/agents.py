"""Makes an Agent of a target: a command line inside the walls, or a model that is asked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.domain.planning.files.named_paths import program_index
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import under
from gateval.domain.text.quoting import quote
from gateval.formats.agentv.names import agent_name
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.targets.file import NoTarget, Target
from gateval.formats.gathering import GatheringContext
from gateval.formats.native.written import canonical
from gateval.formats.problems.sentences import unknown_key
from gateval.formats.problems.validation import validate

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
    return _asked(target, around)


def model_of(target: Target, around: GatheringContext) -> str:
    """Return the model of a target as `provider/model-id`. Raises `NoTarget`."""
    provider = target.body.provider or ""
    known = _MODELS.get(provider, provider)
    if known not in around.registries.providers:
        said = _foreign(provider) if provider else "This target has no `provider`. Add one."
        raise NoTarget("", target.node.at("provider").problem(said))
    if not target.body.model:
        raise NoTarget("", target.node.problem("This target needs `model`: which one is asked."))
    if any(map(str.isspace, target.body.model)):
        said = "This is no name of a model: there is white space in it."
        raise NoTarget("", target.node.at("model").problem(said))
    return f"{known}/{target.body.model}"


def _asked(target: Target, around: GatheringContext) -> Agent:
    models = model_of(target, around)
    spec = AgentSpec(models=(models,), system=target.body.system_prompt)
    return _agent(target, agent_name(target.body.name, target.home, target.home), spec)


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
    named = spec.pop("include", [])
    include = [*(named if isinstance(named, list) else []), *_around(node.value, cwd, around)]
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
    words = _words(line)
    index = program_index(words)
    for number, word in enumerate(words):
        for text in (word, word.partition("=")[2]):
            path = resolve_path(cwd, text) if text and not text.startswith("/") else None
            if not path or path not in around.tree or under(path, {cwd}):
                continue
            yield f"/{path.rpartition('/')[0]}" if number == index else f"/{path}"


def _words(line: str) -> list[str]:
    """Return the words of a line behind what only starts a program: `uv run`, `bun run`."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    return [word for word in words if not _HOLE.search(word)]


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


def _foreign(provider: str) -> str:
    return (
        f"The gate does not start {quote(provider)} by itself. Write a target with "
        "`provider: cli` whose `command` runs it, or name a provider of models."
    )
