"""The runner's word on the job: its event, its run, and where GitHub is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.domain.audit.entry import AuditRun
from gateval.domain.forge.stamp import Stamp
from gateval.domain.forge.trigger import Trigger
from gateval.domain.repository.paths import show_path
from gateval.errors import UsageError
from gateval.formats.github.reading import PAYLOAD_LIMIT

if TYPE_CHECKING:
    from gateval.ports.clock import Clock

PUBLIC_SERVER = "https://github.com"


def event_file(environ: Mapping[str, str]) -> bytes:
    """Return the event's payload. Raises `UsageError`."""
    path = environ.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise UsageError(
            "GITHUB_EVENT_PATH is not set, so there is no event to read.",
            hint="Outside GitHub Actions, use `gateval check --base REV`.",
        )
    try:
        with Path(path).open("rb") as file:
            return file.read(PAYLOAD_LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"The event file {show_path(path)} cannot be read: {error.strerror}."
        ) from error


def server_url(environ: Mapping[str, str]) -> str:
    """Return where people and git find GitHub. Raises `UsageError`."""
    server = (environ.get("GITHUB_SERVER_URL") or PUBLIC_SERVER).rstrip("/")
    loopback = re.match(r"http://(?:127\.0\.0\.1|localhost)(?::\d+)?$", server)
    if not loopback and not re.fullmatch(r"https://[A-Za-z0-9.:-]+", server):
        raise UsageError(
            f"GITHUB_SERVER_URL is {show_path(server)}, which is no https URL of a server."
        )
    return server


def stamp_of(environ: Mapping[str, str], clock: Clock) -> Stamp:
    """Return the stamp of this attempt."""
    return Stamp(
        started=clock.utc_now(),
        run=_digits(environ.get("GITHUB_RUN_ID", "")),
        attempt=_digits(environ.get("GITHUB_RUN_ATTEMPT", "")),
    )


def _digits(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def run_of(environ: Mapping[str, str], trigger: Trigger) -> AuditRun:
    """Return the run as the audit log has it."""
    return AuditRun(
        id=environ.get("GITHUB_RUN_ID", ""),
        attempt=_digits(environ.get("GITHUB_RUN_ATTEMPT", "")) or 1,
        url=_run_url(environ, trigger.repository),
        event=trigger.event.value,
        actor=environ.get("GITHUB_ACTOR", ""),
        triggering_actor=environ.get("GITHUB_TRIGGERING_ACTOR", ""),
    )


def workflow_path(environ: Mapping[str, str]) -> str:
    """Return the path of the workflow's file, as GITHUB_WORKFLOW_REF has it; empty without one."""
    found = re.fullmatch(r"[^/]+/[^/]+/(.+\.ya?ml)@.+", environ.get("GITHUB_WORKFLOW_REF", ""))
    return found[1] if found else ""


def workflow_repository(environ: Mapping[str, str]) -> str:
    """Return the repository of the workflow's file, which a ruleset may take from another one."""
    return "/".join(environ.get("GITHUB_WORKFLOW_REF", "").split("/")[:2])


def _run_url(environ: Mapping[str, str], repository: str) -> str:
    run = _digits(environ.get("GITHUB_RUN_ID", ""))
    return f"{server_url(environ)}/{repository}/actions/runs/{run}" if run else ""
