"""Calls of programs to built-in addresses of providers, led to the gateway by a hook.

The hook (`gateval/bridges/redirect`) is loaded by Python and Node before the program. It weakens
nothing: a program that does not load it, or undoes it, calls the address itself and fails there as
it would without it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.bridges import HOOK, bridge_digest, bridge_files
from gateval.domain.trials.trial import Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.base import RuntimeContext
    from gateval.domain.manifests.agent import RuntimeSpec
    from gateval.gateway.local.session import Session

DIGITS = 32
"""Of the digest, in the path of the hook."""


def hook_folder(context: RuntimeContext) -> Path:
    """Return where the hook lies for candidates of this run."""
    return context.scratch / f"{HOOK}-{bridge_digest(HOOK)[:DIGITS]}"


async def lay_out_hook(runtime: RuntimeSpec, context: RuntimeContext) -> Path | NoAnswer | None:
    """Put the hook where candidates can read it, and return the folder; None for an Agent that asks
    for none, or why there is none.
    """
    if not runtime.hook:
        return None
    if runtime.hook != bridge_digest(HOOK):
        reason = "The plan was made with another hook. Plan and run with one Gateval."
        return NoAnswer(cause=Cause.GATE, reason=reason)
    await lay_out(context, hook_folder(context), bridge_files(HOOK))
    return hook_folder(context)


async def lay_out(context: RuntimeContext, folder: Path, files: Mapping[str, bytes]) -> None:
    """Write these files of the gate for all candidates of a run to read, once."""

    async def write() -> None:
        await asyncio.to_thread(_write, folder, files)

    await context.setups.get(("files of the gate", folder), write)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    for name, content in files.items():
        file = folder / name
        file.write_bytes(content)
        file.chmod(0o444)


def redirection(
    runtime: RuntimeSpec,
    context: RuntimeContext,
    session: Session | None,
    literals: Mapping[str, str],
) -> dict[str, str]:
    """Return the variables that have Python and Node load the hook, before what the program's own
    variables (`literals`) have them load.
    """
    if session is None or not runtime.hook:
        return {}
    given, folder = {**context.environ, **literals}, hook_folder(context)
    script = (folder / "redirect.mjs").as_uri()
    return {
        **session.redirection(),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), given.get("PYTHONPATH", "")))),
        "NODE_OPTIONS": " ".join(
            filter(None, (f"--import={script}", given.get("NODE_OPTIONS", "")))
        ),
    }
