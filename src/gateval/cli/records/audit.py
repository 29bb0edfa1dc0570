"""`gateval audit`: who bypassed what, and whether the log of it is as it was written."""

from __future__ import annotations

import os
from datetime import datetime

import click

remote = click.option(
    "--remote", metavar="NAME|URL", help="Read the log as this remote has it now."
)
ref = click.option("--ref", metavar="REF", help="Read this ref of the clone instead.")


class _Moment(click.DateTime):
    """A day, or a second of it, in UTC."""

    def __init__(self) -> None:
        super().__init__(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"])

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the moment, or fail with a sentence that shows how it is written."""
        try:
            moment: datetime = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f'"{value}" is no date. Write 2026-11-20, or 2026-11-20T09:30:00Z for a second.',
                param,
                ctx,
            )
        return moment


@click.group(short_help="Show and verify the audit log.")
def audit() -> None:
    """Show and verify the log of bypasses and other exceptions, the branch gateval-audit.

    Without --remote and --ref the clone's copy is read, and if there is none, the branch at origin.
    """


@audit.command("log", short_help="Show the entries.")
@click.option("--json", "as_json", is_flag=True, help="Print audit.v1 JSON, one entry per line.")
@click.option(
    "--since",
    type=_Moment(),
    metavar="DATE",
    help="Only entries from this day or second (UTC) on: 2026-11-20, or 2026-11-20T09:30:00Z.",
)
@remote
@ref
def log_command(
    since: datetime | None, remote: str | None, ref: str | None, *, as_json: bool
) -> int:
    """Show the entries, oldest first, one line each.

    Exits with 1 when the chain of hashes is broken, and with 3 when the log cannot be read.
    """
    from gateval.app.audit import LogLocation, show_log

    _refuse_both(remote, ref)
    start = since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else ""
    return show_log(dict(os.environ), LogLocation(remote, ref), since=start, as_json=as_json)


@audit.command("verify", short_help="Check that nobody changed the log.")
@click.option("--anchor", metavar="HASH", help="A hash that was published; it must be in the log.")
@remote
@ref
def verify_command(anchor: str | None, remote: str | None, ref: str | None) -> int:
    """Check the chain of hashes, and with --anchor that the log still holds that entry.

    Exits with 0 when it is whole, with 1 when the chain is broken or the anchor missing, and with 3
    when the log cannot be read.
    """
    from gateval.app.audit import LogLocation, verify_log

    _refuse_both(remote, ref)
    return verify_log(dict(os.environ), LogLocation(remote, ref), anchor=anchor)


def _refuse_both(remote: str | None, ref: str | None) -> None:
    if remote is not None and ref is not None:
        raise click.UsageError("--remote and --ref exclude each other.")
