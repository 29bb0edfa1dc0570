"""Keys of an Agent and its tools that mean nothing here. The misspelled prompt would be no prompt,
and a tool that is `enabeld: false` would be offered.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gateval.domain.base import Spec
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, AgentSpec
from gateval.domain.manifests.checks.files import problem_in
from gateval.domain.manifests.tools import MCP_TOOL, AgentTool, ToolServerSpec
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote

NEAR_MISS = 0.75
"""How alike a key and one of ours are (0 to 1) where it was probably meant to be that one."""

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


def unknown_keys(agent: Agent) -> list[Unknown]:
    """Return the keys of `spec` and its tools that mean nothing to us, nor to any system whose
    files we read.
    """
    own = [key for key in agent.spec.model_extra or {} if key not in KNOWN_ELSEWHERE]
    found = [_unknown("spec", key, AgentSpec, PEERS) for key in own if key not in _keys(AgentSpec)]
    for index, tool in enumerate(agent.spec.tools):
        kind: type[Spec] = ToolServerSpec if tool.type == MCP_TOOL else AgentTool
        at = f"spec.tools[{index}]"
        extra = [key for key in tool.model_extra or {} if key not in _keys(kind)]
        found += [_unknown(at, key, kind, PEERS_OF_TOOLS) for key in extra]
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


def _unknown(at: str, key: str, kind: type[Spec], peers: Mapping[str, str]) -> Unknown:
    path = f"{at}.{key}"
    peer = peers.get(key.replace("_", "").replace("-", "").lower(), "")
    near = [] if peer else difflib.get_close_matches(key, _keys(kind), n=1, cutoff=NEAR_MISS)
    return Unknown(path, key, near[0] if near else peer, near=bool(near))


def _keys(kind: type[Spec]) -> set[str]:
    return {field.alias or name for name, field in kind.model_fields.items()}
