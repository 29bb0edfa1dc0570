"""What can be wrong with an Agent beyond its shape: files, keys, tools, its start, what runs
beside.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from gateval.domain.base import MODEL_NAME_PATTERN, Spec
from gateval.domain.manifests.agent import (
    MCP_TOOL,
    MODEL_RUNTIME,
    Agent,
    AgentSpec,
    AgentTool,
    ConversationMode,
    ModelCallsNeed,
    RuntimeSpec,
    SystemFile,
    ToolServerSpec,
)
from gateval.domain.manifests.fixture import PROMPTS, Fixture, InputType
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.manifests.playground import HOST, PORT, TOOLS_COMMAND, TOOLS_URL, references
from gateval.domain.paths import (
    has_wildcard,
    match_any,
    nearest,
    resolve_path,
    resolve_pattern,
    show_path,
)
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.domain.tree import Tree, folders_of, has_folder


def _missing_file(path: str, tree: Tree) -> str:
    """Say why `path` is no file of the revision; the empty string if it is one."""
    steps = path.split("/")
    for length in range(1, len(steps) + 1):
        above = "/".join(steps[:length])
        found = tree.get(above)
        if found is not None and found.is_symlink:
            return f"{show_path(above)} is a symbolic link. Name the file itself."
        if found is not None and found.is_submodule:
            return f"{show_path(above)} is a submodule, which is not read. Copy the file here."
    if path in tree and tree[path].is_file:
        return ""
    return f"The file {show_path(path)} does not exist in this revision, or is not tracked."


def _pattern_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    """What leads out of the repository, and what is included and not there."""
    runtime = agent.spec.runtime
    layer = runtime.layer if runtime else None
    cwd = resolve_path(agent.folder, runtime.own_cwd if runtime else ".") or ""
    for key, folder, written in (
        ("spec.watch", agent.folder, agent.spec.watch or ()),
        ("spec.include", agent.folder, agent.spec.include),
        ("spec.runtime.setup.inputs", cwd, layer.inputs if layer else ()),
    ):
        for index, pattern in enumerate(written):
            path = resolve_pattern(folder, pattern)
            if path is None:
                yield problem_in(agent, f"{key}[{index}]", _leads_out(pattern))
            elif key != "spec.watch" and not _matches(path, tree):
                message = f"{quote(pattern)} fits no tracked file of this revision."
                yield problem_in(agent, f"{key}[{index}]", message)
    for index, made in enumerate(layer.creates if layer else ()):
        where, path = f"spec.runtime.setup.creates[{index}]", resolve_path(cwd, made)
        if path is None or made.startswith("/") or ".." in made.split("/") or not made.strip("./"):
            message = f"{quote(made)} has to be a name below the working directory."
            yield problem_in(agent, where, message)
        elif path in tree or has_folder(tree, path):
            message = f"{show_path(path)} is tracked, so no set-up can put something else there."
            yield problem_in(agent, where, message)


def _matches(path: str, tree: Tree) -> bool:
    if has_wildcard(path):
        return any(map(match_any([path]), tree))
    if path in tree or has_folder(tree, path):
        return True  # a link or a submodule may have anything behind it
    return any(step in tree and not tree[step].is_file for step in folders_of(path))


def _missing_folder(path: str, tree: Tree) -> str:
    """Say why `path` is no folder of the revision; the empty string if it is, or may be by a link
    or a submodule, which is looked at where the Agent is started.
    """
    steps = path.split("/")
    above = (tree.get("/".join(steps[: length + 1])) for length in range(len(steps)))
    if has_folder(tree, path) or any(one and not one.is_file for one in above):
        return ""
    return f"{show_path(path)} is no folder of this revision, or nothing in it is tracked."


def _leads_out(path: str) -> str:
    return f"{show_path(path)} leads out of the repository. Nothing outside it is read."


def problem_in(agent: Agent, path: str, message: str) -> Problem:
    """Return a problem with what stands at `path` in the Agent's manifest."""
    for key, where in agent.mapped.items():
        if path.startswith(key):
            path = f"{where}{path.removeprefix(key)} of {GATE_CONFIG_PATH}"
    part = path
    while part and part not in agent.places:
        part = part[: max(part.rfind("."), part.rfind("["), 0)]
    return Problem(place=agent.places.get(part, agent.place), path=path, message=message)


NEAR_MISS = 0.75
"""How alike a key and one of ours are (0 to 1) where it was probably meant to be that one."""

NEAR_PROMPT = 0.8
"""The same for keys of a payload, which may hold anything: `test` is not meant to be `text`."""

PEERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("prompt", "systemprompt", "systemmessage"), "system"),
    **dict.fromkeys(("instruction", "instructions"), "system"),
    **dict.fromkeys(("llm", "modelid", "modelname"), "models"),
}
"""What other tools call a key of `spec`, in small letters without `_` and `-`."""

PEERS_OF_TOOLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("parameters", "schema", "argsschema"), "inputSchema"),
    "disabled": "enabled",
}
"""The same for the keys of a tool."""


class UnknownKey(NamedTuple):
    """A key that means nothing here: where it stands, its name, what it may have been meant to be
    (empty: nothing that we know), and whether that was missed by a slip of the fingers.
    """

    path: str
    key: str
    meant: str = ""
    near: bool = False

    @property
    def in_metadata(self) -> bool:
        """Whether it stands in `metadata`, which is no part of what the Agent is."""
        return self.path.startswith("metadata.")

    @property
    def shown(self) -> str:
        """The key as the warning names it."""
        text = quote(self.path.removeprefix("spec."))
        return f"{text} (here it is `{self.meant}`)" if self.meant else text


KNOWN_ELSEWHERE = frozenset({
    "agentDefinition", "autoscaling", "byo", "configFiles", "conversational", "declarative",
    "definition", "description", "env", "expose", "filesystem", "guards", "image", "inbound",
    "managedAgentDefinitions", "mcpServers", "memories", "providers", "rateLimits", "replicas",
    "resources", "runAsUser", "schedule", "skills", "tokens", "type", "volumes", "webhook",
})  # fmt: skip
"""Keys of `spec` that other systems give a meaning to: kept, and no reason to warn."""

METADATA = ("name", "namespace", "labels", "annotations")
"""Keys of `metadata` that every manifest may have."""

METADATA_OF_CLUSTERS = frozenset({
    "clusterName", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp",
    "finalizers", "generateName", "generation", "managedFields", "ownerReferences",
    "resourceVersion", "selfLink", "uid",
})  # fmt: skip
"""Those that Kubernetes adds to what it gives out (ObjectMeta of `meta/v1`)."""


def unknown_keys(agent: Agent) -> list[UnknownKey]:
    """Return the keys of `metadata`, of `spec` and its tools that mean nothing to us, nor to any
    system whose files we read.
    """
    named = [key for key in agent.other_metadata if key not in METADATA_OF_CLUSTERS]
    found = [_unknown("metadata", key, METADATA, {}) for key in named]
    ours = _keys(AgentSpec)
    own = [key for key in agent.spec.model_extra or {} if key not in KNOWN_ELSEWHERE]
    found += [_unknown("spec", key, ours, PEERS) for key in own if key not in ours]
    for index, tool in enumerate(agent.spec.tools):
        kind: type[Spec] = ToolServerSpec if tool.type == MCP_TOOL else AgentTool
        at = f"spec.tools[{index}]"
        known = _keys(kind)
        extra = [key for key in tool.model_extra or {} if key not in known]
        found += [_unknown(at, key, known, PEERS_OF_TOOLS) for key in extra]
    return found


def meaningless_keys(agent: Agent) -> Iterator[Problem]:
    """Yield the keys that nothing here reads, in two sentences: those in `spec` count, as code."""
    begun = f'These keys of the Agent "{agent.name}" mean nothing to the gate'
    unknown = unknown_keys(agent)
    if named := [one.shown for one in unknown if one.in_metadata]:
        yield Problem(place=agent.place, message=f"{begun}: {', '.join(named)}.")
    if counted := [one.shown for one in unknown if not one.in_metadata]:
        message = f"{begun}; they only count as a part of it: {', '.join(counted)}."
        yield Problem(place=agent.place, message=message)


def misspelled_prompt(fixture: Fixture) -> Iterator[Problem]:
    """Yield the key of a payload that is nearly `prompt`: the agent is told JSON in its place.

    A payload may hold any key, so only inputs of the type `prompt` are looked at.
    """
    asked = fixture.input
    given = asked.payload
    if asked.type is not InputType.PROMPT or asked.messages or any(key in given for key in PROMPTS):
        return
    for key in given:
        if near := difflib.get_close_matches(key.lower(), PROMPTS, n=1, cutoff=NEAR_PROMPT):
            message = f"{quote(key)} is not the prompt, so the agent is told the whole payload as "
            message += f'JSON. Did you mean "{near[0]}"?'
            place = fixture.places.get("spec.input", fixture.place)
            yield Problem(place=place, path=f"spec.input.payload.{key}", message=message)


def _unknown(at: str, key: str, known: Collection[str], peers: Mapping[str, str]) -> UnknownKey:
    path = f"{at}.{key}"
    peer = peers.get(key.replace("_", "").replace("-", "").lower(), "")
    near = [] if peer else difflib.get_close_matches(key, known, n=1, cutoff=NEAR_MISS)
    return UnknownKey(path, key, near[0] if near else peer, near=bool(near))


def _keys(kind: type[Spec]) -> set[str]:
    return {field.alias or name for name, field in kind.model_fields.items()}


COMMAND_RUNTIME = "command"
_MODEL_NAME = re.compile(MODEL_NAME_PATTERN)


def agent_problems(agent: Agent, tree: Tree, *, targeted: bool) -> Iterator[Problem]:
    """Yield what is wrong with an Agent. `targeted`: whether an Eval targets it."""
    declared = agent.runtime_type == MODEL_RUNTIME and "type" not in (agent.spec.model_extra or {})
    for one in unknown_keys(agent):
        said = f'Did you mean "{one.meant}"?' if one.near else f"Here it is `{one.meant}`."
        lost = declared and one.meant in ("system", "models") and not getattr(agent.spec, one.meant)
        if one.near or lost:
            yield problem_in(agent, one.path, f"{quote(one.key)} means nothing here. {said}")
    yield from _model_problems(agent, targeted=targeted)
    yield from _tool_problems(agent)
    yield from _runtime_problems(agent)
    system, runtime = agent.spec.system, agent.spec.runtime
    file = system.file if isinstance(system, SystemFile) else None
    cwd = runtime.own_cwd if runtime and runtime.cwd is not None else None
    for key, written, missing in (
        ("spec.system.file", file, _missing_file),
        ("spec.runtime.cwd", cwd, _missing_folder),
    ):
        if written is None:
            continue
        path = resolve_path(agent.folder, written)
        if message := _leads_out(written) if path is None else missing(path, tree):
            yield problem_in(agent, key, message)
    yield from _pattern_problems(agent, tree)


def counts_whole_repository(agent: Agent) -> bool:
    """Whether every tracked file belongs to the Agent's closure, and nobody said so."""
    runtime = agent.spec.runtime
    if runtime is None or not runtime.starts_process or agent.spec.watch is not None:
        return False
    return resolve_path(agent.folder, runtime.own_cwd) == ""


def _model_problems(agent: Agent, *, targeted: bool) -> Iterator[Problem]:
    """A declarative Agent needs models. One with a `spec.type` may be no template, but a service or
    a task, which nobody starts here unless an Eval targets it.
    """
    if agent.runtime_type != MODEL_RUNTIME:
        return
    declared = agent.spec.model_extra or {}
    if not agent.spec.models and (targeted or "type" not in declared):
        yield problem_in(
            agent,
            "spec.models",
            f'The Agent "{agent.name}" names no model. Add spec.models, or a spec.runtime that '
            "starts it.",
        )
    for index, model in enumerate(agent.spec.models):
        if not _MODEL_NAME.fullmatch(model):
            message = f'{quote(model)} names no provider. Write "provider/model-id".'
            yield problem_in(agent, f"spec.models[{index}]", message)


def _tool_problems(agent: Agent) -> Iterator[Problem]:
    names = [tool.tool_name for tool in agent.spec.tools]
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            said = f"The tool {quote(name)} stands here twice." if name else _NAMELESS
            yield problem_in(agent, f"spec.tools[{index}]", said)


_NAMELESS = "This tool has no name. Add `name`."


def _runtime_problems(agent: Agent) -> Iterator[Problem]:
    runtime = agent.spec.runtime
    if runtime is None:
        return
    response = runtime.options.get("response")
    goes_on = runtime.conversation is ConversationMode.PROCESS
    if goes_on and isinstance(response, dict) and "file" in response:
        message = "A process that goes on prints its answers: a line in each turn, and no file."
        yield problem_in(agent, "spec.runtime.response", message)
    if not goes_on and runtime.options.get("greeting"):
        message = "Only a process that goes on has a greeting: add `conversation: process`."
        yield problem_in(agent, "spec.runtime.greeting", message)
    yield from _beside_problems(agent, runtime)
    yield from _program_problems(agent, runtime)
    of_servers = ("setup", "cwd", "env") if runtime.servers else ()
    for key in ("command", "setup", "cwd", "env", "before", "after", "services"):
        if runtime.type == MODEL_RUNTIME and getattr(runtime, key) and key not in of_servers:
            message = (
                f"A runtime of type {MODEL_RUNTIME} starts no process. Add "
                f"`type: {COMMAND_RUNTIME}`, or remove this."
            )
            yield problem_in(agent, f"spec.runtime.{key}", message)


_NO_ADDRESS: Final[Mapping[str, str]] = {"cursor-agent": "Cursor's command line"}
"""Coding agents that can be told no address for their models, by the name of their program."""


def _program_problems(agent: Agent, runtime: RuntimeSpec) -> Iterator[Problem]:
    """Yield that a program asks its models past the gateway, if it is known to."""
    if agent.spec.model_calls is ModelCallsNeed.OPTIONAL:
        return
    for word in runtime.command[:4]:
        called = _NO_ADDRESS.get(word.rpartition("/")[2])
        if called:
            message = (
                f"{called} takes no address for its models, so what it asks cannot be led through "
                "the gateway. Have another program answer, or ask a model with the prompt alone "
                "(`type: model`)."
            )
            yield problem_in(agent, "spec.runtime.command", message)


def _beside_problems(agent: Agent, runtime: RuntimeSpec) -> Iterator[Problem]:
    """Yield what is wrong with services, and with texts that name them."""
    known: list[str] = []
    for index, service in enumerate(runtime.services):
        where = f"spec.runtime.services[{index}]"
        if service.name in known:
            message = f"The service {quote(service.name)} stands here twice."
            yield problem_in(agent, f"{where}.name", message)
        yield from _unknown_name(agent, f"{where}.command", service.command, known, later=True)
        yield from _unknown_name(agent, f"{where}.env", service.env, known, later=True)
        known.append(service.name)
    for key in ("command", "before", "after", "env"):
        yield from _unknown_name(agent, f"spec.runtime.{key}", getattr(runtime, key), known)
    for name, text in runtime.env.items():
        for word in (TOOLS_URL, TOOLS_COMMAND):
            if word in text and not any(tool.enabled for tool in agent.spec.tools):
                message = f"{quote(word)} leads to the tools in spec.tools, and there are none."
                yield problem_in(agent, f"spec.runtime.env.{name}", message)


def _unknown_name(
    agent: Agent,
    where: str,
    texts: tuple[str, ...] | dict[str, str],
    known: list[str],
    *,
    later: bool = False,
) -> Iterator[Problem]:
    for key, text in texts.items() if isinstance(texts, dict) else enumerate(texts):
        path = f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}"
        for name, part in references(text):
            if name not in known:
                so_far = " before this one" if later else ""
                message = f"There is no service {quote(name)}{so_far}.{nearest(name, known)}"
                yield problem_in(agent, path, message)
            elif part not in {"", PORT, HOST}:
                message = f"A service has a `{PORT}` and a `{HOST}`, but no {quote(part)}."
                yield problem_in(agent, path, message)
