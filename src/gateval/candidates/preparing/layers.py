"""Set-ups as layers: made once for all Agents and sides that would make the same.

A layer's set-up sees its inputs and nothing else, so what it makes is the same for everybody with
the same digest of inputs, command, environment and platform. It lies at one absolute path, which
programs may write into what they install, and belongs to the gate as soon as it is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.base import RuntimeContext
from gateval.candidates.preparing.set_up import run_set_up, tell
from gateval.candidates.process.failures import from_the_export
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.plan.absent import absent_sentence, find_absent
from gateval.domain.plan.layer import LayerInputs
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.process.processes import Programs
    from gateval.ports.layers import KeptLayers

DIGITS = 32
"""Of the digest, in a layer's path: enough to be unique, short enough for a `#!` line."""


@dataclass(frozen=True)
class Layer:
    """A layer that is ready. `links` are the names it gives to an export: path there → target."""

    root: Path
    links: Mapping[str, Path]


async def layer_of(
    agent: AgentDefinition, spec: LayerSpec, context: RuntimeContext, programs: Programs, name: str
) -> Layer | NoAnswer:
    """Return the Agent's layer, made if nobody has made it yet, or why there is none.

    Raises `RepositoryError` when git cannot give the inputs.
    """
    inputs = context.exports.inputs(agent, spec)
    where = f"{sys.platform} {os.uname().machine}"
    environment = {**context.environ, **agent.runtime.env}
    digest = inputs.digest(spec, [where, *(f"{key}={environment[key]}" for key in environment)])
    kept = context.kept.place(digest) if context.kept else None
    root = kept or context.scratch / f"layer-{digest[:DIGITS]}"

    async def work() -> NoAnswer | None:
        if context.kept and kept:
            return await _made_or_kept(
                context.kept, agent, spec, inputs, root, context, programs, name
            )
        return await _make(agent, spec, inputs, root, context, programs, name)

    failed = await context.setups.get(("layer", digest), work)
    if failed is not None:
        return failed
    folder = root / inputs.inside
    at = agent.files.folder
    return Layer(root, {f"{at}/{one}" if at else one: folder / one for one in spec.creates})


async def _made_or_kept(
    kept: KeptLayers,
    agent: AgentDefinition,
    spec: LayerSpec,
    inputs: LayerInputs,
    root: Path,
    context: RuntimeContext,
    programs: Programs,
    name: str,
) -> NoAnswer | None:
    """Put back what an earlier run made; if there is nothing, make it and keep it."""
    import asyncio

    restored = await asyncio.to_thread(kept.restore, root)
    if restored and _unkept(spec, root / inputs.inside) is None:
        tell(agent, context, "kept set-up")
        return None
    failed = await _make(agent, spec, inputs, root, context, programs, name)
    if failed is None:
        await asyncio.to_thread(kept.keep, root)
    return failed


async def _make(
    agent: AgentDefinition,
    spec: LayerSpec,
    inputs: LayerInputs,
    root: Path,
    context: RuntimeContext,
    programs: Programs,
    name: str,
) -> NoAnswer | None:
    from gateval.candidates.process.private import remove_tree

    remove_tree(root)  # what a cancelled attempt has left
    _open_folder(root)
    await context.exports.write_inputs(agent, inputs, root)
    folder = root / inputs.inside
    failed = await run_set_up(agent, spec.run, context, programs, name, folder, root)
    if failed is not None:
        shown = from_the_export(from_the_export(failed, context.scratch), root.parent)
        return _explained(shown, agent, inputs)
    return _unkept(spec, folder)


def _open_folder(path: Path) -> None:
    path.mkdir(mode=0o755)
    path.chmod(0o755)


def _unkept(spec: LayerSpec, folder: Path) -> NoAnswer | None:
    for made in spec.creates:
        if not os.path.lexists(folder / made):
            reason = f"The set-up ended well, but made no `{made}`, which setup.creates promises."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
    return None


def _explained(failed: NoAnswer, agent: AgentDefinition, inputs: LayerInputs) -> NoAnswer:
    absent = find_absent((failed.reason, *failed.detail[1:]), inputs.cwd, inputs.around)
    if absent is None:
        return failed
    said = absent_sentence(agent.name, absent, inputs=True)
    return failed.model_copy(update={"reason": f"{failed.reason} {said}"})
