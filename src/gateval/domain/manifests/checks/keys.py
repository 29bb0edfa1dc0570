"""Keys of an Agent and its tools that mean nothing here. The misspelled prompt would be no prompt,
a tool that is `enabeld: false` would be offered, and `lables` would be none.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from gateval.domain.base import Spec
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, AgentSpec
from gateval.domain.manifests.checks.files import problem_in
from gateval.domain.manifests.fixture import PROMPTS, Fixture, InputType
from gateval.domain.manifests.tools import MCP_TOOL, AgentTool, ToolServerSpec
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote

NEAR_MISS = 0.75
"""How alike a key and one of ours are (0 to 1) where it was probably meant to be that one."""

NEAR_PROMPT = 0.8
"""The same for keys of a payload, which may hold anything: `test` is not meant to be `text`."""

PEERS: Final[Mapping[str, str]] = {
    "prompt": "system",
    "systemprompt": "system",
    "systemmessage": "system",
    "instruction": "system",
    "instructions": "system",
    "llm": "models",
    "modelid": "models",
    "modelname": "models",
}
"""What other tools call a key of `spec`, in small letters without `_` and `-`."""

PEERS_OF_TOOLS: Final[Mapping[str, str]] = {
    "parameters": "inputSchema",
    "schema": "inputSchema",
    "argsschema": "inputSchema",
    "disabled": "enabled",
}
"""The same for the keys of a tool."""


class Unknown(NamedTuple):
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
    "description", "env", "expose", "filesystem", "guards", "image", "inbound",
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


def unknown_keys(agent: Agent) -> list[Unknown]:
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


def key_problems(agent: Agent) -> Iterator[Problem]:
    """Yield the keys that are nearly ours, and those by which a declarative Agent names its prompt
    or its models in the words of another tool: it would run without.
    """
    for one in unknown_keys(agent):
        lost = (
            one.meant in ("system", "models")
            and agent.runtime_type == MODEL_RUNTIME
            and not getattr(agent.spec, one.meant)
            and "type" not in (agent.spec.model_extra or {})
        )
        if one.near:
            message = f'{quote(one.key)} means nothing here. Did you mean "{one.meant}"?'
            yield problem_in(agent, one.path, message)
        elif lost:
            message = f"{quote(one.key)} means nothing here. Here it is `{one.meant}`."
            yield problem_in(agent, one.path, message)


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


def _unknown(at: str, key: str, known: Collection[str], peers: Mapping[str, str]) -> Unknown:
    path = f"{at}.{key}"
    peer = peers.get(key.replace("_", "").replace("-", "").lower(), "")
    near = [] if peer else difflib.get_close_matches(key, known, n=1, cutoff=NEAR_MISS)
    return Unknown(path, key, near[0] if near else peer, near=bool(near))


def _keys(kind: type[Spec]) -> set[str]:
    return {field.alias or name for name, field in kind.model_fields.items()}
