"""Official clients as programs of their own, with a candidate's environment and nothing else."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gateval.candidates.environment.allowlist import instance_environment
from gateval.gateway.local.session import Session


async def run_client(
    session: Session, code: str, *, python: Path | str = sys.executable, **literals: str
) -> tuple[str, str]:
    """Return what a Python program prints on standard output and standard error."""
    environment = instance_environment(
        {}, literals=literals, door=session.environment(), home="/nonexistent", tmp="/tmp", name="c"
    )
    process = await asyncio.create_subprocess_exec(
        str(python), "-I", "-c", code,
        env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, errors = await asyncio.wait_for(process.communicate(), 60)
    return out.decode(), errors.decode()
